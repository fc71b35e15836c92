package engine_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/session"
)

// sink remembers what happens in a run.
type sink struct {
	mu    sync.Mutex
	total int
	notes []string
	units []result.Unit
	jobs  []result.Job
	doing []session.Activity
	// starts, if not nil, is called when a unit does.
	starts func(plan.Unit)
}

func (s *sink) Begin(total int, _ []result.Unit, notes []string) {
	s.total = total
	s.notes = append(s.notes, notes...)
}

func (s *sink) UnitStarts(u plan.Unit) io.Writer {
	if s.starts != nil {
		s.starts(u)
	}
	return io.Discard
}

func (s *sink) UnitEnds(_ plan.Unit, u result.Unit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.units = append(s.units, u)
}

func (s *sink) JobEnds(j result.Job) { s.jobs = append(s.jobs, j) }

func (s *sink) Activity(a session.Activity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doing = append(s.doing, a)
}

func (s *sink) Note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, text)
}

// fourTrials is a playbook with four units, whose cassettes are those of the bench.
const fourTrials = benchPlaybook + "trials: {count: 4}\n"

// recorded returns a project in which that many trials are recorded.
func recorded(t *testing.T, trials int) (root string) {
	t.Helper()
	root = t.TempDir()
	path := record(t, root, benchPlaybook)
	for trial := 2; trial <= trials; trial++ {
		c, err := cassette.Read(path)
		require.NoError(t, err)
		c.Header.Unit = fmt.Sprintf("bench/task/fake/%d", trial)
		file := strings.Replace(path, ".1.jsonl", fmt.Sprintf(".%d.jsonl", trial), 1)
		require.NoError(t, cassette.Write(disk.Tree(root), file, c))
	}
	return root
}

// TestRunParallel starts as many units at a time as are asked for, no matter by whom, and no more.
func TestRunParallel(t *testing.T) {
	tests := []struct {
		name, key, reason string
		parallel, want    int
	}{
		{name: "asked for", parallel: 3, want: 3},
		{name: "by the playbook", key: "parallel: 2\n", want: 2},
		{name: "both", key: "parallel: 2\n", parallel: 4, want: 4, reason: "the user is closer than the playbook"},
		{name: "one", parallel: 1, want: 1},
	}
	root := recorded(t, 4)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runner, _ := newRunner(t, root, fourTrials+tt.key, engine.Replay,
					func(c *engine.Config) { c.Parallel = tt.parallel })
				var mu sync.Mutex
				started, leave := 0, make(chan struct{})
				sunk := &sink{starts: func(plan.Unit) {
					mu.Lock()
					started++
					mu.Unlock()
					<-leave
				}}
				go func() {
					synctest.Wait() // until nothing can go on
					mu.Lock()
					defer mu.Unlock()
					require.Equal(t, tt.want, started, tt.reason)
					close(leave)
				}()
				_, err := runner.Run(t.Context(), sunk)
				require.NoError(t, err)
				require.Len(t, sunk.units, 4)
			})
		})
	}
}

// TestRunSelected runs what is selected, and the jobs that units build on in any case.
func TestRunSelected(t *testing.T) {
	root := recorded(t, 4)
	runner, _ := newRunner(t, root, fourTrials, engine.Replay, func(c *engine.Config) {
		c.Parallel = 1
		c.Selected = func(u plan.Unit) bool { return u.Trial%2 == 0 }
	})
	sunk := new(sink)
	_, err := runner.Run(t.Context(), sunk)
	require.NoError(t, err)
	require.Equal(t, 4, sunk.total)
	require.Equal(t, []string{"bench/task/fake/2", "bench/task/fake/4"}, idsOf(sunk.units))
}

func idsOf(units []result.Unit) (ids []string) {
	for _, u := range units {
		ids = append(ids, u.ID)
	}
	return ids
}

// TestRunSelectedAccounts asks for no account of an agent that does not run.
func TestRunSelectedAccounts(t *testing.T) {
	root := recorded(t, 1)
	text := strings.NewReplacer("{fake: {agent: {kind: fake-acp}}}",
		"{fake: {agent: {kind: fake-acp}}, other: {agent: {kind: claude-code-acp, preset: nobody}}}",
		"variant: [fake]", "variant: [fake, other]").Replace(benchPlaybook)
	runner, _ := newRunner(t, root, text, engine.Missing, func(c *engine.Config) {
		c.ConfigDir, c.Sandbox = t.TempDir(), "none"
		c.Selected = func(u plan.Unit) bool { return u.Variant.ID == "fake" }
	})
	sunk := new(sink)
	_, err := runner.Run(t.Context(), sunk)
	require.NoError(t, err)
	require.Len(t, sunk.units, 1)
	require.Equal(t, result.Pass, sunk.units[0].Outcome, sunk.units[0].Reason)
}

