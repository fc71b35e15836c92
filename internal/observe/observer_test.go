package observe

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// transcripts are wire recordings of real agents. Their README says where they come from.
const transcripts = "../../acp/testdata/transcripts"

// TestTranscripts compares the events of each recorded session with its golden file.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(transcripts, "*.ndjson"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".ndjson")
		t.Run(name, func(t *testing.T) {
			var o Observer
			for _, f := range readTranscript(t, file) {
				o.Frame(f)
			}
			golden.Equal(t, filepath.Join("testdata", name+".golden"), render(o.Turn()))
		})
	}
}

func readTranscript(t *testing.T, file string) []acp.Frame {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	var frames []acp.Frame
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l struct {
			TS  time.Time       `json:"ts"`
			Dir acp.Direction   `json:"dir"`
			Msg json.RawMessage `json:"msg"`
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &l))
		if l.Dir != "exit" {
			frames = append(frames, acp.Frame{Time: l.TS, Direction: l.Dir, Raw: l.Msg})
		}
	}
	require.NoError(t, lines.Err())
	return frames
}

// render writes one event a line.
func render(events []trajectory.Event) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, e := range events {
		fmt.Fprintf(&b, "%d %s %s ", e.Turn, e.At, e.Body.EventName())
		if err := enc.Encode(e.Body); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

// feed hands the observer lines of JSON, one second apart; ">" in front sends it to the agent, "<" to the client.
func feed(t *testing.T, o *Observer, lines ...string) {
	t.Helper()
	for i, l := range lines {
		dir := acp.ToClient
		if l[0] == '>' {
			dir = acp.ToAgent
		}
		require.True(t, json.Valid([]byte(l[1:])), l)
		o.Frame(acp.Frame{Time: time.Unix(int64(i), 0), Direction: dir, Raw: []byte(l[1:])})
	}
}

const (
	prompt = `>{"jsonrpc":"2.0","id":0,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text",` +
		`"text":"go"}]}}`
	endTurn = `<{"jsonrpc":"2.0","id":0,"result":{"stopReason":"end_turn"}}`
)

func update(body string) string {
	return `<{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{` + body + `}}}`
}

func TestToolIdentity(t *testing.T) {
	tests := []struct {
		name, reason, update, want string
	}{
		{
			"protocol field", "the agent's own name wins over all else",
			`"toolCallId":"a__1","title":"T","name":"Read","_meta":{"toolName":"x"}`, "Read",
		},
		{
			"claude meta", "older Claude adapters name it there",
			`"toolCallId":"1","title":"T","_meta":{"claudeCode":{"toolName":"Bash"},"toolName":"x"}`, "Bash",
		},
		{
			"claude client tools", "the adapter's prefix says how it is served, not what it is",
			`"toolCallId":"1","_meta":{"claudeCode":{"toolName":"mcp__acp__Edit"}}`, "Edit",
		},
		{
			"other MCP tools", "only the adapter's own prefix is stripped",
			`"toolCallId":"1","name":"mcp__docs__search"`, "mcp__docs__search",
		},
		{"plain meta", "some agents put it there", `"toolCallId":"1","title":"T","_meta":{"toolName":"grep"}`, "grep"},
		{
			"gemini id", "Gemini's ids begin with the tool's name",
			`"toolCallId":"write_file__abc","title":"Writing"`, "write_file",
		},
		{"title", "the last resort", `"toolCallId":"1","title":"List files"`, "List files"},
		{"bad meta", "metadata may be anything", `"toolCallId":"1","title":"T","_meta":{"claudeCode":"x"}`, "T"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var o Observer
			feed(t, &o, prompt, update(`"sessionUpdate":"tool_call",`+tt.update), endTurn)
			run := trajectory.Run{Events: o.Turn()}
			require.Equal(t, tt.want, run.ToolCalls()[0].Name, tt.reason)
		})
	}
}

func TestFirstTitleNamesTheTool(t *testing.T) {
	var o Observer
	feed(t, &o, prompt,
		update(`"sessionUpdate":"tool_call","toolCallId":"1","title":"Shell"`),
		update(`"sessionUpdate":"tool_call_update","toolCallId":"1","title":"go test ./..."`), endTurn)
	call := (&trajectory.Run{Events: o.Turn()}).ToolCalls()[0]
	require.Equal(t, "Shell", call.Name)
	require.Equal(t, "go test ./...", call.Title)
}

