package cli

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

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

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
