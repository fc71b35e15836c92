package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/panics"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// A run can be judged anew: what the agents did is what another run keeps, and only the evaluators work again. What
// did not pass for another reason than theirs stays as it was.

// former are the results of the run that is judged anew, by unit.
type former map[string]result.Unit

// loadFormer reads the run that is to be judged anew, which must be one of the same units and prompts.
func (r *Runner) loadFormer() (units former, jobs []result.Job, err error) {
	of := r.cfg.Keep.Rejudged
	m := of.Manifest()
	if m.State != rundir.StateFinished {
		return nil, nil, fault.Advise(fmt.Errorf("the run %s has not finished", m.RunID),
			"sdd-eval run --resume "+m.RunID)
	}
	if err := r.checkFormer(m); err != nil {
		return nil, nil, fault.Advise(err, "sdd-eval run "+r.pb.File)
	}
	list, unitsErr := of.Units()
	jobs, jobsErr := of.Jobs()
	units = make(former, len(list))
	for _, u := range list {
		if u.Replayed {
			return nil, nil, fault.Advise(
				fmt.Errorf("%s was replayed in the run %s, and each replay judges anew", u.ID, m.RunID),
				"sdd-eval run --again "+m.RunID)
		}
		units[u.ID] = u
	}
	return units, jobs, errors.Join(unitsErr, jobsErr)
}

// checkFormer returns an error if agents were asked something else in a run than the plan asks.
func (r *Runner) checkFormer(m rundir.Manifest) error {
	now := rundir.ManifestOf(r.plan)
	if now.Trials != m.Trials {
		return fmt.Errorf("%s has %d trials, and the run %s %d", r.pb.File, now.Trials, m.RunID, m.Trials)
	}
	for _, id := range m.Units {
		if !slices.Contains(now.Units, id) {
			return fmt.Errorf("%s no longer has the unit %s of the run %s", r.pb.File, id, m.RunID)
		}
	}
	for _, c := range m.Cases {
		i := slices.IndexFunc(now.Cases, func(n rundir.Case) bool { return n.ID == c.ID })
		for _, what := range []string{"prompts", "files"} {
			if now.Cases[i].Digests[what] != c.Digests[what] {
				return fmt.Errorf("the %s of the case %s are no longer those of the run %s, which answers others", what,
					c.ID, m.RunID)
			}
		}
	}
	return nil
}

// describeFormer has a manifest say what the agents of the run that is judged anew were, and what they were asked.
func (r *run) describeFormer(m *rundir.Manifest) {
	of := r.cfg.Keep.Rejudged.Manifest()
	m.Rejudged, m.Mode, m.Sandbox, m.Variants = of.RunID, of.Mode, of.Sandbox, of.Variants
	for i, c := range m.Cases {
		was := of.Cases[slices.IndexFunc(of.Cases, func(o rundir.Case) bool { return o.ID == c.ID })]
		digests := maps.Clone(c.Digests)
		if digest := was.Digests["workspace"]; digest != "" {
			digests["workspace"] = digest
		} else {
			delete(digests, "workspace")
		}
		m.Cases[i].Digests = digests
	}
}

// keepFormerJobs keeps how the jobs ended that are not carried out again: all but those that make reports.
func (r *run) keepFormerJobs(jobs []result.Job) error {
	for _, j := range jobs {
		i := slices.IndexFunc(r.plan.Jobs, func(p plan.Job) bool { return p.ID == j.ID })
		if i < 0 || reports(r.plan.Jobs[i]) {
			continue
		}
		if err := r.kept.AppendJob(j); err != nil {
			return err
		}
		r.jobs = append(r.jobs, j)
	}
	return nil
}

// rejudge returns the result of a unit of the run that is judged anew.
func (r *Runner) rejudge(ctx context.Context, u plan.Unit, log io.Writer) result.Unit {
	was, of := r.former[u.ID()], r.cfg.Keep.Rejudged.ID()
	res := was
	res.Evaluations, res.ExpectStop, res.ExpectedAt = nil, u.ExpectStop, newUnit(u, was.Started, nil).ExpectedAt
	if res.Recording == "" { // so that a comparison knows whose session it is
		res.Recording = of + " " + u.ID()
	}
	a := r.newAttempt(u, replays, log, res)
	err := panics.Catch(func() error { return a.rejudge(ctx, was) })
	if err != nil {
		a.result.Outcome, a.result.Reason, a.result.Next = result.Error, err.Error(), fault.Advice(err)
	}
	r.redact(&a.result)
	r.noteUnit(u, a.result.Outcome)
	return a.result
}

