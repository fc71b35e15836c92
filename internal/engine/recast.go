package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/judgment"
	"github.com/sdd-eval/sdd-eval/internal/panics"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/session"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// A unit can be judged as if its agent had done something else than what is recorded: package mutate asks for that.

// Recording returns the unit's cassette, which must not be changed, and shows look the files that the agent began with.
// They are there until look returns. It prepares the unit's workspace and runs nothing that the playbook names.
func (r *Runner) Recording(
	ctx context.Context, u plan.Unit, look func(workspace.Files, workspace.Manifest) error,
) (c *cassette.Cassette, err error) {
	a := r.newAttempt(u, replays, io.Discard, newUnit(u, r.now(), nil))
	defer func() { err = errors.Join(err, a.site.dirs.remove()) }()
	if err := a.openDirs(ctx); err != nil {
		return nil, err
	}
	if err := a.prepareFor(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", u.ID(), err)
	}
	if err := a.tape.open(a.site.manifest); err != nil {
		return nil, fault.Advise(err, r.cfg.Command(Record, u))
	}
	return a.tape.recorded, look(a.site.files(), a.site.manifest)
}

// Judgments returns where what models say of a unit comes from: its recording, and the models themselves for what that
// does not answer, if ask says so. Nothing of that is written. Nil: nobody is asked, or nothing is recorded.
func (r *Runner) Judgments(u plan.Unit, ask bool) (*judgment.File, error) {
	j := r.judgesOf(u)
	if !evaluatorNeeds(u).Asks() || !cassette.Exists(j.Path) {
		return nil, nil
	}
	j.Mode, j.Allowed = Replay, ask
	if ask {
		c := r.cfg
		c.Secrets, c.Spent = r.secrets, r.spent
		j.Mode, j.Agents = Missing, Agents(c, r.pb.File, r.pb.Sandbox.Sandbox, io.Discard)
	}
	return j.Open()
}

// Recast judges a unit as if c were its cassette, with its steps and evaluators. Nothing is kept or recorded, and what
// models say of it comes from the unit's recording alone. Its jobs before are not waited for. After is what the steps
// behind the last prompt came to where they met the same workspace, as [Afterwards] returned it; nil: they run. Where
// what c shows is forbidden, the unit fails, and [Permissions] is who says so.
func (r *Runner) Recast(
	ctx context.Context, u plan.Unit, c *cassette.Cassette, said *judgment.File, after []result.Step,
) result.Unit {
	if after != nil {
		u.Steps = u.Steps[:asked(u)]
	}
	a := r.newAttempt(u, rehearses, io.Discard, newUnit(u, r.now(), nil))
	a.tape.recast, a.judgments, a.after = c, said, after
	if err := panics.Catch(func() error { return a.run(ctx) }); err != nil {
		a.result.Outcome, a.result.Reason, a.result.Next = result.Error, err.Error(), fault.Advice(err)
		if _, forbidden := errors.AsType[*session.ForbiddenError](err); forbidden {
			a.result.Outcome = result.Fail
			a.result.Evaluations = []result.Evaluation{
				{Name: Permissions, Outcome: result.Fail, Reason: err.Error()},
			}
		}
	}
	r.redact(&a.result)
	return a.result
}

// Permissions stands for the playbook's permissions where they, like an evaluator, say what an agent must not do.
const Permissions = "permissions"

// addAfter adds what steps came to that need not run. They only did where those before had passed.
func (a *attempt) addAfter(failed bool) bool {
	for _, s := range a.after {
		if failed {
			s = result.Step{Name: s.Name, Position: s.Position, Outcome: result.Skip, Reason: notReached}
		}
		a.result.Steps = append(a.result.Steps, s)
	}
	return failed || slices.ContainsFunc(a.after, func(s result.Step) bool { return s.Outcome == result.Fail })
}

// asked is how many steps of a unit there are up to its last prompt.
func asked(u plan.Unit) int {
	for i, s := range slices.Backward(u.Steps) {
		if s.Prompts() {
			return i + 1
		}
	}
	return len(u.Steps)
}

// Afterwards returns what the steps behind the last prompt came to in a unit's result, for units that meet the same
// workspace there; nil if there are none, or if they may come to something else or leave what evaluators look at.
func Afterwards(u plan.Unit, res result.Unit) []result.Step {
	n := asked(u)
	if n == len(u.Steps) || len(res.Steps) != len(u.Steps) ||
		slices.ContainsFunc(u.Evaluators, func(e plan.Evaluator) bool { return e.AfterSteps }) {
		return nil
	}
	for i, s := range res.Steps {
		if s.Outcome == result.Error || i < n && s.Outcome != result.Pass {
			return nil
		}
	}
	return res.Steps[n:]
}

// Quick returns the unit without what costs most and changes nothing for the rest of it: steps behind its last prompt,
// and evaluators that start processes, ask models or look at what those steps leave. Left names these; if there are
// none, the unit is whole.
func Quick(u plan.Unit) (quick plan.Unit, left []string) {
	n := asked(u)
	for _, s := range u.Steps[n:] {
		left = append(left, "step "+stepName(s))
	}
	quick = u
	quick.Steps, quick.Evaluators = u.Steps[:n], nil
	for _, e := range u.Evaluators {
		if needs := e.Config.(evaluator.Evaluator).Needs(); needs&evaluator.StartsChild != 0 || needs.Asks() ||
			e.AfterSteps {
			left = append(left, e.Name)
		} else {
			quick.Evaluators = append(quick.Evaluators, e)
		}
	}
	return quick, left
}

// StartsChildrenFor reports whether judging a replay of the unit starts processes.
func (r *Runner) StartsChildrenFor(u plan.Unit) bool { return r.startsChildren(u) }
