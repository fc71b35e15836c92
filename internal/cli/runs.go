package cli

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// latest stands for the id of the newest run.
const latest = rundir.Latest

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

// findRun is [rundir.Find]; a run that is not there is a mistake on the command line.
func findRun(root, id string) (string, error) {
	found, err := rundir.Find(root, id)
	if fault.Advice(err) != "" {
		err = &exitError{code: exitUsage, err: err}
	}
	return found, err
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
			state += ", " + excerpt.Count(s.Problems, "problem")
		}
		counts, err := s.Outcomes()
		if err == nil {
			outcomes = tally(counts).of(s.Units).String()
			if s.Of > 0 {
				outcomes += fmt.Sprintf(" (%d of %s)", s.Units, excerpt.Count(s.Of, "unit"))
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
	fmt.Fprintf(a.Stderr, "removed %s\n", excerpt.Count(len(removed), "run"))
	return err
}
