// Package compare says whether one arm of an experiment does better than another, and how sure that is. It takes what
// units came to and reads and writes no files.
package compare

import (
	"math"

	"github.com/sdd-eval/sdd-eval/internal/stats"
)

// Verdict is what a comparison comes to.
type Verdict string

const (
	// Better: the head passes more often, and that is not by chance.
	Better Verdict = "better"
	// NotWorse: a loss as large as the margin would have been seen.
	NotWorse Verdict = "not_worse"
	// Worse: the head passes less often, and that is not by chance.
	Worse Verdict = "worse"
	// Inconclusive: too few trials to know.
	Inconclusive Verdict = "inconclusive"
	// Invalid: the arms cannot be compared, so that nothing is known.
	Invalid Verdict = "invalid"
)

// Scope says of what a comparison speaks.
type Scope string

const (
	// Suite: of these cases, whose trials are random.
	Suite Scope = "suite"
	// Population: of all cases of which these are a sample.
	Population Scope = "population"
)

// Rule is how a verdict is reached.
type Rule struct {
	Scope Scope
	// Alpha is how often a difference is seen where there is none, such as 0.05.
	Alpha float64
	// Margin is the loss of the mean pass rate that does not matter, such as 0.05.
	Margin float64
}

// Decision is a verdict with its figures.
type Decision struct {
	Verdict Verdict
	// Delta is by how much the mean pass rate of the head is higher than that of the base.
	Delta    float64
	Interval stats.Interval
	// P is the p value that decides, and Exact the same without the correction of an exact test: NaN in a population.
	P, Exact float64
	// Loss is the largest loss that was not refused, one-sided: what was not seen is at most that.
	Loss float64
	// SmallLoss says that the head is worse, by less than the margin.
	SmallLoss bool
	// Split says that the interval and the p value do not agree on whether there is a difference.
	Split bool
}

// MinClusters is how many clusters a population takes: below, Student's t says nothing.
const MinClusters = 5

// Decide compares the pass rates of cases in two arms. clusters has the cluster of each, or is nil: then each is its
// own. A population of fewer than [MinClusters] is invalid.
func (r Rule) Decide(pairs []stats.Pair, clusters []string) Decision {
	d := Decision{
		Verdict: Invalid, Delta: stats.Difference(pairs), P: math.NaN(), Exact: math.NaN(),
		Loss: math.NaN(), Interval: stats.Interval{Low: math.NaN(), High: math.NaN()},
	}
	switch r.Scope {
	case Suite:
		if len(pairs) == 0 {
			return d
		}
		test := stats.MantelHaenszel(pairs)
		d.P, d.Exact = test.MidP, test.P
		d.Interval, d.Loss = stats.ScoreInterval(pairs, 1-r.Alpha), -stats.ScoreInterval(pairs, 1-2*r.Alpha).Low
	case Population:
		differences := make([]float64, len(pairs))
		for i, p := range pairs {
			differences[i] = p.Head.Rate() - p.Base.Rate()
		}
		e := stats.Clustered(differences, clusters, 1-r.Alpha)
		if e.Freedom+1 < MinClusters {
			return d
		}
		d.P, d.Interval = e.P, e.Interval
		d.Loss = -stats.Clustered(differences, clusters, 1-2*r.Alpha).Interval.Low
	}
	significant := d.P < r.Alpha
	d.Split = significant == d.Interval.Holds(0)
	switch {
	case d.Split:
		d.Verdict = Inconclusive
	case significant && d.Delta > 0:
		d.Verdict = Better
	case d.Loss < r.Margin:
		d.Verdict, d.SmallLoss = NotWorse, significant
	case significant:
		d.Verdict = Worse
	default:
		d.Verdict = Inconclusive
	}
	return d
}
