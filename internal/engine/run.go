package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/panics"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/session"
	"github.com/sdd-eval/sdd-eval/internal/testrun"
	"github.com/sdd-eval/sdd-eval/internal/tracing"
)

// Sink receives what happens in a run, from several goroutines.
type Sink interface {
	// Begin is called first, when nothing keeps the run from beginning. Finished are the units that have a result from
	// before the run was resumed, of total units in all; notes are what people should know.
	Begin(total int, finished []result.Unit, notes []string)
	// UnitStarts returns what receives the notes about the unit, such as what its agent writes to standard error.
	UnitStarts(plan.Unit) io.Writer
	// UnitEnds is called for each unit that has begun. One that is Interrupted is not kept.
	UnitEnds(plan.Unit, result.Unit)
	// JobEnds is the same for jobs outside the matrix.
	JobEnds(result.Job)
	// Activity receives what agents do.
	Activity(session.Activity)
	// Note receives a line for people: a warning, or what is going on.
	Note(text string)
}

// TracingWarning is how notes begin that say why traces were not sent, which decides nothing.
const TracingWarning = "warning: tracing: "

// Finished is how a run ended. Without a directory in which the run is kept, it is the zero value.
type Finished struct {
	ID, Dir string
	// Verdict is its verdict, as in its reports.
	Verdict result.Run
	// Listed is how many units there are in all, of those that were selected.
	Listed int
	// Selected says that these are not all of the playbook, as [rundir.Manifest.Selected] does.
	Selected string
	// Resumable tells that units are left to run.
	Resumable bool
	// Units and Jobs are in listed order. What was interrupted is not among them.
	Units []result.Unit
	Jobs  []result.Job
}

// InputError is an error in what the user gave: a flag, a playbook, a preset, the environment. Nothing was run.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }
func (e *InputError) Unwrap() error { return e.Err }

// Run carries out the plan: the jobs that the units need, the units, several at a time, and the other jobs. A runner
// does that once. An [*InputError] says that nothing was run. After any other error, and after the end of ctx, what is
// known stands in the run's directory, if it is kept.
func (r *Runner) Run(ctx context.Context, sink Sink) (Finished, error) {
	run := &run{Runner: r, sink: sink}
	if err := run.open(ctx); err != nil {
		return Finished{}, errors.Join(err, run.closeDir())
	}
	err := run.carryOut(ctx)
	if warning := run.tracer.Close(); warning != nil {
		sink.Note(TracingWarning + warning.Error())
	}
	done, finishErr := run.finish(ctx, err)
	return done, errors.Join(finishErr, run.closeDir())
}

// run is one run of a plan.
type run struct {
	*Runner
	sink       Sink
	tracer     *tracing.Tracer    // nil: no traces are wanted
	properties confine.Properties // what confines agents and their code
	warning    string             // about tracing
	secrets    int                // that were known before the first unit

	instrument instrument

	// What ended before the run was resumed.
	units []result.Unit
	jobs  []result.Job
}

// open checks all that can be checked before anything runs, then makes the run's directory. What the user has to mend
// is an [*InputError].
func (r *run) open(ctx context.Context) (err error) {
	if r.cfg.Keep != nil && r.cfg.Keep.Resumed != nil {
		r.kept = r.cfg.Keep.Resumed
		if r.units, err = r.kept.Units(); err != nil {
			return &InputError{err}
		}
		if r.jobs, err = r.kept.Jobs(); err != nil {
			return &InputError{err}
		}
		if err := r.checkInputs(ctx); err != nil {
			return &InputError{err}
		}
	}
	var formerJobs []result.Job
	if r.cfg.Keep != nil {
		formerJobs = r.cfg.Keep.Before
	}
	if r.cfg.Keep != nil && r.cfg.Keep.Rejudged != nil {
		if r.former, formerJobs, err = r.loadFormer(); err != nil {
			return &InputError{err}
		}
	}
	env, err := r.check(ctx)
	if err != nil {
		return &InputError{err}
	}
	if r.cfg.Keep != nil && r.kept == nil {
		if err := r.makeDir(ctx, env); err != nil {
			return err
		}
		if err := r.keepFormerJobs(formerJobs); err != nil {
			return err
		}
	}
	r.restore(r.units, r.jobs)
	if err := r.openBudget(); err != nil {
		return err
	}
	if r.cfg.Keep == nil || r.cfg.Keep.Resumed == nil { // who resumes the run knows
		r.instrument.cases = r.cfg.Doubt
	}
	r.tell = r.sink.Activity
	traces := tracing.Config{Getenv: r.cfg.Getenv, Version: Version, Secrets: r.Runner.secrets}
	if r.kept != nil {
		traces.RunID = r.kept.ID()
	}
	r.tracer, err = tracing.Open(traces)
	if errors.Is(err, tracing.ErrNotLinked) {
		r.warning = TracingWarning + err.Error()
	} else if err != nil {
		return &InputError{err}
	}
	r.secrets = r.Runner.secrets.Len()
	return nil
}

