package mutate

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/judgment"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// court judges sessions of a unit. Processes are what costs: what an evaluator fails that starts none need not meet the
// others, and the steps behind the agent come to the same wherever they meet the same workspace.
type court struct {
	runner *engine.Runner
	unit   plan.Unit
	tape   *cassette.Cassette
	own    func(context.Context, plan.Unit, *cassette.Cassette) result.Unit // see [Config]; nil: the runner judges
	said   *judgment.File                                                   // what models say; nil: nothing is known

	quick plan.Unit // the unit without what is in left
	left  []string  // what a quick judgement leaves out; nil: nothing
	mu    sync.Mutex
	after map[[sha256.Size]byte][]result.Step // by what the agent left
}

func newCourt(r *engine.Runner, u plan.Unit, tape *cassette.Cassette, of Config) (c *court, err error) {
	c = &court{runner: r, unit: u, tape: tape, own: of.Judge, after: make(map[[sha256.Size]byte][]result.Step)}
	if c.own != nil {
		return c, nil
	}
	// Models that decide nothing are not asked.
	c.unit.Evaluators = slices.DeleteFunc(slices.Clone(u.Evaluators), func(e plan.Evaluator) bool { return e.Advisory })
	if !of.Thorough {
		c.quick, c.left = engine.Quick(c.unit)
	}
	c.said, err = r.Judgments(u, false)
	return c, err
}

// missed are the questions of the court that no recording answers.
func (c *court) missed() []judgment.Question {
	if c.said == nil {
		return nil
	}
	return c.said.Missed()
}

// ask has models asked about findings that are unknown, and settles these.
func (c *court) ask(ctx context.Context, findings []*Finding) (err error) {
	if c.said, err = c.runner.Judgments(c.unit, true); err != nil {
		return err
	}
	for _, f := range findings {
		f.Status, f.Reason, f.By = "", "", nil
	}
	return c.open(ctx, findings)
}

// judge settles findings.
func (c *court) judge(ctx context.Context, findings []*Finding) error {
	if len(c.left) > 0 {
		if err := together(ctx, runtime.GOMAXPROCS(0), findings, func(f *Finding) {
			res := c.runner.Recast(ctx, c.quick, c.with(f.Turns), nil, nil)
			for _, e := range res.Evaluations {
				if e.Outcome == result.Fail {
					f.By, f.Quick = append(f.By, e.Name), true
				}
			}
			if f.Quick {
				f.Status = Killed
			}
		}); err != nil {
			return err
		}
	}
	return c.open(ctx, slices.DeleteFunc(findings, func(f *Finding) bool { return f.Status != "" }))
}

// open has everything judge findings.
func (c *court) open(ctx context.Context, findings []*Finding) error {
	atOnce := runtime.GOMAXPROCS(0)
	if c.own != nil || c.runner.StartsChildrenFor(c.unit) {
		atOnce = 1
	}
	return together(ctx, atOnce, findings, func(f *Finding) { f.settle(decided(c.unit, c.whole(ctx, f.Turns))) })
}

// together does something for each finding, several at a time.
func together(ctx context.Context, atOnce int, findings []*Finding, do func(*Finding)) error {
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, f := range findings {
		group.Go(func() error {
			if ctx.Err() == nil {
				do(f)
			}
			return context.Cause(ctx)
		})
	}
	return group.Wait()
}

// with is the recording with another session.
func (c *court) with(turns []cassette.Turn) *cassette.Cassette {
	return &cassette.Cassette{Path: c.tape.Path, Sum: c.tape.Sum, Header: c.tape.Header, Turns: turns}
}

// whole has everything judge a session.
func (c *court) whole(ctx context.Context, turns []cassette.Turn) result.Unit {
	if c.own != nil {
		return c.own(ctx, c.unit, c.with(turns))
	}
	var deltas []workspace.Delta
	for _, t := range turns {
		deltas = append(deltas, t.Delta)
	}
	data, err := json.Marshal(deltas)
	if err != nil {
		return c.runner.Recast(ctx, c.unit, c.with(turns), c.said, nil)
	}
	key := sha256.Sum256(data)
	c.mu.Lock()
	after := c.after[key]
	c.mu.Unlock()
	res := c.runner.Recast(ctx, c.unit, c.with(turns), c.said, after)
	if after == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.after[key] = engine.Afterwards(c.unit, res)
	}
	return res
}

// decided returns a result without the evaluators that decide nothing: what they do not know says nothing of a mutant.
func decided(u plan.Unit, res result.Unit) result.Unit {
	if res.Reason != "" || len(res.Evaluations) != len(u.Evaluators) { // it ended before
		return res
	}
	var kept []result.Evaluation
	for i, e := range res.Evaluations {
		if !u.Evaluators[i].Advisory {
			kept = append(kept, e)
		}
	}
	res.Evaluations = kept
	if res.Outcome == result.Error || res.Outcome == result.Skip {
		res.Judge()
	}
	return res
}

// settle says what became of a mutant. An error never kills: then nothing is known, unless an evaluator failed it.
func (f *Finding) settle(res result.Unit) {
	f.Status = Survived
	for _, e := range res.Evaluations {
		switch e.Outcome {
		case result.Fail:
			f.By = append(f.By, e.Name)
		case result.Error, result.Skip:
			f.Status, f.Reason = Unknown, e.Name+": "+e.Reason
		}
	}
	for _, s := range res.Steps {
		if s.Outcome == result.Fail {
			f.By = append(f.By, "step "+s.Name)
		}
	}
	switch {
	case len(f.By) > 0:
		f.Status, f.Reason = Killed, ""
	case res.Outcome == result.Fail:
		f.Status, f.By, f.Reason = Killed, []string{"the unit's end"}, ""
	case res.Outcome != result.Pass && f.Status == Survived:
		f.Status, f.Reason = Unknown, reasonOf(res)
	case f.Status == Survived && f.Right != "":
		f.Status, f.Reason = Equivalent, f.Right
	}
}

func reasonOf(u result.Unit) string {
	if u.Reason != "" {
		return u.Reason
	}
	for _, e := range u.Evaluations {
		if e.Outcome == result.Error || e.Outcome == result.Fail || e.Outcome == result.Skip {
			return strings.TrimSuffix(e.Name+": "+e.Reason+": "+excerpt.Line(e.Detail, 300), ": ")
		}
	}
	return ""
}
