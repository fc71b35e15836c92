package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

func cassetteVerifyCommand() command {
	return command{
		name:  "cassette verify",
		usage: "PLAYBOOK...|--all [--root DIR] [--cassettes DIR]",
		short: "find recordings that do not replay",
		long: `Compares recordings with the playbooks that they are of, and lists those that are missing, stale (with what changed),
corrupt, or orphaned, which means of no unit. What judges said is checked, too, but not whether they would still ask
it. Workspaces are prepared for it; nothing that a playbook names is run. --all looks at each playbook that has
recordings: one that was never recorded it does not find.`,
		examples: `sdd-eval cassette verify evals/refund/refund.yaml
sdd-eval cassette verify --all`,
		codes: `0  all recordings are there and replay
1  a recording is missing, stale, corrupt or orphaned
2  the command line or a playbook is wrong
3  the tool itself failed`,
		args: arguments{max: -1, what: "PLAYBOOK", kind: kindFile},
		define: func(a *App, f *flags) action {
			var (
				all   bool
				where recordingsFlags
			)
			f.BoolVar(&all, "all", false, "Look at all playbooks that have recordings.")
			where.define(f)
			return func(ctx context.Context, files []string) error {
				if all == (len(files) > 0) {
					return usageError("cassette verify: give either playbooks or --all").hint("sdd-eval cassette verify --help")
				}
				return a.verifyCassettes(ctx, where, files)
			}
		},
	}
}

// verification is what verify has found so far.
type verification struct {
	app    *App
	where  recordingsFlags
	root   string
	dir    string // of the cassettes, absolute
	counts map[string]int
	next   string // what mends the first defect
}

// verifyCassettes looks at the recordings of some playbooks, or of all if there is none.
func (a *App) verifyCassettes(ctx context.Context, where recordingsFlags, files []string) error {
	root, err := a.projectRoot(where.root)
	if err != nil {
		return err
	}
	v := &verification{app: a, where: where, root: root, dir: where.dir(root), counts: make(map[string]int)}
	if len(files) == 0 {
		if files, err = v.recorded(); err != nil {
			return err
		}
	}
	for _, file := range files {
		if err := v.playbook(ctx, file); err != nil {
			return err
		}
	}
	var found []string
	for _, kind := range []string{engine.DefectMissing, engine.DefectStale, engine.DefectCorrupt, engine.DefectOrphaned} {
		if n := v.counts[kind]; n > 0 {
			found = append(found, fmt.Sprintf("%d %s", n, kind))
		}
	}
	if len(found) > 0 {
		return &exitError{code: exitFailed, err: errors.New("cassette verify: " + strings.Join(found, ", ")), next: v.next}
	}
	return nil
}

// recorded returns the playbooks that have recordings, and reports recordings whose playbook is gone.
func (v *verification) recorded() ([]string, error) {
	files, gone, err := v.app.recordedPlaybooks("cassette verify", v.where, v.root)
	if err != nil {
		return nil, err
	}
	for _, stem := range gone {
		orphans, err := cassette.List(v.dir, stem)
		if err != nil {
			return nil, err
		}
		for _, file := range orphans {
			v.tell(engine.Defect{Kind: engine.DefectOrphaned, File: v.below(file), Reason: "there is no playbook " + stem + ".yaml"}, "")
		}
	}
	return files, nil
}

// playbook looks at the recordings of one playbook.
func (v *verification) playbook(ctx context.Context, file string) error {
	runner, plan, err := v.app.recordings(v.root, v.where, file)
	if err != nil {
		return err
	}
	file = v.app.shown(v.app.path(file))
	record := v.where.run(file).command(engine.Record)
	before := v.defects()
	for _, u := range plan.Units {
		defects, warnings, err := runner.Verify(ctx, u)
		if err != nil {
			return fmt.Errorf("cassette verify: %s: %w", file, err)
		}
		for _, d := range defects {
			v.tell(d, record)
		}
		for _, w := range warnings {
			fmt.Fprintf(v.app.Stderr, "warning: %s\n", printable(v.app.secrets.String(w)))
		}
	}
	orphans, err := runner.Orphans()
	if err != nil {
		return err
	}
	for _, o := range orphans {
		v.tell(engine.Defect{Kind: engine.DefectOrphaned, File: v.below(o), Reason: "no unit of " + file + " has this recording"},
			commandLine("cassette", "prune", file, "--root", v.where.root, "--cassettes", v.where.cassettes))
	}
	if v.defects() == before {
		fmt.Fprintf(v.app.Stdout, "%-9s %s: %s\n", "ok", printable(file), count(len(plan.Units), "unit"))
	}
	return nil
}

