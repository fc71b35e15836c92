package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/panics"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// TestLimits holds sessions that a limit ends: that is no error, and the limit is why the last turn stopped.
func TestLimits(t *testing.T) {
	spent := func(tokens int64) scripted.Turn { return scripted.Turn{Tokens: &scripted.Tokens{Total: tokens}} }
	cost := func(usd float64) scripted.Action {
		return scripted.Action{Usage: &scripted.Usage{Used: 1, Size: 2, CostUSD: usd}}
	}
	silence := scripted.Action{Silence: true}
	fails := func(actions acts, message string) scripted.Script {
		failure := &scripted.Error{Code: -32603, Message: "Internal error: " + message}
		return scripted.Script{Turns: []scripted.Turn{{Actions: actions, Error: failure}}}
	}
	tests := []struct {
		name, reason string
		limits       string
		script       scripted.Script
		stops        string
		took         time.Duration // 0: next to nothing
	}{
		{
			name: "none", reason: "each prompt is a turn", limits: "{}",
			script: script(acts{say("a")}, acts{say("b")}), stops: "end_turn end_turn",
		},
		{
			name: "tool calls", reason: "the limit itself is allowed", limits: "{max_tool_calls: 2}",
			script: script(acts{tool("A"), tool("B")}, acts{tool("C"), say("d")}), stops: "end_turn max_tool_calls",
		},
		{
			name: "tokens", reason: "turns add up, and the last one is whole", limits: "{max_tokens: 9}",
			script: scripted.Script{Turns: []scripted.Turn{spent(4), spent(6), spent(1)}},
			stops:  "end_turn token_limit",
		},
		{
			name: "cost", reason: "the agent says while it works that it has become too expensive",
			limits: "{max_cost_usd: 1}",
			script: script(acts{cost(0.5)}, acts{cost(1.5), sleep(time.Hour)}), stops: "end_turn cost_limit",
		},
		{
			name: "timeout", reason: "it bounds the session, of which the first turn took a part",
			limits: "{timeout: 10m}",
			script: script(acts{sleep(6 * time.Minute)}, acts{sleep(time.Hour)}),
			stops:  "end_turn timeout", took: 10 * time.Minute,
		},
		{
			name: "timeout of one that does not listen", reason: "it is ended after its grace",
			limits: "{timeout: 10m}",
			script: script(acts{say("a"), silence}), stops: "timeout", took: 10*time.Minute + 5*time.Second,
		},
		{
			name: "longest answer", reason: "the model wrote as much as it may: that is known about the agent",
			limits: "{max_tokens: 9}",
			script: fails(acts{tool("Read"), say("a")}, "API Error: Claude's response exceeded the 128000 output "+
				"token maximum. To configure this behavior, set CLAUDE_CODE_MAX_OUTPUT_TOKENS."),
			stops: "max_tokens",
		},
		{
			name: "longest conversation", reason: "the agent filled it", limits: "{}",
			script: fails(nil, "Prompt is too long · the request is ~250000 tokens"), stops: "max_tokens",
		},
		{
			name: "longest conversation, as the model's service says it", reason: "the same", limits: "{}",
			script: fails(nil, `API Error: 400 {"type":"error","error":{"type":"invalid_request_error",`+
				`"message":"prompt is too long: 250000 tokens > 200000 maximum"}}`), stops: "max_tokens",
		},
		{
			name: "no turn after the last", reason: "what ended early has ended", limits: "{}",
			script: scripted.Script{Turns: []scripted.Turn{{Stop: "refusal"}, {}}}, stops: "refusal",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := hold(t.Context(), config(t, "limits: "+tt.limits, tt.script), "one", "two")
				require.NoError(t, o.err, tt.reason)
				require.Equal(t, tt.stops, o.stops(), tt.reason)
				require.InDelta(t, tt.took.Seconds(), o.took.Seconds(), 2, "draining aside")
				events := o.session.Run().Events
				require.True(t, slices.IsSortedFunc(events, func(a, b trajectory.Event) int {
					return cmp.Or(a.Turn-b.Turn, int(a.At-b.At))
				}), "also what a limit ended: %v", events)
			})
		})
	}
}

