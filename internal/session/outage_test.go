package session

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/fault"
)

// What agents said when their model answered every request with the same status, word for word.
const (
	copilot401 = copilotRetries + copilotRetries + "Error: Authentication failed with provider at " +
		"http://127.0.0.1:38517/401/v1 (HTTP 401).\n  Check your COPILOT_PROVIDER_API_KEY, " +
		"COPILOT_PROVIDER_API_KEY_COMMAND, or COPILOT_PROVIDER_BEARER_TOKEN."
	copilot429 = "Error: Failed to get response from the AI model; retried 5 times (total retry wait time: 10.67 " +
		"seconds) Last error: 429 Rate limit reached for requests. Please try again in 1.2s."
	copilot500 = copilotRetries + "Error: Failed to get response from the AI model; retried 5 times " +
		"(total retry wait time: 15.84 seconds) Last error: 500 The server had an error while processing your request."
	copilot400 = "Error: 400 The model refused this request as malformed"
	codex429   = "exceeded retry limit, last status: 429 Too Many Requests\n\n"
	codex500   = "We’re currently experiencing high demand, which may cause temporary errors.\n\n"
	codex400   = `{"error": {"message": "The model refused this request as malformed", "type": "invalid_request"}}`
)

// threadStatus is what Codex's newer adapter sends beside its message.
func threadStatus(status string) scripted.Action {
	return scripted.Action{Update: scripted.Update{
		"sessionUpdate": "session_info_update",
		"_meta":         map[string]any{"codex": map[string]any{"threadStatus": map[string]any{"type": status}}},
	}}
}

