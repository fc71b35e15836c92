package stats

import (
	"math"
	"slices"
)

// Holm returns p values that hold for all of several tests together (Holm 1979), in their order.
func Holm(ps []float64) []float64 {
	n, last := len(ps), 0.0
	return adjust(ps, func(rank int, p float64) float64 {
		last = max(last, min(1, p*float64(n-rank)))
		return last
	}, false)
}

// BenjaminiHochberg returns p values below which a share of the tests at most is a false alarm (Benjamini and Hochberg
// 1995), in their order.
func BenjaminiHochberg(ps []float64) []float64 {
	n, last := len(ps), 1.0
	return adjust(ps, func(rank int, p float64) float64 {
		last = min(last, p*float64(n)/float64(rank+1))
		return last
	}, true)
}

// adjust returns what a function makes of each p value and its rank, from the smallest to the largest or the other way.
func adjust(ps []float64, to func(rank int, p float64) float64, largestFirst bool) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return compare(ps[a], ps[b]) })
	adjusted := make([]float64, len(ps))
	for i := range order {
		rank := i
		if largestFirst {
			rank = len(order) - 1 - i
		}
		adjusted[order[rank]] = to(rank, ps[order[rank]])
	}
	return adjusted
}

// compare orders numbers, NaN last.
func compare(a, b float64) int {
	switch {
	case a < b || math.IsNaN(b) && !math.IsNaN(a):
		return -1
	case a > b || math.IsNaN(a) && !math.IsNaN(b):
		return 1
	}
	return 0
}
