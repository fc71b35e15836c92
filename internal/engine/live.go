package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/observe"
	"github.com/sdd-eval/sdd-eval/internal/sandbox"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// startTimeout bounds the agent's start, up to its first session.
const startTimeout = 2 * time.Minute

// live is a session with an agent's process over the Agent Client Protocol.
type live struct {
	work
	process   *supervise.Process
	client    *acp.Client
	session   *acp.Session
	files     *sandbox.Files
	terminals *sandbox.Terminals
	env       []string // of what is started for the agent: without its account
	observer  observe.Observer
}

// startLive starts the unit's agent and opens a session in its workspace.
func startLive(ctx context.Context, a *attempt, profile agent.Profile, launch agent.Launch) (*live, error) {
	s := &live{work: newWork(a, profile, launch, nil)}
	s.overdue = a.waiting
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("the agent took longer than %v to start", startTimeout))
	defer cancel()
	if err := s.start(ctx, profile, launch); err != nil {
		if broken := s.setInterrupt(nil); broken != nil {
			err = broken // what the agent says is what it made of that
		}
		if cause := context.Cause(ctx); cause != nil {
			err = fmt.Errorf("%w (%w)", err, cause)
		}
		return nil, errors.Join(err, s.Close(context.WithoutCancel(ctx)))
	}
	s.deadline = time.Now().Add(a.timeout())
	return s, nil
}

// start makes everything that the session consists of; what it made before an error, Close ends.
func (s *live) start(ctx context.Context, profile agent.Profile, launch agent.Launch) error {
	a := s.a
	if err := writeFiles(a.dirs.home, launch.Files); err != nil {
		return err
	}
	s.env = a.agentEnviron()
	var err error
	if s.files, err = sandbox.OpenFiles(a.dirs.workspace); err != nil {
		return err
	}
	s.files.OnDeny = func(d sandbox.Denied) { a.journal.denied(&d) }
	s.terminals = sandbox.NewTerminals(s.files, sandbox.TerminalConfig{
		Env: s.env, Allow: a.pb.AllowedCommands(),
		Start: func(ctx context.Context, c supervise.Command) (*supervise.Process, error) {
			return a.Runner.start(ctx, c, a.commandPolicy())
		},
	})

	policy := a.agentPolicy()
	path, args := launch.Command, append([]string{launch.Command}, launch.Args...)
	if profile.Kind == fakeKind {
		if path, args, policy.Read, err = a.fakeCommand(a.unit.Variant.Agent); err != nil {
			return err
		}
	}
	if a.pb.Cassette.Level.MCP() {
		if err := a.showRelays(&policy); err != nil {
			return err
		}
	}
	s.stderr = a.journal.stderr()
	s.process, err = a.startAgent(context.WithoutCancel(ctx), launch, supervise.Command{
		Path: path, Args: args, Env: s.env, PipeStdin: true, PipeStdout: true, Stderr: s.stderr, Grace: profile.Grace,
	}, policy)
	if err != nil {
		return err
	}
	if err := s.connect(ctx, profile, launch); err != nil {
		return fmt.Errorf("start %s: %w", launch.Command, err)
	}
	return nil
}

// Close implements [session]: it ends the agent and everything it started.
func (s *live) Close(ctx context.Context) error {
	var errs []error
	if s.client != nil {
		s.client.Close()
	}
	if s.process != nil {
		// How the agent ends once its work is done says nothing: many ignore the end of their input and have to be killed.
		// That something of it could not be ended does.
		if _, err := s.process.Stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("end the agent: %w", err))
		}
	}
	if s.stderr != nil {
		errs = append(errs, s.stderr.Close())
	}
	if s.client != nil {
		select { // handlers may be at work until then
		case <-s.client.Done():
		case <-ctx.Done():
			errs = append(errs, errors.New("the agent is gone, but its connection did not end"))
		}
	}
	if s.terminals != nil {
		errs = append(errs, s.terminals.Close())
	}
	errs = append(errs, s.a.tools.close())
	if s.files != nil {
		errs = append(errs, s.files.Close())
	}
	return errors.Join(errs...)
}
