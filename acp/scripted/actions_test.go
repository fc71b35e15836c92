package scripted_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
)

// tool is a tool call that does what it is given.
func tool(do ...scripted.Action) scripted.Action {
	return scripted.Action{Tool: &scripted.Tool{Title: "Work", Do: do}}
}

// statuses reads up to the response and returns the statuses of tool calls on the way and the last output.
func (c *talk) statuses() (statuses []string, output any, response frame) {
	c.t.Helper()
	for f := c.next(); ; f = c.next() {
		if f.Method == "" {
			return statuses, output, f
		}
		if status, ok := f.update("status").(string); ok {
			statuses = append(statuses, status)
		}
		if out := f.update("rawOutput"); out != nil {
			output = out
		}
	}
}

func TestToolCallTakesWhatItsActionsYield(t *testing.T) {
	dir := t.TempDir()
	c := open(t, turn(tool(scripted.Action{Read: &scripted.Read{Path: "a/../b.txt", Line: 2, Limit: 3}})), dir)
	c.prompt()
	assert.Equal(t, "pending", c.next().update("status"))
	assert.Equal(t, "in_progress", c.next().update("status"))
	f := c.expect("fs/read_text_file")
	want := map[string]any{
		"sessionId": "session-1", "path": dir + string(filepath.Separator) + "a/../b.txt", "line": 2.0, "limit": 3.0,
	}
	assert.Equal(t, want, f.Params)
	c.answer(f, `{"content":"text of b"}`)
	statuses, output, response := c.statuses()
	assert.Equal(t, []string{"completed"}, statuses)
	assert.Equal(t, "text of b", output)
	assert.Equal(t, "end_turn", response.Result["stopReason"])
}

func TestFailureInsideAToolCallFailsTheCall(t *testing.T) {
	write := tool(scripted.Action{Write: &scripted.Write{Path: "x"}}, say("not reached"))
	c := open(t, turn(write, say("go on")), t.TempDir())
	c.prompt()
	c.next()
	c.next()
	c.fail(c.expect("fs/write_text_file"), -32603, "disk full")
	f := c.next()
	assert.Equal(t, "failed", f.update("status"))
	assert.Equal(t, "do[0].write: fs/write_text_file: disk full (-32603)", f.update("rawOutput"))
	assert.Equal(t, map[string]any{"type": "text", "text": "go on"}, c.next().update("content"))
	assert.Equal(t, "end_turn", c.next().Result["stopReason"])
}

func TestFailureOutsideAToolCallEndsTheTurn(t *testing.T) {
	request := scripted.Action{Request: &scripted.Request{Method: "x/y", Params: map[string]any{"a": 1}}}
	c := open(t, turn(request, say("not reached")), t.TempDir())
	c.prompt()
	c.fail(c.expect("x/y"), -32601, "no such method")
	assert.EqualError(t, c.next().Error, "turns[0].actions[0].request: no such method (-32601) (-32603)")
}

func TestOptionalRead(t *testing.T) {
	read := scripted.Action{Read: &scripted.Read{Path: "x", Optional: true}}
	t.Run("of a missing file", func(t *testing.T) {
		c := open(t, turn(read), t.TempDir())
		c.prompt()
		c.fail(c.expect("fs/read_text_file"), -32002, "Resource not found")
		assert.Equal(t, "end_turn", c.next().Result["stopReason"])
	})
	t.Run("that fails otherwise", func(t *testing.T) {
		c := open(t, turn(read), t.TempDir())
		c.prompt()
		c.fail(c.expect("fs/read_text_file"), -32603, "I/O error")
		assert.ErrorContains(t, c.next().Error, "I/O error")
	})
}

