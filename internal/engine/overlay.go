package engine

import (
	"context"
	"fmt"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/style"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// A replay in which nothing runs needs no directory: what is in its workspace is known from the template and the
// cassette. Whatever cannot be told from these is found in a directory that is made then.

// needsDir reports whether a replayed unit works in a directory: something starts there or takes its path, it is kept
// where its variant is, or its steps prepare it in another order than what, style, agent.
func (a *attempt) needsDir() bool {
	if a.cfg.Trees || a.site.runDirs != nil && !a.site.runDirs.OfCase || a.pb.Workspace.Repository ||
		does(a.unit.Steps, startsChild) || evaluatorNeeds(a.unit)&evaluator.NeedsDir != 0 {
		return true
	}
	begun, asked := false, false
	for _, s := range a.unit.Steps {
		do := action.Of(s.Uses)
		if do.Template && begun || do.Setup && asked {
			return true
		}
		begun, asked = begun || do.Setup, asked || do.Asks()
	}
	return false
}

// lay takes what the agent begins with.
func (s *site) lay(o *workspace.Overlay) {
	s.overlay, s.before, s.manifest = o, o.Clone(), o.Manifest()
}

// layStyle writes a workflow style, and reports whether it could.
func (s *site) layStyle(written *style.Style) (done bool) {
	changes, err := written.Changes(s.overlay)
	var d workspace.Delta
	for _, c := range changes {
		change := workspace.Change{Path: c.Path, Op: workspace.Added, Kind: workspace.File, Data: c.Data, Exec: c.Exec}
		if _, err := s.overlay.Lstat(c.Path); err == nil {
			change.Op = workspace.Modified
		}
		d.Changes = append(d.Changes, change)
	}
	with := s.overlay.Clone()
	if err != nil || with.Apply(d) != nil {
		return false
	}
	if shown, err := with.Shown(); !shown || err != nil { // the style is followed by a snapshot
		return false
	}
	s.lay(with)
	paths := make([]string, len(d.Changes))
	for i, c := range d.Changes {
		paths[i] = c.Path
	}
	s.own = s.own.Plus(s.manifest, paths)
	return true
}

// apply makes what a turn of the cassette changed.
func (s *site) apply(ctx context.Context, d workspace.Delta) error {
	if s.overlay != nil {
		if s.overlay.Apply(d) == nil {
			return nil
		}
		if err := s.materialise(ctx); err != nil { // its error is one of the directory
			return err
		}
	}
	return d.Apply(s.dirs.workspace)
}

// materialise makes the directory of a workspace that has none.
func (s *site) materialise(ctx context.Context) error {
	if s.overlay == nil {
		return nil
	}
	if err := s.open(ctx, false); err != nil {
		return err
	}
	if err := s.overlay.Write(ctx, s.dirs.workspace); err != nil {
		return fmt.Errorf("write the workspace: %w", err)
	}
	s.baseline, s.overlay = s.before.Baseline(), nil
	return nil
}

// keepWorkspace keeps how a workspace that is nowhere differs from its template, and lists that once for the run.
func (a *attempt) keepWorkspace() error {
	if a.site.overlay == nil {
		return nil
	}
	if err := a.keepTemplate(a.site.overlay.TemplateDigest()); err != nil {
		return err
	}
	kept, err := a.site.overlay.Keep()
	if err != nil {
		return fmt.Errorf("keep the workspace: %w", err)
	}
	return a.keepFile(rundir.Workspace, kept)
}

// keepTemplate lists the template with that digest in the run's directory.
func (r *Runner) keepTemplate(digest string) error {
	r.template.mu.Lock()
	defer r.template.mu.Unlock()
	if r.template.listed[digest] {
		return nil
	}
	t := new(workspace.Template) // of a workspace that was not prepared
	if r.template.t != nil && digest != workspace.EmptyOverlay().TemplateDigest() {
		t = r.template.t
	}
	list, err := t.List(r.fromRoot(r.source))
	if err == nil {
		err = r.kept.WriteFile(rundir.TemplateList(digest), list)
	}
	if err != nil {
		return fmt.Errorf("list the template of workspaces: %w", err)
	}
	if r.template.listed == nil {
		r.template.listed = make(map[string]bool)
	}
	r.template.listed[digest] = true
	return nil
}

// files are those of the workspace as the agent left it.
func (s *site) files() workspace.Files {
	if s.overlay != nil {
		return s.overlay
	}
	return workspace.OnDisk(s.dirs.asLeft())
}
