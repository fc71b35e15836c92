package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/playbook"
)

func cassetteMigrateCommand() command {
	return command{
		name:  "cassette migrate",
		usage: "PLAYBOOK...|--all [--dry-run] [--root DIR] [--cassettes DIR]",
		short: "write recordings as they would be written today",
		long: `Rewrites the recorded sessions of playbooks that this version of sdd-eval, or the playbook's cassette.normalise, would
write in another way today, and prints their paths. What happened in them stays as it was, so a stale recording stays
stale. No agent runs and nothing is recorded anew. If one recording is corrupt, none is changed.`,
		examples: `sdd-eval cassette migrate --dry-run --all
sdd-eval cassette migrate evals/refund/refund.yaml`,
		codes: `0  the recordings can be read; those that were old are migrated, unless it is a dry run
2  the command line or a playbook is wrong
3  a recording is corrupt or of another format, or the tool itself failed`,
		args: arguments{max: -1, what: "PLAYBOOK", kind: kindFile},
		define: func(a *App, f *flags) action {
			var (
				all, dry bool
				where    recordingsFlags
			)
			f.BoolVar(&all, "all", false, "Migrate the recordings of all playbooks.")
			f.BoolVar(&dry, "dry-run", false, "Change nothing, only print.")
			where.define(f)
			return func(ctx context.Context, files []string) error {
				if all == (len(files) > 0) {
					return usageError("cassette migrate: give either playbooks or --all").hint("sdd-eval cassette migrate --help")
				}
				return a.migrateCassettes(ctx, where, files, dry)
			}
		},
	}
}

// recorded is a unit that may have a recording.
type recorded struct {
	runner *engine.Runner
	unit   playbook.Unit
}

// migrateCassettes migrates the recordings of some playbooks, or of all if there is none. It changes nothing before it has
// read all of them.
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
			fmt.Fprintf(a.Stderr, "warning: the recordings of %s.yaml stay as they are: it is not there\n", printable(stem))
		}
	}
	old, err := a.outdated(ctx, root, where, files)
	if err != nil {
		return err
	}
	for _, r := range old {
		if !dry {
			if _, err := r.runner.Migrate(r.unit, false); err != nil {
				return fmt.Errorf("cassette migrate: %w", err)
			}
		}
		fmt.Fprintln(a.Stdout, printable(a.shown(cassette.File(r.runner.CassettePath(r.unit)))))
	}
	verb := "migrated "
	if dry {
		verb = "would migrate "
	}
	fmt.Fprintln(a.Stderr, verb+count(len(old), "recording"))
	return nil
}

// outdated returns the units of playbooks whose recordings would be written in another way today. Recordings that cannot be
// read are one error.
func (a *App) outdated(ctx context.Context, root string, where recordingsFlags, files []string) ([]recorded, error) {
	var old []recorded
	var unread []error
	next := ""
	for _, file := range files {
		runner, plan, err := a.recordings(root, where, file)
		if err != nil {
			return nil, err
		}
		for _, u := range plan.Units {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			changed, err := runner.Migrate(u, true)
			switch {
			case changed:
				old = append(old, recorded{runner, u})
			case err == nil:
			default:
				unread = append(unread, err)
				next = cmp.Or(next, where.run(a.shown(a.path(file))).command(engine.Record))
			}
		}
	}
	if len(unread) > 0 {
		return nil, &exitError{code: exitHarness, err: fmt.Errorf("cassette migrate: %w", errors.Join(unread...)), next: next}
	}
	return old, nil
}
