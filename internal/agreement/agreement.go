// Package agreement says how far the people who looked at a run agree with each other and with its judges, and what
// pass rates under a judge are worth. How people are asked belongs in package human, and what a playbook demands of a
// judge in package engine.
package agreement

import (
	"math"
	"slices"
	"strconv"

	"github.com/sdd-eval/sdd-eval/internal/compare"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/scoring/aijudge"
	"github.com/sdd-eval/sdd-eval/internal/scoring/human"
	"github.com/sdd-eval/sdd-eval/internal/stats"
)

// Confidence is that of all intervals.
const Confidence = 0.95

// fewest is how many cases intervals are drawn from: with fewer, units are drawn.
const fewest = 5

// Report is how far those agree who judged a run.
type Report struct {
	Version int    `json:"version"` // 1
	Run     string `json:"run"`
	// People have said which units are solved, sorted by name.
	People []Rate `json:"people"`
	// Labels is Krippendorff's alpha of what people say is solved, nominal; Scores that of their scores of variants,
	// interval and ordinal. Nil: fewer than two people said anything about the same.
	Labels        *Figure `json:"alpha_labels,omitempty"`
	Scores        *Figure `json:"alpha_scores,omitempty"`
	OrdinalScores *Figure `json:"alpha_scores_ordinal,omitempty"`
	// Pairs are people with people, and Judges the evaluators, and [Outcome], with what most people say.
	Pairs  []Pair `json:"pairs"`
	Judges []Pair `json:"judges"`
	// Corrected are the pass rates under each judge, corrected by what people say, of variants with labels.
	Corrected []Corrected `json:"corrected"`
}

// Outcome is the name of the pair of what most people say with the units' outcomes.
const Outcome = "outcome"

// Rate is how often somebody says that a unit is solved.
type Rate struct {
	Name  string         `json:"name"`
	Units int            `json:"units"`
	Rate  compare.Number `json:"rate"`
}

// Figure is a measure of agreement: 1 for always, 0 for as often as by chance; null where nobody can know, since all
// say the same.
type Figure struct {
	Value    compare.Number    `json:"value"`
	Interval [2]compare.Number `json:"interval"`
	// Items is how many units or variants it is of.
	Items int `json:"items"`
}

// Pair is how far two agree. Of a judge, A is "people".
type Pair struct {
	A string `json:"a"`
	B string `json:"b"`
	// Units are those about which both say whether they are solved, and Agree the share of which they say the same.
	Units int            `json:"units"`
	Agree compare.Number `json:"agree"`
	// RateA and RateB are how often each says of these that they are solved.
	RateA compare.Number `json:"rate_a"`
	RateB compare.Number `json:"rate_b"`
	// Kappa is Cohen's, of these; Weighted with quadratic weights of scores of variants, rounded to whole ones, nil if
	// they have not both scored.
	Kappa    Figure  `json:"kappa"`
	Weighted *Figure `json:"kappa_weighted,omitempty"`
}

// Corrected is the pass rate of a variant under a judge, and what it would be under people.
type Corrected struct {
	Judge   string `json:"judge"`
	Variant string `json:"variant"`
	// Labels of Units were labelled by people.
	Labels    int               `json:"labels"`
	Units     int               `json:"units"`
	Judged    compare.Number    `json:"judged"`
	Corrected compare.Number    `json:"corrected"`
	Interval  [2]compare.Number `json:"interval"`
}

// unit is a unit that ended, by case/variant/trial.
type unit struct {
	name, caseID, variant string
	said                  map[string]bool // by evaluator: that it passed
}

// words are what one rater says: which units are solved, and scores of variants.
type words struct {
	name   string
	solved map[string]bool
	scores map[string]float64
}

// Of returns how far those agree who judged a run. Ended are its units, and scores those of its AI judge.
func Of(run string, ended []result.Unit, people []human.Scores, scores []aijudge.Score) *Report {
	units := unitsOf(ended)
	r := &Report{Version: 1, Run: run, People: []Rate{}, Pairs: []Pair{}, Judges: []Pair{}, Corrected: []Corrected{}}
	var raters []words
	for _, p := range people {
		w := words{name: p.Rater, solved: make(map[string]bool), scores: make(map[string]float64)}
		for name, label := range p.Units {
			w.solved[name] = label.Solved
		}
		for variant, rating := range p.Variants {
			w.scores[variant] = rating.Score
		}
		raters = append(raters, w)
		if len(w.solved) > 0 {
			r.People = append(r.People, Rate{p.Rater, len(w.solved), rate(w.solved)})
		}
	}
	r.alphas(units, raters)
	for i, a := range raters {
		for _, b := range raters[i+1:] {
			if p := pairOf(units, a, b); p.Units > 0 || p.Weighted != nil {
				r.Pairs = append(r.Pairs, p)
			}
		}
	}
	most := consensus(raters)
	for _, judge := range judgesOf(units, scores) {
		if p := pairOf(units, most, judge); p.Units > 0 || p.Weighted != nil {
			r.Judges = append(r.Judges, p)
		}
		r.correct(units, most, judge)
	}
	return r
}