func TestUpsert(t *testing.T) {
	var o Observer
	feed(t, &o, prompt,
		// first mentioned by a permission request, then announced twice, the second time with its input
		`<{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s",`+
			`"toolCall":{"toolCallId":"1"},`+
			`"options":[{"optionId":"ok","name":"Yes","kind":"allow_once"}]}}`,
		`>{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"selected","optionId":"ok"}}}`,
		update(`"sessionUpdate":"tool_call","toolCallId":"1","name":"Bash","rawInput":{"command":"x",`+
			`"n":9007199254740993}`),
		update(`"sessionUpdate":"tool_call","toolCallId":"1","rawInput":{}`),
		update(`"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed","rawOutput":{"exit_code":3}`),
		update(`"sessionUpdate":"tool_call_update","toolCallId":"1","status":"failed"`),
		endTurn)
	run := trajectory.Run{Events: o.Turn()}
	calls := run.ToolCalls()
	require.Len(t, calls, 1)
	c := calls[0]
	require.Equal(t, map[string]any{"command": "x", "n": json.Number("9007199254740993")}, c.Args,
		"an empty input takes nothing away")
	require.Equal(t, trajectory.Failed, c.Status)
	require.Equal(t, 3, *c.ExitCode, "completed is not success")
	require.Equal(t, 4*time.Second, c.Duration)
	var decision string
	for _, e := range run.Events {
		if p, ok := e.Body.(trajectory.Permission); ok {
			decision = p.Decision
		}
	}
	require.Equal(t, "ok", decision)
}

func TestCancelledCallsAreClosed(t *testing.T) {
	var o Observer
	feed(t, &o, prompt,
		update(`"sessionUpdate":"tool_call","toolCallId":"1","name":"Bash"`),
		`<{"jsonrpc":"2.0","id":0,"result":{"stopReason":"cancelled"}}`)
	run := trajectory.Run{Events: o.Turn()}
	require.Equal(t, trajectory.Cancelled, run.ToolCalls()[0].Status)
	require.Equal(t, []string{"cancelled"}, run.StopReasons())
}

func TestTurns(t *testing.T) {
	var o Observer
	var totals []int
	o.OnCall = func(n int) { totals = append(totals, n) }
	feed(t, &o, `<{"jsonrpc":"2.0","method":"_x/hello","params":{"a":1}}`, prompt,
		update(`"sessionUpdate":"tool_call","toolCallId":"1"`), endTurn)
	first := o.Turn()
	feed(t, &o, strings.Replace(prompt, `"id":0`, `"id":1`, 1), update(`"sessionUpdate":"tool_call","toolCallId":"2"`),
		strings.Replace(endTurn, `"id":0`, `"id":1`, 1))
	second := o.Turn()
	require.Equal(t, []int{1, 2}, totals)
	for _, e := range first {
		require.Equal(t, 1, e.Turn, "what came before the first prompt belongs to its turn")
	}
	require.IsType(t, trajectory.Notice{}, first[0].Body)
	require.IsType(t, trajectory.Stop{}, first[len(first)-1].Body)
	for _, e := range second {
		require.Equal(t, 2, e.Turn)
	}
	require.Empty(t, o.Turn())
}

func TestTerminal(t *testing.T) {
	var o Observer
	feed(t, &o, prompt,
		`<{"jsonrpc":"2.0","id":1,"method":"terminal/create","params":{"sessionId":"s","command":"go",`+
			`"args":["test"]}}`,
		`>{"jsonrpc":"2.0","id":1,"result":{"terminalId":"t"}}`,
		update(`"sessionUpdate":"tool_call","toolCallId":"1","name":"Bash","status":"completed",`+
			`"content":[{"type":"terminal","terminalId":"t"}]`),
		`<{"jsonrpc":"2.0","id":2,"method":"terminal/output","params":{"sessionId":"s","terminalId":"t"}}`,
		`>{"jsonrpc":"2.0","id":2,"result":{"output":"FAIL","truncated":true,"exitStatus":{"exitCode":1}}}`,
		`<{"jsonrpc":"2.0","id":3,"method":"terminal/create","params":{"sessionId":"s","command":"curl"}}`,
		`>{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"curl is not allowed"}}`,
		endTurn)
	run := trajectory.Run{Events: o.Turn()}
	require.Equal(t, 1, *run.ToolCalls()[0].ExitCode, "the call shows the terminal, whose exit became known later")
	one := 1
	var terminals []trajectory.Terminal
	for _, e := range run.Events {
		if b, ok := e.Body.(trajectory.Terminal); ok {
			terminals = append(terminals, b)
		}
	}
	require.Equal(t, []trajectory.Terminal{
		{
			ID: "t", Command: "go", Args: []string{"test"}, Output: "FAIL", Truncated: true, ExitCode: &one,
			Duration: 4 * time.Second, // from the request to the first answer that has the exit
		},
		{Command: "curl", Error: "curl is not allowed", ErrorCode: -32602},
	}, terminals)
}

