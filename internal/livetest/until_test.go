package livetest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

// TestRealUntil has real agents use a skill, by their tool for it and in a shell that goes on, and ends their turns as
// soon as they do. Replayed, the verdicts are the same.
func TestRealUntil(t *testing.T) {
	t.Parallel()
	p := newProject(t, "testdata/until-models", "testdata/until.yaml")
	require.NoError(t, os.CopyFS(filepath.Join(p.root, filepath.Dir(p.playbook)), os.DirFS("testdata/skills")))
	for _, mode := range []string{"record", "replay"} {
		said, _, r := p.run(mode)
		units, err := r.Units()
		require.NoError(t, err, said)
		require.Len(t, units, 18, said)
		for _, u := range units {
			want := map[string]result.Outcome{"loads": result.Pass, "runs": result.Fail}[u.Case]
			assert.Equal(t, want, u.Outcome, "%s: %s: %s", mode, u.ID, u.Reason)
			assert.Equal(t, result.StopDecided, u.Stop, "%s: %s", mode, u.ID)
			assert.Less(t, time.Duration(u.Duration), 55*time.Second, "%s: %s", mode, u.ID)
			t.Logf("%s: %s took %v", mode, u.ID, time.Duration(u.Duration))
		}
	}
}
