package cli

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

func cassettePruneCommand() command {
	return command{
		name:  "cassette prune",
		usage: "PLAYBOOK... [--dry-run] [--root DIR] [--cassettes DIR]",
		short: "remove recordings of units that are gone",
		long: `Removes, without asking, the recordings that lie where those of a playbook do and are of none of its units, and prints
their paths. Recordings of other playbooks, and of playbooks that are gone, stay.`,
		examples: `sdd-eval cassette prune --dry-run evals/refund/refund.yaml
sdd-eval cassette prune evals/*/*.yaml`,
		args: arguments{min: 1, max: -1, what: "PLAYBOOK", kind: kindFile},
		define: func(a *App, f *flags) action {
			var (
				dry   bool
				where recordingsFlags
			)
			f.BoolVar(&dry, "dry-run", false, "Remove nothing, only print.")
			where.define(f)
			return func(_ context.Context, files []string) error { return a.pruneCassettes(where, files, dry) }
		},
	}
}

// pruneCassettes removes nothing before all playbooks were read.
func (a *App) pruneCassettes(where recordingsFlags, files []string, dry bool) error {
	root, err := a.projectRoot(where.root)
	if err != nil {
		return err
	}
	var orphans []string
	for _, file := range files {
		found, err := a.orphans(root, where, file)
		if err != nil {
			return err
		}
		orphans = append(orphans, found...)
	}
	for _, path := range orphans {
		fmt.Fprintln(a.Stdout, printable(a.shown(path)))
		if !dry {
			if err := removeOrphan(path); err != nil {
				return err
			}
		}
	}
	verb := "removed "
	if dry {
		verb = "would remove "
	}
	fmt.Fprintln(a.Stderr, verb+count(len(orphans), "file"))
	return nil
}

// orphans returns the recordings of none of a playbook's units. A playbook that another one shares them with is an error.
func (a *App) orphans(root string, where recordingsFlags, file string) ([]string, error) {
	runner, _, err := a.recordings(root, where, file)
	if err != nil {
		return nil, err
	}
	path := a.path(file)
	stem := strings.TrimSuffix(path, filepath.Ext(path))
	for _, other := range []string{stem + ".yaml", stem + ".yml"} {
		if other != path && exists(other) {
			return nil, usageError("cassette prune: %s and %s share their recordings", file, a.shown(other))
		}
	}
	return runner.Orphans()
}

// removeOrphan removes a recording, and its directory if nothing else is in it.
func removeOrphan(path string) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	dir := filepath.Dir(path)
	entries, err := fs.ReadDir(os.DirFS(dir), ".")
	if err == nil && len(entries) == 0 {
		err = os.Remove(dir)
	}
	return err
}
