package stats

import (
	"math"
	"slices"
)

// Weight is how far apart two of a number of ordered ratings are, from 0 for the same to 1.
type Weight func(a, b, ratings int) float64

// The weights of [Kappa].
var (
	Unweighted Weight = func(a, b, _ int) float64 { return map[bool]float64{false: 1}[a == b] }
	Linear     Weight = func(a, b, n int) float64 { return math.Abs(float64(a-b)) / float64(n-1) }
	Quadratic  Weight = func(a, b, n int) float64 { return math.Pow(float64(a-b)/float64(n-1), 2) }
)

// Kappa returns by how much two raters agree more than by chance (Cohen 1960; weighted, 1968), from how often one gave
// a rating of a row where the other gave that of a column: 1 for always, 0 for as often as by chance, NaN where both
// always gave the same one rating, which says nothing.
func Kappa(table [][]int, apart Weight) float64 {
	n := len(table)
	rows, columns, all := make([]float64, n), make([]float64, n), 0.0
	for i, row := range table {
		for j, times := range row {
			rows[i] += float64(times)
			columns[j] += float64(times)
			all += float64(times)
		}
	}
	var seen, chance float64
	for i, row := range table {
		for j, times := range row {
			seen += apart(i, j, n) * float64(times) / all
			chance += apart(i, j, n) * rows[i] * columns[j] / (all * all)
		}
	}
	return 1 - seen/chance
}

// Level is what the numbers of ratings mean.
type Level int

// The levels of [Alpha].
const (
	Nominal Level = iota // names: two differ or do not
	Ordinal              // an order
	Metric               // differences
)

// Alpha returns Krippendorff's alpha: by how much raters agree more than by chance. Each unit has the ratings that it
// was given, in any order and by any number of raters; those with fewer than two count for nothing. NaN where no unit
// has two, or all ratings are the same, which says nothing.
func Alpha(units [][]float64, level Level) float64 {
	values := slices.Concat(units...)
	slices.Sort(values)
	values = slices.Compact(values)
	at := make(map[float64]int)
	for i, v := range values {
		at[v] = i
	}
	// pairs[i][j] is how often two ratings of one unit were these, each unit counting as often as it was rated.
	pairs := make([][]float64, len(values))
	for i := range pairs {
		pairs[i] = make([]float64, len(values))
	}
	for _, unit := range units {
		for i, a := range unit {
			for j, b := range unit {
				if i != j {
					pairs[at[a]][at[b]] += 1 / float64(len(unit)-1)
				}
			}
		}
	}
	counts, all := make([]float64, len(values)), 0.0
	for i, row := range pairs {
		for _, times := range row {
			counts[i] += times
			all += times
		}
	}
	var seen, chance float64
	for i, row := range pairs {
		for j, times := range row {
			d := level.apart(values, counts, i, j)
			seen += d * times
			chance += d * counts[i] * counts[j] / (all - 1)
		}
	}
	return 1 - seen/chance
}

// apart returns the square of how far apart two of all values are, which were given so often.
func (l Level) apart(values, counts []float64, i, j int) float64 {
	switch {
	case i == j:
		return 0
	case l == Nominal:
		return 1
	case l == Metric:
		return (values[i] - values[j]) * (values[i] - values[j])
	}
	i, j = min(i, j), max(i, j)
	d := (counts[i] + counts[j]) / 2
	for _, between := range counts[i+1 : j] {
		d += between
	}
	return d * d
}
