package convert

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/convert/atif"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// again returns a cassette's turns after they were written as a trajectory and read again.
func again(t *testing.T, c *cassette.Cassette) *cassette.Cassette {
	t.Helper()
	exported, err := toATIF(c)
	require.NoError(t, err)
	data, err := atif.Encode(exported) // it checks every rule of the format
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "trajectory.json")
	require.NoError(t, os.WriteFile(file, data, 0o644))
	s, err := Read(ATIF, file, Options{Stop: "end_turn"})
	require.NoError(t, err)
	got, _, err := s.Cassette(Unit{ID: c.Header.Unit, Kind: c.Header.Agent.Kind, Secrets: new(secret.Set)})
	require.NoError(t, err)
	return got
}

// events are the turns without what they changed in the workspace.
func events(c *cassette.Cassette) [][]trajectory.Event {
	var all [][]trajectory.Event
	for _, t := range c.Turns {
		all = append(all, t.Events)
	}
	return all
}

// Every recording comes back as it was, except for the changes of the workspace.
func TestRoundTrip(t *testing.T) {
	root := filepath.Join("..", "..", "cassettes", "evals")
	n := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".jsonl") || strings.Contains(path, ".judges.") {
			return err
		}
		n++
		c, err := cassette.Read(path)
		require.NoError(t, err)
		got := again(t, c)
		if d := cmp.Diff(events(c), events(got)); d != "" {
			t.Errorf("%s (-recorded +read again):\n%s", path, d)
		}
		assert.Equal(t, c.Header.Agent, got.Header.Agent, path)
		return nil
	}))
	assert.Greater(t, n, 5)
}

// everything has events of every kind, and calls and results of every shape.
func everything() *cassette.Cassette {
	old, one := "a", 1
	n := func(i int64) *int64 { return &i }
	turns := [][]trajectory.Body{
		{
			trajectory.Notice{Name: "_early", Data: map[string]any{"n": json.Number("1.50")}},
			trajectory.Prompt{Text: "Do it."},
			trajectory.Thought{Text: "Hm."},
			trajectory.Thought{Text: "Well."},
			trajectory.Message{Text: "I'll look."},
			trajectory.ToolStart{
				ID: "c1", Name: "Read", Kind: "read", Title: "Read a",
				Args:      map[string]any{"path": "a", "n": json.Number("1e3")},
				Locations: []trajectory.Location{{Path: "a", Line: &one}},
			},
			trajectory.ToolStart{ID: "c2", Kind: "execute", Args: []any{"ls", json.Number("2")}},
			trajectory.Permission{
				ID: "c2", Options: []trajectory.PermissionOption{{ID: "y", Kind: "allow_once"}}, Decision: "y",
			},
			trajectory.FileRead{Path: "a", Text: "A"},
			trajectory.ToolEnd{ID: "c2", Status: trajectory.Failed, Printed: "no\n", ExitCode: &one},
			trajectory.ToolEnd{
				ID: "c1", Status: trajectory.Completed,
				Output: map[string]any{"ok": true, "n": json.Number("12345678901234567890")}, Printed: "x",
				Diffs: []trajectory.Diff{{Path: "a", Old: &old, New: "b"}},
			},
			trajectory.ToolStart{ID: "c3", Args: nil},
			trajectory.ToolEnd{ID: "c3", Status: trajectory.Completed},
			trajectory.ToolStart{ID: "c4", Parent: "c3", Name: "Open", Args: "free text"},
			trajectory.Plan{Entries: []trajectory.PlanEntry{{Content: "all", Status: "pending"}}},
			trajectory.Terminal{ID: "t1", Command: "go", Args: []string{"test"}, ExitCode: &one},
			trajectory.FileWrite{Path: "/etc/passwd", Error: "denied"},
			trajectory.Message{Text: "Done."},
			trajectory.State{Cost: &trajectory.Cost{Amount: 0.5, Currency: "USD"}},
			trajectory.Stop{
				Reason: "end_turn",
				Usage: &trajectory.Usage{
					Input: n(10), Output: n(5), CacheRead: n(3), CacheWrite: n(2), Thought: n(1), Total: n(20),
				},
			},
		},
		{
			trajectory.State{Mode: "plan"},
			trajectory.Prompt{Text: "More?"},
			trajectory.ToolEnd{ID: "c4", Status: trajectory.Completed, Output: ""},
			trajectory.ToolEnd{ID: "c5", Status: trajectory.Completed, Output: "of nobody"},
			trajectory.Stop{Reason: "cancelled"},
		},
	}
	c := &cassette.Cassette{
		Header: cassette.Header{
			Unit: "p/task/v/1", Agent: trajectory.Agent{Kind: "acp"},
			RecordedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		},
	}
	at := time.Duration(0)
	for i, bodies := range turns {
		var turn cassette.Turn
		for _, b := range bodies {
			turn.Events = append(turn.Events, trajectory.Event{Turn: i + 1, At: at, Body: b})
			at += 1500 * time.Microsecond
		}
		c.Turns = append(c.Turns, turn)
	}
	return c
}