func unitsOf(ended []result.Unit) []unit {
	var units []unit
	for _, u := range ended {
		one := unit{
			name: u.Case + "/" + u.Variant + "/" + strconv.Itoa(u.Trial), caseID: u.Case, variant: u.Variant,
			said: make(map[string]bool),
		}
		for _, e := range u.Evaluations {
			switch {
			case e.Outcome == result.Pass || e.Outcome == result.Fail:
				one.said[e.Name] = e.Outcome == result.Pass
			case e.Said != "":
				one.said[e.Name] = e.Said == result.Pass
			case e.Outcome == result.Reported && e.Score != nil:
				one.said[e.Name] = *e.Score >= e.Threshold
			}
		}
		if u.Outcome == result.Pass || u.Outcome == result.Fail {
			one.said[Outcome] = u.Outcome == result.Pass
		}
		units = append(units, one)
	}
	return units
}

// judgesOf returns the words of the evaluators, of the units' outcomes, and of the AI judge, in this order.
func judgesOf(units []unit, scores []aijudge.Score) []words {
	var names []string
	for _, u := range units {
		for name := range u.said {
			if !slices.Contains(names, name) && name != Outcome {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	var judges []words
	for _, name := range append(names, Outcome) {
		w := words{name: name, solved: make(map[string]bool)}
		for _, u := range units {
			if said, ok := u.said[name]; ok {
				w.solved[u.name] = said
			}
		}
		judges = append(judges, w)
	}
	sums, counts := make(map[string]float64), make(map[string]float64)
	for _, s := range scores {
		sums[s.Variant] += s.Score
		counts[s.Variant]++
	}
	for variant := range sums {
		sums[variant] /= counts[variant]
	}
	if len(sums) > 0 {
		judges = append(judges, words{name: scores[0].Model, scores: sums})
	}
	return judges
}

// consensus returns what most people say, without units of which as many say the opposite, and the means of their
// scores.
func consensus(people []words) words {
	most := words{name: "people", solved: make(map[string]bool), scores: make(map[string]float64)}
	votes, counts := make(map[string]int), make(map[string]float64)
	for _, p := range people {
		for name, solved := range p.solved {
			if solved {
				votes[name]++
			} else {
				votes[name]--
			}
		}
		for variant, score := range p.scores {
			most.scores[variant] += score
			counts[variant]++
		}
	}
	for name, n := range votes {
		if n != 0 {
			most.solved[name] = n > 0
		}
	}
	for variant := range most.scores {
		most.scores[variant] /= counts[variant]
	}
	return most
}

func rate(solved map[string]bool) compare.Number {
	n := 0
	for _, yes := range solved {
		if yes {
			n++
		}
	}
	return compare.Number(float64(n) / float64(len(solved)))
}

// both are the words of two on a unit.
type both struct {
	caseID string
	a, b   int // 1: solved
}

func pairOf(units []unit, a, b words) Pair {
	p := Pair{A: a.name, B: b.name}
	var said []both
	same, rateA, rateB := 0, 0, 0
	for _, u := range units {
		x, ok := a.solved[u.name]
		y, alsoOK := b.solved[u.name]
		if !ok || !alsoOK {
			continue
		}
		one := both{u.caseID, digit(x), digit(y)}
		said = append(said, one)
		same, rateA, rateB = same+digit(x == y), rateA+one.a, rateB+one.b
	}
	n := float64(len(said))
	p.Units, p.Agree = len(said), compare.Number(float64(same)/n)
	p.RateA, p.RateB = compare.Number(float64(rateA)/n), compare.Number(float64(rateB)/n)
	p.Kappa = figure(said, func(b both) string { return b.caseID }, func(of []both) float64 {
		table := [][]int{{0, 0}, {0, 0}}
		for _, o := range of {
			table[o.a][o.b]++
		}
		return stats.Kappa(table, stats.Unweighted)
	})
	p.Weighted = weighted(a, b)
	return p
}

func digit(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// weighted returns the weighted kappa of the scores of variants that both gave, nil if there are fewer than two.
func weighted(a, b words) *Figure {
	var said []both
	for variant, x := range a.scores {
		if y, ok := b.scores[variant]; ok {
			said = append(said, both{variant, int(math.Round(x)), int(math.Round(y))})
		}
	}
	if len(said) < 2 {
		return nil
	}
	slices.SortFunc(said, func(x, y both) int { // maps have no order, and draws have
		return slices.Compare([]byte(x.caseID), []byte(y.caseID))
	})
	f := figure(said, func(b both) string { return b.caseID }, func(of []both) float64 {
		table := make([][]int, 11)
		for i := range table {
			table[i] = make([]int, len(table))
		}
		for _, o := range of {
			table[o.a][o.b]++
		}
		return stats.Kappa(table, stats.Quadratic)
	})
	return &f
}

// alphas sets what all people agree on together.
func (r *Report) alphas(units []unit, people []words) {
	var labels [][]float64
	var cases []string
	for _, u := range units {
		var said []float64
		for _, p := range people {
			if solved, ok := p.solved[u.name]; ok {
				said = append(said, float64(digit(solved)))
			}
		}
		if len(said) > 1 {
			labels, cases = append(labels, said), append(cases, u.caseID)
		}
	}
	r.Labels = alpha(labels, cases, stats.Nominal)
	var scores [][]float64
	var variants []string
	for _, u := range units {
		if !slices.Contains(variants, u.variant) {
			variants = append(variants, u.variant)
		}
	}
	var scored []string
	for _, v := range variants {
		var said []float64
		for _, p := range people {
			if score, ok := p.scores[v]; ok {
				said = append(said, score)
			}
		}
		if len(said) > 1 {
			scores, scored = append(scores, said), append(scored, v)
		}
	}
	r.Scores, r.OrdinalScores = alpha(scores, scored, stats.Metric), alpha(scores, scored, stats.Ordinal)
}

func alpha(items [][]float64, groups []string, level stats.Level) *Figure {
	if len(items) == 0 {
		return nil
	}
	at := make([]int, len(items))
	for i := range at {
		at[i] = i
	}
	f := figure(at, func(i int) string { return groups[i] }, func(of []int) float64 {
		var drawn [][]float64
		for _, i := range of {
			drawn = append(drawn, items[i])
		}
		return stats.Alpha(drawn, level)
	})
	return &f
}

// figure returns a measure of some items, with its interval: by drawing the cases that the items are of, since items of
// a case are alike, or items where there are few cases.
func figure[T any](items []T, caseOf func(T) string, measure func([]T) float64) Figure {
	byCase, order := make(map[string][]T), []string(nil)
	for _, item := range items {
		c := caseOf(item)
		if byCase[c] == nil {
			order = append(order, c)
		}
		byCase[c] = append(byCase[c], item)
	}
	draw := func(i int) []T { return byCase[order[i]] }
	n := len(order)
	if n < fewest {
		draw, n = func(i int) []T { return items[i : i+1] }, len(items)
	}
	f := Figure{Value: compare.Number(measure(items)), Items: len(items)}
	interval := stats.Interval{Low: math.NaN(), High: math.NaN()}
	if n > 1 {
		interval = stats.Resampled(n, func(drawn []int) float64 {
			var all []T
			for _, i := range drawn {
				all = append(all, draw(i)...)
			}
			return measure(all)
		}, Confidence)
	}
	f.Interval = [2]compare.Number{compare.Number(interval.Low), compare.Number(interval.High)}
	return f
}

// correct adds the corrected pass rates of the variants under a judge.
func (r *Report) correct(units []unit, people, judge words) {
	var variants []string
	for _, u := range units {
		if !slices.Contains(variants, u.variant) {
			variants = append(variants, u.variant)
		}
	}
	for _, v := range variants {
		var labels, judged, rest []float64
		passed := 0
		for _, u := range units {
			said, ok := judge.solved[u.name]
			if u.variant != v || !ok {
				continue
			}
			passed += digit(said)
			if label, ok := people.solved[u.name]; ok {
				labels, judged = append(labels, float64(digit(label))), append(judged, float64(digit(said)))
			} else {
				rest = append(rest, float64(digit(said)))
			}
		}
		all := len(judged) + len(rest)
		if len(labels) == 0 {
			continue
		}
		mean, interval := stats.Corrected(labels, judged, rest, Confidence)
		r.Corrected = append(r.Corrected, Corrected{
			judge.name, v, len(labels), all, compare.Number(float64(passed) / float64(all)), compare.Number(mean),
			[2]compare.Number{
				compare.Number(math.Max(0, interval.Low)), compare.Number(math.Min(1, interval.High)),
			},
		})
	}
}
