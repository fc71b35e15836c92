package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/rundir"
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

// findRun returns the id of the run that a person means: id is a whole id, the beginning of only one, "latest", or
// "latest~1", the one before that, and so on.
func findRun(root, id string) (string, error) {
	runs, err := rundir.List(root)
	if err != nil {
		return "", err
	}
	var found []string
	back := 0
	if after, ok := strings.CutPrefix(id, latest+"~"); ok {
		if back, err = strconv.Atoi(after); err != nil || back < 0 || back >= len(runs) {
			return "", usageError("%s: there are %s", id, count(len(runs), "run")).hint("sdd-eval list")
		}
		id = latest
	}
	for i, r := range runs {
		switch {
		case r.ID == id, id == latest && i == back:
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
