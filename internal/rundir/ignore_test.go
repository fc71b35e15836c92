package rundir

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEnsureIgnored(t *testing.T) {
	tests := []struct{ name, before, after string }{
		{"none", "", "/test-output/\n"},
		{"others", "/bin/\n", "/bin/\n/test-output/\n"},
		{"no newline at the end", "/bin/", "/bin/\n/test-output/\n"},
		{"line endings of Windows", "/bin/\r\n*.test", "/bin/\r\n*.test\r\n/test-output/\r\n"},
		{"there", "/test-output/\n/bin/", "/test-output/\n/bin/"},
		{"there in another form", "test-output \r\n", "test-output \r\n"},
		{"a comment", "# /test-output/\n", "# /test-output/\n/test-output/\n"},
		{"taken back", "/test-output/\n!/test-output/\n", "/test-output/\n!/test-output/\n/test-output/\n"},
		{"another directory", "/x/test-output/\n", "/x/test-output/\n/test-output/\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			if tt.before != "" {
				require.NoError(t, os.WriteFile(filepath.Join(root, ".gitignore"), []byte(tt.before), 0o644))
			}
			for range 2 {
				require.NoError(t, EnsureIgnored(root))
				got, err := os.ReadFile(filepath.Join(root, ".gitignore"))
				require.NoError(t, err)
				require.Equal(t, tt.after, string(got))
				got, err = os.ReadFile(filepath.Join(root, ".llman", "sdd-eval", ".gitignore"))
				require.NoError(t, err)
				require.Equal(t, "/runs/\n", string(got))
			}
		})
	}
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, ".gitignore"), 0o755))
	require.ErrorContains(t, EnsureIgnored(root), "ignore /test-output/ in "+root)
}

// TestGitIgnores asks git itself.
func TestGitIgnores(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not here:", err)
	}
	root := t.TempDir()
	require.NoError(t, exec.Command(git, "init", "-q", root).Run())
	require.NoError(t, EnsureIgnored(root))
	run := newRun(t, root, demo(1))
	require.NoError(t, os.Mkdir(filepath.Join(root, "test-output"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "test-output", "x"), nil, 0o644))
	require.FileExists(t, filepath.Join(run.Dir(), "manifest.json"))
	status := exec.Command(git, "status", "--porcelain", "--untracked-files=all")
	status.Dir = root
	out, err := status.Output()
	require.NoError(t, err)
	require.Equal(t, "?? .gitignore\n?? .llman/sdd-eval/.gitignore\n", string(out))
}