// TestOutages holds what is an outage of the agent's model and what is an agent's work, live, and in a recording of it.
func TestOutages(t *testing.T) {
	retry := scripted.Action{Update: scripted.Update{
		"sessionUpdate": "session_info_update",
		"_meta": map[string]any{"codex": map[string]any{"error": map[string]any{
			"message": "Reconnecting... 1/5", "additionalDetails": "last status: 429 Too Many Requests",
		}}},
	}}
	silence := scripted.Action{Silence: true}
	tokens := &scripted.Tokens{Input: 1, Output: 1, Total: 2}
	tests := []struct {
		name, reason string
		turns        []scripted.Turn
		err          string // empty: the agent's work
		transient    bool
	}{
		{name: "copilot 401", reason: "it says so, and that it has finished", turns: say1(copilot401), err: "HTTP 401"},
		{name: "copilot 429", turns: say1(copilot429), err: "Last error: 429", transient: true},
		{name: "copilot 500", turns: say1(copilot500), err: "Last error: 500", transient: true},
		{name: "copilot 400", turns: say1(copilot400), err: "Error: 400 The model refused"},
		{name: "codex 429", turns: say1(codex429), err: "last status: 429", transient: true},
		{name: "codex 500", turns: say1(codex500), err: "high demand", transient: true},
		{name: "codex 400", turns: say1(codex400), err: `{"error": {"message": "The model`},
		{name: "connection", turns: say1("API Error: Connection error."), err: "Connection error"},
		{name: "in brackets", turns: say1("[API Error: 500 no]"), err: "500 no", transient: true},
		{name: "time-out", turns: say1("Error: Request timed out."), err: "timed out"},
		{name: "refused connection", turns: say1("Error: connect ECONNREFUSED 127.0.0.1:1"), err: "ECONNREFUSED"},
		{name: "plan", turns: say1("You've hit your usage limit. Try again later."), err: "usage limit"},
		{name: "credit", turns: say1("Credit balance is too low"), err: "Credit balance"},
		{
			name: "on the wire", reason: "whatever the message is",
			turns: turn1(threadStatus("active"), retry, threadStatus("systemError"), say("Sorry."), say(" Bye.")),
			err:   "last status: 429", transient: true,
		},
		{
			name: "on the wire, without a reason", reason: "the message is all there is",
			turns: turn1(threadStatus("systemError"), say("The parrot is dead.")), err: "The parrot is dead.",
		},
		{
			name: "got over", reason: "the agent went on",
			turns: turn1(retry, threadStatus("systemError"), threadStatus("active"), say("Done.")),
		},
		{
			name: "after work", reason: "what the model would have done next, nobody knows",
			turns: turn1(tool("Read"), say(copilot429)), err: "Last error: 429",
		},
		{
			name: "after a file", reason: "the agent has changed something",
			turns: turn1(scripted.Action{Write: &scripted.Write{Path: "a", Text: "x"}}, say(copilot429)),
			err:   "Last error: 429",
		},
		{
			name: "in a later turn", reason: "an agent that has done something is not tried again",
			turns: append(turn1(tool("Read")), say1(codex429)...), err: "last status: 429",
		},
		{
			name: "after a file was written", reason: "that is work, too",
			turns: append(turn1(scripted.Action{Write: &scripted.Write{Path: "a", Text: "a"}}), say1(codex429)...),
			err:   "last status: 429",
		},
		{
			name: "after a file was not written", reason: "nothing was done yet", transient: true,
			turns: append(turn1(scripted.Action{Tool: nil, Read: &scripted.Read{Path: "a", Optional: true}}),
				say1(codex429)...),
			err: "last status: 429",
		},
		{
			name: "in a later turn, before any work", reason: "nothing was done yet",
			turns: append(say1("Hello."), say1(codex429)...), err: "last status: 429", transient: true,
		},
		{
			name: "silent", reason: "an agent whose model answers says something",
			turns: turn1(scripted.Action{Usage: &scripted.Usage{Used: 1, Size: 2}}, silence),
			err:   "nothing was heard of it from the first prompt to the end of limits.timeout, 10m0s",
		},
		{
			name: "silent in a later turn", reason: "it had the time to say something",
			turns: append(say1("Hello."), turn1(silence)...), err: "nothing was heard of it for the last 10m",
		},
		{
			name: "out of time in a later turn", reason: "the turn before took most of it",
			turns: append(turn1(sleep(6*time.Minute), say("Hello.")), turn1(silence)...),
		},
		{
			name: "silent after a call", reason: "the model was to speak, and had half of the time to do so",
			turns: turn1(sleep(time.Minute), tool("Read"), silence),
			err:   "nothing was heard of it for the last 9m",
		},
		{
			name: "silent after much work", reason: "it had less than half of the time left",
			turns: turn1(sleep(6*time.Minute), tool("Read"), silence),
		},
		{name: "silent in a call", reason: "the call is the agent's", turns: turn1(tool("Bash", silence))},
		{name: "slow", reason: "it was at work", turns: turn1(say("Let me see."), silence)},
		{name: "thinking", turns: turn1(scripted.Action{Think: &scripted.Think{Text: "Hm."}}, silence)},
		{
			name: "an answer about a status", reason: "it does not begin with it",
			turns: say1("The server answers with Error: 404 when a page is missing."),
		},
		{name: "a short answer", turns: say1("Error: there is no such file.")},
		{name: "an answer in JSON", turns: say1(`{"error": "no such file"}`)},
		{
			name: "what was to be found out", reason: "the agent asked the server, and not its model",
			turns: turn1(tool("Bash"), say("Error: 500 Internal Server Error")),
		},
		{
			name: "with tokens", reason: "its model answered",
			turns: []scripted.Turn{{Actions: acts{say(copilot400)}, Tokens: tokens}},
		},
		{name: "nothing said", reason: "agents may have nothing to say", turns: turn1()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := config(t, "limits: {timeout: 10m}", scripted.Script{Turns: tt.turns})
				prompts := []string{"one", "two"}[:len(tt.turns)]
				o := hold(t.Context(), c, prompts...)
				checkOutage(t, tt.reason, tt.err, tt.transient, o.err)
				require.Len(t, o.session.Turns(), len(prompts), "what there is of the turn is shown")

				c.Recording = Recording{
					Next:     "record it",
					Cassette: &cassette.Cassette{Path: "c.jsonl", Turns: o.session.Turns()},
				}
				s := Replay(c)
				err := s.Ask(t.Context(), prompts)
				checkOutage(t, "a cassette that was made of it has the same session", tt.err, false, err)
				if tt.err != "" {
					require.Equal(t, "record it", fault.Advice(err))
					require.ErrorContains(t, err, "c.jsonl: ")
				}
			})
		})
	}
}

func turn1(actions ...scripted.Action) []scripted.Turn { return []scripted.Turn{{Actions: actions}} }

func say1(text string) []scripted.Turn { return turn1(say(text)) }

func checkOutage(t *testing.T, reason, want string, transient bool, err error) {
	t.Helper()
	if want == "" {
		require.NoError(t, err, reason)
		return
	}
	require.ErrorContains(t, err, "the agent's model ", reason)
	require.ErrorContains(t, err, want, reason)
	assert.Equal(t, transient, fault.IsTransient(err), reason)
	assert.NotEmpty(t, fault.Advice(err))
}

