package convert

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// geminiMsg returns a message; rest are more fields.
func geminiMsg(id, kind, content, rest string) string {
	return fmt.Sprintf(`{"id":%q,"timestamp":"2026-01-02T03:04:05Z","type":%q,"content":%s%s}`, id, kind, content, rest)
}

func geminiCallOf(id, status string) string {
	return fmt.Sprintf(`{"id":%q,"name":"edit","args":{},"status":%q,"result":[{"functionResponse":`+
		`{"id":%[1]q,"response":{"output":"x"}}}]}`, id, status)
}

const geminiHead = `{"sessionId":"s","projectHash":"0","kind":"main"}`

func TestGemini(t *testing.T) {
	const goes, says = `[{"text":"Go."}]`, `"ok"`
	context := geminiMsg("c", "user", `[{"text":"<session_context>\n- **Workspace Directories:**\n  - /w\n"}]`, "")
	tests := []struct {
		name, reason string
		lines        []string
		want         string
	}{
		{
			"an answer", "",
			[]string{
				geminiHead, `{"$set":{"messages":[` + context + `]}}`, geminiMsg("1", "user", goes, ""),
				`{"$set":{"lastUpdated":"x"}}`,
				geminiMsg("2", "gemini", says, `,"thoughts":[{"subject":"a","description":"b"}]`),
			},
			"prompt:Go. thought says:ok stop:end_turn",
		},
		{
			"a document of an older version", "",
			[]string{
				"{", `"sessionId":"s","messages":[` + geminiMsg("1", "user", `"Go."`, ""), ",",
				geminiMsg("2", "gemini", says, ""), "]}",
			},
			"prompt:Go. says:ok stop:end_turn",
		},
		{
			"an answer that grows", "what is new is read",
			[]string{
				geminiHead, geminiMsg("1", "user", goes, ""),
				geminiMsg("2", "gemini", `""`, `,"toolCalls":[`+geminiCallOf("a", "executing")+`]`),
				geminiMsg("2", "gemini", `""`, `,"toolCalls":[`+geminiCallOf("a", "success")+`,`+
					geminiCallOf("b", "error")+`]`),
				geminiMsg("r", "user", `[{"functionResponse":{"id":"a","response":{"output":"x"}}}]`, ""),
				geminiMsg("3", "gemini", says, ""),
			},
			"prompt:Go. calls:edit completed calls:edit failed says:ok stop:end_turn",
		},
		{
			"a result that only the next message has", "",
			[]string{
				geminiHead, geminiMsg("1", "user", goes, ""),
				geminiMsg("2", "gemini", `""`, `,"toolCalls":[`+geminiCallOf("a", "executing")+`]`),
				geminiMsg("r", "user", `[{"functionResponse":{"id":"a","response":{"error":"x"}}}]`, ""),
				geminiMsg("3", "gemini", says, ""),
			},
			"prompt:Go. calls:edit failed says:ok stop:end_turn",
		},
		{
			"turns that were taken back", "",
			[]string{
				geminiHead, geminiMsg("1", "user", goes, ""), geminiMsg("2", "gemini", says, ""),
				geminiMsg("3", "user", `"Wrong."`, ""), geminiMsg("4", "gemini", says, ""), `{"$rewindTo":"3"}`,
				geminiMsg("5", "user", `"Right."`, ""), geminiMsg("6", "gemini", says, ""),
			},
			"prompt:Go. says:ok stop:end_turn prompt:Right. says:ok stop:end_turn",
		},
		{
			"interrupted", "the agent does nothing after a call that was cancelled",
			[]string{
				geminiHead, geminiMsg("1", "user", goes, ""),
				geminiMsg("2", "info", `"Request cancelled."`, ""),
				geminiMsg("3", "gemini", `""`, `,"toolCalls":[`+geminiCallOf("a", "cancelled")+`]`),
				geminiMsg("r", "user", `[{"functionResponse":{"id":"a","response":{"error":"x"}}}]`, ""),
			},
			"prompt:Go. gemini:info calls:edit cancelled stop:cancelled",
		},
		{
			"a call that was cancelled beside another", "the turn goes on",
			[]string{
				geminiHead, geminiMsg("1", "user", goes, ""),
				geminiMsg("3", "gemini", `""`, `,"toolCalls":[`+geminiCallOf("a", "cancelled")+`]`),
				geminiMsg("4", "gemini", says, ""),
			},
			"prompt:Go. calls:edit cancelled says:ok stop:end_turn",
		},
		{
			"interrupted, and told", "",
			[]string{
				geminiHead, geminiMsg("1", "user", goes, ""),
				geminiMsg("2", "gemini", `""`, `,"toolCalls":[`+geminiCallOf("a", "executing")+`]`),
				geminiMsg("3", "info", `"Request cancelled."`, ""),
				geminiMsg("4", "user", `"More."`, ""), geminiMsg("5", "error", `"503"`, ""), `{"$set":{"messages":[]}}`,
				geminiMsg("6", "user", `"<hook_context>x"`, ""), geminiMsg("7", "gemini", says, ""),
			},
			"prompt:Go. calls:edit gemini:info cancelled stop:cancelled prompt:More. gemini:error gemini:history " +
				"gemini:hook says:ok stop:end_turn",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Read(Gemini, logFile(t, tt.lines...), Options{Stop: "end_turn"})
			require.NoError(t, err, tt.reason)
			assert.Equal(t, tt.want, short(s), tt.reason)
			assert.Equal(t, "s", s.ID)
		})
	}
	s, err := Read(Gemini, logFile(t, tests[0].lines...), Options{Stop: "end_turn"})
	require.NoError(t, err)
	assert.Equal(t, "/w", s.Cwd)
}

