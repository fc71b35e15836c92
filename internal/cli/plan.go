package cli

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/stats"
)

func planCommand() command {
	return command{
		name: "plan",
		usage: "FILE [--mde DROP] [--mode live|record|missing|replay] [--cassettes DIR] [--parallel N]\n" +
			"                [--config-dir DIR] [--root DIR] [--sandbox auto|bwrap|landlock|command|none]\n" +
			"                [--units PATTERN] [--case CASES] [--variant VARIANTS] [--ablate NAME|all]\n" +
			"                [--llm-judge] [--untrusted]\n" +
			"  sdd-eval plan --again RUN_ID [--only fail,error] [FLAGS]",
		short: "say what a run would do, cost and be able to show",
		long: `Makes the checks that come before a run, and runs nothing. It lists the variants with their agents
and accounts, limits, judges that ask models and jobs, and for each unit whether an agent is started
and which cassette is written or read. run --dry-run says the same.

What a unit takes, and all of them together, is told by what such units took in former runs. "drop
seen" is the smallest drop of a variant's pass rate that compare would show in four of five times,
had it this run as its base. --mde asks the other way round: how many trials that takes.`,
		examples: `sdd-eval plan demo.yaml
sdd-eval plan demo.yaml --mde 0.1`,
		codes: `0  the run can begin
2  the command line, the playbook or the configuration is wrong
3  the machine lacks what the run needs`,
		args: arguments{max: 1, what: "FILE", kind: kindFile},
		define: func(a *App, f *flags) action {
			o := runOptions{mode: "live", dryRun: true}
			var mde string
			f.text(&mde, "mde", kindText, "Say how many trials show a drop of the pass rate by this `SHARE`, such as "+
				"0.1, in four of five times.")
			o.definePlaybook(f)
			o.define(f)
			return func(ctx context.Context, args []string) error {
				err := o.complete("plan", f, args)
				if err == nil && mde != "" {
					o.mde, err = share("plan", "mde", mde)
				}
				if err != nil {
					return err
				}
				return a.run(ctx, o)
			}
		},
	}
}

const (
	// planAlpha is how often compare sees a difference where there is none, unless told otherwise, and planPower how
	// often what is planned for is to be seen.
	planAlpha, planPower = .05, .8
	// planSpread is the share of what may be that stands between the two figures of a spread.
	planSpread = .9
)

// history is what units of former runs took and came to, by variant and case, and by variant with the case "".
type history map[[2]string][]result.Unit

func historyOf(units []result.Unit) history {
	h := make(history)
	for _, u := range units {
		for _, of := range [][2]string{{u.Variant, u.Case}, {u.Variant, ""}} {
			h[of] = append(h[of], u)
		}
	}
	return h
}

// of returns the units of a variant.
func (h history) of(variant string) []result.Unit { return h[[2]string{variant, ""}] }

// units returns how many there are.
func (h history) units() (n int) {
	for of, units := range h {
		if of[1] == "" {
			n += len(units)
		}
	}
	return n
}

// figures returns a figure of the units of a case under a variant, or, if none tells it, of the variant.
func (h history) figures(u engine.PreviewedUnit, figure func(result.Unit) (float64, bool)) (all []float64) {
	for _, id := range []string{u.Case.ID, ""} {
		for _, past := range h[[2]string{u.Variant.ID, id}] {
			if v, ok := figure(past); ok {
				all = append(all, v)
			}
		}
		if all != nil {
			break
		}
	}
	return all
}

func secondsOf(u result.Unit) (float64, bool) { return time.Duration(u.Duration).Seconds(), true }

// costIn returns what tells what a unit cost in a currency.
func costIn(currency string) func(result.Unit) (float64, bool) {
	return func(u result.Unit) (float64, bool) {
		if u.Metrics == nil || u.Metrics.Cost == nil || u.Metrics.Cost.Currency != currency {
			return 0, false
		}
		return u.Metrics.Cost.Amount, true
	}
}

