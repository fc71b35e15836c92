package secret_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sdd-eval/sdd-eval/internal/secret"
)

func TestAddFile(t *testing.T) {
	tests := []struct {
		name, file, text, want string
	}{
		{
			name: "tokens of a plan",
			file: `{
  "auth_mode": "chatgpt", "OPENAI_API_KEY": null,
  "tokens": {"access_token": "at-test-0123", "account_id": "11111111-2222-3333"},
  "list": ["long-enough-to-be-one"], "kind": "not-so-long", "base_url": "https://models.example.com/v1"
}`,
			text: `at-test-0123 11111111-2222-3333 long-enough-to-be-one not-so-long chatgpt "tokens": {` +
				` https://models.example.com/v1`,
			want: `[REDACTED:auth.json.access_token] [REDACTED:auth.json.account_id] [REDACTED:auth.json.list] ` +
				`not-so-long chatgpt "tokens": { https://models.example.com/v1`,
		},
		{
			name: "one line", file: `{"a": "b c d"}` + "\n",
			text: `x{"a": "b c d"}x {"a": "b"}`, want: `x[REDACTED:auth.json]x {"a": "b"}`,
		},
		{
			name: "lines",
			file: "# what this is for\n[default]\naws_secret_access_key = 'test/not+a=key'\nregion = eu-west-1\n",
			text: "test/not+a=key eu-west-1 [default] # what this is for",
			want: "[REDACTED:auth.json.aws_secret_access_key] eu-west-1 [default] # what this is for",
		},
		{
			name: "a key", file: "-----BEGIN TEST KEY-----\nbm90IGEga2V5IGF0IGFsbA==\n-----END TEST KEY-----\n",
			text: "-----BEGIN TEST KEY----- bm90IGEga2V5IGF0IGFsbA==",
			want: "-----BEGIN TEST KEY----- [REDACTED:auth.json]",
		},
		{
			name: "a key in JSON",
			file: `{"private_key": "-----BEGIN TEST KEY-----\nbm90IGEga2V5IGF0IGFsbA==\n-----END TEST KEY-----\n"}`,
			text: "bm90IGEga2V5IGF0IGFsbA==", want: "[REDACTED:auth.json.private_key]",
		},
		{
			name: "lines that end like an old Mac's", file: "first-line-of-a-key\rsecond-line-of-a-key\r",
			text: "second-line-of-a-key", want: "[REDACTED:auth.json]",
		},
		{
			name: "such lines in JSON", file: `{"key": "first-line-of-a-key\rsecond-line-of-a-key"}`,
			text: "second-line-of-a-key", want: "[REDACTED:auth.json.key]",
		},
		{name: "nothing", file: "", text: "a", want: "a"},
		{name: "a short word", file: "short", text: "short", want: "short"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var s secret.Set
			s.AddFile(".codex/auth.json", []byte(test.file))
			assert.Equal(t, test.want, s.String(test.text))
		})
	}
}

// FuzzAddFile holds that any file can be an account's: agents write them.
func FuzzAddFile(f *testing.F) {
	for _, seed := range []string{`{"a": ["b\rc", {"d": 1}]}`, "a=b\r\nc: d\re", "\xff\x00\r\x00=\r"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s secret.Set
		s.AddFile("auth.json", data)
		masked := s.Bytes(data)
		assert.Equal(t, masked, s.Bytes(masked), "nothing is masked twice")
	})
}