// check resolves what the run depends on. It returns the names of the variables that agents are given, by variant.
func (r *run) check(ctx context.Context) (map[string][]string, error) {
	if err := r.checkGo(); err != nil {
		return nil, err
	}
	if err := r.checkBudget(); err != nil {
		return nil, err
	}
	env, err := r.accounts(r.units)
	if err != nil {
		return nil, err
	}
	if err := r.checkAgents(r.units); err != nil {
		return nil, err
	}
	if name, found := r.Runner.secrets.Contains(r.pb.Text); found {
		return nil, fmt.Errorf("%s contains the value of %s: a playbook names presets, never secrets", r.pb.File, name)
	}
	// The tracer that sends is opened when the run has an id; errors in the environment are reported before that.
	tracer, err := tracing.Open(tracing.Config{Getenv: r.cfg.Getenv, Secrets: new(secret.Set)})
	if err != nil && !errors.Is(err, tracing.ErrNotLinked) {
		return nil, err
	}
	_ = tracer.Close() // there was nothing to send
	r.properties, err = r.Sandbox(ctx)
	return env, err
}

// makeDir makes the run's directory. Env has the names of variables by variant.
func (r *run) makeDir(ctx context.Context, env map[string][]string) error {
	name, err := testrun.ID(r.cfg.Getenv)
	if err != nil {
		return &InputError{err}
	}
	m, err := r.describe(ctx)
	if err != nil {
		return &InputError{err}
	}
	if m.Again = r.cfg.Keep.Again; r.cfg.Keep.SelectedBy != "" {
		m.Select(r.cfg.Keep.SelectedBy, func(caseID, variant string) bool {
			return r.chosen(r.plan.Trials(caseID, variant)[0])
		})
	}
	m.CreatedAt = time.Now().UTC()
	m.RunID = rundir.NewID(m.CreatedAt, m.Name, name)
	m.Tool, m.Mode, m.Sandbox = r.cfg.Keep.Tool, string(r.cfg.Mode), r.properties.String()
	if r.oneAtATime() {
		m.Sandbox += OneAtATime
	}
	m.Playbook.Path, m.Cassettes = r.pb.File, r.cfg.Cassettes
	if b := r.Budget(); b.MaxUSD > 0 {
		m.Budget = &rundir.Budget{MaxUSD: b.MaxUSD, AssumedUSD: b.AssumedUSD}
	}
	for i, v := range m.Variants {
		m.Variants[i].Env = env[v.ID]
	}
	if r.former != nil {
		r.describeFormer(&m)
	}
	text := r.pb.Text
	if text == nil {
		text = []byte("# There is no playbook: a test in Go asked for this.\n")
	}
	r.takePart(&m, text)
	r.kept, err = rundir.Create(r.cfg.Keep.Below, m, text, r.Runner.secrets)
	return err
}

// Describe returns the manifest of the runner's selected units as far as it follows from the plan and from the files
// that this names: what a run without a directory is compared by.
func (r *Runner) Describe(ctx context.Context) (rundir.Manifest, error) {
	m, err := r.describe(ctx)
	if err != nil {
		return m, err
	}
	m.Mode = string(r.cfg.Mode)
	m.Select("-run", func(caseID, variant string) bool {
		return r.cfg.Selected == nil || r.cfg.Selected(r.plan.Trials(caseID, variant)[0])
	})
	return m, nil
}

func (r *Runner) describe(ctx context.Context) (m rundir.Manifest, err error) {
	m = rundir.ManifestOf(r.plan)
	if m.Inputs, err = r.inputs(ctx); err != nil {
		return m, err
	}
	r.addDigests(&m)
	arms, err := r.arms(ctx)
	for i, v := range m.Variants {
		m.Variants[i].Skills = r.skillsOf(arms[v.ID])
	}
	return m, err
}

// carryOut runs what has not run yet. It returns an error if a result could not be kept.
func (r *run) carryOut(ctx context.Context) error {
	r.sink.Begin(r.listed(), r.units, r.notes(ctx))
	if err := r.runJobs(ctx, r.Before(), nil); err != nil {
		return err
	}
	if err := r.runUnits(ctx); err != nil {
		return err
	}
	return r.runJobs(ctx, r.After(), r.cfg.SelectedJob)
}

