package capture

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// entry is a line of a capture in tests; a field that is left out is not in it.
type entry map[string]any

// pre returns a line that begins a call, so many milliseconds after noon.
func pre(ms int, tool, id string, input any) entry {
	return entry{
		"timestamp": noon.Add(time.Duration(ms) * time.Millisecond).Format(time.RFC3339Nano), "phase": "pre",
		"tool_name": tool, "tool_use_id": id, "session_id": "s", "cwd": "/w", "tool_input": input,
	}
}

// post returns a line that ends a call.
func post(ms int, tool, id string, output any) entry {
	return pre(ms, tool, id, entry{}).with("phase", "post", "tool_output", output)
}

func (e entry) with(pairs ...any) entry {
	for i := 0; i < len(pairs); i += 2 {
		e[pairs[i].(string)] = pairs[i+1]
	}
	return e
}

// text returns lines as a file has them.
func text(t *testing.T, entries ...entry) string {
	t.Helper()
	var b strings.Builder
	for _, e := range entries {
		data, err := json.Marshal(e)
		require.NoError(t, err)
		b.Write(data)
		b.WriteByte('\n')
	}
	return b.String()
}

// file writes a capture and returns its path.
func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tool-calls.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	return path
}

func summary(c Capture) string {
	var b strings.Builder
	for _, call := range c.Calls {
		fmt.Fprintf(&b, "%s %s %s", call.Tool, call.ID, call.State)
		if call.Duration > 0 {
			fmt.Fprintf(&b, " %v", call.Duration)
		}
		if call.ExitCode != nil {
			fmt.Fprintf(&b, " exit %d", *call.ExitCode)
		}
		if call.Error != "" {
			fmt.Fprintf(&b, " %q", call.Error)
		}
		b.WriteByte('\n')
	}
	for _, n := range c.Notes {
		b.WriteString("note: " + n + "\n")
	}
	return b.String()
}

