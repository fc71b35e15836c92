package report

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/shard"
)

// TestWeights holds the file to what run --shard reads: medians of the trials in which an agent did its work.
func TestWeights(t *testing.T) {
	s := sample(t, 2, 2, 4)
	for i, seconds := range []float64{
		9, 1, 2, 30.5, // case-1 under variant-1
		5, 5, 5, 5, // under variant-2
		1, 2, 3, 1000, // case-2 under variant-1
		7, 7, 7, 7, // under variant-2
	} {
		s.units[i].Duration = result.Duration(seconds * float64(time.Second))
		s.units[i].Outcome, s.units[i].Replayed = result.Pass, false
	}
	s.units[4].Outcome = result.Fail
	s.units[11].Outcome = result.Error
	for i := 12; i < 16; i++ {
		s.units[i].Replayed = true
	}
	data, err := reportOf(t, s).Weights()
	require.NoError(t, err)
	w, err := shard.ParseWeights(data)
	require.NoError(t, err)
	require.Equal(t, map[string]float64{
		"shop/case-1/variant-1": 5.5, "shop/case-1/variant-2": 5, "shop/case-2/variant-1": 2,
	}, w.Seconds)
	var ids []string
	for _, u := range s.units[:8] {
		ids = append(ids, u.ID)
	}
	tasks := shard.TasksOf(ids, w)
	require.Equal(t, []shard.Task{{ID: "shop/case-1", Units: 8, Seconds: 4*5.5 + 4*5}}, tasks)

	for i := range s.units {
		s.units[i].Replayed = true
	}
	_, err = reportOf(t, s).Weights()
	require.ErrorIs(t, err, ErrNoTimes)
	require.Contains(t, fault.Advice(err), "sdd-eval list")
}
