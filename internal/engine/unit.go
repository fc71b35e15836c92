package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/judgment"
	"github.com/sdd-eval/sdd-eval/internal/panics"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/session"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// Unit runs one unit. What its agent writes to stderr goes to log. Infrastructure errors are tried again as often as the
// playbook says.
func (r *Runner) Unit(ctx context.Context, u playbook.Unit, log io.Writer) result.Unit {
	start := r.now()
	if why := r.blocked(r.jobsBefore(u)); why != "" {
		res := newUnit(u, start, nil)
		res.Outcome, res.Reason = result.Skip, why
		return res
	}
	var attempts []string
	for {
		a := r.newAttempt(u, log, newUnit(u, start, attempts))
		err := panics.Catch(func() error { return a.runKept(ctx) })
		if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
			err = fmt.Errorf("%w (%w)", err, cause)
		}
		if err != nil {
			a.result.Outcome, a.result.Reason, a.result.Next = result.Error, err.Error(), Advice(err)
		}
		r.redact(&a.result)
		a.result.Duration = result.Duration(r.now().Sub(start))
		if !fault.IsTransient(err) || len(attempts) >= r.pb.Retries || ctx.Err() != nil {
			r.noteUnit(u, a.result.Outcome)
			return a.result
		}
		attempts = append(attempts, a.result.Reason)
	}
}

// newUnit returns the result of a unit that began at start.
func newUnit(u playbook.Unit, start time.Time, attempts []string) result.Unit {
	return result.Unit{
		ID: u.ID(), Case: u.Case.ID, Variant: u.Variant.ID, Trial: u.Trial, Started: start.UTC(), Attempts: attempts,
	}
}

// attempt is one try at a unit.
type attempt struct {
	*Runner
	unit         playbook.Unit
	log          *session.Log
	result       result.Unit
	live         bool // the session is with an agent, not from a cassette
	records      bool // a cassette of it is written
	cassettePath string
	place        *rundir.Place // where the unit is kept; nil: nowhere

	dirs     unitDirs
	prepared bool
	manifest workspace.Manifest // of the prepared workspace
	baseline workspace.Baseline
	session  *session.Session // nil: not begun
	metrics  *result.Metrics  // of what was done; nil: not measured yet
	// judgments are what models say of the unit; nil: none is asked.
	judgments *judgment.File
	rehearses bool // it replays what another attempt recorded, to compare
	imported  bool // the replayed session was not recorded: what it left in the workspace is unknown
	stale     bool // the cassette is, and was allowed
	byLimit   bool // a loop used all its iterations
	// touched tells that something else than whole turns of the agent may have changed the workspace since the last of them.
	touched bool
}

func (r *Runner) newAttempt(u playbook.Unit, log io.Writer, res result.Unit) *attempt {
	a := &attempt{Runner: r, unit: u, result: res, log: session.NewLog(r.secrets, u.ID(), log, r.now)}
	a.cassettePath = r.CassettePath(u)
	a.records = a.cfg.Mode == Record || a.cfg.Mode == Missing && !cassette.Exists(a.cassettePath)
	a.live = a.records || a.cfg.Mode == Live || a.pb.Cassette.Level.RunsAgent()
	return a
}

// runKept is run for a unit that is kept, if there is a place for it.
func (a *attempt) runKept(ctx context.Context) error {
	if a.kept == nil {
		return a.run(ctx)
	}
	place, err := a.kept.MakePlace(a.unit.Case.ID, a.unit.Variant.ID, a.unit.Trial)
	if err != nil {
		return err
	}
	a.place = &place
	if err := a.log.Open(place.Logs); err != nil {
		return err
	}
	return errors.Join(a.run(ctx), a.log.Close(a.dirs.pins.check))
}

// run returns an error if nothing is known about the agent.
func (a *attempt) run(ctx context.Context) (err error) {
	if reason, err := a.missingPrograms(); err != nil {
		return err
	} else if reason != "" {
		a.result.Outcome, a.result.Reason = result.Skip, reason
		return nil
	}
	if a.records || a.cfg.Mode == Live { // an agent that could not be judged had better not run
		if err := a.openJudgments(); err != nil {
			return err
		}
	}
	if err := a.openDirs(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.dirs.remove()) }()
	failed, err := a.steps(ctx)
	err = errors.Join(err, a.setRun())
	if err == nil {
		err = a.checkSession()
	}
	if replaced := a.dirs.pins.check(); replaced != nil {
		if _, told := errors.AsType[replacedError](err); !told {
			err = errors.Join(err, replaced)
		}
		return err // what stands there now is none of ours, to read or to write
	}
	err = errors.Join(err, a.sweep(ctx))
	if err == nil { // evaluators cut what they quote, and half a secret could not be masked
		err = a.judge(ctx, failed)
	}
	a.failOnUnusedAnswers()
	if err == nil {
		err = a.save(ctx)
	}
	return errors.Join(err, a.keep(ctx))
}

// openDirs makes the unit's directories, unless everything can be told from the cassette.
func (a *attempt) openDirs() error {
	if !a.live && !a.needsWorkspace(a.unit) {
		return nil
	}
	var err error
	a.dirs, err = makeUnitDirs(a.cfg.TempDir, a.live, a.place)
	return err
}

// steps runs the unit's steps until one does not pass. The session ends with the last step that speaks with the agent, so
// that nothing but later steps changes what the agent left.
func (a *attempt) steps(ctx context.Context) (failed bool, err error) {
	defer func() { err = errors.Join(err, a.endSession(ctx)) }()
	last := -1
	for i, step := range a.unit.Steps {
		if step.Prompts() {
			last = i
		}
	}
	for i, step := range a.unit.Steps {
		if failed {
			a.result.Steps = append(a.result.Steps, skipped(step))
			continue
		}
		s, err := a.runUnitStep(ctx, step)
		a.result.Steps = append(a.result.Steps, s)
		if err == nil && i == last {
			err = a.endSession(ctx)
		}
		if err != nil {
			return false, err
		}
		failed = s.Outcome == result.Fail
	}
	return failed, nil
}

// endSession ends the session, if there is one.
func (a *attempt) endSession(ctx context.Context) error {
	if a.session == nil {
		return nil
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.grace()/2)
	defer cancel()
	return a.session.Close(end)
}

// setRun puts the turns together.
func (a *attempt) setRun() error {
	if a.session == nil {
		return nil
	}
	run := a.session.Run()
	a.result.Endpoint = a.session.Identity().Endpoint
	if stops := run.StopReasons(); len(stops) > 0 {
		a.result.Stop = stops[len(stops)-1]
	}
	if a.byLimit && a.result.Stop == result.StopEndTurn {
		a.result.Stop = result.StopByLimit
	}
	a.result.Run = run
	if !a.live { // no cassette is written of what shows a secret
		return nil
	}
	var err error
	a.result.Run, err = a.masked(run)
	return err
}