func TestRead(t *testing.T) {
	read := entry{"file_path": "/w/a.go"}
	tests := []struct {
		name    string
		reason  string
		content string
		want    string
		err     string
	}{
		{name: "empty", want: ""},
		{
			name:    "ok and pending",
			content: text(t, pre(0, "Read", "1", read), post(7, "Read", "1", "text"), pre(9, "Grep", "2", entry{})),
			want:    "Read 1 ok 7ms\nGrep 2 pending\n",
		},
		{
			name:    "the agent's own duration counts",
			content: text(t, pre(0, "Read", "1", read), post(7, "Read", "1", nil).with("duration_ms", 2.5)),
			want:    "Read 1 ok 2.5ms\n",
		},
		{
			name: "failure",
			content: text(t, pre(0, "Bash", "1", entry{"command": "false"}),
				post(3, "Bash", "1", nil).with("phase", "failure", "error", "Exit code 1", "exit_code", 1)),
			want: "Bash 1 error 3ms exit 1 \"Exit code 1\"\n",
		},
		{
			name:    "denied",
			content: text(t, pre(0, "Bash", "1", entry{}).with("denied", "--deny Bash")),
			want:    "Bash 1 error \"--deny Bash\"\n",
		},
		{
			name:   "denied and failed",
			reason: "an agent may report a denied call as a failed one; why it was denied says more",
			content: text(t, pre(0, "Bash", "1", nil).with("denied", "no"),
				post(1, "Bash", "1", nil).with("phase", "failure", "error", "hook")),
			want: "Bash 1 error 1ms \"no\"\n",
		},
		{
			name:    "denied and run",
			content: text(t, pre(0, "Bash", "1", nil).with("denied", "no"), post(1, "Bash", "1", "out")),
			want:    "Bash 1 ok 1ms\nnote: line 2: Bash 1: this call ran although it was denied\n",
		},
		{
			name:    "ordered by time",
			reason:  "processes append when they get to it",
			content: text(t, post(5, "A", "1", nil), pre(2, "B", "2", nil), pre(1, "A", "1", nil)),
			want:    "A 1 ok 4ms\nB 2 pending\n",
		},
		{
			name:    "stable at the same time",
			content: text(t, pre(0, "C", "3", nil), pre(0, "A", "1", nil), pre(0, "B", "2", nil)),
			want:    "C 3 pending\nA 1 pending\nB 2 pending\n",
		},
		{
			name: "parallel calls of one tool are told apart by their ids",
			content: text(t, pre(0, "Read", "1", nil), pre(1, "Read", "2", nil), post(2, "Read", "2", "b"),
				post(5, "Read", "1", "a")),
			want: "Read 1 ok 5ms\nRead 2 ok 1ms\n",
		},
		{
			name: "ids are those of a session",
			content: text(t, pre(0, "Read", "1", nil), pre(1, "Read", "1", nil).with("session_id", "other"),
				post(2, "Read", "1", nil)),
			want: "Read 1 ok 2ms\nRead 1 pending\n",
		},
		{
			name:    "a clock that was set back",
			content: text(t, pre(9, "Read", "1", nil), post(2, "Read", "1", nil)),
			want:    "Read 1 ok\n",
		},
		{
			name: "duplicates",
			content: text(t, pre(0, "Read", "1", nil), pre(1, "Read", "1", nil), post(2, "Read", "1", nil),
				post(3, "Read", "1", nil)),
			want: "Read 1 ok 2ms\nnote: line 2: Read 1: the start of this call was captured before: " +
				"are the hooks installed twice?\n" +
				"note: line 4: Read 1: the end of this call was captured before: are the hooks installed twice?\n",
		},
		{
			name:    "a denial counts if only one of two hooks denied",
			content: text(t, pre(0, "Read", "1", nil), pre(1, "Read", "1", nil).with("denied", "no")),
			want: "Read 1 error \"no\"\n" +
				"note: line 2: Read 1: the start of this call was captured before: are the hooks installed twice?\n",
		},
		{
			name:    "end without a start",
			content: text(t, pre(8, "Grep", "2", nil), post(9, "Read", "1", nil).with("duration_ms", 4)),
			want:    "Read 1 ok 4ms\nGrep 2 pending\nnote: line 2: Read 1: the start of this call was not captured\n",
		},
		{
			name:    "torn last line",
			content: text(t, pre(0, "Read", "1", nil)) + text(t, post(1, "Read", "1", "long"))[:40],
			want:    "Read 1 pending\nnote: line 2: its writer was killed before the end of the line\n",
		},
		{
			name:    "last line without a newline that is whole",
			content: strings.TrimSuffix(text(t, pre(0, "Read", "1", nil)), "\n"),
			want:    "Read 1 pending\n",
		},
		{
			name:    "torn line before others",
			reason:  "what was lost there is not known, and what follows is",
			content: text(t, pre(0, "Read", "1", nil))[:30] + "\n" + text(t, pre(1, "Grep", "2", nil)),
			want:    "Grep 2 pending\n",
			err:     ":1: this is not a line of a capture: the text is incomplete: unexpected EOF",
		},
		{
			name: "damaged last line with its newline", content: "{\n",
			err: ":1: this is not a line of a capture: the text is incomplete: unexpected EOF",
		},
		{name: "not an object", content: "[]\n", err: ":1: the line is of type array"},
		{name: "field of another type", content: `{"tool_name":1}` + "\n", err: ":1: tool_name is of type number"},
		{
			name:    "duplicate key",
			content: strings.Replace(text(t, pre(0, "A", "1", nil)), `"phase":"pre"`, `"phase":"pre","phase":"pre"`, 1),
			err:     `:1: this is not a line of a capture: duplicate key "phase"`,
		},
		{
			name: "two values", content: strings.TrimSpace(text(t, pre(0, "A", "1", nil))) + "{}\n",
			err: ":1: this is not a line of a capture: text after the JSON value",
		},
		{name: "phase", content: text(t, pre(0, "A", "1", nil).with("phase", "x")), err: `:1: unknown phase "x"`},
		{name: "no tool", content: text(t, pre(0, "", "1", nil)), err: ":1: tool_name is missing"},
		{name: "no id", content: text(t, pre(0, "A", "", nil)), err: ":1: tool_use_id is missing"},
		{
			name: "no time", content: "\n\n" + `{"phase":"pre","tool_name":"A","tool_use_id":"1"}` + "\n",
			err: ":3: timestamp is missing",
		},
		{
			name: "duration below zero", content: text(t, post(0, "A", "1", nil).with("duration_ms", -1)),
			err: ":1: duration_ms is -1",
		},
	}
	seen := make(map[string]bool)
	for _, tt := range tests {
		require.False(t, seen[tt.name], tt.name)
		seen[tt.name] = true
		t.Run(tt.name, func(t *testing.T) {
			c, err := Read(file(t, tt.content))
			require.Equal(t, tt.want, summary(c), tt.reason)
			if tt.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "read capture: ")
			require.ErrorContains(t, err, "tool-calls.jsonl"+tt.err)
		})
	}
}

