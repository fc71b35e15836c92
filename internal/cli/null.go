package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/lint"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
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

// nullPasses has the null agent run the cases of open findings of a playbook, and returns the findings of those that it
// passes. It tells of those of which nothing is known.
func (a *App) nullPasses(
	ctx context.Context, cfg engine.Config, file string, open []lint.Finding,
) ([]lint.Finding, error) {
	if len(open) == 0 {
		return nil, nil
	}
	cfg.Mode = engine.Live
	cfg.Command = func(engine.Mode, plan.Unit) string { return "sdd-eval validate --null " + file }
	planned, err := a.loadPlan(cfg, a.path(file))
	if err != nil {
		return nil, err
	}
	return lint.NullPasses(ctx, planned, cfg, open, func(line string) {
		fmt.Fprintln(a.Stderr, printable(a.secrets.String(line)))
	})
}
