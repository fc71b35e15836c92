package observe

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/mcpname"
)

// nameSources are the names that an agent has sent for a tool, by where it put them.
type nameSources struct {
	name string // the protocol's own field
	meta string // _meta.claudeCode.toolName, else _meta.toolName
}

// learn takes the name in an update's metadata.
func (n *nameSources) learn(m meta) {
	switch {
	case m.ClaudeCode.ToolName != "":
		n.meta = m.ClaudeCode.ToolName
	case m.ToolName != "":
		n.meta = m.ToolName
	}
}

// of returns the tool's name: the one that the agent sent, else the part of the call's id before "__" (Gemini), else
// the call's first title. Tools that Claude's older adapter runs through its client have the names that users know:
// Bash for "mcp__acp__Bash".
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
	return mcpname.WithoutClient(name)
}

// rooted returns a call's title with the whole path of a location where the title has a part of it, so that the
// workspace in it can be found and normalised. OpenCode leaves out the first slash outside of repositories; Copilot
// puts dots in place of the beginning of a long path: "Viewing ...space/go.mod".
func rooted(title string, locations []trajectory.Location) string {
	verb, tail, cut := strings.Cut(title, "...")
	for _, l := range locations {
		switch {
		case l.Path == "/"+title:
			return l.Path
		case cut && tail != "" && strings.HasSuffix(l.Path, tail):
			return verb + l.Path
		}
	}
	return title
}

// codexZed is what @zed-industries/codex-acp calls itself. It names the files of an edit in any order.
const codexZed = "codex-acp"

// sortedTitle returns the title of an edit of n files by codexZed, "Edit a, b", with the files in order.
func sortedTitle(title string, n int) string {
	list, ok := strings.CutPrefix(title, "Edit ")
	files := strings.Split(list, ", ")
	if !ok || len(files) != n {
		return title
	}
	slices.Sort(files)
	return "Edit " + strings.Join(files, ", ")
}

// copilotTools are the tools of Copilot, which never says what they are called: each has a kind and arguments of its
// own, and some have a title.
var copilotTools = []struct {
	tool, kind, title string
	args              []string
}{
	{tool: "bash", kind: "execute", args: []string{"command"}},
	{tool: "edit", kind: "edit", args: []string{"path", "old_str"}},
	{tool: "create", kind: "edit", args: []string{"path", "file_text"}},
	{tool: "view", kind: "read", title: "Viewing ", args: []string{"path"}},
	{tool: "grep", kind: "read", title: "Searching ", args: []string{"pattern"}},
	{tool: "glob", kind: "read", title: "Finding ", args: []string{"pattern"}},
	{tool: "skill", kind: "other", title: "Using skill: ", args: []string{"skill"}},
	{tool: "task", kind: "other", args: []string{"agent_type", "prompt"}},
}

// copilotTool returns the name of a tool of Copilot, empty if it is not known.
func copilotTool(kind, title string, args any) string {
	given, _ := args.(map[string]any)
	for _, t := range copilotTools {
		if t.kind == kind && strings.HasPrefix(title, t.title) &&
			!slices.ContainsFunc(t.args, func(name string) bool { return given[name] == nil }) {
			return t.tool
		}
	}
	return ""
}

