package observe

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// nameSources are the places in which agents put a tool's name.
type nameSources struct {
	name string // the protocol's own field
	meta string // _meta.claudeCode.toolName, else _meta.toolName
}

// learn takes what an update's metadata says.
func (n *nameSources) learn(m meta) {
	switch {
	case m.ClaudeCode.ToolName != "":
		n.meta = m.ClaudeCode.ToolName
	case m.ToolName != "":
		n.meta = m.ToolName
	}
}

// of returns the tool's name: the agent's own word for it, else the part of the call's id before "__" (Gemini), else
// the call's first title. Tools that Claude's older adapter serves through its client keep the names that users know
// them by: "mcp__acp__Bash" is Bash.
func (n *nameSources) of(id, title string) string {
	name := n.name
	if name == "" {
		name = n.meta
	}
	if name == "" {
		if before, _, ok := strings.Cut(id, "__"); ok {
			name = before
		}
	}
	if name == "" {
		name = title
	}
	return strings.TrimPrefix(name, "mcp__acp__")
}

// rooted returns a call's title, as a path if it is one of the places without its first slash: outside of repositories
// OpenCode names files so, and whoever looks for the workspace in the title does not find it.
func rooted(title string, places []trajectory.Location) string {
	if path := "/" + title; slices.ContainsFunc(places, func(l trajectory.Location) bool { return l.Path == path }) {
		return path
	}
	return title
}

// kinds are the categories of well-known tools, as the adapters of Claude Code and Codex tell them to a client.
var kinds = map[string]string{
	// Claude Code
	"Read": "read", "NotebookRead": "read",
	"Write": "edit", "Edit": "edit", "MultiEdit": "edit", "NotebookEdit": "edit",
	"Bash": "execute", "BashOutput": "execute", "KillShell": "execute",
	"Grep": "search", "Glob": "search", "LS": "search",
	"WebFetch": "fetch", "WebSearch": "fetch",
	"Agent": "think", "Task": "think", "TodoWrite": "think",
	// Codex
	"shell": "execute", "shell_command": "execute", "local_shell": "execute", "exec_command": "execute", "write_stdin": "execute",
	"apply_patch": "edit", "view_image": "read", "list_dir": "search", "grep_files": "search", "web_search": "fetch", "update_plan": "think",
	// Gemini; Codex has a read_file, too
	"read_file": "read", "read_many_files": "read", "write_file": "edit", "replace": "edit", "run_shell_command": "execute",
	"list_directory": "search", "glob": "search", "search_file_content": "search", "grep_search": "search", "web_fetch": "fetch",
	"google_web_search": "fetch",
}

// Kind returns the category of a tool whose agent does not tell it, in the protocol's words: "other" if it is not known.
func Kind(tool string) string {
	if kind, ok := kinds[tool]; ok {
		return kind
	}
	return "other"
}

// meta is what is read of a tool call's _meta: the tool's name, and what its command did where the agent ran it itself.
type meta struct {
	ClaudeCode struct {
		ToolName string `json:"toolName"`
	} `json:"claudeCode"`
	ToolName string `json:"toolName"`
	// TerminalOutput is all output so far (Claude), TerminalOutputDelta what came since the last (Codex).
	TerminalOutput      terminalData `json:"terminal_output"`
	TerminalOutputDelta terminalData `json:"terminal_output_delta"`
	TerminalExit        struct {
		ExitCode *int `json:"exit_code"`
	} `json:"terminal_exit"`
}

type terminalData struct {
	Data string `json:"data"`
}

// readMeta reads what it can: metadata belongs to the agent and may be anything.
func readMeta[T any](raw json.RawMessage) T {
	var m, none T
	if len(raw) > 0 && json.Unmarshal(raw, &m) != nil {
		return none
	}
	return m
}

// turnMeta is what is read of a turn's _meta: the tokens that it took, where Gemini has them.
type turnMeta struct {
	Quota struct {
		Tokens *struct {
			Input  *int64 `json:"input_tokens"`
			Output *int64 `json:"output_tokens"`
		} `json:"token_count"`
	} `json:"quota"`
}
