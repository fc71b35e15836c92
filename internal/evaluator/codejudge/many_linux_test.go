package codejudge_test

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/testkit/soak"
)

// quick is a judge that does almost nothing.
const quick = `script: [sh, -c, 'echo "{\"score\":1}"']`

// descriptors returns how many files are open.
func descriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

// TestSoakJudges runs many judges: they leave no file open, no goroutine and no directory.
func TestSoakJudges(t *testing.T) {
	dir, r := project(t, confine.None)
	e, err := load(dir, ".", quick)
	require.NoError(t, err)
	in := input(r)
	judge := func() error {
		if v := evaluator.Judge(t.Context(), e, in); v.Outcome != result.Pass {
			return errors.New(v.Reason)
		}
		return nil
	}
	require.NoError(t, judge()) // opens what stays open
	supervise.EndIdle()
	files, goroutines := descriptors(t), runtime.NumGoroutine()
	var g errgroup.Group
	g.SetLimit(4)
	for range soak.Size(50, 10_000) {
		g.Go(judge)
	}
	require.NoError(t, g.Wait())
	supervise.EndIdle()
	assert.LessOrEqual(t, descriptors(t), files)
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > goroutines && time.Now().Before(end); {
		runtime.Gosched() // those that are through may not have ended yet
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
	left, err := os.ReadDir(r.TempDir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// No process of a judge survives its timeout, whatever the judge tries.
func TestNothingSurvivesTimeout(t *testing.T) {
	for _, kind := range []confine.Kind{confine.None, confine.Auto} {
		t.Run(string(kind), func(t *testing.T) {
			dir, r := project(t, kind)
			e, err := load(dir, ".", `timeout: 1s, script: [sh, -c, 'trap "" TERM; (setsid sleep 98600 &) ; `+
				`setsid sleep 98600 & sleep 98600']`)
			require.NoError(t, err)
			v := evaluator.Judge(t.Context(), e, input(r))
			assert.Equal(t, result.Error, v.Outcome)
			found, _ := exec.Command("pgrep", "-f", "^sleep 98600$").Output()
			assert.Empty(t, strings.TrimSpace(string(found)))
		})
	}
}