// kinds are the categories of well-known tools, as the adapters of Claude Code and Codex send them to a client.
var kinds = map[string]string{
	// Claude Code
	"Read": "read", "NotebookRead": "read",
	"Write": "edit", "Edit": "edit", "MultiEdit": "edit", "NotebookEdit": "edit",
	"Bash": "execute", "BashOutput": "execute", "KillShell": "execute",
	"Grep": "search", "Glob": "search", "LS": "search",
	"WebFetch": "fetch", "WebSearch": "fetch",
	"Agent": "think", "Task": "think", "TodoWrite": "think",
	"SlashCommand": "other", // whose command is no shell's
	// Codex
	"shell": "execute", "shell_command": "execute", "local_shell": "execute", "exec_command": "execute",
	"write_stdin": "execute",
	"apply_patch": "edit", "view_image": "read", "list_dir": "search", "grep_files": "search", "web_search": "fetch",
	"update_plan": "think",
	// Gemini; Codex has a read_file, too
	"read_file": "read", "read_many_files": "read", "write_file": "edit", "replace": "edit",
	"run_shell_command": "execute",
	"list_directory":    "search", "glob": "search", "search_file_content": "search",
	"grep_search": "search", "web_fetch": "fetch",
	"google_web_search": "fetch", "write_todos": "think",
	// Copilot, OpenCode, Qwen
	"bash": "execute", "read_bash": "execute", "write_bash": "execute", "stop_bash": "execute",
	"view": "read", "read": "read",
	"edit": "edit", "create": "edit", "write": "edit", "multiedit": "edit", "patch": "edit", "notebook_edit": "edit",
	"grep": "search", "list": "search", "codesearch": "search",
	"webfetch": "fetch", "websearch": "fetch",
	"task": "think", "agent": "think", "todowrite": "think", "todoread": "think", "todo_write": "think",
	"update_todo": "think", "report_intent": "think",
}

// Kind returns the category of a tool, in the protocol's words, for agents that do not send it: that of a well-known
// name, "execute" for an unknown one that is given a command, else "other".
func Kind(tool string, args any) string {
	if kind, ok := kinds[tool]; ok {
		return kind
	}
	given, _ := args.(map[string]any)
	// The command of an editor, which has a path, is one of its own: {"command": "view", "path": "a.go"}.
	if given["path"] == nil && !strings.HasPrefix(tool, mcpname.Prefix) {
		if line, argv := (trajectory.ToolCall{Args: given}).Command(); line != "" || argv != nil {
			return "execute"
		}
	}
	return "other"
}

// meta is the part of a tool call's _meta that is read: the tool's name, the call that started the sub-agent which
// made it and, if the agent ran a command itself, its output and exit code.
type meta struct {
	ClaudeCode struct {
		ToolName        string `json:"toolName"`
		ParentToolUseID string `json:"parentToolUseId"`
	} `json:"claudeCode"`
	ToolName         string `json:"toolName"`
	ParentToolCallID string `json:"parentToolCallId"` // Qwen
	Copilot          struct {
		AgentID string `json:"agentId"` // of a sub-agent
	} `json:"github.com/copilot"`
	// TerminalOutput is all output so far (Claude), TerminalOutputDelta the output since the last update (Codex).
	TerminalOutput      terminalData `json:"terminal_output"`
	TerminalOutputDelta terminalData `json:"terminal_output_delta"`
	TerminalExit        struct {
		ExitCode *int `json:"exit_code"`
	} `json:"terminal_exit"`
}

// parent returns the id of the call that started the sub-agent of which the update is, empty if it is the main agent's.
func (m *meta) parent() string { return cmp.Or(m.ClaudeCode.ParentToolUseID, m.ParentToolCallID) }

// parent returns what the metadata of an update tell as meta.parent.
func parent(raw json.RawMessage) string {
	m := readMeta[meta](raw)
	return m.parent()
}

type terminalData struct {
	Data string `json:"data"`
}

// readMeta decodes metadata. It returns the zero value if it cannot: agents may send anything.
func readMeta[T any](raw json.RawMessage) T {
	var m, none T
	if len(raw) > 0 && json.Unmarshal(raw, &m) != nil {
		return none
	}
	return m
}

// usageMeta is the part of an update's _meta that is read beside meta: what one request to the model took. Qwen puts it
// into messages.
type usageMeta struct {
	Usage *acp.Usage `json:"usage"`
}

// turnMeta is the part of a turn's _meta that is read: the token usage, which Gemini puts there.
type turnMeta struct {
	Quota struct {
		Tokens *struct {
			Input  *int64 `json:"input_tokens"`
			Output *int64 `json:"output_tokens"`
		} `json:"token_count"`
	} `json:"quota"`
}
