package llmjudge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// verdict makes one verdict of the opinions of each model.
func (p panel) verdict(all [][]opinion) evaluator.Verdict {
	score := rounded(central(all, opinion.total))
	v := evaluator.Verdict{Outcome: result.Pass, Score: &score, Detail: p.detail(all), Checks: p.checks(all)}
	if score < 1 {
		v.Outcome, v.Reason = result.Fail, fmt.Sprintf("scored %s%s", number(score), p.because(all))
	}
	if reason := p.unmet(all); reason != "" {
		v.Outcome, v.Reason, v.Final = result.Fail, reason, true
	}
	return v
}

// checks tells of each rubric whether it holds, in the words of the first opinion that says the same.
func (p panel) checks(all [][]opinion) []result.Check {
	var checks []result.Check
	for i, r := range p.rubrics {
		least := cmp.Or(r.least, maxScore)
		c := result.Check{ID: r.id, Text: r.text, Outcome: result.Fail}
		holds := central(all, ofRubric(i)) >= least
		if holds {
			c.Outcome = result.Pass
		}
		for _, o := range slices.Concat(all...) {
			if said := o.checks[i]; said.score >= least == holds {
				c.Evidence = excerpt.Line(said.reason, maxText)
				break
			}
		}
		checks = append(checks, c)
	}
	return checks
}

// central returns the score of several opinions of several models: the median of the models' medians.
func central(all [][]opinion, score func(opinion) float64) float64 {
	var medians []float64
	for _, opinions := range all {
		medians = append(medians, median(scores(opinions, score)))
	}
	return median(medians)
}

func scores(opinions []opinion, score func(opinion) float64) []float64 {
	var all []float64
	for _, o := range opinions {
		all = append(all, score(o))
	}
	return all
}

func (o opinion) total() float64 { return o.score }

// ofRubric returns the score of the rubric at i.
func ofRubric(i int) func(opinion) float64 {
	return func(o opinion) float64 { return o.checks[i].score }
}

// unmet names the first rubric whose score is below its required minimum; empty if there is none.
func (p panel) unmet(all [][]opinion) string {
	for i, r := range p.rubrics {
		if score := central(all, ofRubric(i)); score < r.least {
			return fmt.Sprintf("rubric %s %s and is required", r.id, r.says(score))
		}
	}
	return ""
}

// says puts a score of the rubric into words.
func (r rubric) says(score float64) string {
	switch {
	case r.graded() && score < r.least:
		return fmt.Sprintf("has %s of %d, less than %s,", number(score), maxScore, number(r.least))
	case r.graded():
		return fmt.Sprintf("has %s of %d", number(score), maxScore)
	case score == maxScore:
		return "holds"
	case score == 0:
		return "does not hold"
	}
	return "is disputed"
}

// mark shows whether a score is sufficient. A graded rubric without a required minimum gets a neutral mark.
func (r rubric) mark(score float64) string {
	switch {
	case r.graded() && r.least == 0:
		return "•"
	case score == maxScore || r.least > 0 && score >= r.least:
		return "✓"
	}
	return "✗"
}

// because names what kept the score below 1.
func (p panel) because(all [][]opinion) string {
	for i, r := range p.rubrics {
		if score := central(all, ofRubric(i)); score < maxScore {
			return fmt.Sprintf(": rubric %s %s", r.id, r.says(score))
		}
	}
	for _, o := range slices.Concat(all...) {
		switch {
		case o.score == 1:
		case len(o.misses) > 0:
			return ": " + excerpt.Line(o.misses[0], maxText)
		case o.reason != "":
			return ": " + excerpt.Line(o.reason, maxText)
		}
	}
	return ""
}

// detail shows what each judge said.
func (p panel) detail(all [][]opinion) string {
	var b strings.Builder
	if len(all) > 1 {
		var medians []float64
		for _, opinions := range all {
			medians = append(medians, median(scores(opinions, opinion.total)))
		}
		fmt.Fprintf(&b, "median %s of %d judges, agreement %s\n", number(median(medians)), len(all),
			number(1-spread(medians)))
	}
	for m, opinions := range all {
		given := scores(opinions, opinion.total)
		fmt.Fprintf(&b, "%s%s: %s", p.models[m], answeredBy(p.models[m], opinions), number(median(given)))
		if len(opinions) > 1 {
			fmt.Fprintf(&b, ", the median of %s (spread %s)", numbers(given), number(spread(given)))
		}
		b.WriteByte('\n')
		for i, o := range opinions {
			if i == 0 || !same(o, opinions[i-1]) {
				p.write(&b, o)
			}
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// answeredBy names the models that answered by other names than the one that was asked.
func answeredBy(asked string, opinions []opinion) string {
	var others []string
	for _, o := range opinions {
		if name := excerpt.Name(o.by, maxQuoted); o.by != "" && o.by != asked && !slices.Contains(others, name) {
			others = append(others, name)
		}
	}
	if len(others) == 0 {
		return ""
	}
	return " (answered by " + strings.Join(others, ", ") + ")"
}

// same reports whether two opinions are identical, as models often repeat themselves word for word.
func same(a, b opinion) bool {
	return a.score == b.score && a.reason == b.reason && slices.Equal(a.hits, b.hits) &&
		slices.Equal(a.misses, b.misses) &&
		slices.Equal(a.checks, b.checks)
}

func (p panel) write(b *strings.Builder, o opinion) {
	for i, c := range o.checks {
		r := p.rubrics[i]
		fmt.Fprintf(b, "    %s %s %s (weight %s) %s", r.mark(c.score), r.id, excerpt.Quote(r.text, maxRubric),
			number(r.weight), strings.TrimSuffix(r.says(c.score), ","))
		if c.reason != "" {
			b.WriteString(": " + excerpt.Line(c.reason, maxText))
		}
		b.WriteByte('\n')
	}
	for _, text := range o.hits {
		b.WriteString("    ✓ " + excerpt.Line(text, maxText) + "\n")
	}
	for _, text := range o.misses {
		b.WriteString("    ✗ " + excerpt.Line(text, maxText) + "\n")
	}
	if o.reason != "" {
		b.WriteString("    " + excerpt.Line(o.reason, maxText) + "\n")
	}
}

// median returns the middle of the numbers, the mean of the middle two of an even count.
func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func spread(all []float64) float64 { return slices.Max(all) - slices.Min(all) }

// rounded removes the error of floating-point arithmetic, so that a score reaches a threshold that it reaches on paper.
// A score below 1 stays below 1.
func rounded(x float64) float64 {
	r := math.Round(x*1e9) / 1e9
	if r == 1 && x < 1 {
		return math.Nextafter(1, 0)
	}
	return r
}

func number(x float64) string { return strconv.FormatFloat(rounded(x), 'g', -1, 64) }

func numbers(all []float64) string {
	var texts []string
	for _, x := range all {
		texts = append(texts, number(x))
	}
	return strings.Join(texts, ", ")
}

// maxRubric is how many characters of a rubric are shown.
const maxRubric = 120

// maxText is how many characters of a model's text are shown.
const maxText = 2_000