// Hooks that write the payload and the time at once, and no phase.
func TestHooksAtOnce(t *testing.T) {
	at := func(ms int, id string) entry {
		e := pre(ms, "Bash", id, entry{"command": "go test"})
		delete(e, "phase")
		return e
	}
	content := text(t,
		at(0, "1"), at(4, "1").with("tool_response", entry{"stdout": "ok"}),
		at(5, "2"), at(6, "2").with("tool_output", "text", "exit_code", 0),
		at(7, "3"), at(9, "3").with("tool_output", nil, "error", "Exit code 1"),
		at(10, "4"), at(11, "4").with("exit_code", 2),
		at(12, "5"), at(13, "5").with("tool_response", nil),
		at(14, "6").with("hook_event_name", "PreToolUse"),
		at(15, "6").with("hook_event_name", "PostToolUseFailure", "error", "interrupted"),
		at(16, "7"),
		at(17, "8"), at(18, "8"),
	)
	got, err := Read(file(t, content))
	require.NoError(t, err)
	require.Equal(t, `Bash 1 ok 4ms
Bash 2 ok 1ms exit 0
Bash 3 error 2ms "Exit code 1"
Bash 4 error 1ms exit 2 "the agent does not say why"
Bash 5 ok 1ms
Bash 6 error 1ms "interrupted"
Bash 7 pending
Bash 8 pending
note: line 15: Bash 8: the start of this call was captured before: are the hooks installed twice?
`, summary(got))
	require.Equal(t, map[string]any{"stdout": "ok"}, got.Calls[0].Output)
	for _, wrong := range []entry{{"hook_event_name": "Stop"}, {"hook_event_name": 1}} {
		e := at(0, "1")
		maps.Copy(e, wrong)
		_, err := Read(file(t, text(t, e)))
		require.ErrorContains(t, err, "tool-calls.jsonl:1: ")
		require.ErrorContains(t, err, "hook_event_name")
	}
}

func TestReadKeepsWhatLinesSay(t *testing.T) {
	input := entry{"limit": json.Number("12345678901234567890"), "file_path": "/w/a"}
	c, err := Read(file(t, text(t,
		pre(0, "Read", "1", input).with("agent_id", "sub", "prompt_id", "p", "rewritten_input", entry{"x": true}),
		post(1, "Read", "1", []any{"a"}).with("exit_code", 0))))
	require.NoError(t, err)
	zero := 0
	require.Equal(t, []Call{{
		ID: "1", Tool: "Read", Session: "s", Agent: "sub", Prompt: "p", Cwd: "/w", State: OK,
		Input: map[string]any(input), Rewritten: map[string]any{"x": true}, Output: []any{"a"}, ExitCode: &zero,
		Start: noon, Duration: time.Millisecond, end: noon.Add(time.Millisecond),
	}}, c.Calls)
	require.Equal(t, []string{"Read"}, c.Tools())
}

func TestReadRefuses(t *testing.T) {
	dir := t.TempDir()
	_, err := Read(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = Read(dir)
	require.ErrorContains(t, err, "not a regular file")
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(file(t, ""), link))
	_, err = Read(link)
	require.ErrorContains(t, err, "not a regular file")
	large := file(t, "")
	require.NoError(t, os.Truncate(large, maxFile+1))
	_, err = Read(large)
	require.ErrorContains(t, err, "the limit is 536870912")
	require.NoError(t, os.Truncate(large, maxLine+1))
	_, err = Read(large)
	require.ErrorContains(t, err, ":1: the line has more than 67108864 bytes")
}

func TestErrorsOfHooks(t *testing.T) {
	path := file(t, text(t, pre(0, "Read", "1", nil)))
	side := path + ".errors"
	require.NoError(t, os.WriteFile(side, []byte(`{"phase":"pre","error":"disk full"}`+"\nnot JSON\n"), 0o644))
	c, err := Read(path)
	require.EqualError(t, err,
		"hooks failed, so the capture is incomplete: "+side+":\npre: disk full\nnot JSON")
	require.Len(t, c.Calls, 1)

	require.NoError(t, os.WriteFile(side, []byte(strings.Repeat("x\n", 20)), 0o644))
	_, err = Read(path)
	require.ErrorContains(t, err, "\nx\nand 15 more")
	require.NoError(t, os.WriteFile(side, nil, 0o644))
	_, err = Read(path)
	require.ErrorContains(t, err, "hooks failed", "a hook that could not even write why it failed")

	require.NoError(t, os.Remove(path))
	_, err = Read(path)
	require.ErrorContains(t, err, "hooks failed")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = Check(path, nil)
	require.ErrorContains(t, err, "hooks failed", "even of an agent that reported nothing")
}