func TestClientThatOffersNothingIsNotAsked(t *testing.T) {
	tests := []struct {
		action scripted.Action
		want   string // the output of the tool call, empty for none
	}{
		{scripted.Action{Read: &scripted.Read{Path: "x"}}, "do[0].read: the client does not serve fs/read_text_file"},
		{scripted.Action{Read: &scripted.Read{Path: "x", Optional: true}}, ""},
		{
			scripted.Action{Write: &scripted.Write{Path: "x"}},
			"do[0].write: the client does not serve fs/write_text_file",
		},
		{
			scripted.Action{Terminal: &scripted.Terminal{Command: "x"}},
			"do[0].terminal: the client does not serve terminals",
		},
	}
	script := scripted.Script{}
	for _, tt := range tests {
		script.Turns = append(script.Turns, scripted.Turn{Actions: []scripted.Action{tool(tt.action)}})
	}
	c := start(t, script)
	c.request("initialize", `{"protocolVersion":1}`)
	c.next()
	data, err := json.Marshal(map[string]any{"cwd": t.TempDir()})
	require.NoError(t, err)
	c.request("session/new", string(data))
	c.next()
	for _, tt := range tests {
		c.prompt()
		_, output, response := c.statuses()
		require.Nil(t, response.Error)
		if tt.want == "" {
			assert.Nil(t, output)
		} else {
			assert.Equal(t, tt.want, output)
		}
	}
}

func TestTerminal(t *testing.T) {
	action := scripted.Terminal{
		Command: "go", Args: []string{"test"}, Cwd: "sub", Env: map[string]string{"B": "2", "A": "1"},
		OutputByteLimit: 9,
	}
	dir := t.TempDir()
	c := open(t, turn(tool(scripted.Action{Terminal: &action})), dir)
	c.prompt()
	c.next()
	c.next()
	f := c.expect("terminal/create")
	assert.Equal(t, map[string]any{
		"sessionId": "session-1", "command": "go", "args": []any{"test"}, "cwd": filepath.Join(dir, "sub"),
		"env":             []any{map[string]any{"name": "A", "value": "1"}, map[string]any{"name": "B", "value": "2"}},
		"outputByteLimit": 9.0,
	}, f.Params)
	c.answer(f, `{"terminalId":"t7"}`)
	assert.Equal(t, []any{map[string]any{"type": "terminal", "terminalId": "t7"}}, c.next().update("content"))
	c.answer(c.expect("terminal/wait_for_exit"), `{"exitCode":1}`)
	c.answer(c.expect("terminal/output"), `{"output":"FAIL\n","truncated":false}`)
	f = c.expect("terminal/release")
	assert.Equal(t, "t7", f.Params["terminalId"])
	c.answer(f, `{}`)
	statuses, output, _ := c.statuses()
	assert.Equal(t, []string{"completed"}, statuses, "the agent's word says nothing about the exit code")
	assert.Equal(t, "FAIL\n", output)
}

func TestCancelReleasesTheTerminal(t *testing.T) {
	c := open(t, turn(tool(scripted.Action{Terminal: &scripted.Terminal{Command: "sleep"}})), t.TempDir())
	c.prompt()
	c.next()
	c.next()
	c.answer(c.expect("terminal/create"), `{"terminalId":"t7"}`)
	c.next()
	wait := c.expect("terminal/wait_for_exit")
	c.cancel()
	c.answer(c.expect("terminal/release"), `{}`)
	c.answer(wait, `{"exitCode":0}`) // late: nobody waits for it
	statuses, _, response := c.statuses()
	assert.Equal(t, []string{"failed"}, statuses)
	assert.Equal(t, "cancelled", response.Result["stopReason"])
}

