package observe

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
