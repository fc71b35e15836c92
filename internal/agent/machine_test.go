package agent

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/fault"
)

// unsetAccounts makes a home without a login, and an environment without a key. It returns the home.
func unsetAccounts(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("LLMAN_CONFIG_DIR", filepath.Join(home, "presets"))
	for _, p := range profiles {
		a := p.machine
		for _, name := range slices.Concat(a.keys, a.endpoint, []string{a.token, a.movedBy}) {
			if name != "" {
				t.Setenv(name, "")
			}
		}
	}
	return home
}

// put writes a file below a directory.
func put(t *testing.T, dir, file, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(file))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// webToken returns a JSON Web Token that expires then.
func webToken(end time.Time) string {
	part := base64.RawURLEncoding.EncodeToString
	return part([]byte(`{"alg":"none"}`)) + "." + part(fmt.Appendf(nil, `{"exp":%d}`, end.Unix())) + ".x"
}

func claudeFile(end time.Time) string {
	return fmt.Sprintf(`{"claudeAiOauth":{"accessToken":"access","refreshToken":"renews","expiresAt":%d}}`,
		end.UnixMilli())
}

func codexFile(end time.Time) string {
	return fmt.Sprintf(`{"OPENAI_API_KEY":null,"tokens":{"access_token":%q,"refresh_token":"renews",`+
		`"account_id":"a"},"last_refresh":"2026-01-01T00:00:00Z"}`, webToken(end))
}

func TestMachineLogin(t *testing.T) {
	later, before := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	tests := []struct {
		name, kind string
		env        map[string]string // HOME/ stands for the home
		file, text string            // in the home
		want       map[string]string // the variables of the agent
		copied     string            // the path of the file that it gets
		err, next  string
	}{
		{
			name: "a token", kind: "claude-code-acp", env: map[string]string{"CLAUDE_CODE_OAUTH_TOKEN": "mine"},
			file: ".claude/.credentials.json", text: claudeFile(later),
			want: map[string]string{"CLAUDE_CODE_OAUTH_TOKEN": "mine"},
		},
		{
			name: "a file, of which the access token is enough", kind: "claude-cli",
			file: ".claude/.credentials.json", text: claudeFile(later),
			want: map[string]string{"CLAUDE_CODE_OAUTH_TOKEN": "access"},
		},
		{
			name: "a file elsewhere", kind: "claude-code-acp", env: map[string]string{"CLAUDE_CONFIG_DIR": "HOME/c"},
			file: "c/.credentials.json", text: claudeFile(later),
			want: map[string]string{"CLAUDE_CODE_OAUTH_TOKEN": "access"},
		},
		{
			name: "no file", kind: "claude-code-acp", err: ".credentials.json: ",
			next: "claude auth login; where the login is in a keychain, as on macOS, or to have one that lasts: " +
				"`claude setup-token`, then set CLAUDE_CODE_OAUTH_TOKEN to what it prints",
		},
		{
			name: "expired", kind: "claude-code-acp", file: ".claude/.credentials.json", text: claudeFile(before),
			err: ".credentials.json: the login has expired", next: "start the agent once yourself",
		},
		{
			name: "another file", kind: "claude-code-acp", file: ".claude/.credentials.json", text: `{"mcpOAuth":{}}`,
			err: "not a login as the agent writes it", next: "claude auth login",
		},
		{
			name: "codex", kind: "codex-acp", file: ".codex/auth.json", text: codexFile(later),
			copied: ".codex/auth.json",
		},
		{
			name: "codex, expired", kind: "codex-acp", file: ".codex/auth.json", text: codexFile(before),
			err: "the login has expired", next: "or codex login",
		},
		{
			name: "codex by a key", kind: "codex-acp", file: ".codex/auth.json", text: `{"OPENAI_API_KEY":"k"}`,
			copied: ".codex/auth.json",
		},
		{
			name: "codex without anything", kind: "codex-acp", file: ".codex/auth.json", text: `{"tokens":{}}`,
			err: "not a login as the agent writes it", next: "codex login",
		},
		{
			name: "gemini", kind: "gemini-acp", file: ".gemini/oauth_creds.json", text: `{"refresh_token":"r"}`,
			copied: ".gemini/oauth_creds.json",
		},
		{
			name: "copilot", kind: "copilot-acp", env: map[string]string{"COPILOT_GITHUB_TOKEN": "mine"},
			want: map[string]string{"COPILOT_GITHUB_TOKEN": "mine"},
		},
		{
			name: "copilot, which keeps its login elsewhere", kind: "copilot-acp",
			err:  "COPILOT_GITHUB_TOKEN is not set",
			next: "set COPILOT_GITHUB_TOKEN to a token with the permission Copilot Requests",
		},
		{
			name: "an agent of which nothing is known", kind: "goose-acp", err: "presets/goose.toml",
			next: "write down your account",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			home := unsetAccounts(t)
			t.Setenv("ANTHROPIC_API_KEY", "a key that nobody asked for")
			for name, value := range test.env {
				if below, ok := cutHome(value); ok {
					value = filepath.Join(home, below)
				}
				t.Setenv(name, value)
			}
			if test.file != "" {
				put(t, home, test.file, test.text)
			}
			preset, err := Resolve(test.kind, Login, "")
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				assert.Contains(t, fault.Advice(err), test.next)
				return
			}
			require.NoError(t, err)
			profile, _ := Lookup(test.kind)
			launch, err := profile.Launch("", nil, preset)
			require.NoError(t, err)
			for name := range profile.Env {
				delete(launch.Env, name)
			}
			if len(test.want) > 0 || len(launch.Env) > 0 {
				assert.Equal(t, test.want, launch.Env)
			}
			for name := range test.want {
				assert.Contains(t, launch.SecretNames, name)
			}
			assert.Subset(t, launch.Withheld, profile.machine.keys)
			copied := ""
			for _, f := range launch.Files {
				if f.From != "" {
					copied = f.Path
					assert.False(t, f.WriteBack)
				}
			}
			assert.Equal(t, test.copied, copied)
		})
	}
}