// listed returns how many units the run has in all.
func (r *run) listed() int {
	if r.kept != nil {
		return len(r.kept.Manifest().Units)
	}
	if r.part != nil {
		return r.part.units
	}
	return len(r.plan.Units)
}

// notes are what people should know before the first unit.
func (r *run) notes(ctx context.Context) (notes []string) {
	note := func(text string) { notes = append(notes, text) }
	if r.warning != "" {
		note(r.warning)
	}
	if why := unsafeGo(r.cfg.GoVersion); why != "" {
		note("warning: " + why)
	}
	if r.kept != nil {
		m := r.kept.Manifest()
		if m.Rejudged != "" {
			note("judging anew what agents did in the run " + m.Rejudged)
		}
		if selected := m.Selected(); selected != "" && r.part == nil {
			note(selected)
		}
		notes = append(notes, r.kept.Notes()...)
		for _, change := range m.Accepted {
			note("accepted: " + change + " since the run began")
		}
	}
	if r.part != nil {
		note(r.part.note)
	}
	if b := r.budget.state(); b != nil {
		note(fmt.Sprintf("budget: $%.2f for the run, $%.2f are spent", b.MaxUSD, b.SpentUSD))
	}
	notes = append(notes, r.withheld...)
	notes = append(notes, r.Notes(ctx)...)
	switch {
	case r.properties.Kind == confine.None:
		note("warning: nothing confines the agents and their code (sandbox none): they run with all of your rights")
	case len(r.properties.PassedOver) > 0:
		note(fmt.Sprintf("sandbox %s; %s", r.properties, strings.Join(r.properties.PassedOver, "; ")))
	case len(r.properties.Open) > 0:
		note("sandbox " + r.properties.String())
	}
	if n := r.parallel(); n > 1 && r.oneAtATime() {
		note(fmt.Sprintf("units that start processes run one at a time, not %d: this sandbox lets them change the "+
			"modes of each other's files (bwrap does not)", n))
	}
	return notes
}

// finish says in the run's directory how the run ended, which err tells with the context.
func (r *run) finish(ctx context.Context, err error) (Finished, error) {
	if r.kept == nil {
		return Finished{}, err
	}
	m := r.kept.Manifest()
	done := Finished{ID: r.kept.ID(), Dir: r.kept.Dir(), Listed: r.listed(), Selected: m.Selected()}
	var unitsErr, jobsErr error
	done.Units, unitsErr = r.kept.Units()
	done.Jobs, jobsErr = r.kept.Jobs()
	err = errors.Join(err, unitsErr, jobsErr)
	leak := r.scrub(ctx)
	state := rundir.StateFinished
	if err != nil || ctx.Err() != nil {
		state = rundir.StateInterrupted
	}
	_, doubted := errors.AsType[*SuspectError](err)
	stopped, short := errors.AsType[*BudgetError](err)
	limit, limited := errors.AsType[*RateLimitError](err)
	if r.budget != nil {
		budget, why := *r.budget.state(), ""
		if short {
			budget.EnoughUSD, why = stopped.Enough(), stopped.Error()
		}
		err = errors.Join(err, r.kept.Spend(budget, why))
	}
	if limited {
		err = errors.Join(err, r.kept.Stop(limit.Error()))
	}
	done.Resumable = state == rundir.StateInterrupted
	switch {
	case errors.Is(leak, secret.ErrCutOff) && ctx.Err() != nil: // it is done again when the run is resumed
		r.sink.Note("the run's directory was not searched for secrets to its end: resume the run before you publish it")
		err = errors.Join(err, r.kept.Finish(state))
	case leak != nil:
		err = errors.Join(err, leak, r.kept.Finish(state, leak.Error()))
	default:
		err = errors.Join(err, r.kept.Finish(state))
	}
	done.Verdict = r.kept.Manifest().Judge(done.Units, done.Jobs)
	early := short || doubted || limited
	if report := r.cfg.Keep.Report; report != nil && (state == rundir.StateFinished || early) {
		err = errors.Join(err, panics.Catch(func() error { return report(ctx, r.kept, true) }))
	}
	return done, err
}

// Reports reports whether a job of the plan makes reports.
func (r *Runner) Reports() bool {
	return slices.ContainsFunc(slices.Concat(r.Before(), r.After()), reports)
}

