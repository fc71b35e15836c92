package agent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLaunch(t *testing.T) {
	claude := Preset{Name: "p", Endpoint: Scripted, Env: map[string]string{"KEY": "a"}, Secret: []string{"KEY"}}
	codex := Preset{
		Name: "p", Endpoint: Real, Env: map[string]string{"KEY": "a"},
		provider: &provider{
			Name: "Mine", BaseURL: "http://127.0.0.1:1/v1", EnvKey: "KEY",
			Own: map[string]any{"wire_api": "responses"},
		},
	}
	openCode := []File{{Path: ".config/opencode/opencode.json", Data: []byte(`{
  "autoupdate": false,
  "permission": {
    "bash": "ask",
    "edit": "ask",
    "webfetch": "ask"
  },
  "share": "disabled"
}
`)}} // without a provider
	gemini := []File{{Path: ".gemini/settings.json", Data: []byte(`{
  "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
  "privacy": {"usageStatisticsEnabled": false}
}
`)}}
	tests := []struct {
		name, kind, command string
		args                []string
		preset              Preset
		want                Launch
	}{
		{
			name: "claude", kind: "claude-code-acp", preset: claude,
			want: Launch{
				Command: "claude-agent-acp", Env: map[string]string{"KEY": "a"}, Endpoint: Scripted,
				SecretNames: []string{"KEY"},
			},
		},
		{
			name: "claude by its other adapter", kind: "claude-code-acp", preset: claude,
			command: "claude-code-acp", args: []string{"-v"},
			want: Launch{
				Command: "claude-code-acp", Args: []string{"-v"}, Env: map[string]string{"KEY": "a"},
				Endpoint: Scripted, SecretNames: []string{"KEY"},
			},
		},
		{
			name: "codex", kind: "codex-acp", preset: codex,
			want: Launch{
				Command: "codex-acp", Env: map[string]string{"KEY": "a"}, Endpoint: Real,
				Files: []File{{Path: ".codex/config.toml", Data: []byte(`allow_login_shell = false
check_for_update_on_startup = false
model_provider = 'preset'

[analytics]
enabled = false

[model_providers]
[model_providers.preset]
base_url = 'http://127.0.0.1:1/v1'
env_key = 'KEY'
name = 'Mine'
wire_api = 'responses'
`)}},
			},
		},
		{
			name: "gemini", kind: "gemini-acp", preset: Preset{Endpoint: Real},
			want: Launch{
				Command: "gemini", Args: []string{"--acp"},
				Env:        map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "true"},
				AuthMethod: "gemini-api-key", Endpoint: Real,
				Files: gemini,
			},
		},
		{
			name: "arguments in place of the kind's", kind: "opencode-acp", args: []string{"acp", "--print-logs"},
			preset: Preset{Endpoint: Real, Env: map[string]string{"OPENCODE_DISABLE_AUTOUPDATE": "0"}},
			want: Launch{
				Command: "opencode", Args: []string{"acp", "--print-logs"}, Endpoint: Real,
				Env:   map[string]string{"OPENCODE_DISABLE_AUTOUPDATE": "0", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"},
				Files: openCode,
			},
		},
		{
			name: "opencode", kind: "opencode-acp", preset: Preset{
				Name: "p", Endpoint: Real, Env: map[string]string{"KEY": "a"},
				provider: &provider{
					Name: "Mine", BaseURL: "http://127.0.0.1:1/v1", EnvKey: "KEY", Models: []string{"a", "b"},
				},
			},
			want: Launch{
				Command: "opencode", Args: []string{"acp"}, Endpoint: Real,
				Env: map[string]string{
					"KEY": "a", "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
				},
				Files: []File{{Path: ".config/opencode/opencode.json", Data: []byte(`{
  "autoupdate": false,
  "enabled_providers": [
    "preset"
  ],
  "model": "preset/a",
  "permission": {
    "bash": "ask",
    "edit": "ask",
    "webfetch": "ask"
  },
  "provider": {
    "preset": {
      "models": {
        "a": {},
        "b": {}
      },
      "name": "Mine",
      "npm": "@ai-sdk/openai-compatible",
      "options": {
        "apiKey": "{env:KEY}",
        "baseURL": "http://127.0.0.1:1/v1"
      }
    }
  },
  "share": "disabled",
  "small_model": "preset/a"
}
`)}},
			},
		},
		{
			name: "codex under a plan", kind: "codex-acp", preset: Preset{
				Name: "p", Endpoint: Real, authMethod: &authMethod{"chatgpt", "codex.toml:3"},
				files: []accountFile{
					{File{".codex/auth.json", []byte("{}"), "/home/a/auth.json", true}, "codex.toml:2"},
				},
			},
			want: Launch{
				Command: "codex-acp", Endpoint: Real, AuthMethod: "chatgpt", AuthMethodAt: "codex.toml:3",
				Files: []File{
					{Path: ".codex/config.toml", Data: []byte(`allow_login_shell = false
check_for_update_on_startup = false

[analytics]
enabled = false
`)},
					{".codex/auth.json", []byte("{}"), "/home/a/auth.json", true},
				},
			},
		},
		{
			name: "an authentication method that is none", kind: "gemini-acp", preset: Preset{
				Endpoint: Real, authMethod: &authMethod{"", "gemini.toml:3"},
			},
			want: Launch{
				Command: "gemini", Args: []string{"--acp"}, Endpoint: Real, AuthMethodAt: "gemini.toml:3",
				Env: map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "true"}, Files: gemini,
			},
		},
		{
			name: "no arguments", kind: "opencode-acp", args: []string{}, preset: Preset{Endpoint: Real},
			want: Launch{
				Command: "opencode", Args: []string{}, Endpoint: Real,
				Env:   map[string]string{"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"},
				Files: openCode,
			},
		},
		{
			name: "any agent", kind: "acp", command: "./agent", preset: Preset{Endpoint: Real},
			want: Launch{Command: "./agent", Endpoint: Real},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, ok := Lookup(test.kind)
			require.True(t, ok)
			got, err := p.Launch(test.command, test.args, test.preset)
			require.NoError(t, err)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("launch (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLaunchErrors(t *testing.T) {
	acp, _ := Lookup("acp")
	_, err := acp.Launch("", nil, Preset{})
	assert.EqualError(t, err, "agents of kind acp have no default command: the playbook must name one")

	codex, _ := Lookup("codex-acp")
	for _, path := range []string{".codex/config.toml", ".codex", ".Codex/Config.toml", ".codex/config.toml/x"} {
		own := accountFile{File{Path: path, From: "/x"}, "codex.toml:3"}
		_, err = codex.Launch("", nil, Preset{Name: "p", files: []accountFile{own}})
		assert.EqualError(t, err, `preset "p": codex.toml:3: "`+path+`": each run writes its own .codex/config.toml, `+
			`which the file would replace; leave it out`)
	}
}

func TestProfiles(t *testing.T) {
	seen := make(map[string]bool)
	for _, p := range profiles {
		assert.False(t, seen[p.Kind], "two rows for %s", p.Kind)
		seen[p.Kind] = true
		assert.Equal(t, p.PresetFile != "", p.decode != nil, "%s: PresetFile and decode belong together", p.Kind)
		assert.Equal(t, strings.ToLower(strings.Join(p.Names, " ")), strings.Join(p.Names, " "), p.Kind)
		assert.False(t, p.NeedsPreset && p.decode == nil, "%s: needs a preset, and has none", p.Kind)
	}
	_, ok := Lookup("nobody")
	assert.False(t, ok)
}
