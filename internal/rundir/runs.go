package rundir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/fault"
)

// runsDir is the directory of a project's runs.
var runsDir = filepath.Join(".llman", "sdd-eval", "runs")

// Below returns the directory of the runs of the project at root.
func Below(root string) string { return filepath.Join(root, runsDir) }

// locate returns the tree of a project, and the directory of its runs there, absolute and without links: agents report
// such paths. Neither needs to exist.
func locate(root string) (tree disk.Tree, runs string, err error) {
	if root, err = filepath.Abs(root); err != nil {
		return "", "", err
	}
	if resolved, err := filepath.EvalSymlinks(root); err == nil {
		root = resolved
	}
	tree = disk.Tree(root)
	runs, err = tree.Follow(Below(root))
	return tree, runs, err
}

// Prefixes of directories in runsDir that are not yet, or no longer, runs. If their locks are free, the processes that
// made them were killed.
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
	// Playbook is its path, as in [Playbook].
	Playbook string
	// State is also [StateInterrupted] if the run's process was killed.
	State State
	// Units is the number of units, Of that of the playbook's if the run has not all of them, else 0; Problems is the
	// number of [Manifest.Problems].
	Units, Of, Problems int
	// Err says why the run cannot be read. Then only the id, the directory and the time are known.
	Err error

	totals *Totals
}

// List returns the runs of the project, the newest first. It includes runs that cannot be read, with their errors.
func List(root string) ([]Summary, error) {
	_, runs, err := locate(root)
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	ids, err := idsIn(runs)
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	list := make([]Summary, len(ids))
	var readers errgroup.Group
	readers.SetLimit(runtime.GOMAXPROCS(0))
	for i, id := range ids {
		readers.Go(func() error {
			list[i] = summarise(filepath.Join(runs, id))
			return nil
		})
	}
	if err := readers.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b Summary) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.ID, a.ID))
	})
	return list, nil
}

// Latest is what people call the newest run.
const Latest = "latest"

// Find returns the id of the run that a person means: id is a whole id, the beginning of only one, [Latest], or
// "latest~1", the one before that, and so on. If there is none, the error has advice.
func Find(root, id string) (string, error) {
	runs, err := List(root)
	if err != nil {
		return "", err
	}
	var found []string
	back := 0
	if after, ok := strings.CutPrefix(id, Latest+"~"); ok {
		if back, err = strconv.Atoi(after); err != nil || back < 0 || back >= len(runs) {
			return "", fault.Advise(fmt.Errorf("%s: there are %d runs", id, len(runs)), "sdd-eval list")
		}
		id = Latest
	}
	for i, r := range runs {
		switch {
		case r.ID == id, id == Latest && i == back:
			return r.ID, nil
		case strings.HasPrefix(r.ID, id):
			found = append(found, r.ID)
		}
	}
	switch {
	case len(runs) == 0:
		err = fault.Advise(fmt.Errorf("no runs below %s yet", root), "sdd-eval run --help")
	case len(found) == 0:
		err = fault.Advise(fmt.Errorf("no run %q; the newest is %s", id, runs[0].ID), "sdd-eval list")
	case len(found) > 1:
		err = fault.Advise(fmt.Errorf("%q is ambiguous: %d runs begin with it, such as %s and %s", id, len(found),
			found[0], found[1]), "sdd-eval list")
	default:
		return found[0], nil
	}
	return "", err
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
	if err != nil {
		// The id has the time, unless a person made it up.
		s.CreatedAt, _ = time.Parse("20060102-150405", id[:len("20060102-150405")])
		s.State, s.Err = "", err
		return s
	}
	s.CreatedAt, s.Name, s.Mode, s.Playbook = m.CreatedAt, m.Name, m.Mode, m.Playbook.Path
	s.Units, s.Problems, s.totals = len(m.Units), len(m.Problems), m.Totals
	if shown := m.Shown().Selection; shown != nil {
		s.Of = shown.Of
	}
	return s
}

// stateOf returns the state of a run from the state in its manifest: a run that is running without a lock was killed.
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

