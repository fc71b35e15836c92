package stats

import "math"

// Corrected estimates the mean of what people would say of all items, from what a judge says of all and people of
// some: prediction-powered inference (Angelopoulos et al. 2023), with the weight of the judge that makes the interval
// smallest. labels and judged are people's and the judge's word on the same items, rest the judge's on the others.
// Fewer than two labels leave it unknown.
func Corrected(labels, judged, rest []float64, confidence float64) Estimate {
	n, m := float64(len(labels)), float64(len(rest))
	if n < 2 {
		return Estimate{Mean: math.NaN(), Error: math.NaN(), P: math.NaN(), Interval: unknown}
	}
	weight := 0.0
	if spread := covariance(judged, judged); m >= 2 && spread > 0 {
		weight = min(1, max(0, covariance(labels, judged)/((1+n/m)*spread)))
	}
	left := make([]float64, len(labels)) // what the judge does not explain
	for i := range labels {
		left[i] = labels[i] - weight*judged[i]
	}
	e := Estimate{Mean: mean(left), Freedom: len(labels) - 1}
	variance := covariance(left, left) / n
	if weight > 0 {
		e.Mean += weight * mean(rest)
		variance += weight * weight * covariance(rest, rest) / m
	}
	e.Error = math.Sqrt(variance)
	half := normal(confidence) * e.Error
	e.P, e.Interval = tail(e.Mean/e.Error), Interval{e.Mean - half, e.Mean + half}
	return e
}

// covariance returns that of a sample of at least two pairs: the variance of a sample with itself.
func covariance(a, b []float64) float64 {
	ma, mb, sum := mean(a), mean(b), 0.0
	for i := range a {
		sum += (a[i] - ma) * (b[i] - mb)
	}
	return sum / float64(len(a)-1)
}
