package cli

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

func listCommand() command {
	return command{
		name:  "list",
		usage: "[--root DIR]",
		short: "list the runs of the project",
		long: `Prints the runs below the project's root, the newest first: when they began (UTC), how far they are, how their units
ended and which playbook they ran.`,
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
		fmt.Fprintf(a.Stderr, "there are no runs below %s yet\nnext: sdd-eval run --help\n", root)
		return nil
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tCREATED\tSTATE\tOUTCOMES\tPLAYBOOK")
	for _, s := range runs {
		outcomes, file, err := summary(root, s)
		state := string(s.State)
		if s.Problems > 0 {
			state += ", " + count(s.Problems, "problem")
		}
		if err != nil {
			state, outcomes = "unreadable", "?"
			fmt.Fprintf(a.Stderr, "%s: %s\n", s.ID, printable(err.Error()))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", s.ID, s.CreatedAt.UTC().Format(time.DateTime), state, outcomes, printable(file))
	}
	return w.Flush()
}

// summary returns how the units of a run ended, and its playbook.
func summary(root string, s rundir.Summary) (outcomes, file string, err error) {
	if s.Err != nil {
		return "", "", s.Err
	}
	r, err := rundir.Open(root, s.ID, nil)
	if err != nil {
		return "", "", err
	}
	defer r.Close()
	units, err := r.Units()
	if err != nil {
		return "", r.Manifest().Playbook.Path, err
	}
	return tallyOf(units, s.Units).String(), r.Manifest().Playbook.Path, nil
}
