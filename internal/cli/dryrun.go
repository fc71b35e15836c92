package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// dryRun is what `plan` and `run --dry-run` print.
type dryRun struct {
	w        io.Writer
	columns  int // 0: any number
	playbook *plan.Playbook
	cfg      engine.Config
	of       int // units of the playbook
	preview  engine.Preview
	reports  bool // a job makes reports, for which the AI judge is asked
	past     history
	mde      float64 // 0: none
	budget   string  // empty: there is none
}

func (d dryRun) print() {
	d.line("playbook", d.playbook.File)
	d.line("mode", fmt.Sprintf("%s, sandbox %s, %s at a time", d.cfg.Mode, d.preview.Sandbox,
		excerpt.Count(d.preview.Parallel, "unit")))
	units := excerpt.Count(len(d.preview.Units), "unit")
	if len(d.preview.Units) < d.of {
		units = fmt.Sprintf("%d of %s selected (%s)", len(d.preview.Units), excerpt.Count(d.of, "unit"),
			d.cfg.Keep.SelectedBy)
	}
	d.line("units", units)
	d.line("limits", limitsOf(d.playbook.Limits))
	d.line("budget", d.budget)
	d.line("judges", d.judges())
	d.line("before", jobNames(d.preview.Before))
	d.line("after", jobNames(d.preview.After))
	d.line("skipped", d.preview.Missing)
	d.variants()
	missing := 0
	for _, u := range d.preview.Units {
		fmt.Fprintln(d.w, unitLine(u))
		if u.Missing {
			missing++
		}
	}
	if missing > 0 {
		fmt.Fprintf(d.w, "\n%s without a cassette would end in error: --mode missing records them\n",
			excerpt.Count(missing, "unit"))
	}
}

// line writes a line about the run, nothing if there is nothing to say.
func (d dryRun) line(label, text string) {
	if text != "" {
		fmt.Fprintf(d.w, "%-10s %s\n", label, printable(text))
	}
}

// variants writes a table: the agents, and what a unit of each took in former runs.
func (d dryRun) variants() {
	rows := [][]string{{
		"variant", "agent", "account", "model", "units", "agents", "recorded", "time", "tokens", "cost",
		"drop seen",
	}}
	var ids []string
	byVariant := make(map[string][]engine.PreviewedUnit)
	for _, u := range d.preview.Units {
		if byVariant[u.Variant.ID] == nil {
			ids = append(ids, u.Variant.ID)
		}
		byVariant[u.Variant.ID] = append(byVariant[u.Variant.ID], u)
	}
	var wanted []string
	assumed, designed := 0, 0
	for _, id := range ids {
		units := byVariant[id]
		starts, records := 0, 0
		for _, u := range units {
			if u.StartsAgent {
				starts++
			}
			if u.Records {
				records++
			}
		}
		a := units[0].Variant.Agent
		row := []string{
			id, a.Kind, cmp.Or(a.Preset, "–"), cmp.Or(a.Model, "–"), fmt.Sprint(len(units)), fmt.Sprint(starts),
			fmt.Sprint(records),
		}
		seen := "–"
		if design, ok := d.past.design(units); ok {
			if designed++; !design.known {
				assumed++
			}
			if seen = design.seen(); d.mde > 0 {
				wanted = append(wanted, printable(id)+": "+design.wanted(d.mde, d.past))
			}
		}
		rows = append(rows, append(append(row, d.medians(id, starts)...), seen))
	}
	lines := table(rows)
	if d.columns > 0 && width(lines[0]) > d.columns {
		lines = list(rows, d.columns)
	}
	from := "no agent has run in a former run"
	if n := d.past.units(); n > 0 {
		from = fmt.Sprintf("the medians of %s of former runs", excerpt.Count(n, "unit"))
	}
	fmt.Fprintf(d.w, "\n%s\ntime, tokens and cost of a unit: %s\n", strings.Join(lines, "\n"), from)
	if designed > 0 {
		rates := "pass rates of former runs"
		switch uneven := "pass rates that are uneven, 80 % on average"; {
		case assumed == designed:
			rates = uneven
		case assumed > 0:
			rates += ", where there are none by " + uneven
		}
		fmt.Fprintf(d.w, "drop that compare sees in four of five times, were this its base: by %s\n", rates)
	}
	fmt.Fprintln(d.w)
	d.line("takes", d.past.time(d.preview.Units, d.preview.Parallel))
	d.line("price", d.past.price(d.preview.Units))
	if d.mde > 0 {
		fmt.Fprintf(d.w, "to see a drop of %.1f points in four of five times, this run and the other each need:\n",
			100*d.mde)
		if wanted == nil {
			wanted = []string{"unknown: no agent runs that is judged"}
		}
		for _, line := range wanted {
			fmt.Fprintln(d.w, "  "+line)
		}
	}
	fmt.Fprintln(d.w)
}

