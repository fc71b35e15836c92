package agent

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
DIR/claude-code.toml:2: [groups.prod] "secrets": unknown key, did you mean "secret"?
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
