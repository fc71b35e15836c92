package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/session"
)

// ask sends the unit's agent prompts; the first time it starts the session.
func (a *attempt) ask(ctx context.Context, prompts []string) error {
	if !a.prepared && (a.pb.Workspace.From != "" || len(a.unit.Case.Files) > 0) {
		return errors.New("the workspace has not been prepared: let a step use builtin:sdd-eval/workspace.prepare before")
	}
	if a.session == nil {
		if err := a.openSession(ctx); err != nil {
			return err
		}
	}
	if a.touched {
		if err := a.session.Resync(ctx); err != nil {
			return err
		}
	}
	a.touched, a.byLimit = false, false
	err := a.session.Ask(ctx, prompts)
	a.touched = err != nil // a part of a turn's changes may have been made
	return err
}

// openSession starts the unit's session, with its agent or from its cassette.
func (a *attempt) openSession(ctx context.Context) (err error) {
	c := a.sessionConfig()
	a.result.Replayed = !a.live
	if a.live {
		if err := a.checkWritable(); err != nil {
			return err
		}
	}
	if !a.records && a.cfg.Mode != Live { // the agent is answered from a recording, or is one
		if c.Recording, err = a.openRecording(); err != nil {
			return err
		}
	}
	if !a.live {
		a.session = session.Replay(c)
		return nil
	}
	a.result.SessionStarted = a.now().UTC()
	var ok bool
	if c.Profile, ok = agent.Lookup(a.unit.Variant.Agent.Kind); !ok {
		return fmt.Errorf("unknown kind of agent %q", a.unit.Variant.Agent.Kind)
	}
	if c.Launch, err = a.account(c.Profile, a.unit.Variant.Agent); err != nil {
		return err
	}
	held, err := a.held(ctx)
	if err != nil {
		return err
	}
	c.Confined = held.Kind != confine.None
	a.session, err = session.Start(ctx, c)
	return err
}

// sessionConfig is what each session of the unit is made from.
func (a *attempt) sessionConfig() session.Config {
	return session.Config{
		Host: session.Host{
			Version: Version, Start: a.start, Environ: a.cfg.Environ, Getenv: a.cfg.Getenv, TempDir: a.cfg.TempDir, Secrets: a.secrets,
			Grace: a.grace(), Watch: a.tell,
		},
		Playbook: a.pb, Unit: a.unit,
		Dirs: session.Dirs{
			Workspace: a.dirs.workspace, Base: a.dirs.base, Home: a.dirs.home, Tmp: a.dirs.tmp, Playbook: a.besidePlaybook("."),
			Check: a.dirs.pins.check,
		},
		Prepared: a.manifest, Records: a.records, Log: a.log,
	}
}

// openRecording opens the unit's cassette to replay it.
func (a *attempt) openRecording() (session.Recording, error) {
	a.result.Session = a.relCassettePath()
	next := a.cfg.Command(Record, a.unit)
	c, err := a.openCassette()
	if err != nil {
		return session.Recording{}, fault.Advise(err, next)
	}
	return session.Recording{Cassette: c, Stale: a.stale, Next: next}, nil
}

// checkSession tells what the session did not need, now that it has ended: overrides, which is an error, and the recorded
// order, which is a warning.
func (a *attempt) checkSession() error {
	if a.session == nil {
		return nil
	}
	for _, line := range a.session.Reordered() {
		a.result.Warnings = append(a.result.Warnings, "reordered: "+line)
	}
	err := a.session.CheckOverrides()
	if err == nil {
		return nil
	}
	next := "correct the override, or take it away"
	switch {
	case a.result.Session != "":
		next = "sdd-eval cassette show " + a.result.Session
	case a.place != nil:
		next = "see which calls there were in " + filepath.Join(a.place.Artifacts, rundir.Trajectory)
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
	a.result.Reason = "the agent did not ask for all that was recorded (cassette.allow_unused permits it for a tool):\n  " +
		strings.Join(unused, "\n  ")
	a.result.Next = a.cfg.Command(Record, a.unit)
}
