package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Headline says in one line what the comparison comes to.
func (c *Comparison) Headline() string {
	switch c.Verdict {
	case Better:
		return fmt.Sprintf("better: the head passes %s points more often", points(math.Abs(float64(c.Delta))))
	case Worse:
		return fmt.Sprintf("worse: the head passes %s points less often", points(math.Abs(float64(c.Delta))))
	case NotWorse:
		if c.SmallLoss {
			return fmt.Sprintf("not worse, a small loss: the head passes %s points less often, and %s less are refused",
				points(math.Abs(float64(c.Delta))), points(c.Margin))
		}
		return fmt.Sprintf("not worse: a drop of %s points or more is refused", points(c.Margin))
	case Inconclusive:
		return fmt.Sprintf("inconclusive: no regression shown; a drop of up to %s points would have gone unseen",
			points(max(0, float64(c.Unseen))))
	}
	return "invalid: nothing is known"
}

// maxShown is how many cases of a list are shown.
const maxShown = 20

// Text returns what the comparison comes to for a terminal: the headline first, each line ending with a newline. What
// came from outside is as it was.
func (c *Comparison) Text() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%s", c.Headline())
	for _, why := range c.Why {
		line("  %s", why)
	}
	line("")
	for _, arm := range []struct {
		name string
		Summary
	}{{"base", c.Base}, {"head", c.Head}} {
		line("%s  %s", arm.name, arm.Name)
		line("      %s %% pass [%s to %s], %s%s", percent(arm.Rate), percent(arm.Interval[0]), percent(arm.Interval[1]),
			Counted(arm.Trials, "trial"), arm.Used())
	}
	line("")
	if c.Verdict == Invalid { // the rest would read as if it were known
		if c.Bounds != nil {
			line("difference  had all missing trials passed, or failed: %s to %s points", signed(c.Bounds[0]),
				signed(c.Bounds[1]))
		}
		c.lists(line)
		return b.String()
	}
	for _, known := range c.Known() {
		line("%s", known)
	}
	c.lists(line)
	return b.String()
}

// Known returns what the verdict is made of, and what is known beside the pass rates, each in a line; nil for an
// invalid comparison.
func (c *Comparison) Known() (lines []string) {
	if c.Verdict == Invalid {
		return nil
	}
	line := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	line("difference  %s points [%s to %s]%s", signed(c.Delta), signed(c.Interval[0]), signed(c.Interval[1]), pValue(c))
	if math.IsNaN(float64(c.MDE)) {
		line("  no drop would be seen in four of five times with %s", Counted(c.Pairs, "case"))
	} else {
		line("  a drop of %s points is seen in four of five times with %s", points(float64(c.MDE)), Counted(c.Pairs,
			"case"))
	}
	if c.More != nil {
		line("  to know in four of five times, were it as it seems: %s more of each case in each arm, %s",
			Counted(c.More.Trials, "trial"), price(c.More.Cost))
	}
	c.metrics(line)
	return lines
}

// Used says how often several trials of an arm pass, and what they used, after a semicolon each.
func (s Summary) Used() string {
	var b strings.Builder
	if k := len(s.Any); k > 1 {
		fmt.Fprintf(&b, "; pass@%d %s %%, pass^%d %s %%", k, percent(s.Any[k-1]), k, percent(s.All[k-1]))
	}
	if v := float64(s.CostUSD); !math.IsNaN(v) {
		fmt.Fprintf(&b, "; $%.2f", v)
	}
	if v := float64(s.Tokens); !math.IsNaN(v) {
		fmt.Fprintf(&b, "; %.0f tokens", v)
	}
	if v := float64(s.Seconds); !math.IsNaN(v) {
		fmt.Fprintf(&b, "; %.0f s", v)
	}
	return b.String()
}