// Clean removes the runs of the project except the newest ones, as many as keep says, and what killed processes have
// left. It does not remove locked runs. It continues after an error, and returns the ids of the removed runs.
func Clean(root string, keep int) (removed []string, err error) {
	if keep < 0 {
		return nil, fmt.Errorf("clean runs: cannot keep %d runs", keep)
	}
	list, err := List(root)
	if err != nil {
		return nil, fmt.Errorf("clean runs: %w", err)
	}
	tree, runs, err := locate(root)
	if err != nil {
		return nil, fmt.Errorf("clean runs: %w", err)
	}
	var errs []error
	for _, s := range list[min(keep, len(list)):] {
		ok, err := removeRun(tree, runs, s.ID)
		errs = append(errs, err)
		if ok {
			removed = append(removed, s.ID)
		}
	}
	errs = append(errs, sweep(tree, runs))
	if err := errors.Join(errs...); err != nil {
		return removed, fmt.Errorf("clean runs: %w", err)
	}
	return removed, nil
}

// removeRun removes a run unless it is locked. It renames the run first, so that a part of it is never taken for a run.
func removeRun(tree disk.Tree, runs, id string) (removed bool, err error) {
	l, err := tryLock(tree, runs, id)
	if errors.Is(err, disk.ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, l.release()) }()
	old := filepath.Join(runs, oldPrefix+id)
	if err := tree.RemoveAll(old); err != nil {
		return false, err
	}
	err = tree.Rename(filepath.Join(runs, id), old)
	if errors.Is(err, fs.ErrNotExist) { // another Clean was faster
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, tree.RemoveAll(old)
}

// sweep removes what killed processes have left beside the runs: directories of runs that never began or were being
// removed, and locks.
func sweep(tree disk.Tree, runs string) error {
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
		l, err := tryLock(tree, runs, id)
		switch {
		case errors.Is(err, disk.ErrLocked):
		case err != nil:
			errs = append(errs, err)
		default:
			errs = append(errs, tree.RemoveAll(filepath.Join(runs, newPrefix+id)),
				tree.RemoveAll(filepath.Join(runs, oldPrefix+id)), l.release())
		}
	}
	return errors.Join(errs...)
}

// locksDir has the locks of the runs beside it. They are not in the runs, because Windows cannot rename a directory
// while a file in it is open.
const locksDir = ".locks"

// lock is held on a run until release, or until the process dies.
type lock struct {
	tree disk.Tree
	file *os.File
	once sync.Once
}

// patience is how long acquire waits for a lock: listing the runs holds each lock for a moment.
const patience = 500 * time.Millisecond

// acquire locks the run with the id, which need not exist. If the run is locked, by another process or this one, the
// error is disk.ErrLocked.
func acquire(tree disk.Tree, runs, id string) (*lock, error) {
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		l, err := tryLock(tree, runs, id)
		if !errors.Is(err, disk.ErrLocked) || time.Now().After(end) {
			return l, err
		}
	}
}

// tryLock is acquire without waiting.
func tryLock(tree disk.Tree, runs, id string) (*lock, error) {
	path := filepath.Join(runs, locksDir, id)
	if err := tree.MkdirAll(filepath.Dir(path)); err != nil {
		return nil, err
	}
	file, err := tree.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := disk.Lock(file); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", id, err), file.Close())
	}
	// The last holder of the lock may have removed the file, and then locking it means nothing.
	if !isAt(file, path) {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", id, disk.ErrLocked), file.Close())
	}
	return &lock{tree: tree, file: file}, nil
}

// release releases the lock. It may be called again. A nil lock need not be released.
func (l *lock) release() (err error) {
	if l == nil {
		return nil
	}
	l.once.Do(func() {
		if runtime.GOOS != "windows" { // which cannot remove open files
			err = l.tree.Remove(l.file.Name())
		}
		err = errors.Join(err, disk.Unlock(l.file), l.file.Close())
	})
	return err
}

// isLocked reports whether the run with the id is locked.
func isLocked(runs, id string) (bool, error) {
	file, err := openRegular(filepath.Join(runs, locksDir, id), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = disk.Lock(file)
	if err == nil {
		err = disk.Unlock(file)
	}
	locked := errors.Is(err, disk.ErrLocked)
	if locked {
		err = nil
	}
	return locked, errors.Join(err, file.Close())
}

// isAt reports whether the open file is the one at path.
func isAt(file *os.File, path string) bool {
	ours, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(ours, there)
}