func TestPermission(t *testing.T) {
	const (
		selected  = `{"outcome":{"outcome":"selected","optionId":"%"}}`
		cancelled = `{"outcome":{"outcome":"cancelled"}}`
	)
	tests := []struct {
		name, answer string
		options      []scripted.PermissionOption
		want         []string // texts, statuses and the end
	}{
		{
			"allowed", strings.Replace(selected, "%", "allow", 1), nil,
			[]string{"in_progress", "did it", "completed", "end_turn"},
		},
		{"rejected", strings.Replace(selected, "%", "reject", 1), nil, []string{"failed", "pity", "end_turn"}},
		{"cancelled by a client that does not cancel the turn", cancelled, nil, []string{"failed", "pity", "end_turn"}},
		{
			"allowed for ever, own options", strings.Replace(selected, "%", "a", 1),
			[]scripted.PermissionOption{{ID: "r", Kind: "reject_always"}, {ID: "a", Kind: "allow_always"}},
			[]string{"in_progress", "did it", "completed", "end_turn"},
		},
		{
			"an answer that is not an option", strings.Replace(selected, "%", "maybe", 1), nil,
			[]string{"failed", `turns[0].actions[0].tool: the client chose "maybe", which is not one of the options`},
		},
		{
			"an outcome that is unknown", `{"outcome":{"outcome":"later"}}`, nil,
			[]string{"failed", `turns[0].actions[0].tool: the client answered with the unknown outcome "later"`},
		},
	}
	for _, first := range []bool{false, true} {
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%s, first mention %t", tt.name, first), func(t *testing.T) {
				c := open(t, turn(scripted.Action{Tool: &scripted.Tool{
					Title: "Delete", Do: []scripted.Action{say("did it")},
					Ask: &scripted.Ask{First: first, Options: tt.options, Denied: []scripted.Action{say("pity")}},
				}}), t.TempDir())
				c.prompt()
				if !first {
					assert.Equal(t, "tool_call", c.next().update("sessionUpdate"))
				}
				c.answer(c.expect("session/request_permission"), tt.answer)
				assert.Equal(t, tt.want, c.story())
			})
		}
	}
}

// story reads up to the response and returns the texts and statuses on the way, and how the turn ended.
func (c *talk) story() (story []string) {
	c.t.Helper()
	for f := c.next(); ; f = c.next() {
		switch {
		case f.Error != nil:
			return append(story, strings.TrimSuffix(f.Error.Error(), " (-32603)"))
		case f.Method == "":
			return append(story, f.Result["stopReason"].(string))
		case f.update("status") != nil:
			story = append(story, f.update("status").(string))
		default:
			story = append(story, f.update("content").(map[string]any)["text"].(string))
		}
	}
}

func TestCancel(t *testing.T) {
	hour := scripted.Action{Sleep: scripted.Sleep(time.Hour)}
	tests := []struct {
		name string
		turn scripted.Turn
		want []string
	}{
		{
			name: "ends the turn",
			turn: scripted.Turn{
				Actions: []scripted.Action{hour, say("not reached")}, OnCancel: []scripted.Action{say("bye")},
			},
			want: []string{"bye", "cancelled"},
		},
		{
			name: "ends a command of the agent's own",
			turn: scripted.Turn{Actions: []scripted.Action{
				{Exec: &scripted.Exec{Command: "sleep", Args: []string{"3600"}}},
			}},
			want: []string{"cancelled"},
		},
		{
			name: "is ignored if the script says so",
			turn: scripted.Turn{
				Actions:      []scripted.Action{{Sleep: scripted.Sleep(time.Millisecond)}, say("whatever")},
				IgnoreCancel: true,
			},
			want: []string{"whatever", "end_turn"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := open(t, scripted.Script{Turns: []scripted.Turn{tt.turn}}, t.TempDir())
			c.prompt()
			c.cancel()
			assert.Equal(t, tt.want, c.story())
		})
	}
}

func TestCancelEndsTheToolCallThatIsUnderWay(t *testing.T) {
	c := open(t, turn(tool(scripted.Action{Sleep: scripted.Sleep(time.Hour)})), t.TempDir())
	c.prompt()
	assert.Equal(t, "pending", c.next().update("status"))
	assert.Equal(t, "in_progress", c.next().update("status"))
	c.cancel()
	assert.Equal(t, []string{"failed", "cancelled"}, c.story())
}

