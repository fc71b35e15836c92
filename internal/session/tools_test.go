package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/interaction/mcpproxy/relay"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// TestClient records a session whose agent is answered by its client, and lets agents answer from the recording.
func TestClient(t *testing.T) {
	const level = "cassette: {level: client}"
	recordable := config(t, level, script(acts{read("a.txt"), read("b.txt")}))
	require.NoError(t, os.WriteFile(filepath.Join(recordable.Dirs.Workspace, "a.txt"), []byte("of then"), 0o600))
	recordable.Records = true
	var recorded, own outcome
	synctest.Test(t, func(t *testing.T) {
		recorded = hold(t.Context(), recordable, "one")
		own = hold(t.Context(), config(t, level, script(acts{say("I know it all")})), "one")
	})
	require.NoError(t, recorded.err)
	require.NoError(t, recorded.session.CheckReplayable())
	require.ErrorContains(t, own.session.CheckReplayable(), "it works in its own process")
	cassette := &cassette.Cassette{Path: "c.jsonl", Turns: recorded.session.Turns()}
	cassette.Turns[0].Delta.Changes = []workspace.Change{{Path: "built", Op: workspace.Added, Kind: workspace.File}}
	reads := func(s *Session) (all []string) {
		for _, e := range s.Run().Events {
			if r, ok := e.Body.(trajectory.FileRead); ok {
				all = append(all, r.Path+" "+r.Text)
			}
		}
		return all
	}
	require.Nil(t, (*Session)(nil).LeftOut())
	require.NotPanics(t, func() { recorded.session.LeftOut() })
	cassette.Header.LeftOut = workspace.LeftOut{"dist"}
	replayed := &Session{config: Config{Recording: Recording{Cassette: cassette}}}
	require.Equal(t, workspace.LeftOut{"dist"}, replayed.LeftOut())
	tests := []struct {
		name, reason string
		more         string
		script       scripted.Script
		reads        []string
		unused       string // what the first line of them has
		reordered    int
		err          string // of the check of overrides
	}{
		{
			name: "as recorded", script: script(acts{read("a.txt"), read("b.txt")}),
			reason: "the file is not there any more",
			reads:  []string{"$WORKSPACE/a.txt of then", "$WORKSPACE/b.txt "},
		},
		{
			name: "another order", reason: "it is found all the same",
			script: script(acts{read("b.txt"), read("a.txt")}),
			reads:  []string{"$WORKSPACE/b.txt ", "$WORKSPACE/a.txt of then"}, reordered: 1,
		},
		{
			name: "less", reason: "an agent that does less does something else", script: script(acts{read("b.txt")}),
			reads: []string{"$WORKSPACE/b.txt "}, unused: "turn 1, event 2: fs/read_text_file path=$WORKSPACE/a.txt",
		},
		{
			name: "overridden", reason: "the agent gets what the playbook says",
			script: script(acts{read("a.txt"), read("b.txt")}),
			more:   ", overrides: [{tool: fs/read_text_file, args: {path: $WORKSPACE/a.txt}, output: of now}]",
			reads:  []string{"$WORKSPACE/a.txt of now", "$WORKSPACE/b.txt "},
		},
		{
			name: "overridden in vain", reason: "its author believes that something is tested",
			script: script(acts{read("a.txt"), read("b.txt")}),
			more:   ", overrides: [{tool: terminal/create, error: disk full}]",
			reads:  []string{"$WORKSPACE/a.txt of then", "$WORKSPACE/b.txt "},
			err:    "bench.yaml:5: the override of terminal/create was not used",
		},
		{
			name: "a tool of its own, overridden", reason: "it has run, and its answer is what it was",
			script: script(acts{
				{Tool: &scripted.Tool{Name: "terminal/create", Title: "t", Output: "ok"}}, read("a.txt"), read("b.txt"),
			}),
			more:  ", overrides: [{tool: terminal/create, error: disk full}]",
			reads: []string{"$WORKSPACE/a.txt of then", "$WORKSPACE/b.txt "},
			err:   "the override of terminal/create was not used",
		},
		{
			name: "the first call overridden in vain", reason: "it is another one's",
			script: script(acts{read("a.txt"), read("b.txt")}),
			more:   ", overrides: [{tool: terminal/create, nth: 1, error: disk full}]",
			reads:  []string{"$WORKSPACE/a.txt of then", "$WORKSPACE/b.txt "},
			err:    "the override of call 1 of terminal/create was not used",
		},
		{
			name: "overridden in vain, with arguments", reason: "another call may be meant",
			script: script(acts{read("a.txt"), read("b.txt")}),
			more:   ", overrides: [{tool: fs/read_text_file, args: {path: c.txt}, error: disk full}]",
			reads:  []string{"$WORKSPACE/a.txt of then", "$WORKSPACE/b.txt "},
			err:    `the override of fs/read_text_file {"path":"c.txt"} was not used`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := config(t, strings.TrimSuffix(level, "}")+tt.more+"}", tt.script)
				c.Recording = Recording{Cassette: cassette, Next: "record it"}
				o := hold(t.Context(), c, "one")
				require.NoError(t, o.err, tt.reason)
				require.FileExists(t, filepath.Join(c.Dirs.Workspace, "built"),
					"a command made it, which does not run again")
				require.Equal(t, tt.reads, reads(o.session), tt.reason)
				require.Len(t, o.session.Reordered(), tt.reordered, tt.reason)
				require.Contains(t, strings.Join(o.session.Unused(), "\n"), tt.unused, tt.reason)
				if err := o.session.CheckOverrides(); tt.err != "" {
					require.ErrorContains(t, err, tt.err, tt.reason)
				} else {
					require.NoError(t, err, tt.reason)
				}
			})
		})
	}
}

