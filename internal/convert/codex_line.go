package convert

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Types of lines that say nothing about the conversation, as of Codex 0.169. What an agent says and calls is written
// twice, as an item of the model and as an event for user interfaces; it is read from the items.
var (
	codexOtherItems = []string{
		"ghost_snapshot", "compaction", "compaction_trigger", "context_compaction", "additional_tools",
	}
	codexOtherEvents = []string{
		"agent_message", "agent_message_content_delta", "agent_reasoning", "agent_reasoning_raw_content",
		"agent_reasoning_section_break", "reasoning_content_delta", "reasoning_raw_content_delta", "plan_delta",
		"plan_update", "item_started", "raw_response_item", "session_configured",
		"thread_settings_applied", "thread_name_updated", "thread_goal_updated",
		"mcp_startup_update", "mcp_startup_complete", "mcp_tool_call_begin", "mcp_tool_call_end",
		"web_search_begin", "web_search_end", "image_generation_begin", "image_generation_end", "exec_command_begin",
		"exec_command_output_delta", "exec_command_end", "terminal_interaction", "view_image_tool_call",
		"exec_approval_request", "request_permissions", "request_user_input", "dynamic_tool_call_request",
		"dynamic_tool_call_response", "elicitation_request", "apply_patch_approval_request",
		"guardian_assessment", "guardian_warning", "deprecation_notice", "stream_error", "warning",
		"background_event", "patch_apply_begin", "patch_apply_updated", "turn_diff", "hook_started", "hook_completed",
		"model_reroute", "model_verification", "context_compacted", "shutdown_complete",
	}
)

// codexLine is a line of a rollout.
type codexLine struct {
	Timestamp string          `json:"timestamp"`
	Type      string          `json:"type"`
	Payload   json.RawMessage `json:"payload"`
}

// codexMeta is what a rollout begins with.
type codexMeta struct {
	ID      string `json:"id"`
	Cwd     string `json:"cwd"`
	Version string `json:"cli_version"`
}

// codexItem is an item of the model, of any type.
type codexItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   codexContent    `json:"content"`
	Summary   codexContent    `json:"summary"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // a JSON text in a string
	Input     string          `json:"input"`     // free text
	CallID    string          `json:"call_id"`
	Status    string          `json:"status"`
	Action    map[string]any  `json:"action"`
	Output    codexOutput     `json:"output"`
	// Meta says, since 0.166, what parts of a message are: "user.text", "environments.environment_context".
	Meta struct {
		Kinds []string `json:"content_item_kinds"`
	} `json:"internal_chat_message_metadata_passthrough"`
}

// asks reports whether the item is what the user said, and no context.
func (i codexItem) asks() bool {
	return i.Role == "user" && slices.ContainsFunc(i.Meta.Kinds, func(kind string) bool {
		return strings.HasPrefix(kind, "user.")
	})
}

// codexContent is a list of texts and images. A single text may stand for a list.
type codexContent []codexPart

type codexPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *codexContent) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = nil
		if text != "" {
			*c = codexContent{{"text", text}}
		}
		return nil
	}
	var parts []codexPart
	err := decode(data, &parts)
	*c = parts
	return err
}

// text returns the texts, a line each. Anything else is named by its type.
func (c codexContent) text() string {
	texts := make([]string, len(c))
	for i, p := range c {
		if texts[i] = p.Text; !strings.HasSuffix(p.Type, "text") {
			texts[i] = "[" + p.Type + "]"
		}
	}
	return strings.Join(texts, "\n")
}

// codexOutput is what a tool returned: a text, parts, or an object with either and more.
type codexOutput struct {
	text    string
	success *bool
}

// UnmarshalJSON implements [json.Unmarshaler].
func (o *codexOutput) UnmarshalJSON(data []byte) error {
	var content codexContent
	if len(data) > 0 && data[0] != '{' {
		err := content.UnmarshalJSON(data)
		o.text = content.text()
		return err
	}
	var object struct {
		Content codexContent `json:"content"`
		Success *bool        `json:"success"`
	}
	err := decode(data, &object)
	o.text, o.success = object.Content.text(), object.Success
	return err
}

// codexEvent is an event for user interfaces, with the fields of the types that are read.
type codexEvent struct {
	Type    string   `json:"type"`
	Message string   `json:"message"`
	Images  []string `json:"images"`
	Reason  string   `json:"reason"`
	// Last is the answer that a turn ended with.
	Last  *string `json:"last_agent_message"`
	Turns int     `json:"num_turns"`
	Info  *struct {
		Total codexTokens `json:"total_token_usage"`
	} `json:"info"`
	CallID  string         `json:"call_id"`
	Changes map[string]any `json:"changes"` // by path
	Item    *codexWork     `json:"item"`
	Started int64          `json:"started_at_ms"`
}

// codexTokens are the tokens of the session so far. Input includes the cached ones and those written to a cache, Output
// those of reasoning.
type codexTokens struct {
	Input     int64 `json:"input_tokens"`
	Cached    int64 `json:"cached_input_tokens"`
	Written   int64 `json:"cache_write_input_tokens"`
	Output    int64 `json:"output_tokens"`
	Reasoning int64 `json:"reasoning_output_tokens"`
	Total     int64 `json:"total_tokens"`
}

func (t codexTokens) minus(u codexTokens) codexTokens {
	return codexTokens{
		t.Input - u.Input, t.Cached - u.Cached, t.Written - u.Written, t.Output - u.Output, t.Reasoning - u.Reasoning,
		t.Total - u.Total,
	}
}

// negative reports whether the count was reset.
func (t codexTokens) negative() bool {
	return min(t.Input, t.Cached, t.Written, t.Output, t.Reasoning, t.Total, t.Input-t.Cached-t.Written) < 0
}

// codexArguments returns the arguments of a call, which the model wrote as JSON. Anything else stays a text.
func codexArguments(raw json.RawMessage) (any, error) {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		var args any
		if err := decode(raw, &args); err != nil {
			return nil, errors.New("the call has no arguments")
		}
		return args, nil
	}
	var args any
	if decode([]byte(text), &args) != nil {
		return text, nil
	}
	return args, nil
}

// readCodexLines calls f with each line of a rollout that matters.
func readCodexLines(path string, ignore []string, f func(l codexLine) error) error {
	return eachOf(path, func(l codexLine) error {
		if slices.Contains(ignore, l.Type) {
			return nil
		}
		if len(l.Payload) == 0 || l.Payload[0] != '{' {
			return fmt.Errorf("the line of type %q has no payload: this is not a rollout",
				fmt.Sprintf("%.60s", l.Type))
		}
		return f(l)
	})
}
