package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/stats"
)

// Check is what one check of a trial came to.
type Check struct {
	// Evaluator and ID tell it from the other checks of the trial.
	Evaluator string `json:"evaluator"`
	ID        string `json:"id"`
	// Text says in words, in a line, what must hold.
	Text string `json:"text"`
	// Outcome is pass or fail.
	Outcome result.Outcome `json:"outcome"`
}

// Checks compares the check pass rates of cases, of the checks that both arms judged. They are the means of a case's
// trials, and the cases are a sample, whatever the scope. It explores: the verdict is not made of it.
type Checks struct {
	// Base and Head are the means of the cases.
	Base Number `json:"base"`
	Head Number `json:"head"`
	// Delta is the mean of the cases' differences. Its interval and P are unknown below [MinClusters] clusters.
	Delta    Number `json:"delta"`
	Interval Range  `json:"interval"`
	P        Number `json:"p"`
	// Cases is of how many cases that is, and Without how many have no checks in one of their trials.
	Cases   int `json:"cases"`
	Without int `json:"without"`
	// Flips are the checks whose pass rates differ, those that lost most first.
	Flips []CheckFlip `json:"flips"`
}

// CheckFlip is a check of a case whose pass rates differ.
type CheckFlip struct {
	Case      string `json:"case"`
	Evaluator string `json:"evaluator"`
	ID        string `json:"id"`
	Text      string `json:"text"`
	Base      Number `json:"base"`
	Head      Number `json:"head"`
}

// checkKey tells checks of a case from each other.
type checkKey struct{ evaluator, id string }

func (c Check) key() checkKey { return checkKey{c.Evaluator, c.ID} }

// checks compares the checks of cases, nil if no case has some in all trials of both arms that say something. Clusters
// has the cluster of each case.
func checks(known []pair, clusters []string, alpha float64) *Checks {
	all := Checks{Flips: []CheckFlip{}}
	var base, head, differences []float64
	var of []string
	for i, p := range known {
		before, after := p.base.checks(), p.head.checks()
		var both []checkKey
		for _, t := range p.base.Trials { // in the order of the playbook
			for _, c := range t.Checks {
				if k := c.key(); before[k].Trials > 0 && after[k].Trials > 0 && !slices.Contains(both, k) {
					both = append(both, k)
				}
			}
		}
		b, h := p.base.checkRate(both), p.head.checkRate(both)
		if math.IsNaN(b) || math.IsNaN(h) {
			all.Without++
			continue
		}
		base, head = append(base, b), append(head, h)
		differences, of = append(differences, h-b), append(of, clusters[i])
		for _, k := range both {
			if x, y := before[k].Rate(), after[k].Rate(); x != y {
				all.Flips = append(all.Flips, CheckFlip{
					p.base.ID, k.evaluator, k.id, p.base.checkText(k), Number(x), Number(y),
				})
			}
		}
	}
	if len(differences) == 0 {
		return nil
	}
	slices.SortStableFunc(all.Flips, func(a, b CheckFlip) int { return cmp.Compare(a.Head-a.Base, b.Head-b.Base) })
	e := stats.Clustered(differences, of, 1-alpha)
	if e.Freedom+1 < MinClusters {
		e.P, e.Interval = math.NaN(), stats.Interval{Low: math.NaN(), High: math.NaN()}
	}
	all.Base, all.Head, all.Cases = Number(mean(base)), Number(mean(head)), len(differences)
	all.Delta, all.Interval, all.P = Number(e.Mean), rangeOf(e.Interval), Number(e.P)
	return &all
}

// checks counts how often each check passed in the trials that say something.
func (c Case) checks() map[checkKey]stats.Count {
	counts := make(map[checkKey]stats.Count)
	for _, t := range c.Trials {
		for _, check := range t.Checks {
			if !t.known() {
				break
			}
			n := counts[check.key()]
			n.Trials++
			if check.Outcome == result.Pass {
				n.Passed++
			}
			counts[check.key()] = n
		}
	}
	return counts
}

// checkRate returns the mean share of these checks that pass in the trials that say something, NaN if one of the trials
// has none of them.
func (c Case) checkRate(of []checkKey) float64 {
	var rates []float64
	for _, t := range c.Trials {
		if !t.known() {
			continue
		}
		var n stats.Count
		for _, check := range t.Checks {
			if slices.Contains(of, check.key()) {
				n.Trials++
				if check.Outcome == result.Pass {
					n.Passed++
				}
			}
		}
		rates = append(rates, n.Rate())
	}
	return mean(rates)
}

// checkText returns what a check says.
func (c Case) checkText(k checkKey) string {
	for _, t := range c.Trials {
		for _, check := range t.Checks {
			if check.key() == k {
				return check.Text
			}
		}
	}
	return ""
}

// String says what the difference is, how sure that is, and of what.
func (c *Checks) String() string {
	sure := fmt.Sprintf(", no interval below %d cases", MinClusters)
	if !math.IsNaN(float64(c.Interval[0])) {
		sure = fmt.Sprintf(" [%s to %s]", signed(c.Interval[0]), signed(c.Interval[1]))
	}
	if !math.IsNaN(float64(c.P)) {
		sure += ", p " + likely(c.P)
	}
	text := fmt.Sprintf("checks      %s points%s: the mean check pass rate of %s, %s %% → %s %%", signed(c.Delta), sure,
		Counted(c.Cases, "case"), percent(c.Base), percent(c.Head))
	if c.Without > 0 {
		text += fmt.Sprintf("; trials without checks leave out %s", Counted(c.Without, "case"))
	}
	return text
}

// lines returns the checks that differ.
func (c *Checks) lines() (lines []string) {
	if c == nil {
		return nil
	}
	for _, f := range c.Flips {
		lines = append(lines, fmt.Sprintf("%s: %s: %s %% → %s %%", f.Case, f.Text, percent(f.Base), percent(f.Head)))
	}
	return lines
}
