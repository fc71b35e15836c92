// Package stats says how sure one may be of what trials of coding agents showed: of a pass rate, of the difference
// between two arms, of people and judges who agree. Its functions are pure; those that draw do so from a fixed seed, so
// that the same results always give the same figures. docs/decisions.md says which is used when, and what each was held
// against.
//
// A figure that the results cannot give is NaN, never 0.
package stats

import "math"

// Interval is a confidence interval, both ends included.
type Interval struct {
	Low, High float64
}

// Holds reports whether a value is within the interval.
func (i Interval) Holds(v float64) bool { return i.Low <= v && v <= i.High }

// unknown is the interval of what the results cannot give.
var unknown = Interval{math.NaN(), math.NaN()}

// Count is how many of a number of trials passed.
type Count struct {
	Passed, Trials int
}

// Rate returns the share that passed: NaN without trials.
func (c Count) Rate() float64 { return float64(c.Passed) / float64(c.Trials) }

// Expected returns the rate with half a pass and half a failure more, since a case that always passed does not always
// pass: 0.5 of no trials.
func (c Count) Expected() float64 { return (float64(c.Passed) + .5) / float64(c.Trials+1) }

// Wilson returns the score interval of a share (Wilson 1927) at a confidence, such as 0.95. It takes the trials for
// independent, so that it suits trials of one case, or one trial each of many cases.
func (c Count) Wilson(confidence float64) Interval {
	if c.Trials == 0 {
		return unknown
	}
	n, p, z := float64(c.Trials), c.Rate(), normal(confidence)
	middle, half := p+z*z/(2*n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	low, high := (middle-half)/(1+z*z/n), (middle+half)/(1+z*z/n)
	if c.Passed == 0 {
		low = 0
	}
	if c.Passed == c.Trials {
		high = 1
	}
	return Interval{low, high}
}

// PassAtK returns how likely at least one of k trials passes, estimated without bias (Chen et al. 2021): NaN for fewer
// than k trials.
func (c Count) PassAtK(k int) float64 {
	if c.Trials < k {
		return math.NaN()
	}
	return 1 - choose(c.Trials-c.Passed, k)/choose(c.Trials, k)
}

// PassAllK returns how likely all of k trials pass, written pass^k, estimated without bias (Yao et al. 2024): NaN for
// fewer than k trials.
func (c Count) PassAllK(k int) float64 {
	if c.Trials < k {
		return math.NaN()
	}
	return choose(c.Passed, k) / choose(c.Trials, k)
}

// choose returns in how many ways k of n can be chosen.
func choose(n, k int) float64 {
	if k > n {
		return 0
	}
	return math.Exp(logChoose(n, k))
}

// logChoose returns the logarithm of choose for k of at most n.
func logChoose(n, k int) float64 { return logFactorial(n) - logFactorial(k) - logFactorial(n-k) }

func logFactorial(n int) float64 {
	v, _ := math.Lgamma(float64(n) + 1)
	return v
}

// normal returns how many standard deviations each side of the mean hold a share of a normal distribution.
func normal(confidence float64) float64 { return math.Sqrt2 * math.Erfinv(confidence) }

// student returns the same as normal of Student's t distribution, with whole degrees of freedom.
func student(confidence, df float64) float64 {
	within := func(t float64) bool { return studentTail(t, df) >= 1-confidence }
	most := 1.
	for most < 1e300 && within(most) { // a confidence of 1 takes all
		most *= 2
	}
	return bound(within, 0, most)
}

// studentTail returns the share of Student's t distribution that is further from its mean than t, on both sides: the
// sum of its density for whole degrees of freedom (Student 1908).
func studentTail(t, df float64) float64 {
	t = math.Abs(t)
	cosine, sine := math.Sqrt(df/(df+t*t)), t/math.Sqrt(df+t*t)
	if math.Mod(df, 2) == 0 {
		return max(0, 1-sine*series(1, cosine, 2, df))
	}
	rest := 0.
	if df > 1 {
		rest = sine * series(cosine, cosine, 3, df)
	}
	return max(0, 1-2/math.Pi*(math.Asin(sine)+rest))
}

// series adds up a first term and those that follow it, each the one before times (k-1)/k and a cosine squared.
func series(term, cosine, k, df float64) (sum float64) {
	for sum = term; k <= df-2; k += 2 {
		term *= (k - 1) / k * cosine * cosine
		sum += term
	}
	return sum
}
