package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// TestInspect: Inspect itself is in Python and does not run here; what is held is what its models of logs say.
func TestInspect(t *testing.T) {
	run := openRun(t)
	rep := loaded(t, run)
	files, err := rep.Write([]string{inspectDir})
	require.NoError(t, err)
	require.Equal(t, []string{"inspect"}, files)
	for _, v := range rep.Variants {
		text, err := os.ReadFile(filepath.Join(run.Dir(), inspectDir, v.ID+".json"))
		require.NoError(t, err)
		golden.Equal(t, "testdata/inspect."+v.ID+".json", text)
		var log inspectLog
		require.NoError(t, json.Unmarshal(text, &log))
		inspectRules(t, &log)
	}
}

// inspectRules are facts of Inspect's models: types that are literals there, and sums.
func inspectRules(t *testing.T, log *inspectLog) {
	t.Helper()
	require.Equal(t, 2, log.Version)
	require.Contains(t, []string{"started", "success", "cancelled", "error"}, log.Status)
	require.Equal(t, log.Status == "error", log.Error != nil)
	require.NotEmpty(t, log.Eval.Model)
	seen := make(map[[2]any]bool)
	completed := 0
	for _, s := range log.Samples {
		key := [2]any{s.ID, s.Epoch}
		require.False(t, seen[key], "%v twice", key)
		seen[key] = true
		require.Positive(t, s.Epoch)
		if s.Error == nil {
			completed++
		} else {
			require.Empty(t, s.Scores, "an error is no score")
			require.NotEmpty(t, s.Error.Message)
		}
		for _, m := range s.Messages {
			require.Contains(t, []string{"user", "assistant", "tool", "system"}, m.Role)
			for _, c := range m.Calls {
				var args map[string]any
				require.NoError(t, json.Unmarshal(c.Arguments, &args))
			}
		}
		for _, c := range s.Output.Choices {
			require.Contains(t, []string{"stop", "max_tokens", "content_filter", "unknown"}, c.Stop)
		}
	}
	require.Equal(t, completed, log.Results.Completed)
	require.LessOrEqual(t, completed, log.Results.Total)
	for _, s := range log.Results.Scores {
		require.Equal(t, completed, s.Scored+s.Unscored)
	}
}

func TestInspectStatus(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(s *source)
		want   string
		scores string // the value of the verdict
	}{
		{"pass", func(*source) {}, "success", "C"},
		{"fail", func(s *source) { s.units[0].Outcome = result.Fail }, "success", "I"},
		{"completed is no pass", func(s *source) { s.units[0].Outcome = result.Completed }, "success", ""},
		{"error", func(s *source) { s.units[0].Outcome = result.Error }, "error", ""},
		{"problems", func(s *source) { s.manifest.Problems = []string{"a secret"} }, "error", "C"},
		{"not run", func(s *source) { s.units = nil }, "cancelled", ""},
		{"running", func(s *source) { s.units, s.manifest.State = nil, rundir.StateRunning }, "started", ""},
		{"hostile", func(s *source) { s.units[0].Reason = "\x1b[2J\xff</script>" }, "success", "C"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := sample(t, 1, 1, 1)
			s.units[0].Outcome, s.units[0].Metrics = result.Pass, nil // it left no trajectory
			tt.change(&s)
			rep := reportOf(t, s)
			log, err := rep.inspectLog(rep.Variants[0])
			require.NoError(t, err)
			require.Equal(t, tt.want, log.Status)
			if len(log.Samples) > 0 {
				require.Equal(t, tt.scores != "", log.Samples[0].Scores[inspectVerdict].Value != nil)
			}
			if tt.scores != "" {
				require.Equal(t, tt.scores, log.Samples[0].Scores[inspectVerdict].Value)
			}
			inspectRules(t, log)
		})
	}
}