// TestRunInterrupted tells units that were cut short from those that failed, and keeps none of them.
func TestRunInterrupted(t *testing.T) {
	root := recorded(t, 4)
	text := strings.Replace(fourTrials, "  jobs:\n",
		"  jobs:\n    check: {needs: [eval], steps: [{run: git --version}]}\n", 1)
	runner, _ := newRunner(t, root, text, engine.Replay, func(c *engine.Config) {
		c.Parallel, c.Sandbox, c.Keep = 1, "none", &engine.Keep{Below: root}
	})
	ctx, cancel := context.WithCancel(t.Context())
	sunk := new(sink)
	sunk.starts = func(u plan.Unit) {
		if u.Trial == 2 {
			cancel()
		}
	}
	done, err := runner.Run(ctx, sunk)
	require.NoError(t, err)
	require.Equal(t, []string{"bench/task/fake/1", "bench/task/fake/2"}, idsOf(sunk.units))
	require.False(t, sunk.units[0].Interrupted)
	require.True(t, sunk.units[1].Interrupted)
	require.Equal(t, result.Error, sunk.units[1].Outcome)
	require.Equal(t, []string{"bench/task/fake/1"}, idsOf(done.Units))
	require.True(t, done.Resumable)
	require.Empty(t, done.Jobs, "nothing is known about a job whose units have not run")

	resumed, err := rundir.Resume(root, done.ID, new(secret.Set))
	require.NoError(t, err)
	runner, _ = newRunner(t, root, text, engine.Replay, func(c *engine.Config) {
		c.Sandbox, c.Keep = "none", &engine.Keep{Resumed: resumed}
	})
	sunk = new(sink)
	done, err = runner.Run(t.Context(), sunk)
	require.NoError(t, err)
	require.False(t, done.Resumable)
	ids := idsOf(sunk.units)
	slices.Sort(ids)
	require.Equal(t, []string{"bench/task/fake/2", "bench/task/fake/3", "bench/task/fake/4"}, ids)
	require.Len(t, done.Units, 4)
	require.Len(t, done.Jobs, 1)
	require.Equal(t, result.Pass, done.Jobs[0].Outcome, done.Jobs[0].Reason)
	for _, u := range done.Units {
		require.Equal(t, result.Pass, u.Outcome, u.Reason)
	}
}

// TestRunRefuses has nothing run where something has to be mended first.
func TestRunRefuses(t *testing.T) {
	tests := []struct {
		name, text, err string
		configure       func(*engine.Config)
	}{
		{
			name: "a playbook with a secret", text: benchPlaybook + "# sk-test-1234567890\n",
			err:       "bench.yaml contains the value of TOKEN: a playbook names presets, never secrets",
			configure: func(c *engine.Config) { c.Secrets.Mark("TOKEN", "sk-test-1234567890") },
		},
		{
			name: "an unknown preset", err: "preset",
			text:      strings.Replace(benchPlaybook, "kind: fake-acp", "kind: claude-code-acp, preset: nobody", 1),
			configure: func(c *engine.Config) { c.Mode = engine.Live },
		},
		{
			name: "wrong settings of traces", text: benchPlaybook, err: `OTEL_TRACES_EXPORTER: "pigeon"`,
			configure: func(c *engine.Config) {
				c.Getenv = func(name string) string {
					return map[string]string{
						"OTEL_TRACES_EXPORTER": "pigeon", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1",
					}[name]
				}
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := recorded(t, 1)
			runner, _ := newRunner(t, root, tt.text, engine.Replay, func(c *engine.Config) {
				c.Secrets, c.Keep, c.ConfigDir = new(secret.Set), &engine.Keep{Below: root}, t.TempDir()
				tt.configure(c)
			})
			sunk := new(sink)
			_, err := runner.Run(t.Context(), sunk)
			var input *engine.InputError
			require.ErrorAs(t, err, &input)
			require.ErrorContains(t, err, tt.err)
			require.Empty(t, sunk.units)
			_, err = os.Stat(filepath.Join(root, ".llman"))
			require.ErrorIs(t, err, os.ErrNotExist, "no directory was made for the run")
		})
	}
}

