package claude

import "time"

// Phase is when one of Claude Code's hooks runs.
type Phase string

// The phases, as the command line and the lines of a capture name them.
const (
	Pre     Phase = "pre"     // before a call
	Post    Phase = "post"    // after one that went well
	Failure Phase = "failure" // after one that failed
)

// Phases are in the order in which settings have them.
var Phases = []Phase{Pre, Post, Failure}

// Event returns Claude Code's name of what a hook of the phase is for.
func (p Phase) Event() string {
	return map[Phase]string{Pre: "PreToolUse", Post: "PostToolUse", Failure: "PostToolUseFailure"}[p]
}

// CaptureLine is a line of a capture, which a hook writes: those of its fields that are read.
type CaptureLine struct {
	Time      time.Time `json:"timestamp"`
	Phase     Phase     `json:"phase"`
	Tool      string    `json:"tool_name"`
	ID        string    `json:"tool_use_id"`
	Session   string    `json:"session_id"`
	Agent     string    `json:"agent_id"`
	Prompt    string    `json:"prompt_id"`
	Cwd       string    `json:"cwd"`
	Input     any       `json:"tool_input"`
	Denied    string    `json:"denied"`
	Rewritten any       `json:"rewritten_input"`
	Output    any       `json:"tool_output"`
	ExitCode  *int      `json:"exit_code"`
	Error     any       `json:"error"`
	Millis    *float64  `json:"duration_ms"`
}

// OwnFields are the fields of a line that the hook adds to what Claude Code gave it.
var OwnFields = []string{"timestamp", "phase", "tool_output", "exit_code", "denied", "rewritten_input"}
