package activation

import (
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/expect"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

// Awaits implements [plan.Early].
func (es expectations) Awaits(variant string) (lines []string) {
	for _, e := range es.of(variant) {
		lines = append(lines, e.String())
	}
	return lines
}

// Watch implements [plan.Early].
func (es expectations) Watch(v plan.Variant, threshold float64) func(trajectory.Body) bool {
	own := es.of(v.ID)
	profile, _ := agent.Lookup(v.Agent.Kind)
	signs, used := make([]sign, len(own)), make([]bool, len(own))
	for i, e := range own {
		signs[i] = signOf(e.Activated, profile)
	}
	return func(b trajectory.Body) bool {
		for i, s := range signs {
			used[i] = used[i] || s.in(b)
		}
		return own.sure(used, threshold)
	}
}

// sure reports whether the verdict by a threshold is the same whatever is used of that which was not used until now.
func (es expectations) sure(used []bool, threshold float64) bool {
	var worst, best, weights []float64
	for i, e := range es {
		least, most := 0., 1. // what was not used may be used, or not
		switch {
		case used[i] && e.fires:
			least = 1
		case used[i]:
			most = 0
		}
		worst, best, weights = append(worst, least), append(best, most), append(weights, 1)
	}
	return es == nil || expect.Mean(worst, weights) >= threshold || expect.Mean(best, weights) < threshold
}
