package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/interaction/mcpproxy"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// TestStarted holds what an agent is started with: where, with which account, and what it may touch.
func TestStarted(t *testing.T) {
	const servers = "mcp: [{name: docs, command: [docs-server, -v]}]\n"
	tests := []struct {
		name, more string
		args       []string // of the agent, beside one of its kind
		network    bool
		commands   bool // may reach the network
		programs   []string
		arguments  []string
		connect    bool
	}{
		{name: "plain", network: true},
		{name: "no network", more: "sandbox: {network: none}\n"},
		{name: "all the network", more: "sandbox: {network: all}\n", network: true, commands: true},
		{
			name: "servers", more: servers, args: []string{"agent.js"}, network: true,
			programs: []string{"docs-server"}, arguments: []string{"-v"},
		},
		{
			name: "servers that are stood for", more: servers + "cassette: {level: mcp}\n", network: true,
			connect: true,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := config(t, tt.more, script(acts{say("a")}))
			c.Launch.Args = append([]string{"--acp"}, tt.args...)
			c.Launch.Env = map[string]string{"KEY": "value", "ACCOUNT": "mine"}
			c.Environ = append(c.Environ, "PATH=/bin", "USER_SECRET=x")
			var program supervise.Command
			var policy confine.Policy
			c.startChild = func(_ context.Context, started supervise.Command, p confine.Policy) (child, error) {
				program, policy = started, p
				return child{}, errors.New("enough")
			}
			_, err := Start(t.Context(), c)
			require.ErrorContains(t, err, "enough")
			assert.Equal(t, append([]string{"test-agent"}, c.Launch.Args...), program.Args)
			assert.Equal(t, []string{c.Dirs.Workspace, c.Dirs.Base}, []string{program.Dir, program.Scratch})
			n := len(program.Env)
			assert.Equal(t, []string{"ACCOUNT=mine", "KEY=value"}, program.Env[n-2:])
			assert.Contains(t, program.Env, "HOME="+c.Dirs.Home)
			assert.NotContains(t, strings.Join(program.Env, " "), "USER_SECRET")
			assert.True(t, program.PipeStdin && program.PipeStdout)

			assert.Equal(t, tt.network, policy.Network)
			assert.Equal(t, []string{c.Dirs.Base, c.Dirs.Workspace}, policy.Write)
			assert.Equal(t, c.Dirs.Workspace, policy.Workspace)
			assert.Equal(t, tt.programs, policy.Programs)
			assert.Equal(t, append(tt.arguments, c.Launch.Args...), policy.Arguments)
			assert.Equal(t, tt.connect, slices.Contains(policy.Connect, filepath.Join(c.Dirs.Base, "mcp")))
			own := []string{c.Dirs.Workspace, c.Dirs.Home, c.Dirs.Tmp}
			for _, other := range []confine.Policy{c.serverPolicy(), c.commandPolicy()} {
				assert.Equal(t, own, other.Write, "the base has what the agent is given")
				assert.Equal(t, c.Dirs.Workspace, other.Workspace)
			}
			assert.Equal(t, tt.network, c.serverPolicy().Network)
			assert.Equal(t, tt.commands, c.commandPolicy().Network)
		})
	}
}