func TestGeminiErrors(t *testing.T) {
	begun := func(lines ...string) []string {
		return append([]string{geminiHead, geminiMsg("1", "user", `"Go."`, "")}, lines...)
	}
	tests := []struct {
		name  string
		lines []string
		want  string
	}{
		{"another file", []string{`{"a":1}`}, ":1: the line has no type: this is not a session file"},
		{
			"a subagent's",
			[]string{`{"sessionId":"s","kind":"subagent"}`},
			":1: this is the log of a subagent: name that of its session",
		},
		{"two sessions", []string{geminiHead, `{"sessionId":"t"}`}, ":2: a second session begins in the file"},
		{
			"an unknown message", begun(geminiMsg("2", "dream", `""`, "")),
			`:3: unknown line type "dream"; if such lines do not belong to the session, skip them with --ignore dream`,
		},
		{
			"a part of a turn taken back", begun(`{"$rewindTo":"2"}`),
			":3: the user took back a part of a turn, which a unit cannot do",
		},
		{
			"a subagent", begun(geminiMsg("2", "gemini", `""`,
				`,"toolCalls":[{"id":"a","name":"helper","resultDisplay":{"isSubagentProgress":true}}]`)),
			":3: a subagent worked for the session (helper); its calls are in another file",
		},
		{"no call", begun(geminiMsg("2", "gemini", `""`, `,"toolCalls":[null]`)), ":3: a call is null"},
		{
			"a result of nothing",
			begun(geminiMsg("2", "user", `[{"functionResponse":{"id":"a","response":{}}}]`, "")),
			`:3: result of unknown tool call "a"`,
		},
		{
			"an outage", begun(geminiMsg("2", "error", `"503"`, "")),
			": the session ended because its model failed, so nothing is known about the agent: 503",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := logFile(t, tt.lines...)
			_, err := Read(Gemini, file, Options{Stop: "end_turn"})
			assert.EqualError(t, err, file+tt.want)
		})
	}
}

func FuzzGemini(f *testing.F) { fuzzSamples(f, Gemini) }
