package session

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// config returns what a session is made from, with further lines of the playbook. Its agent is in this process and
// follows the script.
func config(t *testing.T, more string, script scripted.Script) Config {
	t.Helper()
	pb, err := plan.Parse("bench.yaml", []byte(`name: bench
task: {prompt: Do it.}
variants: {fake: {agent: {kind: fake-acp}}}
workflow: {jobs: {eval: {strategy: {matrix: {variant: [fake]}}, steps: [{uses: "builtin:sdd-eval/acp.prompt"}]}}}
`+more), nil)
	require.NoError(t, err)
	plan, err := pb.Plan()
	require.NoError(t, err)
	base := t.TempDir()
	dirs := Dirs{
		Base: base, Workspace: filepath.Join(base, "workspace"), Home: filepath.Join(base, "home"),
		Tmp:   filepath.Join(base, "tmp"),
		Check: func() error { return nil },
	}
	for _, dir := range []string{dirs.Workspace, dirs.Home, dirs.Tmp} {
		require.NoError(t, os.Mkdir(dir, 0o700))
	}
	secrets := new(secret.Set)
	c := Config{
		Host: Host{
			Environ: []string{"HOME=" + base}, Getenv: func(string) string { return "" }, Secrets: secrets,
			Grace: 20 * time.Second,
			startChild: func(_ context.Context, c supervise.Command, _ confine.Policy) (child, error) {
				return play(script, c.Stderr), nil
			},
		},
		Playbook: pb, Unit: plan.Units[0], Dirs: dirs,
		Profile: agent.Profile{Kind: "test", ClientFiles: true, ClientTerminals: true},
		Launch:  agent.Launch{Command: "test-agent", Endpoint: "scripted"},
		Log:     NewLog(secrets, plan.Units[0].ID(), io.Discard, time.Now),
	}
	return c
}

// played is an agent that is a goroutine.
type played struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

// play starts an agent.
func play(script scripted.Script, stderr io.Writer) child {
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	p := &played{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = scripted.Run(ctx, script, in, out, stderr)
		in.Close() // as the end of a process does
		out.Close()
	}()
	return child{p, stdin, stdout}
}

func (p *played) Done() <-chan struct{} { return p.done }

func (p *played) Wait() (supervise.Exit, error) {
	<-p.done
	if exit, ok := errors.AsType[*scripted.ExitError](p.err); ok {
		return supervise.Exit{Code: exit.Code}, nil
	}
	return supervise.Exit{}, nil
}

func (p *played) Kill() (supervise.Exit, error) {
	p.cancel()
	return p.Wait()
}

func (p *played) Stop(context.Context) (supervise.Exit, error) { return p.Kill() }

type acts = []scripted.Action

func sleep(d time.Duration) scripted.Action { return scripted.Action{Sleep: scripted.Sleep(d)} }

func say(text string) scripted.Action { return scripted.Action{Say: &scripted.Say{Text: text}} }

func tool(name string, do ...scripted.Action) scripted.Action {
	return scripted.Action{Tool: &scripted.Tool{Name: name, Title: name, Do: do}}
}

func asking(name string) scripted.Action {
	return scripted.Action{Tool: &scripted.Tool{Name: name, Title: name, Ask: &scripted.Ask{}}}
}

func read(path string) scripted.Action {
	return scripted.Action{Read: &scripted.Read{Path: path, Optional: true}}
}

// script is that of an agent that answers one prompt after another by these actions.
func script(turns ...acts) scripted.Script {
	var s scripted.Script
	for _, actions := range turns {
		s.Turns = append(s.Turns, scripted.Turn{Actions: actions})
	}
	return s
}

// outcome is what a session came to: the first error, and the session if it began.
type outcome struct {
	err     error
	session *Session
	took    time.Duration // by the bubble's clock
}

// hold holds a session to its end.
func hold(ctx context.Context, c Config, prompts ...string) outcome {
	start := time.Now()
	s, err := Start(ctx, c)
	if err != nil {
		return outcome{err: err, took: time.Since(start)}
	}
	err = s.Ask(ctx, prompts)
	took := time.Since(start)
	return outcome{errors.Join(err, s.Close(context.WithoutCancel(ctx))), s, took}
}

// stops are the reasons why the session's turns ended.
func (o outcome) stops() string { return strings.Join(o.session.Run().StopReasons(), " ") }

