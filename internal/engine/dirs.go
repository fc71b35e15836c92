package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// unitDirs are the directories of one unit, below one that is removed when it ends.
type unitDirs struct {
	base, workspace string
	home, tmp       string // of the agent; empty in a replay
}

func makeUnitDirs(parent string, forAgent bool) (unitDirs, error) {
	base, err := os.MkdirTemp(parent, "sdd-eval-")
	if err != nil {
		return unitDirs{}, fmt.Errorf("make the unit's directories: %w", err)
	}
	// What agents report are resolved paths.
	if base, err = filepath.EvalSymlinks(base); err == nil {
		base, err = filepath.Abs(base)
	}
	if err != nil {
		return unitDirs{}, fmt.Errorf("make the unit's directories: %w", err)
	}
	d := unitDirs{base: base, workspace: filepath.Join(base, "workspace")}
	dirs := []string{d.workspace}
	if forAgent {
		d.home, d.tmp = filepath.Join(base, "home"), filepath.Join(base, "tmp")
		dirs = append(dirs, d.home, d.tmp)
	}
	for _, dir := range dirs {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return unitDirs{}, errors.Join(fmt.Errorf("make the unit's directories: %w", err), d.remove())
		}
	}
	return d, nil
}

// remove deletes the directories, also what go's module cache and the like made read-only.
func (d unitDirs) remove() error {
	err := os.RemoveAll(d.base)
	if err == nil {
		return nil
	}
	filepath.WalkDir(d.base, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(d.base)
}
