package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/judgment"
	"github.com/sdd-eval/sdd-eval/internal/panics"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/session"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/testrun"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// Unit runs one unit. What its agent writes to stderr goes to log. Infrastructure errors are tried again as often as
// the playbook says.
func (r *Runner) Unit(ctx context.Context, u plan.Unit, log io.Writer) result.Unit {
	start := r.now()
	if why := r.blocked(r.jobsBefore(u)); why != "" {
		res := newUnit(u, start, nil)
		res.Outcome, res.Reason = result.Skip, why
		return res
	}
	if r.former != nil {
		return r.rejudge(ctx, u, log)
	}
	var attempts []string
	limits := 0 // attempts that met a rate limit
	for {
		if !r.awaitLimit(ctx, u, log) {
			res := newUnit(u, start, attempts)
			res.Outcome, res.Reason, res.Interrupted = result.Error, "the unit was not run: rate limit", true
			return res
		}
		a := r.newAttempt(u, r.roleOf(u), log, newUnit(u, start, attempts))
		err := panics.Catch(func() error { return a.runKept(ctx) })
		if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
			err = fmt.Errorf("%w (%w)", err, cause)
		}
		if a.result.Metrics == nil && a.session != nil {
			a.result.Metrics = a.measure(err)
		}
		err = r.adviseLimit(err)
		if err != nil {
			a.result.Outcome, a.result.Reason, a.result.Next = result.Error, err.Error(), fault.Advice(err)
		}
		if r.failsBy(err) {
			a.result.Outcome = result.Fail
		}
		r.redact(&a.result)
		r.bill.add(paid(a.result))
		a.result.Duration = result.Duration(r.now().Sub(start))
		limited := r.patience != nil && fault.IsRateLimit(err) && ctx.Err() == nil
		again := limited || fault.IsTransient(err) && len(attempts)-limits < r.pb.Retries && ctx.Err() == nil
		if limited {
			limits++
			r.patience.met(accountOf(u), a.result.Reason, time.Now())
		} else {
			r.patience.progress(accountOf(u))
		}
		if again && !limited {
			if err := r.pause(ctx, u, len(attempts)+1, a.result.Reason, log); err != nil {
				again = false
				a.result.Reason += fmt.Sprintf(" (%v)", err)
			}
		}
		if again {
			if err := r.budget.again(a.result); err != nil {
				again = false
				a.result.Reason += fmt.Sprintf(" (%v)", err)
			}
		}
		if !again {
			r.noteUnit(u, a.result.Outcome)
			return a.result
		}
		attempts = append(attempts, a.result.Reason)
	}
}

// newUnit returns the result of a unit that began at start.
func newUnit(u plan.Unit, start time.Time, attempts []string) result.Unit {
	ending := result.Ending{ExpectStop: u.ExpectStop}
	if len(u.ExpectStop) > 0 {
		ending.ExpectedAt = u.ExpectedAt.String()
	}
	return result.Unit{
		ID: u.ID(), Case: u.Case.ID, Variant: u.Variant.ID, Trial: u.Trial, Started: start.UTC(), Attempts: attempts,
		Reference: u.Variant.Reference, Ending: ending,
	}
}

// role is what stands for the agent in an attempt.
type role int

const (
	replays   role = iota // the unit's cassette
	rehearses             // what another attempt has recorded, before it becomes the unit's cassette
	answered              // the agent, which is answered from the unit's cassette
	lives                 // the agent
	records               // the agent, and a cassette is made of it
	judges                // an agent that judges other units, and is offered nothing
)

func (r role) runsAgent() bool { return r == answered || r == lives || r == records || r == judges }
func (r role) needsTape() bool { return r == answered || r == replays || r == rehearses }

// roleOf returns what stands for the unit's agent.
func (r *Runner) roleOf(u plan.Unit) role {
	renews := r.cfg.Renew != nil && r.cfg.Renew(u)
	switch mode := r.cfg.Mode; {
	case mode == Record, mode == Missing && (renews || !cassette.Exists(r.CassettePath(u))):
		return records
	case mode == Live:
		return lives
	case r.pb.Cassette.Level.RunsAgent():
		return answered
	}
	return replays
}

