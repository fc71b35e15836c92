package stats

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCorrectedCovers: of 400 items 60 are labelled, and the judge passes .92 of those that people pass and .30 of the
// others. Its own interval hardly ever holds the truth, people's nearly always, and so does the corrected one, which is
// smaller.
func TestCorrectedCovers(t *testing.T) {
	const times, items, labelled, truth = 2000, 400, 60, .6
	random := draws()
	var corrected, judge, people, width, widthOfPeople float64
	for range times {
		said, word := make([]float64, items), make([]float64, items)
		passed := 0
		for i := range said {
			says := .30
			if random.Float64() < truth {
				said[i], says = 1, .92
			}
			if random.Float64() < says {
				word[i] = 1
				passed++
			}
		}
		_, interval := Corrected(said[:labelled], word[:labelled], word[labelled:], .95)
		own := Count{passed, items}.Wilson(.95)
		alone := Clustered[int](said[:labelled], nil, .95).Interval
		for _, c := range []struct {
			count    *float64
			interval Interval
		}{{&corrected, interval}, {&judge, own}, {&people, alone}} {
			if c.interval.Holds(truth) {
				*c.count += 1. / times
			}
		}
		width += interval.High - interval.Low
		widthOfPeople += alone.High - alone.Low
	}
	t.Logf("holds the truth: corrected %.3f, judge alone %.3f, labels alone %.3f; width %.2f of that of labels alone",
		corrected, judge, people, width/widthOfPeople)
	require.InDelta(t, .95, corrected, .015)
	require.InDelta(t, .95, people, .015)
	require.Less(t, judge, .25)
	require.Less(t, width, .95*widthOfPeople)
}

func TestCorrectedOfLittle(t *testing.T) {
	yes := make([]float64, 10)
	for i := range yes {
		yes[i] = 1
	}
	value, interval := Corrected(yes[:9], yes[:9], nil, .95)
	require.InDelta(t, 1, value, 1e-9)
	require.True(t, math.IsNaN(interval.Low), "nine labels are too few")
	value, interval = Corrected(yes, yes, nil, .95)
	require.InDelta(t, 1, value, 1e-9)
	require.Less(t, interval.Low, .75, "that all are the same makes nothing certain")
	value, _ = Corrected(nil, nil, yes, .95)
	require.True(t, math.IsNaN(value), "a judge alone is not people")
}