func TestExport(t *testing.T) {
	c := everything()
	if d := cmp.Diff(events(c), events(again(t, c))); d != "" {
		t.Errorf("(-recorded +read again):\n%s", d)
	}
	exported, err := toATIF(c)
	require.NoError(t, err)
	data, err := atif.Encode(exported)
	require.NoError(t, err)
	golden.Equal(t, filepath.Join("testdata", "export.golden"), string(data))
}

// Readers that ignore sdd-eval's own fields see the same session.
func TestExportForOthers(t *testing.T) {
	c, err := cassette.Read(filepath.Join("..", "..", "cassettes", "evals", "fix-bug", "fix-bug", "task",
		"claude.1.jsonl"))
	require.NoError(t, err)
	exported, err := toATIF(c)
	require.NoError(t, err)
	exported.Extra = nil
	s, err := fromATIF(exported, Options{Stop: "end_turn"})
	require.NoError(t, err)
	run := func(turns [][]trajectory.Event) (calls []trajectory.ToolCall, answer string, reasons []string) {
		r := new(trajectory.Run)
		for _, events := range turns {
			r.Events = append(r.Events, events...)
		}
		return r.ToolCalls(), r.Answer(), r.StopReasons()
	}
	want, wantAnswer, wantReasons := run(events(c))
	got, gotAnswer, gotReasons := run(s.Turns)
	require.Len(t, got, len(want))
	for i := range want {
		assert.Equal(t, want[i].Name, got[i].Name)
		assert.Equal(t, want[i].Kind, got[i].Kind)
		assert.Equal(t, want[i].Args, got[i].Args)
		assert.Equal(t, want[i].Group, got[i].Group)
		assert.Equal(t, trajectory.Completed, got[i].Status, "ATIF cannot say that a call failed")
	}
	assert.Equal(t, wantAnswer, gotAnswer)
	assert.Equal(t, wantReasons, gotReasons)
	last := s.Turns[0][len(s.Turns[0])-1].Body.(trajectory.Stop)
	assert.Equal(t, int64(9425), *last.Usage.Total)
}

// An exported trajectory that was changed is an error.
func TestExportChanged(t *testing.T) {
	mark := func(extra atif.Extra) any { return extra[extraKey] }
	tests := []struct {
		name   string
		change func(x *atif.Trajectory)
		want   string
	}{
		{
			"a step of somebody else's", func(x *atif.Trajectory) { x.Steps[2].Extra = nil },
			"steps[2].extra.sdd_eval is missing, which sdd-eval wrote: to read the file as any other trajectory, " +
				"remove it from the root too",
		},
		{
			"a step is gone", func(x *atif.Trajectory) { x.Steps = x.Steps[1:] },
			"event 0 is missing or duplicate: extra.sdd_eval was changed",
		},
		{
			"a call is gone", func(x *atif.Trajectory) { x.Steps[2].ToolCalls = x.Steps[2].ToolCalls[:1] },
			"event 6 is missing or duplicate: extra.sdd_eval was changed",
		},
		{
			"a later version", func(x *atif.Trajectory) { x.Extra[extraKey] = map[string]any{"version": 2} },
			"extra.sdd_eval has version 2, want 1",
		},
		{
			"another turn", func(x *atif.Trajectory) { mark(x.Steps[0].Extra).(*stepMark).Message.Turn = 7 },
			"event 1 belongs to turn 7: extra.sdd_eval was changed",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			exported, err := toATIF(everything())
			require.NoError(t, err)
			tt.change(exported)
			data, err := json.Marshal(exported)
			require.NoError(t, err)
			var read atif.Trajectory
			require.NoError(t, json.Unmarshal(data, &read))
			_, err = fromATIF(&read, Options{Stop: "end_turn"})
			assert.EqualError(t, err, tt.want)
		})
	}
}

