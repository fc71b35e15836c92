package convert

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// qwenLog returns lines of a log, which have a time.
func qwenLog(lines ...string) []string {
	for i, l := range lines {
		lines[i] = `{"timestamp":"2026-01-02T03:04:05Z","sessionId":"s","cwd":"/w","version":"1",` + l[1:]
	}
	return lines
}

func qwenUser(text string) string {
	return fmt.Sprintf(`{"type":"user","provenance":"real_user","message":{"parts":[{"text":%q}]}}`, text)
}

func qwenSays(part string) string {
	return `{"type":"assistant","message":{"parts":[` + part + `]}}`
}

func TestQwen(t *testing.T) {
	const call = `{"functionCall":{"id":"a","name":"edit","args":{}}}`
	result := func(status, response string) string {
		return `{"type":"tool_result","message":{"parts":[{"functionResponse":{"id":"a","name":"edit","response":` +
			response + `}}]},"toolCallResult":{"status":"` + status + `"}}`
	}
	tests := []struct {
		name  string
		lines []string
		want  string
	}{
		{
			"an answer", qwenLog(qwenUser("Go."), qwenSays(`{"text":"hm","thought":true},{"text":"ok"}`)),
			"prompt:Go. thought says:ok stop:end_turn",
		},
		{
			"a call that failed", qwenLog(qwenUser("Go."), qwenSays(call), result("error", `{"error":"no"}`),
				qwenSays(`{"text":"ok"}`)),
			"prompt:Go. calls:edit failed says:ok stop:end_turn",
		},
		{
			"interrupted", qwenLog(qwenUser("Go."), qwenSays(call), qwenUser("More."), qwenSays(`{"text":"ok"}`)),
			"prompt:Go. calls:edit cancelled stop:cancelled prompt:More. says:ok stop:end_turn",
		},
		{
			"interrupted at its end", qwenLog(qwenUser("Go."), qwenSays(call), result("cancelled", `{"error":"no"}`)),
			"prompt:Go. calls:edit cancelled stop:cancelled",
		},
		{
			"a turn that is told to be cancelled", qwenLog(qwenUser("Go."), qwenSays(`{"text":"ok"}`),
				`{"type":"system","subtype":"turn_result","systemPayload":{"state":"cancelled"}}`),
			"prompt:Go. says:ok stop:cancelled",
		},
		{
			"what the program said", qwenLog(qwenUser("Go."),
				`{"type":"user","subtype":"notification","provenance":"system","message":{"parts":[{"text":"x"}]}}`,
				`{"type":"user","provenance":"hook","message":{"parts":[{"text":"x"}]}}`,
				`{"type":"system","subtype":"chat_compression"}`, `{"type":"system","subtype":"custom_title"}`,
				qwenSays(`{"text":"ok"}`)),
			"prompt:Go. qwen:notification qwen:user qwen:chat_compression says:ok stop:end_turn",
		},
		{
			"an error that was overcome, and one of a side question",
			qwenLog(qwenUser("Go."), qwenAPIError(""), qwenSays(`{"text":"ok"}`), qwenAPIError("")),
			"prompt:Go. qwen:api_error says:ok stop:end_turn",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Read(Qwen, logFile(t, tt.lines...), Options{Stop: "end_turn"})
			require.NoError(t, err)
			assert.Equal(t, tt.want, short(s))
		})
	}
}

func qwenAPIError(subagent string) string {
	return `{"type":"system","subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"qwen-code.api_error",` +
		`"error_message":"503","subagent_name":"` + subagent + `"}}}`
}

func TestQwenErrors(t *testing.T) {
	tests := []struct {
		name  string
		lines []string
		want  string
	}{
		{"no time", []string{`{"type":"user"}`}, `:1: invalid timestamp ""`},
		{
			"an unknown line", qwenLog(`{"type":"dream"}`),
			`:1: unknown line type "dream"; if such lines do not belong to the session, skip them with --ignore dream`,
		},
		{
			"an unknown line of the program", qwenLog(`{"type":"system","subtype":"dream"}`),
			`:1: unknown line type "dream"; if such lines do not belong to the session, skip them with --ignore dream`,
		},
		{
			"an unknown message", qwenLog(`{"type":"user","subtype":"dream"}`),
			`:1: unknown line type "dream"; if such lines do not belong to the session, skip them with --ignore dream`,
		},
		{
			"a message during a turn", qwenLog(qwenUser("Go."), `{"type":"user","subtype":"mid_turn_user_message"}`),
			":2: the user sent a message during a turn, which a unit cannot do",
		},
		{
			"a subagent", qwenLog(qwenUser("Go."), qwenSays(`{"functionCall":{"id":"a","name":"agent"}}`)),
			":2: a subagent worked for the session (agent); its calls are not in the file",
		},
		{
			"turns taken back", qwenLog(`{"type":"system","subtype":"rewind"}`),
			":1: the user took turns back, and the file does not say which: it cannot be read",
		},
		{
			"a full disk", qwenLog(`{"type":"system","subtype":"session_recording_degraded"}`),
			":1: the program could not write all of the session",
		},
		{
			"an outage", qwenLog(qwenUser("Go."), qwenAPIError("")),
			": the session ended because its model failed, so nothing is known about the agent: 503",
		},
		{
			"an outage of a turn", qwenLog(qwenUser("Go."),
				`{"type":"system","subtype":"turn_result","systemPayload":{"state":"error"}}`),
			": the session ended because its model failed, so nothing is known about the agent: " +
				"the turn ended with an error",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := logFile(t, tt.lines...)
			_, err := Read(Qwen, file, Options{Stop: "end_turn"})
			assert.EqualError(t, err, file+tt.want)
		})
	}
}

func TestGenaiPrinted(t *testing.T) {
	n := func(i int) *int { return &i }
	tests := []struct {
		name, text, printed string
		code                *int
	}{
		{
			"a command",
			"Command: a\nDirectory: (root)\nOutput: x\ny\nError: (none)\nExit Code: 1\nSignal: (none)", "x\ny", n(1),
		},
		{
			"a short one",
			"<untrusted_context>\nOutput: x\nExit Code: 2\nProcess Group PGID: 1\n</untrusted_context>", "x", n(2),
		},
		{"one that succeeded", "Output: x\nProcess Group PGID: 1", "x", nil},
		{"a command that prints such a line", "Output: Exit Code: 7\nExit Code: 1\n", "Exit Code: 7", n(1)},
		{"a text", "cancelled", "cancelled", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			printed, code := genaiPrinted(tt.text)
			assert.Equal(t, tt.printed, printed)
			assert.Equal(t, tt.code, code)
		})
	}
}

func FuzzQwen(f *testing.F) { fuzzSamples(f, Qwen) }
