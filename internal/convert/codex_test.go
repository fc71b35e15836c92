package convert

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// rollout writes a rollout. The lines are a second apart.
type rollout struct{ lines []string }

func (r *rollout) line(kind, payload string) *rollout {
	at := fmt.Sprintf("2026-01-02T03:04:%02dZ", len(r.lines))
	r.lines = append(r.lines, fmt.Sprintf(`{"timestamp":%q,"type":%q,"payload":%s}`, at, kind, payload))
	return r
}

func (r *rollout) item(payload string) *rollout  { return r.line("response_item", payload) }
func (r *rollout) event(payload string) *rollout { return r.line("event_msg", payload) }

func (r *rollout) asks(text string) *rollout {
	return r.event(`{"type":"task_started"}`).event(fmt.Sprintf(`{"type":"user_message","message":%q}`, text))
}

func (r *rollout) says(text string) *rollout {
	return r.item(fmt.Sprintf(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":%q}]}`,
		text))
}

func (r *rollout) done(text string) *rollout {
	return r.says(text).event(fmt.Sprintf(`{"type":"task_complete","last_agent_message":%q}`, text))
}

func (r *rollout) calls(id, tool, args string) *rollout {
	return r.item(fmt.Sprintf(`{"type":"function_call","call_id":%q,"name":%q,"arguments":%q}`, id, tool, args))
}

func (r *rollout) gets(id, output string) *rollout {
	return r.item(fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":%q}`, id, output))
}

func (r *rollout) write(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rollout.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(r.lines, "\n")), 0o644))
	return file
}

func codexMetaLine() *rollout {
	return (&rollout{}).line("session_meta", `{"id":"s","cwd":"/w","cli_version":"0.137.0"}`)
}

func TestCodex(t *testing.T) {
	tests := []struct {
		name, reason string
		from         *rollout
		want         string
	}{
		{"an answer", "", codexMetaLine().asks("Go.").done("ok"), "prompt:Go. says:ok stop:end_turn"},
		{
			"an older one", "it does not say when turns begin and end",
			codexMetaLine().event(`{"type":"user_message","message":"Go."}`).says("ok").
				event(`{"type":"user_message","message":"More."}`).says("yes"),
			"prompt:Go. says:ok stop:end_turn prompt:More. says:yes stop:end_turn",
		},
		{
			"one that goes on from another", "its own meta comes first",
			codexMetaLine().line("session_meta", `{"id":"old"}`).asks("Go.").done("ok"),
			"prompt:Go. says:ok stop:end_turn",
		},
		{
			"interrupted", "",
			codexMetaLine().asks("Go.").calls("a", "shell", `{"command":["ls"]}`).
				event(`{"type":"turn_aborted","reason":"interrupted"}`).
				asks("More.").done("ok"),
			"prompt:Go. calls:shell cancelled stop:cancelled prompt:More. says:ok stop:end_turn",
		},
		{
			"turns that were taken back", "",
			codexMetaLine().asks("Go.").done("ok").asks("Wrong.").calls("a", "shell", `{}`).gets("a", "x").done("hm").
				event(`{"type":"thread_rolled_back","num_turns":1}`).asks("Right.").done("yes"),
			"prompt:Go. says:ok stop:end_turn prompt:Right. says:yes stop:end_turn",
		},
		{
			"tools of every kind", "", codexMetaLine().asks("Go.").
				item(`{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"content":null,`+
					`"encrypted_content":"x"}`).
				item(`{"type":"local_shell_call","call_id":"a","status":"completed","action":{"type":"exec",`+
					`"command":["ls","-l"]}}`).gets("a", `{"output":"x","metadata":{"exit_code":2}}`).
				item(`{"type":"custom_tool_call","call_id":"b","name":"apply_patch","input":"*** Begin Patch"}`).
				item(`{"type":"custom_tool_call_output","call_id":"b","output":"Exit code: 0\nOutput:\nok"}`).
				item(`{"type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}}`).
				calls("c", "view_image", `{"path":"a.png"}`).
				item(`{"type":"function_call_output","call_id":"c","output":[{"type":"input_image",`+
					`"image_url":"data:"}]}`).
				calls("d", "mcp__x__y", `not JSON`).
				item(`{"type":"function_call_output","call_id":"d","output":{"content":"no","success":false}}`).
				line("compacted", `{"message":""}`).done("ok"),
			"prompt:Go. thought calls:local_shell failed calls:apply_patch completed calls:web_search completed " +
				"calls:view_image completed " +
				"calls:mcp__x__y failed codex:compacted says:ok stop:end_turn",
		},
		{
			"an error that was overcome", "",
			codexMetaLine().asks("Go.").event(`{"type":"error","message":"503"}`).done("ok"),
			"prompt:Go. codex:error says:ok stop:end_turn",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Read(Codex, tt.from.write(t), Options{Stop: "end_turn"})
			require.NoError(t, err, tt.reason)
			assert.Equal(t, tt.want, short(s), tt.reason)
			assert.Equal(t, "s", s.ID)
		})
	}
}

