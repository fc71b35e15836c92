package scripted_test

import (
	"context"
	"encoding/json"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// TestDefaultOnTheWire holds the built-in script's first turn against testdata/default.ndjson, which is also the place
// to see what the actions look like on the wire.
func TestDefaultOnTheWire(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("/workspace is not an absolute path here")
	}
	c := open(t, scripted.Default(), "/workspace")
	var wire strings.Builder
	c.prompt()
	for {
		line := c.line()
		wire.WriteString(line)
		var f frame
		require.NoError(t, json.Unmarshal([]byte(line), &f))
		switch f.Method {
		case "fs/read_text_file":
			c.answer(f, `{"content":"# Shop\n"}`)
		case "session/request_permission":
			c.answer(f, `{"outcome":{"outcome":"selected","optionId":"allow"}}`)
		case "fs/write_text_file":
			c.answer(f, `{}`)
		case "":
			golden.Equal(t, "testdata/default.ndjson", wire.String())
			return
		}
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("/w is not an absolute path here")
	}
	script := scripted.Script{
		Auth:    []string{"key"},
		Session: scripted.Session{Modes: &scripted.Offer{Current: "a", Choices: []scripted.Choice{{ID: "a"}}}},
	}
	c := start(t, script)
	steps := []struct {
		method, params string
		code           int // 0: not refused
		message        string
	}{
		{"session/new", `{"cwd":"/w"}`, -32600, "session/new came before initialize"},
		{"initialize", `{}`, -32602, "initialize: protocolVersion is missing"},
		{"initialize", everything, 0, ""},
		{"session/new", `{"cwd":"/w"}`, -32000, "session/new: authenticate first"},
		{"authenticate", `{"methodId":"password"}`, -32602, `authenticate: unknown method "password"`},
		{"authenticate", `{"methodId":"key"}`, 0, ""},
		{"session/new", `{"cwd":"w"}`, -32602, `session/new: cwd "w" is not an absolute path`},
		{"session/new", `[]`, -32602, "session/new: invalid params: json: cannot unmarshal"},
		{"session/new", `{"cwd":"/w"}`, 0, ""},
		{"session/set_mode", `{"sessionId":"session-1","modeId":"b"}`, -32602, `session/set_mode: unknown mode "b"`},
		{"session/set_mode", `{"sessionId":"session-1","modeId":"a"}`, 0, ""},
		{
			"session/set_config_option", `{"sessionId":"session-1","configId":"x","value":"y"}`, -32602,
			`unknown option "x"`,
		},
		{"session/set_model", `{}`, -32601, "unknown method session/set_model"},
		{"session/prompt", `{"sessionId":"session-2","prompt":[]}`, -32602, `unknown session "session-2"`},
		{"session/prompt", `{"sessionId":"session-1"}`, -32602, "session/prompt: prompt is missing"},
		{
			"session/prompt", `{"sessionId":"session-1","prompt":[]}`, -32603,
			`prompt 1 is past the end of the script (turns: 0; "repeat" is not set)`,
		},
	}
	for i, s := range steps {
		c.request(s.method, s.params)
		f := c.next()
		require.Equal(t, strconv.Itoa(i), string(f.ID))
		if s.code == 0 {
			require.Nil(t, f.Error, s.method)
			continue
		}
		require.NotNil(t, f.Error, "%s %s", s.method, s.params)
		assert.Equal(t, s.code, f.Error.Code)
		assert.Contains(t, f.Error.Message, s.message)
	}
}

func TestLinesThatAreNotRequests(t *testing.T) {
	c := start(t, turn())
	c.write("") // nothing is said to the first four
	c.write("  ")
	c.write(`{"jsonrpc":"2.0","method":"x/notification"}`)
	c.write(`{"jsonrpc":"2.0","id":77,"result":{}}`)
	c.write("{")
	f := c.next()
	assert.Equal(t, -32700, f.Error.Code)
	assert.Equal(t, "null", string(f.ID))
	c.write("{}")
	f = c.next()
	assert.Equal(t, -32600, f.Error.Code)
	c.write(`{"jsonrpc":"2.0","id":"x","method":"y"}`)
	f = c.next()
	assert.Equal(t, `"x"`, string(f.ID))
}

func TestSessionOffers(t *testing.T) {
	models := []scripted.Choice{{ID: "small", Name: "Small", Description: "quick"}, {ID: "large"}}
	c := start(t, scripted.Script{Session: scripted.Session{
		Modes:   &scripted.Offer{Current: "ask", Choices: []scripted.Choice{{ID: "ask", Name: "Ask"}}},
		Models:  &scripted.Offer{Current: "small", Choices: models},
		Options: []scripted.Option{{ID: "effort", Current: "low", Choices: []scripted.Choice{{ID: "low"}}}},
		Before:  []scripted.Action{say("early")},
		After:   []scripted.Action{say("ready")},
	}})
	c.initialize()
	c.request("session/new", `{"cwd":`+strconv.Quote(t.TempDir())+`}`)
	assert.Equal(t, map[string]any{"type": "text", "text": "early"}, c.next().update("content"))
	f := c.next()
	want := `{
		"sessionId": "session-1",
		"modes": {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}]},
		"configOptions": [
			{"id": "effort", "name": "effort", "type": "select", "currentValue": "low",
				"options": [{"value": "low", "name": "low"}]},
			{"id": "model", "name": "Model", "category": "model", "type": "select", "currentValue": "small",
				"options": [
					{"value": "small", "name": "Small", "description": "quick"},
					{"value": "large", "name": "large"}
				]}
		]
	}`
	got, err := json.Marshal(f.Result)
	require.NoError(t, err)
	assert.JSONEq(t, want, string(got))
	assert.Equal(t, map[string]any{"type": "text", "text": "ready"}, c.next().update("content"))

	c.request("session/set_config_option", `{"sessionId":"session-1","configId":"model","value":"huge"}`)
	assert.ErrorContains(t, c.next().Error, `option "model" has no value "huge"`)
	c.request("session/set_config_option", `{"sessionId":"session-1","configId":"model","value":"large"}`)
	options := c.next().Result["configOptions"].([]any)
	assert.Equal(t, "large", options[1].(map[string]any)["currentValue"])
}

