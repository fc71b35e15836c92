package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/report"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/scoring/human"
)

// latest stands for the id of the newest run.
const latest = "latest"

// projectRoot returns the project's root; override is the value of --root.
func (a *App) projectRoot(override string) (string, error) {
	root, err := rundir.ProjectRoot(a.Dir, override, a.Getenv)
	if err != nil {
		return "", usageError("%w", err)
	}
	return root, nil
}

// openRun opens a run of the project for reading. The id is any that findRun takes.
func (a *App) openRun(rootFlag, id string) (*rundir.Run, error) {
	root, err := a.projectRoot(rootFlag)
	if err != nil {
		return nil, err
	}
	if id, err = findRun(root, id); err != nil {
		return nil, err
	}
	return rundir.Open(root, id, a.secrets)
}

// findRun returns the id of the run that a person means: id is a whole id, the beginning of only one, or "latest".
func findRun(root, id string) (string, error) {
	runs, err := rundir.List(root)
	if err != nil {
		return "", err
	}
	var found []string
	for i, r := range runs {
		switch {
		case r.ID == id, id == latest && i == 0:
			return r.ID, nil
		case strings.HasPrefix(r.ID, id):
			found = append(found, r.ID)
		}
	}
	switch {
	case len(runs) == 0:
		return "", usageError("no runs below %s yet", root).hint("sdd-eval run --help")
	case len(found) == 0:
		return "", usageError("no run %q; the newest is %s", id, runs[0].ID).hint("sdd-eval list")
	case len(found) > 1:
		return "", usageError("%q is ambiguous: %d runs begin with it, such as %s and %s",
			id, len(found), found[0], found[1]).hint("sdd-eval list")
	}
	return found[0], nil
}

func listCommand() command {
	return command{
		name:  "list",
		usage: "[--root DIR]",
		short: "list the runs of the project",
		long: `Lists the runs below the project's root, newest first: when each began (UTC), its state, the
outcomes of its units and its playbook.`,
		examples: `sdd-eval list
sdd-eval list --root ~/src/shop`,
		define: func(a *App, f *flags) action {
			var root string
			f.root(&root)
			return func(context.Context, []string) error { return a.list(root) }
		},
	}
}

func (a *App) list(rootFlag string) error {
	root, err := a.projectRoot(rootFlag)
	if err != nil {
		return err
	}
	runs, err := rundir.List(root)
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		fmt.Fprintf(a.Stderr, "no runs below %s yet\nnext: sdd-eval run --help\n", root)
		return nil
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tCREATED\tSTATE\tOUTCOMES\tPLAYBOOK")
	for _, s := range runs {
		outcomes, file := "?", s.Playbook
		state := string(s.State)
		if s.Problems > 0 {
			state += ", " + count(s.Problems, "problem")
		}
		counts, err := s.Outcomes()
		if err == nil {
			outcomes = tally(counts).of(s.Units).String()
			if s.Of > 0 {
				outcomes += fmt.Sprintf(" (%d of %s)", s.Units, count(s.Of, "unit"))
			}
		} else {
			state = "unreadable"
			fmt.Fprintf(a.Stderr, "%s: %s\n", s.ID, printable(err.Error()))
		}
		created := s.CreatedAt.UTC().Format(time.DateTime)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", s.ID, created, state, outcomes, printable(file))
	}
	return w.Flush()
}

func showCommand() command {
	return command{
		name:  "show",
		usage: "[RUN_ID] [--root DIR] [--materialise DIR [UNIT]]",
		short: "show what happened in a run",
		long: `Shows how each unit and each job of a run ended and why, and where its files are. RUN_ID is the id
of a run, the beginning of one, or latest, which is the default.

With --materialise it writes the workspace that UNIT left, an id or its end, which only a run of one unit
can do without. Of replays of several cases, a run keeps what the workspace was made of and how it
differs: if a file of that has changed since, nothing is written, and the error names the file.`,
		examples: `sdd-eval show
sdd-eval show 20260131-101500
sdd-eval show latest --materialise /tmp/left fix/claude/1`,
		args: arguments{max: 2, what: "RUN_ID", kind: kindRun},
		define: func(a *App, f *flags) action {
			var root, dir string
			f.root(&root)
			f.text(&dir, "materialise", kindDir,
				"Write the workspace of a unit into `DIR`, which is empty or does not exist.")
			return func(ctx context.Context, args []string) error {
				run, unit := latest, ""
				if len(args) > 0 {
					run = args[0]
				}
				if len(args) > 1 {
					unit = args[1]
				}
				switch {
				case dir != "":
					return a.materialise(ctx, root, run, unit, dir)
				case unit != "":
					return usageError("UNIT %s is for --materialise: a run is shown with all its units", unit).
						hint("sdd-eval show --help")
				}
				return a.show(root, run)
			}
		},
	}
}

