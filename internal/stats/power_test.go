package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestPower: what is foretold, by simulation or by the formula, is what the test then notices.
func TestPower(t *testing.T) {
	for _, tt := range []struct {
		cases, trials int
		drop          float64
	}{{20, 1, .2}, {5, 5, .3}, {20, 3, .2}, {70, 1, .2}, {10, 10, -.1}} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			random, tests, seen := rand.New(rand.NewPCG(3, 4)), new(tester), 0
			rates, all := make([]float64, tt.cases), make([]Pair, tt.cases)
			for i := range rates {
				rates[i] = 1 - .4*(float64(i)+.5)/float64(tt.cases)
			}
			worse := dropped(rates, tt.drop)
			assert.InDelta(t, tt.drop, mean(rates)-mean(worse), 1e-12)
			const times = 20_000
			for range times {
				for i := range all {
					all[i] = Pair{Count{0, tt.trials}, Count{0, tt.trials}}
					for range tt.trials {
						if random.Float64() < rates[i] {
							all[i].Base.Passed++
						}
						if random.Float64() < worse[i] {
							all[i].Head.Passed++
						}
					}
				}
				if tests.test(all).MidP < .05 {
					seen++
				}
			}
			assert.InDelta(t, float64(seen)/times, Power(rates, tt.trials, tt.drop, .05), .02)
			least := Detectable(rates, tt.trials, .05, .8)
			assert.InDelta(t, .8, Power(rates, tt.trials, least, .05), .01)
			trials := TrialsToDecide(rates, -tt.drop, -1, .05, .8)
			assert.GreaterOrEqual(t, Power(rates, trials, tt.drop, .05), .8)
			if trials > 1 {
				assert.Less(t, Power(rates, trials-1, tt.drop, .05), .8)
			}
		})
	}
	assert.True(t, math.IsNaN(Detectable([]float64{.75}, 1, .05, .8)), "one trial shows nothing")
}

// TestPlanned holds what is foretold of cases that nothing is known about to the figures of docs/decisions.md.
func TestPlanned(t *testing.T) {
	for _, tt := range []struct {
		cases, trials int
		drop, power   float64
	}{{20, 3, .2, .77}, {20, 10, .1, .76}, {50, 5, .1, .84}} {
		rates := Uneven(tt.cases)
		assert.InDelta(t, .8, mean(rates), .001)
		assert.InDelta(t, tt.power, Power(rates, tt.trials, tt.drop, .05), .02, "%+v", tt)
		n := TrialsToSee(rates, tt.drop, .05, .8)
		assert.GreaterOrEqual(t, Power(rates, n, tt.drop, .05), .8)
		assert.Less(t, Power(rates, n-1, tt.drop, .05), .8)
	}
	assert.Zero(t, TrialsToSee(Uneven(3), .9, .05, 2), "no power is 2")
	assert.Zero(t, TrialsToSee([]float64{.5}, 0, .05, .8), "no drop is seen")
}

func TestTotal(t *testing.T) {
	middle, i := Total([][]float64{{1, 3}, {1, 3}, {10}}, .9)
	assert.Equal(t, 14., middle)
	assert.Equal(t, Interval{12, 16}, i)
	middle, i = Total([][]float64{{1}, {2}}, .9)
	assert.Equal(t, 3., middle)
	assert.True(t, math.IsNaN(i.Low) && math.IsNaN(i.High), "one figure says nothing about the spread")
	middle, _ = Total([][]float64{{1}, nil}, .9)
	assert.True(t, math.IsNaN(middle))
	middle, _ = Total(nil, .9)
	assert.Zero(t, middle)
}
