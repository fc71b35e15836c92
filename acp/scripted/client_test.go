package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/internal/testkit/soak"
)

// The tests in this file play faults to acp.Client, which has to get over them.

// files is a workspace in memory.
type files struct {
	mu    sync.Mutex
	texts map[string]string
}

func (f *files) ReadTextFile(_ context.Context, r acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	text, ok := f.texts[r.Path]
	if !ok {
		return acp.ReadTextFileResponse{}, fs.ErrNotExist
	}
	return acp.ReadTextFileResponse{Content: text}, nil
}

func (f *files) WriteTextFile(_ context.Context, r acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.texts[r.Path] = r.Content
	return acp.WriteTextFileResponse{}, nil
}

// allow decides for the first option that allows.
func allow(_ context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	for _, o := range r.Options {
		if o.Kind == acp.AllowOnce || o.Kind == acp.AllowAlways {
			return acp.Selected(o.OptionID), nil
		}
	}
	return acp.Cancelled(), nil
}

// connect starts an agent in this process and connects a client to it. Both have ended when the test is over.
func connect(t testing.TB, s scripted.Script, cfg acp.ClientConfig) (*acp.Client, *scripted.Agent) {
	t.Helper()
	agent := scripted.Start(t.Context(), s)
	c := acp.NewClient(agent.Stdout, agent.Stdin, cfg)
	t.Cleanup(func() {
		_ = c.Close()
		<-c.Done()
		_ = agent.Wait()
	})
	return c, agent
}

// newSession initializes the connection and starts a session.
func newSession(t testing.TB, c *acp.Client) *acp.Session {
	t.Helper()
	_, err := c.Initialize(t.Context())
	require.NoError(t, err)
	s, err := c.NewSession(t.Context(), acp.NewSessionRequest{Cwd: t.TempDir()})
	require.NoError(t, err)
	return s
}

func hello() acp.ContentBlock { return acp.TextContent{Text: "hello"} }

// chunkText returns the text of a message chunk, empty for other updates.
func chunkText(n acp.SessionNotification) string {
	chunk, _ := n.Update.(acp.AgentMessageChunk)
	text, _ := chunk.Content.(acp.TextContent)
	return text.Text
}

// TestClientGetsOverFaultsOfTheTransport shows that they change nothing of what the client sees of a turn.
func TestClientGetsOverFaultsOfTheTransport(t *testing.T) {
	tests := []struct {
		name   string
		faults scripted.Faults
	}{
		{name: "one byte at a time", faults: scripted.Faults{SplitWrites: 1}},
		{name: "CRLF", faults: scripted.Faults{CRLF: true}},
		{name: "blank lines", faults: scripted.Faults{BlankLines: true}},
		{name: "garbage", faults: scripted.Faults{Garbage: `{"jsonrpc":"2.0","method":`}},
		{name: "requests with the id of the prompt", faults: scripted.Faults{RequestIDs: scripted.PromptIDs}},
		{name: "requests with strings as ids", faults: scripted.Faults{RequestIDs: scripted.StringIDs}},
		{name: "all of them", faults: scripted.Faults{
			SplitWrites: 7, CRLF: true, BlankLines: true, Garbage: "Loading…", RequestIDs: scripted.PromptIDs,
		}},
	}
	want := observe(t, scripted.Faults{})
	require.Len(t, want.updates, 12)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := observe(t, tt.faults)
			assert.Empty(t, cmp.Diff(want.updates, got.updates))
			assert.Equal(t, want.response, got.response)
			assert.Equal(t, want.written, got.written)
			assert.Equal(t, tt.faults.BlankLines, got.stats.Blank > 0)
			assert.Equal(t, tt.faults.Garbage != "", got.stats.Malformed > 0)
			assert.Zero(t, got.stats.Unmatched)
		})
	}
}

// observed is what a client saw of the turn of the built-in script.
type observed struct {
	updates  []string
	response acp.PromptResponse
	written  string
	stats    acp.Stats
}

func observe(t *testing.T, f scripted.Faults) (o observed) {
	t.Helper()
	s := scripted.Default()
	s.Faults = f
	workspace := &files{texts: make(map[string]string)}
	c, _ := connect(t, s, acp.ClientConfig{
		Files: workspace, Permission: allow, DrainIdle: -1,
		Update: func(n acp.SessionNotification) {
			text, err := json.Marshal(n)
			assert.NoError(t, err)
			o.updates = append(o.updates, string(text))
		},
	})
	_, err := c.Initialize(t.Context())
	require.NoError(t, err)
	dir := t.TempDir()
	session, err := c.NewSession(t.Context(), acp.NewSessionRequest{Cwd: dir})
	require.NoError(t, err)
	o.response, err = session.Prompt(t.Context(), hello())
	require.NoError(t, err)
	for i := range o.updates {
		o.updates[i] = strings.ReplaceAll(o.updates[i], dir, "")
	}
	for _, text := range workspace.texts {
		o.written += text
	}
	o.stats = c.Stats()
	return o
}

