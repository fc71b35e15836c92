package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPassAtK: examples of the papers, and of tau-bench's leaderboard.
func TestPassAtK(t *testing.T) {
	for _, tt := range []struct {
		trials, passed, k int
		any, all          float64
	}{
		{6, 3, 1, .5, .5},
		{200, 1, 100, .5, 0},
		{5, 2, 3, .9, 0},
		{10, 3, 5, .916667, 0},
		{5, 4, 3, 1, .4},
		{8, 6, 4, 1, .2142857},
		{4, 2, 2, .8333333, .1666667},
		{2, 1, 3, math.NaN(), math.NaN()},
		{3, 0, 1, 0, 0},
	} {
		c := Count{tt.passed, tt.trials}
		near(t, tt.any, c.PassAtK(tt.k), 1e-6)
		near(t, tt.all, c.PassAllK(tt.k), 1e-6)
	}
}

// TestConfusion: what never fired has no precision, and what never should no recall.
func TestConfusion(t *testing.T) {
	for _, tt := range []struct {
		Confusion
		precision, recall float64
	}{
		{Confusion{8, 2, 4, 6}, .6666667, .8},
		{Confusion{3, 0, 0, 5}, 1, 1},
		{Confusion{0, 4, 0, 4}, math.NaN(), 0},
		{Confusion{0, 0, 2, 3}, 0, math.NaN()},
		{Confusion{0, 0, 0, 7}, math.NaN(), math.NaN()},
		{Confusion{}, math.NaN(), math.NaN()},
	} {
		near(t, tt.precision, tt.Precision(), 1e-6)
		near(t, tt.recall, tt.Recall(), 1e-6)
	}
}

// near expects a value that is close to another, or unknown as that is.
func near(t *testing.T, want, got, apart float64) {
	t.Helper()
	if math.IsNaN(want) {
		assert.True(t, math.IsNaN(got), got)
		return
	}
	assert.InDelta(t, want, got, apart)
}

