package script_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/script"
)

func TestPolicy(t *testing.T) {
	r := runner(t, confine.Auto)
	r.Secret = func(path string) bool { return filepath.Base(path) == ".env" }
	workspace, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside.txt")
	require.NoError(t, os.WriteFile(outside, []byte("outside"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(workspace, "work.txt"), []byte("work"), 0o644))
	write(t, r, "docs/guide.txt", "guide")
	write(t, r, "app/.env", "PASSWORD=x")
	write(t, r, ".git/config", "url")
	tests := []struct {
		name, reason, program string
		apart, fails          bool
	}{
		{name: "the project can be read", program: "cat docs/guide.txt"},
		{name: "the project cannot be changed", program: "echo x >docs/guide.txt", fails: true},
		{name: "nothing is added to the project", program: "echo x >new.txt", fails: true},
		{name: "secret files are not read", program: "grep . app/.env", fails: true},
		{
			name: "the repository is not read", reason: "its addresses may have passwords",
			program: "grep . .git/config", fails: true,
		},
		{name: "the workspace can be read", program: `cat "$W/work.txt"`},
		{name: "the workspace cannot be changed", program: `echo x >"$W/work.txt"`, fails: true},
		{name: "nothing is added to the workspace", program: `echo x >"$W/new.txt"`, fails: true},
		{name: "home and scratch", program: `cd && echo x >a && echo x >"$TMPDIR/b" && [ "$HOME" != "$TMPDIR" ]`},
		{name: "other files are not read", program: `cat "$OUTSIDE"`, fails: true},
		{name: "apart from the project", program: `cd "$W" && cat "$ROOT/docs/guide.txt"`, apart: true, fails: true},
		{name: "apart, but not from the workspace", program: `cat "$W/work.txt"`, apart: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := sh(tt.program)
			s.Env = []string{"W=" + workspace, "OUTSIDE=" + outside, "ROOT=" + r.Root}
			if tt.apart {
				s.Apart, s.Cwd = true, workspace
			}
			out, err := r.Run(t.Context(), s, nil, workspace)
			if tt.fails {
				require.Error(t, err, "%s, but it wrote %q", tt.reason, out)
				return
			}
			require.NoError(t, err, tt.reason)
		})
	}
}

func TestWrite(t *testing.T) {
	r := runner(t, confine.Auto)
	dir := t.TempDir()
	s := sh(`echo x >"$D/new.txt"`)
	s.Env, s.Write = []string{"D=" + dir}, []string{dir}
	_, err := r.Run(t.Context(), s, nil, "")
	require.NoError(t, err)
	assert.FileExists(t, filepath.Join(dir, "new.txt"))
}

func TestNetwork(t *testing.T) {
	r := runner(t, confine.Auto)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	s := script.Script{Argv: []string{"bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/" + port}}
	_, err = r.Run(t.Context(), s, nil, "")
	require.Error(t, err)
	s.Network = true
	_, err = r.Run(t.Context(), s, nil, "")
	require.NoError(t, err)
}

func TestEnvironment(t *testing.T) {
	r := runner(t, confine.None)
	home := t.TempDir()
	for _, cache := range []string{"go/pkg/mod", ".npm"} {
		require.NoError(t, os.MkdirAll(filepath.Join(home, cache), 0o755))
	}
	r.Environ = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C", "OPENAI_API_KEY=sk-" + "test-1", "API_TOKEN=t",
		"PASSED=yes", "OTHER=no",
	}
	r.Pass = []string{"PASSED"}
	s := sh("env")
	s.Env = []string{"OWN=1"}
	out, err := r.Run(t.Context(), s, nil, "")
	require.NoError(t, err)
	got := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		got[name] = value
	}
	assert.NotEqual(t, home, got["HOME"])
	assert.Equal(t, r.TempDir, filepath.Dir(filepath.Dir(got["HOME"])))
	assert.Equal(t, filepath.Dir(got["HOME"]), filepath.Dir(got["TMPDIR"]))
	for name, want := range map[string]string{
		"LANG": "C", "PASSED": "yes", "OWN": "1", "OPENAI_API_KEY": "", "API_TOKEN": "", "OTHER": "", "GOCACHE": "",
		"GOMODCACHE": filepath.Join(home, "go/pkg/mod"), "npm_config_cache": filepath.Join(home, ".npm"),
	} {
		assert.Equal(t, want, got[name], name)
	}
}

// TestGoCache: a script may use the go command, with the user's cache, which does not change.
func TestGoCache(t *testing.T) {
	r := runner(t, confine.Auto)
	write(t, r, "go.mod", "module judge\ngo 1.26\n")
	write(t, r, "judge/main.go", "package main\nfunc main() { print(1) }\n")
	out, err := r.Exec(t.Context(), script.Script{Argv: []string{"go", "run", "./judge"}}, nil, "")
	require.NoError(t, err)
	assert.Equal(t, "1", out.Stderr)
}