// Since 0.166 the model's calls are scripts, and what they did is told as items that were completed.
func TestCodexScripts(t *testing.T) {
	done := func(item string) string { return `{"type":"item_completed","item":` + item + `}` }
	user := func(text string) string {
		return fmt.Sprintf(`{"type":"message","role":"user","content":[{"type":"input_text","text":%q}],`+
			`"internal_chat_message_metadata_passthrough":{"content_item_kinds":["user.text"]}}`, text)
	}
	script := `{"type":"custom_tool_call","call_id":"a","name":"exec","input":"x"}`
	ends := func(how string) string {
		return `{"type":"custom_tool_call_output","call_id":"a","output":"` + how + `"}`
	}
	ran := done(`{"type":"CommandExecution","id":"exec-1","command":["/bin/bash","-c","ls"],"cwd":"file:///w/sub",` +
		`"status":"failed","aggregated_output":"x","exit_code":2}`)
	tests := []struct {
		name, reason string
		from         *rollout
		want         string
	}{
		{
			"a prompt that is told twice", "it is one",
			codexMetaLine().event(`{"type":"task_started"}`).item(user("Go.")).
				event(done(`{"type":"UserMessage","content":[{"type":"text","text":"Go."}]}`)).done("ok"),
			"prompt:Go. says:ok stop:end_turn",
		},
		{
			"a prompt that is an item only", "",
			codexMetaLine().event(`{"type":"task_started"}`).item(user("Go.")).done("ok"),
			"prompt:Go. says:ok stop:end_turn",
		},
		{
			"a script", "its calls stand for it",
			codexMetaLine().asks("Go.").item(script).event(ran).item(ends("Script completed")).done("ok"),
			"prompt:Go. calls:exec_command failed says:ok stop:end_turn",
		},
		{
			"a script without calls", "it is all that is known",
			codexMetaLine().asks("Go.").item(script).item(ends("Script completed")).done("ok"),
			"prompt:Go. calls:exec completed says:ok stop:end_turn",
		},
		{
			"a script that failed", "that is told by its own result only",
			codexMetaLine().asks("Go.").item(script).event(ran).item(ends("Script failed")).done("ok"),
			"prompt:Go. calls:exec calls:exec_command failed failed says:ok stop:end_turn",
		},
		{
			"a script that was interrupted", "its call is told once the turn is over, and stands for it (0.171)",
			codexMetaLine().asks("Go.").item(script).item(ends("aborted by user after 1.2s")).
				event(`{"type":"turn_aborted","reason":"interrupted"}`).event(ran).asks("More.").done("ok"),
			"prompt:Go. calls:exec_command cancelled stop:cancelled prompt:More. says:ok stop:end_turn",
		},
		{
			"a script that was interrupted between calls", "",
			codexMetaLine().asks("Go.").item(script).event(ran).item(ends("aborted by user after 1.2s")).
				event(`{"type":"turn_aborted","reason":"interrupted"}`),
			"prompt:Go. calls:exec_command failed stop:cancelled",
		},
		{
			"a script that was interrupted before its first call", "it is all that is known",
			codexMetaLine().asks("Go.").item(script).item(ends("aborted by user after 1.2s")).
				event(`{"type":"turn_aborted","reason":"interrupted"}`).
				asks("More.").item(strings.ReplaceAll(script, `"a"`, `"b"`)).event(ran).
				item(strings.ReplaceAll(ends("Script completed"), `"a"`, `"b"`)).done("ok"),
			"prompt:Go. calls:exec cancelled stop:cancelled " +
				"prompt:More. calls:exec_command failed says:ok stop:end_turn",
		},
		{
			"a call of the model", "it is read from the item of the model",
			codexMetaLine().asks("Go.").calls("a", "shell", `{}`).
				event(done(`{"type":"CommandExecution","id":"a"}`)).gets("a", "x").done("ok"),
			"prompt:Go. calls:shell completed says:ok stop:end_turn",
		},
		{
			"other tools", "", codexMetaLine().asks("Go.").
				event(done(`{"type":"McpToolCall","id":"m","server":"stock","tool":"count","status":"completed",` +
					`"arguments":{},"result":{"content":[]}}`)).
				event(done(`{"type":"FileChange","id":"f","status":"declined","changes":{"/w/a":{"type":"delete",` +
					`"content":"x"},"/w/b":{"type":"add","content":"y"}}}`)).
				event(done(`{"type":"WebSearch","id":"ws_1"}`)).done("ok"),
			"prompt:Go. calls:mcp__stock__count completed calls:apply_patch failed says:ok stop:end_turn",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Read(Codex, tt.from.write(t), Options{Stop: "end_turn"})
			require.NoError(t, err, tt.reason)
			assert.Equal(t, tt.want, short(s), tt.reason)
		})
	}
}