// TestOverrideOfNoAnswer holds that a call which was cut off before its answer is none that an override has changed.
func TestOverrideOfNoAnswer(t *testing.T) {
	call := func(id string) trajectory.Event {
		return trajectory.Event{Body: trajectory.ToolStart{ID: id, Name: "Bash"}}
	}
	end := trajectory.Event{Body: trajectory.ToolEnd{ID: "c2", Status: trajectory.Completed, Output: "ok"}}
	run := &trajectory.Run{Events: []trajectory.Event{call("c1"), call("c2"), end}}
	overrides := overridesOf([]plan.Override{
		{Override: playbook.Override{Tool: "Bash", Nth: 1, Error: "disk full"}},
		{Override: playbook.Override{Tool: "Bash", Nth: 2, Error: "no power"}},
	})
	override(run, overrides)
	assert.Equal(t, []trajectory.Event{
		call("c1"), call("c2"),
		{Body: trajectory.ToolEnd{ID: "c2", Status: trajectory.Failed, Output: "disk full"}},
		{Body: trajectory.Notice{Name: "override", Data: map[string]any{"id": "c2"}}},
	}, run.Events)
	left := overrides.Unapplied()
	assert.Len(t, left, 1)
	assert.Equal(t, 2, left[0].Nth)
}

// An agent may start a server twice, and the second may not have what the first holds.
func TestServersThatFailed(t *testing.T) {
	c := Config{Dirs: Dirs{Base: t.TempDir()}, Playbook: &plan.Playbook{}}
	c.Playbook.MCP = []plan.MCPServer{{MCPServer: playbook.MCPServer{Name: "stock", Command: []string{"stock"}}}}
	require.NoError(t, os.Mkdir(c.socketDir(), 0o700))
	require.NoError(t, c.checkServers())
	file := c.failureOf(c.Playbook.MCP[0])
	require.NoError(t, os.WriteFile(file, []byte("ended"), 0o600))
	require.ErrorContains(t, c.checkServers(), `the MCP server "stock" (stock) ended`)
	require.NoError(t, os.WriteFile(relay.Answered(file), nil, 0o600))
	require.NoError(t, c.checkServers())
	require.NoError(t, c.startServersAnew())
	require.Error(t, c.checkServers())
	require.NoError(t, c.startServersAnew(), "nobody answered")
}
