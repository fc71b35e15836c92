package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// draws returns the numbers by which a function draws: always the same.
func draws() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// Resampled returns the interval of a figure of a sample, by drawing samples of n as large from it (the percentile
// bootstrap, Efron 1979). The figure is told which were drawn; one that is NaN does not count, and where more than a
// tenth are the interval is unknown.
func Resampled(n int, figure func(drawn []int) float64, confidence float64) Interval {
	const times = 2000
	random, drawn := draws(), make([]int, n)
	var figures []float64
	for range times {
		for i := range drawn {
			drawn[i] = random.IntN(n)
		}
		if f := figure(drawn); !math.IsNaN(f) {
			figures = append(figures, f)
		}
	}
	if len(figures) < times*9/10 {
		return unknown
	}
	slices.Sort(figures)
	return Interval{quantile(figures, (1-confidence)/2), quantile(figures, (1+confidence)/2)}
}

// Total returns what figures may add up to, of which each is one of a list, whichever it is: the median of such sums,
// and between which a share of them lies. A list that is empty leaves it unknown, and lists of one figure each leave
// the interval unknown.
func Total(lists [][]float64, confidence float64) (middle float64, interval Interval) {
	const times = 1000
	random, sums, vary := draws(), make([]float64, times), false
	for _, list := range lists {
		if len(list) == 0 {
			return math.NaN(), unknown
		}
		vary = vary || len(list) > 1
		for i := range sums {
			sums[i] += list[random.IntN(len(list))]
		}
	}
	slices.Sort(sums)
	if interval = unknown; vary {
		interval = Interval{quantile(sums, (1-confidence)/2), quantile(sums, (1+confidence)/2)}
	}
	return quantile(sums, .5), interval
}

// quantile returns the value below which a share of sorted values is.
func quantile(sorted []float64, share float64) float64 {
	at := share * float64(len(sorted)-1)
	i := int(at)
	if i+1 == len(sorted) {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// Scores are the values of a case's trials in both arms.
type Scores struct {
	Base, Head []float64
}

// Permutation tests whether the trials of a case have the same values in both arms: two-sided, of the mean of the
// cases' differences, by giving each case's trials to the arms at random.
func Permutation(cases []Scores) float64 {
	all := 0
	for _, c := range cases {
		all += len(c.Base) + len(c.Head)
	}
	random, times := draws(), min(9999, max(999, 10_000_000/max(1, all)))
	seen, as := math.Abs(meanDifference(cases)), 1
	mixed := make([]Scores, len(cases))
	for i, c := range cases {
		both := slices.Concat(c.Base, c.Head)
		mixed[i] = Scores{both[:len(c.Base)], both[len(c.Base):]}
	}
	for range times {
		for _, c := range mixed {
			both := c.Base[:len(c.Base)+len(c.Head)]
			random.Shuffle(len(both), func(i, j int) { both[i], both[j] = both[j], both[i] })
		}
		if math.Abs(meanDifference(mixed)) >= seen-1e-12 {
			as++
		}
	}
	return float64(as) / float64(times+1)
}

// meanDifference returns by how much the cases' means are higher in the head, on average.
func meanDifference(cases []Scores) float64 {
	var sum float64
	for _, c := range cases {
		sum += mean(c.Head) - mean(c.Base)
	}
	return sum / float64(len(cases))
}

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Ratio returns how many times as much the head needs as the base: the ratio of the geometric means of the cases'
// means, and its interval by drawing cases. What is not above 0 has no ratio, so that it leaves the figure unknown.
func Ratio(cases []Scores, confidence float64) (ratio float64, interval Interval) {
	logs := make([]float64, len(cases))
	for i, c := range cases {
		base, head := mean(c.Base), mean(c.Head)
		if !(base > 0 && head > 0) {
			return math.NaN(), unknown
		}
		logs[i] = math.Log(head / base)
	}
	drawn := Resampled(len(logs), func(drawn []int) float64 {
		var sum float64
		for _, i := range drawn {
			sum += logs[i]
		}
		return math.Exp(sum / float64(len(drawn)))
	}, confidence)
	return math.Exp(mean(logs)), drawn
}
