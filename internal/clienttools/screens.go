package clienttools

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/sandbox"
)

// screens are terminals in which nothing runs. Their methods are those of [acp.TerminalHandler], but for Create.
type screens struct {
	prefix string // of ids

	mu    sync.Mutex
	shown int
	open  map[string]*screen
}

// screen is one terminal.
type screen struct {
	output    string
	truncated bool

	ended chan struct{} // closed once exit is set
	once  sync.Once
	exit  acp.TerminalExitStatus
}

// end ends the command unless it has ended.
func (s *screen) end(exit acp.TerminalExitStatus) {
	s.once.Do(func() {
		s.exit = exit
		close(s.ended)
	})
}

// show makes a terminal that shows what was recorded and returns its id.
func (s *screens) show(e trajectory.Terminal, limit *int64) (id string) {
	shown := &screen{ended: make(chan struct{})}
	shown.output, shown.truncated = tail(e, limit)
	if e.ExitCode != nil || e.Signal != "" {
		shown.end(acp.TerminalExitStatus{ExitCode: e.ExitCode, Signal: e.Signal})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = make(map[string]*screen)
	}
	s.shown++
	id = s.prefix + strconv.Itoa(s.shown)
	s.open[id] = shown
	return id
}

// has reports whether there is a terminal with that id.
func (s *screens) has(id string) bool {
	_, err := s.get(id)
	return err == nil
}

func (s *screens) get(id string) (*screen, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if shown := s.open[id]; shown != nil {
		return shown, nil
	}
	return nil, &acp.Error{Code: acp.CodeResourceNotFound, Message: fmt.Sprintf("terminal %q: %v", id, sandbox.ErrNoTerminal)}
}

func (s *screens) Output(_ context.Context, r acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
	shown, err := s.get(r.TerminalID)
	if err != nil {
		return acp.TerminalOutputResponse{}, err
	}
	answer := acp.TerminalOutputResponse{Output: shown.output, Truncated: shown.truncated}
	select {
	case <-shown.ended:
		answer.ExitStatus = &shown.exit
	default:
	}
	return answer, nil
}

func (s *screens) WaitForExit(ctx context.Context, r acp.WaitForTerminalExitRequest) (acp.WaitForTerminalExitResponse, error) {
	shown, err := s.get(r.TerminalID)
	if err != nil {
		return acp.WaitForTerminalExitResponse{}, err
	}
	select {
	case <-shown.ended:
		return acp.WaitForTerminalExitResponse{ExitCode: shown.exit.ExitCode, Signal: shown.exit.Signal}, nil
	case <-ctx.Done():
		return acp.WaitForTerminalExitResponse{}, ctx.Err()
	}
}

// killed is how a command ends that is killed.
var killed = acp.TerminalExitStatus{Signal: "SIGTERM"}

func (s *screens) Kill(_ context.Context, r acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
	shown, err := s.get(r.TerminalID)
	if err == nil {
		shown.end(killed)
	}
	return acp.KillTerminalResponse{}, err
}

func (s *screens) Release(_ context.Context, r acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
	shown, err := s.get(r.TerminalID)
	if err != nil {
		return acp.ReleaseTerminalResponse{}, err
	}
	shown.end(killed)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, r.TerminalID)
	return acp.ReleaseTerminalResponse{}, nil
}
