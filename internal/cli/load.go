package cli

import (
	"path/filepath"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

// loadPlan reads the user's playbook, whose path is absolute. Its own errors cite it as the user wrote it, results as it
// lies below the root.
func (a *App) loadPlan(root, file string) (*spec.Plan, error) {
	shown, err := filepath.Rel(a.Dir, file)
	if err != nil || !filepath.IsLocal(shown) {
		shown = file
	}
	source := spec.Source{Path: file, Name: filepath.ToSlash(shown), Root: root}
	pb, err := spec.Read(source, kinds.All())
	if err != nil {
		return nil, err
	}
	source.Name, source.Data = nameBelow(root, file), pb.Text
	return planOf(source)
}

// loadResumed reads the copy of a playbook in the directory of the run that is to be finished.
func loadResumed(root string, run *rundir.Run) (*spec.Plan, error) {
	data, err := run.ReadFile("playbook.yaml", doc.MaxSize)
	if err != nil {
		return nil, err
	}
	name := run.Manifest().Playbook.Path
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(root, path)
	}
	return planOf(spec.Source{Path: path, Name: name, Root: root, Data: data})
}

func planOf(source spec.Source) (*spec.Plan, error) {
	pb, err := spec.Read(source, kinds.All())
	if err != nil {
		return nil, err
	}
	return pb.Plan()
}

// nameBelow returns the path of a file below root, with slashes, or else its absolute path.
func nameBelow(root, file string) string {
	// Both without links, so that a project that is reached through one is still one.
	if real, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil {
		file = filepath.Join(real, filepath.Base(file))
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	if rel, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return file
}
