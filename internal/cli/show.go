package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/report"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/scoring/human"
)

// shownUnits is how many units are shown of a run of more.
const shownUnits = 20

func showCommand() command {
	return command{
		name: "show",
		usage: "[RUN_ID] [UNITS] [--case CASES] [--variant VARIANTS] [--root DIR]\n" +
			"  sdd-eval show [RUN_ID] [UNIT] --materialise DIR",
		short: "show what happened in a run",
		long: `Shows how a run ended, by variant, how its units and jobs ended and why, and where their files are: of
a run of more than 20 units those that did not pass, 20 at most. RUN_ID is the id of a run, the
beginning of one, or latest, which is the default. UNITS, as --units, shows the units of that name
only, and more of a single one: PLAYBOOK/CASE/VARIANT, as -run of go test. On a terminal, what is
longer than the screen is shown by $PAGER, or by less; PAGER=cat shows it as it is.

With --materialise it writes the workspace that UNIT left, an id or its end, which only a run of one unit
can do without. Of replays of several cases, a run keeps what the workspace was made of and how it
differs: if a file of that has changed since, nothing is written, and the error names the file.`,
		examples: `sdd-eval show
sdd-eval show shop/refund/claude
sdd-eval show 20260131-101500 --variant claude
sdd-eval show latest fix/claude/1 --materialise /tmp/left`,
		args: arguments{max: 2, what: "RUN_ID", kind: kindRun},
		define: func(a *App, f *flags) action {
			var root, dir string
			var s selection
			s.define(f)
			f.root(&root)
			f.text(&dir, "materialise", kindDir,
				"Write the workspace of a unit into `DIR`, which is empty or does not exist.")
			return func(ctx context.Context, args []string) error {
				run, units := latest, ""
				if len(args) > 0 && (len(args) > 1 || isRun(args[0])) {
					run, args = args[0], args[1:]
				}
				if len(args) > 0 {
					units = args[0]
				}
				switch {
				case dir != "" && s != selection{}:
					return usageError("show: --materialise takes one UNIT: remove %s", s)
				case dir != "":
					return a.materialise(ctx, root, run, units, dir)
				case units != "" && s.units != "":
					return usageError("show: give UNITS or --units UNITS").hint("sdd-eval show --help")
				}
				s.units = cmp.Or(units, s.units)
				return a.paged(ctx, func(w io.Writer, columns int) error { return a.show(w, columns, root, run, s) })
			}
		},
	}
}

// isRun reports whether a word means a run rather than units: ids of runs begin with a digit.
func isRun(word string) bool { return word == latest || word != "" && '0' <= word[0] && word[0] <= '9' }

// show writes about a run, or about those of its units that are selected, for a screen of columns columns, 0 meaning
// any.
func (a *App) show(w io.Writer, columns int, rootFlag, id string, selected selection) error {
	r, err := a.openRun(rootFlag, id)
	if err != nil {
		return err
	}
	defer r.Close()
	units, err := r.Units()
	if err != nil {
		return err
	}
	jobs, err := r.Jobs()
	if err != nil {
		return err
	}
	s := runPage{
		app: a, w: w, columns: columns, root: rootFlag, run: r,
		manifest: r.Manifest().Shown(),
	}
	ids, err := selected.choose(s.manifest.Units)
	if err != nil {
		return usageError("show: %w", err).hint(commandLine("show", r.ID(), "--root", rootFlag))
	}
	s.head(units)
	if selected != (selection{}) {
		fmt.Fprintf(w, "shown      %d of %s: %s\n", len(ids), excerpt.Count(len(s.manifest.Units), "unit"),
			printable(selected.String()))
		s.units(units, ids)
	} else {
		s.whole(units, jobs)
	}
	for _, n := range r.Notes() {
		fmt.Fprintf(a.Stderr, "note: %s\n", printable(n))
	}
	if s.manifest.State == rundir.StateInterrupted {
		var more []string
		if s.manifest.Stopped != "" && s.manifest.Budget != nil {
			more = afford(s.manifest.Budget.EnoughUSD)
		}
		fmt.Fprintf(a.Stderr, "next: %s\n", runOptions{root: rootFlag}.resumption(r.ID(), more...))
	}
	return nil
}