// TestHeadlessStarted holds how an agent is started that cannot ask while it works.
func TestHeadlessStarted(t *testing.T) {
	const rules = "permissions: {default: allow, rules: [{tool: Bash, decide: %s}]}\n"
	decide := func(d string) string { return strings.Replace(rules, "%s", d, 1) }
	tests := []struct {
		name, more, mode string
		confined         bool
		want, not        string // among the arguments
		env              string
		err              string
	}{
		{name: "not confined", want: "--allowed-tools Bash,Edit", not: "--free"},
		{name: "confined", confined: true, want: "--free", not: "--allowed-tools", env: "FREE=1"},
		{name: "rejected", more: decide("reject"), want: "--allowed-tools Edit --disallowed-tools Bash", not: "--free"},
		{name: "allowed", more: decide("allow"), want: "--allowed-tools Bash,Edit", not: "--free"},
		{
			name: "rejected where confined", confined: true, more: decide("reject"),
			want: "--free --disallowed-tools Bash", not: "--allowed-tools", env: "FREE=1",
		},
		{
			name: "watched where confined", confined: true, more: decide("error"), want: "--allowed-tools Edit",
			not: "--free", env: "FREE=1",
		},
		{name: "a mode", mode: "plan", want: "--permission-mode plan --allowed-tools Bash,Edit", not: "--free"},
		{
			name: "a mode where confined", mode: "plan", confined: true,
			want: "--permission-mode plan --allowed-tools Bash,Edit", not: "--free", env: "FREE=1",
		},
		{name: "unasked, not confined", mode: "unasked", err: "in the mode unasked the agent asks for nothing"},
		{
			name: "unasked where confined", mode: "unasked", confined: true,
			want: "--permission-mode unasked --allowed-tools Bash,Edit", not: "--free", env: "FREE=1",
		},
		{
			name: "unasked and watched", mode: "unasked", confined: true, more: decide("error"),
			err: "bench.yaml: variants.fake.agent.mode: in the mode unasked the agent asks for nothing",
		},
		{
			name: "nothing allowed", confined: true, more: "permissions: {default: reject}\n",
			want: "--strict-mcp-config", not: "tools", env: "FREE=1",
		},
		{
			name: "servers", more: "mcp: [{name: docs, command: [docs-server]}]\n",
			want: "--allowed-tools Bash,Edit,mcp__docs", not: "--free",
		},
		{
			name: "pattern", more: "permissions: {rules: [{tool: 'Ba*', decide: allow}]}\n",
			err: `bench.yaml: permissions.rules[0]: "Ba*" cannot be the name of a tool of agents of kind fake-acp`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := config(t, tt.more, scripted.Script{})
			c.Unit.Variant.Agent.Mode, c.Confined = tt.mode, tt.confined
			c.Profile = agent.Profile{Kind: "test", Headless: &agent.Headless{
				Unasked: []string{"--free"}, UnaskedMode: "unasked", UnaskedEnv: map[string]string{"FREE": "1"},
				Asking: []string{"Bash", "Edit"},
			}}
			c.Launch.Env = map[string]string{"KEY": "value"}
			var program supervise.Command
			var policy confine.Policy
			c.startChild = func(_ context.Context, started supervise.Command, p confine.Policy) (child, error) {
				program, policy = started, p
				return child{}, errors.New("enough")
			}
			s, err := Start(t.Context(), c)
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.ErrorContains(t, s.Ask(t.Context(), []string{"one"}), "enough")
			given := policy.Read[len(policy.Read)-1]
			require.FileExists(t, filepath.Join(given, settingsFile))
			require.NoError(t, s.Close(t.Context()))
			require.NoDirExists(t, given)
			args := strings.Join(program.Args, " ")
			assert.Contains(t, args, tt.want)
			assert.NotContains(t, args, tt.not)
			env := strings.Join(program.Env, "\n")
			assert.Contains(t, env, "KEY=value")
			assert.Contains(t, env, tt.env)
			assert.Equal(t, tt.env != "", strings.Contains(env, "FREE=1"))
		})
	}
}

