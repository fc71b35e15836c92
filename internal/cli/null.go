package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/lint"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/session"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// The null agent does nothing and says nothing. What it passes tells nothing of any agent. Package lint knows that of
// cases whose judges start nothing; here the others are run.

// validateNull returns which of the open findings of a playbook the null agent confirms.
func (a *App) validateNull(
	ctx context.Context, o validateOptions, root, file string, open []lint.Finding,
) ([]lint.Finding, error) {
	cfg, err := a.runConfig(root, runOptions{mode: string(engine.Live), untrusted: o.untrusted})
	if err != nil {
		return nil, err
	}
	if cfg.Untrusted {
		return nil, errors.New("--null runs the steps and judges of a playbook, and this one is not trusted, by " +
			"--untrusted or the environment: leave out --null")
	}
	return a.nullPasses(ctx, cfg, file, open)
}

// warnNull warns of the units that a run has recorded and that the null agent passes, too. It changes no verdict.
func (a *App) warnNull(ctx context.Context, o runOptions, cfg engine.Config, done engine.Finished) {
	if cfg.Mode != engine.Record && cfg.Mode != engine.Missing || cfg.Untrusted || o.front != nil {
		return
	}
	recorded := func(f lint.Finding) bool {
		return f.Rule == "idle-passes" && slices.ContainsFunc(done.Units, func(u result.Unit) bool {
			return u.Case == f.Where && u.Outcome == result.Pass && !u.Replayed
		})
	}
	p, err := a.readPlaybook(cfg.Root, o.playbook, false)
	var found lint.Report
	if err == nil {
		found, err = a.lintPlaybook(ctx, recordingsFlags{cassettes: o.cassettes}, cfg.Root, p)
	}
	if err == nil {
		open := slices.DeleteFunc(found.Open, func(f lint.Finding) bool { return !recorded(f) })
		open, err = a.nullPasses(ctx, cfg, o.playbook, open)
		found.Findings = append(found.Findings, open...)
	}
	if err != nil {
		line := fmt.Sprintf("warning: whether an agent that does nothing passes is not known: %v", err)
		fmt.Fprintln(a.Stderr, printable(a.secrets.String(line)))
		return
	}
	for _, f := range found.Findings {
		if recorded(f) {
			fmt.Fprint(a.Stderr, "warning: ", a.findingText(f))
		}
	}
}

// nullScript is what the null agent does.
const nullScript = `{"repeat": true, "turns": [{}]}`

// nullPasses has the null agent run the cases of open findings of a playbook, with one of their variants each, and
// returns the findings of those that it passes. It tells of those of which nothing is known. No model is asked, and
// nothing is kept.
func (a *App) nullPasses(
	ctx context.Context, cfg engine.Config, file string, open []lint.Finding,
) (found []lint.Finding, err error) {
	if len(open) == 0 {
		return nil, nil
	}
	dir, err := disk.MkdirTemp("")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, disk.RemoveAll(dir)) }()
	script := filepath.Join(dir, "null.json")
	if err := os.WriteFile(script, []byte(nullScript), 0o600); err != nil {
		return nil, err
	}
	cfg.Mode, cfg.Keep, cfg.LLMJudge, cfg.RecordJudges = engine.Live, nil, false, false
	cfg.Budget, cfg.Doubt, cfg.Renew, cfg.SelectedJob = engine.Budget{}, 0, nil, func(plan.Job) bool { return false }
	cfg.Command = func(engine.Mode, plan.Unit) string { return "sdd-eval validate --null " + file }
	planned, err := a.loadPlan(cfg, a.path(file))
	if err != nil {
		return nil, err
	}
	null := playbook.Agent{Kind: agent.Fake, Args: []string{script}}
	for i := range planned.Units {
		planned.Units[i].Variant.Agent, planned.Units[i].Variant.Overlay.Plugins = null, nil
	}
	for i := range planned.Playbook.Variants {
		planned.Playbook.Variants[i].Agent, planned.Playbook.Variants[i].Overlay.Plugins = null, nil
	}
	chosen := make(map[string]string) // units, by case
	for _, u := range planned.Units {
		asked := slices.ContainsFunc(open, func(f lint.Finding) bool { return f.Where == u.Case.ID })
		if chosen[u.Case.ID] == "" && asked && (cfg.Selected == nil || cfg.Selected(u)) {
			chosen[u.Case.ID] = u.ID()
		}
	}
	cfg.Selected = func(u plan.Unit) bool { return chosen[u.Case.ID] == u.ID() }
	runner, err := engine.New(planned, cfg)
	if err != nil {
		return nil, err
	}
	sink := nullSink{ended: make(map[string]result.Unit)}
	if _, err := runner.Run(ctx, &sink); err != nil || ctx.Err() != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	for _, f := range open {
		u, ran := sink.ended[f.Where]
		is := func(o result.Outcome) int {
			return slices.IndexFunc(u.Evaluations, func(e result.Evaluation) bool {
				return e.Outcome == o && (o != result.Skip || e.Type != result.ActivationType)
			})
		}
		why := cmp.Or(u.Reason, "it did not run")
		switch {
		case chosen[f.Where] == "" || ran && u.Outcome == result.Fail || is(result.Fail) >= 0:
			continue
		case is(result.Error) >= 0:
			why = u.Evaluations[is(result.Error)].Reason
		case is(result.Skip) >= 0:
			why = u.Evaluations[is(result.Skip)].Reason
		case ran && u.Outcome == result.Pass:
			found = append(found, f)
			continue
		}
		line := fmt.Sprintf("whether an agent that does nothing passes case %s is not known: %s", f.Where, why)
		fmt.Fprintln(a.Stderr, printable(a.secrets.String(line)))
	}
	return found, nil
}

// nullSink keeps the results of a run by case.
type nullSink struct {
	mu    sync.Mutex
	ended map[string]result.Unit
}

func (s *nullSink) UnitEnds(u plan.Unit, r result.Unit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended[u.Case.ID] = r
}

func (*nullSink) Begin(int, []result.Unit, []string) {}
func (*nullSink) UnitStarts(plan.Unit) io.Writer     { return io.Discard }
func (*nullSink) JobEnds(result.Job)                 {}
func (*nullSink) Activity(session.Activity)          {}
func (*nullSink) Note(string)                        {}