// TestErrors holds sessions after which nothing is known about the agent.
func TestErrors(t *testing.T) {
	recorded := func(path string) Recording {
		return Recording{
			Next: "record it",
			Cassette: &cassette.Cassette{
				Path: "cassettes/bench.jsonl",
				Turns: []cassette.Turn{{Events: []trajectory.Event{
					{Turn: 1, Body: trajectory.Prompt{Text: "one"}},
					{Turn: 1, Body: trajectory.FileRead{Path: path}},
					{Turn: 1, Body: trajectory.Stop{Reason: result.StopEndTurn}},
				}}},
			},
		}
	}
	fails := func(message string) scripted.Script {
		return scripted.Script{Turns: []scripted.Turn{{Error: &scripted.Error{Code: -32603, Message: message}}}}
	}
	const seeModel = "see that the model of variants.fake.agent answers (the agent's account), then run the unit again"
	tests := []struct {
		name, reason string
		more         string
		script       scripted.Script
		change       func(*Config)
		err          string
		transient    bool
		advice       string
		took         time.Duration
	}{
		{
			name: "crash", reason: "what the agent said last is often why",
			script: scripted.Script{
				Faults: scripted.Faults{Stderr: 9},
				Turns:  []scripted.Turn{{Actions: acts{{Exit: &scripted.Exit{Code: 3}}}}},
			},
			err: "the agent ended by itself: exit code 3, and said: ",
		},
		{
			name: "crash at the start", reason: "the next attempt may start",
			script: scripted.Script{Faults: scripted.Faults{Exit: new(4)}},
			err:    "start test-agent: the agent ended by itself: exit code 4", transient: true,
		},
		{
			name:   "no session",
			reason: "an agent that hangs at its start is not waited for until the limit of the unit",
			script: scripted.Script{Session: scripted.Session{Before: []scripted.Action{{Silence: true}}}},
			err:    "the agent took longer than 2m0s to start", transient: true, took: 2 * time.Minute,
		},
		{
			name: "not to be started", reason: "a person can install it", change: func(c *Config) {
				c.startChild = func(context.Context, supervise.Command, confine.Policy) (child, error) {
					return child{}, os.ErrNotExist
				}
			},
			err:    "file does not exist",
			advice: "install test-agent, or name another program under variants.fake.agent.command",
		},
		{
			name: "not to be confined", reason: "it is not the agent that is missing", change: func(c *Config) {
				c.startChild = func(context.Context, supervise.Command, confine.Policy) (child, error) {
					return child{}, errors.New("no sandbox")
				}
			},
			err: "no sandbox",
		},
		{
			name: "overloaded", reason: "the model may be had later",
			script: fails("API error 529: overloaded"),
			err:    "API error 529: overloaded", transient: true,
			advice: seeModel,
		},
		{
			name: "refused", reason: "the model will say it again",
			script: fails("API error 400"),
			err:    "API error 400",
			advice: seeModel,
		},
		{
			name: "stop reason", reason: "it means nothing", script: script(acts{
				{Raw: `{"jsonrpc":"2.0","id":3,"result":{"stopReason":"enough"}}`}, {Silence: true},
			}),
			err: `the agent ended its turn with the unknown stop reason "enough"`,
		},
		{
			name: "permission", reason: "whatever the agent makes of the answer", more: "permissions: {default: error}",
			script: script(acts{asking("Bash"), say("so be it")}), err: errPermission.Error() + ": Bash",
		},
		{
			name: "no tokens", reason: "a limit that is not enforced is none", more: "limits: {max_tokens: 9}",
			script: script(acts{say("a")}),
			err:    "cannot be enforced: the agent does not report its tokens",
			advice: "remove limits.max_tokens, or bound the unit by timeout and max_tool_calls",
		},
		{
			name: "divergence", reason: "there is no answer to what was not recorded",
			more:   "cassette: {level: client}",
			script: script(acts{read("b.txt")}), change: func(c *Config) { c.Recording = recorded("$WORKSPACE/a.txt") },
			err: "cassettes/bench.jsonl: ", advice: "record it",
		},
		{
			name: "files that cannot be written", reason: "the agent would run without its account",
			change: func(c *Config) { c.Launch.Files = []agent.File{{Path: "a"}, {Path: "a/b"}} },
			err:    "not a directory",
		},
		{
			name: "changes too large", reason: "they would not be in the recording", more: "cassette: {max_delta: 1}",
			script: script(acts{{DiskWrite: &scripted.DiskWrite{Path: "a", Text: "large"}}}),
			change: func(c *Config) { c.Records = true }, err: "cassette.max_delta",
			advice: "write `cassette: {exclude: [...]}` in bench.yaml with globs of what no evaluator looks at, " +
				"or raise cassette.max_delta",
		},
		{
			name: "workspace replaced", reason: "what stands there is not the workspace",
			script: script(acts{say("a")}), change: func(c *Config) {
				c.Dirs.Check = func() error { return errors.New("the agent put something else there") }
			},
			err: "the agent put something else there",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := config(t, tt.more, tt.script)
				if tt.change != nil {
					tt.change(&c)
				}
				o := hold(t.Context(), c, "one")
				require.ErrorContains(t, o.err, tt.err, tt.reason)
				assert.Equal(t, tt.transient, fault.IsTransient(o.err), tt.reason)
				assert.Equal(t, tt.advice, fault.Advice(o.err), tt.reason)
				assert.InDelta(t, tt.took.Seconds(), o.took.Seconds(), 2)
			})
		})
	}
}

