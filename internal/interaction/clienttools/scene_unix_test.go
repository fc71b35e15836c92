//go:build unix

package clienttools_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/interaction"
	"github.com/sdd-eval/sdd-eval/internal/interaction/clienttools"
	"github.com/sdd-eval/sdd-eval/internal/localtools"
	"github.com/sdd-eval/sdd-eval/internal/observe"
)

// scene is the workspace of a session, and what belongs to it.
type scene struct {
	ws        string
	files     *localtools.Files
	observer  *observe.Observer
	recording *interaction.Recording // in a replay
	clienttools.Config

	mu       sync.Mutex
	diverged []error
}

// newScene makes a workspace with files.
func newScene(t testing.TB, texts map[string]string) *scene {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	s := &scene{ws: filepath.Join(base, "ws"), observer: new(observe.Observer)}
	home := filepath.Join(base, "home")
	require.NoError(t, os.Mkdir(s.ws, 0o755))
	for name, text := range texts {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(s.ws, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(s.ws, name), []byte(text), 0o644))
	}
	s.files, err = localtools.OpenFiles(s.ws, "")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.files.Close()) })
	s.Config = clienttools.Config{
		Normaliser: cassette.NewNormaliser(map[string]string{s.ws: "$WORKSPACE", home: "$HOME"}, nil,
			[]string{"turn_id"}),
		Call: s.observer.Call,
		Diverged: func(err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.diverged = append(s.diverged, err)
		},
	}
	return s
}

// client returns what really answers: it allows what is to be read.
func (s *scene) client(t testing.TB) clienttools.Client {
	t.Helper()
	terminals := localtools.NewTerminals(s.files,
		localtools.TerminalConfig{Env: []string{"PATH=/usr/bin:/bin"}, Allow: []string{"sh"}})
	t.Cleanup(func() { assert.NoError(t, terminals.Close()) })
	return clienttools.Client{Files: s.files.Handler(), Terminals: terminals.Handler(), Permission: allowReading}
}

// replay returns what answers from recorded interactions.
func (s *scene) replay(recorded []interaction.Interaction) clienttools.Client {
	s.recording = interaction.NewRecording(recorded)
	return clienttools.Replay(s.Config, s.recording, s.files)
}

// play is prompt for a turn that ends well.
func (s *scene) play(t testing.TB, client clienttools.Client, actions ...scripted.Action) cassette.Turn {
	t.Helper()
	turn, err := s.prompt(t, client, actions...)
	require.NoError(t, err)
	return turn
}

// prompt has an agent play a turn to the client, over pipes of the system, and returns what was seen of it, as a
// cassette has it. The error is the agent's.
func (s *scene) prompt(t testing.TB, client clienttools.Client, actions ...scripted.Action) (cassette.Turn, error) {
	t.Helper()
	in, toAgent, err := os.Pipe()
	require.NoError(t, err)
	fromAgent, out, err := os.Pipe()
	require.NoError(t, err)
	ended := make(chan error, 1)
	script := scripted.Script{Turns: []scripted.Turn{{Actions: actions}}}
	go func() { ended <- scripted.Run(t.Context(), script, in, out, io.Discard) }()
	c := acp.NewClient(fromAgent, toAgent, acp.ClientConfig{
		Files: client.Files, Terminals: client.Terminals, Permission: client.Permission, Tap: s.observer.Frame,
		DrainIdle: -1,
	})
	defer func() {
		_ = c.Close()
		<-c.Done()
		assert.NoError(t, <-ended)
	}()
	_, err = c.Initialize(t.Context())
	require.NoError(t, err)
	session, err := c.NewSession(t.Context(), acp.NewSessionRequest{Cwd: s.ws})
	require.NoError(t, err)
	s.Normaliser.Session(session.ID())
	_, err = session.Prompt(t.Context(), acp.TextContent{Text: "go"})
	events := s.Normaliser.Events(s.observer.Turn())
	for i := range events {
		events[i].At = 0
		if terminal, ok := events[i].Body.(trajectory.Terminal); ok {
			terminal.Duration = 0
			events[i].Body = terminal
		}
	}
	return cassette.Turn{Events: events}, err
}

// kept returns a turn as it comes back from a file.
func kept(t testing.TB, turn cassette.Turn) []cassette.Turn {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.jsonl")
	require.NoError(t, cassette.Write(disk.Tree(filepath.Dir(file)), file, &cassette.Cassette{
		Header: cassette.Header{
			Unit: "a/b/c/1", Level: cassette.LevelRun, Endpoint: "real", RecordedAt: time.Unix(0, 0).UTC(),
			Agent: trajectory.Agent{Kind: "fake-acp"},
			Fingerprints: cassette.Fingerprints{
				Kind: "fake-acp", Workspace: cassette.Files{Digest: strings.Repeat("0", 64)},
			},
		},
		Turns: []cassette.Turn{turn},
	}))
	c, err := cassette.Open(disk.Tree(filepath.Dir(file)), file)
	require.NoError(t, err)
	return c.Turns
}

// results are the outputs of the tool calls of a turn.
func results(turn cassette.Turn) []any {
	var all []any
	for _, e := range turn.Events {
		if end, ok := e.Body.(trajectory.ToolEnd); ok {
			all = append(all, end.Output)
		}
	}
	return all
}

// call is a tool call in which an agent asks its client for something.
func call(actions ...scripted.Action) scripted.Action {
	return scripted.Action{Tool: &scripted.Tool{Title: "call", Do: actions}}
}

func read(path string) scripted.Action {
	return call(scripted.Action{Read: &scripted.Read{Path: path}})
}

func write(path, text string) scripted.Action {
	return call(scripted.Action{Write: &scripted.Write{Path: path, Text: text}})
}

func run(command string) scripted.Action {
	return call(scripted.Action{Terminal: &scripted.Terminal{Command: "sh", Args: []string{"-c", command}}})
}

// ask is a tool call that needs permission.
func ask(name string, input any) scripted.Action {
	return scripted.Action{Tool: &scripted.Tool{
		Name: name, Title: name, Kind: "edit", Input: input,
		Ask: &scripted.Ask{},
	}}
}