// TestChanges holds that the agent's changes belong to its turns, and those of others to none.
func TestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		write := func(path string) scripted.Action {
			return scripted.Action{DiskWrite: &scripted.DiskWrite{Path: path, Text: path}}
		}
		c := config(t, "", scripted.Script{Turns: []scripted.Turn{
			{Actions: acts{write("a")}},
			{Actions: acts{write("c")}, After: acts{sleep(time.Minute), write("d"), say("late")}},
		}})
		c.Records = true
		s, err := Start(t.Context(), c)
		require.NoError(t, err)
		require.NoError(t, s.Ask(t.Context(), []string{"one"}))
		require.NoError(t, os.WriteFile(filepath.Join(c.Dirs.Workspace, "b"), nil, 0o600), "a run step does this")
		require.NoError(t, s.Resync(t.Context()))
		require.NoError(t, s.Ask(t.Context(), []string{"two"}))
		time.Sleep(2 * time.Minute) // by the bubble's clock
		require.NoError(t, s.Close(t.Context()))
		require.NoError(t, s.Close(t.Context()), "it has ended")

		var changed []string
		for _, turn := range s.Turns() {
			var paths []string
			for _, change := range turn.Delta.Changes {
				paths = append(paths, change.Path)
			}
			changed = append(changed, strings.Join(paths, " "))
		}
		require.Equal(t, []string{"a", "c d"}, changed, "what the agent did after its last answer is the last turn's")
		require.Equal(t, "late", s.Run().Answer())
		require.Equal(t, Identity{
			Agent: trajectory.Agent{Kind: "test", Name: "fake-acp", Version: "1"}, Endpoint: "scripted", Protocol: 1,
		}, s.Identity())
	})
}

// TestReplay plays a recording of two turns.
func TestReplay(t *testing.T) {
	turn := func(prompt, stop string, more ...trajectory.Body) cassette.Turn {
		turn := cassette.Turn{Events: []trajectory.Event{{Turn: 1, Body: trajectory.Prompt{Text: prompt}}}}
		for _, b := range append(more, trajectory.Stop{Reason: stop}) {
			turn.Events = append(turn.Events, trajectory.Event{Turn: 1, Body: b})
		}
		return turn
	}
	call := []trajectory.Body{
		trajectory.Notice{Name: "progress"},
		trajectory.ToolStart{ID: "c", Name: "Bash"},
		trajectory.ToolEnd{ID: "c", Status: trajectory.Completed, Output: "ok"},
	}
	two := []cassette.Turn{turn("one", "end_turn", call...), turn("two", "end_turn")}
	tests := []struct {
		name, reason string
		more         string
		turns        []cassette.Turn
		prompts      []string
		stale        bool
		stops        string
		err          string
	}{
		{name: "all", turns: two, prompts: []string{"one", "two"}, stops: "end_turn end_turn"},
		{name: "another prompt", reason: "it was another task", turns: two, prompts: []string{"eins"}, err: "prompt 1"},
		{
			name: "another prompt of a stale one", reason: "which was allowed", turns: two,
			prompts: []string{"eins", "zwei"},
			stale:   true, stops: "end_turn end_turn",
		},
		{
			name: "one too few", reason: "the playbook asks less than it did", turns: two, prompts: []string{"one"},
			err: "prompt 2",
		},
		{
			name: "one too many", reason: "nobody knows the answer", turns: two,
			prompts: []string{"one", "two", "three"},
			err:     "prompt 3",
		},
		{
			name: "ended early", reason: "as the session did that was recorded",
			turns:   []cassette.Turn{turn("one", "refusal")},
			prompts: []string{"one", "two"}, stops: "refusal",
		},
		{
			name: "overridden", reason: "graders see another answer", turns: two, prompts: []string{"one", "two"},
			stops: "end_turn end_turn",
			more:  "cassette: {overrides: [{tool: Bash, error: disk full}]}",
		},
		{
			name: "overrides that the agent was given", reason: "they are in what it did", turns: two,
			prompts: []string{"one", "two"}, stops: "end_turn end_turn",
			more: "cassette: {level: client, overrides: [{tool: terminal/create, error: disk full}]}",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := config(t, tt.more, scripted.Script{})
			var told []int
			c.Watch = func(a Activity) { told = append(told, a.Iteration) }
			recorded := &cassette.Cassette{Path: "c.jsonl", Turns: tt.turns}
			c.Recording = Recording{Cassette: recorded, Stale: tt.stale, Next: "record it"}
			s := Replay(c)
			require.NoError(t, s.Resync(t.Context()))
			err := errors.Join(s.Ask(t.Context(), tt.prompts), s.Close(t.Context()))
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err, tt.reason)
				require.Equal(t, "record it", fault.Advice(err))
				require.NoError(t, s.Close(t.Context()), "it is told once")
				return
			}
			require.NoError(t, err, tt.reason)
			run := s.Run()
			require.Equal(t, tt.stops, strings.Join(run.StopReasons(), " "))
			for i := range run.StopReasons() {
				require.Equal(t, i+1, told[i])
			}
			require.Len(t, told, len(run.StopReasons()))
			require.NoError(t, s.CheckOverrides(), tt.reason)
			for _, c := range run.ToolCalls() {
				require.Equal(t, strings.Contains(tt.more, "{tool: Bash"), c.Output == "disk full", tt.reason)
			}
		})
	}
}