// TestCancelled holds that a run which is cancelled says why, and that its agent is not left behind.
func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(errors.New("interrupted")) })
		o := hold(ctx, config(t, "", script(acts{{Silence: true}})), "one")
		require.EqualError(t, o.err, "interrupted")
		require.Empty(t, o.session.Turns(), "nothing is known of the turn")
	})
}

// TestPanics holds that a panic of what serves the agent is the session's error, with its stack.
func TestPanics(t *testing.T) {
	breakDown := func() { panic("out of order") }
	tests := []struct {
		name, reason string
		script       scripted.Script
		change       func(*Config)
	}{
		{
			name: "update", reason: "whoever watches runs on the connection's goroutine",
			script: script(acts{tool("Read")}),
			change: func(c *Config) {
				c.Watch = func(a Activity) {
					if a.Tool != "" {
						breakDown()
					}
				}
			},
		},
		{
			name: "terminal", reason: "a request runs on a goroutine of its own",
			script: script(acts{{Terminal: &scripted.Terminal{Command: "go", Args: []string{"version"}}}}),
			change: func(c *Config) {
				c.Environ = append(c.Environ, "PATH="+os.Getenv("PATH"))
				c.Start = func(context.Context, supervise.Command, confine.Policy) (*supervise.Process, error) {
					breakDown()
					return nil, nil
				}
			},
		},
		{
			name: "log", reason: "notes go to a test's output", script: script(acts{read("../secret")}),
			change: func(c *Config) {
				c.Log.notes = writerFunc(func([]byte) (int, error) {
					breakDown()
					return 0,
						nil
				})
			},
		},
		{
			name: "stderr", reason: "it is copied on a goroutine of the process",
			script: scripted.Script{Faults: scripted.Faults{Stderr: 1 << 16}, Turns: []scripted.Turn{{}}},
			change: func(c *Config) {
				c.Log.notes = writerFunc(func([]byte) (int, error) {
					breakDown()
					return 0,
						nil
				})
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := config(t, "", tt.script)
				tt.change(&c)
				o := hold(t.Context(), c, "one", "two")
				caught, ok := errors.AsType[*panics.Error](o.err)
				require.True(t, ok, "%s: %v", tt.reason, o.err)
				assert.Equal(t, "out of order", caught.Value)
				assert.Contains(t, o.err.Error(), "session.TestPanics", "the stack tells where")
			})
		})
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestPermissions holds what an agent is answered, as the session's run shows it.
func TestPermissions(t *testing.T) {
	edit := scripted.Action{Tool: &scripted.Tool{
		Name: "Edit", Title: "Edit", Ask: &scripted.Ask{}, Locations: []scripted.Location{{Path: "src/a.go"}},
	}}
	always := scripted.Action{Tool: &scripted.Tool{Name: "Edit", Title: "Edit", Ask: &scripted.Ask{
		Options: []scripted.PermissionOption{
			{ID: "yes", Kind: "allow_always"}, {ID: "no", Kind: "reject_always"}, {ID: "once", Kind: "allow_once"},
		},
	}}}
	never := scripted.Action{Tool: &scripted.Tool{Name: "Edit", Title: "Edit", Ask: &scripted.Ask{
		Options: []scripted.PermissionOption{{ID: "yes", Kind: "allow_always"}},
	}}}
	same := scripted.Action{Tool: &scripted.Tool{Name: "Edit", Title: "Edit", Ask: &scripted.Ask{
		Options: []scripted.PermissionOption{{ID: "1", Kind: "allow_once"}, {ID: "1", Kind: "reject_once"}},
	}}}
	tests := []struct {
		name, reason string
		permissions  string
		asks         scripted.Action
		want         string
	}{
		{"allow", "", "{default: allow}", edit, "allow"},
		{"reject", "", "{default: reject}", edit, "reject"},
		{"once", "the next question is the policy's again", "{default: allow}", always, "once"},
		{"always", "it carries the decision out, too", "{default: reject}", always, "no"},
		{"the same id", "it would be an allowance for the agent", "{default: reject}", same, "cancelled"},
		{"the same id, allowed", "", "{default: allow}", same, "cancelled"},
		{"nothing that fits", "nobody chooses for the policy", "{default: reject}", never, "cancelled"},
		{
			"tool", "the first rule decides",
			"{default: allow, rules: [{tool: Edit, decide: reject}, {tool: Edit, decide: allow}]}", edit, "reject",
		},
		{"path", "of the workspace", "{default: allow, rules: [{path: src/**, decide: reject}]}", edit, "reject"},
		{"another path", "", "{default: allow, rules: [{path: docs/**, decide: reject}]}", edit, "allow"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := hold(t.Context(), config(t, "permissions: "+tt.permissions, script(acts{tt.asks})), "one")
				require.NoError(t, o.err)
				var got []string
				for _, e := range o.session.Run().Events {
					if p, ok := e.Body.(trajectory.Permission); ok {
						got = append(got, p.Decision)
					}
				}
				require.Equal(t, []string{tt.want}, got, tt.reason)
			})
		})
	}
}