func TestTurnIsChosenByTheNumberOfThePrompt(t *testing.T) {
	script := scripted.Script{Turns: []scripted.Turn{
		{Actions: []scripted.Action{say("one")}},
		{
			Actions: []scripted.Action{say("two")}, Stop: "max_tokens",
			Tokens: &scripted.Tokens{Input: 1, Output: 2, Total: 3},
		},
		{Error: &scripted.Error{Code: 429, Message: "slow down"}},
	}}
	texts := func(c *talk, prompts int) (said []string) {
		for range prompts {
			c.prompt()
			for f := c.next(); ; f = c.next() {
				if f.Method != "" {
					said = append(said, f.update("content").(map[string]any)["text"].(string))
					continue
				}
				if f.Error != nil {
					said = append(said, f.Error.Error())
				} else {
					data, _ := json.Marshal(f.Result)
					said = append(said, string(data))
				}
				break
			}
		}
		return said
	}
	want := []string{
		"one", `{"stopReason":"end_turn"}`,
		"two", `{"stopReason":"max_tokens","usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3}}`,
		"slow down (429)",
	}
	past := `prompt 4 is past the end of the script (turns: 3; "repeat" is not set) (-32603)`
	assert.Equal(t, append(want, past), texts(open(t, script, t.TempDir()), 4))

	script.Repeat = true
	assert.Equal(t, append(want, want[:2]...), texts(open(t, script, t.TempDir()), 4))
}

func TestSecondPromptDuringATurnIsRefused(t *testing.T) {
	c := open(t, turn(scripted.Action{Sleep: scripted.Sleep(time.Hour)}), t.TempDir())
	c.prompt()
	c.prompt()
	f := c.next()
	assert.ErrorContains(t, f.Error, "the previous turn has not ended")
	c.cancel()
	assert.Equal(t, "cancelled", c.next().Result["stopReason"])
}

func TestSleepTakesTheTimeOfTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, turn(scripted.Action{Sleep: scripted.Sleep(time.Hour)}), t.TempDir())
		before := time.Now()
		c.prompt()
		assert.Equal(t, "end_turn", c.next().Result["stopReason"])
		assert.Equal(t, time.Hour, time.Since(before))
	})
}

func TestChunks(t *testing.T) {
	tests := []struct {
		name, text string
		chunks     int
		want       []string
	}{
		{"none is one", "héllo", 0, []string{"héllo"}},
		{"between characters", "héllo", 2, []string{"hé", "llo"}},
		{"no more than characters", "hé", 9, []string{"h", "é"}},
		{"empty text is still said", "", 3, []string{""}},
		{"bytes that are not text are replaced", "a\xff", 1, []string{"a\ufffd"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := open(t, turn(scripted.Action{Think: &scripted.Think{Text: tt.text, Chunks: tt.chunks}}), t.TempDir())
			c.prompt()
			var got []string
			for f := c.next(); f.Method != ""; f = c.next() {
				assert.Equal(t, "agent_thought_chunk", f.update("sessionUpdate"))
				got = append(got, f.update("content").(map[string]any)["text"].(string))
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestRunRefusesAnInvalidScript(t *testing.T) {
	err := scripted.Run(t.Context(), turn(scripted.Action{}), strings.NewReader(""), io.Discard, io.Discard)
	want := "scripted: invalid script: turns[0].actions[0]: want exactly one action, got none"
	assert.EqualError(t, err, want)
}

func TestRunEnds(t *testing.T) {
	silent := turn(scripted.Action{Silence: true})
	t.Run("with its input", func(t *testing.T) {
		c := open(t, silent, t.TempDir())
		c.prompt()
		require.NoError(t, c.agent.Stdin.Close())
		_, err := c.lines.ReadByte()
		require.ErrorIs(t, err, io.EOF)
		assert.NoError(t, c.agent.Wait())
	})
	t.Run("with its context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		script := silent
		script.Faults.IgnoreEOF = true
		agent := scripted.Start(ctx, script)
		require.NoError(t, agent.Stdin.Close())
		cancel()
		assert.ErrorIs(t, agent.Wait(), context.Canceled)
	})
	t.Run("when nobody reads", func(t *testing.T) {
		c := open(t, turn(say("hello")), t.TempDir())
		c.prompt()
		require.NoError(t, c.agent.Stdout.Close())
		assert.ErrorIs(t, c.agent.Wait(), io.ErrClosedPipe)
	})
}
