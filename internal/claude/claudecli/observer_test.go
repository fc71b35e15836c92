package claudecli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/observe"
)

// Lines that the tests are made of.
const (
	initText = `{"type":"system","subtype":"init","session_id":"s1","claude_code_version":"2.1.316","model":"m",` +
		`"slash_commands":["b","a"],"mcp_servers":[{"name":"x","status":"connected"}]}`
	endText = `{"type":"result","subtype":"success","is_error":false,"stop_reason":"end_turn","total_cost_usd":0.5,` +
		`"usage":{"input_tokens":10,"output_tokens":2,"cache_read_input_tokens":1,"cache_creation_input_tokens":4}}`
)

func said(blocks string) string {
	return `{"type":"assistant","parent_tool_use_id":null,"message":{"id":"m1","model":"m","content":[` + blocks + `]}}`
}

func called(id, tool, input string) string {
	return said(fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":%s}`, id, tool, input))
}

// returned is the result of a call: a block's fields, and what the program has of it beside them.
func returned(id, fields, structured string) string {
	return fmt.Sprintf(`{"type":"user","message":{"role":"user","content":[{"type":"tool_result",`+
		`"tool_use_id":%q,%s}]},"tool_use_result":%s}`, id, fields, structured)
}

// observed is the turn of lines.
func observed(t *testing.T, o *Observer, lines ...string) Turn {
	t.Helper()
	o.Cwd = "/w"
	o.Prompt(time.Unix(0, 0), "Do it.")
	require.NoError(t, o.Read(strings.NewReader(strings.Join(lines, "\n")+"\n"), nil))
	return o.Turn()
}

// bodies are events without times.
func bodies(events []trajectory.Event) []trajectory.Body {
	var all []trajectory.Body
	for _, e := range events {
		all = append(all, e.Body)
	}
	return all
}

func TestObserver(t *testing.T) {
	tests := []struct {
		name, reason string
		lines        []string
		want         []trajectory.Body // between the prompt and the state
		ran          []string
	}{
		{
			name: "messages and thoughts", reason: "parts of a text are joined until something else happens",
			lines: []string{
				said(`{"type":"thinking","thinking":"Hm. "}`), said(`{"type":"thinking","thinking":"Well."}`),
				said(`{"type":"redacted_thinking","data":"x"}`),
				said(`{"type":"text","text":"Hel"},{"type":"text","text":"lo"}`), said(`{"type":"text","text":"!"}`),
			},
			want: []trajectory.Body{trajectory.Thought{Text: "Hm. Well."}, trajectory.Message{Text: "Hello!"}},
		},
		{
			name:   "command",
			reason: "what it printed comes from the program, the exit code of a failure from the text for the model",
			lines: []string{
				called("1", "Bash", `{"command":"go test","timeout":12345678901234567890}`),
				returned("1", `"content":"a\nb and a hint for the model","is_error":false`,
					`{"stdout":"a","stderr":"b","interrupted":false,"isImage":false}`),
				called("2", "Bash", `{"command":"false"}`),
				returned("2", `"content":"Exit code 3\nno","is_error":true`, `"Error: Exit code 3\nno"`),
			},
			want: []trajectory.Body{
				trajectory.ToolStart{
					ID: "1", Name: "Bash", Kind: "execute", Title: "go test",
					Args: map[string]any{"command": "go test", "timeout": json.Number("12345678901234567890")},
				},
				trajectory.ToolEnd{ID: "1", Status: trajectory.Completed, Printed: "a\nb", ExitCode: new(0)},
				trajectory.ToolStart{
					ID: "2", Name: "Bash", Kind: "execute", Title: "false", Args: map[string]any{"command": "false"},
				},
				trajectory.ToolEnd{ID: "2", Status: trajectory.Failed, Printed: "Exit code 3\nno", ExitCode: new(3)},
			},
			ran: []string{"Bash", "Bash"},
		},
		{
			name:   "commands without an exit code",
			reason: "in the background, aborted, a grep without a match, and a call that never ran",
			lines: []string{
				called("1", "Bash", `{"command":"a &"}`),
				returned("1", `"content":"started"`, `{"stdout":"","stderr":"","backgroundTaskId":"b1"}`),
				called("2", "Bash", `{"command":"b"}`),
				returned("2", `"content":"x"`, `{"stdout":"part","stderr":"","interrupted":true}`),
				called("3", "Bash", `{"command":"grep c d"}`),
				returned("3", `"content":""`,
					`{"stdout":"","stderr":"","returnCodeInterpretation":"No matches found"}`),
				called("4", "Bash", `{"command":"e"}`),
				returned("4", `"content":[{"type":"text","text":"no"}],"is_error":true`, `"Error: no"`),
			},
			want: []trajectory.Body{
				trajectory.ToolStart{
					ID: "1", Name: "Bash", Kind: "execute", Title: "a &", Args: map[string]any{"command": "a &"},
				},
				trajectory.ToolEnd{ID: "1", Status: trajectory.Completed, Printed: "started"},
				trajectory.ToolStart{
					ID: "2", Name: "Bash", Kind: "execute", Title: "b", Args: map[string]any{"command": "b"},
				},
				trajectory.ToolEnd{
					ID: "2", Status: trajectory.Completed, Printed: "part\n[Command was aborted before completion]",
				},
				trajectory.ToolStart{
					ID: "3", Name: "Bash", Kind: "execute", Title: "grep c d",
					Args: map[string]any{"command": "grep c d"},
				},
				trajectory.ToolEnd{ID: "3", Status: trajectory.Completed},
				trajectory.ToolStart{
					ID: "4", Name: "Bash", Kind: "execute", Title: "e", Args: map[string]any{"command": "e"},
				},
				trajectory.ToolEnd{ID: "4", Status: trajectory.Failed, Printed: "no"},
			},
			ran: []string{"Bash", "Bash", "Bash", "Bash"},
		},
		{
			name: "edits", reason: "diffs have the lines around a change, and the place is where it begins",
			lines: []string{
				called("1", "Edit", `{"file_path":"/w/a.go","old_string":"x","new_string":"y"}`),
				returned("1", `"content":"done"`,
					`{"filePath":"/w/a.go","originalFile":"a\nx\n","structuredPatch":[{"newStart":7,"lines":[" `+
						`a","-x","+y","\\ No newline at end of file"]}]}`),
				called("2", "Write", `{"file_path":"/w/b.go","content":"b"}`),
				returned("2", `"content":"created"`,
					`{"type":"create","filePath":"/w/b.go","content":"b","structuredPatch":[],"originalFile":null}`),
				called("3", "Edit", `{"file_path":"/w/c.go"}`),
				returned("3", `"content":"no","is_error":true`, `"Error: no"`),
			},
			want: []trajectory.Body{
				trajectory.ToolStart{
					ID: "1", Name: "Edit", Kind: "edit", Title: "Edit a.go",
					Args:      map[string]any{"file_path": "/w/a.go", "old_string": "x", "new_string": "y"},
					Locations: []trajectory.Location{{Path: "/w/a.go", Line: new(7)}},
				},
				trajectory.ToolEnd{
					ID: "1", Status: trajectory.Completed, Output: "done",
					Diffs: []trajectory.Diff{{Path: "/w/a.go", Old: new("a\nx"), New: "a\ny"}},
				},
				trajectory.ToolStart{
					ID: "2", Name: "Write", Kind: "edit", Title: "Write b.go",
					Args:      map[string]any{"file_path": "/w/b.go", "content": "b"},
					Locations: []trajectory.Location{{Path: "/w/b.go"}},
				},
				trajectory.ToolEnd{
					ID: "2", Status: trajectory.Completed, Output: "created",
					Diffs: []trajectory.Diff{{Path: "/w/b.go", New: "b"}},
				},
				trajectory.ToolStart{
					ID: "3", Name: "Edit", Kind: "edit", Title: "Edit c.go",
					Args:      map[string]any{"file_path": "/w/c.go"},
					Locations: []trajectory.Location{{Path: "/w/c.go"}},
				},
				trajectory.ToolEnd{ID: "3", Status: trajectory.Failed, Output: "no"},
			},
			ran: []string{"Edit", "Write", "Edit"},
		},
		{
			name: "what hooks do not see", reason: "a tool that there is not, and one that the model's service has",
			lines: []string{
				called("1", "Nope", `{}`),
				returned("1",
					`"content":"<tool_use_error>Error: No such tool available: Nope</tool_use_error>","is_error":true`,
					`"Error"`),
				said(`{"type":"server_tool_use","id":"2","name":"web_search","input":{"query":"q"}}`),
				said(`{"type":"web_search_tool_result","tool_use_id":"2","content":[{"type":"web_search_result",` +
					`"title":"t"}]}`),
				called("3", "mcp__x__sum", `{"a":1}`),
				returned("3", `"content":[{"type":"text","text":"2"}]`, `[{"type":"text","text":"2"}]`),
			},
			want: []trajectory.Body{
				trajectory.ToolStart{ID: "1", Name: "Nope", Kind: "other", Title: "Nope", Args: map[string]any{}},
				trajectory.ToolEnd{
					ID: "1", Status: trajectory.Failed,
					Output: "<tool_use_error>Error: No such tool available: Nope</tool_use_error>",
				},
				trajectory.ToolStart{
					ID: "2", Name: "web_search", Kind: "fetch", Title: "web_search", Args: map[string]any{"query": "q"},
				},
				trajectory.ToolEnd{
					ID: "2", Status: trajectory.Completed,
					Output: []any{map[string]any{"type": "web_search_result", "title": "t"}},
				},
				trajectory.ToolStart{
					ID: "3", Name: "mcp__x__sum", Kind: "other", Title: "mcp__x__sum",
					Args: map[string]any{"a": json.Number("1")},
				},
				trajectory.ToolEnd{
					ID: "3", Status: trajectory.Completed, Output: []any{map[string]any{"type": "text", "text": "2"}},
				},
			},
			ran: []string{"mcp__x__sum"},
		},
		{
			name: "subagents", reason: "their calls are calls, what they say is for the agent",
			lines: []string{
				called("1", "Task", `{"description":"Look around"}`),
				strings.Replace(called("2", "Read", `{"file_path":"/etc/hosts","offset":3,"limit":4}`), "null", `"1"`,
					1),
				strings.Replace(said(`{"type":"text","text":"found"},{"type":"thinking","thinking":"x"}`), "null",
					`"1"`, 1),
				`{"type":"user","parent_tool_use_id":"1","message":{"content":[{"type":"text","text":"Look around, ` +
					`please."}]}}`,
			},
			want: []trajectory.Body{
				trajectory.ToolStart{
					ID: "1", Name: "Task", Kind: "think", Title: "Look around",
					Args: map[string]any{"description": "Look around"},
				},
				trajectory.ToolStart{
					ID: "2", Parent: "1", Name: "Read", Kind: "read", Title: "Read /etc/hosts (3 - 6)",
					Locations: []trajectory.Location{{Path: "/etc/hosts", Line: new(3)}},
					Args: map[string]any{
						"file_path": "/etc/hosts", "offset": json.Number("3"), "limit": json.Number("4"),
					},
				},
				trajectory.Notice{Name: "subagent:message", Data: "found"},
			},
		},
		{
			name: "denied", reason: "the call and the result tell it, too; it is one question",
			lines: []string{
				called("1", "WebFetch", `{"url":"http://a"}`),
				`{"type":"system","subtype":"permission_denied","tool_name":"WebFetch","tool_use_id":"1",` +
					`"message":"not granted"}`,
				returned("1", `"content":"not granted","is_error":true`, `"Error"`),
				strings.Replace(endText, `"is_error"`,
					`"permission_denials":[{"tool_name":"WebFetch","tool_use_id":"1"}],"is_error"`, 1),
			},
			want: []trajectory.Body{
				trajectory.ToolStart{
					ID: "1", Name: "WebFetch", Kind: "fetch", Title: "Fetch http://a",
					Args: map[string]any{"url": "http://a"},
				},
				trajectory.Permission{ID: "1", Options: []trajectory.PermissionOption{}, Decision: "cancelled"},
				trajectory.ToolEnd{ID: "1", Status: trajectory.Failed, Output: "not granted"},
			},
			ran: []string{"WebFetch"},
		},
		{
			name: "other lines",
			reason: "what is about the program is passed over, what is not known is kept without what differs from " +
				"run to run",
			lines: []string{
				`{"type":"system","subtype":"thinking_tokens","estimated_tokens":12}`,
				`{"type":"stream_event","event":{}}`, "", "  ",
				`{"type":"system","subtype":"compact_boundary","uuid":"u","session_id":"s",` +
					`"compact_metadata":{"trigger":"auto"}}`, `{"type":"new","uuid":"u"}`,
				`{"type":"user","message":{"content":"[Request interrupted by user]"}}`,
				`{"type":"user","isSynthetic":true,"message":{"content":"a skill"}}`,
				`{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"No."}]}}`,
			},
			want: []trajectory.Body{
				trajectory.Notice{
					Name: "claude:system/compact_boundary",
					Data: map[string]any{"compact_metadata": map[string]any{"trigger": "auto"}},
				},
				trajectory.Notice{Name: "claude:new"},
				trajectory.Notice{Name: "claude:user", Data: "[Request interrupted by user]"},
				trajectory.Notice{Name: "claude:synthetic", Data: "No."},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lines := append([]string{initText}, tt.lines...)
			if !strings.Contains(lines[len(lines)-1], `"result"`) {
				lines = append(lines, endText)
			}
			turn := observed(t, new(Observer), lines...)
			require.NoError(t, turn.Err)
			want := append([]trajectory.Body{trajectory.Prompt{Text: "Do it."}}, tt.want...)
			want = append(want,
				trajectory.State{Commands: []string{"a", "b"}, Cost: &trajectory.Cost{Amount: 0.5, Currency: "USD"}},
				trajectory.Stop{
					Reason: "end_turn",
					Usage: &trajectory.Usage{
						Input: new(int64(10)), Output: new(int64(2)), CacheRead: new(int64(1)),
						CacheWrite: new(int64(4)), Total: new(int64(17)),
					},
				})
			if diff := cmp.Diff(want, bodies(turn.Events)); diff != "" {
				t.Errorf("%s: events (-want +got):\n%s", tt.reason, diff)
			}
			assert.Equal(t, tt.ran, turn.Ran)
		})
	}
}

func TestEnds(t *testing.T) {
	tests := []struct{ name, line, stop, err string }{
		{"end", endText, "end_turn", ""},
		{"nothing to say", `{"type":"result","subtype":"success","stop_reason":null}`, "end_turn", ""},
		{"tokens", `{"type":"result","subtype":"success","stop_reason":"max_tokens"}`, "max_tokens", ""},
		{"refusal", `{"type":"result","subtype":"success","stop_reason":"refusal"}`, "refusal", ""},
		{
			"turns", `{"type":"result","subtype":"error_max_turns","is_error":true,"stop_reason":"tool_use"}`,
			"max_turn_requests", "",
		},
		{"budget", `{"type":"result","subtype":"error_max_budget_usd","is_error":true}`, "cost_limit", ""},
		{
			"unknown reason", `{"type":"result","subtype":"success","stop_reason":"bored"}`, "",
			`the agent ended its turn for an unknown reason: "bored"`,
		},
		{
			"model",
			`{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"result":"Overloaded"}`, "",
			"the model could not be asked: Overloaded",
		},
		{
			"failure", `{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["a","b"]}`, "",
			`the agent ended its turn with "error_during_execution": a; b`,
		},
		{
			"unknown end", `{"type":"result","subtype":"error_of_tomorrow"}`, "",
			`the agent ended its turn with "error_of_tomorrow": `,
		},
		{
			"longest conversation", `{"type":"result","subtype":"success","is_error":true,"api_error_status":400,` +
				`"terminal_reason":"prompt_too_long","result":"Prompt is too long · the request is ~250000 tokens"}`,
			"max_tokens", "",
		},
		{
			"longest answer", `{"type":"result","subtype":"success","is_error":true,"stop_reason":"stop_sequence",` +
				`"result":"API Error: Claude's response exceeded the 128000 output token maximum."}`, "max_tokens", "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var o Observer
			turn := observed(t, &o, initText, tt.line)
			assert.True(t, o.Ended())
			if tt.err != "" {
				require.EqualError(t, turn.Err, tt.err)
				return
			}
			require.NoError(t, turn.Err)
			stop, ok := turn.Events[len(turn.Events)-1].Body.(trajectory.Stop)
			require.True(t, ok)
			assert.Equal(t, tt.stop, stop.Reason)
		})
	}
	var o Observer
	require.Error(t, observed(t, &o, tests[7].line, endText).Err, "whatever comes after it")
	model := new(ModelError)
	require.ErrorAs(t, observed(t, &o, tests[7].line).Err, &model)
	assert.Equal(t, 529, model.Status)
}