// currencies returns those in which units of a variant were paid, sorted.
func (h history) currencies(variant string) []string {
	set := make(map[string]bool)
	for _, u := range h.of(variant) {
		if u.Metrics != nil && u.Metrics.Cost != nil {
			set[u.Metrics.Cost.Currency] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// rates returns how often each of the cases passed under a variant, and whether any did run: one that did not passes as
// often as the others do on average, and of a variant without any the cases are uneven.
func (h history) rates(variant string, cases []string) (rates []float64, known bool) {
	var sum, n float64
	for _, id := range cases {
		rate := math.NaN()
		var count stats.Count
		for _, u := range h[[2]string{variant, id}] {
			if u.Outcome == result.Completed {
				continue
			}
			if count.Trials++; u.Outcome == result.Pass {
				count.Passed++
			}
		}
		if count.Trials > 0 {
			rate = count.Expected()
			sum, n = sum+rate, n+1
		}
		rates = append(rates, rate)
	}
	if n == 0 {
		return stats.Uneven(len(cases)), false
	}
	for i, rate := range rates {
		if math.IsNaN(rate) {
			rates[i] = sum / n
		}
	}
	return rates, true
}

// price returns what units may cost together: "about $1.20 ($0.90 to $1.70)". What is not known is named by its
// variant.
func (h history) price(units []engine.PreviewedUnit) string {
	lists, unknown := make(map[string][][]float64), make(map[string]bool)
	for _, u := range units {
		if !u.StartsAgent {
			continue
		}
		currencies := h.currencies(u.Variant.ID)
		for _, currency := range currencies {
			lists[currency] = append(lists[currency], h.figures(u, costIn(currency)))
		}
		if currencies == nil {
			unknown[u.Variant.ID] = true
		}
	}
	var parts []string
	for _, currency := range slices.Sorted(maps.Keys(lists)) {
		parts = append(parts, spread(lists[currency], func(v float64) string { return money(v, currency) }))
	}
	if len(unknown) > 0 {
		parts = append(parts, "unknown for "+some(slices.Sorted(maps.Keys(unknown))))
	}
	return strings.Join(parts, ", ")
}

// time returns how long units may take, several at a time.
func (h history) time(units []engine.PreviewedUnit, parallel int) string {
	var lists [][]float64
	for _, u := range units {
		if !u.StartsAgent {
			continue
		}
		figures := h.figures(u, secondsOf)
		if figures == nil {
			return "unknown"
		}
		lists = append(lists, figures)
	}
	if lists == nil {
		return ""
	}
	each := float64(min(parallel, len(lists)))
	return spread(lists, func(v float64) string { return clock(time.Duration(v / each * float64(time.Second))) })
}

// spread says what figures add up to, each being one of a list.
func spread(lists [][]float64, text func(float64) string) string {
	middle, interval := stats.Total(lists, planSpread)
	about := "about " + text(middle)
	if low, high := text(interval.Low), text(interval.High); !math.IsNaN(interval.Low) && low != high {
		about += fmt.Sprintf(" (%s to %s)", low, high)
	}
	return about
}

// money returns an amount as people write it.
func money(amount float64, currency string) string {
	if currency == "USD" {
		return fmt.Sprintf("$%.2f", amount)
	}
	return fmt.Sprintf("%.2f %s", amount, currency)
}

// design is what a run of some units of a variant can show.
type design struct {
	first  []engine.PreviewedUnit // a trial of each case
	trials int                    // of each case
	rates  []float64              // of the cases, or what is thought of them
	known  bool                   // by former runs
}

// design returns the design of units of a variant; false: no agent is started, or nothing judges them.
func (h history) design(units []engine.PreviewedUnit) (d design, ok bool) {
	var cases []string
	for _, u := range units {
		if !u.StartsAgent || len(u.Evaluators) == 0 {
			continue
		}
		d.trials++
		if n := len(cases); n == 0 || cases[n-1] != u.Case.ID { // trials of a case follow each other
			cases, d.first = append(cases, u.Case.ID), append(d.first, u)
		}
	}
	if d.trials == 0 {
		return d, false
	}
	d.trials = max(1, d.trials/len(cases))
	d.rates, d.known = h.rates(units[0].Variant.ID, cases)
	return d, true
}

// seen returns the smallest drop that the design shows.
func (d design) seen() string {
	drop := stats.Detectable(d.rates, d.trials, planAlpha, planPower)
	if math.IsNaN(drop) {
		return "none"
	}
	return fmt.Sprintf("%.1f points", 100*drop)
}

// wanted says how many trials show a drop, and what they cost.
func (d design) wanted(drop float64, h history) string {
	var pass float64
	for _, rate := range d.rates {
		pass += rate / float64(len(d.rates))
	}
	if drop > pass {
		return fmt.Sprintf("only %.1f %% pass, so that there is no such drop", 100*pass)
	}
	trials := stats.TrialsToSee(d.rates, drop, planAlpha, planPower)
	units := trials * len(d.first)
	switch {
	case trials == 0:
		return "no number of trials of these cases does"
	case units > plan.MaxUnits:
		return fmt.Sprintf("%s of each case, more than a run may have", excerpt.Count(trials, "trial"))
	}
	return fmt.Sprintf("%s of each case, %s, price %s", excerpt.Count(trials, "trial"), excerpt.Count(units, "unit"),
		h.price(slices.Repeat(d.first, trials)))
}