// TestTimes checks that the last events have the time of the response: the event before them may be much older.
func TestTimes(t *testing.T) {
	tests := []struct {
		name, reason string
		lines        []string
		want         time.Duration
	}{
		{"stop", "", []string{
			prompt, chunk("agent_message_chunk"),
			update(`"sessionUpdate":"current_mode_update","currentModeId":"m"`), endTurn,
		}, 3 * time.Second},
		{"cancelled", "open calls end with the turn", []string{
			prompt, update(`"sessionUpdate":"tool_call","toolCallId":"1"`),
			update(`"sessionUpdate":"current_mode_update","currentModeId":"m"`),
			strings.Replace(endTurn, "end_turn", "cancelled", 1),
		}, 3 * time.Second},
		{"late updates", "order counts more", []string{prompt, endTurn, chunk("agent_message_chunk")}, 2 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var o Observer
			feed(t, &o, tt.lines...)
			events := o.Turn()
			require.IsType(t, trajectory.Stop{}, events[len(events)-1].Body)
			for _, e := range events {
				switch e.Body.(type) {
				case trajectory.Stop, trajectory.State, trajectory.ToolEnd:
					assert.Equal(t, tt.want, e.At, "%T: %s", e.Body, tt.reason)
				}
			}
		})
	}
}

func TestErrorCodes(t *testing.T) {
	tests := []struct {
		name, reason, message string
		code, want            int
	}{
		{name: "internal", reason: "0 is internal", message: "disk full", code: acp.CodeInternal},
		{
			name: "missing file", reason: "the text tells it", message: "Resource not found: /ws/a",
			code: acp.CodeResourceNotFound,
		},
		{
			name: "denied", reason: "the text tells it", message: `read "/etc/x" denied: outside the workspace`,
			code: acp.CodeInvalidParams,
		},
		{
			name: "another code", message: "Method not found: fs/read_text_file", code: acp.CodeMethodNotFound,
			want: acp.CodeMethodNotFound,
		},
		{
			name: "a text with a code that is not its", message: "Resource not found: x", code: acp.CodeInternal,
			want: acp.CodeInternal,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var o Observer
			refusal := fmt.Sprintf(`"error":{"code":%d,"message":%q}}`, tt.code, tt.message)
			feed(
				t, &o, prompt,
				`<{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/ws/a"}}`,
				`>{"jsonrpc":"2.0","id":1,`+refusal,
				`<{"jsonrpc":"2.0","id":2,"method":"fs/write_text_file","params":{"sessionId":"s","path":"/ws/a",`+
					`"content":""}}`,
				`>{"jsonrpc":"2.0","id":2,`+refusal,
				`<{"jsonrpc":"2.0","id":3,"method":"terminal/create","params":{"sessionId":"s","command":"go"}}`,
				`>{"jsonrpc":"2.0","id":3,`+refusal,
			)
			events := o.Turn()
			require.Len(t, events, 4)
			assert.Equal(t, trajectory.FileRead{Path: "/ws/a", Error: tt.message, ErrorCode: tt.want},
				events[1].Body, tt.reason)
			assert.Equal(t, trajectory.FileWrite{Path: "/ws/a", Error: tt.message, ErrorCode: tt.want},
				events[2].Body, tt.reason)
			assert.Equal(t, trajectory.Terminal{Command: "go", Error: tt.message, ErrorCode: tt.want},
				events[3].Body, tt.reason)
			assert.Equal(t, tt.code, ErrorCode(tt.message, tt.want), tt.reason)
		})
	}
}

