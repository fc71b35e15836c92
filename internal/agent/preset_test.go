package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pelletier/go-toml/v2"
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
base_url = "https://models.example.com/openai"
request_max_retries = 4
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
					Name: "azure", BaseURL: "https://models.example.com/openai",
					Own: map[string]any{
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

func TestResolveErrors(t *testing.T) {
	claude := func(text string) string { return strings.ReplaceAll(text, "VALUE", secretValue) }
	tests := []struct{ name, kind, text, preset, want string }{
		{
			name: "unknown kind", kind: "claude", preset: "x",
			want: `unknown kind of agent "claude"; available: ` + strings.Join(Kinds(), ", "),
		},
		{
			name: "no preset", kind: "claude-code-acp",
			want: "agents of kind claude-code-acp need a preset from claude-code.toml",
		},
		{
			name: "nothing", kind: "acp", preset: "x", text: "[groups.x]\n",
			want: `preset "x": DIR/acp.toml:1: [groups.x] sets no variable and has no ` + "`files`" +
				`, so the agent cannot log in`,
		},
		{
			name: "no file", kind: "claude-code-acp", preset: "x",
			want: `preset "x": open DIR/claude-code.toml: no such file or directory`,
		},
		{
			name: "another name", kind: "claude-code-acp", preset: "prod",
			text: "[groups.production]\nKEY = 'VALUE'\n[groups.loopback]\nKEY = 'VALUE'\n",
			want: `DIR/claude-code.toml: unknown preset "prod"; available: loopback, production`,
		},
		{
			name: "empty file", kind: "claude-code-acp", preset: "prod", text: "\n",
			want: `DIR/claude-code.toml: unknown preset "prod"; the file has no presets`,
		},
		{
			name: "other section", kind: "claude-code-acp", preset: "prod", text: "[group.prod]\nKEY = 'VALUE'\n",
			want: `preset "prod": DIR/claude-code.toml:1: unknown key "group"; presets belong in tables [groups.NAME]`,
		},
		{
			name: "not a table", kind: "claude-code-acp", preset: "prod", text: "[groups]\nprod = 'VALUE'\n",
			want: `preset "prod": DIR/claude-code.toml:2: groups.prod must be a table`,
		},
		{
			name: "key outside of tables", kind: "claude-code-acp", preset: "prod", text: "KEY = 'VALUE'\n",
			want: `preset "prod": DIR/claude-code.toml:1: unknown key "KEY"; presets belong in tables [groups.NAME]`,
		},
		{
			name: "not TOML", kind: "claude-code-acp", preset: "prod", text: "[groups.prod]\nKEY = VALUE\n",
			want: `preset "prod": DIR/claude-code.toml:2: not valid TOML`,
		},
		{
			name: "duplicate key", kind: "claude-code-acp", preset: "prod",
			text: "[groups.prod]\nA = 'VALUE'\nA = 'VALUE'\n",
			want: `preset "prod": DIR/claude-code.toml:3: not valid TOML`,
		},
		{
			name: "everything wrong in a group", kind: "claude-code-acp", preset: "prod",
			text: "[groups.prod]\nsecrets = ['A']\nendpoint = 'VALUE'\nsecret = ['B']\nA = 1\nHOME = 'VALUE'\n",
			want: `preset "prod": DIR/claude-code.toml:3: [groups.prod] "endpoint": must be "real" or "scripted"
DIR/claude-code.toml:5: [groups.prod] "A": must be a string
DIR/claude-code.toml:6: [groups.prod] "HOME": cannot be preset, because each run sets its own
DIR/claude-code.toml:2: [groups.prod] "secrets": unknown key; names of variables are in upper case
DIR/claude-code.toml:4: [groups.prod] "secret": names a variable that the preset does not set`,
		},
		{
			name: "secret is no list", kind: "claude-code-acp", preset: "prod",
			text: "[groups.prod]\nsecret = 'VALUE'\n",
			want: `preset "prod": DIR/claude-code.toml:2: [groups.prod] "secret": must be a list of strings`,
		},
		{
			name: "no variable", kind: "claude-code-acp", preset: "prod", text: "[groups.prod]\nendpoint = 'real'\n",
			want: `preset "prod": DIR/claude-code.toml:1: [groups.prod] sets no variable and has no ` + "`files`" +
				`, so the agent cannot log in`,
		},
		{
			name: "empty key", kind: "claude-code-acp", preset: "prod",
			text: "[groups.prod]\nANTHROPIC_API_KEY = \"\"\nANTHROPIC_MODEL = 'VALUE'\n",
			want: `preset "prod": DIR/claude-code.toml:2: [groups.prod] "ANTHROPIC_API_KEY": ` +
				`is empty, so the agent cannot log in`,
		},
		{
			name: "empty key of a provider", kind: "codex-acp", preset: "p",
			text: "[model_providers.p]\nbase_url = 'VALUE'\nenv_key = 'A_KEY'\n[model_providers.p.env]\nA_KEY = ''\n",
			want: `preset "p": DIR/codex.toml:5: [model_providers.p.env] "A_KEY": is empty, so the agent cannot log in`,
		},
		{
			name: "NUL in a value", kind: "claude-code-acp", preset: "prod",
			text: "[groups.prod]\nA = \"VALUE\\u0000\"\n",
			want: `preset "prod": DIR/claude-code.toml:2: [groups.prod] "A": contains a NUL character`,
		},
		{
			name: "everything wrong in a provider", kind: "codex-acp", preset: "p",
			text: "[model_providers.p]\nnane = 'VALUE'\nwire_api = 1\n[model_providers.p.env]\nlower = 'VALUE'\n",
			want: `preset "p": DIR/codex.toml:3: [model_providers.p] "wire_api": must be a string
DIR/codex.toml:2: [model_providers.p] "nane": unknown key, did you mean "name"?
DIR/codex.toml:5: [model_providers.p.env] "lower": unknown key; names of variables are in upper case`,
		},
		{
			name: "provider without an address", kind: "codex-acp", preset: "p",
			text: "[model_providers.p]\nenv_key = 'A'\n[model_providers.p.env]\nA = 'VALUE'\n",
			want: `preset "p": DIR/codex.toml:1: [model_providers.p] "base_url": is required with other keys of a ` +
				"provider, unless `requires_openai_auth = true`",
		},
		{
			name: "nothing about an account", kind: "codex-acp", preset: "p",
			text: "[model_providers.p]\nname = 'VALUE'\n",
			want: `preset "p": DIR/codex.toml:1: [model_providers.p] "base_url": is required, unless ` + "`files`" +
				` has the account, such as .codex/auth.json`,
		},
		{
			name: "codex's own configuration", kind: "codex-acp", preset: "p",
			text: "model = 'VALUE'\n[model_providers.p]\nbase_url = 'VALUE'\n",
			want: `preset "p": DIR/codex.toml:1: unknown key "model"; presets belong in tables [model_providers.NAME]`,
		},
		{
			name: "section is no table", kind: "claude-code-acp", preset: "prod", text: "groups = 'VALUE'\n",
			want: `preset "prod": DIR/claude-code.toml:1: "groups" must have tables [groups.NAME]`,
		},
		{
			name: "old key and the new one", kind: "claude-code-acp", preset: "prod",
			text: "[groups.prod]\napi_host = ''\napi_key = 'VALUE'\nANTHROPIC_AUTH_TOKEN = 'VALUE'\n",
			want: `preset "prod": DIR/claude-code.toml:3: [groups.prod] "api_key": is the old name of ` +
				`ANTHROPIC_AUTH_TOKEN, which the preset sets too; remove one of them`,
		},
		{
			name: "old key that is empty", kind: "claude-code-acp", preset: "prod",
			text: "[groups.prod]\napi_host = 'VALUE'\napi_key = ''\n",
			want: `preset "prod": DIR/claude-code.toml:3: [groups.prod] "api_key": ` +
				`is empty, so the agent cannot log in`,
		},
		{
			name: "old keys of another kind", kind: "gemini-acp", preset: "prod",
			text: "[groups.prod]\napi_key = 'VALUE'\n",
			want: `preset "prod": DIR/gemini.toml:2: [groups.prod] "api_key": unknown key; ` +
				`names of variables are in upper case`,
		},
		{
			name: "everything wrong with files", kind: "acp", preset: "prod",
			text: `[groups.prod]
write_back = 'VALUE'
auth_method = 1
[groups.prod.files]
"../a" = "VALUE"
"/etc/b" = "VALUE"
"~/c" = "VALUE"
"d/./e" = "VALUE"
'f\g' = "VALUE"
"h" = ""
"i" = "~other/VALUE"
"." = "VALUE"
j.k = "VALUE"
`,
			want: `preset "prod": DIR/acp.toml:3: [groups.prod] "auth_method": must be a string
DIR/acp.toml:2: [groups.prod] "write_back": must be true or false
DIR/acp.toml:12: [groups.prod.files] ".": must be the path of a file below the agent's home, without . and ..
DIR/acp.toml:5: [groups.prod.files] "../a": must be the path of a file below the agent's home, without . and ..
DIR/acp.toml:6: [groups.prod.files] "/etc/b": must be relative to the agent's home, which is new for each run
DIR/acp.toml:8: [groups.prod.files] "d/./e": must be the path of a file below the agent's home, without . and ..
DIR/acp.toml:9: [groups.prod.files] "f\\g": must be a path with slashes
DIR/acp.toml:10: [groups.prod.files] "h": must name the file to copy
DIR/acp.toml:11: [groups.prod.files] "i": names another user's home: write an absolute path
DIR/acp.toml:13: [groups.prod.files] "j": must be a string
DIR/acp.toml:7: [groups.prod.files] "~/c": must be relative to the agent's home, which is new for each run`,
		},
		{
			name: "nothing to write back", kind: "acp", preset: "prod",
			text: "[groups.prod]\nA = 'VALUE'\nwrite_back = true\n",
			want: `preset "prod": DIR/acp.toml:3: [groups.prod] "write_back": is about ` + "`files`" +
				`, and the preset has none`,
		},
		{
			name: "files that hold each other", kind: "acp", preset: "prod",
			text: "[groups.prod.files]\na = 'VALUE'\n'A/b' = 'VALUE'\n",
			want: `preset "prod": DIR/acp.toml:2: [groups.prod.files] "a": is the path of "A/b" too`,
		},
		{
			name: "provider without models", kind: "opencode-acp", preset: "p",
			text: "[model_providers.p]\nbase_url = 'VALUE'\nwire_api = 'VALUE'\n",
			want: `preset "p": DIR/opencode.toml:1: [model_providers.p] "models": is required, unless ` + "`files`" +
				` has the account, such as .local/share/opencode/auth.json
DIR/opencode.toml:3: [model_providers.p] "wire_api": unknown key`,
		},
		{
			name: "inline tables and dotted keys", kind: "codex-acp", preset: "p",
			text: "model_providers.p.base_url = 'VALUE'\nmodel_providers.'p'.env = {A = 'VALUE',\n  b.c = 1 }\n",
			want: `preset "p": DIR/codex.toml:3: [model_providers.p.env] "b": unknown key; ` +
				`names of variables are in upper case`,
		},
		{
			name: "env is no table", kind: "codex-acp", preset: "p",
			text: "[model_providers.p]\nbase_url = 'VALUE'\nenv = 'VALUE'\n",
			want: `preset "p": DIR/codex.toml:3: [model_providers.p] "env": must be a table`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if p, ok := Lookup(test.kind); ok && test.text != "" {
				dir = write(t, p.PresetFile, claude(test.text))
			}
			got, err := Resolve(test.kind, test.preset, dir)
			require.Error(t, err)
			assert.Equal(t, test.want, strings.ReplaceAll(err.Error(), dir, "DIR"))
			assert.NotContains(t, err.Error(), secretValue)
			assert.Zero(t, got, "a preset beside an error")
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

// FuzzDecode looks for panics.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		"[groups.x]\nA = 'a'\nsecret = ['A']\nendpoint = 'scripted'\n",
		"[groups.x]\nA = a\n",
		"[model_providers.x]\nbase_url = 'a'\n[model_providers.x.env]\nKEY = \"\"\"a\"\"\"\n",
		"[model_providers.x]\nbase_url = 'a'\nmodels = ['b']\n",
		"[model_providers.x]\nbase_url = 'a'\nquery_params = {a.b = [1, 1.5, true, 2020-01-01]}\n[security]\na = []\n",
		"[model_providers.x]\nfiles = {'.codex/auth.json' = '~/a', '.codex/config.toml' = 'b'}\nwrite_back = true\n",
		"[groups.x]\napi_host = 'a'\napi_key = 'b'\nauth_method = ''\n[groups.x.files]\n'a' = 'b'\n",
		"[model_providers.x]\nbase_url = 'a'\nquery_params = {a = nan}\n",
		"groups = 'a'\n", "[groups]\nx = 2020-01-01\n", "\xff", "[[groups.x]]\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, p := range profiles {
			if p.decode == nil {
				continue
			}
			preset, err := p.decode(presetFile{"p.toml", data}, "x")
			if err != nil {
				continue
			}
			launch, err := p.Launch("agent", nil, preset)
			if err != nil {
				require.ErrorContains(t, err, "each run writes its own")
				continue
			}
			if p.Kind == "codex-acp" {
				requireProvider(t, preset.provider, launch.Files[0].Data)
			}
		}
	})
}