// TestModes holds in which modes an agent works, and with which model.
func TestModes(t *testing.T) {
	offer := func(ids ...string) *scripted.Offer {
		o := &scripted.Offer{Current: ids[0]}
		for _, id := range ids {
			o.Choices = append(o.Choices, scripted.Choice{ID: id})
		}
		return o
	}
	const reject = "permissions: {default: reject}"
	tests := []struct {
		name, reason     string
		more             string
		offered          *scripted.Offer
		asking, unasking []string
		mode             string
		modes            []string
		err, advice      string
	}{
		{name: "no modes"},
		{name: "the agent's own", offered: offer("auto", "ask"), modes: []string{"auto"}},
		{
			name: "one in which it asks", offered: offer("auto", "ask"), asking: []string{"plan", "ask"},
			modes: []string{"auto", "ask"},
		},
		{
			name: "which it has", offered: offer("ask", "auto"), asking: []string{"ask"}, unasking: []string{"auto"},
			modes: []string{"ask"},
		},
		{
			name: "the playbook's", offered: offer("auto", "ask"), asking: []string{"ask"}, mode: "plan",
			err: "plan",
		},
		{
			name: "the playbook's, offered", offered: offer("auto", "ask", "plan"), asking: []string{"ask"},
			mode: "plan", modes: []string{"auto", "plan"},
		},
		{
			name: "one in which it does not ask", offered: offer("ro", "all"), unasking: []string{"all"},
			modes: []string{"ro", "all"},
		},
		{
			name: "one that is forbidden", offered: offer("ro", "all"), unasking: []string{"all"}, more: reject,
			err: "bench.yaml:3: variants.fake.agent: `permissions` forbid something, and in the mode \"all\", " +
				"which it needs to work here, this agent asks for nothing",
			advice: "name another mode under variants.fake.agent.mode (offered: ro, all) or another agent, " +
				"or accept it with `permissions: {allow_unasked: true}`",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				played := script(acts{say("a")})
				played.Session.Modes, played.Session.Models = tt.offered, offer("small", "large")
				c := config(t, tt.more, played)
				c.Profile.AskingModes, c.Profile.UnaskingModes = tt.asking, tt.unasking
				c.Unit.Variant.Agent.Mode, c.Unit.Variant.Agent.Model = tt.mode, "large"
				o := hold(t.Context(), c, "one")
				if tt.err != "" {
					require.ErrorContains(t, o.err, tt.err)
					require.Equal(t, tt.advice, fault.Advice(o.err))
					return
				}
				require.NoError(t, o.err)
				require.Equal(t, tt.modes, o.session.Identity().Agent.Modes)
				require.NoDirExists(t, filepath.Join(c.Dirs.Base, "mcp"), "no server is replayed")
			})
		})
	}
}

