package clienttools

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/interaction"
	"github.com/sdd-eval/sdd-eval/internal/localtools"
	"github.com/sdd-eval/sdd-eval/internal/observe"
)

// Replay returns what answers from the recording, and makes recorded writes in files. The client's files and terminals
// must be offered to the agent if they were when it was recorded.
func Replay(c Config, recording *interaction.Recording, files *localtools.Files) Client {
	p := player{c, recording, files}
	return Client{
		Files: p, Terminals: &terminalPlayer{p, fakeTerminals{prefix: "terminal-"}}, Permission: p.decide,
		recording: recording,
	}
}

// player answers from a recording.
type player struct {
	Config
	recording *interaction.Recording
	files     *localtools.Files
}

// take returns the event with the answer to a request.
func take[T trajectory.Body](p player, r request) (answer T, err error) {
	found, err := p.recording.Take(r.tool, r.args)
	if err != nil {
		return answer, p.diverged(err)
	}
	return found.Answer.(T), nil
}

// refused returns the error that the recorded request was answered with, nil if it was served.
func (p player) refused(text string, code int) error {
	if text == "" {
		return nil
	}
	return &acp.Error{Code: observe.ErrorCode(text, code), Message: p.Normaliser.Restore(text)}
}

// refusedFile is refused for a file. That there is none, package acp says as it did when it was recorded.
func (p player) refusedFile(text string, code int) error {
	if text != "" && observe.ErrorCode(text, code) == acp.CodeResourceNotFound {
		return fs.ErrNotExist
	}
	return p.refused(text, code)
}

// ReadTextFile implements [acp.FileHandler].
func (p player) ReadTextFile(_ context.Context, r acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	was, err := take[trajectory.FileRead](p, p.requestOfRead(r))
	if err == nil {
		err = p.refusedFile(was.Error, was.ErrorCode)
	}
	if err != nil {
		return acp.ReadTextFileResponse{}, err
	}
	// The file itself has what normalising took out, and "$HOME" where that is what it says.
	if text, err := p.files.Read(r.Path, r.Line, r.Limit); err == nil && p.Normaliser.Value(text) == was.Text {
		return acp.ReadTextFileResponse{Content: text}, nil
	}
	return acp.ReadTextFileResponse{Content: p.Normaliser.Restore(was.Text)}, nil
}

// WriteTextFile implements [acp.FileHandler]. The file is written, too: the agent may look at it by other means.
func (p player) WriteTextFile(_ context.Context, r acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	was, err := take[trajectory.FileWrite](p, p.requestOfWrite(r))
	if err == nil {
		err = p.refusedFile(was.Error, was.ErrorCode)
	}
	if err != nil {
		return acp.WriteTextFileResponse{}, err
	}
	if err := p.files.Write(r.Path, r.Content); err != nil {
		return acp.WriteTextFileResponse{}, p.diverged(fmt.Errorf("replay a recorded write: %w", err))
	}
	return acp.WriteTextFileResponse{}, nil
}

// decide answers a permission request by the option that was chosen. The options of both are of the same kinds.
func (p player) decide(_ context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	asked, err := p.requestOfPermission(r)
	if err != nil {
		return acp.Cancelled(), p.diverged(err)
	}
	was, err := take[trajectory.Permission](p, asked)
	if err != nil {
		return acp.Cancelled(), err
	}
	if text, failed := strings.CutPrefix(was.Decision, "error: "); failed {
		return acp.Cancelled(), p.refused(text, 0)
	}
	chosen := slices.IndexFunc(was.Options, func(o trajectory.PermissionOption) bool { return o.ID == was.Decision })
	if chosen < 0 { // cancelled, or the turn ended before the answer
		return acp.Cancelled(), nil
	}
	return acp.Selected(r.Options[chosen].OptionID), nil
}

// terminalPlayer shows recorded terminals.
type terminalPlayer struct {
	player
	fakeTerminals
}

// Create implements [acp.TerminalHandler].
func (p *terminalPlayer) Create(_ context.Context, r acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	was, err := take[trajectory.Terminal](p.player, p.requestOfTerminal(r))
	if err == nil {
		err = p.refused(was.Error, was.ErrorCode)
	}
	if err != nil {
		return acp.CreateTerminalResponse{}, err
	}
	was.Output = p.Normaliser.Restore(was.Output)
	return acp.CreateTerminalResponse{TerminalID: p.show(was, r.OutputByteLimit)}, nil
}

// tail returns the end of a terminal's output that fits the limit, in bytes; nil: all of it.
func tail(e trajectory.Terminal, limit *int64) (text string, truncated bool) {
	if limit == nil || *limit < 0 || int64(len(e.Output)) <= *limit {
		return e.Output, e.Truncated
	}
	t := excerpt.Tail{Limit: int(*limit)}
	_, _ = t.Write([]byte(e.Output)) // never fails
	text, _ = t.Text(true)
	return text, true
}

// fakeTerminals are terminals in which nothing runs. Their methods are those of [acp.TerminalHandler], but for Create.
type fakeTerminals struct {
	prefix string // of ids

	mu    sync.Mutex
	shown int
	open  map[string]*fakeTerminal
}

// fakeTerminal is one terminal.
type fakeTerminal struct {
	output    string
	truncated bool

	ended chan struct{} // closed once exit is set
	once  sync.Once
	exit  acp.TerminalExitStatus
}

// end ends the command unless it has ended.
func (s *fakeTerminal) end(exit acp.TerminalExitStatus) {
	s.once.Do(func() {
		s.exit = exit
		close(s.ended)
	})
}

// show makes a terminal that shows what was recorded and returns its id.
func (s *fakeTerminals) show(e trajectory.Terminal, limit *int64) (id string) {
	shown := &fakeTerminal{ended: make(chan struct{})}
	shown.output, shown.truncated = tail(e, limit)
	if e.ExitCode != nil || e.Signal != "" {
		shown.end(acp.TerminalExitStatus{ExitCode: e.ExitCode, Signal: e.Signal})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = make(map[string]*fakeTerminal)
	}
	s.shown++
	id = s.prefix + strconv.Itoa(s.shown)
	s.open[id] = shown
	return id
}

// has reports whether there is a terminal with that id.
func (s *fakeTerminals) has(id string) bool {
	_, err := s.get(id)
	return err == nil
}

func (s *fakeTerminals) get(id string) (*fakeTerminal, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if shown := s.open[id]; shown != nil {
		return shown, nil
	}
	return nil, &acp.Error{
		Code:    acp.CodeResourceNotFound,
		Message: fmt.Sprintf("terminal %q: %v", id, localtools.ErrNoTerminal),
	}
}

func (s *fakeTerminals) Output(_ context.Context, r acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
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

func (s *fakeTerminals) WaitForExit(
	ctx context.Context, r acp.WaitForTerminalExitRequest,
) (acp.WaitForTerminalExitResponse, error) {
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

func (s *fakeTerminals) Kill(_ context.Context, r acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
	shown, err := s.get(r.TerminalID)
	if err == nil {
		shown.end(killed)
	}
	return acp.KillTerminalResponse{}, err
}

func (s *fakeTerminals) Release(_ context.Context, r acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
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
