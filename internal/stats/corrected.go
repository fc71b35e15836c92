package stats

import "math"

// FewestLabels is how many labels [Corrected] needs for an interval.
const FewestLabels = 10

// Corrected estimates the mean of what people would say of all items, from what a judge says of all and people of
// some: prediction-powered inference (Angelopoulos et al. 2023), with the weight of the judge that makes the interval
// smallest. labels and judged are people's and the judge's word on the same items, rest the judge's on the others, from
// 0 to 1. The interval is Student's, with one degree of freedom less than there are labels; fewer than [FewestLabels]
// leave it unknown. Where the judge is never wrong, the labels may have missed what it is wrong about: see
// [Clustered].
func Corrected(labels, judged, rest []float64, confidence float64) (float64, Interval) {
	n, m := float64(len(labels)), float64(len(rest))
	weight := 0.0
	if spread := covariance(judged, judged); n >= 2 && m >= 2 && spread > 0 {
		weight = min(1, max(0, covariance(labels, judged)/((1+n/m)*spread)))
	}
	left := make([]float64, len(labels)) // what the judge does not explain
	for i := range labels {
		left[i] = labels[i] - weight*judged[i]
	}
	corrected := mean(left)
	if weight > 0 {
		corrected += weight * mean(rest)
	}
	if n < FewestLabels {
		return corrected, unknown
	}
	variance := covariance(left, left) / n
	if weight > 0 {
		variance += weight * weight * covariance(rest, rest) / m
	}
	half := student(confidence, n-1) * math.Sqrt(variance)
	if covariance(left, left) < 1e-12 {
		half += Count{0, len(labels)}.Wilson(confidence).High
	}
	return corrected, Interval{corrected - half, corrected + half}
}

// covariance returns that of a sample of pairs: the variance of a sample with itself.
func covariance(a, b []float64) float64 {
	ma, mb, sum := mean(a), mean(b), 0.0
	for i := range a {
		sum += (a[i] - ma) * (b[i] - mb)
	}
	return sum / float64(len(a)-1)
}