// heap returns how much memory is in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// process starts an agent that is a process of its own and connects a client to it. The test waits for the process with
// wait, after which the client has ended, too.
func process(t testing.TB, s scripted.Script, cfg acp.ClientConfig) (c *acp.Client, wait func() error) {
	t.Helper()
	cmd := command(t, s)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	c = acp.NewClient(stdout, stdin, cfg)
	wait = sync.OnceValue(func() error {
		_ = c.Close()
		<-c.Done()
		return cmd.Wait()
	})
	t.Cleanup(func() { _ = wait() })
	return c, wait
}

func TestClientTakesAFloodAndLosesNothing(t *testing.T) {
	const (
		updates = 100_000
		backlog = 1 << 20
		queued  = 2000 // updates take up most of the backlog
		slack   = 4 << 20
	)
	flood := turn(scripted.Action{Flood: &scripted.Flood{Updates: updates}})
	before, peak, next := heap(), uint64(0), 0
	var c *acp.Client
	c, _ = process(t, flood, acp.ClientConfig{
		MaxBacklog: backlog,
		Update: func(n acp.SessionNotification) {
			if text := chunkText(n); text != strconv.Itoa(next) {
				t.Errorf("update %d says %q", next, text)
			}
			if next++; next%(updates/4) == 0 && next < updates {
				for c.Stats().Frames-next < queued {
					time.Sleep(time.Millisecond)
				}
				peak = max(peak, heap())
			}
		},
	})
	resp, err := newSession(t, c).Prompt(t.Context(), hello())
	require.NoError(t, err)
	assert.Equal(t, acp.StopEndTurn, resp.StopReason)
	assert.Equal(t, updates, next)
	used := int64(peak) - int64(before)
	t.Logf("%d KiB in use at most", used>>10)
	assert.Less(t, used, int64(backlog+slack))
}

func TestClientTakesALineOf20MiB(t *testing.T) {
	const size = 20 << 20
	before, peak := heap(), uint64(0)
	var got string
	s := turn(scripted.Action{Flood: &scripted.Flood{Updates: 1, Size: size}})
	c, _ := process(t, s, acp.ClientConfig{
		Update: func(n acp.SessionNotification) { got, peak = chunkText(n), heap() },
	})
	_, err := newSession(t, c).Prompt(t.Context(), hello())
	require.NoError(t, err)
	assert.True(t, got == "0"+strings.Repeat(".", size-1), "%d bytes arrived", len(got)) // Equal would print them
	used := int64(peak) - int64(before)
	t.Logf("%d MiB in use while it was handled", used>>20)
	assert.Less(t, used, int64(4*size), "the line, its text, and what is left of reading it")
}

// TestSoakPermissionNeverOvertakesItsToolCall floods the client before each request, so that it is late with handling.
func TestSoakPermissionNeverOvertakesItsToolCall(t *testing.T) {
	trials := soak.Size(100, 10_000)
	s := turn(
		scripted.Action{Flood: &scripted.Flood{Updates: 10}},
		scripted.Action{Tool: &scripted.Tool{Title: "Delete", Ask: &scripted.Ask{}}},
	)
	s.Repeat = true
	var announced sync.Map
	var asked atomic.Int64
	c, _ := connect(t, s, acp.ClientConfig{
		DrainIdle: -1,
		Update: func(n acp.SessionNotification) {
			if call, ok := n.Update.(acp.ToolCall); ok {
				announced.Store(call.ToolCallID, true)
			}
		},
		Permission: func(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
			asked.Add(1)
			if _, ok := announced.Load(r.ToolCall.ToolCallID); !ok {
				t.Errorf("permission for %s was asked before the call was announced", r.ToolCall.ToolCallID)
			}
			return allow(ctx, r)
		},
	})
	session := newSession(t, c)
	for range trials {
		_, err := session.Prompt(t.Context(), hello())
		require.NoError(t, err)
	}
	assert.EqualValues(t, trials, asked.Load())
}

// exitsAfterTheAnswer answers a prompt and is gone.
func exitsAfterTheAnswer() scripted.Script {
	return scripted.Script{Turns: []scripted.Turn{{
		Actions: []scripted.Action{say("done")}, Stop: "refusal",
		After: []scripted.Action{{Exit: &scripted.Exit{Code: 3}}},
	}}}
}

func TestAnswerFollowedByAnExitIsNotLost(t *testing.T) {
	trials := soak.Size(100, 10_000)
	for range trials {
		said := ""
		agent := scripted.Start(t.Context(), exitsAfterTheAnswer())
		c := acp.NewClient(agent.Stdout, agent.Stdin, acp.ClientConfig{
			Update: func(n acp.SessionNotification) { said += chunkText(n) },
		})
		_, err := c.Initialize(t.Context())
		require.NoError(t, err)
		session, err := c.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/"})
		require.NoError(t, err)
		resp, err := session.Prompt(t.Context(), hello())
		require.NoError(t, err)
		require.Equal(t, acp.StopRefusal, resp.StopReason)
		require.Equal(t, "done", said)
		require.ErrorIs(t, waitDone(c), acp.ErrEnded)
		require.Equal(t, &scripted.ExitError{Code: 3}, agent.Wait())
	}
}

