package secret_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/secret"
)

func TestGuess(t *testing.T) {
	const masked = "[REDACTED:key]"
	tests := []struct{ name, text, want string }{
		{"a bearer", "Authorization: Bearer abc123def456, x", "Authorization: Bearer " + masked + ", x"},
		{"in lower case", "authorization: bearer abc123def456", "authorization: bearer " + masked},
		{"basic", `-H "Authorization: Basic dXNlcjpwYXNzMQ=="`, `-H "Authorization: Basic ` + masked + `"`},
		{"a proxy's", "Proxy-Authorization: Basic dXNlcjpwYXNzMQ==", "Proxy-Authorization: Basic " + masked},
		{"in an object", `{'Authorization': 'Bearer abc123def456'}`, `{'Authorization': 'Bearer ` + masked + `'}`},
		{"a header of its own", "x-api-key: abc123def456", "x-api-key: " + masked},
		{"a URL", "postgres://user:pass@localhost/db", "postgres://user:" + masked + "@localhost/db"},
		{"two URLs", "a://u:p4ss@h b://u:w0rd@h", "a://u:" + masked + "@h b://u:" + masked + "@h"},
		{"a shell's", "export MY_API_KEY=abc123def456\n", "export MY_API_KEY=" + masked + "\n"},
		{"in quotes", `DB_TOKEN="abc123def456"`, `DB_TOKEN="` + masked + `"`},
		{"escaped", `{\"db_password\": \"abc123def456\"}`, `{\"db_password\": \"` + masked + `\"}`},
		{"YAML", "api-key: abc123def456", "api-key: " + masked},
		{"one that is known", "API_KEY=known-0123456", "API_KEY=[REDACTED:KNOWN]"},
	}
	var s secret.Set
	s.Mark("KNOWN", "known-0123456")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, s.Guess(tt.text))
			assert.Equal(t, tt.want, s.Guess(tt.want), "masked again")
			if tt.name != "one that is known" {
				assert.Equal(t, tt.text, s.String(tt.text), "nothing is guessed elsewhere")
			}
			raw, err := json.Marshal(map[string]any{"text": tt.text})
			require.NoError(t, err)
			var got map[string]string
			require.NoError(t, json.Unmarshal(s.GuessJSON(raw), &got))
			assert.Equal(t, tt.want, got["text"])
		})
	}
	for _, text := range []string{
		"https://example.com:8080/a@b", "postgres://postgres:postgres@host", "postgres://$USER:$PASSWORD@host/db",
		"API_KEY=$(cat key1)", "API_KEY: string", `token = "x1234567890"`, "api_key=os.environ[\"KEY_NUMBER_1\"]",
		"key: abc123def456", "max_tokens: 12345678901", "basic authentication", "Authorization: Bearer", "PRIMARY_KEY=",
		"the bearer of this letter", "://:@", "_KEY=", "a_key=short1",
	} {
		assert.Equal(t, text, s.Guess(text))
	}
	var none *secret.Set
	assert.Equal(t, "API_KEY=abc123def456", none.Guess("API_KEY=abc123def456"))
}

// TestGuessJSON: a key of an object tells what its value is.
func TestGuessJSON(t *testing.T) {
	var s secret.Set
	for _, tt := range [][2]string{
		{`{"api_key":"abc123def456","n":1}`, `{"api_key":"[REDACTED:key]","n":1}`},
		{`{"Authorization":"Bearer abc123def456"}`, `{"Authorization":"Bearer [REDACTED:key]"}`},
		{`{"api_key":null,"a":"abc123def456"}`, `{"api_key":null,"a":"abc123def456"}`},
		{`["api_key","abc123def456"]`, `["api_key","abc123def456"]`},
		{`{"api_key":["abc123def456"]}`, `{"api_key":["abc123def456"]}`},
		{`{"api_key":"a template ${KEY1}"}`, `{"api_key":"a template ${KEY1}"}`},
		{`no JSON, API_KEY=abc123def456`, `no JSON, API_KEY=[REDACTED:key]`},
	} {
		assert.Equal(t, tt[1], string(s.GuessJSON([]byte(tt[0]))))
		assert.Equal(t, tt[0], string(s.JSON([]byte(tt[0]))))
	}
}

// FuzzGuess: what is masked is masked once, and JSON stays JSON.
func FuzzGuess(f *testing.F) {
	f.Add("API_KEY=abc123def456 a://u:p4ss@h")
	f.Add(`{"api_key":"abc123def456"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var s secret.Set
		once := s.Guess(text)
		require.Equal(t, once, s.Guess(once))
		if raw := []byte(text); json.Valid(raw) {
			require.True(t, json.Valid(s.GuessJSON(raw)))
		}
	})
}