// A file that is not a whole session is an error.
func TestATIFErrors(t *testing.T) {
	const head = `{"schema_version":"ATIF-v1.7","agent":{"name":"a","version":"1"},`
	user := `{"step_id":1,"source":"user","message":"Go."}`
	tests := []struct{ name, text, want string }{
		{
			"goes on", head + `"continued_trajectory_ref":"b.json","steps":[` + user + `]}`,
			"the session continues in b.json: only whole sessions can be judged",
		},
		{
			"copied", head + `"steps":[{"step_id":1,"source":"user","message":"Go.","is_copied_context":true}]}`,
			"steps[0]: the step is copied from an earlier trajectory: only whole sessions can be judged",
		},
		{
			"no prompt", head + `"steps":[{"step_id":1,"source":"agent","message":"Hi."}]}`,
			"steps[0]: the agent acts before the first prompt",
		},
		{
			"nobody asked", head + `"steps":[{"step_id":1,"source":"system","message":"Hi."}]}`,
			"the file has no prompt",
		},
		{
			"silent", head + `"steps":[` + user + `]}`,
			"turn 1 has not ended: it does not end with a message of the agent (if it did, " +
				"give the reason with --stop REASON)",
		},
		{
			"open call",
			head + `"steps":[` + user +
				`,{"step_id":2,"source":"agent","message":"x","tool_calls":[{"tool_call_id":"7","function_name":"f",` +
				`"arguments":{}}]}]}`,
			"turn 1 has not ended: no result of 7 (if it did, give the reason with --stop REASON)",
		},
		{
			"elsewhere",
			head + `"steps":[` + user +
				`,{"step_id":2,"source":"agent","message":"x",` +
				`"observation":{"results":[{"subagent_trajectory_ref":[{"trajectory_path":"b.json"}]}]}}]}`,
			`steps[1]: the trajectory of a subagent is not in the file but in "b.json"`,
		},
		{
			"not mentioned",
			head + `"steps":[` + user + `],"subagent_trajectories":[` + head + `"trajectory_id":"b","steps":[` + user +
				`]}]}`, `no step refers to the subagent trajectory "b"`,
		},
		{
			"an id twice",
			head + `"steps":[` + user +
				`,{"step_id":2,"source":"agent","message":"x","tool_calls":[{"tool_call_id":"7","function_name":"f",` +
				`"arguments":{}}]},{"step_id":3,"source":"agent","message":"x","tool_calls":[{"tool_call_id":"7",` +
				`"function_name":"f","arguments":{}}]}]}`, `steps[2]: missing or duplicate tool call id "7"`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "t.json")
			require.NoError(t, os.WriteFile(file, []byte(tt.text), 0o644))
			_, err := Read(ATIF, file, Options{})
			assert.EqualError(t, err, file+": "+tt.want)
		})
	}
}

// The tokens of a turn are unknown if those of one of its steps are.
// Every version is read, with what 1.8 brought, and written as 1.8.
func TestATIF18(t *testing.T) {
	for minor := range 9 {
		version := fmt.Sprintf("ATIF-v1.%d", minor)
		path := filepath.Join(t.TempDir(), "trajectory.json")
		require.NoError(t, os.WriteFile(path, []byte(`{"schema_version":"`+version+`","session_id":"s",
"agent":{"name":"a","version":"1"},"steps":[{"step_id":1,"source":"user","message":[{"type":"text","text":"Listen."},
{"type":"audio","source":{"media_type":"audio/x-wav","path":"q.wav","duration_sec":3.2}}]},
{"step_id":2,"source":"agent","message":"Heard."}]}`), 0o600))
		s, err := Read(ATIF, path, Options{Stop: "end_turn"})
		require.NoError(t, err, version)
		require.Equal(t, []string{"Listen.\n[audio q.wav]"}, s.Prompts())
		c, _, err := s.Cassette(Unit{ID: "p/c/v/1", Kind: "fake-acp", Dir: "/w", Secrets: new(secret.Set)})
		require.NoError(t, err)
		written, err := Write(ATIF, c)
		require.NoError(t, err)
		require.Contains(t, string(written), `"schema_version": "ATIF-v1.8"`)
		require.Contains(t, string(written), `"message": "Listen.\n[audio q.wav]"`)
		require.Equal(t, events(c), events(again(t, c)))
	}
}

func TestATIFTokens(t *testing.T) {
	s, err := Read(ATIF, filepath.Join("testdata", "atif", "stock.json"), Options{Stop: "end_turn"})
	require.NoError(t, err)
	usage := func(i int) *trajectory.Usage { return s.Turns[i][len(s.Turns[i])-1].Body.(trajectory.Stop).Usage }
	assert.Equal(t, int64(110), *usage(0).Input)
	assert.Equal(t, int64(140), *usage(0).CacheRead)
	assert.Equal(t, int64(275), *usage(0).Total)
	assert.Nil(t, usage(1))
}

func FuzzATIF(f *testing.F) {
	for _, file := range samples(f, ATIF) {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	exported, err := toATIF(everything())
	require.NoError(f, err)
	data, err := json.Marshal(exported)
	require.NoError(f, err)
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) { fuzzRead(t, ATIF, data) })
}

// fuzzRead holds that what is read becomes a cassette that can be written, or is an error.
func fuzzRead(t *testing.T, format string, data []byte) {
	file := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(file, data, 0o644))
	s, err := Read(format, file, Options{Stop: "end_turn"})
	if err != nil {
		return
	}
	for _, events := range s.Turns {
		for i := 1; i < len(events); i++ {
			if format != ATIF && events[i].At < events[i-1].At {
				t.Fatal("time goes back")
			}
		}
	}
	c, _, err := s.Cassette(Unit{ID: "p/task/v/1", Kind: "acp", Secrets: new(secret.Set)})
	require.NoError(t, err)
	_, err = toATIF(c)
	require.NoError(t, err)
}