// metrics writes what is known beside the pass rates.
func (c *Comparison) metrics(line func(string, ...any)) {
	if c.Checks != nil {
		line("%s", c.Checks)
	}
	if m, ok := c.Metrics["score"]; ok {
		between := ""
		if !math.IsNaN(float64(m.Interval[0])) {
			between = fmt.Sprintf(" [%+.3f to %+.3f]", m.Interval[0], m.Interval[1])
		}
		line("score       %+.3f%s, p %s, %s", m.Value, between, likely(m.P), Counted(m.Cases, "case"))
	}
	for _, name := range []string{"cost", "tokens", "time"} {
		if m, ok := c.Metrics[name]; ok && !math.IsNaN(float64(m.Value)) {
			line("%-12s%.2f times [%.2f to %.2f], %s", name, m.Value, m.Interval[0], m.Interval[1], Counted(m.Cases,
				"case"))
		}
	}
}

// lists writes the cases that differ, and the other lists.
func (c *Comparison) lists(line func(string, ...any)) {
	list := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		line("")
		line("%s", title)
		for _, l := range lines[:min(len(lines), maxShown)] {
			line("  %s", l)
		}
		if more := len(lines) - maxShown; more > 0 {
			line("  and %d more", more)
		}
	}
	var flips []string
	for _, f := range c.Flips {
		text := fmt.Sprintf("%s: %s %% → %s %%, p %s", f.Case, percent(f.Base), percent(f.Head), likely(f.P))
		flips = append(flips, text+f.Sessions())
	}
	list("Cases that differ (to explore; p is adjusted for their number)", flips)
	if c.WithoutSessions != nil {
		line("  where their sessions part is not known: only outcomes are kept of %s",
			strings.Join(c.WithoutSessions, " and "))
	}
	for _, l := range c.Lists() {
		list(l.Title, l.Lines)
	}
}

// List is a list for people.
type List struct {
	Title string
	Lines []string
}

// Lists returns what there is to explore beside the cases that differ, and which cases say less than others. Some are
// empty.
func (c *Comparison) Lists() []List {
	var evaluators, used, others []string
	for _, e := range c.Evaluators {
		evaluators = append(evaluators, fmt.Sprintf("%s: %s %% → %s %%, p %s", e.Name, percent(e.Base),
			percent(e.Head), likely(e.P)))
	}
	for _, a := range c.Activation {
		used = append(used, a.Says())
	}
	for _, o := range c.Incomparable {
		others = append(others, o.Case+": "+because(o.Why))
	}
	return []List{
		{"Checks that differ (to explore)", c.Checks.lines()},
		{"Evaluators (to explore)", evaluators},
		{"Skills and tools (to explore)", used},
		{"Cases that pass now and then", slices.Clone(c.Flaky)},
		{"Cases that cannot be compared", others},
	}
}

// because says why a case cannot be compared.
func because(why []string) string {
	if len(why) == 1 && strings.HasPrefix(why[0], "it is") {
		return why[0]
	}
	return "not the same " + strings.Join(why, ", ")
}

func pValue(c *Comparison) string {
	if math.IsNaN(float64(c.P)) {
		return ""
	}
	if math.IsNaN(float64(c.PExact)) {
		return ", p " + likely(c.P)
	}
	return fmt.Sprintf(", p %s (exact %s)", likely(c.P), strings.TrimPrefix(likely(c.PExact), "= "))
}

// likely writes a p value with how it compares to what is written.
func likely(p Number) string {
	if p < .001 {
		return "< 0.001"
	}
	return fmt.Sprintf("= %.3f", p)
}

func percent[F ~float64](v F) string {
	if math.IsNaN(float64(v)) {
		return "?"
	}
	return fmt.Sprintf("%.1f", 100*float64(v))
}

func points(v float64) string { return percent(v) }

func signed(v Number) string {
	if math.IsNaN(float64(v)) {
		return "?"
	}
	return fmt.Sprintf("%+.1f", 100*float64(v))
}

func price(v Number) string {
	if math.IsNaN(float64(v)) {
		return "at a price that is not known"
	}
	return fmt.Sprintf("about $%.2f", float64(v))
}

// Counted returns a number of things, such as "1 case" or "2 cases".
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
