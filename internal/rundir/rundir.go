// Package rundir keeps runs on disk, each in a directory of its own below <project>/.llman/sdd-eval/runs. It does not
// execute anything: package engine does.
//
//	manifest.json    what is run, and its state
//	playbook.yaml    an exact copy of the playbook
//	results.jsonl    one line for each unit that has ended, appended and synced
//	jobs.jsonl       the same for jobs outside the matrix
//	variants/<id>/   workspace, logs and artifacts
//
// A directory is complete when it appears there, and stays readable however its process is killed: the units with a
// line in results.jsonl are done, and [Resume] lets the others run.
package rundir

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/project"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// The files of a run. Only appending changes the results.
const (
	manifestFile = "manifest.json"
	playbookFile = "playbook.yaml"
	ResultsFile  = "results.jsonl"
	jobsFile     = "jobs.jsonl"
)

// private is the mode of a run's directories: in them is what agents have left, which another user could run with our
// rights.
const private = 0o700

// maxFile is the largest size of the manifest and of the playbook, in bytes.
const maxFile = 64 << 20

// Run is a run's directory. It is safe for concurrent use.
type Run struct {
	id   string // empty: the directory's name
	dir  string
	tree disk.Tree // the project
	mask *secret.Set
	// lock, results and jobs are nil in a run that was opened for reading.
	lock          *lock
	results, jobs *journal
	// cases and variants have the ids of the manifest. The first call of UnitDirs sets them.
	indexing        sync.Once
	cases, variants map[string]bool

	mu       sync.Mutex
	manifest Manifest
	notes    []string
	outcomes map[result.Outcome]int // of the units that have a line, nil in a run that was opened for reading
}

// Create makes the directory of a new run below the project root and returns the locked run. It sets the manifest's
// version, state and digest, the time if it is zero, and the id if it is empty. If the id is taken, it appends a
// number, -2 and so on. Everything that is written later is masked by mask. A manifest or a playbook with a secret is
// an error.
func Create(root string, m Manifest, playbook []byte, mask *secret.Set) (*Run, error) {
	run, err := create(root, m, playbook, mask)
	if err != nil {
		return nil, fmt.Errorf("create the run directory: %w", err)
	}
	return run, nil
}

