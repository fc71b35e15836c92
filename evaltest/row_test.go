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

// TestAgentLeftBehind has a task return while an agent of it runs, and an agent begin after that: the row would not see
// what they do.
func TestAgentLeftBehind(t *testing.T) {
	r := &rowRun{suiteRun: &suiteRun{timeout: time.Second}, patience: time.Second}
	var end func(*AgentResult, error)
	_, err := r.task(t.Context(), suiteRow{task: func(context.Context) (out any, err error) {
		end, err = r.beginAgent()
		return nil, err
	}})
	require.ErrorContains(t, err, "the task returned while an agent of it was running")
	end(&AgentResult{}, nil)
	_, err = r.beginAgent()
	require.ErrorContains(t, err, "only the task can run agents")
}