func (a *App) show(rootFlag, id string) error {
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
	s := runPage{app: a, w: a.Stdout, run: r, manifest: r.Manifest()}
	s.head(units)
	s.units(units)
	for _, j := range jobs {
		fmt.Fprintf(s.w, "\n%-9s job %s  %s\n", j.Outcome, j.ID, seconds(j.Duration))
		s.line("", j.Reason)
		s.steps(j.Steps)
	}
	s.files()
	for _, n := range r.Notes() {
		fmt.Fprintf(a.Stderr, "note: %s\n", printable(n))
	}
	if s.manifest.State == rundir.StateInterrupted {
		fmt.Fprintf(a.Stderr, "next: %s\n", commandLine("run", "--resume", r.ID(), "--root", rootFlag))
	}
	return nil
}

// runPage writes what show prints about a run.
type runPage struct {
	app      *App
	w        io.Writer
	run      *rundir.Run
	manifest rundir.Manifest
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
		fmt.Fprintf(s.w, "selected   %s\n", printable(selected))
	}
	if m.Again != "" {
		fmt.Fprintf(s.w, "again      %s\n", m.Again)
	}
	fmt.Fprintf(s.w, "outcomes   %s\n", tallyOf(units, len(m.Units)))
	for _, c := range m.Accepted {
		fmt.Fprintf(s.w, "accepted   %s since the run began\n", printable(c))
	}
	for _, p := range m.Problems {
		fmt.Fprintf(s.w, "problem    %s\n", printable(p))
	}
}

// units writes about all units of the run in their order, even those that have not ended.
func (s runPage) units(units []result.Unit) {
	ended := make(map[string]result.Unit, len(units))
	for _, u := range units {
		ended[u.ID] = u
	}
	for _, id := range s.manifest.Units {
		u, ok := ended[id]
		if !ok {
			fmt.Fprintf(s.w, "\n%-9s %s\n", notRun, id)
			continue
		}
		s.unit(u)
	}
}

func (s runPage) unit(u result.Unit) {
	fmt.Fprintf(s.w, "\n%-9s %s  %s\n", u.Outcome, u.ID, seconds(u.Duration))
	s.line("", u.Reason)
	s.line("stop: ", u.Stop)
	s.line("mode: ", strings.Join(u.Modes, ", then "))
	s.line("next: ", u.Next)
	s.steps(u.Steps)
	for _, e := range u.Evaluations {
		if e.Outcome != result.Pass || e.Reason != "" { // a pass can have a reason, too
			s.line(e.Position+": ", fmt.Sprintf("%s: %s: %s", e.Name, e.Outcome, e.Reason))
		}
	}
	for _, w := range u.Warnings {
		s.line("warning: ", w)
	}
	for i, reason := range u.Attempts {
		s.line(fmt.Sprintf("attempt %d: ", i+1), reason)
	}
	dirs := s.run.UnitDirs(u.Case, u.Variant, u.Trial)
	for _, dir := range []string{dirs.Workspace, dirs.Logs, dirs.Artifacts} {
		if _, err := os.Stat(dir); err == nil {
			s.line("", s.app.shown(dir))
		}
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

func cleanCommand() command {
	return command{
		name:  "clean",
		usage: "--keep N [--root DIR]",
		short: "remove old runs",
		long: `Removes all runs of the project except the newest N, and prints the ids of the removed runs. Runs in
use by another process are kept.`,
		examples: `sdd-eval clean --keep 10`,
		define: func(a *App, f *flags) action {
			var keep int
			var root string
			f.number(&keep, "keep", 0, "Keep the newest `N` runs; 0 removes all.")
			f.root(&root)
			f.require("keep")
			return func(context.Context, []string) error { return a.clean(root, keep) }
		},
	}
}

func (a *App) clean(rootFlag string, keep int) error {
	root, err := a.projectRoot(rootFlag)
	if err != nil {
		return err
	}
	removed, err := rundir.Clean(root, keep)
	for _, id := range removed {
		fmt.Fprintln(a.Stdout, id)
	}
	fmt.Fprintf(a.Stderr, "removed %s\n", count(len(removed), "run"))
	return err
}
