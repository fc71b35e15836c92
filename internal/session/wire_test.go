package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// TestReasons holds that a connection which we end says why, and not that the agent ended, as it then does.
func TestReasons(t *testing.T) {
	tests := []struct {
		name, reason string
		script       scripted.Script
		err          string
		not          string
		advice       string
		transient    bool
	}{
		{
			name: "version 2", reason: "another attempt meets the same agent",
			script: scripted.Script{Faults: scripted.Faults{ProtocolVersion: 2}},
			err:    "the agent requires protocol version 2; this client supports only 1", not: "ended by itself",
			advice: "install a version of test-agent that speaks version 1 of the protocol, " +
				"or name another program under variants.fake.agent.command",
		},
		{
			name: "version 7", script: scripted.Script{Faults: scripted.Faults{ProtocolVersion: 7}},
			err: "the agent requires protocol version 7; this client supports only 1", not: "ended by itself",
			advice: "install a version of test-agent that speaks version 1 of the protocol, " +
				"or name another program under variants.fake.agent.command",
		},
		{
			name:   "long line",
			script: script(acts{{Raw: scripted.Raw(strings.Repeat("x", 64<<20+1))}, {Silence: true}}),
			err:    "line too long: more than 67108864 bytes", not: "ended by itself",
		},
		{
			name: "long line in the handshake", reason: "the next attempt may do without",
			script: scripted.Script{Session: scripted.Session{Before: acts{
				{Raw: scripted.Raw(strings.Repeat("x", 64<<20+1))}, {Silence: true},
			}}},
			err: "line too long: more than 67108864 bytes", not: "ended by itself", transient: true,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := hold(t.Context(), config(t, "", tt.script), "one")
				require.ErrorContains(t, o.err, tt.err, tt.reason)
				assert.NotContains(t, o.err.Error(), tt.not)
				assert.Equal(t, tt.advice, fault.Advice(o.err))
				assert.Equal(t, tt.transient, fault.IsTransient(o.err), tt.reason)
				assert.Less(t, o.took, 10*time.Second)
			})
		})
	}
}

// TestOutputClosed holds that an agent which closes its output and lives on is not waited for.
func TestOutputClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(t, "", scripted.Script{})
		c.startChild = func(_ context.Context, program supervise.Command, _ confine.Policy) (child, error) {
			stays := script(acts{say("a"), {Raw: "closes"}, {StopReading: true}, {Silence: true}})
			stays.Faults.IgnoreEOF = true
			agent := play(stays, program.Stderr)
			says := agent.stdout
			stdout, out := io.Pipe()
			go func() {
				_, err := io.Copy(out, until{says, "closes"})
				out.CloseWithError(err)
				_, _ = io.Copy(io.Discard, says)
			}()
			agent.stdout = stdout
			return agent, nil
		}
		o := hold(t.Context(), c, "one")
		require.ErrorContains(t, o.err, "the agent closed its output, and goes on running")
		require.False(t, fault.IsTransient(o.err))
		require.Less(t, o.took, 5*time.Second, "by the bubble's clock")
	})
}

// until reads up to a read that has the text.
type until struct {
	io.Reader
	text string
}

func (u until) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	if strings.Contains(string(p[:n]), u.text) {
		return 0, io.EOF
	}
	return n, err
}

// TestWarnings holds what is told of an agent that does something wrong without consequences.
func TestWarnings(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":2,"result":{"sessionId":"another"}}`
	tests := []struct {
		name, reason string
		script       scripted.Script
		want         []string
	}{
		{name: "none", script: script(acts{say("a")})},
		{
			name: "blank lines", reason: "they are allowed",
			script: scripted.Script{Faults: scripted.Faults{BlankLines: true}, Turns: []scripted.Turn{{}}},
		},
		{
			name: "a line", script: script(acts{{Raw: "\x1b[31mnpm notice: new version"}}),
			want: []string{"the agent wrote 1 line that is no message to its output, " +
				`which is for the protocol alone: the first is "\x1b[31mnpm notice: new version"`},
		},
		{
			name: "lines", reason: "JSON that is no message is none", script: script(acts{{Raw: "[1]"}, {Raw: "two"}}),
			want: []string{"the agent wrote 2 lines that are no messages to its output, " +
				`which is for the protocol alone: the first is "[1]"`},
		},
		{
			name: "answers", reason: "it answers session/new again",
			script: script(acts{{Raw: answer}, {Raw: answer}}),
			want: []string{"the agent sent 2 answers to requests that were not open: " +
				"it answered twice, or what it was not asked"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := hold(t.Context(), config(t, "", tt.script), "one")
				require.NoError(t, o.err)
				require.Equal(t, tt.want, o.session.Warnings(), tt.reason)
			})
		})
	}
}

func TestMetLimit(t *testing.T) {
	assert.True(t, metLimit(fmt.Errorf("the agent: %w", new(supervise.LimitError))))
	assert.False(t, metLimit(errors.New("another")))
	assert.False(t, metLimit(nil))
}