// TestOutput checks that what a call printed is in its output, wherever the agent puts it.
func TestOutput(t *testing.T) {
	const content = `"content":[{"type":"content","content":{"type":"text","text":"a.go"}}]`
	tests := []struct {
		name, reason, end string
		want              any
	}{
		{"content", "most agents", content, "a.go"},
		{
			"raw output", "it is what the model saw", `"rawOutput":{"stdout":"a.go","exit_code":0},` + content,
			map[string]any{"stdout": "a.go", "exit_code": json.Number("0")},
		},
		{"exit code and content", "@agentclientprotocol/codex-acp", `"rawOutput":{"exit_code":0},` + content, "a.go"},
		{
			"exit code alone", "it printed nothing", `"rawOutput":{"exit_code":0}`,
			map[string]any{"exit_code": json.Number("0")},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var o Observer
			feed(t, &o, prompt, update(`"sessionUpdate":"tool_call","toolCallId":"1","title":"grep"`),
				update(`"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed",`+tt.end), endTurn)
			run := trajectory.Run{Events: o.Turn()}
			require.Equal(t, tt.want, run.ToolCalls()[0].Output, tt.reason)
		})
	}
}

// TestRootedTitle checks that a title that is a path of the call becomes the whole path.
func TestRootedTitle(t *testing.T) {
	tests := []struct{ name, title, want string }{
		{"OpenCode outside of repositories", "w/a.go", "/w/a.go"},
		{"another file", "w/b.go", "w/b.go"},
		{"whole", "/w/a.go", "/w/a.go"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var o Observer
			feed(t, &o, prompt, update(`"sessionUpdate":"tool_call","toolCallId":"1","title":"read"`),
				update(`"sessionUpdate":"tool_call_update","toolCallId":"1","locations":[{"path":"/w/a.go"}]`),
				update(`"sessionUpdate":"tool_call_update","toolCallId":"1","title":"`+tt.title+`"`), endTurn)
			run := trajectory.Run{Events: o.Turn()}
			require.Equal(t, tt.want, run.ToolCalls()[0].Title)
			require.Equal(t, "read", run.ToolCalls()[0].Name)
		})
	}
}

// TestTokens checks that the token usage of a turn is found, wherever the agent puts it.
func TestTokens(t *testing.T) {
	n := func(n int64) *int64 { return &n }
	tests := []struct {
		name, reason, result string
		want                 *trajectory.Usage
	}{
		{"none", "agents need not tell", `"stopReason":"end_turn"`, nil},
		{
			"usage", "the protocol's own field wins",
			`"stopReason":"end_turn","usage":{"totalTokens":3},"_meta":{"quota":{"token_count":{"input_tokens":1}}}`,
			&trajectory.Usage{Total: n(3)},
		},
		{
			"quota", "Gemini",
			`"stopReason":"end_turn","_meta":{"quota":{"token_count":{"input_tokens":1,"output_tokens":2}}}`,
			&trajectory.Usage{Input: n(1), Output: n(2)},
		},
		{
			"no quota", "@agentclientprotocol/codex-acp before the first answer",
			`"stopReason":"end_turn","_meta":{"quota":{"token_count":null}}`, nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var o Observer
			feed(t, &o, prompt, strings.Replace(endTurn, `"stopReason":"end_turn"`, tt.result, 1))
			events := o.Turn()
			require.Equal(t, tt.want, events[len(events)-1].Body.(trajectory.Stop).Usage, tt.reason)
		})
	}
}

// TestAskedCall checks that a permission keeps the description of its call if the call has changed since.
func TestAskedCall(t *testing.T) {
	const ask = `<{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":"s",` +
		`"options":[],"toolCall":` +
		`{"toolCallId":"1","title":"Run ls","rawInput":{"command":"ls"}}}}`
	tests := []struct {
		name, later string
		want        *trajectory.AskedCall
	}{
		{name: "nothing later", later: `"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed"`},
		{
			name:  "another input",
			later: `"sessionUpdate":"tool_call","toolCallId":"1","title":"Run ls","rawInput":{"process":7}`,
			want:  &trajectory.AskedCall{Name: "Run ls", Args: map[string]any{"command": "ls"}},
		},
		{
			name: "another title", later: `"sessionUpdate":"tool_call_update","toolCallId":"1","title":"ls"`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var o Observer
			feed(t, &o, prompt, ask, update(tt.later))
			p := o.Turn()[2].Body.(trajectory.Permission)
			assert.Equal(t, tt.want, p.Asked)
		})
	}
}
