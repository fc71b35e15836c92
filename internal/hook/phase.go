package hook

// Phase is when a hook runs.
type Phase string

// The phases, as the command line and the lines of a capture name them.
const (
	Pre     Phase = "pre"     // before a call
	Post    Phase = "post"    // after one that went well
	Failure Phase = "failure" // after one that failed
)

// phases are in the order in which settings have them.
var phases = []Phase{Pre, Post, Failure}

// events are Claude Code's names of what a hook of the phase is for.
var events = map[Phase]string{Pre: "PreToolUse", Post: "PostToolUse", Failure: "PostToolUseFailure"}