// runPage writes what show prints about a run.
type runPage struct {
	app      *App
	w        io.Writer
	columns  int    // 0: any number
	root     string // the value of --root
	brief    bool   // leaves out where the files of units are
	run      *rundir.Run
	manifest rundir.Manifest
}

// whole writes about all of the run.
func (s runPage) whole(units []result.Unit, jobs []result.Job) {
	m := s.manifest
	many := len(m.Units) > shownUnits
	if rep, err := report.Load(s.run); err != nil {
		fmt.Fprintf(s.app.Stderr, "note: no table of the variants: %s\n", printable(err.Error()))
	} else if len(rep.Results) > 1 {
		summarise(s.w, rep, s.columns, many)
	}
	if many {
		s.bad(units)
	} else {
		s.units(units, m.Units)
	}
	for _, j := range jobs {
		fmt.Fprintf(s.w, "\n%-9s job %s  %s\n", j.Outcome, j.ID, seconds(j.Duration))
		s.line("", j.Reason)
		s.steps(j.Steps)
	}
	s.files()
}

// bad writes about the first units that did not pass, and says how to see others.
func (s runPage) bad(units []result.Unit) {
	good := make(map[string]bool)
	for _, u := range units {
		good[u.ID] = !u.Outcome.Bad()
	}
	all := s.manifest.Units
	bad := slices.DeleteFunc(slices.Clone(all), func(id string) bool { return good[id] })
	s.brief = true
	s.units(units, bad[:min(len(bad), shownUnits)])
	if more := len(bad) - shownUnits; more > 0 {
		fmt.Fprintf(s.w, "\nand %d more that did not pass\n", more)
	}
	fmt.Fprintf(s.w, "\nof one unit:  %s\nof all units: %s\n",
		commandLine("show", s.run.ID(), append(bad, all...)[0], "--root", s.root),
		commandLine("show", s.run.ID(), ".", "--root", s.root))
}

func (s runPage) head(units []result.Unit) {
	m := s.manifest
	fmt.Fprintf(s.w, "run        %s\n", s.run.ID())
	fmt.Fprintf(s.w, "state      %s\n", m.State)
	fmt.Fprintf(s.w, "created    %s UTC\n", m.CreatedAt.UTC().Format(time.DateTime))
	if m.FinishedAt != nil {
		fmt.Fprintf(s.w, "finished   %s UTC\n", m.FinishedAt.UTC().Format(time.DateTime))
	}
	fmt.Fprintf(s.w, "playbook   %s\n", printable(m.Playbook.Path))
	fmt.Fprintf(s.w, "mode       %s, sandbox %s\n", m.Mode, m.Sandbox)
	fmt.Fprintf(s.w, "directory  %s\n", s.app.shown(s.run.Dir()))
	if selected := m.Selected(); selected != "" {
		fmt.Fprintf(s.w, "units      %s\n", printable(selected))
	}
	if m.Again != "" {
		fmt.Fprintf(s.w, "again      %s\n", m.Again)
	}
	if m.Rejudged != "" {
		fmt.Fprintf(s.w, "rejudged   %s\n", m.Rejudged)
	}
	fmt.Fprintf(s.w, "outcomes   %s\n", tallyOf(units, len(m.Units)))
	for _, c := range m.Accepted {
		fmt.Fprintf(s.w, "accepted   %s since the run began\n", printable(c))
	}
	for _, p := range m.Problems {
		fmt.Fprintf(s.w, "problem    %s\n", printable(p))
	}
}

// units writes about the units with these ids, even those that have not ended.
func (s runPage) units(units []result.Unit, ids []string) {
	ended := make(map[string]result.Unit, len(units))
	for _, u := range units {
		ended[u.ID] = u
	}
	for _, id := range ids {
		u, ok := ended[id]
		if !ok {
			fmt.Fprintf(s.w, "\n%-9s %s\n", notRun, id)
			continue
		}
		s.unit(u, len(ids) == 1)
	}
}

