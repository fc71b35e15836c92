package convert

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// logFile writes a log of JSON lines and returns its path.
func logFile(t testing.TB, lines ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "log.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644))
	return file
}

// copilotLog returns events, each a type and its data, behind a session.start.
func copilotLog(pairs ...string) []string {
	lines := []string{`{"type":"session.start","timestamp":"2026-01-02T03:04:05Z",` +
		`"data":{"sessionId":"s","copilotVersion":"1","context":{"cwd":"/w"}}}`}
	for i := 0; i < len(pairs); i += 2 {
		lines = append(lines,
			fmt.Sprintf(`{"type":%q,"timestamp":"2026-01-02T03:04:06Z","data":%s}`, pairs[i], pairs[i+1]))
	}
	return lines
}

func TestCopilot(t *testing.T) {
	const user, says, start, ends = "user.message", "assistant.message", "tool.execution_start",
		"tool.execution_complete"
	tests := []struct {
		name, reason string
		events       []string
		want         string
	}{
		{
			"an answer", "",
			[]string{user, `{"content":"Go."}`, says, `{"content":"ok","reasoningText":"hm"}`},
			"prompt:Go. thought says:ok stop:end_turn",
		},
		{
			"all that it may do", "the program's own matters (copilot --allow-all)",
			[]string{
				"session.permissions_changed", `{"mode":"allow-all"}`, user, `{"content":"Go."}`,
				"session.auto_mode_resolved", `{"chosenModel":"m"}`, "tool_search.activated", `{}`,
				"session.completion_receipt", `{"attempt":1}`, says, `{"content":"ok"}`,
			},
			"prompt:Go. says:ok stop:end_turn",
		},
		{
			"a subagent", "its calls are the session's",
			[]string{
				user, `{"content":"Go."}`,
				says, `{"toolRequests":[{"toolCallId":"a","name":"task","arguments":{}}]}`,
				user, `{"content":"Look.","source":"agent-1"}`,
				says, `{"content":"I look.","parentToolCallId":"a",` +
					`"toolRequests":[{"toolCallId":"b","name":"view"}]}`,
				start, `{"toolCallId":"b","toolName":"view"}`,
				ends, `{"toolCallId":"b","success":false,"error":{"message":"no"}}`,
				ends, `{"toolCallId":"a","success":true,"result":{"content":"x"}}`,
				says, `{"content":"ok"}`,
			},
			"prompt:Go. calls:task subagent:prompt subagent:message calls:view failed completed says:ok stop:end_turn",
		},
		{
			"a tool of an MCP server", "",
			[]string{
				user, `{"content":"Go."}`,
				start, `{"toolCallId":"a","toolName":"stock-count","mcpServerName":"stock","mcpToolName":"count"}`,
				ends, `{"toolCallId":"a","success":true}`, says, `{"content":"ok"}`,
			},
			"prompt:Go. calls:mcp__stock__count completed says:ok stop:end_turn",
		},
		{
			"a command of the user's", "it is not the agent's",
			[]string{
				user, `{"content":"Go."}`, "tool.user_requested", `{"toolCallId":"a","toolName":"bash"}`,
				start, `{"toolCallId":"a","toolName":"bash"}`, ends, `{"toolCallId":"a","success":true}`,
				says, `{"content":"ok"}`,
			},
			"prompt:Go. copilot:tool.user_requested says:ok stop:end_turn",
		},
		{
			"interrupted", "",
			[]string{
				user, `{"content":"Go."}`, start, `{"toolCallId":"a","toolName":"bash"}`, "abort", `{}`,
				user, `{"content":"More."}`, "session.error", `{"message":"503"}`, says, `{"content":"ok"}`,
			},
			"prompt:Go. calls:bash cancelled stop:cancelled prompt:More. copilot:session.error says:ok stop:end_turn",
		},
		{
			"what the program said", "",
			[]string{
				user, `{"content":"Go."}`, user, `{"content":"x","source":"skill-a"}`,
				user, `{"content":"<system_notification>x"}`, "session.mode_changed", `{"newMode":"plan"}`,
				"session.task_complete", `{"summary":"Done."}`,
			},
			"prompt:Go. copilot:user.skill-a copilot:notification state says:Done. stop:end_turn",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Read(Copilot, logFile(t, copilotLog(tt.events...)...), Options{Stop: "end_turn"})
			require.NoError(t, err, tt.reason)
			assert.Equal(t, tt.want, short(s), tt.reason)
		})
	}
}

func TestCopilotErrors(t *testing.T) {
	const user, says = "user.message", "assistant.message"
	tests := []struct {
		name  string
		lines []string
		want  string
	}{
		{
			"no start",
			[]string{`{"type":"user.message","data":{}}`},
			":1: a log of Copilot must begin with session.start",
		},
		{"no data", copilotLog(user, "null"), `:2: the event "user.message" has no data`},
		{
			"an unknown event", copilotLog("dream", "{}"),
			`:2: unknown line type "dream"; if such lines do not belong to the session, skip them with --ignore dream`,
		},
		{"two sessions", copilotLog("session.start", "{}"), ":2: a second session begins in the file"},
		{
			"turns taken back", copilotLog("session.snapshot_rewind", "{}"),
			":2: the user took turns back, and the file does not say which: it cannot be read",
		},
		{
			"handed over", copilotLog("session.handoff", "{}"),
			":2: a part of the session ran elsewhere; its calls are not in the file",
		},
		{
			"a message during a turn",
			copilotLog(user, `{"content":"Go."}`, says, `{"toolRequests":[{"toolCallId":"a"}]}`,
				user, `{"content":"No."}`),
			":4: the user sent a message during a turn, which a unit cannot do",
		},
		{
			"a negative count", copilotLog(user, `{"content":"Go."}`,
				"session.usage_record", `{"usage":{"inputTokens":-1}}`),
			":3: -1 is no number of tokens",
		},
		{
			"an outage", copilotLog(user, `{"content":"Go."}`, "session.error", `{"message":"503"}`),
			": the session ended because its model failed, so nothing is known about the agent: 503",
		},
		{
			"killed", copilotLog(user, `{"content":"Go."}`, says, `{"content":"x"}`,
				"session.shutdown", `{"shutdownType":"error","errorReason":"out of memory"}`),
			": the session ended because its model failed, so nothing is known about the agent: out of memory",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := logFile(t, tt.lines...)
			_, err := Read(Copilot, file, Options{Stop: "end_turn"})
			assert.EqualError(t, err, file+tt.want)
		})
	}
}

func FuzzCopilot(f *testing.F) { fuzzSamples(f, Copilot) }

// fuzzSamples reads what is like the samples of a format.
func fuzzSamples(f *testing.F, format string) {
	f.Helper()
	for _, file := range samples(f, format) {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { fuzzRead(t, format, data) })
}