// airline returns how often each of 50 tasks passed in 4 trials, from tau-bench's published transcripts, and what its
// leaderboard and a program of its authors made of it.
func airline(t *testing.T) (counts []Count, want struct {
	Successes []int              `json:"successes_per_task"`
	All       map[string]float64 `json:"pass_hat_k"`
	Any       map[string]float64 `json:"pass_at_k"`
	Error     float64            `json:"se_clustered_C_over_C_minus_1"`
},
) {
	data, err := os.ReadFile("testdata/tau_airline_gpt4o.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &want))
	for _, n := range want.Successes {
		counts = append(counts, Count{n, 4})
	}
	return counts, want
}

func TestAirline(t *testing.T) {
	counts, want := airline(t)
	for k := 1; k <= 4; k++ {
		var anyOf, all, rates []float64
		for _, c := range counts {
			anyOf, all, rates = append(anyOf, c.PassAtK(k)), append(all, c.PassAllK(k)), append(rates, c.Rate())
		}
		near(t, want.Any[fmt.Sprint(k)], mean(anyOf), 1e-12)
		near(t, want.All[fmt.Sprint(k)], mean(all), 1e-12)
		near(t, want.Error, Clustered[int](rates, nil, .95).Error, 1e-12)
	}
}

func TestWilson(t *testing.T) {
	for _, tt := range []struct {
		passed, trials int
		low, high      float64
	}{
		{81, 263, .2553, .3662},
		{15, 148, .0624, .1605},
		{0, 20, 0, .1611},
		{1, 29, .0061, .1718},
		{17, 20, .6396, .9476},
		{850, 1000, .8265, .8708},
		{5, 5, .5655, 1},
		{7, 10, .3968, .8922},
	} {
		i := Count{tt.passed, tt.trials}.Wilson(.95)
		near(t, tt.low, i.Low, 5e-5)
		near(t, tt.high, i.High, 5e-5)
	}
	assert.True(t, math.IsNaN(Count{}.Wilson(.95).Low), "no trials tell nothing")
}

// TestClusters: values by themselves, and in clusters of two, of which one differs.
func TestClusters(t *testing.T) {
	values := []float64{1, 1, 0, 0, 1, 0}
	near(t, .288675, Clustered(values, []string{"a", "a", "b", "b", "c", "c"}, .95).Error, 1e-6)
	near(t, .223607, Clustered[int](values, nil, .95).Error, 1e-6)
	alone := Clustered(values[:2], []int{1, 1}, .95)
	assert.True(t, math.IsNaN(alone.Error) && math.IsNaN(alone.P) && math.IsNaN(alone.Interval.Low), "one cluster")
	assert.Equal(t, 1., alone.Mean)
	same := Clustered[int]([]float64{0, 0, 0, 0, 0}, nil, .95)
	assert.Equal(t, 1., same.P)
	near(t, .4345, same.Interval.High, 1e-4)
	near(t, -.4345, same.Interval.Low, 1e-4)
}

func TestStudent(t *testing.T) {
	for df, want := range map[float64]float64{1: 12.706205, 4: 2.776445, 9: 2.262157, 49: 2.009575} {
		near(t, want, student(.95, df), 1e-6)
		near(t, .05, studentTail(want, df), 1e-7)
	}
}

// pairs returns cases with so many passes of equally many trials.
func pairs(trials int, base, head []int) []Pair {
	cases := make([]Pair, len(base))
	for i := range base {
		cases[i] = Pair{Base: Count{base[i], trials}, Head: Count{head[i], trials}}
	}
	return cases
}

// TestMantelHaenszel: the figures that R 4.2.2 gives for mantelhaen.test(exact=TRUE).
func TestMantelHaenszel(t *testing.T) {
	for _, tt := range []struct {
		trials  int
		a, b    []int
		p, midP float64
	}{
		{3, []int{3, 2, 3, 1, 0}, []int{1, 2, 2, 0, 0}, .18, math.NaN()},
		{5, []int{5, 4, 5, 2, 3, 5, 1, 0}, []int{3, 4, 2, 2, 1, 5, 0, 1}, .094939485, .059882492},
		{1, []int{1, 0, 1, 1}, []int{0, 0, 0, 1}, .5, .25},
		// McNemar's exact test: 10 cases pass in one arm alone and 2 in the other.
		{1, append(repeat(10, 1), 0, 0), append(repeat(10, 0), 1, 1), .0385742, math.NaN()},
		{1, append(repeat(9, 0), 1), append(repeat(9, 1), 0), .0214844, math.NaN()},
		{4, []int{4, 0}, []int{4, 0}, 1, 1},
	} {
		there, back := MantelHaenszel(pairs(tt.trials, tt.a, tt.b)), MantelHaenszel(pairs(tt.trials, tt.b, tt.a))
		near(t, tt.p, there.P, 1e-7)
		if !math.IsNaN(tt.midP) {
			near(t, tt.midP, there.MidP, 1e-8)
		}
		near(t, there.P, back.P, 1e-12)
		near(t, there.MidP, back.MidP, 1e-12)
	}
}

func repeat(n, v int) []int {
	values := make([]int, n)
	for i := range values {
		values[i] = v
	}
	return values
}

func TestKappa(t *testing.T) {
	for _, tt := range []struct {
		table [][]int
		want  float64
	}{
		{[][]int{{20, 5}, {10, 15}}, .4},
		{[][]int{{45, 15}, {25, 15}}, .1304348},
		{[][]int{{25, 35}, {5, 35}}, .2592593},
		{[][]int{{9, 0}, {0, 0}}, math.NaN()},
	} {
		for _, w := range []Weight{Unweighted, Linear, Quadratic} { // the same for two ratings
			near(t, tt.want, Kappa(tt.table, w), 1e-6)
		}
	}
}

// TestAlpha: the examples of Krippendorff's "Computing Krippendorff's Alpha-Reliability".
func TestAlpha(t *testing.T) {
	three := byUnit("-----34121133-3", "1-213343-------", "--21344-21133-4")
	many := units("11-1 2232 3333 3333 2222 1234 4444 1121 2222 -555 --11 --3-")
	for _, tt := range []struct {
		name  string
		units [][]float64
		level Level
		want  float64
	}{
		{"binary", byUnit("0100000010", "1110010000"), Nominal, .0952381},
		{"nominal", byUnit("aabbdcccedda", "babbbccceddd"), Nominal, .6919643},
		{"three, nominal", three, Nominal, .6913580},
		{"three, interval", three, Metric, .8108449},
		{"many, nominal", many, Nominal, .743421},
		{"many, ordinal", many, Ordinal, .815388},
		{"many, interval", many, Metric, .849107},
		{"one rating each", units("1 2 3"), Nominal, math.NaN()},
		{"all the same", units("11 11"), Nominal, math.NaN()},
	} {
		t.Run(tt.name, func(t *testing.T) { near(t, tt.want, Alpha(tt.units, tt.level), 1e-6) })
	}
}

// units returns what each unit was rated, a character a rating.
func units(text string) (all [][]float64) {
	for unit := range strings.FieldsSeq(text) {
		var ratings []float64
		for _, r := range strings.ReplaceAll(unit, "-", "") {
			ratings = append(ratings, float64(r-'0'))
		}
		all = append(all, ratings)
	}
	return all
}

// byUnit returns the same from what each rater said of all units.
func byUnit(raters ...string) [][]float64 {
	all := make([][]float64, len(raters[0]))
	for _, said := range raters {
		for i, r := range said {
			if r != '-' {
				all[i] = append(all[i], float64(r-'0'))
			}
		}
	}
	return all
}
