package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

// announce says what a run of a skill would do, take and cost.
func (a *App) announce(r *skillRun) {
	s := r.suite
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(a.Stderr, "%-10s %s\n", name, printable(a.secrets.String(text)))
		}
	}
	line("skill", fmt.Sprintf("%s in %s, digest %s", s.Name, a.shownFile(s.File(s.Dir)), s.Installed.Digest()))
	if p := r.plugin(); p != nil {
		line("plugin", fmt.Sprintf("%s, installed in place of the skill, digest %s", p.Dir, p.Installed.Digest()))
	}
	var who strings.Builder
	who.WriteString(r.agent.Kind)
	for _, part := range []string{r.agent.Preset, r.agent.Model} {
		if part != "" {
			who.WriteString(", " + part)
		}
	}
	if r.how != "" {
		who.WriteString(" (" + r.how + ")")
	}
	line("agent", who.String())
	line("judge", r.judgeWords())
	line("runs", r.design())
	line("left out", r.leftOut())
	if void := r.void(); len(void) > 0 {
		line("void", some(void)+": the case has the skill's own files, so the arms get the same")
	}
	n := r.sessions()
	line("mode", fmt.Sprintf("%s, sandbox %s: %s with the agent, %d replayed", r.cfg.Mode, r.preview.Sandbox,
		excerpt.Count(n, "session"), r.replays()))
	if len(r.stale) > 0 {
		line("stale", some(r.stale))
	}
	if len(r.unrecorded) > 0 {
		line("missing", some(r.unrecorded)+": without a recording")
	}
	if n == 0 {
		return
	}
	line("takes", r.past.time(r.preview.Units, r.preview.Parallel))
	line("tokens", r.tokens())
	line("price", r.past.price(r.preview.Units))
	if most := r.cfg.Budget.MaxUSD; most > 0 {
		line("budget", money(most, "USD"))
	}
}

// judgeWords says which agent decides what code cannot, and of how many checks.
func (r *skillRun) judgeWords() string {
	n := 0
	for _, u := range r.preview.Units {
		for _, c := range r.suite.Cases {
			if c.ID == u.Case.ID && c.Runs() {
				n += c.Open()
			}
		}
	}
	if n == 0 {
		return ""
	}
	who := "the same agent"
	if r.judge.Kind != "" {
		who = strings.Join(listed(r.judge.Kind, r.judge.Preset, r.judge.Model), ", ")
	}
	return fmt.Sprintf("%s, of %s", who, excerpt.Count(n, "check"))
}

// design says how many sessions there are, and of what.
func (r *skillRun) design() string {
	cases := make(map[string]bool)
	trials := 1
	for _, u := range r.preview.Units {
		cases[u.Case.ID], trials = true, max(trials, u.Trial)
	}
	arms := "arm"
	if len(r.arms) > 1 {
		arms += "s"
	}
	what := "case"
	if r.options.front.triggers {
		what = "trigger"
	}
	return fmt.Sprintf("%s × %d %s (%s) × %s: %s", excerpt.Count(len(cases), what), len(r.arms), arms,
		strings.Join(r.arms, ", "), excerpt.Count(trials, "trial"), excerpt.Count(len(r.preview.Units), "session"))
}

// leftOut names the cases that are not run.
func (r *skillRun) leftOut() string {
	var commands []string
	for _, c := range r.suite.Cases {
		if c.Command && !c.Broken && !r.options.front.triggers {
			commands = append(commands, c.ID)
		}
	}
	var parts []string
	if broken := r.broken(); len(broken) > 0 {
		parts = append(parts, some(broken)+" (cannot be run: --check says why)")
	}
	if len(commands) > 0 {
		parts = append(parts, some(commands)+" (begins with a /command, which needs --plugin)")
	}
	return strings.Join(parts, ", ")
}

// void returns the cases that are run and of which no difference can be told.
func (r *skillRun) void() []string {
	return slices.DeleteFunc(r.suite.Void(), func(id string) bool {
		return !slices.ContainsFunc(r.preview.Units, func(u engine.PreviewedUnit) bool { return u.Case.ID == id })
	})
}

// replays returns how many recordings are replayed.
func (r *skillRun) replays() int {
	n := 0
	for _, u := range r.preview.Units {
		if u.Replays && !u.Missing {
			n++
		}
	}
	return n
}

// tokens says how many tokens the sessions may take.
func (r *skillRun) tokens() string {
	total, known := 0.0, 0
	for _, u := range r.preview.Units {
		if !u.StartsAgent {
			continue
		}
		var used []float64
		for _, past := range r.past.of(u.Variant.ID) {
			if m := past.Metrics; m != nil && m.Tokens != nil && m.Tokens.Total != nil {
				used = append(used, float64(*m.Tokens.Total))
			}
		}
		if n, ok := median(used); ok {
			total, known = total+n, known+1
		}
	}
	if known < r.sessions() {
		return "unknown"
	}
	return fmt.Sprintf("about %.0f", total)
}