func create(root string, m Manifest, playbook []byte, mask *secret.Set) (*Run, error) {
	m.complete(playbook)
	if err := m.checkSecrets(mask); err != nil { // first, since other errors quote ids
		return nil, err
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	if name, found := mask.Contains(playbook); found {
		return nil, fmt.Errorf("the playbook %s contains the value of %s", m.Playbook.Path, name)
	}
	tree, runs, err := locate(root)
	if err == nil {
		err = project.MakeIgnored(tree, runs)
	}
	if err != nil {
		return nil, err
	}
	for wanted, n := m.RunID, 2; ; n++ {
		run, err := claim(tree, runs, m, playbook, mask)
		if !errors.Is(err, errTaken) {
			return run, err
		}
		m.RunID = fmt.Sprintf("%s-%d", wanted, n)
	}
}

// errTaken means that there is a run with this id, or that one is being made.
var errTaken = errors.New("the id is taken")

// claim makes the run's directory under another name and renames it when it is complete. It returns errTaken if the id
// is taken.
func claim(tree disk.Tree, runs string, m Manifest, playbook []byte, mask *secret.Set) (_ *Run, err error) {
	dir := filepath.Join(runs, m.RunID)
	if isTaken(dir) { // checked first without the lock, for speed when hundreds of runs have the same id
		return nil, errTaken
	}
	l, err := tryLock(tree, runs, m.RunID)
	if errors.Is(err, disk.ErrLocked) {
		return nil, errTaken
	}
	if err != nil {
		return nil, err
	}
	run := &Run{dir: dir, tree: tree, mask: mask, lock: l, manifest: m}
	defer func() {
		if err != nil {
			err = errors.Join(err, run.Close())
		}
	}()
	if isTaken(dir) {
		return nil, errTaken
	}
	unfinished := filepath.Join(runs, newPrefix+m.RunID)
	if err := tree.RemoveAll(unfinished); err != nil { // left by a process that was killed, since we have the lock
		return nil, err
	}
	err = build(tree, unfinished, m, playbook, mask)
	if err == nil {
		err = tree.Rename(unfinished, dir)
	}
	if err != nil {
		return nil, errors.Join(err, tree.RemoveAll(unfinished))
	}
	if err := tree.Sync(runs); err != nil {
		return nil, err
	}
	return run, run.openJournals(nil, nil)
}

// isTaken reports whether there is something at dir.
func isTaken(dir string) bool {
	_, err := os.Lstat(dir)
	return err == nil
}

// build fills the directory of a new run.
func build(tree disk.Tree, dir string, m Manifest, playbook []byte, mask *secret.Set) error {
	if err := tree.Mkdir(dir, private); err != nil {
		return err
	}
	for _, v := range m.Variants {
		if err := unitDirsIn(dir, variantDir(v.ID)).make(disk.Tree(dir)); err != nil {
			return err
		}
	}
	manifest, err := m.encode(mask)
	if err != nil {
		return err
	}
	return errors.Join(
		writeFile(dir, manifestFile, manifest),
		writeFile(dir, playbookFile, playbook),
		writeFile(dir, ResultsFile, nil),
		writeFile(dir, jobsFile, nil),
	)
}

// Open opens a run for reading and for writing further files, which are masked by mask. If the run's process was
// killed, its state is [StateInterrupted]. If there is no such run, the error names the newest ones.
func Open(root, id string, mask *secret.Set) (*Run, error) {
	run, err := read(root, id)
	if err != nil {
		return nil, fmt.Errorf("open run: %w", err)
	}
	run.mask = mask
	if run.manifest.State, err = stateOf(run.dir, run.manifest.State); err != nil {
		return nil, fmt.Errorf("open run %s: %w", id, err)
	}
	return run, nil
}

// read reads a run's manifest. Ids come from people, so read accepts only those of directories in runs.
func read(root, id string) (*Run, error) {
	if !runID.MatchString(id) {
		return nil, fmt.Errorf("%q is not the id of a run%s", id, hint(root))
	}
	tree, runs, err := locate(root)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(runs, id)
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, fmt.Errorf("there is no run %s%s", id, hint(root))
	}
	if err != nil {
		return nil, err
	}
	m, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	return &Run{dir: dir, tree: tree, manifest: m}, nil
}

// hint returns the end of an error about an id: the newest runs.
func hint(root string) string {
	runs, err := List(root)
	switch {
	case err != nil:
		return fmt.Sprintf(" (and the runs cannot be listed: %v)", err)
	case len(runs) == 0:
		return ": there are no runs yet"
	}
	ids := make([]string, 0, 3)
	for _, s := range runs[:min(len(runs), cap(ids))] {
		ids = append(ids, s.ID)
	}
	return ": the newest are " + strings.Join(ids, ", ")
}

// Resume opens and locks a run to continue it. It cuts off torn last lines, with a note, and removes the files of units
// that have no result. If another process has locked the run, it returns an error.
func Resume(root, id string, mask *secret.Set) (*Run, error) {
	run, err := resume(root, id, mask)
	if err != nil {
		return nil, fmt.Errorf("resume run: %w", err)
	}
	return run, nil
}

func resume(root, id string, mask *secret.Set) (_ *Run, err error) {
	run, err := read(root, id)
	if err != nil {
		return nil, err
	}
	run.mask = mask
	if run.lock, err = acquire(run.tree, filepath.Dir(run.dir), id); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, run.Close())
		}
	}()
	// The run may have changed, or may be gone, since it was read without the lock.
	if run.manifest, err = readManifest(run.dir); err != nil {
		return nil, err
	}
	if err := run.manifest.checkSecrets(mask); err != nil {
		return nil, err
	}
	if err := run.checkPlaybook(); err != nil {
		return nil, err
	}
	units, err := run.Units()
	if err != nil {
		return nil, err
	}
	jobs, err := run.Jobs()
	if err != nil {
		return nil, err
	}
	if err := run.openJournals(units, jobs); err != nil {
		return nil, err
	}
	if err := run.clearUnitDirs(); err != nil {
		return nil, err
	}
	return run, run.setState(StateRunning, nil, nil)
}

