package claudecli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/claude"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/observe"
)

// maxLine is the size of the longest line, in bytes.
const maxLine = 64 << 20

// Read reads everything that the program of the turn prints. Seen, if not nil, is called with each line as it comes. An
// incomplete last line is not an error: its writer was killed, and the turn has no result then.
func (o *Observer) Read(r io.Reader, seen func(at time.Time, line []byte)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	lines.Split(wholeLines)
	for lines.Scan() {
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		now := time.Now()
		if seen != nil {
			seen(now, text)
		}
		if err := o.line(now, text); err != nil {
			return err
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("a line of the agent's output is longer than %d bytes", maxLine)
	} else if err != nil {
		return fmt.Errorf("read the agent's output: %w", err)
	}
	return nil
}

// wholeLines is [bufio.ScanLines] without a last line that has no newline, unless it is JSON.
func wholeLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if atEOF && bytes.IndexByte(data, '\n') < 0 && !json.Valid(data) {
		return len(data), nil, nil
	}
	return bufio.ScanLines(data, atEOF)
}

// noise lists lines that say nothing about what the agent did or repeat others, by type and subtype.
var noise = map[string]bool{
	"system/thinking_tokens":          true, // how many so far
	"system/task_started":             true, // a command runs, or a subagent
	"system/task_progress":            true,
	"system/task_updated":             true,
	"system/task_notification":        true, // it has ended
	"system/hook_started":             true, // sdd-eval's own among them
	"system/hook_progress":            true,
	"system/hook_response":            true,
	"system/status":                   true,
	"system/session_state_changed":    true,
	"system/files_persisted":          true,
	"system/background_tasks_changed": true,
	"tool_progress":                   true, // it still runs
	"tool_use_summary":                true,
	"rate_limit_event":                true, // of the account
	"stream_event":                    true, // parts of messages that also come whole
	"keep_alive":                      true,
}

// line reads a line of JSON.
func (o *Observer) line(at time.Time, data []byte) error {
	if o.size += len(data); o.size > observe.MaxSession {
		return observe.TooLarge(observe.MaxSession)
	}
	var head struct {
		Type    string `json:"type"`
		Subtype string `json:"subtype"`
	}
	if err := unmarshal(data, &head); err != nil {
		return err
	}
	name := strings.TrimSuffix(head.Type+"/"+head.Subtype, "/")
	switch {
	case name == "system/init":
		return o.init(data)
	case head.Type == "result":
		return o.result(at, data)
	case noise[name], noise[head.Type]:
		return nil
	case name == "system/permission_denied":
		var d denial
		if err := unmarshal(data, &d); err != nil {
			return err
		}
		o.denied(at, d)
		return nil
	case head.Type != "assistant" && head.Type != "user":
		o.add(at, trajectory.Notice{Name: "claude:" + name, Data: notice(data)})
		return nil
	}
	var l line
	if err := unmarshal(data, &l); err != nil {
		return err
	}
	if head.Type == "user" {
		return o.user(at, &l)
	}
	return o.assistant(at, &l)
}

// notice returns the content of a line of an unknown kind, without what differs in each run.
func notice(data []byte) any {
	fields, _ := decoded(data).(map[string]any)
	for _, name := range []string{"type", "subtype", "uuid", "session_id", "timestamp"} {
		delete(fields, name)
	}
	if len(fields) == 0 {
		return nil
	}
	return fields
}

// line is a message from or to the model.
type line struct {
	Parent    string         `json:"parent_tool_use_id"` // in a subagent: the call that started it
	Synthetic bool           `json:"isSynthetic"`        // the program wrote it in the user's name
	Message   claude.Message `json:"message"`

	// ToolUseResult is the structured result of a tool, which the model does not see.
	ToolUseResult json.RawMessage `json:"tool_use_result"`
}

// initLine is the first line of a process.
type initLine struct {
	Session  string   `json:"session_id"`
	Version  string   `json:"claude_code_version"`
	Mode     string   `json:"permissionMode"`
	Model    string   `json:"model"`
	Commands []string `json:"slash_commands"`
	Servers  []struct {
		Name   string `json:"name"`
		Status string `json:"status"`
	} `json:"mcp_servers"`
	PluginErrors []struct {
		Plugin  string `json:"plugin"`
		Message string `json:"message"`
	} `json:"plugin_errors"`
}

// resultLine is the last line of a process.
type resultLine struct {
	Subtype    string        `json:"subtype"`
	Failed     bool          `json:"is_error"`
	StopReason string        `json:"stop_reason"`
	Result     string        `json:"result"`
	Errors     []string      `json:"errors"`
	Status     int           `json:"api_error_status"` // of the model's answer
	Cost       *float64      `json:"total_cost_usd"`   // of the session, and of the one that it continues
	Usage      *claude.Usage `json:"usage"`            // of the process
	Denials    []denial      `json:"permission_denials"`

	// Spent is what models cost since the result before, in the process.
	Spent map[string]struct {
		Cost float64 `json:"costUSD"`
	} `json:"model_usage_since_last_result"`
}

// denial is a call that was not permitted. It has a line of its own, and is in the result.
type denial struct {
	Tool string `json:"tool_name"`
	ID   string `json:"tool_use_id"`
}

// unmarshal decodes a line. The error does not show the line, which may be long.
func unmarshal(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("read a line of the agent's output: %w", err)
	}
	return nil
}

// decoded returns JSON as Go values with numbers kept exact, nil if there is none.
func decoded(raw json.RawMessage) (v any) {
	_ = jsonvalue.Decode(raw, &v)
	return v
}