// medians returns what a unit of a variant took: its time, tokens and cost.
func (d dryRun) medians(variant string, starts int) []string {
	if starts == 0 { // no agent, no cost
		return []string{"–", "–", "–"}
	}
	var times []time.Duration
	var tokens []float64
	for _, u := range d.past.of(variant) {
		times = append(times, time.Duration(u.Duration))
		if m := u.Metrics; m != nil && m.Tokens != nil && m.Tokens.Total != nil {
			tokens = append(tokens, float64(*m.Tokens.Total))
		}
	}
	took, used, paid := "unknown", "unknown", "unknown"
	if t, known := median(times); known {
		took = seconds(result.Duration(t))
	}
	if n, known := median(tokens); known {
		used = fmt.Sprintf("%.0f", n)
	}
	for _, currency := range d.past.currencies(variant) { // an agent has one
		var amounts []float64
		for _, u := range d.past.of(variant) {
			if amount, ok := costIn(currency)(u); ok {
				amounts = append(amounts, amount)
			}
		}
		amount, _ := median(amounts)
		paid = fmt.Sprintf("%.4g %s", amount, currency)
	}
	return []string{took, used, paid}
}

// judges says which evaluators ask models.
func (d dryRun) judges() string {
	var names []string
	for _, u := range d.preview.Units {
		for _, name := range u.Asks {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	asks := strings.Join(names, ", ")
	switch {
	case asks == "":
	case d.cfg.RecordJudges:
		asks += ": models are asked, and recorded"
	case d.cfg.LLMJudge:
		asks += ": models are asked where no answer is recorded"
	default:
		asks += ": only recorded answers count; --llm-judge asks models"
	}
	if ai := d.playbook.Report.AIJudge; ai.Enabled && d.reports {
		asks += "; the AI judge scores all units: " + cmp.Or(ai.Model, "its default model")
	}
	return strings.TrimPrefix(asks, "; ")
}

// unitLine says what would be done with a unit.
func unitLine(u engine.PreviewedUnit) string {
	line := u.ID()
	switch {
	case u.Records:
		line += "  starts the agent, writes " + u.Cassette
	case u.Missing:
		line += "  no cassette " + u.Cassette
	case u.StartsAgent && u.Replays:
		line += "  starts the agent, answers it from " + u.Cassette
	case u.StartsAgent:
		line += "  starts the agent"
	case u.Replays:
		line += "  replays " + u.Cassette
	default:
		line += "  asks no agent"
	}
	return printable(line)
}

// limitsOf says what a unit may use, as far as the playbook says.
func limitsOf(l plan.Limits) string {
	var parts []string
	for _, limit := range []struct {
		set  bool
		text string
	}{
		{l.Timeout > 0, l.Timeout.String()},
		{l.MaxToolCalls > 0, excerpt.Count(l.MaxToolCalls, "tool call")},
		{l.MaxTokens > 0, fmt.Sprintf("%d tokens", l.MaxTokens)},
		{l.MaxCostUSD > 0, fmt.Sprintf("$%.2f", l.MaxCostUSD)},
		{l.Until != "", "until fires and silent are " + l.Until},
		{l.Memory > 0, "memory " + sizeText(l.Memory)},
		{l.CPUs > 0, fmt.Sprintf("%g processors", l.CPUs)},
		{l.Disk > 0, "disk " + sizeText(l.Disk)},
		{l.Processes > 0, excerpt.Count(l.Processes, "thread")},
	} {
		if limit.set {
			parts = append(parts, limit.text)
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "none but those by default")
}

func sizeText(s playbook.Size) string {
	text, _ := s.MarshalText() // which never fails
	return string(text)
}

func jobNames(jobs []plan.Job) string {
	names := make([]string, len(jobs))
	for i, j := range jobs {
		names[i] = j.ID
	}
	return strings.Join(names, ", ")
}