// checkPlaybook returns an error if the copy of the playbook has changed.
func (r *Run) checkPlaybook() error {
	data, err := r.ReadFile(playbookFile, maxFile)
	if err != nil {
		return err
	}
	if digest(data) != r.manifest.Playbook.Digest {
		return fmt.Errorf("%s has changed since the run began", filepath.Join(r.dir, playbookFile))
	}
	return nil
}

func (r *Run) openJournals(units []result.Unit, jobs []result.Job) (err error) {
	if r.results, err = openJournal(filepath.Join(r.dir, ResultsFile), r.manifest.Units); err != nil {
		return err
	}
	if r.jobs, err = openJournal(filepath.Join(r.dir, jobsFile), r.manifest.Jobs); err != nil {
		return err
	}
	for _, u := range units {
		r.results.done[u.ID] = true
	}
	r.outcomes = count(units)
	for _, j := range jobs {
		r.jobs.done[j.ID] = true
	}
	return nil
}

// ID returns the run's id.
func (r *Run) ID() string { return cmp.Or(r.id, filepath.Base(r.dir)) }

// Dir returns the run's directory, absolute and without symlinks.
func (r *Run) Dir() string { return r.dir }

// Manifest returns the manifest, whose slices must not be changed.
func (r *Run) Manifest() Manifest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.manifest
}

// Notes returns what a person should know about the files that were read, such as that a torn last line was dropped.
func (r *Run) Notes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.notes)
}

func (r *Run) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

// Finish writes to the manifest how the run has ended, [StateFinished] or [StateInterrupted], with its [Totals], and
// adds new problems to [Manifest.Problems].
func (r *Run) Finish(state State, problems ...string) error {
	r.mustBeLocked("Finish")
	var at *time.Time
	switch state {
	case StateFinished:
		now := time.Now().UTC()
		at = &now
	case StateInterrupted:
	default:
		panic(fmt.Sprintf("rundir: Finish: a run cannot end in the state %q", state))
	}
	totals, err := r.totals()
	if err == nil {
		err = r.setState(state, at, totals, problems...)
	}
	if err != nil {
		return fmt.Errorf("finish run %s: %w", r.ID(), err)
	}
	return nil
}

// Accept writes to the manifest that inputs have changed, and what they are now.
func (r *Run) Accept(changes []string, inputs map[string]string) error {
	r.mustBeLocked("Accept")
	return r.change(func(m *Manifest) {
		m.Accepted, m.Inputs = append(slices.Clip(m.Accepted), changes...), inputs
	})
}

// Spend writes to the manifest what was spent of the budget, and why that kept units from being run, if it did.
func (r *Run) Spend(b Budget, stopped string) error {
	r.mustBeLocked("Spend")
	return r.change(func(m *Manifest) { m.Budget, m.Stopped = &b, r.mask.String(stopped) })
}

// Stop writes to the manifest why units were not run.
func (r *Run) Stop(why string) error {
	r.mustBeLocked("Stop")
	return r.change(func(m *Manifest) { m.Stopped = r.mask.String(why) })
}

func (r *Run) setState(state State, finished *time.Time, totals *Totals, problems ...string) error {
	return r.change(func(m *Manifest) {
		m.State, m.FinishedAt, m.Totals = state, finished, totals
		if state == StateRunning {
			m.Stopped = ""
		}
		m.Problems = slices.Clip(m.Problems) // a caller may have the old manifest
		for _, p := range problems {
			if p = r.mask.String(p); !slices.Contains(m.Problems, p) {
				m.Problems = append(m.Problems, p)
			}
		}
	})
}

// change writes a changed manifest.
func (r *Run) change(change func(m *Manifest)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.manifest
	change(&m)
	data, err := m.encode(r.mask)
	if err != nil {
		return err
	}
	if err := writeFile(r.dir, manifestFile, data); err != nil {
		return err
	}
	r.manifest = m
	return nil
}

// Close ends appending and releases the lock. It may be called again.
func (r *Run) Close() error {
	return errors.Join(r.results.close(), r.jobs.close(), r.lock.release())
}

// mustBeLocked panics in a run that was opened for reading.
func (r *Run) mustBeLocked(method string) {
	if r.lock == nil {
		panic("rundir: " + method + " needs a run from Create or Resume: this one was opened for reading")
	}
}

func digest(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }
