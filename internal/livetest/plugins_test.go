package livetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

// TestRealPlugins tells the programs that know plugins of one. Their models are then told of its skill, and use it; the
// model of an agent without it is not.
func TestRealPlugins(t *testing.T) {
	t.Parallel()
	p := newProject(t, "testdata/plugin-models", "testdata/plugins.yaml")
	beside := filepath.Join(p.root, filepath.Dir(p.playbook))
	require.NoError(t, os.CopyFS(beside, os.DirFS("testdata/plugins")))
	said, code, r := p.run("live")
	require.Zero(t, code, said)
	units, err := r.Units()
	require.NoError(t, err)
	require.Len(t, units, 4)
	for _, u := range units {
		want := result.Pass
		if u.Variant == "claude-without" {
			want = result.Fail
		}
		assert.Equal(t, want, u.Outcome, "%s: %s", u.Variant, u.Reason)
	}
}
