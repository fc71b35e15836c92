package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// connect speaks with the started agent until there is a session.
func (s *live) connect(ctx context.Context, a *attempt, profile agent.Profile, launch agent.Launch) error {
	s.observer.OnCall = s.countCall
	p := policy{permissions: a.pb.Permissions, tool: s.identify, broken: s.interruptTurn}
	cfg := acp.ClientConfig{
		Info:       acp.Implementation{Name: "sdd-eval", Title: "sdd-eval", Version: version},
		Permission: p.decide,
		Tap:        s.observer.Frame, CancelGrace: a.grace() / 4,
	}
	if profile.ClientFiles {
		cfg.Files = s.files.Handler()
	}
	if profile.ClientTerminals {
		cfg.Terminals = s.terminals.Handler()
	}
	s.client = acp.NewClient(s.process.Stdout, s.process.Stdin, cfg)
	init, err := s.client.Initialize(ctx)
	if err != nil {
		return s.exited(err)
	}
	s.protocol = init.ProtocolVersion
	if init.AgentInfo != nil {
		s.agent.Name, s.agent.Version = init.AgentInfo.Name, init.AgentInfo.Version
	}
	if launch.AuthMethod != "" {
		if err := s.client.Authenticate(ctx, launch.AuthMethod); err != nil {
			return s.exited(fmt.Errorf("authenticate: %w", err))
		}
	}
	s.session, err = s.client.NewSession(ctx, acp.NewSessionRequest{Cwd: s.dirs.workspace, McpServers: []acp.McpServer{}})
	if err != nil {
		return s.exited(fmt.Errorf("open a session: %w", err))
	}
	s.normalise.Session(s.session.ID())
	return s.configure(ctx, profile)
}

// configure selects the mode and the model that the playbook asks for, or else the mode in which agents of this kind
// work unattended.
func (s *live) configure(ctx context.Context, profile agent.Profile) error {
	mode := s.unit.Variant.Agent.Mode
	if mode == "" {
		mode = offered(s.session.Modes(), profile.Modes)
	}
	if mode != "" {
		if err := s.session.SetMode(ctx, mode); err != nil {
			return err
		}
	}
	if model := s.unit.Variant.Agent.Model; model != "" {
		return s.session.SetModel(ctx, model)
	}
	return nil
}

// offered returns the first of the wanted modes that the session has.
func offered(modes *acp.SessionModeState, wanted []string) string {
	if modes == nil {
		return ""
	}
	for _, w := range wanted {
		for _, m := range modes.AvailableModes {
			if m.ID == w {
				return w
			}
		}
	}
	return ""
}

// exitWait is how long an agent that closed its output has to exit before it is ended.
const exitWait = time.Second

// exited explains an error of the connection by the end of the agent's process. What the agent itself answers, and the
// end of a context, need no such explanation.
func (s *live) exited(err error) error {
	var answer *acp.Error
	if errors.As(err, &answer) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	select {
	case <-s.process.Done():
		exit, waitErr := s.process.Wait()
		return errors.Join(fmt.Errorf("the agent ended by itself: %s", exit), waitErr)
	case <-time.After(exitWait):
		return err
	}
}

// Prompt implements [session].
func (s *live) Prompt(ctx context.Context, text string) (cassette.Turn, error) {
	ctx, cancel := context.WithDeadlineCause(ctx, s.deadline, limitReached{"timeout"})
	defer cancel()
	turn, interrupt := context.WithCancelCause(ctx)
	defer interrupt(nil)
	s.setInterrupt(interrupt)
	_, err := s.session.Prompt(turn, acp.TextContent{Text: text})
	s.setInterrupt(nil)

	if err != nil {
		s.process.Kill() // it may still be at work, and what it does now belongs to no turn
	}
	limit, isLimit := errors.AsType[limitReached](context.Cause(turn))
	switch cause := context.Cause(turn); {
	case cause != nil && !isLimit:
		return cassette.Turn{}, cause // the run was cancelled, or the agent did what the playbook declares an error
	case err != nil && !isLimit:
		return cassette.Turn{}, s.exited(err)
	}
	events := s.observer.Turn()
	if isLimit {
		events = endedBy(events, limit.name)
	}
	return s.settle(ctx, events)
}

// settle takes what the turn changed in the workspace.
func (s *live) settle(ctx context.Context, events []trajectory.Event) (cassette.Turn, error) {
	after, delta, err := workspace.Changes(context.WithoutCancel(ctx), s.dirs.workspace, s.manifest, s.maxDelta)
	if err != nil {
		return cassette.Turn{}, fmt.Errorf("see what the turn changed in the workspace: %w", err)
	}
	s.before, s.manifest = s.manifest, after
	return cassette.Turn{Events: s.normalise.Events(events), Delta: delta}, nil
}

// resync takes what others than the agent changed in the workspace: a replay makes those changes by doing the same steps
// again, and they are none of the agent's.
func (s *live) resync(ctx context.Context) error {
	after, _, err := workspace.Changes(ctx, s.dirs.workspace, s.manifest, math.MaxInt64)
	if err != nil {
		return err
	}
	s.manifest = after
	return nil
}

// lastDelta returns what the last turn changed, now that the agent is gone.
func (s *live) lastDelta(ctx context.Context) (workspace.Delta, error) {
	_, delta, err := workspace.Changes(ctx, s.dirs.workspace, s.before, s.maxDelta)
	if err != nil {
		return workspace.Delta{}, fmt.Errorf("see what the agent left in the workspace: %w", err)
	}
	return delta, nil
}

// endedBy says that a limit ended the turn, whatever the agent made of being cancelled.
func endedBy(events []trajectory.Event, limit string) []trajectory.Event {
	for i, e := range events {
		if stop, ok := e.Body.(trajectory.Stop); ok {
			stop.Reason = limit
			events[i].Body = stop
			return events
		}
	}
	stop := trajectory.Event{Turn: 1, Body: trajectory.Stop{Reason: limit}}
	if n := len(events); n > 0 {
		stop.Turn, stop.At = events[n-1].Turn, events[n-1].At
	}
	return append(events, stop)
}

func (s *live) countCall(total int) {
	if limit := s.limits.MaxToolCalls; limit > 0 && total > limit {
		s.interruptTurn(limitReached{"max_tool_calls"})
	}
}

func (s *live) setInterrupt(f context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupt = f
}

// interruptTurn ends the current turn for a reason.
func (s *live) interruptTurn(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.interrupt != nil {
		s.interrupt(why)
	}
}

// identify names the tool of a call and the files that it touches, relative to the workspace.
func (s *live) identify(u acp.ToolCallUpdate) (name string, files []string) {
	call, _ := s.observer.Call(u.ToolCallID) // the observer has seen the request before the policy is asked
	for _, l := range call.Locations {
		files = append(files, filepath.ToSlash(relative(s.dirs.workspace, l.Path)))
	}
	return call.Name, files
}

// relative returns path relative to root if it is below it, else as it is.
func relative(root, path string) string {
	if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// Agent implements [session].
func (s *live) Agent() (trajectory.Agent, string) { return s.agent, s.endpoint }

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
	if s.files != nil {
		errs = append(errs, s.files.Close())
	}
	return errors.Join(errs...)
}