// attempt is one try at a unit.
type attempt struct {
	*Runner
	unit    plan.Unit
	role    role
	log     *session.Log
	result  result.Unit
	site    site
	tape    tape
	session *session.Session // nil: not begun
	// judgments are what models say of the unit; nil: none is asked.
	judgments *judgment.File
	children  children
	given     []string // keys in what the agent began with
	// after is what steps behind those of the unit came to, if that is known.
	after []result.Step
}

// children are the processes that were started for an attempt.
type children struct {
	mu  sync.Mutex
	all []*supervise.Process
}

// start is [Runner.start] for a child of the unit.
func (a *attempt) start(ctx context.Context, c supervise.Command, p confine.Policy) (*supervise.Process, error) {
	process, err := a.Runner.start(ctx, c, p)
	if err == nil {
		a.children.mu.Lock()
		defer a.children.mu.Unlock()
		a.children.all = append(a.children.all, process)
	}
	return process, err
}

func (r *Runner) newAttempt(u plan.Unit, is role, notes io.Writer, res result.Unit) *attempt {
	log := session.NewLog(r.secrets, u.ID(), notes, r.now)
	return &attempt{
		Runner: r, unit: u, role: is, log: log, result: res,
		site: site{Runner: r, unit: u, log: log},
		tape: tape{Runner: r, unit: u, path: r.CassettePath(u), tree: r.tree()},
	}
}

// runKept is run for a unit that is kept, if there is a runDirs for it.
func (a *attempt) runKept(ctx context.Context) (err error) {
	if a.kept == nil {
		return a.run(ctx)
	}
	runDirs, err := a.kept.MakeUnitDirs(a.unit.Case.ID, a.unit.Variant.ID, a.unit.Trial)
	if err != nil {
		return err
	}
	a.site.runDirs = &runDirs
	a.starters.leave(runDirs.Workspace, nil)
	a.log.Keep(func() (string, error) { return runDirs.Logs, a.kept.MakeLogs(runDirs) })
	defer func() { err = errors.Join(err, a.log.Close(a.site.dirs.pins.check)) }() // also where run panics
	return a.run(ctx)
}

// run returns an error if nothing is known about the agent.
func (a *attempt) run(ctx context.Context) (err error) {
	if reason, err := a.missingPrograms(); err != nil {
		return err
	} else if reason != "" {
		a.result.Outcome, a.result.Reason = result.Skip, reason
		return nil
	}
	if !a.role.needsTape() { // an agent that could not be judged had better not run
		if err := a.openJudgments(); err != nil {
			return err
		}
	}
	if err := a.openDirs(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.site.dirs.remove()) }()
	failed, err := a.steps(ctx)
	if err == nil && a.after != nil {
		failed = a.addAfter(failed)
	}
	err = errors.Join(err, a.setRun())
	if err == nil {
		err = a.checkSession()
	}
	if replaced := a.site.dirs.pins.check(); replaced != nil {
		if _, reported := errors.AsType[replacedError](err); !reported {
			err = errors.Join(err, replaced)
		}
		return err // what stands there now is none of ours, to read or to write
	}
	err = errors.Join(err, a.sweep(ctx))
	a.warnOfSuspects()
	if err == nil { // evaluators cut what they quote, and half a secret could not be masked
		err = a.judge(ctx, failed)
	}
	a.failOnUnusedAnswers()
	if err == nil {
		err = a.save(ctx)
	}
	return errors.Join(err, a.keep(ctx, err), a.maskKeys(ctx), a.site.handOver(ctx))
}

// openDirs makes the unit's directories, unless everything can be told from the cassette.
func (a *attempt) openDirs(ctx context.Context) error {
	if a.role.runsAgent() || a.needsDir() {
		return errors.Join(a.site.open(ctx, a.role.runsAgent()), a.log.Open())
	}
	a.site.lay(workspace.EmptyOverlay())
	return nil
}

