package acp

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	withModes = `{"sessionId":"s","modes":{"currentModeId":"ask",` +
		`"availableModes":[{"id":"ask","name":"Ask"},{"id":"code"}]}}`

	withURLs = `{"sessionId":"s","modes":{"currentModeId":"https://example.com/modes/agent",` +
		`"availableModes":[{"id":"https://example.com/modes/agent","name":"Agent"},` +
		`{"id":"https://example.com/modes#autopilot"}]}}`

	withOptions = `{"sessionId":"s","configOptions":[
		{"id":"mode","name":"Mode","category":"mode","type":"select","currentValue":"ask",
			"options":[{"value":"ask"},{"value":"code"}]},
		{"id":"llm","name":"Model","category":"model","type":"select","currentValue":"small","options":[
			{"group":"g","name":"G","options":[{"value":"small"},{"value":"large"}]},{"value":"other"}]},
		{"id":"web","name":"Web","type":"boolean","currentValue":false}]}`
)

func TestSettings(t *testing.T) {
	type set = func(*Session) error
	mode := func(id string) set { return func(s *Session) error { return s.SetMode(context.Background(), id) } }
	model := func(id string) set { return func(s *Session) error { return s.SetModel(context.Background(), id) } }
	option := func(id, value string) set {
		return func(s *Session) error { return s.SetConfigOption(context.Background(), id, value) }
	}
	tests := []struct {
		name    string
		session string
		set     set
		want    string // method and params, or the error
	}{
		{"mode", withModes, mode("code"), `session/set_mode {"sessionId":"s","modeId":"code"}`},
		{
			"mode that is not offered", withModes, mode("yolo"),
			`acp: mode "yolo" is not offered: the agent offers "ask", "code"`,
		},
		{
			"mode as an option", withOptions, mode("code"),
			`session/set_config_option {"sessionId":"s","configId":"mode","value":"code"}`,
		},
		{
			"mode by the last part of its URL", withURLs, mode("autopilot"),
			`session/set_mode {"sessionId":"s","modeId":"https://example.com/modes#autopilot"}`,
		},
		{
			"mode by its URL", withURLs, mode("https://example.com/modes/agent"),
			`session/set_mode {"sessionId":"s","modeId":"https://example.com/modes/agent"}`,
		},
		{
			"mode that is none of the URLs", withURLs, mode("modes"),
			`acp: mode "modes" is not offered: the agent offers "agent", "autopilot"`,
		},
		{"no modes", newSessionResult, mode("code"), `acp: mode "code" is not offered: the agent offers none`},
		{
			"model in a group", withOptions, model("large"),
			`session/set_config_option {"sessionId":"s","configId":"llm","value":"large"}`,
		},
		{
			"model", withOptions, model("other"),
			`session/set_config_option {"sessionId":"s","configId":"llm","value":"other"}`,
		},
		{
			"model that is not offered", withOptions, model("huge"),
			`acp: model "huge" is not offered: the agent offers "small", "large", "other"`,
		},
		{"no models", withModes, model("large"), `acp: model "large" is not offered: the agent offers none`},
		{
			"boolean option", withOptions, option("web", "true"),
			`session/set_config_option {"sessionId":"s","configId":"web","type":"boolean","value":true}`,
		},
		{
			"bad boolean", withOptions, option("web", "yes"),
			`acp: config option "web": value "yes" is not offered: the agent offers "false", "true"`,
		},
		{
			"option that is not offered", withOptions, option("x", "y"),
			`acp: config option "x" is not offered: the agent offers "mode", "llm", "web"`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, p := open(t, ClientConfig{}, oneLine(tt.session))
			var sent string
			background(t, func() {
				if m, err := p.tryNext(); err == nil {
					sent = m.Method + " " + string(m.Params)
					p.send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
				}
			})
			err := tt.set(s)
			require.NoError(t, s.client.Close()) // ends the agent's wait where nothing was sent
			if err != nil {
				var e *NotOfferedError
				require.ErrorAs(t, err, &e)
				sent = err.Error()
			}
			assert.Equal(t, tt.want, sent)
		})
	}
}

// TestSettingsFollow checks that a session knows its current settings, whoever changed them.
func TestSettingsFollow(t *testing.T) {
	s, p := open(t, ClientConfig{DrainIdle: -1}, withModes)
	background(t, func() {
		p.answer(MethodSetMode, `{}`)
		m := p.expect(MethodPrompt)
		p.send(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` +
			`{"sessionUpdate":"current_mode_update","currentModeId":"ask"}}}`)
		p.send(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` +
			`{"sessionUpdate":"config_option_update","configOptions":[` +
			`{"id":"m","category":"model","type":"select","currentValue":"a",` +
			`"options":[{"value":"a"},{"value":"b"}]}]}}}`)
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}`, m.ID)
		p.answer(MethodSetConfigOption, `{"configOptions":[`+
			`{"id":"m","category":"model","type":"select","currentValue":"b","options":[{"value":"b"}]}]}`)
	})
	require.NoError(t, s.SetMode(context.Background(), "code"))
	assert.Equal(t, "code", s.Modes().CurrentModeID)
	_, err := s.Prompt(context.Background())
	require.NoError(t, err)
	assert.Equal(t, "ask", s.Modes().CurrentModeID)
	assert.Equal(t, "a", s.ConfigOptions()[0].CurrentValue)
	require.NoError(t, s.SetModel(context.Background(), "b"))
	assert.Equal(t, "b", s.ConfigOptions()[0].CurrentValue)
	assert.Error(t, s.SetModel(context.Background(), "a"), "it is not offered any more")
}
