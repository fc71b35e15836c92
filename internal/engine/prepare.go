package engine

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// prepare makes the workspace that the agent starts with. Where nobody looks at the files, it is enough to know what they
// would be.
func (a *attempt) prepare(ctx context.Context) error {
	t, err := a.loadTemplate(ctx)
	if err != nil {
		return err
	}
	if a.dirs.workspace == "" {
		m, known, err := t.Manifest(a.unit.Case.Files)
		if err != nil {
			return err
		}
		if known {
			a.manifest, a.prepared = m, true
			return nil
		}
		if a.dirs, err = makeUnitDirs(a.cfg.TempDir, a.live, a.place); err != nil {
			return err
		}
	}
	var notes []workspace.Note
	a.manifest, notes, err = t.Prepare(ctx, a.dirs.workspace, a.unit.Case.Files)
	if err != nil {
		return err
	}
	for _, n := range notes {
		a.log.Notef("workspace: %s is left out: %s", n.Path, n.Reason)
	}
	a.prepared = true
	a.baseline = t.Baseline(a.manifest, a.unit.Case.Files)
	if a.live {
		if err := workspace.Stamp(a.dirs.workspace, a.manifest, a.stamp()); err != nil {
			return err
		}
	}
	if a.pb.Workspace.Git {
		return a.makeRepository(ctx)
	}
	return nil
}

// stamp is the time that the files of a workspace get.
func (a *attempt) stamp() time.Time { return a.now().Truncate(time.Second) }

// loadTemplate reads the files that workspaces are made of, once for all units.
func (r *Runner) loadTemplate(ctx context.Context) (*workspace.Template, error) {
	r.template.mu.Lock()
	defer r.template.mu.Unlock()
	if r.template.t == nil {
		if r.source != "" {
			if info, err := os.Stat(r.source); err != nil {
				return nil, fmt.Errorf("workspace.from: %w", err)
			} else if !info.IsDir() {
				return nil, fmt.Errorf("workspace.from: %s is not a directory", r.source)
			}
		}
		own, err := r.ownFiles(ctx)
		if err != nil {
			return nil, err
		}
		t, err := workspace.Load(ctx, workspace.Source{
			Dir: r.source, Include: r.pb.Workspace.Include, Exclude: slices.Concat(r.pb.Workspace.Exclude, own),
		})
		if err != nil {
			return nil, err
		}
		r.template.t = t
	}
	return r.template.t, nil
}

// Notes are those of the plan, and about patterns of the playbook's workspace that match nothing.
func (r *Runner) Notes(ctx context.Context) []string {
	notes, w := r.plan.Notes(), r.pb.Workspace
	prepares := func(u playbook.Unit) bool {
		return does(u.Steps, func(a action.Action) bool { return a.Template })
	}
	if len(w.Include)+len(w.Exclude) == 0 || !slices.ContainsFunc(r.plan.Units, prepares) {
		return notes
	}
	t, err := r.loadTemplate(ctx)
	if err != nil {
		return notes // each unit ends with the error
	}
	for _, pattern := range w.Include {
		if !t.Includes(pattern) {
			notes = append(notes, fmt.Sprintf("%s: note: workspace.include: %q matches nothing that is copied", w.Position, pattern))
		}
	}
	for _, pattern := range w.Exclude {
		if !t.Excludes(pattern) {
			notes = append(notes, fmt.Sprintf("%s: note: workspace.exclude: %q leaves out nothing", w.Position, pattern))
		}
	}
	return notes
}