// steps runs the unit's steps until one does not pass. The session ends with the last step that speaks with the agent,
// so that nothing but later steps changes what the agent left.
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
			if err == nil && a.session != nil {
				err = a.site.end(ctx, a.unit.Steps[i+1:], a.session.Turns())
			}
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
	limit := a.grace() / 2
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	err := a.session.Close(end)
	if err != nil && end.Err() != nil {
		return fault.Advise(
			fmt.Errorf("%w: ending the agent and reading what it left took longer than %v", err, limit),
			fmt.Sprintf("if the agent leaves many files, write `cassette: {exclude: [...]}` in %s with globs of what "+
				"no evaluator looks at", a.pb.File))
	}
	return err
}

// setRun puts the turns together.
func (a *attempt) setRun() error {
	if a.session == nil {
		return nil
	}
	run := a.session.Run()
	a.result.Endpoint, a.result.Modes = a.session.Identity().Endpoint, run.Agent.Modes
	a.result.Warnings = append(a.result.Warnings, a.session.Warnings()...)
	if stops := run.StopReasons(); len(stops) > 0 {
		if last := stops[len(stops)-1]; last != result.StopEndTurn || a.result.Stop == "" {
			a.result.Stop = last
		}
		a.result.Sent = len(stops)
		a.result.Unsent = max(0, a.unit.MustSend()-len(stops))
	}
	a.result.Run = run
	if !a.role.runsAgent() { // no cassette is written of what shows a secret
		return nil
	}
	var err error
	a.result.Run, err = a.masked(run)
	return err
}

// ask sends the unit's agent prompts; the first time it starts the session.
func (a *attempt) ask(ctx context.Context, prompts []string) error {
	given := a.pb.Workspace.Named() || a.unit.Case.LaysFiles() || a.unit.Variant.LaysFiles()
	if given && !a.site.prepared {
		return errors.New(
			"the workspace has not been prepared: let a step use builtin:sdd-eval/workspace.prepare before")
	}
	if a.session == nil {
		if err := a.site.begin(ctx); err != nil {
			return err
		}
		if a.role.runsAgent() {
			if err := a.noteGiven(ctx); err != nil {
				return err
			}
		}
		if err := a.openSession(ctx); err != nil {
			return err
		}
	}
	if a.site.touched {
		if err := a.session.Resync(ctx); err != nil {
			return err
		}
	}
	a.site.touched, a.result.Stop = false, ""
	err := a.session.Ask(ctx, prompts)
	a.site.touched = err != nil // a part of a turn's changes may have been made
	return err
}

// openSession starts the unit's session, with its agent or from its cassette.
func (a *attempt) openSession(ctx context.Context) (err error) {
	c := a.sessionConfig()
	if a.role == records {
		if err := a.tape.checkWritable(); err != nil {
			return err
		}
	}
	a.result.Replayed = !a.role.runsAgent()
	if a.role.needsTape() {
		if c.Recording, err = a.openRecording(); err != nil {
			return err
		}
	}
	if !a.role.runsAgent() {
		if a.site.overlay != nil && a.site.observed() {
			if c.Recording.Cassette.Large() {
				if err := a.site.materialise(ctx); err != nil {
					return err
				}
			}
			c.Recording.Apply = func(d workspace.Delta) error { return a.site.apply(ctx, d) }
		}
		a.session = session.Replay(c)
		return nil
	}
	a.result.SessionStarted = a.now().UTC()
	var ok bool
	if c.Profile, ok = agent.Lookup(a.unit.Variant.Agent.Kind); !ok {
		return fmt.Errorf("unknown kind of agent %q", a.unit.Variant.Agent.Kind)
	}
	if a.role == judges {
		c.Profile.ClientFiles, c.Profile.ClientTerminals = false, false
	}
	if c.Launch, err = a.account(c.Profile, a.unit.Variant.Agent); err != nil {
		return err
	}
	if err := a.findPrograms(&c); err != nil {
		return err
	}
	properties, err := a.properties(ctx)
	if err != nil {
		return err
	}
	c.Confined, c.Dirs.Seen = properties.ConfinesFiles(), properties.Seen(c.Dirs.Workspace)
	a.session, err = session.Start(ctx, c)
	return err
}