// TestOutageAfterServers holds that servers which were asked what they have are no work of the agent's.
func TestOutageAfterServers(t *testing.T) {
	for method, works := range map[string]bool{"tools/list": false, "tools/call": true} {
		events := []trajectory.Event{
			{Turn: 1, Body: trajectory.Prompt{Text: "one"}},
			{Turn: 1, Body: trajectory.MCPCall{Server: "docs", Method: method}},
			{Turn: 1, Body: trajectory.Message{Text: copilot400}},
			{Turn: 1, Body: trajectory.Stop{Reason: "end_turn"}},
		}
		require.Equal(t, works, checkModel(events, time.Hour) == nil, method)
	}
}

// TestOutageBeforeLimits holds that an outage is told before what follows from it: a turn without tokens.
func TestOutageBeforeLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(t, "limits: {max_tokens: 9}", scripted.Script{Turns: say1(codex429)})
		require.ErrorContains(t, hold(t.Context(), c, "one").err, "the agent's model could not be asked: exceeded")
	})
}

// TestRefusedPrompts holds which errors that agents answer a prompt with are their model's.
func TestRefusedPrompts(t *testing.T) {
	tests := []struct {
		name, message string
		code          int
		model         bool
		transient     bool
	}{
		{name: "gemini", code: 401, message: `{"error":{"code":401,"status":"UNAUTHENTICATED"}}`, model: true},
		{name: "gemini, later", code: 429, message: "RESOURCE_EXHAUSTED", model: true, transient: true},
		{name: "codex", code: -32000, message: "Authentication required", model: true},
		{
			name: "codex, overloaded", code: -32603, message: "We're currently experiencing high demand", model: true,
			transient: true,
		},
		{name: "opencode", code: -32603, message: "Internal error: Incorrect API key provided", model: true},
		{name: "claude", code: -32603, message: "API Error: 529 Overloaded", model: true, transient: true},
		{name: "qwen", code: -32603, message: "400 The model refused this request", model: true},
		{name: "the first status", code: 400, message: "No", model: true},
		{name: "no status", code: 600, message: "No"},
		{name: "a bug", code: -32603, message: "Internal error: x is not a function"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := config(t, "", scripted.Script{
					Turns: []scripted.Turn{{Error: &scripted.Error{Code: tt.code, Message: tt.message}}},
				})
				err := hold(t.Context(), c, "one").err
				require.ErrorContains(t, err, tt.message)
				named := strings.HasPrefix(err.Error(), "the agent's model could not be asked: ")
				require.Equal(t, tt.model, named, err)
				require.Equal(t, tt.transient, fault.IsTransient(err))
			})
		})
	}
}

// TestDeeds: what the agent asked of the client counts as work, unless it was refused.
func TestDeeds(t *testing.T) {
	for _, tt := range []struct {
		body trajectory.Body
		want bool
	}{
		{trajectory.ToolStart{}, true},
		{trajectory.FileWrite{}, true},
		{trajectory.FileWrite{Error: "outside"}, false},
		{trajectory.Terminal{}, true},
		{trajectory.Terminal{Error: "not allowed"}, false},
		{trajectory.MCPCall{Method: "tools/call"}, true},
		{trajectory.MCPCall{Method: "tools/list"}, false},
		{trajectory.Message{}, false},
	} {
		assert.Equal(t, tt.want, isDeed(tt.body), "%T%+v", tt.body, tt.body)
	}
}

// TestRateLimits holds which outages end when a limit of the account does, in words of real agents, also after work.
func TestRateLimits(t *testing.T) {
	for said, want := range map[string]bool{
		copilot429: true, codex429: true, copilot500: false, copilot401: false,
		`Internal error: You've hit your 5-hour limit · resets 1:06am (UTC) {"errorKind":"rate_limit"}`:        true,
		`API Error: Server is temporarily limiting requests (not your usage limit) {"errorKind":"rate_limit"}`: true,
		`You've hit your usage limit. Upgrade to Pro or try again at 1:06 AM. usage_limit_exceeded`:            true,
		"Claude AI usage limit reached|1796000000":                                                             true,
		`429 {"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}`:              false,
		"Credit balance is too low": false,
		"API Error: 529 Overloaded": false,
	} {
		err := newOutage(said, errors.New(said))
		for _, events := range [][]trajectory.Event{nil, {{Body: trajectory.ToolStart{}}}} {
			s := Session{turns: []cassette.Turn{{Events: events}}}
			require.Equal(t, want, fault.IsRateLimit(s.mayPass(err)), said)
		}
	}
}
