package lockdown

// oldCalls are calls of amd64 alone.
var oldCalls map[uint32][4]uint32
