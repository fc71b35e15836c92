package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

func cassetteVerifyCommand() command {
	return command{
		name:  "cassette verify",
		usage: "PLAYBOOK...|--all [--root DIR] [--cassettes DIR]",
		short: "find recordings that cannot be replayed",
		long: `Compares recordings with their playbooks and lists those that are missing, stale (with what
changed), corrupt or orphaned (of no unit). The recorded answers of LLM judges are checked, too, but
not whether the judges would still ask the same. Workspaces are prepared, but no command of a
playbook is run. --all looks at every playbook that has recordings, so it does not find a playbook
that was never recorded.`,
		examples: `sdd-eval cassette verify evals/refund/refund.yaml
sdd-eval cassette verify --all`,
		codes: `0  all recordings exist and can be replayed
1  a recording is missing, stale, corrupt or orphaned
2  the command line or a playbook is wrong
3  the tool itself failed`,
		args: arguments{max: -1, what: "PLAYBOOK", kind: kindFile},
		define: func(a *App, f *flags) action {
			var (
				all   bool
				where recordingsFlags
			)
			f.BoolVar(&all, "all", false, "Verify the recordings of all playbooks.")
			where.define(f)
			return func(ctx context.Context, files []string) error {
				if all == (len(files) > 0) {
					return usageError("cassette verify: give either playbooks or --all").
						hint("sdd-eval cassette verify --help")
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
	next   string // the command that repairs the first defect
}

// verifyCassettes checks the recordings of the playbooks in files, or of all playbooks if files is empty.
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
	kinds := []string{engine.DefectMissing, engine.DefectStale, engine.DefectCorrupt, engine.DefectOrphaned}
	var found []string
	for _, kind := range kinds {
		if n := v.counts[kind]; n > 0 {
			found = append(found, fmt.Sprintf("%d %s", n, kind))
		}
	}
	if len(found) > 0 {
		err := errors.New("cassette verify: " + strings.Join(found, ", "))
		return &exitError{code: exitFailed, err: err, next: v.next}
	}
	return nil
}

// recorded returns the playbooks that have recordings, and reports the recordings whose playbook does not exist.
func (v *verification) recorded() ([]string, error) {
	files, gone, err := v.app.recordedPlaybooks("cassette verify", v.where, v.root)
	if err != nil {
		return nil, err
	}
	for _, stem := range gone {
		orphans, err := cassette.List(v.where.tree(v.root), v.dir, stem)
		if err != nil {
			return nil, err
		}
		for _, file := range orphans {
			v.report(engine.Defect{
				Kind: engine.DefectOrphaned, File: disk.Shown(v.root, file),
				Reason: "playbook " + stem + ".yaml does not exist",
			}, "")
		}
	}
	return files, nil
}

// playbook checks the recordings of one playbook.
func (v *verification) playbook(ctx context.Context, file string) error {
	runner, planned, err := v.app.recordings(v.root, v.where, file)
	if err != nil {
		return err
	}
	file = v.app.shown(v.app.path(file))
	record := v.where.run(file).command(engine.Record)
	before := v.defects()
	for _, u := range planned.Units {
		defects, warnings, err := runner.Verify(ctx, u)
		if err != nil {
			return fmt.Errorf("cassette verify: %s: %w", file, err)
		}
		for _, d := range defects {
			v.report(d, record)
		}
		for _, w := range warnings {
			fmt.Fprintf(v.app.Stderr, "warning: %s\n", printable(v.app.secrets.String(w)))
		}
	}
	orphans, err := runner.Orphans()
	if err != nil {
		return err
	}
	prune := commandLine("cassette", "prune", file, "--root", v.where.root, "--cassettes", v.where.cassettes)
	for _, o := range orphans {
		v.report(engine.Defect{
			Kind: engine.DefectOrphaned, File: disk.Shown(v.root, o),
			Reason: "no unit of " + file + " has this recording",
		}, prune)
	}
	if v.defects() == before {
		fmt.Fprintf(v.app.Stdout, "%-9s %s: %s\n", "ok", printable(file), excerpt.Count(len(planned.Units), "unit"))
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

// report prints a defect and counts it. repair is the command that repairs it, if any.
func (v *verification) report(d engine.Defect, repair string) {
	v.counts[d.Kind]++
	if v.next == "" {
		v.next = repair
	}
	fmt.Fprintf(v.app.Stdout, "%-9s %s\n", d.Kind, printable(d.File))
	for line := range strings.SplitSeq(v.app.secrets.String(d.Reason), "\n") {
		fmt.Fprintf(v.app.Stdout, "          %s\n", printable(line))
	}
}

// defaultCassettes is the directory of the cassettes, below the project's root.
const defaultCassettes = "cassettes"

// recordingsFlags are the flags that say where recordings are.
type recordingsFlags struct{ root, cassettes string }

func (r *recordingsFlags) define(f *flags) {
	f.root(&r.root)
	f.text(&r.cassettes, "cassettes", kindDir,
		"The `DIR` of the cassettes, relative to the project's root; default: "+defaultCassettes+".")
}

// dir returns the absolute path of the directory of the cassettes.
func (r recordingsFlags) dir(root string) string {
	dir := cmp.Or(r.cassettes, defaultCassettes)
	if filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(root, dir)
}

// tree returns the tree that the cassettes are in.
func (r recordingsFlags) tree(root string) disk.Tree { return disk.Within(root, r.dir(root)) }

// run returns the options of a run of a playbook with its recordings in that place.
func (r recordingsFlags) run(file string) runOptions {
	return runOptions{playbook: file, root: r.root, cassettes: r.cassettes}
}

// recordings opens a playbook of the project, to work with the recordings of its units. A playbook of another project
// is an error, because its recordings would have no name of their own here.
func (a *App) recordings(root string, where recordingsFlags, file string) (*engine.Runner, *plan.Plan, error) {
	return a.recordingsBy(engine.Config{Mode: engine.Replay, Getenv: a.Getenv, Environ: a.Environ}, root, where, file)
}

// recordingsBy is the same by a configuration, which lacks what is the same for all.
func (a *App) recordingsBy(
	cfg engine.Config, root string, where recordingsFlags, file string,
) (*engine.Runner, *plan.Plan, error) {
	cfg.Root, cfg.Source, cfg.Cassettes, cfg.Secrets = root, root, where.dir(root), a.secrets
	cfg.Command = func(m engine.Mode, _ plan.Unit) string { return where.run(file).command(m) }
	planned, err := a.loadPlan(cfg, a.path(file))
	if err != nil {
		return nil, nil, usageError("%w", err)
	}
	cfg.LLMJudge, cfg.RecordJudges = false, false // who works on recordings says so when a model is to be asked
	runner, err := engine.New(planned, cfg)
	switch {
	case err != nil:
		return nil, nil, usageError("%w", err)
	case filepath.IsAbs(planned.Playbook.File):
		return nil, nil, usageError("%s is not below the project's root %s", file, root)
	case len(planned.Units) == 0:
		return nil, nil, usageError("%s has no units, so it has no recordings", file)
	}
	return runner, planned, nil
}

// recordedPlaybooks returns the absolute paths of the playbooks that have recordings. gone are the playbooks with
// recordings that do not exist, as paths below the root without extension. It is an error if there are no recordings.
func (a *App) recordedPlaybooks(command string, where recordingsFlags, root string) (files, gone []string, err error) {
	dir := where.dir(root)
	stems, err := cassette.Playbooks(where.tree(root), dir)
	if err != nil {
		return nil, nil, err
	}
	if len(stems) == 0 {
		return nil, nil, usageError("%s: no cassettes below %s", command, a.shown(dir)).
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
