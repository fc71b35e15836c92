package convert

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// openCodeDoc is an export of messages.
func openCodeDoc(messages ...string) string {
	return `{"info":{"id":"ses_1","directory":"/w","version":"1"},"messages":[` + strings.Join(messages, ",") + `]}`
}

// openCodeMsg returns a message; info are more fields of its head.
func openCodeMsg(role, info string, parts ...string) string {
	return fmt.Sprintf(`{"info":{"role":%q%s},"parts":[%s]}`, role, info, strings.Join(parts, ","))
}

func openCodeTool(tool, status string) string {
	return fmt.Sprintf(`{"type":"tool","tool":%q,"callID":"a","state":{"status":%q,"input":{},"error":"no"}}`,
		tool, status)
}

const (
	openCodeGo = `{"type":"text","text":"Go."}`
	openCodeOK = `{"type":"text","text":"ok"}`
)

func TestOpenCode(t *testing.T) {
	user, stop := openCodeMsg("user", "", openCodeGo), `,"finish":"stop"`
	tests := []struct {
		name, reason string
		doc          string
		want         string
	}{
		{
			"an answer", "",
			openCodeDoc(user, openCodeMsg("assistant", stop, `{"type":"reasoning","text":"hm"}`, openCodeOK)),
			"prompt:Go. thought says:ok stop:end_turn",
		},
		{
			"texts of the program", "they are no prompt", openCodeDoc(
				openCodeMsg("user", "", openCodeGo, `{"type":"text","text":"x","synthetic":true}`,
					`{"type":"text","text":"x","ignored":true}`),
				openCodeMsg("user", "", `{"type":"compaction"}`),
				openCodeMsg("assistant", `,"summary":true`, openCodeOK),
				openCodeMsg("user", "", `{"type":"text","text":"x","synthetic":true}`),
				openCodeMsg("assistant", stop, `{"type":"retry"}`, openCodeOK)),
			"prompt:Go. opencode:compaction opencode:summary opencode:user opencode:retry says:ok stop:end_turn",
		},
		{
			"interrupted", "", openCodeDoc(user,
				openCodeMsg("assistant", `,"error":{"name":"MessageAbortedError"}`, openCodeTool("bash", "running")),
				user, openCodeMsg("assistant", stop, openCodeOK)),
			"prompt:Go. calls:bash cancelled stop:cancelled prompt:Go. says:ok stop:end_turn",
		},
		{
			"interrupted in a command", "the command is told as completed, without an exit code", openCodeDoc(user,
				openCodeMsg("assistant", `,"error":{"name":"MessageAbortedError"},"tokens":{"input":0}`,
					openCodeTool("bash", "completed"))),
			"prompt:Go. calls:bash cancelled stop:cancelled",
		},
		{
			"a call that failed", "", openCodeDoc(user,
				openCodeMsg("assistant", `,"finish":"tool-calls"`, openCodeTool("edit", "error")),
				openCodeMsg("assistant", `,"finish":"length"`, openCodeOK)),
			"prompt:Go. calls:edit failed says:ok stop:max_tokens",
		},
		{
			"a long answer", "", openCodeDoc(user,
				openCodeMsg("assistant", `,"error":{"name":"MessageOutputLengthError"}`, openCodeOK)),
			"prompt:Go. says:ok stop:max_tokens",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Read(OpenCode, logFile(t, tt.doc), Options{Stop: "end_turn"})
			require.NoError(t, err, tt.reason)
			assert.Equal(t, tt.want, short(s), tt.reason)
			end := s.Turns[0][len(s.Turns[0])-1].Body.(trajectory.Stop)
			assert.Nil(t, end.Usage, "no tokens are told")
		})
	}
}