// TestHeadlessWatched holds what people see of an agent that is started for each prompt, and how its turns end.
func TestHeadlessWatched(t *testing.T) {
	const (
		begin = `{"type":"system","subtype":"init","session_id":"s1","claude_code_version":"1.2.3"}` + "\n"
		calls = `{"type":"assistant","session_id":"s1","message":{"id":"m1","role":"assistant","content":[` +
			`{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]}}` + "\n"
		finish = `{"type":"result","subtype":"success","stop_reason":"end_turn","total_cost_usd":0.5}` + "\n"
	)
	c := config(t, "limits: {max_tool_calls: 1}", scripted.Script{})
	c.Profile = agent.Profile{Kind: "test", Headless: &agent.Headless{UnaskedMode: "unasked"}}
	prints := []string{begin + finish, begin + calls + strings.Replace(calls, "t1", "t2", 1)}
	c.startChild = func(_ context.Context, _ supervise.Command, _ confine.Policy) (child, error) {
		ended := &played{done: make(chan struct{}), cancel: func() {}}
		close(ended.done)
		said := prints[0]
		prints = prints[1:]
		return child{ended, nil, strings.NewReader(said)}, nil
	}
	var told []Activity
	c.Watch = func(a Activity) { told = append(told, a) }
	o := hold(t.Context(), c, "one", "two")
	last := told[len(told)-1]
	assert.Equal(t, 2, last.Iteration)
	assert.Equal(t, 0.5, *last.Cost)
	assert.Contains(t, last.Tool, "ls")
	events := o.session.Run().Events
	if assert.NotEmpty(t, events) {
		end := events[len(events)-1]
		assert.Equal(t, trajectory.Stop{Reason: result.StopToolCalls}, end.Body)
		assert.Equal(t, 2, end.Turn)
	}
}

// TestHeadlessServer holds that an MCP server that failed is told with its cause: the agent says only which it was.
func TestHeadlessServer(t *testing.T) {
	c := config(t, "mcp: [{name: docs, command: [docs-server]}]", scripted.Script{})
	c.Profile = agent.Profile{Kind: "test", Headless: &agent.Headless{UnaskedMode: "unasked"}}
	c.startChild = func(_ context.Context, _ supervise.Command, _ confine.Policy) (child, error) {
		failure := c.failureOf(c.Playbook.MCP[0])
		if err := os.WriteFile(failure, []byte("cannot be started: not\nfound"), 0o600); err != nil {
			return child{}, err
		}
		ended := &played{done: make(chan struct{}), cancel: func() {}}
		close(ended.done)
		return child{ended, nil, strings.NewReader(`{"type":"system","subtype":"init","session_id":"s1",` +
			`"claude_code_version":"1.2.3","mcp_servers":[{"name":"docs","status":"failed"}]}` + "\n")}, nil
	}
	o := hold(t.Context(), c, "one")
	require.ErrorContains(t, o.err, `the MCP server "docs" (docs-server) cannot be started: not found`)
}

// TestEndedBy holds where the end of a turn is put that a limit has ended.
func TestEndedBy(t *testing.T) {
	at := func(turn int, at time.Duration, b trajectory.Body) trajectory.Event {
		return trajectory.Event{Turn: turn, At: at, Body: b}
	}
	prompt := at(2, time.Second, trajectory.Prompt{Text: "p"})
	message := at(2, time.Minute, trajectory.Message{Text: "m"})
	limit := trajectory.Stop{Reason: "timeout"}
	assert.Equal(t, []trajectory.Event{at(1, time.Hour, limit)}, endedBy(nil, "timeout", time.Hour))
	assert.Equal(t, []trajectory.Event{prompt, message, at(2, time.Hour, limit)},
		endedBy([]trajectory.Event{prompt, message}, "timeout", time.Hour))
	assert.Equal(t, []trajectory.Event{prompt, message, at(2, time.Minute, limit)},
		endedBy([]trajectory.Event{prompt, message}, "timeout", 0), "what is settled later has no time of its own")
	cancelled := at(2, time.Minute, trajectory.Stop{Reason: "cancelled"})
	assert.Equal(t, []trajectory.Event{prompt, at(2, time.Minute, limit), message},
		endedBy([]trajectory.Event{prompt, cancelled, message}, "timeout", time.Hour))
}

// TestSeen holds that recordings have one name for the workspace, which the agent may see elsewhere than we do.
func TestSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(t, "", script())
		c.Dirs.Seen = "/seen"
		played := script(acts{say("It is in /seen/a, " + filepath.Join(c.Dirs.Workspace, "b") + " and " + c.Dirs.Home)})
		c.startChild = func(_ context.Context, p supervise.Command, _ confine.Policy) (child, error) {
			return play(played, p.Stderr), nil
		}
		o := hold(t.Context(), c, "one")
		require.NoError(t, o.err)
		require.Equal(t, "It is in $WORKSPACE/a, $WORKSPACE/b and $HOME", o.session.Run().Answer())
	})
}

