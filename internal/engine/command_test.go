package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/toolcache"
)

func TestOpenDir(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "a", "b"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o644))
	require.NoError(t, os.Symlink(filepath.Join(root, "a"), filepath.Join(root, "inside")))
	require.NoError(t, os.Symlink(outside, filepath.Join(root, "out")))
	tests := []struct{ name, dir, err string }{
		{"root", "", ""},
		{"below", "a/b", ""},
		{"missing", "a/c", "no such file"},
		{"file", "file", "file is not a directory"},
		{"link inside", "inside/b", "inside is not a directory"},
		{"link out", "out", "out is not a directory"},
		{"parent", "..", "escapes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := openDir(root, tt.dir)
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.NoError(t, d.Close())
		})
	}
}

// TestStepEnvironment: only steps without a network get npm's cache, to which npm could not write what it downloads. No
// step gets what a preset gives to agents.
func TestStepEnvironment(t *testing.T) {
	environ := []string{"HOME=" + t.TempDir(), "npm_config_cache=" + t.TempDir(), "SHOP=at the corner"}
	r, dirs := &Runner{pb: &plan.Playbook{}, cfg: Config{Environ: environ}}, &unitDirs{workspace: t.TempDir()}
	require.Contains(t, r.stepEnvironment(dirs, toolcache.Find(environ), r.pb.Env), environ[1])
	require.Contains(t, r.stepEnvironment(dirs, toolcache.Caches{}, r.pb.Env), "SHOP=at the corner")
	r.given.Store("SHOP", true)
	require.NotContains(t, r.stepEnvironment(dirs, toolcache.Caches{}, r.pb.Env), "SHOP=at the corner",
		"it is for the agent")
	r.pb.Sandbox.Network = plan.NetworkAll
	require.NotContains(t, r.stepEnvironment(dirs, toolcache.Find(environ), r.pb.Env), environ[1])
}

func TestLastLines(t *testing.T) {
	long := strings.Repeat("line\n", 100)
	tests := []struct{ name, in, want string }{
		{"short", "a\nb\n", "a\nb"},
		{"long", long + "last\n", "...\n" + strings.Repeat("line\n", 2) + "last"},
		{"one long line", strings.Repeat("x", 100), "...\n" + strings.Repeat("x", 20)},
		{"not text", "a\xff\n", "a\uFFFD"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := &excerpt.Tail{Limit: 20}
			for i := range len(tt.in) {
				_, err := out.Write([]byte{tt.in[i]})
				require.NoError(t, err)
			}
			text, cut := lastLines(out)
			require.Equal(t, tt.want, text)
			require.Equal(t, strings.HasPrefix(tt.want, "..."), cut)
		})
	}
}
