package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

func cassettePruneCommand() command {
	return command{
		name:  "cassette prune",
		usage: "PLAYBOOK... [--dry-run] [--root DIR] [--cassettes DIR]",
		short: "remove recordings of units that no longer exist",
		long: `Removes, without asking, the recordings of a playbook that belong to none of its units any more, and
prints their paths. Recordings of other playbooks stay, even if those playbooks no longer exist.`,
		examples: `sdd-eval cassette prune --dry-run evals/refund/refund.yaml
sdd-eval cassette prune evals/*/*.yaml`,
		args: arguments{min: 1, max: -1, what: "PLAYBOOK", kind: kindFile},
		define: func(a *App, f *flags) action {
			var (
				dry   bool
				where recordingsFlags
			)
			f.BoolVar(&dry, "dry-run", false, "Print the paths, but remove nothing.")
			where.define(f)
			return func(_ context.Context, files []string) error { return a.pruneCassettes(where, files, dry) }
		},
	}
}

// pruneCassettes removes nothing before it has read all playbooks.
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
			if err := removeOrphan(where.tree(root), path); err != nil {
				return err
			}
		}
	}
	verb := "removed "
	if dry {
		verb = "would remove "
	}
	fmt.Fprintln(a.Stderr, verb+excerpt.Count(len(orphans), "file"))
	return nil
}

// orphans returns the recordings that belong to no unit of a playbook. It is an error if another playbook has its
// recordings in the same place.
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

// removeOrphan removes a recording, and its directory if that is empty then.
func removeOrphan(tree disk.Tree, path string) error {
	if err := tree.Remove(path); err != nil {
		return err
	}
	dir := filepath.Dir(path)
	entries, err := fs.ReadDir(os.DirFS(dir), ".")
	if err == nil && len(entries) == 0 {
		err = tree.Remove(dir)
	}
	return err
}

func cassetteMigrateCommand() command {
	return command{
		name:  "cassette migrate",
		usage: "PLAYBOOK...|--all [--dry-run] [--root DIR] [--cassettes DIR]",
		short: "rewrite recordings in the current form",
		long: `Rewrites the recordings that this version of sdd-eval, or the playbook's cassette.normalise, would
write differently now, and prints their paths. The recorded events stay the same, so a stale
recording stays stale. No agent runs and nothing is recorded. If one recording cannot be read, none
is changed.`,
		examples: `sdd-eval cassette migrate --dry-run --all
sdd-eval cassette migrate evals/refund/refund.yaml`,
		codes: `0  all recordings can be read; without --dry-run, the old ones were rewritten
2  the command line or a playbook is wrong
3  a recording is corrupt or in an unknown format, or the tool itself failed`,
		args: arguments{max: -1, what: "PLAYBOOK", kind: kindFile},
		define: func(a *App, f *flags) action {
			var (
				all, dry bool
				where    recordingsFlags
			)
			f.BoolVar(&all, "all", false, "Migrate the recordings of all playbooks.")
			f.BoolVar(&dry, "dry-run", false, "Print the paths, but change nothing.")
			where.define(f)
			return func(ctx context.Context, files []string) error {
				if all == (len(files) > 0) {
					return usageError("cassette migrate: give either playbooks or --all").
						hint("sdd-eval cassette migrate --help")
				}
				return a.migrateCassettes(ctx, where, files, dry)
			}
		},
	}
}

// migration is a recording that is to be rewritten.
type migration struct {
	runner *engine.Runner
	unit   plan.Unit
	file   string // as it is shown
}

// migrateCassettes migrates the recordings of the playbooks in files, or of all playbooks if files is empty. It changes
// nothing before it has read all recordings.
func (a *App) migrateCassettes(ctx context.Context, where recordingsFlags, files []string, dry bool) error {
	root, err := a.projectRoot(where.root)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		var gone []string
		if files, gone, err = a.recordedPlaybooks("cassette migrate", where, root); err != nil {
			return err
		}
		for _, stem := range gone {
			fmt.Fprintf(a.Stderr, "warning: playbook %s.yaml does not exist: its recordings are unchanged\n",
				printable(stem))
		}
	}
	old, err := a.migrations(ctx, root, where, files)
	if err != nil {
		return err
	}
	done := 0
	for _, m := range old {
		if err = context.Cause(ctx); err == nil && !dry {
			_, err = m.runner.Migrate(m.unit, false)
		}
		if err != nil {
			err = fmt.Errorf("cassette migrate: %w", err)
			break
		}
		fmt.Fprintln(a.Stdout, printable(m.file))
		done++
	}
	switch total := excerpt.Count(len(old), "recording"); {
	case dry:
		fmt.Fprintln(a.Stderr, "would migrate "+total)
	case done < len(old):
		fmt.Fprintf(a.Stderr, "migrated %d of %s: the others are unchanged\n", done, total)
	default:
		fmt.Fprintln(a.Stderr, "migrated "+total)
	}
	return err
}

// migrations returns the recordings of playbooks that are to be rewritten. One error has all recordings that cannot be
// read.
func (a *App) migrations(ctx context.Context, root string, where recordingsFlags, files []string) ([]migration, error) {
	var (
		old    []migration
		unread []error
		next   string
	)
	seen := make(map[string]bool) // paths: playbooks may share them, or may be given twice
	for _, file := range files {
		runner, plan, err := a.recordings(root, where, file)
		if err != nil {
			return nil, err
		}
		for _, u := range plan.Units {
			path := runner.CassettePath(u)
			if seen[path] {
				continue
			}
			seen[path] = true
			if err := context.Cause(ctx); err != nil {
				return nil, fmt.Errorf("cassette migrate: %w", err)
			}
			changed, err := runner.Migrate(u, true)
			if changed {
				old = append(old, migration{runner, u, a.shown(cassette.File(path))})
			}
			if err == nil {
				continue
			}
			unread = append(unread, err)
			_, isCorrupt := errors.AsType[*cassette.CorruptError](err)
			if _, isOther := errors.AsType[*cassette.UnitError](err); next == "" && (isCorrupt || isOther) {
				next = where.run(a.shown(a.path(file))).command(engine.Record)
			}
		}
	}
	if len(unread) > 0 {
		err := fmt.Errorf("cassette migrate: %w", errors.Join(unread...))
		return nil, &exitError{code: exitHarness, err: err, next: next}
	}
	return old, nil
}