func TestCodexErrors(t *testing.T) {
	tests := []struct {
		name string
		from *rollout
		want string
	}{
		{"empty", &rollout{}, ": this is not a rollout: it has no session_meta"},
		{"no meta", (&rollout{}).asks("Go."), ":1: a rollout must begin with session_meta"},
		{
			"an unknown line", codexMetaLine().line("telepathy", `{}`),
			`:2: unknown line type "telepathy"; if such lines do not belong to the session, ` +
				`skip them with --ignore telepathy`,
		},
		{
			"an unknown item", codexMetaLine().item(`{"type":"hologram"}`),
			`:2: unknown line type "hologram"; if such lines do not belong to the session, ` +
				`skip them with --ignore hologram`,
		},
		{
			"an unknown event", codexMetaLine().event(`{"type":"dream"}`),
			`:2: unknown line type "dream"; if such lines do not belong to the session, ` +
				`skip them with --ignore dream`,
		},
		{
			"no payload", codexMetaLine().line("event_msg", `null`),
			`:2: the line of type "event_msg" has no payload: this is not a rollout`,
		},
		{
			"no answer", codexMetaLine().asks("Go.").event(`{"type":"task_complete","last_agent_message":null}`),
			": the session ended because its model failed, so nothing is known about the agent: " +
				"the turn ended without an answer",
		},
		{
			"an error", codexMetaLine().asks("Go.").event(`{"type":"error","message":"503"}`),
			": the session ended because its model failed, so nothing is known about the agent: 503",
		},
		{
			"killed", codexMetaLine().asks("Go.").calls("a", "shell", `{}`),
			": turn 1 has not ended: no result of a (if it did, give the reason with --stop REASON)",
		},
		{
			"a word in between", codexMetaLine().asks("Go.").event(`{"type":"user_message","message":"Stop."}`),
			":4: the user sent a message during a turn, which a unit cannot do",
		},
		{
			"an agent", codexMetaLine().asks("Go.").calls("a", "spawn_agent", `{}`),
			":4: a subagent worked for the session (spawn_agent); its calls are in another rollout",
		},
		{
			"an agent that a script began",
			codexMetaLine().asks("Go.").event(`{"type":"item_completed","item":{"type":"SubAgentActivity"}}`),
			":4: a subagent worked for the session; its calls are in another rollout",
		},
		{
			"an unknown item that was completed",
			codexMetaLine().asks("Go.").event(`{"type":"item_completed","item":{"type":"Trance"}}`),
			`:4: unknown line type "Trance"; if such lines do not belong to the session, ` +
				`skip them with --ignore Trance`,
		},
		{
			"two prompts in a turn",
			codexMetaLine().asks("Go.").event(`{"type":"item_completed","item":{"type":"UserMessage"}}`),
			":4: the user sent a message during a turn, which a unit cannot do",
		},
		{
			"a result of a turn that was taken back", codexMetaLine().asks("Go.").calls("a", "shell", `{}`).
				event(`{"type":"thread_rolled_back","num_turns":1}`).gets("a", "x"),
			`:6: result of tool call "a" after its turn was taken back`,
		},
		{
			"a review", codexMetaLine().event(`{"type":"entered_review_mode"}`),
			":2: a review agent worked for the session; its calls are not in the rollout",
		},
		{
			"a result of nothing", codexMetaLine().asks("Go.").gets("a", "x"),
			`:4: result of unknown tool call "a"`,
		},
		{
			"no arguments", codexMetaLine().asks("Go.").item(`{"type":"function_call","call_id":"a","name":"f"}`),
			":4: the call has no arguments",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := tt.from.write(t)
			_, err := Read(Codex, file, Options{})
			assert.EqualError(t, err, file+tt.want)
		})
	}
}