func TestCancelWaitsForTheAnswerToARequestForPermission(t *testing.T) {
	c := open(t, turn(scripted.Action{Tool: &scripted.Tool{Title: "x", Ask: &scripted.Ask{}}}), t.TempDir())
	c.prompt()
	c.next()
	f := c.expect("session/request_permission")
	c.cancel()
	c.answer(f, `{"outcome":{"outcome":"cancelled"}}`)
	assert.Equal(t, []string{"failed", "cancelled"}, c.story())
}

func TestWorkInTheAgentsOwnProcess(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no shell: ", err)
	}
	run := func(command string, args ...string) scripted.Action {
		return tool(scripted.Action{Exec: &scripted.Exec{Command: command, Args: args}})
	}
	dir := t.TempDir()
	c := open(t, turn(
		scripted.Action{DiskWrite: &scripted.DiskWrite{
			Path: "bin/run.sh", Text: "#!/bin/sh\necho out; echo err >&2; exit 3\n", Executable: true,
		}},
		run(filepath.Join(dir, "bin/run.sh")),
		run("sh", "-c", "kill -9 $$"),
		run("sh", "-c", "pwd; head -c 2000000 /dev/zero | tr '\\0' x"),
		run("no-such-program"),
	), dir)
	c.prompt()
	ends := make([]frame, 0, 4)
	for range 4 {
		c.next()
		c.next()
		ends = append(ends, c.next())
	}
	exit := func(i int) any {
		meta, _ := ends[i].update("_meta").(map[string]any)
		return meta["terminal_exit"]
	}
	info, err := os.Stat(filepath.Join(dir, "bin/run.sh"))
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&0o100)
	assert.Equal(t, "out\nerr\n", ends[0].update("rawOutput"))
	assert.Equal(t, map[string]any{"terminal_id": "call-1", "exit_code": 3.0, "signal": nil}, exit(0))
	assert.Equal(t, map[string]any{"terminal_id": "call-2", "exit_code": nil, "signal": "signal: killed"}, exit(1))
	output := ends[2].update("rawOutput").(string)
	assert.True(t, strings.HasPrefix(output, dir+"\n"))
	assert.Len(t, output, 1<<20, "the output is bounded")
	assert.Equal(t, "failed", ends[3].update("status"))
	assert.Contains(t, ends[3].update("rawOutput"), "no-such-program")
	assert.Equal(t, "end_turn", c.next().Result["stopReason"])
}

func TestUpdatesAndUsage(t *testing.T) {
	c := open(t, turn(
		scripted.Action{Update: scripted.Update{"sessionUpdate": "notice", "title": "careful"}},
		scripted.Action{Usage: &scripted.Usage{Used: 1, Size: 2, CostUSD: 0.5}},
	), t.TempDir())
	c.prompt()
	assert.Equal(t, map[string]any{"sessionUpdate": "notice", "title": "careful"}, c.next().Params["update"])
	assert.Equal(t, map[string]any{
		"sessionUpdate": "usage_update", "used": 1.0, "size": 2.0,
		"cost": map[string]any{"amount": 0.5, "currency": "USD"},
	}, c.next().Params["update"])
}

func TestFailureAfterTheAnswerGoesToStandardError(t *testing.T) {
	s := scripted.Script{Turns: []scripted.Turn{{After: []scripted.Action{{Read: &scripted.Read{Path: "x"}}}}}}
	in := strings.NewReader(initialize +
		`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/"}}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"session-1","prompt":[]}}` + "\n")
	s.Faults.IgnoreEOF = true
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stderr, w := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- scripted.Run(ctx, s, in, io.Discard, w) }()
	line, err := bufio.NewReader(stderr).ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "turns[0].after[0].read: the client does not serve fs/read_text_file\n", line)
	cancel()
	assert.ErrorIs(t, <-ended, context.Canceled)
}
