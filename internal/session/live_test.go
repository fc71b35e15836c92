package session

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/fault"
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
	const seeModel = "see that the model of variants.fake answers (the agent's account), then run the unit again"
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
