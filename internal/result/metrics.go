package result

import "github.com/sdd-eval/sdd-eval/evaltest/trajectory"

// Metrics count what the agent of one unit did, and which commands were run. A nil pointer means unknown, not zero.
type Metrics struct {
	// Version is the version of this format, 1.
	Version int `json:"version"`
	// Iterations is the number of prompts that were sent.
	Iterations int `json:"iterations"`
	// StopReasons are why the turns ended, in order.
	StopReasons []string `json:"stop_reasons"`
	// ToolCalls counts the agent's tool calls by the tool's name.
	ToolCalls map[string]int `json:"tool_calls"`
	// FilesRead and FilesWritten are the files that the agent read and wrote, as far as known, sorted by path.
	FilesRead    []FileAccess `json:"files_read"`
	FilesWritten []FileAccess `json:"files_written"`
	// Commands are the commands that were run: the agent's in order, then those of run steps in order.
	Commands []Command `json:"terminal_commands"`
	// Permissions are the agent's requests for permission, in order.
	Permissions []Permission `json:"permission_requests"`
	// Denied are the operations that the agent was denied, in order.
	Denied []Denial `json:"denied_operations"`
	// Tokens and Cost are the totals of the session, as far as the agent reports them.
	Tokens *Tokens          `json:"tokens"`
	Cost   *trajectory.Cost `json:"cost"`
	// Changes are the files that differ from the prepared workspace; nil: unknown.
	Changes *Changes `json:"changes"`
	// Machine is what the unit's processes used of the machine; nil: there were none, or it is unknown.
	Machine *Machine `json:"machine,omitempty"`
}

// Machine is what processes used: the agent, terminals, MCP servers, run steps, each with its descendants.
type Machine struct {
	// Memory is the most that one of them had at once, in bytes.
	Memory int64 `json:"memory_bytes"`
	// CPU is the processors' time of all together.
	CPU Duration `json:"cpu_ms"`
	// Disk is the most that workspace, HOME and TMPDIR took, in bytes; 0: no process lived long enough to count that.
	Disk int64 `json:"disk_bytes"`
}

// FileAccess is one file that an agent read or wrote.
type FileAccess struct {
	Path string `json:"path"`
	// Bytes is the number of bytes, all times together; nil if the agent accessed the file itself and does not say.
	Bytes *int64 `json:"bytes"`
	Times int    `json:"times"`
	// Source is "client" for files that the client served, "tool" for those that the agent's own tool calls name.
	Source string `json:"source"`
}

// The sources of commands.
const (
	FromTerminal = "terminal" // a terminal that the client served
	FromTool     = "tool"     // the agent's own tool call of kind execute
	FromStep     = "step"     // a run step of the playbook
)

// Command is one command that was run.
type Command struct {
	Source  string `json:"source"`
	Command string `json:"command"` // as a person would type it
	Cwd     string `json:"cwd,omitempty"`
	// ExitCode is nil if it is unknown or a signal ended the command.
	ExitCode *int   `json:"exit_code"`
	Signal   string `json:"signal,omitempty"`
	// Duration is nil if it is unknown.
	Duration *Duration `json:"duration_ms"`
	// Output is the end of what the command printed.
	Output string `json:"output,omitempty"`
	// Cut says that there was more output.
	Cut bool `json:"output_cut,omitempty"`
}

// Permission is one request of an agent for permission.
type Permission struct {
	Tool  string `json:"tool"`
	Title string `json:"title,omitempty"`
	// Decision is the kind of the chosen option, e.g. "allow_once", or "cancelled".
	Decision string `json:"decision"`
}

// Denial is an operation that an agent was denied.
type Denial struct {
	Op     string `json:"op"` // read, write, run, env
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Tokens are the token counts of a session. A nil count was not reported.
type Tokens struct {
	Input      *int64 `json:"input"`
	Output     *int64 `json:"output"`
	CacheRead  *int64 `json:"cache_read"`
	CacheWrite *int64 `json:"cache_write"`
	Thought    *int64 `json:"thought"`
	Total      *int64 `json:"total"`
}

// Plus adds two counts. A nil count is unknown and left out.
func Plus(a, b *int64) *int64 {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	sum := *a + *b
	return &sum
}

// Changes summarises how a workspace differs from the prepared one.
type Changes struct {
	Added    int `json:"added"`
	Modified int `json:"modified"`
	Deleted  int `json:"deleted"`
	// Bytes is the size of all added and modified files.
	Bytes int64        `json:"bytes"`
	Files []FileChange `json:"files"`
}

// FileChange is one file that differs.
type FileChange struct {
	Path string `json:"path"`
	Op   string `json:"op"`   // added, modified, deleted
	Kind string `json:"kind"` // file, dir, symlink
	// Bytes is the file's size, before the deletion if it was deleted.
	Bytes int64 `json:"bytes"`
	// LinesAdded and LinesRemoved count lines. They are nil if the file is not text or is too large to compare.
	LinesAdded   *int `json:"lines_added"`
	LinesRemoved *int `json:"lines_removed"`
}