func cutHome(value string) (string, bool) {
	const mark = "HOME/"
	if len(value) < len(mark) || value[:len(mark)] != mark {
		return "", false
	}
	return value[len(mark):], true
}

// TestLoginDoesNotRenew: what renews the user's login stays with the user.
func TestLoginDoesNotRenew(t *testing.T) {
	home := unsetAccounts(t)
	put(t, home, ".codex/auth.json", codexFile(time.Now().Add(time.Hour)))
	preset, err := Resolve("codex-acp", Login, "")
	require.NoError(t, err)
	require.Len(t, preset.files, 1)
	var file struct {
		Tokens      map[string]string
		LastRefresh time.Time `json:"last_refresh"`
	}
	require.NoError(t, json.Unmarshal(preset.files[0].Data, &file))
	assert.Empty(t, file.Tokens["refresh_token"])
	assert.Equal(t, "a", file.Tokens["account_id"])
	assert.WithinDuration(t, time.Now(), file.LastRefresh, time.Minute)
}

// TestOwnLogin: a preset of the user's that is called login is that preset.
func TestOwnLogin(t *testing.T) {
	unsetAccounts(t)
	t.Setenv("CLAUDE_CODE_OAUTH_TOKEN", "of the machine")
	profile, _ := Lookup("claude-code-acp")
	for text, want := range map[string]string{
		"[groups.login]\nCLAUDE_CODE_OAUTH_TOKEN = 'mine'\n": "mine",
		"[groups.other]\nCLAUDE_CODE_OAUTH_TOKEN = 'mine'\n": "of the machine",
	} {
		dir := write(t, "claude-code.toml", text)
		preset, err := Resolve("claude-code-acp", Login, dir)
		require.NoError(t, err)
		assert.Equal(t, want, preset.Env["CLAUDE_CODE_OAUTH_TOKEN"])
		_, ok, err := MachineLogin(profile, dir)
		require.NoError(t, err)
		assert.Equal(t, want != "mine", ok)
	}
	_, err := Resolve("claude-code-acp", Login, write(t, "claude-code.toml", "[groups"))
	assert.ErrorContains(t, err, "not valid TOML", "what it says of login is not known")
}

func TestAPIKey(t *testing.T) {
	unsetAccounts(t)
	_, err := Resolve("claude-code-acp", APIKey, "")
	require.ErrorContains(t, err, "none of the variables with a key is set: ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN")
	assert.Equal(t, "set ANTHROPIC_API_KEY", fault.Advice(err))
	t.Setenv("ANTHROPIC_BASE_URL", "https://models.example.com")
	_, err = Resolve("claude-code-acp", APIKey, "")
	require.Error(t, err, "an address is no key")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "k")
	t.Setenv("CLAUDE_CODE_OAUTH_TOKEN", "of a login")
	preset, err := Resolve("claude-code-acp", APIKey, "")
	require.NoError(t, err)
	assert.Equal(t, map[string]string{
		"ANTHROPIC_AUTH_TOKEN": "k", "ANTHROPIC_BASE_URL": "https://models.example.com",
	}, preset.Env)
	assert.Equal(t, []string{"ANTHROPIC_AUTH_TOKEN"}, preset.Secret)

	t.Setenv("CODEX_API_KEY", "k")
	preset, err = Resolve("codex-acp", APIKey, "")
	require.NoError(t, err)
	assert.Equal(t, "CODEX_API_KEY", preset.provider.EnvKey)
	assert.Equal(t, "https://api.openai.com/v1", preset.provider.BaseURL)

	_, err = Resolve("opencode-acp", APIKey, "")
	assert.ErrorContains(t, err, "opencode.toml", "its providers have other variables")
}

// FuzzLogin: whatever stands in a file, no error shows it, and nothing that renews is given.
func FuzzLogin(f *testing.F) {
	f.Add([]byte(claudeFile(time.Now().Add(time.Hour))))
	f.Add([]byte(codexFile(time.Now().Add(time.Hour))))
	f.Add([]byte(`{"tokens":{"access_token":"a.b.c"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, a := range []machineAccount{claudeAccount, codexAccount} {
			env, file, err := a.access(a, data, time.Now())
			if err != nil {
				require.True(t, err == errExpired || err.Error() == notALogin, "%v", err)
				continue
			}
			require.True(t, env[a.token] != "" || json.Valid(file))
		}
	})
}