// TestModesLater holds that a mode counts that an agent changes to after its last answer.
func TestModesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mode := func(id string) scripted.Action {
			return scripted.Action{Update: scripted.Update{"sessionUpdate": "current_mode_update", "currentModeId": id}}
		}
		played := script(acts{mode("plan"), say("a")})
		played.Turns[0].After = acts{sleep(time.Second), mode("free")}
		s, err := Start(t.Context(), config(t, "", played))
		require.NoError(t, err)
		require.NoError(t, s.Ask(t.Context(), []string{"one"}))
		require.Equal(t, []string{"plan"}, s.Identity().Agent.Modes)
		time.Sleep(time.Minute) // by the bubble's clock
		require.NoError(t, s.Close(t.Context()))
		require.Equal(t, []string{"plan", "free"}, s.Identity().Agent.Modes)
	})
}

// TestUnstarted holds which MCP servers an agent has not asked, when it is recorded and when it is answered.
func TestUnstarted(t *testing.T) {
	c := config(t, "mcp: [{name: docs, command: [d]}, {name: search, command: [s]}]\ncassette: {level: mcp}", script())
	turns := func(servers ...string) []cassette.Turn {
		turn := cassette.Turn{Events: []trajectory.Event{{Turn: 1, Body: trajectory.Prompt{Text: "one"}}}}
		for _, s := range servers {
			turn.Events = append(turn.Events, trajectory.Event{Turn: 1, Body: trajectory.MCPCall{Server: s}})
		}
		return []cassette.Turn{turn}
	}
	s := &Session{config: c, turns: turns("docs", "search")}
	require.NoError(t, s.CheckReplayable())
	require.Empty(t, s.Unused())
	s.turns = turns("docs")
	err := s.CheckReplayable()
	require.ErrorContains(t, err, "with `level: mcp` an agent asks MCP servers, and this one did not start \"search\"")
	require.Equal(t, "write `cassette: {level: run}` in bench.yaml", fault.Advice(err))
	require.Empty(t, s.Unused(), "nothing was recorded")
	s.tools.servers = mcpproxy.Recorded(nil)
	require.Equal(t, []string{`the MCP server "search" was not started`}, s.Unused())
}

// TestWorkspaceGone holds that an error of the workspace is no advice about recordings, and that people see the turn.
func TestWorkspaceGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(t, "", script(acts{say("a")}))
		c.Records = true
		s, err := Start(t.Context(), c)
		require.NoError(t, err)
		require.NoError(t, os.RemoveAll(c.Dirs.Workspace))
		err = s.Ask(t.Context(), []string{"one"})
		require.ErrorIs(t, err, os.ErrNotExist)
		require.Empty(t, fault.Advice(err))
		require.Len(t, s.Turns(), 1)
		_ = s.Close(t.Context())
	})
}

// TestAccountReplaced holds that the account's files are not looked for in what was put in the place of a directory.
func TestAccountReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := filepath.Join(t.TempDir(), "auth.json")
		require.NoError(t, os.WriteFile(from, []byte(oldTokens), 0o600))
		c := config(t, "", script(acts{say("a")}))
		c.Launch.Files = []agent.File{{Path: "auth.json", Data: []byte(oldTokens), From: from, WriteBack: true}}
		checks := 0
		c.Dirs.Check = func() error {
			if checks++; checks < 3 { // of the turn, and of the end
				return nil
			}
			require.NoError(t, os.WriteFile(filepath.Join(c.Dirs.Home, "auth.json"), []byte(newTokens), 0o600))
			return errors.New("something else stands there")
		}
		o := hold(t.Context(), c, "one")
		require.ErrorContains(t, o.err, "look at the agent's auth.json: something else stands there")
		require.Equal(t, "log in again if the agent has renewed its tokens: "+from+" stays as it is",
			fault.Advice(o.err))
		kept, err := os.ReadFile(from)
		require.NoError(t, err)
		require.Equal(t, oldTokens, string(kept))
	})
}