// sessionConfig is what each session of the unit is made from.
func (a *attempt) sessionConfig() session.Config {
	dirs, tell := a.site.dirs, a.tell
	if a.role == rehearses {
		tell = nil
	}
	return session.Config{
		Host: session.Host{
			Version: Version, Start: a.start, Environ: a.cfg.Environ, Getenv: a.cfg.Getenv, TempDir: a.cfg.TempDir,
			Caches:  a.caches,
			Secrets: a.secrets, Grace: a.grace(), Watch: tell,
		},
		Playbook: a.pb.For(a.unit.Variant), Unit: a.unit,
		Dirs: session.Dirs{
			Workspace: dirs.workspace, Base: dirs.base, Home: dirs.home, Tmp: dirs.tmp, Check: dirs.pins.check,
		},
		Prepared: a.site.manifest, Records: a.role == records, Exclusion: a.exclusion,
		Log: a.log,
	}
}

// openRecording opens the unit's cassette to replay it.
func (a *attempt) openRecording() (session.Recording, error) {
	a.result.Session = a.tape.name()
	next := a.cfg.Command(Record, a.unit)
	err := a.tape.open(a.site.manifest)
	a.result.Warnings = append(a.result.Warnings, a.tape.warnings...)
	if err != nil && a.tape.imported() {
		next = fmt.Sprintf("sdd-eval cassette import --force --from FORMAT --playbook %s --unit %s FILE, or %s",
			a.pb.File, a.unit.ID(), next)
	}
	if err != nil {
		return session.Recording{}, fault.Advise(err, next)
	}
	a.result.Recording = a.tape.recorded.Sum
	return session.Recording{Cassette: a.tape.recorded, Stale: a.tape.stale, Next: next}, nil
}

// checkSession tells what is wrong with a session that has ended: that the agent did unasked what is forbidden, or did
// not need an override, which are errors, or the recorded order, which is a warning.
func (a *attempt) checkSession() error {
	if a.session == nil {
		return nil
	}
	for _, line := range a.session.Reordered() {
		a.result.Warnings = append(a.result.Warnings, "reordered: "+line)
	}
	if err := a.session.CheckPermissions(); err != nil { // also of what came after the last turn
		return err
	}
	err := a.session.CheckOverrides()
	if err == nil {
		return nil
	}
	next := "correct the override, or take it away"
	switch {
	case a.result.Session != "":
		next = "sdd-eval cassette show " + a.result.Session
	case a.site.runDirs != nil:
		next = "see which calls there were in " + filepath.Join(a.site.runDirs.Artifacts, rundir.Trajectory)
	}
	return fault.Advise(err, next)
}

// failOnUnusedAnswers fails a unit that otherwise passed if its agent did not ask for all that was recorded.
func (a *attempt) failOnUnusedAnswers() {
	if a.session == nil || a.result.Outcome != result.Pass && a.result.Outcome != result.Completed {
		return
	}
	unused := a.session.Unused()
	if len(unused) == 0 {
		return
	}
	const shown = 10
	if more := len(unused) - shown; more > 1 {
		unused = append(unused[:shown], fmt.Sprintf("and %d more", more))
	}
	a.result.Outcome = result.Fail
	a.result.Reason = "the agent did not ask for all that was recorded " +
		"(cassette.allow_unused permits it for a tool):\n  " + strings.Join(unused, "\n  ")
	a.result.Next = a.cfg.Command(Record, a.unit)
}

// missingPrograms returns why the unit is skipped for want of programs; in CI that is an error, because a suite that CI
// silently skips looks like one that passes.
func (r *Runner) missingPrograms() (reason string, err error) {
	var missing []string
	for _, name := range r.pb.Requires {
		if _, err := exec.LookPath(name); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return "", nil
	}
	reason = fmt.Sprintf("%s requires %s, not found in PATH", r.pb.File, strings.Join(missing, ", "))
	if testrun.InCI(r.cfg.Getenv) {
		err = fmt.Errorf("%s; CI is set, so this is an error", reason)
		return "", fault.Advise(err, "install "+strings.Join(missing, " "))
	}
	return reason, nil
}
