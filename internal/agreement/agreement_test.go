package agreement

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/scoring/aijudge"
	"github.com/sdd-eval/sdd-eval/internal/scoring/human"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// world makes units of 20 cases, 5 trials each, of the variant a: of each kind as many as a table says of what a person
// and a judge say, [[both no, judge yes], [person yes, both yes]].
func world(table [2][2]int) ([]result.Unit, human.Scores) {
	anna := human.Scores{Rater: "Anna", Units: make(map[string]human.Label)}
	var units []result.Unit
	for person, row := range table {
		for judge, times := range row {
			for range times {
				n := len(units)
				u := result.Unit{Case: fmt.Sprintf("c%d", n%20), Variant: "a", Trial: 1 + n/20, Outcome: result.Fail}
				e := result.Evaluation{Name: "rubric", Outcome: result.Fail, Score: new(0.)}
				if judge == 1 {
					e.Outcome, u.Outcome, e.Score = result.Pass, result.Pass, new(1.)
				}
				u.Evaluations = []result.Evaluation{e}
				units = append(units, u)
				anna.Units[fmt.Sprintf("%s/a/%d", u.Case, u.Trial)] = human.Label{Solved: person == 1}
			}
		}
	}
	return units, anna
}

// TestKappa: the tables of Cohen's kappa in textbooks, as what a person and a judge say.
func TestKappa(t *testing.T) {
	for _, tt := range []struct {
		table [2][2]int
		kappa float64
	}{
		{[2][2]int{{20, 5}, {10, 15}}, .4},
		{[2][2]int{{45, 15}, {25, 15}}, .1304348},
		{[2][2]int{{25, 35}, {5, 35}}, .2592593},
	} {
		units, anna := world(tt.table)
		r := Of("run", units, []human.Scores{anna}, nil)
		require.Len(t, r.Judges, 2, "the judge and the outcome")
		for _, p := range r.Judges {
			require.InDelta(t, tt.kappa, float64(p.Kappa.Value), 1e-6)
			require.Less(t, float64(p.Kappa.Interval[0]), tt.kappa)
			require.Greater(t, float64(p.Kappa.Interval[1]), tt.kappa)
		}
		require.Empty(t, r.Pairs)
		require.Nil(t, r.Labels, "one person agrees with nobody")
	}
}

// TestText: two people, one of whom labelled a part, and disagrees; scores of variants; a model that scores.
func TestText(t *testing.T) {
	units, anna := world([2][2]int{{30, 8}, {6, 36}})
	anna.Variants = map[string]human.Rating{"a": {Score: 7}, "b": {Score: 3}}
	bob := human.Scores{
		Rater: "Bob", Units: make(map[string]human.Label),
		Variants: map[string]human.Rating{"a": {Score: 8}, "b": {Score: 4}},
	}
	for i, u := range units {
		name := fmt.Sprintf("%s/a/%d", u.Case, u.Trial)
		if i%2 == 0 {
			bob.Units[name] = human.Label{Solved: anna.Units[name].Solved != (i%8 == 0)}
		} else {
			delete(anna.Units, name)
		}
	}
	units = append(units,
		result.Unit{Case: "c1", Variant: "b", Trial: 1, Outcome: result.Pass, Evaluations: []result.Evaluation{
			{Name: "advice", Outcome: result.Reported, Score: new(.4), Threshold: .5},
			{Name: "rubric", Outcome: result.Error},
		}})
	bob.Units["c1/b/1"] = human.Label{Solved: true}
	scores := []aijudge.Score{
		{Unit: "demo/c1/a/1", Variant: "a", Model: "gpt-test", Score: 6},
		{Unit: "demo/c1/b/1", Variant: "b", Model: "gpt-test", Score: 9},
	}
	r := Of("run", units, []human.Scores{anna, bob}, scores)
	golden.Equal(t, "testdata/two.txt", []byte(r.Text()))
	data, err := jsonvalue.MarshalIndent(r, "", "  ")
	require.NoError(t, err)
	golden.Equal(t, "testdata/two.json", append(data, '\n'))
}

// TestNothingToKnow: all say the same, so nobody knows whether they would agree.
func TestNothingToKnow(t *testing.T) {
	units, anna := world([2][2]int{{0, 0}, {0, 4}})
	r := Of("run", units, []human.Scores{anna}, nil)
	require.True(t, math.IsNaN(float64(r.Judges[0].Kappa.Value)))
	require.Contains(t, r.Text(), "unknown: all say the same")
	require.Contains(t, r.Text(), "10 labels are needed")
}