// rejudge judges what the unit came to.
func (a *attempt) rejudge(ctx context.Context, was result.Unit) error {
	of := a.cfg.Keep.Rejudged
	dirs, err := a.kept.MakeUnitDirs(a.unit.Case.ID, a.unit.Variant.ID, a.unit.Trial)
	if err != nil {
		return err
	}
	a.site.runDirs = &dirs
	if err := a.site.open(ctx, false); err != nil {
		return err
	}
	kept := of.UnitDirs(a.unit.Case.ID, a.unit.Variant.ID, a.unit.Trial)
	if a.result.Run, err = readRun(of, kept); err != nil {
		return err
	}
	hasFiles, err := copyKept(ctx, kept.Workspace, dirs.Workspace)
	if err != nil {
		return err
	}
	if !known(was) {
		return a.keepFormer(of, kept)
	}
	noModels := a.openJudgments()
	in, err := a.formerEvidence(ctx, of, kept, hasFiles)
	if err != nil {
		return err
	}
	a.evaluate(ctx, in, noModels)
	a.result.Outcome, a.result.Reason, a.result.Next = "", "", ""
	a.result.Judge()
	if failedOtherwise := was.Outcome == result.Fail && was.Reason != "" && was.WrongEnd() == "" ||
		slices.ContainsFunc(was.Steps, func(s result.Step) bool { return s.Outcome == result.Fail }); failedOtherwise &&
		a.result.Outcome != result.Error {
		a.result.Outcome, a.result.Reason = result.Fail, was.Reason
	}
	return a.keepFormer(of, kept)
}

// known reports whether the evaluators had something to judge: else the unit stays as it is.
func known(was result.Unit) bool {
	return was.Metrics != nil && !(was.Outcome == result.Error && was.Reason != "")
}

// formerEvidence is what evaluators look at in what the run keeps.
func (a *attempt) formerEvidence(
	ctx context.Context, of *rundir.Run, kept rundir.UnitDirs, hasFiles bool,
) (evaluator.Input, error) {
	in := evaluator.Input{
		Unit: a.unit.ID(), Case: a.unit.Case, Run: a.result.Run, Metrics: a.result.Metrics,
		NoModels: a.judges().Unasked(),
	}
	if evaluatorNeeds(a.unit)&evaluator.StartsChild != 0 {
		var err error
		if in.Scripts, err = a.scripts(); err != nil {
			return in, err
		}
	}
	if hasFiles {
		in.Files, in.Workspace = workspace.OnDisk(a.site.dirs.workspace), a.site.dirs.workspace
		in.Changes = func(context.Context) (string, error) {
			text, err := of.ReadFile(kept.File(rundir.Diff), maxFormer)
			return string(text), err
		}
		in.AfterSteps = &evaluator.State{Files: in.Files, Workspace: in.Workspace, Changes: in.Changes}
		if !a.result.AsLeft {
			in.AfterSteps.Changes = func(context.Context) (string, error) {
				return "", fmt.Errorf("the run %s does not keep what steps changed", of.ID())
			}
		}
	}
	if a.judgments != nil {
		in.Models = a.judgments
	}
	return in, nil
}

// unkept says why an evaluator cannot judge from what a run keeps; empty: it can. The run keeps the workspace as it was
// in the end, and not what a command before the agent made of it.
func (a *attempt) unkept(e plan.Evaluator, in evaluator.Input) string {
	if a.former == nil {
		return ""
	}
	of := a.cfg.Keep.Rejudged.ID()
	if a.result.Masked {
		return fmt.Sprintf("keys are masked in what the run %s keeps: sdd-eval run --again %[1]s", of)
	}
	if e.Config.(evaluator.Evaluator).Needs()&evaluator.NeedsWorkspace == 0 {
		return ""
	}
	if in.Files == nil {
		return fmt.Sprintf("the run %s does not keep the workspace", of)
	}
	asked := max(0, slices.IndexFunc(a.unit.Steps, plan.Step.Prompts))
	if !a.result.AsLeft && !e.AfterSteps || does(a.unit.Steps[:asked], startsChild) {
		return fmt.Sprintf("steps have changed the workspace beside the agent, and the run %s does not keep which: "+
			"sdd-eval run --again %[1]s", of)
	}
	return ""
}

// maxFormer is how large a file of a unit may be that is read, in bytes.
const maxFormer = 1 << 30

// readRun returns what the agent of a unit did, nil if none was started.
func readRun(of *rundir.Run, kept rundir.UnitDirs) (*trajectory.Run, error) {
	data, err := of.ReadFile(kept.File(rundir.Trajectory), maxFormer)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	run := new(trajectory.Run)
	if err := json.Unmarshal(data, run); err != nil {
		return nil, fmt.Errorf("%s of the run %s: %w", kept.File(rundir.Trajectory), of.ID(), err)
	}
	return run, nil
}

// copyKept copies the workspace that a run keeps, and reports whether it keeps one.
func copyKept(ctx context.Context, from, to string) (bool, error) {
	err := workspace.CopyKept(ctx, from, to)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// keepFormer keeps what the other run keeps of the unit, so that this one needs no other.
func (a *attempt) keepFormer(of *rundir.Run, kept rundir.UnitDirs) error {
	err := a.keepRun()
	for _, name := range []string{rundir.Metrics, rundir.Changes, rundir.Diff} {
		data, readErr := of.ReadFile(kept.File(name), maxFormer)
		switch {
		case errors.Is(readErr, fs.ErrNotExist):
		case readErr != nil:
			err = errors.Join(err, readErr)
		default:
			err = errors.Join(err, a.keepFile(name, data))
		}
	}
	return err
}