// scrub masks the secrets that are in the run's directory although sdd-eval writes none: an agent that is not
// confined has put them there. That it could is an error. A run that starts nothing has none but what we wrote, and
// needs no search unless there are secrets that were not known all the time.
func (r *run) scrub(ctx context.Context) error {
	secrets := r.Runner.secrets
	if r.cfg.Keep.Resumed == nil && !r.StartsChildren() && secrets.Len() == r.secrets {
		return nil
	}
	ctx, cancel := closing(ctx, 0)
	defer cancel()
	known := r.starters.unchanged(r.kept.Dir(), secrets.Len(), r.properties)
	found, err := secrets.Scrub(ctx, r.kept.Dir(), &secret.Look{Known: known})
	if err != nil {
		err = fmt.Errorf("look for secrets in the run's directory: %w", err)
	}
	if len(found) == 0 {
		return err
	}
	places := make([]string, len(found))
	for i, f := range found {
		places[i] = f.String()
	}
	return errors.Join(err,
		fmt.Errorf("leak: the run's directory held secrets, which are masked now: %s", strings.Join(places, "; ")))
}

// closeDir gives up the run's directory.
func (r *run) closeDir() error {
	if r.kept == nil {
		return nil
	}
	return r.kept.Close()
}

// runJobs runs those of the jobs outside the matrix that are selected, nil being all, and have not run yet.
func (r *run) runJobs(ctx context.Context, jobs []plan.Job, selected func(plan.Job) bool) error {
	for _, j := range jobs {
		if ctx.Err() != nil { // what it needs may not have run: nothing is known about the job
			return nil
		}
		if r.ran(j.ID) || selected != nil && !selected(j) {
			continue
		}
		if err := r.runJob(ctx, j); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) runJob(ctx context.Context, j plan.Job) error {
	end := r.takeTurn(ctx, does(j.Steps, startsChild))
	if end == nil {
		return nil
	}
	res := r.Job(ctx, j)
	end()
	res.Interrupted = ctx.Err() != nil && res.Outcome == result.Error
	if r.kept != nil && !res.Interrupted {
		if err := r.kept.AppendJob(res); err != nil {
			return err
		}
	}
	r.sink.JobEnds(res)
	return nil
}

// runUnits runs the units in listed order, several at a time.
func (r *run) runUnits(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group errgroup.Group
	group.SetLimit(r.parallel())
	if r.oneAtATime() && !slices.ContainsFunc(r.plan.Units, func(u plan.Unit) bool { return !r.startsChildren(u) }) {
		group.SetLimit(1) // the others would only wait
	}
	ended := make(map[string]bool, len(r.units))
	for _, u := range r.units {
		ended[u.ID] = true
	}
	var notRun []plan.Unit
	for _, u := range r.plan.Units {
		if ctx.Err() != nil {
			break
		}
		if ended[u.ID()] || r.cfg.Selected != nil && !r.cfg.Selected(u) {
			continue
		}
		if r.budget != nil && r.costs(u) && !r.budget.reserve(ctx, u, r.pb.Limits.MaxCostUSD) {
			notRun = append(notRun, u)
			continue
		}
		group.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			if r.costs(u) && r.instrument.refuses(r.plan.Units) {
				r.budget.settle(result.Unit{ID: u.ID()}) // it needs nothing
				return nil
			}
			err := r.runUnit(ctx, u)
			if err != nil { // nothing that follows could be kept either
				cancel(err)
			}
			return err
		})
	}
	switch err := group.Wait(); {
	case err != nil || ctx.Err() != nil:
		return err
	case r.instrument.suspect != nil:
		return r.instrument.suspect
	}
	err := r.patience.end()
	if notRun != nil {
		err = errors.Join(err, r.overBudget(notRun))
	}
	return err
}

func (r *run) runUnit(ctx context.Context, u plan.Unit) error {
	notes := r.sink.UnitStarts(u) // which may wait
	var res result.Unit
	if end := r.takeTurn(ctx, r.startsChildren(u)); end != nil {
		res = r.Unit(ctx, u, notes)
		end()
	} else {
		res = newUnit(u, r.now(), nil)
		res.Outcome, res.Reason = result.Error, "the unit was not run: "+context.Cause(ctx).Error()
	}
	if res.Interrupted {
		r.patience.leave()
	}
	res.Interrupted = res.Interrupted || ctx.Err() != nil && res.Outcome == result.Error // nothing is known
	warnings := r.budget.settle(res)
	if !res.Interrupted {
		res.Warnings = append(res.Warnings, warnings...)
		if r.kept != nil {
			if err := r.kept.Append(res); err != nil {
				return err
			}
		}
		r.tracer.Unit(res)
		r.instrument.note(res)
	}
	r.sink.UnitEnds(u, res)
	return nil
}
