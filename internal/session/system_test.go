package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/toolcache"
)

// stopped is an agent that was ended for a limit of the machine.
type stopped struct{ *played }

func (s stopped) Wait() (supervise.Exit, error) {
	exit, _ := s.played.Wait()
	return exit, &supervise.LimitError{Resource: supervise.Disk, Used: 2, Limit: 1}
}

func (s stopped) Stop(context.Context) (supervise.Exit, error) {
	s.cancel()
	return s.Wait()
}

// TestMachineLimits: that an agent met a limit of the machine is told, and once, whether it says nothing more or had
// already answered.
func TestMachineLimits(t *testing.T) {
	const told = "limit disk: "
	for want, does := range map[string]scripted.Action{
		"the agent: ": {Exit: &scripted.Exit{Code: 3}}, "end the agent: ": say("Done."),
	} {
		synctest.Test(t, func(t *testing.T) {
			c := config(t, "", script(acts{does}))
			start := c.startChild
			c.startChild = func(ctx context.Context, s supervise.Command, p confine.Policy) (child, error) {
				c, err := start(ctx, s, p)
				c.process = stopped{c.process.(*played)}
				return c, err
			}
			o := hold(t.Context(), c, "one")
			require.ErrorContains(t, o.err, want+told)
			require.Equal(t, 1, strings.Count(o.err.Error(), told), "%v", o.err)
			require.NotContains(t, o.err.Error(), "by itself")
		})
	}
	c, ended := headlessConfig(t)
	c.startChild = func(context.Context, supervise.Command, confine.Policy) (child, error) {
		return child{stopped{ended}, nil, strings.NewReader(answered)}, nil
	}
	require.ErrorContains(t, hold(t.Context(), c, "one").err, "end the agent: "+told)
}

// answered is what a program without a protocol prints to a prompt.
const answered = `{"type":"system","subtype":"init","session_id":"s1","claude_code_version":"1.2.3"}
{"type":"result","subtype":"success","stop_reason":"end_turn","usage":{"input_tokens":100,"output_tokens":10}}
`

// headlessConfig is that of such a program, and a process that has ended.
func headlessConfig(t *testing.T) (Config, *played) {
	t.Helper()
	c := config(t, "", scripted.Script{})
	c.Profile = agent.Profile{Kind: "test", Headless: &agent.Headless{UnaskedMode: "unasked"}}
	ended := &played{done: make(chan struct{}), cancel: func() {}}
	close(ended.done)
	c.startChild = func(context.Context, supervise.Command, confine.Policy) (child, error) {
		return child{ended, nil, strings.NewReader(answered)}, nil
	}
	return c, ended
}

// TestHeadlessLate: what a child of the program makes after its answer is of the last turn.
func TestHeadlessLate(t *testing.T) {
	c, _ := headlessConfig(t)
	c.Records = true
	s, err := Start(t.Context(), c)
	require.NoError(t, err)
	require.NoError(t, s.Ask(t.Context(), []string{"one"}))
	require.Empty(t, s.Turns()[0].Delta.Changes)
	require.NoError(t, os.WriteFile(filepath.Join(c.Dirs.Workspace, "late"), nil, 0o600))
	require.NoError(t, s.Close(t.Context()))
	require.Len(t, s.Turns()[0].Delta.Changes, 1)
}

// TestNotStarted: without a workspace, or a place for what stands for MCP servers, no agent starts.
func TestNotStarted(t *testing.T) {
	started := func(more string, spoil func(Dirs) error) error {
		c := config(t, more, script())
		c.startChild = func(context.Context, supervise.Command, confine.Policy) (child, error) {
			return child{}, errors.New("it was started")
		}
		require.NoError(t, spoil(c.Dirs))
		_, err := Start(t.Context(), c)
		return err
	}
	err := started("", func(d Dirs) error { return os.Remove(d.Workspace) })
	require.ErrorIs(t, err, os.ErrNotExist)
	err = started("mcp: [{name: docs, command: [d]}]\ncassette: {level: mcp}",
		func(d Dirs) error { return os.Mkdir(filepath.Join(d.Base, "mcp"), 0o700) })
	require.ErrorIs(t, err, os.ErrExist)
}

// TestTerminalsOffline: commands that cannot reach the network are told to use what is there.
func TestTerminalsOffline(t *testing.T) {
	for network, want := range map[string]bool{"none": true, "agent": true, "all": false} {
		synctest.Test(t, func(t *testing.T) {
			run := acts{{Terminal: &scripted.Terminal{Command: "go"}}}
			c := config(t, "sandbox: {network: "+network+"}", script(run))
			c.Environ = append(c.Environ, "PATH="+os.Getenv("PATH"))
			c.Caches, c.Confined = []toolcache.Cache{{Preset: "pip"}}, true
			var env []string
			c.Start = func(_ context.Context, c supervise.Command, _ confine.Policy) (*supervise.Process, error) {
				env = c.Env
				return nil, errors.New("enough")
			}
			_ = hold(t.Context(), c, "one")
			require.NotEmpty(t, env)
			require.Equal(t, want, strings.Contains(strings.Join(env, "\n"), "PIP_NO_INDEX=1"), network)
		})
	}
}

// TestOffered: people see what an agent has to choose from.
func TestOffered(t *testing.T) {
	choices := []scripted.Choice{{ID: "a"}, {ID: "b"}}
	synctest.Test(t, func(t *testing.T) {
		c := config(t, "", scripted.Script{Auth: []string{"oauth"}, Session: scripted.Session{
			Modes: &scripted.Offer{Current: "b", Choices: choices},
			Options: []scripted.Option{
				{ID: "thought", Category: "thought_level", Current: "b", Choices: choices[1:]},
				{ID: "model", Category: "model", Current: "a", Choices: choices},
			},
		}})
		c.Launch.AuthMethod = "oauth"
		o := hold(t.Context(), c)
		require.NoError(t, o.err)
		require.Equal(t, Offers{
			Modes: []string{"a", "b"}, Models: []string{"a", "b"}, Model: "a", Methods: []string{"oauth"},
		}, o.session.Offers())
	})
	c, _ := headlessConfig(t)
	require.Empty(t, hold(t.Context(), c, "one").session.Offers())
}

// TestUnknownCall: nobody decides on a call of which nothing is known.
func TestUnknownCall(t *testing.T) {
	c := config(t, "permissions: {default: allow}", script())
	s := &live{processSession: newProcessSession(&Session{config: c}, nil)}
	var why error
	require.NoError(t, s.setInterrupt(func(err error) { why = err }))
	answer, err := s.decide(t.Context(), acp.RequestPermissionRequest{
		ToolCall: acp.ToolCallUpdate{ToolCallID: "c1"},
		Options:  []acp.PermissionOption{{OptionID: "yes", Kind: acp.AllowOnce}},
	})
	require.NoError(t, err)
	require.Equal(t, acp.Cancelled(), answer)
	require.ErrorContains(t, why, `the unknown tool call "c1"`)
}

// TestLogGone: a log that cannot be masked any more is an error, which says what to do.
func TestLogGone(t *testing.T) {
	l, _ := openLog(t, t.TempDir())
	l.Notef("it is later-0123456789")
	l.secrets.Mark("LATER", "later-0123456789")
	require.NoError(t, os.Remove(l.file.Name()))
	err := l.Close(func() error { return nil })
	require.ErrorContains(t, err, "write the session log: mask it: ")
	require.Contains(t, fault.Advice(err), "it may show secrets")
}
