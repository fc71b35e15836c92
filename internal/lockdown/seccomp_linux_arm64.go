package lockdown

// oldSetIDs are calls that newer architectures, such as this one, do not have.
var oldSetIDs []refusal
