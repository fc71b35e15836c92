package agent

import (
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/stretchr/testify/require"
)

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
