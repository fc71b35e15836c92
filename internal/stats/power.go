package stats

import "math"

// Power returns how likely a design notices that the mean pass rate of cases dropped by so much: cases that pass at
// these rates in the base, with so many trials in each arm, tested two-sided at a level alpha. Each case drops by the
// same share of its rate.
func Power(rates []float64, trials int, drop, alpha float64) float64 {
	e := designError(rates, trials, drop)
	z := normal(1 - alpha)
	return 1 - above(drop/e-z) + above(drop/e+z)
}

// above returns the share of a normal distribution that is above z.
func above(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// designError returns the standard error of the difference of two arms, one lower by so much.
func designError(rates []float64, trials int, drop float64) float64 {
	left, sum := 1-drop/mean(rates), 0.0
	for _, p := range rates {
		q := max(0, p*left)
		sum += p*(1-p) + q*(1-q)
	}
	return math.Sqrt(sum/float64(trials)) / float64(len(rates))
}

// Detectable returns the smallest drop of the mean pass rate that a design notices with a power: NaN where it notices
// none.
func Detectable(rates []float64, trials int, alpha, power float64) float64 {
	most := mean(rates)
	notices := func(drop float64) bool { return Power(rates, trials, drop, alpha) >= power }
	if !notices(most) {
		return math.NaN()
	}
	return bound(notices, most, 1e-6)
}

// TrialsToDecide returns how many trials of each case in each arm decide with a power, were the difference what it
// seems: by showing that there is one, or that there is no loss as large as a margin, whatever takes fewer. 0 where
// no number up to a million does.
func TrialsToDecide(rates []float64, difference, margin, alpha, power float64) int {
	one := designError(rates, 1, -difference)
	needed := func(effect, level float64) float64 {
		if effect <= 0 {
			return math.Inf(1)
		}
		z := (normal(1-level) + normal(2*power-1)) * one / effect
		return z * z
	}
	n := math.Ceil(min(needed(math.Abs(difference), alpha), needed(difference+margin, 2*alpha)))
	if n > 1e6 {
		return 0
	}
	// So few trials that all of them passing in one arm and failing in the other would be by chance decide nothing.
	k := max(1, int(n))
	for math.Exp(-logChoose(2*k, k)*float64(len(rates))) >= alpha {
		k++
	}
	return k
}
