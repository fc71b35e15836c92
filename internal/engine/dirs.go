package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// unitDirs are the directories of one unit.
type unitDirs struct {
	base      string // of what is removed when the unit ends; empty: there is nothing
	workspace string
	home, tmp string // of the agent; empty in a replay
	// steps has stepHome and stepTmp, which are of run steps; empty: there was none yet.
	steps, stepHome, stepTmp string
	pins                     pins
}

// makeUnitDirs makes directories below parent. The workspace of a unit that is kept lies in its place; what an attempt
// before has left there is removed. Such a unit that is replayed needs no others.
func makeUnitDirs(parent string, forAgent bool, place *rundir.Place) (d unitDirs, err error) {
	if forAgent || place == nil {
		if d.base, err = disk.MkdirTemp(parent); err != nil {
			return unitDirs{}, fmt.Errorf("make the unit's directories: %w", err)
		}
	}
	if err := d.fill(forAgent, place); err != nil {
		return unitDirs{}, errors.Join(fmt.Errorf("make the unit's directories: %w", err), d.remove())
	}
	return d, nil
}

// fill makes the directories below the base.
func (d *unitDirs) fill(forAgent bool, place *rundir.Place) (err error) {
	var dirs, own []string
	if place == nil {
		d.workspace = filepath.Join(d.base, "workspace")
		dirs = append(dirs, d.workspace)
	} else {
		d.workspace = place.Workspace
		if forAgent { // agents report paths without links
			if d.workspace, err = filepath.EvalSymlinks(d.workspace); err != nil {
				return err
			}
		}
		if err := clearDir(d.workspace); err != nil {
			return err
		}
		own = append(own, place.Logs, place.Artifacts)
	}
	if forAgent {
		d.home, d.tmp = filepath.Join(d.base, "home"), filepath.Join(d.base, "tmp")
		dirs = append(dirs, d.home, d.tmp)
	}
	for _, dir := range dirs {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	d.pins, err = pin(append(own, d.workspace)...)
	return err
}

// makeStepDirs makes the directories of run steps, unless they are there. They are not below the base, which is the
// agent's to write.
func (d *unitDirs) makeStepDirs(parent string) error {
	if d.steps != "" {
		return nil
	}
	made, err := disk.MkdirTemp(parent)
	if err != nil {
		return fmt.Errorf("make the steps' directories: %w", err)
	}
	d.steps, d.stepHome, d.stepTmp = made, filepath.Join(made, "home"), filepath.Join(made, "tmp")
	for _, dir := range []string{d.stepHome, d.stepTmp} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return fmt.Errorf("make the steps' directories: %w", err)
		}
	}
	return nil
}

// clearDir empties a directory.
func clearDir(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, disk.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// remove deletes the directories that were made for the unit alone.
func (d unitDirs) remove() error {
	var errs []error
	for _, dir := range []string{d.base, d.steps} {
		if dir != "" {
			errs = append(errs, disk.RemoveAll(dir))
		}
	}
	return errors.Join(errs...)
}