func (v *verification) defects() int {
	n := 0
	for _, c := range v.counts {
		n += c
	}
	return n
}

// tell prints a defect and counts it. What mends it is a command.
func (v *verification) tell(d engine.Defect, mends string) {
	v.counts[d.Kind]++
	if v.next == "" {
		v.next = mends
	}
	fmt.Fprintf(v.app.Stdout, "%-9s %s\n", d.Kind, printable(d.File))
	for line := range strings.SplitSeq(v.app.secrets.String(d.Reason), "\n") {
		fmt.Fprintf(v.app.Stdout, "          %s\n", printable(line))
	}
}

// below is a path for people, relative to the root as those of cassettes are.
func (v *verification) below(path string) string {
	if rel, err := filepath.Rel(v.root, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// defaultCassettes is the directory of the cassettes, below the project's root.
const defaultCassettes = "cassettes"

// recordingsFlags say where recordings are.
type recordingsFlags struct{ root, cassettes string }

func (r *recordingsFlags) define(f *flags) {
	f.root(&r.root)
	f.text(&r.cassettes, "cassettes", kindDir, "The `DIR` of the cassettes, relative to the project's root; default: "+defaultCassettes+".")
}

// dir returns the directory of the cassettes, absolute.
func (r recordingsFlags) dir(root string) string {
	dir := cmp.Or(r.cassettes, defaultCassettes)
	if filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(root, dir)
}

// run returns the options of a run of a playbook whose recordings are there.
func (r recordingsFlags) run(file string) runOptions {
	return runOptions{playbook: file, root: r.root, cassettes: r.cassettes}
}

// recordings opens a playbook of the project to look at the recordings of its units. One of another project is an error:
// its recordings cannot be told from those of others.
func (a *App) recordings(root string, where recordingsFlags, file string) (*engine.Runner, *spec.Plan, error) {
	plan, err := a.loadPlan(root, a.path(file))
	if err != nil {
		return nil, nil, usageError("%w", err)
	}
	runner, err := engine.New(plan, engine.Config{
		Mode: engine.Replay, Root: root, Source: root, Cassettes: where.dir(root), Secrets: a.secrets,
		Command: func(m engine.Mode, _ spec.Unit) string { return where.run(file).command(m) },
		Getenv:  a.Getenv, Environ: a.Environ,
	})
	switch {
	case err != nil:
		return nil, nil, usageError("%w", err)
	case filepath.IsAbs(plan.Playbook.File):
		return nil, nil, usageError("%s is not below the project's root %s", file, root)
	case len(plan.Units) == 0:
		return nil, nil, usageError("%s has no units, so nothing is recorded of it", file)
	}
	return runner, plan, nil
}

// recordedPlaybooks returns the playbooks that have recordings, as absolute paths. Gone are those that are not there any
// more, as paths below the root without extension. No recordings at all are an error of the command.
func (a *App) recordedPlaybooks(command string, where recordingsFlags, root string) (files, gone []string, err error) {
	dir := where.dir(root)
	stems, err := cassette.Playbooks(dir)
	if err != nil {
		return nil, nil, err
	}
	if len(stems) == 0 {
		return nil, nil, usageError("%s: there are no cassettes below %s", command, a.shown(dir)).
			hint(where.run("PLAYBOOK").command(engine.Record))
	}
	for _, stem := range stems {
		found := len(files)
		for _, ext := range []string{".yaml", ".yml"} {
			if file := filepath.Join(root, filepath.FromSlash(stem)) + ext; exists(file) {
				files = append(files, file)
			}
		}
		if len(files) == found {
			gone = append(gone, stem)
		}
	}
	return files, gone, nil
}
