package agreement

import (
	"fmt"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/sdd-eval/sdd-eval/internal/compare"
	"github.com/sdd-eval/sdd-eval/internal/stats"
)

// Text returns the report for a terminal, each line ending with a newline. What came from outside is as it was.
func (r *Report) Text() string {
	var b strings.Builder
	for _, p := range r.People {
		fmt.Fprintf(&b, "%s: %d labels, %s solved\n", p.Name, p.Units, percent(p.Rate))
	}
	for _, a := range []struct {
		what string
		*Figure
	}{{"labels", r.Labels}, {"scores", r.Scores}, {"scores, as an order", r.OrdinalScores}} {
		if a.Figure != nil {
			fmt.Fprintf(&b, "people's %s: alpha %s, of %d\n", a.what, a.Figure, a.Items)
		}
	}
	table(&b, "people with each other", r.Pairs, func(p Pair) string { return p.A + ", " + p.B })
	table(&b, "what most people say, with judges", r.Judges, func(p Pair) string { return p.B })
	if len(r.Corrected) > 0 {
		fmt.Fprintln(&b, "\npass rates under judges, and what they would be under people")
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, c := range r.Corrected {
		corrected := "corrected " + percent(c.Corrected)
		if math.IsNaN(float64(c.Interval[0])) {
			corrected = fmt.Sprintf("%d labels are needed", stats.FewestLabels)
		} else {
			corrected += fmt.Sprintf(" [%s to %s]", percent(c.Interval[0]), percent(c.Interval[1]))
		}
		fmt.Fprintf(w, "  %s\t%s\t%s of %d\t%d labels\t%s\n", c.Judge, c.Variant, percent(c.Judged), c.Units, c.Labels,
			corrected)
	}
	w.Flush()
	return b.String()
}

// table writes pairs.
func table(b *strings.Builder, title string, pairs []Pair, name func(Pair) string) {
	if len(pairs) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, p := range pairs {
		if p.Units > 0 {
			fmt.Fprintf(w, "  %s\t%d units\t%s the same\tsolved %s, %s\tkappa %s\n", name(p), p.Units, percent(p.Agree),
				percent(p.RateA), percent(p.RateB), p.Kappa)
		}
		if p.Weighted != nil {
			fmt.Fprintf(w, "  %s\t%d scores\t\t\tweighted kappa %s\n", name(p), p.Weighted.Items, p.Weighted)
		}
	}
	w.Flush()
}

// String returns the figure with its interval.
func (f Figure) String() string {
	if math.IsNaN(float64(f.Value)) {
		return "unknown: all say the same"
	}
	if math.IsNaN(float64(f.Interval[0])) {
		return fmt.Sprintf("%.2f", float64(f.Value))
	}
	return fmt.Sprintf("%.2f [%.2f to %.2f]", float64(f.Value), float64(f.Interval[0]), float64(f.Interval[1]))
}

func percent(share compare.Number) string {
	if math.IsNaN(float64(share)) {
		return "?"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(share))
}
