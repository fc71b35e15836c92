package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// secretValue is the value in the files of these tests. No error may show it.
const secretValue = "shush-do-not-show"

func write(t *testing.T, file, text string) (configDir string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	return dir
}

func TestResolve(t *testing.T) {
	tests := []struct {
		name, kind, file, text, preset string
		want                           Preset
	}{
		{
			name: "claude", kind: "claude-code-acp", file: "claude-code.toml", preset: "production",
			text: `
[groups.production]
ANTHROPIC_API_KEY = "a"
https_proxy = "b"
[groups.other]
X = "c"
`,
			want: Preset{
				Name: "production", Endpoint: Real,
				Env: map[string]string{"ANTHROPIC_API_KEY": "a", "https_proxy": "b"},
			},
		},
		{
			name: "claude with marks", kind: "claude-code-acp", file: "claude-code.toml", preset: "loopback",
			text: `
[groups.loopback]
endpoint = "scripted"
secret = ["TOKEN", "KEY", "TOKEN"]
KEY = "a"
TOKEN = "b"
`,
			want: Preset{
				Name: "loopback", Endpoint: Scripted, Secret: []string{"KEY", "TOKEN"},
				Env: map[string]string{"KEY": "a", "TOKEN": "b"},
			},
		},
		{
			name: "claude with an empty key beside a token",
			kind: "claude-code-acp", file: "claude-code.toml", preset: "token",
			text: "[groups.token]\nANTHROPIC_API_KEY = ''\nANTHROPIC_AUTH_TOKEN = 'a'\n",
			want: Preset{
				Name: "token", Endpoint: Real,
				Env: map[string]string{"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": "a"},
			},
		},
		{
			name: "claude with a byte order mark", kind: "claude-code-acp", file: "claude-code.toml", preset: "x",
			text: "\ufeff[groups.x]\r\nA = 'a'\r\n",
			want: Preset{Name: "x", Endpoint: Real, Env: map[string]string{"A": "a"}},
		},
		{
			name: "gemini", kind: "gemini-acp", file: "gemini.toml", preset: "production",
			text: "[groups.production]\nGEMINI_API_KEY = 'a'\nsecret = ['GEMINI_API_KEY']\n",
			want: Preset{
				Name: "production", Endpoint: Real, Env: map[string]string{"GEMINI_API_KEY": "a"},
				Secret: []string{"GEMINI_API_KEY"},
			},
		},
		{name: "gemini does without", kind: "gemini-acp", want: Preset{Endpoint: Real}},
		{
			name: "codex", kind: "codex-acp", file: "codex.toml", preset: "loopback",
			text: `
[model_providers.loopback]
name = "Loopback"
base_url = "http://127.0.0.1:1/v1"
wire_api = "responses"
env_key = "KEY"
endpoint = "scripted"
secret = ["KEY"]
[model_providers.loopback.env]
KEY = "a"
`,
			want: Preset{
				Name: "loopback", Endpoint: Scripted, Secret: []string{"KEY"}, Env: map[string]string{"KEY": "a"},
				provider: &provider{
					Name: "Loopback", BaseURL: "http://127.0.0.1:1/v1", EnvKey: "KEY",
					Own: map[string]any{"wire_api": "responses"},
				},
			},
		},
		{
			name: "claude as llman once wrote it", kind: "claude-cli", file: "claude-code.toml", preset: "old",
			text: "[groups.old]\napi_host = 'a'\napi_key = 'b'\n",
			want: Preset{
				Name: "old", Endpoint: Real,
				Env: map[string]string{"ANTHROPIC_BASE_URL": "a", "ANTHROPIC_AUTH_TOKEN": "b"},
			},
		},
		{
			name: "codex with the keys of others", kind: "codex-acp", file: "codex.toml", preset: "azure",
			text: `
[model_providers.azure]
base_url = "https://models.example.com/openai?sig=sk-test"
request_max_retries = 4
websocket_connect_timeout_ms = 1000
stream_max_retries = 5
env_key_instructions = "ask for one"
auth = {command = "print-token"}
aws = {profile = "production"}
stream_idle_timeout_ms = 300000
supports_websockets = false
query_params = {api-version = "2025-04-01-preview", sig = "sk-test-in-a-query"}
http_headers = {Authorization = "Bearer sk-test-in-a-header"}
env_http_headers = {X-Team = "TEAM"}
experimental_bearer_token = "sk-test-bearer"
[model_providers.azure.llman_configs]
override_name = "stable"
`,
			want: Preset{
				Name: "azure", Endpoint: Real, Env: map[string]string{},
				provider: &provider{
					Name: "azure", BaseURL: "https://models.example.com/openai?sig=sk-test",
					Own: map[string]any{
						"websocket_connect_timeout_ms": int64(1000), "stream_max_retries": int64(5),
						"env_key_instructions": "ask for one", "auth": map[string]any{"command": "print-token"},
						"aws":                 map[string]any{"profile": "production"},
						"request_max_retries": int64(4), "stream_idle_timeout_ms": int64(300000),
						"supports_websockets": false,
						"query_params": map[string]any{
							"api-version": "2025-04-01-preview", "sig": "sk-test-in-a-query",
						},
						"http_headers":              map[string]any{"Authorization": "Bearer sk-test-in-a-header"},
						"env_http_headers":          map[string]any{"X-Team": "TEAM"},
						"experimental_bearer_token": "sk-test-bearer",
					},
				},
				masked: map[string]string{
					"base_url":                 "https://models.example.com/openai?sig=sk-test",
					"query_params_api_version": "2025-04-01-preview", "query_params_sig": "sk-test-in-a-query",
					"http_headers_Authorization":       "Bearer sk-test-in-a-header",
					"http_headers_Authorization_token": "sk-test-in-a-header",
					"experimental_bearer_token":        "sk-test-bearer",
				},
			},
		},
		{
			name: "acp", kind: "acp", file: "acp.toml", preset: "mine",
			text: "[groups.mine]\nKEY = 'a'\nsecret = ['KEY']\nendpoint = 'scripted'\nauth_method = 'key'\n",
			want: Preset{
				Name: "mine", Endpoint: Scripted, Env: map[string]string{"KEY": "a"}, Secret: []string{"KEY"},
				authMethod: &authMethod{"key", "DIR/acp.toml:5"},
			},
		},
		{
			name: "codex with the least", kind: "codex-acp", file: "codex.toml", preset: "mine",
			text: "[model_providers.mine]\nbase_url = 'http://127.0.0.1:1/v1'\n",
			want: Preset{
				Name: "mine", Endpoint: Real, Env: map[string]string{},
				provider: &provider{Name: "mine", BaseURL: "http://127.0.0.1:1/v1"},
			},
		},
		{
			name: "opencode", kind: "opencode-acp", file: "opencode.toml", preset: "mine",
			text: "[model_providers.mine]\nbase_url = 'http://127.0.0.1:1/v1'\nmodels = ['a', 'b']\nenv_key = 'KEY'\n" +
				"[model_providers.mine.env]\nKEY = 'a'\n",
			want: Preset{
				Name: "mine", Endpoint: Real, Env: map[string]string{"KEY": "a"},
				provider: &provider{
					Name: "mine", BaseURL: "http://127.0.0.1:1/v1", EnvKey: "KEY", Models: []string{"a", "b"},
				},
			},
		},
		{
			name: "opencode under an account of its own", kind: "opencode-acp", file: "opencode.toml", preset: "mine",
			text: "[model_providers.mine.files]\n'.local/share/opencode/auth.json' = 'DIR/auth.json'\n",
			want: Preset{
				Name: "mine", Endpoint: Real, Env: map[string]string{},
				files: []accountFile{{
					File{Path: ".local/share/opencode/auth.json", Data: []byte("{}"), From: "DIR/auth.json"},
					"DIR/opencode.toml:2",
				}},
			},
		},
		{name: "opencode does without", kind: "opencode-acp", want: Preset{Endpoint: Real}},
		{
			name: "fake-acp only records the name", kind: "fake-acp", preset: "any",
			want: Preset{Name: "any", Endpoint: Scripted},
		},
		{name: "acp does without", kind: "acp", want: Preset{Endpoint: Real}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if test.file != "" {
				dir = write(t, test.file, strings.ReplaceAll(test.text, "DIR/", ""))
				require.NoError(t, os.WriteFile(filepath.Join(dir, "auth.json"), []byte("{}"), 0o600))
			}
			got, err := Resolve(test.kind, test.preset, dir)
			require.NoError(t, err)
			unexported := cmp.AllowUnexported(Preset{}, accountFile{}, authMethod{})
			if m := got.authMethod; m != nil {
				m.at = strings.ReplaceAll(m.at, dir, "DIR")
			}
			for i, f := range got.files {
				got.files[i].at = strings.ReplaceAll(f.at, dir, "DIR")
				got.files[i].From = strings.ReplaceAll(f.From, dir, "DIR")
			}
			if diff := cmp.Diff(test.want, got, unexported, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("preset (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResolveTooLarge(t *testing.T) {
	dir := write(t, "claude-code.toml", strings.Repeat("#\n", maxPresets))
	_, err := Resolve("claude-code-acp", "x", dir)
	assert.ErrorContains(t, err, "the file exceeds the limit of 1048576 bytes")
}

func TestConfigDir(t *testing.T) {
	const file, text = "claude-code.toml", "[groups.x]\nFROM = 'HERE'\n"
	given := write(t, file, strings.Replace(text, "HERE", "given", 1))
	named := write(t, file, strings.Replace(text, "HERE", "LLMAN_CONFIG_DIR", 1))
	user := t.TempDir()
	t.Setenv("HOME", user)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("AppData", user)
	config, err := os.UserConfigDir()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(config, "llman"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(config, "llman", file),
		[]byte(strings.Replace(text, "HERE", "user", 1)), 0o600))

	for _, test := range []struct{ name, given, named, want string }{
		{name: "given wins", given: given, named: named, want: "given"},
		{name: "then the variable", named: named, want: "LLMAN_CONFIG_DIR"},
		{name: "then the user's", want: "user"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("LLMAN_CONFIG_DIR", test.named)
			p, err := Resolve("claude-code-acp", "x", test.given)
			require.NoError(t, err)
			assert.Equal(t, test.want, p.Env["FROM"])
		})
	}
}
