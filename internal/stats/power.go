package stats

import (
	"math"
	"math/rand/v2"
	"sort"
)

const (
	// maxSimulated is how many trials an arm may have for its power to be simulated. With more, the formula is right to
	// a point, and takes no time.
	maxSimulated = 60
	// simulated is how often a design is simulated: its power is then known to a point.
	simulated = 2000
)

// Power returns how likely [MantelHaenszel]'s mid-p notices, two-sided at a level alpha, that the mean pass rate of
// cases dropped by so much: cases that pass at these rates in the base, with so many trials in each arm. Each case
// drops by the same share of its rate; where they rise, a negative drop, each fails less by the same share.
func Power(rates []float64, trials int, drop, alpha float64) float64 {
	heads := dropped(rates, drop)
	if len(rates)*trials <= maxSimulated {
		return simulate(rates, heads, trials, alpha)
	}
	n := float64(trials)
	// The variance of half the difference of passes, and the one that the test takes it for: that of equal arms.
	var difference, variance, equal float64
	for i, p := range rates {
		q := heads[i]
		spread, passed := n*(p*(1-p)+q*(1-q)), n*(p+q)
		difference += n * math.Abs(p-q) / 2
		variance += spread / 4
		equal += (2*n*passed - spread - passed*passed) / (4 * (2*n - 1))
	}
	return above((normal(1-alpha)*math.Sqrt(equal) - difference) / math.Sqrt(variance))
}

// dropped returns the rates of the worse arm.
func dropped(rates []float64, drop float64) []float64 {
	all := make([]float64, len(rates))
	for i, p := range rates {
		if drop < 0 {
			all[i] = 1 - (1-p)*max(0, 1+drop/(1-mean(rates)))
		} else {
			all[i] = p * max(0, 1-drop/mean(rates))
		}
	}
	return all
}

// above returns the share of a normal distribution that is above z.
func above(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// simulate returns how often a difference is noticed, always with the same numbers: larger ones more often.
func simulate(bases, heads []float64, trials int, alpha float64) float64 {
	random, tests, seen := draws(), new(tester), 0
	pairs, below := make([]Pair, len(bases)), make([][2][]float64, len(bases))
	for i := range pairs {
		below[i] = [2][]float64{binomial(trials, bases[i]), binomial(trials, heads[i])}
	}
	for range simulated {
		for i := range pairs {
			pairs[i] = Pair{passes(random, below[i][0]), passes(random, below[i][1])}
		}
		if tests.test(pairs).MidP < alpha {
			seen++
		}
	}
	return float64(seen) / simulated
}

// binomial returns how likely at most so many of a number of trials pass.
func binomial(trials int, rate float64) []float64 {
	all, sum := make([]float64, trials+1), 0.
	for k := range all {
		sum += choose(trials, k) * math.Pow(rate, float64(k)) * math.Pow(1-rate, float64(trials-k))
		all[k] = sum
	}
	all[trials] = 1
	return all
}

// passes draws how many trials pass.
func passes(random *rand.Rand, below []float64) Count {
	return Count{sort.SearchFloat64s(below, random.Float64()), len(below) - 1}
}

// Detectable returns the smallest drop of the mean pass rate that a design notices with a power: NaN where it notices
// none.
func Detectable(rates []float64, trials int, alpha, power float64) float64 {
	none, most := 0., mean(rates)
	notices := func(drop float64) bool { return Power(rates, trials, drop, alpha) >= power }
	if !notices(most) {
		return math.NaN()
	}
	for range 9 { // to a fifth of a point: a simulation says no more
		if middle := (none + most) / 2; notices(middle) {
			most = middle
		} else {
			none = middle
		}
	}
	return most
}

// DetectableBy returns the same for a design by which a difference has an interval at a confidence, whatever it is.
func DetectableBy(i Interval, confidence, power float64) float64 {
	return (i.High - i.Low) / 2 * (1 + normal(2*power-1)/normal(confidence))
}

// TrialsToDecide returns how many trials of each case in each arm decide with a power, were the difference what it
// seems: by showing that there is one, or that there is no loss as large as a margin, whatever takes fewer. 0 where
// no number up to a million does.
func TrialsToDecide(rates []float64, difference, margin, alpha, power float64) int {
	differs := TrialsToSee(rates, -difference, alpha, power)
	if effect := difference + margin; effect > 0 {
		var variance float64
		for i, q := range dropped(rates, -difference) {
			variance += rates[i]*(1-rates[i]) + q*(1-q)
		}
		z := (normal(1-2*alpha) + normal(2*power-1)) / effect / float64(len(rates))
		if n := math.Ceil(z * z * variance); n <= mostTrials && (differs == 0 || n < float64(differs)) {
			return fewest(len(rates), int(n), alpha)
		}
	}
	return differs
}

// mostTrials is how many trials of a case are thought of.
const mostTrials = 1_000_000

// TrialsToSee returns how many trials of each case in each arm show a drop of the mean pass rate with a power. 0 where
// no number up to a million does.
func TrialsToSee(rates []float64, drop, alpha, power float64) int {
	n := 1 + sort.Search(mostTrials, func(n int) bool { return Power(rates, n+1, drop, alpha) >= power })
	if n > mostTrials {
		return 0
	}
	return n
}

// Uneven returns pass rates to think of where none are known: of cases that are unlike each other, 0.8 on average. They
// are spread as evenly as can be over Kumaraswamy's distribution (1980) that has the mean and the variance of
// Beta(1.6, 0.4).
func Uneven(cases int) []float64 {
	rates := make([]float64, cases)
	for i := range rates {
		share := (float64(i) + .5) / float64(cases)
		rates[i] = math.Pow(1-math.Pow(1-share, 1/.39134), 1/1.71399)
	}
	return rates
}

// fewest returns a number of trials, or more: so few that all of them passing in one arm and failing in the other would
// be by chance decide nothing.
func fewest(cases, trials int, alpha float64) int {
	k := max(1, trials)
	for math.Exp(-logChoose(2*k, k)*float64(cases)) >= alpha {
		k++
	}
	return k
}
