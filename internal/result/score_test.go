package result_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

func TestFormatScores(t *testing.T) {
	for _, test := range []struct {
		score, least   float64
		want, leastWas string
	}{
		{0.5, 0.8, "0.5", "0.8"},
		{0.8, 0.8, "0.8", "0.8"},
		{2.0 / 3, 0.8, "0.6667", "0.8"},
		{0.79999999, 0.8, "0.79999999", "0.8"},
		{math.Nextafter(0.8, 0), 0.8, "0.7999999999999999", "0.8"},
		{math.NaN(), math.NaN(), "NaN", "NaN"},
	} {
		got, least := result.FormatScores(test.score, test.least)
		assert.Equal(t, test.want, got)
		assert.Equal(t, test.leastWas, least)
	}
	for score, want := range map[float64]string{0: "0", 1: "1", 1.0 / 3: "0.3333", 0.999996: "0.999996"} {
		assert.Equal(t, want, result.FormatScore(score))
	}
}
