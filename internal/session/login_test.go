package session

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// TestLogin authenticates agents that want it. Where that fails, the error says how it can be done.
func TestLogin(t *testing.T) {
	const (
		offers  = "; the agent offers to authenticate by chatgpt (chatgpt), key (key)"
		noWay   = "; the agent offers no way to authenticate"
		account = "give variants.fake.agent a `preset` with an account: variables, `files` or `auth_method`, " +
			"see docs/accounts.md; then try it: sdd-eval doctor --agent fake-acp"
	)
	wants := func(ways ...string) scripted.Script {
		s := script(acts{say("a")})
		s.Auth = ways
		return s
	}
	tests := []struct {
		name, reason string
		script       scripted.Script
		change       func(*Config)
		err          string // empty: none
		transient    bool
		advice       string
	}{
		{
			name: "by a method", script: wants("chatgpt", "key"),
			change: func(c *Config) { c.Launch.AuthMethod = "key" },
		},
		{
			name: "not at all", reason: "the agent's answer is of no help by itself", script: wants("chatgpt", "key"),
			err:    "open a session: acp: session/new: error -32000: session/new: authenticate first" + offers,
			advice: account,
		},
		{
			name: "by an unknown method", reason: "the preset says where", script: wants("chatgpt", "key"),
			change: func(c *Config) {
				c.Launch.AuthMethod, c.Launch.AuthMethodAt = "kee", "codex.toml:3"
				c.Unit.Variant.Agent.Preset, c.Profile.Login = "mine", "codex login"
			},
			err: `codex.toml:3: the agent has no way to authenticate that is called "kee"` + offers,
			advice: "check the account of preset \"mine\": its variables, `files` and `auth_method`, " +
				"see docs/accounts.md; log in by `codex login`; then try it: sdd-eval doctor --agent fake-acp/mine",
		},
		{
			name: "of an agent that has no methods", reason: "some take what they do not tell of", script: wants(),
			change: func(c *Config) { c.Launch.AuthMethod = "key" },
			err: `authenticate by "key": acp: authenticate: error -32602: authenticate: unknown method "key"` +
				noWay,
			advice: account, transient: true,
		},
		{
			name: "at the first prompt", reason: "Claude notices then", err: "error -32000: no account" + noWay,
			script: scripted.Script{
				Turns: []scripted.Turn{{Error: &scripted.Error{Code: -32000, Message: "no account"}}},
			},
			advice: account,
		},
		{
			name: "never", reason: "an agent without an account opens a browser and waits",
			change: func(c *Config) {
				c.Launch.AuthMethod = "oauth"
				c.startChild = func(context.Context, supervise.Command, confine.Policy) (child, error) {
					return mute(), nil
				}
			},
			err: `authenticate by "oauth": no answer within 1m0s: without a valid account, agents wait for a person ` +
				`to log in; the agent offers to authenticate by oauth (Log in)`,
			advice: account, transient: true,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := config(t, "", tt.script)
				if tt.change != nil {
					tt.change(&c)
				}
				o := hold(t.Context(), c, "one")
				if tt.err == "" {
					require.NoError(t, o.err)
					return
				}
				require.ErrorContains(t, o.err, tt.err, tt.reason)
				assert.Equal(t, tt.transient, fault.IsTransient(o.err), tt.reason)
				assert.Equal(t, tt.advice, fault.Advice(o.err), tt.reason)
			})
		})
	}
}

// mute is an agent that answers nothing but its initialization.
func mute() child {
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	p := &played{cancel: cancel, done: make(chan struct{})}
	context.AfterFunc(ctx, func() { in.Close() })
	go func() {
		defer close(p.done)
		lines := bufio.NewScanner(in)
		if lines.Scan() {
			fmt.Fprintln(out, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{},`+
				`"authMethods":[{"id":"oauth","name":"Log\nin"}]}}`)
		}
		for lines.Scan() {
			continue
		}
		out.Close()
	}()
	return child{p, stdin, stdout}
}

// TestOffers bounds what an error shows of an agent.
func TestOffers(t *testing.T) {
	many := make([]acp.AuthMethod, 30)
	for i := range many {
		many[i] = acp.AuthMethod{ID: strings.Repeat("i", 1000), Name: strings.Repeat("\x1b", 1000)}
	}
	text := offers(many)
	assert.Less(t, len(text), 20*(2*shownText+200))
	assert.NotContains(t, text, "\x1b")
	assert.Contains(t, text, ", 10 more")
}
