package observe

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// chunk returns an update of a kind with these 40 bytes of text.
func chunk(kind string) string {
	return update(`"sessionUpdate":"` + kind + `","content":{"type":"text","text":"` + fortyBytes + `"}`)
}

const fortyBytes = "The quick brown fox jumps over the dogs."

func printedChunk(id string) string {
	return update(`"sessionUpdate":"tool_call_update","toolCallId":"` + id +
		`","_meta":{"terminal_output_delta":{"data":"` + fortyBytes + `"}}`)
}

// stream feeds a turn of many chunks of each kind.
func stream(o *Observer, chunks int) {
	frame := func(line string) {
		dir := acp.ToClient
		if line[0] == '>' {
			dir = acp.ToAgent
		}
		o.Frame(acp.Frame{Time: time.Unix(1, 0), Direction: dir, Raw: []byte(line[1:])})
	}
	frame(prompt)
	for _, line := range []string{
		chunk("agent_thought_chunk"), chunk("agent_message_chunk"), printedChunk("1"),
	} {
		for range chunks {
			frame(line)
		}
	}
	frame(endTurn)
}

func TestManyChunks(t *testing.T) {
	const chunks = 5_000
	var o Observer
	stream(&o, chunks)
	events := o.Turn()
	require.NoError(t, o.Err())
	want := strings.Repeat(fortyBytes, chunks)
	require.Equal(t, trajectory.Thought{Text: want}, events[1].Body)
	require.Equal(t, trajectory.Message{Text: want}, events[2].Body)
}

func BenchmarkChunks(b *testing.B) {
	for _, chunks := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("chunks=%d", chunks), func(b *testing.B) {
			for b.Loop() {
				var o Observer
				stream(&o, chunks)
				o.Turn()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*3*chunks), "ns/chunk")
		})
	}
}

func TestPrintedAsItComes(t *testing.T) {
	var o Observer
	feed(
		t, &o, prompt,
		update(`"sessionUpdate":"tool_call","toolCallId":"1","status":"in_progress",`+
			`"_meta":{"terminal_output_delta":{"data":"a"}}`),
		update(`"sessionUpdate":"tool_call_update","toolCallId":"1","_meta":{"terminal_output":{"data":"all"}}`),
		update(`"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed",`+
			`"_meta":{"terminal_output_delta":{"data":" b"}}`),
		update(`"sessionUpdate":"tool_call_update","toolCallId":"1","_meta":{"terminal_output_delta":{"data":" c"}}`),
		endTurn,
	)
	run := trajectory.Run{Events: o.Turn()}
	require.Equal(t, "all b c", run.ToolCalls()[0].Printed)
}

// TestSubAgents checks that what sub-agents do is told apart from what the agent does, as two adapters mark it.
func TestSubAgents(t *testing.T) {
	for name, mark := range map[string]string{
		"claude-agent-acp": `"_meta":{"claudeCode":{"toolName":"Read","parentToolUseId":"1"}}`,
		"qwen":             `"_meta":{"toolName":"Read","parentToolCallId":"1","subagentType":"general-purpose"}`,
	} {
		t.Run(name, func(t *testing.T) {
			var o Observer
			said := `"content":{"type":"text","text":"found it"},` + mark
			feed(
				t, &o, prompt,
				update(`"sessionUpdate":"tool_call","toolCallId":"1","name":"Task"`),
				update(`"sessionUpdate":"tool_call","toolCallId":"2",`+mark),
				update(`"sessionUpdate":"agent_message_chunk",`+said),
				update(`"sessionUpdate":"agent_thought_chunk",`+said),
				update(`"sessionUpdate":"tool_call_update","toolCallId":"2","status":"completed"`),
				chunk("agent_message_chunk"),
				endTurn,
			)
			run := trajectory.Run{Events: o.Turn()}
			calls := run.ToolCalls()
			require.Len(t, calls, 2)
			require.Empty(t, calls[0].Parent)
			require.Equal(t, "1", calls[1].Parent)
			require.Equal(t, trajectory.Notice{Name: "subagent:message", Data: "found it"}, run.Events[3].Body)
			require.Equal(t, trajectory.Notice{Name: "subagent:thought", Data: "found it"}, run.Events[4].Body)
			require.Equal(t, fortyBytes, run.Answer(), "a sub-agent answers to the agent, not to the user")
		})
	}
}

