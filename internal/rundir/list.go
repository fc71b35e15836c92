package rundir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/disk"
)

// runsDir is where a project's runs are.
var runsDir = filepath.Join(".llman", "sdd-eval", "runs")

// Directories in runsDir that are no runs: not yet, and no longer. Their processes were killed if their locks are free.
const (
	newPrefix = ".new-"
	oldPrefix = ".old-"
)

// Summary is one run in a list.
type Summary struct {
	ID        string
	Dir       string
	CreatedAt time.Time
	// Name is the playbook's name.
	Name string
	Mode string
	// State is [StateInterrupted] also for a run whose process was killed.
	State State
	// Ended is how many of the Units have a result.
	Ended, Units int
	// Problems is how many [Manifest.Problems] there are.
	Problems int
	// Err tells why the run cannot be read. Then the id, the directory and the time are known, and nothing else.
	Err error
}

// List returns the runs of the project, the newest first. A run that cannot be read is in it, with its error.
func List(root string) ([]Summary, error) {
	runs := filepath.Join(root, runsDir)
	ids, err := idsIn(runs)
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	list := make([]Summary, len(ids))
	for i, id := range ids {
		list[i] = summarise(filepath.Join(runs, id))
	}
	slices.SortFunc(list, func(a, b Summary) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.ID, a.ID))
	})
	return list, nil
}

func idsIn(runs string) ([]string, error) {
	entries, err := os.ReadDir(runs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() && runID.MatchString(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	return ids, nil
}

func summarise(dir string) Summary {
	id := filepath.Base(dir)
	s := Summary{ID: id, Dir: dir}
	m, err := readManifest(dir)
	if err == nil {
		s.State, err = stateOf(dir, m.State)
	}
	if err == nil {
		s.Ended, err = countLines(filepath.Join(dir, resultsFile))
	}
	if err != nil {
		// The id says when, unless a person made it up.
		s.CreatedAt, _ = time.Parse("20060102-150405", id[:len("20060102-150405")])
		s.State, s.Err = "", err
		return s
	}
	s.CreatedAt, s.Name, s.Mode, s.Units, s.Problems = m.CreatedAt, m.Name, m.Mode, len(m.Units), len(m.Problems)
	return s
}

func countLines(path string) (n int, err error) {
	file, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return 0, err
	}
	_, _, err = readLines(file, func(number int, _ []byte) error { n = number; return nil })
	return n, errors.Join(err, file.Close())
}

// stateOf returns the state of a run whose manifest says this: one that is running without a lock was killed.
func stateOf(dir string, written State) (State, error) {
	if written != StateRunning {
		return written, nil
	}
	locked, err := isLocked(filepath.Dir(dir), filepath.Base(dir))
	if err == nil && !locked {
		return StateInterrupted, nil
	}
	return written, err
}

// Clean removes the runs of the project but the newest ones, as many as keep, and what killed processes left. A run that
// a process holds stays. It goes on after an error, and returns the ids of what it removed.
func Clean(root string, keep int) (removed []string, err error) {
	if keep < 0 {
		return nil, fmt.Errorf("clean runs: %d runs cannot be kept", keep)
	}
	list, err := List(root)
	if err != nil {
		return nil, fmt.Errorf("clean runs: %w", err)
	}
	runs := filepath.Join(root, runsDir)
	var errs []error
	for _, s := range list[min(keep, len(list)):] {
		ok, err := removeRun(runs, s.ID)
		errs = append(errs, err)
		if ok {
			removed = append(removed, s.ID)
		}
	}
	errs = append(errs, sweep(runs))
	if err := errors.Join(errs...); err != nil {
		return removed, fmt.Errorf("clean runs: %w", err)
	}
	return removed, nil
}

// removeRun removes a run unless a process holds it. It is renamed first, so that no half of it is taken for a run.
func removeRun(runs, id string) (removed bool, err error) {
	l, err := tryLock(runs, id)
	if errors.Is(err, disk.ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, l.release()) }()
	old := filepath.Join(runs, oldPrefix+id)
	if err := disk.RemoveAll(old); err != nil {
		return false, err
	}
	err = os.Rename(filepath.Join(runs, id), old)
	if errors.Is(err, fs.ErrNotExist) { // another Clean was faster
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, disk.RemoveAll(old)
}

// sweep removes what killed processes left beside the runs: directories of runs that never began or were being removed,
// and locks.
func sweep(runs string) error {
	ids := make(map[string]bool)
	for _, dir := range []string{runs, filepath.Join(runs, locksDir)} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			id, isNew := strings.CutPrefix(e.Name(), newPrefix)
			id, isOld := strings.CutPrefix(id, oldPrefix)
			if (isNew || isOld || dir != runs) && runID.MatchString(id) {
				ids[id] = true
			}
		}
	}
	var errs []error
	for id := range ids {
		l, err := tryLock(runs, id)
		switch {
		case errors.Is(err, disk.ErrLocked):
		case err != nil:
			errs = append(errs, err)
		default:
			errs = append(errs, disk.RemoveAll(filepath.Join(runs, newPrefix+id)), disk.RemoveAll(filepath.Join(runs, oldPrefix+id)),
				l.release())
		}
	}
	return errors.Join(errs...)
}
