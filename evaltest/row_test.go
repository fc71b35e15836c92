package evaltest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTaskLeftBehind holds that a task which ends when nobody waits for it any more changes nothing of what was said of
// it.
func TestTaskLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rowRun{suiteRun: &suiteRun{timeout: time.Second}, patience: time.Second}
		output, err := r.task(t.Context(), suiteRow{task: func(context.Context) (any, error) {
			time.Sleep(time.Minute)
			return "late", nil
		}})
		time.Sleep(time.Hour)
		require.ErrorContains(t, err, "was still at work 1s later")
		require.Nil(t, output)
	})
}