// TestOtherSession checks that what an agent tells of a session that nobody opened is done by a sub-agent: it counts,
// and is neither an answer nor a call of the main agent.
func TestOtherSession(t *testing.T) {
	of := func(line string) string { return strings.ReplaceAll(line, `"sessionId":"s"`, `"sessionId":"child"`) }
	var o Observer
	feed(
		t, &o,
		`>{"jsonrpc":"2.0","id":9,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`,
		`<{"jsonrpc":"2.0","id":9,"result":{"sessionId":"s"}}`,
		prompt,
		update(`"sessionUpdate":"tool_call","toolCallId":"1","name":"Read"`),
		of(update(`"sessionUpdate":"tool_call","toolCallId":"1","name":"Bash","kind":"execute"`)),
		of(`<{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s","options":[],`+
			`"toolCall":{"toolCallId":"1","title":"rm x"}}}`),
		`>{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"unknown session"}}`,
		of(`<{"jsonrpc":"2.0","id":8,"method":"fs/write_text_file","params":{"sessionId":"s",`+
			`"path":"/w/a","content":"x"}}`),
		of(`<{"jsonrpc":"2.0","id":10,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/w/a"}}`),
		of(`<{"jsonrpc":"2.0","id":11,"method":"terminal/create","params":{"sessionId":"s","command":"rm"}}`),
		of(update(`"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed"`)),
		of(chunk("agent_message_chunk")),
		of(update(`"sessionUpdate":"current_mode_update","currentModeId":"auto"`)),
		chunk("agent_message_chunk"),
		endTurn,
	)
	run := trajectory.Run{Events: o.Turn()}
	calls := run.ToolCalls()
	require.Len(t, calls, 2)
	require.Equal(t, []string{"1", "Read", ""}, []string{calls[0].ID, calls[0].Name, calls[0].Parent})
	require.Empty(t, calls[0].Title, "the other session asked for its own call")
	require.Equal(t, trajectory.Pending, calls[0].Status, "the other session has a call of the same id")
	require.Equal(t, []string{"session-2/1", "Bash", "session-2"},
		[]string{calls[1].ID, calls[1].Name, calls[1].Parent})
	require.Equal(t, trajectory.Completed, calls[1].Status)
	require.Equal(t, fortyBytes, run.Answer())
	refused := make(map[any]any)
	for _, e := range run.Events {
		if n, ok := e.Body.(trajectory.Notice); ok {
			refused[n.Name] = n.Data
		}
		require.NotContains(t, []string{"file_read", "file_write", "terminal", "permission"}, e.Body.EventName())
		_, isState := e.Body.(trajectory.State)
		require.False(t, isState, "the mode is that of the other session")
	}
	require.Empty(t, o.Modes())
	for _, method := range []string{
		"session/request_permission", "fs/read_text_file", "fs/write_text_file", "terminal/create",
	} {
		require.Equal(t, "session-2", refused["subagent:"+method], method)
	}
}

// TestUsageOfUpdates holds that what a request to the model took counts wherever it is told, and once for a call that
// tells it again.
func TestUsageOfUpdates(t *testing.T) {
	used := `"_meta":{"usage":{"inputTokens":10,"outputTokens":1,"totalTokens":11}}`
	said := `"content":{"type":"text","text":""},` + used
	var o Observer
	feed(
		t, &o,
		`>{"jsonrpc":"2.0","id":9,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`,
		`<{"jsonrpc":"2.0","id":9,"result":{"sessionId":"s"}}`,
		prompt,
		update(`"sessionUpdate":"agent_message_chunk",`+said),
		update(`"sessionUpdate":"agent_thought_chunk",`+said),
		strings.ReplaceAll(update(`"sessionUpdate":"agent_message_chunk",`+said), `"sessionId":"s"`, `"sessionId":"t"`),
		update(`"sessionUpdate":"tool_call","toolCallId":"1","title":"t"`),
		update(`"sessionUpdate":"tool_call_update","toolCallId":"1",`+used),
		update(`"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed",`+used),
		endTurn,
	)
	events := o.Turn()
	stop := events[len(events)-1].Body.(trajectory.Stop)
	require.EqualValues(t, 40, *stop.Usage.Input)
	require.EqualValues(t, 44, *stop.Usage.Total)
}

