package main

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOrder holds what docs/scale.md says: a queue that begins with the longest units loses least, and little, even
// where workers die; then come a queue that takes them as they come, packed shards and hashed ones. Where none dies,
// packed shards may be better than the second.
func TestOrder(t *testing.T) {
	t.Parallel()
	for tail := range tails {
		for _, workers := range []int{10, 100, 400} {
			for j, row := range means(tail, workers, 2) {
				told := fmt.Sprintf("%s, %d workers, of which %v die: %.3f", tails[tail].name, workers, dying[j], row)
				require.GreaterOrEqual(t, row[0], 1-1e-9, told)
				require.LessOrEqual(t, row[0], 1.05, told)
				longestFirst, asItComes, packed, hashed := row[0], row[1], row[2], row[3]
				require.LessOrEqual(t, longestFirst, min(asItComes, packed), told)
				require.LessOrEqual(t, max(asItComes, packed), hashed, told)
				if dying[j] > 0 {
					require.LessOrEqual(t, asItComes, packed, told)
				}
			}
		}
	}
}

// TestQueue follows two workers, one of which dies in the middle of the longest unit.
func TestQueue(t *testing.T) {
	t.Parallel()
	l := load{seconds: []float64{100, 50, 30}}
	never := math.Inf(1)
	require.InDelta(t, 100, l.queue([]int{0, 1, 2}, []float64{never, never}), 1e-9)
	require.InDelta(t, 130, l.queue([]int{2, 1, 0}, []float64{never, never}), 1e-9, "the longest last")
	// At 40 one dies; at 50 the other takes the third; at 70 the first is offered again, at 80 it is taken.
	require.InDelta(t, 180, l.queue([]int{0, 1, 2}, []float64{40, never}), 1e-9)
	require.InDelta(t, 100, l.ideal(2), 1e-9)
	require.InDelta(t, 180, l.ideal(1), 1e-9)
	require.InDelta(t, 260, shards([]float64{150, 50})([]float64{50, 60}), 1e-9, "a shard begins again")
}
