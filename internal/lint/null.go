package lint

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
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/session"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// nullScript is what the null agent does.
const nullScript = `{"repeat": true, "turns": [{}]}`

// NullPasses has the null agent run the cases of findings of a plan, which becomes its own, with one of their variants
// each, and returns the findings of those that it passes. It tells of those of which nothing is known. No model is
// asked, and nothing is kept.
func NullPasses(
	ctx context.Context, planned *plan.Plan, cfg engine.Config, open []Finding, tell func(string),
) (found []Finding, err error) {
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
	null := playbook.Agent{Kind: agent.Fake, Args: []string{script}}
	for i := range planned.Units {
		planned.Units[i].Variant.Agent, planned.Units[i].Variant.Overlay.Plugins = null, nil
	}
	for i := range planned.Playbook.Variants {
		planned.Playbook.Variants[i].Agent, planned.Playbook.Variants[i].Overlay.Plugins = null, nil
	}
	chosen := make(map[string]string) // units, by case
	for _, u := range planned.Units {
		asked := slices.ContainsFunc(open, func(f Finding) bool { return f.Where == u.Case.ID })
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
		tell(fmt.Sprintf("whether an agent that does nothing passes case %s is not known: %s", f.Where, why))
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