// TestRunPanics makes an error of a panic in an action.
func TestRunPanics(t *testing.T) {
	root := recorded(t, 1)
	text := strings.Replace(benchPlaybook, "  jobs:\n", "  jobs:\n"+
		"    report: {needs: [eval], steps: [{uses: builtin:sdd-eval/report.generate}]}\n", 1)
	require.NotEqual(t, benchPlaybook, text)
	runner, _ := newRunner(t, root, text, engine.Replay, func(c *engine.Config) {
		c.Keep = &engine.Keep{
			Below:  root,
			Report: func(context.Context, *rundir.Run, bool) error { panic("out of ink") },
		}
	})
	sunk := new(sink)
	_, err := runner.Run(t.Context(), sunk)
	require.ErrorContains(t, err, "panic: out of ink", "the reports that are made when all has ended")
	require.Len(t, sunk.jobs, 1)
	require.Equal(t, result.Error, sunk.jobs[0].Outcome)
	require.Contains(t, sunk.jobs[0].Steps[0].Reason, "panic: out of ink")
	require.Contains(t, sunk.jobs[0].Steps[0].Reason, "run_test.go:", "the stack tells where")
}

// TestActivity holds that people see what the agent does while it is recorded, and not once more when that is
// rehearsed.
func TestActivity(t *testing.T) {
	text := headlessPlaybook(t, "", "permissions: {default: allow}", "args", "args")
	runner, _ := newRunner(t, t.TempDir(), text, engine.Record, confinedBy(t, confine.None))
	sunk := new(sink)
	_, err := runner.Run(t.Context(), sunk)
	require.NoError(t, err)
	require.Equal(t, result.Completed, sunk.units[0].Outcome, sunk.units[0].Reason)
	var prompts []int
	for _, a := range sunk.doing {
		if n := len(prompts); n == 0 || prompts[n-1] != a.Iteration {
			prompts = append(prompts, a.Iteration)
		}
	}
	require.Equal(t, []int{1, 2}, prompts)
}

// TestRunSteps holds what is told of steps that run commands, and what follows from one that fails.
func TestRunSteps(t *testing.T) {
	root := recorded(t, 1)
	text := strings.Replace(benchPlaybook, "acp.prompt}]", "acp.prompt}, {run: git --version, cwd: .}, "+
		"{run: git no-such-command}, {name: after, run: git --version}]", 1)
	text = strings.Replace(text, "  jobs:\n", "  jobs:\n"+
		"    alone: {steps: [{run: git --version}]}\n"+
		"    next: {needs: [alone], steps: [{run: git no-such-command}]}\n"+
		"    late: {needs: [next], steps: [{run: git --version}]}\n"+
		"    check: {needs: [eval], steps: [{run: git --version}]}\n", 1)
	runner, _ := newRunner(t, root, text, engine.Replay, func(c *engine.Config) { c.Sandbox = "none" })
	sunk := new(sink)
	_, err := runner.Run(t.Context(), sunk)
	require.NoError(t, err)
	u := sunk.units[0]
	require.Equal(t, result.Fail, u.Outcome, u.Reason)
	var got []string
	for _, s := range u.Steps {
		got = append(got, s.Name+": "+string(s.Outcome))
	}
	require.Equal(t, []string{
		"workspace.prepare: pass", "acp.prompt: pass", "git --version: pass", "git no-such-command: fail",
		"after: skip",
	}, got)
	ran, failed := u.Steps[2], u.Steps[3]
	require.Contains(t, ran.Output, "git version ")
	require.Equal(t, "git --version", ran.Command.Command)
	require.Zero(t, *ran.Command.ExitCode)
	require.Equal(t, "git no-such-command: exit code 1", failed.Reason)
	require.Equal(t, 1, *failed.Command.ExitCode)

	var jobs []string
	for _, j := range sunk.jobs {
		jobs = append(jobs, j.ID+": "+string(j.Outcome))
		if j.Outcome == result.Pass {
			require.Contains(t, j.Steps[0].Output, "git version ")
		}
	}
	slices.Sort(jobs)
	require.Equal(t, []string{"alone: pass", "check: skip", "late: skip", "next: fail"}, jobs)
}
