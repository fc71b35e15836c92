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
					Name: "Loopback", BaseURL: "http://127.0.0.1:1/v1", WireAPI: "responses", EnvKey: "KEY",
				},
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
				dir = write(t, test.file, test.text)
			}
			got, err := Resolve(test.kind, test.preset, dir)
			require.NoError(t, err)
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(Preset{}), cmpopts.EquateEmpty()); diff != "" {
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
			name: "no presets for the kind", kind: "acp", preset: "x",
			want: `preset "x": agents of kind acp have no presets`,
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
			want: `preset "prod": DIR/claude-code.toml:1: not valid TOML, or not in tables [groups.NAME]`,
		},
		{
			name: "not TOML", kind: "claude-code-acp", preset: "prod", text: "[groups.prod]\nKEY = VALUE\n",
			want: `preset "prod": DIR/claude-code.toml:2: not valid TOML, or not in tables [groups.NAME]`,
		},
		{
			name: "duplicate key", kind: "claude-code-acp", preset: "prod",
			text: "[groups.prod]\nA = 'VALUE'\nA = 'VALUE'\n",
			want: `preset "prod": DIR/claude-code.toml:3: not valid TOML, or not in tables [groups.NAME]`,
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
			want: `preset "prod": DIR/claude-code.toml:1: [groups.prod] sets no variable, so the agent cannot log in`,
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
DIR/codex.toml:1: [model_providers.p] "base_url": is required
DIR/codex.toml:2: [model_providers.p] "nane": unknown key
DIR/codex.toml:5: [model_providers.p.env] "lower": unknown key; names of variables are in upper case`,
		},
		{
			name: "provider without models", kind: "opencode-acp", preset: "p",
			text: "[model_providers.p]\nbase_url = 'VALUE'\nwire_api = 'VALUE'\n",
			want: `preset "p": DIR/opencode.toml:1: [model_providers.p] "models": is required
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
		"groups = 'a'\n", "[groups]\nx = 2020-01-01\n", "\xff", "[[groups.x]]\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, p := range profiles {
			if p.decode == nil {
				continue
			}
			if preset, err := p.decode(presetFile{"p.toml", data}, "x"); err == nil {
				_, err = p.Launch("", nil, preset)
				require.NoError(t, err)
			}
		}
	})
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
		for _, key := range []string{"A", "a", "secret", "endpoint"} {
			_, err := decodeGroup(presetFile{"p.toml", []byte("[groups.x]\n" + key + " = " + value + "\n")}, "x")
			if err != nil {
				require.NotContains(t, err.Error(), secretValue)
			}
		}
	})
}
