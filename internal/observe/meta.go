package observe

import "encoding/json"

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