func TestCheck(t *testing.T) {
	none := filepath.Join(t.TempDir(), "tool-calls.jsonl")
	c, err := Check(none, nil)
	require.NoError(t, err)
	require.Empty(t, c.Calls)
	_, err = Check(none, []string{"Read"})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "the agent reported 1 call (Read), but its hooks captured nothing: ")

	path := file(t, text(t, pre(0, "Read", "1", nil), pre(1, "Read", "2", nil), pre(2, "Bash", "3", nil)))
	for _, reported := range [][]string{nil, {"Read"}, {"Bash", "Read", "Read"}} {
		c, err = Check(path, reported)
		require.NoError(t, err)
		require.Len(t, c.Calls, 3)
	}
	_, err = Check(path, []string{"Read", "Bash", "Bash", "Grep", "Bash"})
	require.EqualError(t, err,
		"the agent reported 5 calls, but its hooks missed 3 calls: Bash, Grep, Bash")
	_, err = Check(file(t, ""), []string{"Read"})
	require.ErrorContains(t, err, "missed 1 call: Read", "a file without calls is no better than none")
}

func TestRun(t *testing.T) {
	c, err := Read(file(t, text(t,
		pre(0, "Grep", "1", entry{"pattern": "todo"}).with("prompt_id", "p1"),
		pre(1, "Read", "2", entry{"file_path": "/w/src/a.go"}).with("prompt_id", "p1"),
		post(3, "Grep", "1", entry{"filenames": []any{}}),
		post(4, "Read", "2", nil).with("phase", "failure", "error", "no such file"),
		pre(5, "Bash", "3", entry{"command": "ls"}).with("prompt_id", "p2"),
		post(6, "Bash", "3", entry{"stdout": "a", "stderr": "b"}).with("exit_code", 0),
		pre(7, "Write", "4", entry{"file_path": "b"}).with("prompt_id", "p2", "denied", "no"),
		pre(8, "mcp__x__y", "5", nil).with("prompt_id", "p2"))))
	require.NoError(t, err)
	run := c.Run()
	require.Equal(t, "/w", run.Cwd)
	require.Equal(t, 2, run.Turns())
	var got []string
	for _, call := range run.ToolCalls() {
		got = append(got,
			fmt.Sprintf("%s %s %q turn %d group %d %v %v %v", call.Name, call.Kind, call.Title, call.Turn, call.Group,
				call.Status, call.Duration, call.Printed))
	}
	require.Equal(t, []string{
		`Grep search "" turn 1 group 1 completed 3ms `,
		`Read read "Read a.go" turn 1 group 1 failed 3ms `,
		`Bash execute "ls" turn 2 group 2 completed 1ms a` + "\nb",
		`Write edit "Write b" turn 2 group 3 failed 0s `,
		`mcp__x__y other "" turn 2 group 4 pending 0s `,
	}, got)
	want := trajectory.All(
		trajectory.InOrder(
			trajectory.Tool("Grep").Args(trajectory.Args{"pattern": trajectory.ContainsCI("TODO")}),
			trajectory.Tool("Read").Args(trajectory.Args{"file_path": trajectory.Path("src/a.go")}),
			trajectory.Kind("execute"),
		),
		trajectory.Never("WebFetch"),
	)
	require.True(t, want.Match(&run).Pass, want.Match(&run))
	require.Empty(t, Capture{}.Run().Events)

	c, err = Read(file(t,
		text(t, pre(0, "Read", "1", nil), pre(1, "Grep", "1", nil).with("session_id", "other"),
			post(2, "Read", "1", nil))))
	require.NoError(t, err)
	run = c.Run()
	calls := run.ToolCalls()
	require.Equal(t, trajectory.Completed, calls[0].Status, "ids are those of a session")
	require.Equal(t, trajectory.Pending, calls[1].Status)
}

// FuzzRead holds that no file makes the reader panic, that lines are neither lost nor made up, and that the run is a
// valid.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"timestamp":"2026-01-31T12:00:00Z","phase":"pre","tool_name":"Read","tool_use_id":"1",` +
		`"tool_input":{"file_path":"a"}}` + "\n" +
		`{"timestamp":"2026-01-31T12:00:01Z","phase":"post","tool_name":"Read","tool_use_id":"1","duration_ms":1e3}` +
		"\n"))
	f.Add([]byte(`{"timestamp":"0001-01-01T00:00:00.1Z","phase":"failure","tool_name":"Bash","tool_use_id":"1",` +
		`"error":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, _, _ := readLines(strings.NewReader(string(data)))
		c := join(lines)
		if len(c.Calls)+len(c.Notes) > 2*len(lines) || len(c.Calls) > len(lines) || len(lines) > 0 &&
			len(c.Calls) == 0 {
			t.Fatalf("%d lines became %d calls", len(lines), len(c.Calls))
		}
		run := c.Run()
		if got := len(run.ToolCalls()); got != len(c.Calls) {
			t.Fatalf("%d calls became %d of the run", len(c.Calls), got)
		}
		for i, e := range run.Events {
			if i > 0 && (e.At < run.Events[i-1].At || e.Turn < run.Events[i-1].Turn) {
				t.Fatalf("events %d and %d are not in order", i-1, i)
			}
		}
	})
}
