package cli

import (
	"context"
	"fmt"

	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

func cleanCommand() command {
	return command{
		name:  "clean",
		usage: "--keep N [--root DIR]",
		short: "remove old runs",
		long: `Removes all runs of the project but the newest N, and prints the ids of those that it removed. Runs in use by
another process are kept.`,
		examples: `sdd-eval clean --keep 10`,
		define: func(a *App, f *flags) action {
			var keep int
			var root string
			f.number(&keep, "keep", 0, "How many of the newest runs to keep, `N`; 0 removes all.")
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