// TestSession follows a session from prompt to prompt.
func TestSession(t *testing.T) {
	var calls []int
	var denied []string
	o := Observer{
		OnCall:   func(total int, _ trajectory.ToolStart) { calls = append(calls, total) },
		OnDenied: func(tool string) { denied = append(denied, tool) },
	}
	observed(t, &o, initText, called("1", "Bash", `{}`), returned("1", `"content":""`, `{}`), called("2", "Bash", `{}`),
		endText)
	assert.Equal(t, Session{ID: "s1", Version: "2.1.316", Model: "m"}, o.Session())

	turn := observed(t, &o, initText, returned("2", `"content":"late"`, `{}`), called("3", "Bash", `{}`),
		`{"type":"system","subtype":"permission_denied","tool_name":"Edit","tool_use_id":"unknown"}`, endText, endText)
	assert.Equal(t, []int{1, 2, 3}, calls)
	assert.Equal(t, 3, o.Calls())
	assert.Equal(t, []string{"Edit"}, denied)
	assert.Equal(t, []string{"Bash"}, turn.Ran)
	for _, e := range turn.Events {
		assert.Equal(t, 2, e.Turn)
	}
	stop := turn.Events[len(turn.Events)-1].Body.(trajectory.Stop)
	assert.Equal(t, int64(20), *stop.Usage.Input, "of both results")
}

