package stats

import "math"

// Estimate is a mean of a sample and how sure one may be of it.
type Estimate struct {
	Mean     float64
	Error    float64 // the standard error: 0 where all values are equal
	Freedom  int     // degrees of freedom: clusters less one
	P        float64 // two-sided, of a mean of 0
	Interval Interval
}

// Clustered estimates the mean of values that are a sample of all there could be, where those of one cluster are alike:
// Student's t with the clusters' sums, and the factor C/(C-1) of C clusters. A nil clusters takes each value for a
// cluster. Fewer than two clusters leave all but the mean unknown.
//
// Values that are all equal do not make certain that others would be. Then the interval is that of values that are at
// most 1 apart, as pass rates and their differences are, of which none so far has differed ([Count.Wilson]).
func Clustered[C comparable](values []float64, clusters []C, confidence float64) Estimate {
	n := float64(len(values))
	var sum float64
	for _, v := range values {
		sum += v
	}
	e := Estimate{Mean: sum / n, Error: math.NaN(), P: math.NaN(), Interval: unknown}
	parts := make(map[C]float64)
	squares, groups := 0.0, len(values)
	for i, v := range values {
		if clusters == nil {
			squares += (v - e.Mean) * (v - e.Mean)
		} else {
			parts[clusters[i]] += v - e.Mean
		}
	}
	if clusters != nil {
		groups = len(parts)
		for _, part := range parts {
			squares += part * part
		}
	}
	e.Freedom = max(0, groups-1)
	if e.Freedom == 0 {
		return e
	}
	g := float64(groups)
	e.Error = math.Sqrt(g/(g-1)*squares) / n
	if e.Error < 1e-12 { // rounding of values that are equal
		far := Count{0, groups}.Wilson(confidence).High
		e.Error, e.P, e.Interval = 0, 1, Interval{e.Mean - far, e.Mean + far}
		if !e.Interval.Holds(0) {
			e.P = math.NaN()
		}
		return e
	}
	df := float64(e.Freedom)
	half := student(confidence, df) * e.Error
	e.P, e.Interval = studentTail(e.Mean/e.Error, df), Interval{e.Mean - half, e.Mean + half}
	return e
}
