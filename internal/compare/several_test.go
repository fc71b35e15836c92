package compare

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestSeveral: what one comparison shows, one of many need not.
func TestSeveral(t *testing.T) {
	base, head := arm("base", times(10, "p")), arm("head", times(4, "p ")+times(6, "f "))
	one := suite.CompareAll([]Arms{{base, head}})
	assert.Equal(t, Worse, one[0].Verdict)
	assert.Nil(t, one[0].Adjusted)
	many := suite.CompareAll([]Arms{
		{base, head},
		{base, base},
		{base, arm("head", times(10, "e"))},
		{base, head},
		{base, head},
	})
	assert.Equal(t, Inconclusive, many[0].Verdict)
	assert.Contains(t, many[0].Text(), "adjusted for 4 comparisons, is not below 0.05")
	assert.Equal(t, Invalid, many[2].Verdict, "which is none of them")
	assert.Nil(t, many[2].Adjusted)
	assert.InDelta(t, 4*float64(one[0].P), float64(*many[0].Adjusted), 1e-12)
}

func TestGate(t *testing.T) {
	of := func(verdicts ...Verdict) (all []*Comparison) {
		for _, v := range verdicts {
			all = append(all, &Comparison{Verdict: v})
		}
		return all
	}
	for _, tt := range []struct {
		gate     Gate
		verdicts []Verdict
		want     int
	}{
		{GateWorse, []Verdict{Better, NotWorse, Inconclusive}, 0},
		{GateWorse, []Verdict{Better, Worse}, 1},
		{GateNotWorse, []Verdict{Better, NotWorse}, 0},
		{GateNotWorse, []Verdict{Inconclusive, Better}, 4},
		{GateNotWorse, []Verdict{Inconclusive, Worse, Inconclusive}, 1},
		{GateBetter, []Verdict{Better}, 0},
		{GateBetter, []Verdict{NotWorse}, 4},
		{GateNone, []Verdict{Worse, Inconclusive}, 0},
		{GateNone, []Verdict{Worse, Invalid}, 3},
		{GateNotWorse, []Verdict{Worse, Invalid, Inconclusive}, 3},
		{GateNotWorse, []Verdict{Invalid, Worse}, 3},
	} {
		assert.Equal(t, tt.want, tt.gate.Exit(of(tt.verdicts...)), tt)
	}
}