func waitDone(c *acp.Client) error {
	<-c.Done()
	return c.Err()
}

func TestSoakAnswerFollowedByTheExitOfAProcessIsNotLost(t *testing.T) {
	for range soak.Size(10, 1000) {
		c, wait := process(t, exitsAfterTheAnswer(), acp.ClientConfig{})
		resp, err := newSession(t, c).Prompt(t.Context(), hello())
		require.NoError(t, err)
		require.Equal(t, acp.StopRefusal, resp.StopReason)
		var exit *exec.ExitError
		require.ErrorAs(t, wait(), &exit)
		require.Equal(t, 3, exit.ExitCode())
	}
}

func TestClientTakesUpdatesAroundTheTurn(t *testing.T) {
	var said []string
	s := scripted.Script{
		Session: scripted.Session{Before: []scripted.Action{say("before")}, After: []scripted.Action{say("after")}},
		Turns:   []scripted.Turn{{Actions: []scripted.Action{say("during")}, After: []scripted.Action{say("late")}}},
	}
	c, _ := connect(t, s, acp.ClientConfig{
		Update: func(n acp.SessionNotification) { said = append(said, chunkText(n)) },
	})
	_, err := newSession(t, c).Prompt(t.Context(), hello())
	require.NoError(t, err)
	assert.Equal(t, []string{"before", "after", "during", "late"}, said)
}

func TestClientAndAgentsThatDoNotAnswer(t *testing.T) {
	tests := []struct {
		name   string
		script scripted.Script
		cfg    acp.ClientConfig
		want   error
	}{
		{
			name:   "silence, cancelled or not",
			script: turn(scripted.Action{Silence: true}),
			want:   acp.ErrCancelTimeout,
		},
		{
			name:   "exit in the middle of a turn",
			script: turn(say("hm"), scripted.Action{Exit: &scripted.Exit{}}),
			want:   acp.ErrEnded,
		},
		{
			name: "stopped reading",
			script: scripted.Script{
				Session: scripted.Session{After: []scripted.Action{{StopReading: true}}},
				Turns:   []scripted.Turn{{}},
			},
			want: acp.ErrStalled,
		},
		{
			name: "a line that is too long",
			script: turn(
				scripted.Action{Flood: &scripted.Flood{Updates: 1, Size: 2000}}, scripted.Action{Silence: true},
			),
			cfg:  acp.ClientConfig{MaxLine: 1000},
			want: acp.ErrLineTooLong,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := connect(t, tt.script, tt.cfg)
				session := newSession(t, c)
				synctest.Wait() // whatever follows session/new has been done
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				long := acp.TextContent{Text: strings.Repeat("hello ", 100_000)}
				_, err := session.Prompt(ctx, long)
				assert.ErrorIs(t, err, tt.want)
			})
		})
	}
}

func TestClientCancelsATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scripted.Script{Turns: []scripted.Turn{{
			Actions: []scripted.Action{tool(scripted.Action{Sleep: scripted.Sleep(time.Hour)})},
			OnCancel: []scripted.Action{
				{Tool: &scripted.Tool{
					Title: "Clean up", Ask: &scripted.Ask{}, Do: []scripted.Action{say("not allowed")},
				}},
			},
		}}}
		var said []string
		c, _ := connect(t, s, acp.ClientConfig{
			Permission: allow,
			Update:     func(n acp.SessionNotification) { said = append(said, chunkText(n)) },
		})
		session := newSession(t, c)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		resp, err := session.Prompt(ctx, hello())
		require.NoError(t, err)
		assert.Equal(t, acp.StopCancelled, resp.StopReason)
		assert.NotContains(t, said, "not allowed", "after the cancellation permission is not granted")
	})
}

func TestClientPassesOnErrorsOfTheAgent(t *testing.T) {
	t.Run("past the end of the script", func(t *testing.T) {
		c, _ := connect(t, scripted.Script{}, acp.ClientConfig{})
		_, err := newSession(t, c).Prompt(t.Context(), hello())
		var rpc *acp.Error
		require.ErrorAs(t, err, &rpc)
		assert.Equal(t, `prompt 1 is past the end of the script (turns: 0; "repeat" is not set)`, rpc.Message)
	})
	t.Run("a version that it does not speak", func(t *testing.T) {
		c, _ := connect(t, scripted.Script{Faults: scripted.Faults{ProtocolVersion: 2}}, acp.ClientConfig{})
		_, err := c.Initialize(t.Context())
		assert.Equal(t, &acp.VersionError{Got: 2}, err)
	})
	t.Run("a model that it does not offer", func(t *testing.T) {
		models := &scripted.Offer{Current: "a", Choices: []scripted.Choice{{ID: "a"}, {ID: "b"}}}
		c, _ := connect(t, scripted.Script{Session: scripted.Session{Models: models}}, acp.ClientConfig{})
		session := newSession(t, c)
		assert.NoError(t, session.SetModel(t.Context(), "b"))
		not, ok := errors.AsType[*acp.NotOfferedError](session.SetModel(t.Context(), "c"))
		require.True(t, ok)
		assert.Equal(t, []string{"a", "b"}, not.Offered)
	})
}
