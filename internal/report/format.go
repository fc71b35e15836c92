package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

// unknown stands for figures that are not known.
const unknown = "–"

// label returns an outcome as people see it.
func label(o result.Outcome) string {
	switch o {
	case result.Pass:
		return "✅ passed"
	case result.Completed:
		return "☑️ completed"
	case result.Fail:
		return "❌ failed"
	case result.Skip:
		return "⏭️ skipped"
	case result.NotRun:
		return "⏸️ not run"
	default:
		return "⚠️ error"
	}
}

// thousands writes an integer with separators: 12,345.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	start := 0
	if n < 0 {
		start = 1
	}
	for i := len(s) - 3; i > start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// score writes a score with at most two digits after the point.
func score(v *float64) string {
	if v == nil {
		return unknown
	}
	r := round(*v, 2)
	if r == 1 && *v < 1 { // of evaluators: it is not the full score
		return result.FormatScore(*v)
	}
	return strconv.FormatFloat(r, 'f', -1, 64)
}

func round(v float64, digits int) float64 {
	f, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', digits, 64), 64)
	if err != nil {
		return v
	}
	return f
}

// integer writes a sum of integers, and marks a lower bound.
func (s Sum) integer() string {
	if s.Sum == nil {
		return unknown
	}
	return s.bound() + thousands(int64(*s.Sum))
}

// time writes a sum of milliseconds.
func (s Sum) time() string {
	if s.Sum == nil {
		return unknown
	}
	return s.bound() + duration(time.Duration(*s.Sum)*time.Millisecond)
}

func (s Sum) bound() string {
	if s.Known < s.Of {
		return "≥ "
	}
	return ""
}

// money writes sums of money, one for each currency. The names of currencies come from agents, and go through name.
func money(costs []Cost, name func(string) string) string {
	if len(costs) == 0 {
		return unknown
	}
	parts := make([]string, len(costs))
	for i, c := range costs {
		parts[i] = fmt.Sprintf("%s%.4g %s", c.bound(), *c.Sum.Sum, name(c.Currency))
	}
	return strings.Join(parts, ", ")
}

// duration writes a time for people: 240ms, 3.2s, 4m05s, 2h10m.
func duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d.Round(100*time.Millisecond) < time.Minute:
		return strconv.FormatFloat(round(d.Seconds(), 1), 'f', -1, 64) + "s"
	case d.Round(time.Second) < time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	default:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
}

// size writes a number of bytes for people.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	default:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
}