// TestContinues follows a session that goes on with an older one, whose costs are in the sums that the program prints.
func TestContinues(t *testing.T) {
	o := Observer{Continues: true}
	ended := func(spent string) string {
		return `{"type":"result","subtype":"success","stop_reason":"end_turn","total_cost_usd":7` + spent + `}`
	}
	costs := func(lines ...string) *trajectory.Cost {
		t.Helper()
		var s trajectory.State
		for _, e := range observed(t, &o, append([]string{initText}, lines...)...).Events {
			if state, ok := e.Body.(trajectory.State); ok {
				s = state
			}
		}
		return s.Cost
	}
	spent := ended(`,"model_usage_since_last_result":{"a":{"costUSD":0.25},"b":{"costUSD":0.5}}`)
	assert.Equal(t, &trajectory.Cost{Amount: 1.5, Currency: "USD"}, costs(spent, spent), "of both results")
	assert.Equal(t, &trajectory.Cost{Amount: 2.25, Currency: "USD"}, costs(spent), "of both turns")
	assert.Nil(t, costs(ended("")), "a program that does not say it")
}

// TestKilled reads what a program leaves that is killed.
func TestKilled(t *testing.T) {
	var o Observer
	o.Prompt(time.Unix(0, 0), "Do it.")
	require.NoError(t, o.Read(strings.NewReader(initText+"\n"+called("1", "Bash", `{}`)+"\n"+`{"type":"assi`), nil))
	assert.False(t, o.Ended())
	want := []trajectory.Body{
		trajectory.Prompt{Text: "Do it."},
		trajectory.ToolStart{ID: "1", Name: "Bash", Kind: "execute", Title: "Bash", Args: map[string]any{}},
		trajectory.ToolEnd{ID: "1", Status: trajectory.Cancelled},
		trajectory.State{Commands: []string{"a", "b"}},
	}
	if diff := cmp.Diff(want, bodies(o.Turn().Events)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestReadErrors(t *testing.T) {
	broken := errors.New("broken")
	tests := []struct {
		name string
		in   io.Reader
		want string
	}{
		{
			"no JSON", strings.NewReader("Hello!\n"),
			"read a line of the agent's output: invalid character",
		},
		{
			"another shape", strings.NewReader(`{"type":"assistant","message":[]}` + "\n"),
			"json: cannot unmarshal array",
		},
		{"long", io.LimitReader(zeros{}, maxLine+1), "a line of the agent's output is longer than 67108864 bytes"},
		{"reader", iotest.ErrReader(broken), "read the agent's output: broken"},
		{
			"part", strings.NewReader(said(`{"type":"hologram"}`) + "\n"),
			`unknown block type "hologram"`,
		},
		{"no id", strings.NewReader(called("", "Bash", `{}`) + "\n"), `missing or duplicate tool call id ""`},
		{
			"same id", strings.NewReader(called("1", "Bash", `{}`) + "\n" + called("1", "Bash", `{}`) + "\n"),
			`missing or duplicate tool call id "1"`,
		},
		{
			"no call", strings.NewReader(returned("1", `"content":""`, `{}`) + "\n"),
			`result of unknown tool call "1"`,
		},
		{
			"two results",
			strings.NewReader(called("1", "Bash", `{}`) + "\n" + returned("1", `"content":""`, `{}`) + "\n" +
				returned("1", `"content":""`, `{}`) + "\n"),
			`duplicate result of tool call "1"`,
		},
		{
			"server", strings.NewReader(strings.Replace(initText, "connected", "failed", 1) + "\n"),
			`the agent could not start the MCP server "x"`,
		},
		{
			"plugin", strings.NewReader(strings.Replace(initText, `"mcp_servers"`,
				`"plugin_errors":[{"plugin":"p@inline","message":"no hooks.json"}],"mcp_servers"`, 1) + "\n"),
			`the agent could not load all of the plugin "p@inline": no hooks.json`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var o Observer
			o.Prompt(time.Unix(0, 0), "Do it.")
			err := o.Read(tt.in, nil)
			require.ErrorContains(t, err, tt.want)
			require.Equal(t, tt.name == "server" || tt.name == "plugin", IsSetup(err))
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestTooLarge(t *testing.T) {
	var o Observer
	o.Prompt(time.Unix(0, 0), "Do it.")
	o.size = observe.MaxSession - 10
	require.ErrorIs(t, o.Read(strings.NewReader(initText+"\n"), nil), observe.ErrTooLarge)
	o.Prompt(time.Unix(0, 0), "Again.")
	require.ErrorIs(t, o.Read(strings.NewReader(initText+"\n"), nil), observe.ErrTooLarge, "the limit is for all turns")

	var small Observer
	small.Prompt(time.Unix(0, 0), "Do it.")
	small.size = observe.MaxSession - 8*observe.EventSize
	err := small.Read(strings.NewReader(strings.Repeat(`{"type":"n"}`+"\n", 9)), nil)
	require.ErrorIs(t, err, observe.ErrTooLarge, "events without text take memory, too")
}

// TestManyParts: what a message takes does not grow with the square of its parts.
func TestManyParts(t *testing.T) {
	const parts = 5000
	text := strings.Repeat("x", 200)
	var o Observer
	o.Prompt(time.Unix(0, 0), "Do it.")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, block := range []string{
		`{"type":"thinking","thinking":"` + text + `"}`, `{"type":"text","text":"` + text + `"}`,
	} {
		require.NoError(t, o.Read(strings.NewReader(strings.Repeat(said(block)+"\n", parts)), nil))
	}
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(parts*parts*len(text)/10))
	all := o.Turn().Events
	require.Len(t, all, 3)
	assert.Equal(t, trajectory.Thought{Text: strings.Repeat(text, parts)}, all[1].Body)
	assert.Equal(t, trajectory.Message{Text: strings.Repeat(text, parts)}, all[2].Body)
}

// TestSeen expects that each line is handed on, an unreadable one too.
func TestSeen(t *testing.T) {
	var o Observer
	var seen []string
	o.Prompt(time.Unix(0, 0), "Do it.")
	require.Error(t,
		o.Read(strings.NewReader(initText+"\n\nnone\n"), func(_ time.Time, line []byte) {
			seen = append(seen, string(line))
		}))
	assert.Equal(t, []string{initText, "none"}, seen)
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(initText + "\n" + said(`{"type":"text","text":"x"}`) + "\n" + endText))
	f.Add([]byte(called("1", "Edit", `{"file_path":7}`) + "\n" +
		returned("1", `"content":7`, `{"filePath":"a","structuredPatch":[{"lines":["","x"]}]}`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		var o Observer
		o.Prompt(time.Unix(0, 0), "Do it.")
		lines := 0
		err := o.Read(bytes.NewReader(data), func(time.Time, []byte) { lines++ })
		turn := o.Turn()
		require.NotEmpty(t, turn.Events)
		open := make(map[string]bool)
		for _, e := range turn.Events {
			switch b := e.Body.(type) {
			case trajectory.ToolStart:
				require.False(t, open[b.ID])
				open[b.ID] = true
			case trajectory.ToolEnd:
				require.True(t, open[b.ID], "what ends has begun")
				delete(open, b.ID)
			}
		}
		if err == nil && !o.Ended() {
			require.Empty(t, open, "nothing stays open of a turn that was cut")
		}
		require.LessOrEqual(t, len(turn.Ran), lines*len(data))
	})
}