// `opencode run PROMPT` sends a prompt with spaces in quotes; who imports it knows what was asked.
func TestOpenCodeRun(t *testing.T) {
	said := `{"type":"text","text":"\"Say \\\"hi\\\" twice.\""}`
	file := logFile(t, openCodeDoc(openCodeMsg("user", "", said),
		openCodeMsg("assistant", `,"finish":"stop"`, openCodeOK)))
	for _, tt := range []struct{ asked, want string }{
		{`Say "hi" twice.`, `Say "hi" twice.`},
		{"Say \"hi\" twice.\n", "Say \"hi\" twice.\n"},
		{`Say "hi".`, `"Say \"hi\" twice."`},
		{`"Say \"hi\" twice."`, `"Say \"hi\" twice."`},
	} {
		s, err := Read(OpenCode, file, Options{Prompts: []string{tt.asked}})
		require.NoError(t, err)
		assert.Equal(t, []string{tt.want}, s.Prompts())
	}
}

func TestOpenCodeErrors(t *testing.T) {
	user := openCodeMsg("user", "", openCodeGo)
	tests := []struct{ name, doc, want string }{
		{"another document", `{"a":1}`, "this is not an export of OpenCode: it has no info about the session"},
		{
			"a subagent's", `{"info":{"id":"ses_2","parentID":"ses_1"}}`,
			"this is the session of a subagent: export that of ses_1",
		},
		{
			"taken back", `{"info":{"id":"ses_2","revert":{"messageID":"m"}}}`,
			"the user took back a part of the session: redo or go on before you export it",
		},
		{
			"a subagent", openCodeDoc(user, openCodeMsg("assistant", "", openCodeTool("task", "completed"))),
			"messages[1].parts[0]: a subagent worked for the session (task); its calls are in another session",
		},
		{
			"a mentioned agent", openCodeDoc(openCodeMsg("user", "", `{"type":"agent"}`)),
			"messages[0].parts[0]: a subagent worked for the session; its calls are in another session",
		},
		{"an unknown role", openCodeDoc(openCodeMsg("dreamer", "")), `messages[0].info.role: unknown role "dreamer"`},
		{
			"an unknown part", openCodeDoc(user, openCodeMsg("assistant", "", `{"type":"dream"}`)),
			`messages[1].parts[0]: unknown line type "dream"; if such lines do not belong to the session, ` +
				`skip them with --ignore dream`,
		},
		{
			"an unknown state", openCodeDoc(user, openCodeMsg("assistant", "", openCodeTool("edit", "lost"))),
			`messages[1].parts[0]: unknown state of a call "lost"`,
		},
		{
			"no prompt", openCodeDoc(openCodeMsg("assistant", "")),
			"messages[0]: the agent acts before the first prompt",
		},
		{
			"a negative count", openCodeDoc(user, openCodeMsg("assistant", `,"tokens":{"input":-1}`)),
			"messages[1].info.tokens: -1 is no number of tokens",
		},
		{
			"killed in an answer", openCodeDoc(user, openCodeMsg("assistant", "", openCodeOK)),
			"turn 1 has not ended: it does not end with a message of the agent (if it did, give the reason with " +
				"--stop REASON)",
		},
		{
			"killed in a call",
			openCodeDoc(user, openCodeMsg("assistant", `,"finish":"stop"`, openCodeTool("edit", "running"))),
			"turn 1 has not ended: no result of a (if it did, give the reason with --stop REASON)",
		},
		{
			"an outage", openCodeDoc(user,
				openCodeMsg("assistant", `,"error":{"name":"APIError","data":{"message":"503"}}`)),
			"the session ended because its model failed, so nothing is known about the agent: 503",
		},
		{
			"an answer that broke off", openCodeDoc(user, openCodeMsg("assistant", `,"finish":"error"`, openCodeOK)),
			"the session ended because its model failed, so nothing is known about the agent: " +
				"an answer ended with an error",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := logFile(t, tt.doc)
			_, err := Read(OpenCode, file, Options{})
			assert.EqualError(t, err, file+": "+tt.want)
		})
	}
}

func FuzzOpenCode(f *testing.F) { fuzzSamples(f, OpenCode) }
