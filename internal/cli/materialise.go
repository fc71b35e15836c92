package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// maxKept is how large a file about a workspace may be, in bytes.
const maxKept = 1 << 30

// materialise writes the workspace that a unit of a run left into a directory that is empty or does not exist.
func (a *App) materialise(ctx context.Context, rootFlag, run, unit, dir string) error {
	root, err := a.projectRoot(rootFlag)
	if err != nil {
		return err
	}
	r, err := a.openRun(rootFlag, run)
	if err != nil {
		return err
	}
	defer r.Close()
	units, err := r.Units()
	if err != nil {
		return err
	}
	var found []rundir.UnitDirs
	for _, u := range units {
		if unit == "" || u.ID == unit || strings.HasSuffix(u.ID, "/"+unit) {
			found = append(found, r.UnitDirs(u.Case, u.Variant, u.Trial))
		}
	}
	if len(found) != 1 {
		return fault.Advise(fmt.Errorf("%d units of the run %s that have ended are called %q: want one",
			len(found), r.ID(), excerpt.Name(unit, maxShownUnit)), "sdd-eval show "+r.ID())
	}
	dir = a.path(dir)
	if err := rebuild(ctx, r, root, found[0], dir); err != nil {
		return fmt.Errorf("materialise: %w", err)
	}
	fmt.Fprintln(a.Stdout, a.shown(dir))
	return nil
}

// maxShownUnit is how much of what a person calls a unit is shown, in characters.
const maxShownUnit = 200

// rebuild writes a unit's workspace, which the run keeps as it is, or as how it differs from its template.
func rebuild(ctx context.Context, r *rundir.Run, root string, dirs rundir.UnitDirs, dst string) error {
	left := r.Left(dirs)
	if left != dirs.File(rundir.Workspace) {
		return workspace.CopyKept(ctx, dirs.Workspace, dst)
	}
	kept, err := r.ReadFile(left, maxKept)
	if err != nil {
		return err
	}
	digest, err := workspace.KeptTemplate(kept)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dirs.Artifacts, rundir.Workspace), err)
	}
	list, err := r.ReadFile(rundir.TemplateList(digest), maxKept)
	if err != nil {
		return err
	}
	if err := workspace.Rebuild(ctx, root, list, kept, dst); err != nil {
		return fault.Advise(err, "check out what the run was made of, and give its --root")
	}
	return nil
}
