package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sdd-eval/sdd-eval/internal/style"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// writeStyle writes the variant's workflow style into the workspace. The agent begins with it, so it is part of the
// baseline.
func (a *attempt) writeStyle(ctx context.Context) error {
	s, err := a.loadStyle(a.unit.Variant.Style)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(a.dirs.workspace)
	if err != nil {
		return err
	}
	defer root.Close()
	paths, err := s.Write(root)
	if err != nil {
		return fmt.Errorf("style %s: %w", s.Name(), err)
	}
	files := make(map[string][]byte, len(paths))
	for _, p := range paths {
		if files[p], err = root.ReadFile(filepath.FromSlash(p)); err != nil {
			return fmt.Errorf("style %s: %w", s.Name(), err)
		}
	}
	if a.manifest, err = workspace.Snapshot(ctx, a.dirs.workspace); err != nil {
		return err
	}
	a.baseline = a.baseline.With(a.manifest, files)
	if a.live {
		return workspace.Stamp(a.dirs.workspace, a.manifest, a.stamp())
	}
	return nil
}

// loadStyle returns one of our own styles, or one of the playbook's.
func (r *Runner) loadStyle(name string) (*style.Style, error) {
	if name == "" {
		return nil, errors.New("the variant has no style")
	}
	for _, s := range r.pb.Styles {
		if s.Name == name {
			loaded, err := style.Load(name, r.besidePlaybook(s.Dir))
			if err != nil {
				return nil, fmt.Errorf("%s: style %s: %w", s.Position, name, err)
			}
			return loaded, nil
		}
	}
	return style.Load(name, "")
}