// unit writes about a unit that has ended: where it did not pass, or all.
func (s runPage) unit(u result.Unit, all bool) {
	fmt.Fprintf(s.w, "\n%-9s %s  %s\n", u.Outcome, u.ID, seconds(u.Duration))
	s.line("", u.Reason)
	if u.Reference {
		s.line("reference: ", "the variant is there to be compared with, and decides nothing")
	}
	s.line("stop: ", u.Stop)
	s.line("mode: ", strings.Join(u.Modes, ", then "))
	s.line("next: ", u.Next)
	s.steps(u.Steps)
	for _, e := range u.Evaluations {
		if all || e.Outcome != result.Pass || e.Reason != "" { // a pass can have a reason, too
			s.line(e.Position+": ", fmt.Sprintf("%s: %s: %s", e.Name, e.Outcome, e.Reason))
			for _, check := range e.Unmet(shownChecks) {
				s.line("  ", check)
			}
		}
	}
	if all {
		s.did(u)
	}
	for _, w := range u.Warnings {
		s.line("warning: ", w)
	}
	for i, reason := range u.Attempts {
		s.line(fmt.Sprintf("attempt %d: ", i+1), reason)
	}
	if s.brief {
		return
	}
	dirs := s.run.UnitDirs(u.Case, u.Variant, u.Trial)
	for _, dir := range []string{dirs.Workspace, dirs.Logs, dirs.Artifacts} {
		if _, err := os.Stat(dir); err == nil {
			s.line("", s.app.shown(dir))
		}
	}
}

// did writes what the agent of a unit did, as far as it is known.
func (s runPage) did(u result.Unit) {
	m := u.Metrics
	if m == nil {
		return
	}
	s.line("prompts: ", fmt.Sprint(m.Iterations))
	var calls []string
	for _, name := range slices.Sorted(maps.Keys(m.ToolCalls)) {
		calls = append(calls, fmt.Sprintf("%d %s", m.ToolCalls[name], name))
	}
	s.line("tool calls: ", strings.Join(calls, ", "))
	if c := m.Changes; c != nil {
		s.line("files: ", fmt.Sprintf("%d added, %d modified, %d deleted", c.Added, c.Modified, c.Deleted))
	}
	if m.Tokens != nil && m.Tokens.Total != nil {
		s.line("tokens: ", fmt.Sprint(*m.Tokens.Total))
	}
	if m.Cost != nil {
		s.line("cost: ", fmt.Sprintf("%.4g %s", m.Cost.Amount, m.Cost.Currency))
	}
}

// steps writes about the steps that neither passed nor completed.
func (s runPage) steps(steps []result.Step) {
	for _, step := range steps {
		if step.Outcome == result.Pass || step.Outcome == result.Completed {
			continue
		}
		s.line(step.Position+": ", fmt.Sprintf("%s: %s: %s", step.Name, step.Outcome, step.Reason))
	}
}

// line writes an indented line, or several, and nothing if text is empty.
func (s runPage) line(label, text string) {
	if text == "" {
		return
	}
	for line := range strings.Lines(label + text) {
		fmt.Fprintf(s.w, "          %s\n", printable(strings.TrimSuffix(strings.TrimRight(line, "\n"), ": ")))
	}
}

// files lists the reports of the run.
func (s runPage) files() {
	first := true
	var names []string
	for _, f := range report.Formats {
		names = append(names, f.File)
	}
	for _, name := range append(names, human.PageFile) {
		path := filepath.Join(s.run.Dir(), name)
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if first {
			fmt.Fprintln(s.w)
			first = false
		}
		fmt.Fprintln(s.w, s.app.shown(path))
	}
}

// seconds formats a duration for people: "0.4s", "1m12s".
func seconds(d result.Duration) string {
	t := time.Duration(d)
	if t < time.Minute {
		return fmt.Sprintf("%.1fs", t.Seconds())
	}
	return t.Round(time.Second).String()
}
