package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"

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

// loadFormer reads the run that is to be judged anew, which must be one of the same units, prompts, steps and jobs.
func (r *Runner) loadFormer() (units former, jobs []result.Job, err error) {
	of := r.cfg.Keep.Rejudged
	m := of.Manifest()
	if m.State != rundir.StateFinished {
		return nil, nil, fault.Advise(fmt.Errorf("the run %s has not finished", m.RunID),
			"sdd-eval run --resume "+m.RunID)
	}
	list, unitsErr := of.Units()
	jobs, jobsErr := of.Jobs()
	if err := errors.Join(unitsErr, jobsErr); err != nil {
		return nil, nil, err
	}
	if err := r.checkFormer(m, jobs); err != nil {
		return nil, nil, fault.Advise(err, "sdd-eval run "+r.pb.File)
	}
	units = make(former, len(list))
	for _, u := range list {
		if u.Replayed {
			return nil, nil, fault.Advise(
				fmt.Errorf("%s was replayed in the run %s, and each replay judges anew", u.ID, m.RunID),
				"sdd-eval run --again "+m.RunID)
		}
		units[u.ID] = u
	}
	for _, id := range m.Units {
		if _, ok := units[id]; !ok { // its line was taken out
			return nil, nil, fault.Advise(fmt.Errorf("the run %s has no result of %s", m.RunID, id),
				"sdd-eval run --resume "+m.RunID)
		}
	}
	return units, jobs, nil
}

// checkFormer returns an error if a run, whose jobs ended so, asked its agents something else than the plan, or has
// other steps or jobs.
func (r *Runner) checkFormer(m rundir.Manifest, jobs []result.Job) error {
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
		for _, id := range c.Variants {
			if was, is := variantOf(m, id), variantOf(now, id); was.Given != is.Given {
				return fmt.Errorf("%s: the variant %s is no longer given what it was in the run %s: its steps or "+
					"prompts have changed", r.plan.Trials(c.ID, id)[0].Variant.Position, id, m.RunID)
			}
		}
	}
	for _, j := range slices.Concat(r.plan.Before(), r.plan.After()) {
		if !reports(j) && !slices.ContainsFunc(jobs, func(was result.Job) bool { return was.ID == j.ID }) {
			return fmt.Errorf("%s: the run %s has no job %s", j.Position, m.RunID, j.ID)
		}
	}
	for _, id := range m.Jobs {
		if !slices.Contains(now.Jobs, id) {
			return fmt.Errorf("%s no longer has the job %s of the run %s", r.pb.File, id, m.RunID)
		}
	}
	return nil
}

// variantOf returns the variant with an id, which the manifest has.
func variantOf(m rundir.Manifest, id string) rundir.Variant {
	return m.Variants[slices.IndexFunc(m.Variants, func(v rundir.Variant) bool { return v.ID == id })]
}

// describeFormer has a manifest say what the agents of the run that is judged anew were, and what they were asked.
func (r *run) describeFormer(m *rundir.Manifest) {
	of := r.cfg.Keep.Rejudged.Manifest()
	now := m.Variants
	m.Rejudged, m.Mode, m.Sandbox, m.Variants = of.RunID, of.Mode, of.Sandbox, slices.Clone(of.Variants)
	for i, v := range m.Variants { // what they count and are called is for the playbook to say
		if j := slices.IndexFunc(now, func(n rundir.Variant) bool { return n.ID == v.ID }); j >= 0 {
			m.Variants[i].Reference, m.Variants[i].Axes = now[j].Reference, now[j].Axes
		}
	}
	m.Problems = of.Problems
	source := r.fromRoot(r.source)
	agents := func(name, _ string) bool { return ofAgents(name) || name == source }
	maps.DeleteFunc(m.Inputs, agents)
	for name, digest := range of.Inputs {
		if agents(name, digest) {
			m.Inputs[name] = digest
		}
	}
	for i, c := range m.Cases {
		was := of.Cases[slices.IndexFunc(of.Cases, func(o rundir.Case) bool { return o.ID == c.ID })]
		digests := maps.Clone(c.Digests)
		for _, of := range []string{"workspace", "added files"} {
			if digest := was.Digests[of]; digest != "" {
				digests[of] = digest
			} else {
				delete(digests, of)
			}
		}
		m.Cases[i].Digests = digests
	}
}

// keepFormerJobs keeps how the jobs ended that are not carried out again: all but those that make reports.
func (r *run) keepFormerJobs(jobs []result.Job) error {
	for _, j := range jobs {
		i := slices.IndexFunc(r.plan.Jobs, func(p plan.Job) bool { return p.ID == j.ID })
		if reports(r.plan.Jobs[i]) {
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
	res.MockRefused = false
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
	a.result.Run, err = of.ReadTrajectory(kept, maxFormer)
	switch {
	case errors.Is(err, fs.ErrNotExist) && was.Sent == 0: // no agent was started, or none was asked
	case errors.Is(err, fs.ErrNotExist):
		return fault.Advise(fmt.Errorf("the run %s does not keep what the agent did: %w", of.ID(), err),
			"sdd-eval run --again "+of.ID())
	case err != nil:
		return err
	}
	hasFiles, err := copyKept(ctx, kept.Workspace, dirs.Workspace)
	if err != nil {
		return err
	}
	if was.Reason != "" && (was.Outcome == result.Error || was.Outcome == result.Skip) { // there was nothing to judge
		return a.keepFormer(of, kept)
	}
	noModels := a.openJudgments()
	in, err := a.formerEvidence(of, kept, hasFiles)
	if err != nil {
		return err
	}
	a.evaluate(ctx, in, noModels)
	a.result.Outcome, a.result.Reason, a.result.Next = "", "", ""
	a.result.Judge()
	if failedOtherwise := was.Outcome == result.Fail && was.Reason != "" && was.WrongEnd() == "" && !was.MockRefused ||
		slices.ContainsFunc(was.Steps, func(s result.Step) bool { return s.Outcome == result.Fail }); failedOtherwise &&
		a.result.Outcome != result.Error {
		a.result.Outcome, a.result.Reason = result.Fail, was.Reason
	}
	a.refuse(in)
	return a.keepFormer(of, kept)
}

// formerEvidence is what evaluators look at in what the run keeps.
func (a *attempt) formerEvidence(of *rundir.Run, kept rundir.UnitDirs, hasFiles bool) (evaluator.Input, error) {
	in, err := a.input()
	if err != nil {
		return in, err
	}
	in.Metrics = a.result.Metrics
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