func TestCodexPrinted(t *testing.T) {
	n := func(i int) *int { return &i }
	p := func(s string) *string { return &s }
	tests := []struct {
		name, text string
		printed    *string
		code       *int
	}{
		{
			"a command",
			"Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 1\nOriginal token count: 2\nOutput:\na\nb\n",
			p("a\nb\n"), n(1),
		},
		{"one that still runs", "Wall time: 1 seconds\nProcess running with session ID 7\nOutput:\na", p("a"), nil},
		{"a patch", "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess.", p("Success."), n(0)},
		{"an older one", `{"output":"a","metadata":{"exit_code":127,"duration_seconds":0.1}}`, p("a"), n(127)},
		{"a text", "Exit code: 0 is what it said", nil, nil},
		{"aborted", "aborted by user after 0.1s", nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			printed, code := codexPrinted(tt.text)
			assert.Equal(t, tt.printed, printed)
			assert.Equal(t, tt.code, code)
		})
	}
}

// A turn's tokens are the growth of the session's count.
func TestCodexTokens(t *testing.T) {
	count := func(in, cached, out int) string {
		return fmt.Sprintf(`{"type":"token_count","info":{"total_token_usage":{"input_tokens":%d,`+
			`"cached_input_tokens":%d,"output_tokens":%d,"total_tokens":%d}}}`, in, cached, out, in+out)
	}
	r := codexMetaLine().asks("Go.").event(count(100, 0, 10)).event(`{"type":"token_count","info":null}`).
		event(count(300, 80, 30)).done("ok")
	r.asks("More.").event(count(400, 130, 40)).done("ok").asks("Less.").done("ok").asks("Anew.").event(count(5, 0,
		5)).done("ok")
	s, err := Read(Codex, r.write(t), Options{Stop: "end_turn"})
	require.NoError(t, err)
	usage := func(i int) *trajectory.Usage { return s.Turns[i][len(s.Turns[i])-1].Body.(trajectory.Stop).Usage }
	require.Len(t, s.Turns, 4)
	assert.Equal(t, []int64{220, 80, 30, 330}, []int64{
		*usage(0).Input, *usage(0).CacheRead, *usage(0).Output, *usage(0).Total,
	})
	assert.Equal(t, []int64{50, 50, 10, 110}, []int64{
		*usage(1).Input, *usage(1).CacheRead, *usage(1).Output, *usage(1).Total,
	})
	assert.Nil(t, usage(2), "nobody counted")
	assert.Nil(t, usage(3), "the count began anew")
}

func FuzzCodex(f *testing.F) {
	for _, file := range samples(f, Codex) {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte(strings.Join(codexMetaLine().asks("Go.").calls("a", "shell", `{}`).gets("a", "x").done("ok").lines,
		"\n")))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzRead(t, Codex, data) })
}
