package agent

// The tools of each product, by the names under which calls show them. They are the names in the recorded wires of
// package observe and in our evals' cassettes, and those in the products' documents and type declarations. A tool that
// is missing here costs no more than a note, and one that is an edit away from these is asked about, so that a name
// that is new can be added.
var (
	claudeTools = []string{
		"Agent", "AskUserQuestion", "Bash", "BashOutput", "CronCreate", "CronDelete", "CronList", "Edit",
		"EnterPlanMode", "EnterWorktree", "ExitPlanMode", "ExitWorktree", "Glob", "Grep", "KillBash", "KillShell",
		"LS", "LSP", "ListMcpResourcesTool", "Monitor", "MultiEdit", "NotebookEdit", "NotebookRead", "PowerShell",
		"PushNotification", "Read", "ReadMcpResourceDirTool", "ReadMcpResourceTool", "RemoteTrigger",
		"ScheduleWakeup", "SendMessage", "Skill", "SlashCommand", "StructuredOutput", "Task", "TaskCreate", "TaskGet",
		"TaskList", "TaskOutput", "TaskStop", "TaskUpdate", "TeamCreate", "TeamDelete", "TodoRead", "TodoWrite",
		"ToolSearch", "WebFetch", "WebSearch", "Workflow", "Write",
	}
	// Codex shows most calls only under titles, such as "Read plan.go".
	codexTools = []string{
		"apply_patch", "close_agent", "exec", "exec_command", "grep_files", "image_generation", "js_repl", "list_dir",
		"list_mcp_resource_templates", "list_mcp_resources", "local_shell", "read_file", "read_mcp_resource",
		"request_user_input", "resume_agent", "send_input", "shell", "shell_command", "spawn_agent", "tool_search",
		"unified_exec", "update_plan", "view_image", "wait", "wait_agent", "web_search", "write_stdin",
	}
	geminiTools = []string{
		"activate_skill", "ask_user", "codebase_investigator", "complete_task", "delegate_to_agent", "enter_plan_mode",
		"exit_plan_mode", "get_internal_docs", "glob", "google_web_search", "grep_search", "invoke_agent",
		"list_directory", "list_mcp_resources", "read_file", "read_many_files", "read_mcp_resource", "replace",
		"run_shell_command", "save_memory", "search_file_content", "tracker_add_dependency", "tracker_create_task",
		"tracker_get_task", "tracker_list_tasks", "tracker_update_task", "tracker_visualize", "update_topic",
		"web_fetch", "write_file", "write_todos",
	}
	openCodeTools = []string{
		"apply_patch", "bash", "batch", "codesearch", "edit", "glob", "grep", "invalid", "list", "lsp", "multiedit",
		"patch", "plan_enter", "plan_exit", "question", "read", "skill", "task", "todoread", "todowrite", "webfetch",
		"websearch", "write",
	}
	copilotTools = []string{
		"apply_patch", "ask_user", "bash", "create", "edit", "exit_plan_mode", "glob", "grep", "list_agents",
		"list_bash", "read_agent", "read_bash", "report_intent", "rg", "show_file", "skill", "sql", "stop_bash",
		"store_memory", "str_replace_editor", "task", "task_complete", "update_todo", "view", "web_fetch",
		"web_search", "write_agent", "write_bash",
	}
	qwenTools = []string{
		"agent", "ask_user_question", "edit", "exit_plan_mode", "glob", "grep_search", "list_directory", "lsp",
		"read_file", "read_many_files", "run_shell_command", "save_memory", "skill", "task", "todo_write", "tool_call",
		"tool_search", "web_fetch", "web_search", "write_file",
	}
)