// requireProvider requires that Codex finds the provider in its configuration as the preset has it.
func requireProvider(t *testing.T, want *provider, config []byte) {
	t.Helper()
	var got map[string]any
	require.NoError(t, toml.Unmarshal(config, &got))
	require.Equal(t, false, got["allow_login_shell"])
	if want == nil {
		require.NotContains(t, got, "model_provider")
		return
	}
	wanted, err := toml.Marshal(want.forCodex())
	require.NoError(t, err)
	written, err := toml.Marshal(got["model_providers"].(map[string]any)["preset"])
	require.NoError(t, err)
	require.Equal(t, string(wanted), string(written))
}

// FuzzValue looks for errors that show a value.
func FuzzValue(f *testing.F) {
	for _, value := range []string{
		"VALUE", "['VALUE', 1]", "{a = 'VALUE'}", `"\uD800VALUE"`, "'VALUE", "1VALUE", `"VALUE\u0000"`,
	} {
		f.Add(strings.ReplaceAll(value, "VALUE", secretValue))
	}
	f.Fuzz(func(t *testing.T, value string) {
		if strings.ContainsAny(value, "\r\n") {
			t.Skip("the value may have keys, which errors do show")
		}
		for _, key := range []string{
			"A", "a", "secret", "endpoint", "files", "write_back", "auth_method", "api_key", "files.a",
		} {
			_, err := decodeClaude(presetFile{"p.toml", []byte("[groups.x]\n" + key + " = " + value + "\n")}, "x")
			if err != nil {
				require.NotContains(t, err.Error(), secretValue)
			}
		}
	})
}