// TestActivity holds what people see of a session.
func TestActivity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(t, "", script(
			acts{tool("Read"), {Usage: &scripted.Usage{Used: 1, Size: 2, CostUSD: 0.5}}}, acts{say("a")},
		))
		var told []Activity
		c.Watch = func(a Activity) { told = append(told, a) }
		require.NoError(t, hold(t.Context(), c, "one", "two").err)
		usd := 0.5
		id := c.Unit.ID()
		require.Equal(t, []Activity{
			{Unit: id, Iteration: 1},
			{Unit: id, Iteration: 1, Tool: "Read"},
			{Unit: id, Iteration: 1, Tool: "Read", Cost: &usd},
			{Unit: id, Iteration: 2, Tool: "Read", Cost: &usd},
		}, told)
	})
}

// TestMCPFile holds what an agent is given that starts the servers of its own file.
func TestMCPFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(t, "mcp: [{name: docs, command: [docs-server, -v]}]", script(acts{say("a")}))
		c.Profile.MCPFile = ".agent/mcp.json"
		require.NoError(t, hold(t.Context(), c, "one").err)
		data, err := os.ReadFile(filepath.Join(c.Dirs.Home, ".agent", "mcp.json"))
		require.NoError(t, err)
		h, err := helper.Find()
		require.NoError(t, err)
		command := h.Command(helper.Server, filepath.Join(c.Dirs.Base, "mcp", "docs"), "docs-server", "-v")
		args, err := json.Marshal(command[1:])
		require.NoError(t, err)
		require.JSONEq(t, fmt.Sprintf(`{"mcpServers": {"docs":
			{"type": "local", "command": %q, "args": %s, "tools": ["*"]}}}`, command[0], args), string(data))
	})
}

// TestBetweenTurns holds that what the agent does between two turns ends the second.
func TestBetweenTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		played := script(acts{say("a")}, acts{say("b")})
		played.Turns[0].After = acts{sleep(10 * time.Second), asking("Bash")}
		s, err := Start(t.Context(), config(t, "permissions: {default: error}", played))
		require.NoError(t, err)
		require.NoError(t, s.Ask(t.Context(), []string{"one"}))
		time.Sleep(time.Minute) // by the bubble's clock
		require.ErrorIs(t, s.Ask(t.Context(), []string{"two"}), errPermission)
		require.ErrorIs(t, s.Close(t.Context()), errPermission)
	})
}
