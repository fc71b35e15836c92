package agent

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/fault"
)

// TestSamples starts agents with files as llman and Codex have them.
func TestSamples(t *testing.T) {
	launch := func(kind, preset string) Launch {
		t.Helper()
		p, _ := Lookup(kind)
		resolved, err := Resolve(kind, preset, "testdata")
		require.NoError(t, err)
		l, err := p.Launch("", nil, resolved)
		require.NoError(t, err)
		return l
	}
	assert.Equal(t, "sk-test-production", launch("claude-code-acp", "production").Env["ANTHROPIC_AUTH_TOKEN"])
	assert.Equal(t, "sk-test-plan", launch("claude-cli", "plan").Env["CLAUDE_CODE_OAUTH_TOKEN"])
	assert.Equal(t, map[string]string{
		"ANTHROPIC_BASE_URL": "https://models.example.com", "ANTHROPIC_AUTH_TOKEN": "sk-test-old",
	}, launch("claude-code-acp", "old").Env)

	azure := launch("codex-acp", "azure")
	assert.Equal(t, `allow_login_shell = false
check_for_update_on_startup = false
model_provider = 'preset'

[analytics]
enabled = false

[model_providers]
[model_providers.preset]
base_url = 'https://models.example.com/openai'
env_key = 'AZURE_OPENAI_API_KEY'
name = 'Azure'
request_max_retries = 4
requires_openai_auth = false
stream_idle_timeout_ms = 300000
stream_max_retries = 10
wire_api = 'responses'

[model_providers.preset.env_http_headers]
X-Trace = 'TRACE_HEADER'

[model_providers.preset.http_headers]
X-Team = 'sk-test-team-header'

[model_providers.preset.query_params]
api-version = '2025-04-01-preview'
`, string(azure.Files[0].Data))
	assert.Equal(t, map[string]string{
		"http_headers_X_Team": "sk-test-team-header", "query_params_api_version": "2025-04-01-preview",
	}, azure.Masked)

	auth, err := os.ReadFile("testdata/auth.json")
	require.NoError(t, err)
	plan, proxy := launch("codex-acp", "plan"), launch("codex-acp", "proxy")
	assert.Equal(t, File{".codex/auth.json", auth, filepath.Join("testdata", "auth.json"), true}, plan.Files[1])
	assert.NotContains(t, string(plan.Files[0].Data), "model_provider")
	assert.False(t, proxy.Files[1].WriteBack)
	assert.Contains(t, string(proxy.Files[0].Data), "requires_openai_auth = true")
}

func TestFilesOfHome(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	require.NoError(t, os.WriteFile(filepath.Join(home, "in home"), []byte("{}"), 0o600))
	absolute := filepath.Join(t.TempDir(), "absolute")
	require.NoError(t, os.WriteFile(absolute, []byte("a"), 0o600))
	dir := write(t, "acp.toml", "[groups.x.files]\na = '~/in home'\n'b/c' = '"+absolute+"'\n")
	p, err := Resolve("acp", "x", dir)
	require.NoError(t, err)
	require.Len(t, p.files, 2)
	assert.Equal(t, File{Path: "a", Data: []byte("{}"), From: filepath.Join(home, "in home")}, p.files[0].File)
	assert.Equal(t, File{Path: "b/c", Data: []byte("a"), From: absolute}, p.files[1].File)
}

func TestFilesThatAreNot(t *testing.T) {
	tests := []struct {
		name, kind string
		make       func(t *testing.T, path string)
		want, next string
	}{
		{
			name: "missing", kind: "codex-acp", make: func(*testing.T, string) {},
			want: "no such file or directory", next: "codex login",
		},
		{
			name: "missing, of any agent", kind: "acp", make: func(*testing.T, string) {},
			want: "no such file or directory", next: "log in with the agent, so that it writes the file",
		},
		{
			name: "a directory", kind: "gemini-acp",
			make: func(t *testing.T, path string) { require.NoError(t, os.Mkdir(path, 0o700)) },
			want: "not a regular file", next: "see that it is the agent's file, or gemini",
		},
		{
			name: "empty", kind: "codex-acp",
			make: func(t *testing.T, path string) { require.NoError(t, os.WriteFile(path, nil, 0o600)) },
			want: "the file is empty", next: "see that it is the agent's file, or codex login",
		},
		{
			name: "too large", kind: "codex-acp",
			make: func(t *testing.T, path string) {
				require.NoError(t, os.WriteFile(path, make([]byte, MaxAccountFile+1), 0o600))
			},
			want: "1048577 bytes exceed the limit of 1048576", next: "see that it is the agent's file, or codex login",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("the system's words differ")
			}
			p, _ := Lookup(test.kind)
			section := "groups"
			if test.kind == "codex-acp" {
				section = "model_providers"
			}
			dir := write(t, p.PresetFile,
				"["+section+".x]\n# where the account is\nfiles = {'.agent/auth.json' = 'my.json'}\n")
			test.make(t, filepath.Join(dir, "my.json"))
			_, err := Resolve(test.kind, "x", dir)
			require.Error(t, err)
			text := strings.ReplaceAll(err.Error(), dir, "DIR")
			assert.True(t, strings.HasPrefix(text,
				`preset "x": DIR/`+p.PresetFile+`:3: copy a file for the agent's .agent/auth.json: `), text)
			assert.Contains(t, text, "DIR/my.json")
			assert.Contains(t, text, test.want)
			assert.Equal(t, test.next, fault.Advice(err))
		})
	}
}