// TestModes checks that each mode is told that the session was in during a turn, by either way to tell it.
func TestModes(t *testing.T) {
	var o Observer
	feed(
		t, &o, prompt,
		update(`"sessionUpdate":"current_mode_update","currentModeId":"https://example.com/modes#auto"`),
		update(`"sessionUpdate":"config_option_update","configOptions":[{"id":"m","name":"M","category":"mode",`+
			`"type":"select","currentValue":"default","options":[{"value":"default","name":"D"}]}]`),
		update(`"sessionUpdate":"current_mode_update","currentModeId":"plan"`),
		endTurn,
	)
	require.Equal(t, []string{"auto", "default", "plan"}, o.Modes())
	require.Empty(t, o.Modes(), "they were asked for")
}

// TestToldExitCode holds where the exit code is told from what Claude says of a command that failed.
func TestToldExitCode(t *testing.T) {
	for _, test := range []struct {
		kind, status, result string
		want                 *int
	}{
		{"execute", "failed", `"rawOutput":"Exit code 3"`, new(3)},
		{"execute", "failed", `"rawOutput":"Exit code 3\nno such file"`, new(3)},
		{"execute", "failed", `"_meta":{"terminal_output":{"data":"Exit code 3\nno"}}`, new(3)},
		{"execute", "failed", `"rawOutput":"Exit code 3","_meta":{"terminal_exit":{"exit_code":4}}`, new(4)},
		{"execute", "failed", `"rawOutput":"no\nExit code 3"`, nil},
		{"execute", "failed", `"rawOutput":"Exit code"`, nil},
		{"execute", "failed", `"rawOutput":"The user refused."`, nil},
		{"execute", "completed", `"rawOutput":"Exit code 3"`, nil},
		{"read", "failed", `"rawOutput":"Exit code 3"`, nil},
	} {
		var o Observer
		feed(t, &o, prompt,
			update(`"sessionUpdate":"tool_call","toolCallId":"1","name":"T","kind":"`+test.kind+`"`),
			update(`"sessionUpdate":"tool_call_update","toolCallId":"1","status":"`+test.status+`",`+test.result),
			endTurn)
		run := trajectory.Run{Events: o.Turn()}
		require.Equal(t, test.want, run.ToolCalls()[0].ExitCode, "%+v", test)
	}
}

// TestFilledKind holds that a call whose kind says nothing has the one that its tool's name or its command tells, and
// that the rest of what is known of tools goes by the kind that the agent sent.
func TestFilledKind(t *testing.T) {
	for _, test := range []struct{ call, kind, does string }{
		{`"name":"Edit","kind":"other"`, "edit", "edit"},
		{`"name":"Edit"`, "edit", "edit"},
		{`"name":"Edit","kind":"read"`, "read", "read"},
		{`"name":"terminal","kind":"other","rawInput":{"command":"rm a"}`, "execute", "delete"},
		{`"name":"terminal","rawInput":{"cmd":["rm","a"]}`, "execute", "delete"},
		{`"name":"editor","kind":"other","rawInput":{"command":"view","path":"a.go"}`, "other", ""},
		{`"name":"stock_run","kind":"other","rawInput":{"command":"rm a"}`, "other", ""},
		{`"name":"SlashCommand","rawInput":{"command":"/rm"}`, "", ""},
		{`"name":"note","kind":"other","rawInput":"rm a"`, "other", ""},
		{`"name":"note","kind":"other","rawInput":{"command":""}`, "other", ""},
	} {
		o := Observer{Servers: []string{"stock"}}
		feed(t, &o, prompt, update(`"sessionUpdate":"tool_call","toolCallId":"1",`+test.call),
			update(`"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed"`), endTurn)
		run := trajectory.Run{Events: o.Turn()}
		c := run.ToolCalls()[0]
		require.Equal(t, test.kind, c.Kind, test.call)
		require.Equal(t, test.does, strings.Join(c.Does(), " "), test.call)
	}
}
