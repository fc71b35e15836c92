package rundir

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// WriteFile masks data and writes it to a file of the run, whole or not at all, and synced. Name is the file's path
// below the run's directory, with slashes. Missing directories are made. Links that lead out of the run are not
// followed.
func (r *Run) WriteFile(name string, data []byte) error {
	switch path.Ext(name) {
	case ".json", ".jsonl":
		data = r.mask.JSON(data)
	default:
		data = r.mask.Bytes(data)
	}
	if err := writeFile(r.dir, name, data); err != nil {
		return fmt.Errorf("run %s: %w", r.ID(), err)
	}
	return nil
}

// RemoveEach removes what a directory of the run has whose name begins with prefix, if there is such a directory.
func (r *Run) RemoveEach(dir, prefix string) error {
	path := filepath.Join(r.dir, filepath.FromSlash(dir))
	err := disk.Tree(r.dir).Check(path)
	var entries []os.DirEntry
	if err == nil {
		entries, err = os.ReadDir(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && err == nil {
			err = disk.Tree(r.dir).RemoveAll(filepath.Join(path, e.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("run %s: remove %s%s*: %w", r.ID(), dir, prefix, err)
	}
	return nil
}

// ReadFile reads a regular file of the run. If it has more than limit bytes, the error wraps a [*disk.SizeError]; if it
// does not exist, the error wraps [fs.ErrNotExist].
func (r *Run) ReadFile(name string, limit int64) ([]byte, error) {
	data, err := readFile(r.dir, name, limit)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", r.ID(), err)
	}
	return data, nil
}

// OpenFile opens a file as [Run.ReadFile] does, without a limit.
func (r *Run) OpenFile(name string) (*os.File, error) {
	file, err := openFile(r.dir, name)
	if err != nil {
		return nil, fmt.Errorf("run %s: read %s: %w", r.ID(), name, err)
	}
	return file, nil
}

// ReadTrajectory reads what the agent of a unit did, as [Run.ReadFile] reads a file.
func (r *Run) ReadTrajectory(dirs UnitDirs, limit int64) (*trajectory.Run, error) {
	name := dirs.File(Trajectory)
	data, err := r.ReadFile(name, limit)
	if err != nil {
		return nil, err
	}
	did := new(trajectory.Run)
	if err := jsonvalue.Decode(data, did); err != nil {
		return nil, fmt.Errorf("run %s: read %s: %w", r.ID(), name, err)
	}
	return did, nil
}

// EachEvent reads a trajectory and calls f with the JSON of each event, of which one is in memory at a time. It returns
// the trajectory's other members.
func EachEvent(file io.Reader, f func(event json.RawMessage) error) (rest map[string]json.RawMessage, err error) {
	rest = make(map[string]json.RawMessage)
	in := json.NewDecoder(file)
	delimiter := func(want json.Delim) {
		got, e := in.Token()
		if err = cmp.Or(err, e); err == nil && got != want {
			err = fmt.Errorf("%v in the place of %v", got, want)
		}
	}
	value := func() (v json.RawMessage) {
		if err == nil {
			err = in.Decode(&v)
		}
		return v
	}
	delimiter('{')
	for err == nil && in.More() {
		key, e := in.Token()
		if err = e; key != "events" {
			rest[fmt.Sprint(key)] = value()
			continue
		}
		for delimiter('['); err == nil && in.More(); {
			if event := value(); err == nil {
				err = f(event)
			}
		}
		delimiter(']')
	}
	delimiter('}')
	if _, e := in.Token(); err == nil && !errors.Is(e, io.EOF) {
		err = cmp.Or(e, errors.New("something follows it"))
	}
	return rest, err
}

// Size returns the size of a regular file of the run, in bytes, without opening it. If the file does not exist, the
// error wraps [fs.ErrNotExist].
func (r *Run) Size(name string) (int64, error) {
	path := filepath.Join(r.dir, filepath.FromSlash(name))
	info, err := os.Lstat(path)
	if err == nil {
		err = disk.CheckRegular(path, info)
	}
	if err = cmp.Or(checkName(name), err); err != nil {
		return 0, fmt.Errorf("run %s: %w", r.ID(), err)
	}
	return info.Size(), nil
}

// ReadJSON reads a file as [Run.ReadFile] does and decodes its JSON into v, as strictly as the lines of results: this
// program wrote it.
func (r *Run) ReadJSON(name string, limit int64, v any) error {
	data, err := r.ReadFile(name, limit)
	if err != nil {
		return err
	}
	if err := jsonvalue.DecodeStrict(data, v, jsonvalue.AllKeys); err != nil {
		return fmt.Errorf("read %w", jsonvalue.In(filepath.Join(r.dir, name), err))
	}
	return nil
}

// writeFile writes a file below dir, replacing any there, whatever links an agent has made.
func writeFile(dir, name string, data []byte) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", name, err)
		}
	}()
	if err := checkName(name); err != nil {
		return err
	}
	if _, err := os.Lstat(dir); err != nil { // a run that is gone stays so
		return err
	}
	return disk.Tree(dir).Replace(filepath.Join(dir, filepath.FromSlash(name)), data, 0o644)
}

// checkName returns an error for names that differ in meaning between systems, or that lead out of the run.
func checkName(name string) error {
	if !fs.ValidPath(name) || name == "." || !filepath.IsLocal(filepath.FromSlash(name)) {
		return errors.New("not the path of a file below the run's directory")
	}
	return nil
}

func readFile(dir, name string, limit int64) (_ []byte, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("read %s: %w", name, err)
		}
	}()
	file, err := openFile(dir, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return disk.ReadAll(file, limit)
}

// openFile opens a regular file below dir, by no link that leads out of it.
func openFile(dir, name string) (*os.File, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	file, err := openIn(dir, name)
	if err != nil { // which may be due to such a link
		return nil, cmp.Or(disk.Tree(dir).Check(filepath.Join(dir, filepath.FromSlash(name))), err)
	}
	return file, nil
}

func openIn(dir, name string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	parent, err := root.OpenRoot(path.Dir(name)) // so that the directories above are opened once
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	return disk.OpenRegularIn(parent, path.Base(name))
}

// openRegular opens a regular file that is not a link. It does not block on a FIFO.
func openRegular(path string, flag int) (*os.File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if err := disk.CheckRegular(path, info); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, flag|disk.Nonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err = file.Stat() // it may have been replaced
	if err == nil {
		err = disk.CheckRegular(path, info)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// UnitDirs has the absolute paths of one unit's directories.
type UnitDirs struct {
	// Workspace is the directory in which the agent works.
	Workspace string
	// Logs and Artifacts are the directories for files about the unit.
	Logs, Artifacts string
	// OfCase says that the run has several cases: of a replay it keeps, instead of the workspace, how that differs from
	// what it was made of.
	OfCase bool
	below  string // the directory of all three, from the run's, with slashes
}

// File returns the path of one of the unit's files from the run's directory, with slashes.
func (d UnitDirs) File(name string) string {
	if name == SessionLog {
		return path.Join(d.below, "logs", name)
	}
	return path.Join(d.below, "artifacts", name)
}

// Left returns the path of what the run keeps of a unit's workspace, from the run's directory and with slashes: that of
// [Workspace] if it is there, else that of the directory.
func (r *Run) Left(d UnitDirs) string {
	if kept := d.File(Workspace); d.OfCase {
		if _, err := r.Size(kept); !errors.Is(err, fs.ErrNotExist) {
			return kept
		}
	}
	return path.Join(d.below, "workspace")
}

// The files of a unit. The session's log is in the logs, the others are in the artifacts. Of replays of several cases
// the run keeps what no other file has: no metrics and no changes, which are in the results, and no log without a line.
const (
	SessionLog = "acp-session.jsonl"
	Metrics    = "acp-metrics.json"
	Trajectory = "trajectory.json"
	Diff       = "workspace.diff"
	Changes    = "workspace-changes.json"
	Workspace  = "workspace.json" // in the place of a workspace: how it differs from its template
)

// TemplateList is the file of the run that lists the template of workspaces with this digest.
func TemplateList(digest string) string { return templatesDir + "/" + digest + ".jsonl" }

const templatesDir = "templates"

// unitDirsIn returns the directories in one that is below the run's.
func unitDirsIn(run, below string) UnitDirs {
	dir := filepath.Join(run, filepath.FromSlash(below))
	return UnitDirs{
		Workspace: filepath.Join(dir, "workspace"), Logs: filepath.Join(dir, "logs"),
		Artifacts: filepath.Join(dir, "artifacts"), below: below,
	}
}

func variantDir(variant string) string { return path.Join("variants", variant) }

// UnitDirs returns the directories of a unit: in variants/<variant> if the run has one case and one trial, else in
// variants/<variant>/cases/<case>/<trial>. It panics if the run has no such unit.
func (r *Run) UnitDirs(caseID, variant string, trial int) UnitDirs {
	m := r.Manifest()
	r.indexing.Do(func() { r.cases, r.variants = setOf(m.caseIDs()), setOf(m.variantIDs()) })
	if !r.cases[caseID] || !r.variants[variant] || trial < 1 || trial > m.Trials {
		panic(fmt.Sprintf("rundir: UnitDirs: the run has no case %q, variant %q, trial %d", caseID, variant, trial))
	}
	dir := variantDir(variant)
	if len(m.Cases) > 1 || m.Trials > 1 {
		dir = path.Join(dir, "cases", caseID, strconv.Itoa(trial))
	}
	d := unitDirsIn(r.dir, dir)
	d.OfCase = len(m.Cases) > 1
	return d
}

// MakeUnitDirs returns the directories of a unit, and makes those that do not exist. Of one of several cases it makes
// that of the artifacts only, and what was kept of the workspace is removed: [Run.MakeDirs] makes the others.
func (r *Run) MakeUnitDirs(caseID, variant string, trial int) (UnitDirs, error) {
	r.mustBeLocked("MakeUnitDirs")
	d, tree := r.UnitDirs(caseID, variant, trial), disk.Tree(r.dir)
	dir := filepath.Dir(d.Workspace)
	reopen(dir, r.dir)
	_, err := os.Lstat(dir)
	begun := !errors.Is(err, fs.ErrNotExist)
	if begun {
		for _, dir := range d.dirs() {
			reopenOne(dir, private)
		}
	}
	if !d.OfCase {
		return d, d.make(tree)
	}
	err = tree.MkdirAll(d.Artifacts)
	if begun && err == nil {
		err = errors.Join(tree.RemoveAll(d.Workspace), tree.RemoveAll(filepath.Join(d.Artifacts, Workspace)))
	}
	if err != nil {
		err = fmt.Errorf("make the unit's directories: %w", err)
	}
	return d, err
}

// MakeDirs makes those of a unit's directories that do not exist.
func (r *Run) MakeDirs(d UnitDirs) error { return d.make(disk.Tree(r.dir)) }

// MakeLogs makes the directory of a unit's logs, unless it exists.
func (r *Run) MakeLogs(d UnitDirs) error { return disk.Tree(r.dir).MkdirAll(d.Logs) }

// Reopen gives back the rights to the run's own files and directories, and those above, that a process of ours has
// taken from us: some sandboxes let processes change modes. What it cannot open is found by whoever needs it.
func (r *Run) Reopen() {
	reopen(r.dir, string(r.tree))
	for _, name := range []string{manifestFile, playbookFile, ResultsFile, jobsFile} {
		reopenOne(filepath.Join(r.dir, name), 0o600)
	}
}

// reopen opens the directories from one down to another below it.
func reopen(dir, from string) {
	if dir != from && filepath.Dir(dir) != dir {
		reopen(filepath.Dir(dir), from)
	}
	reopenOne(dir, private)
}

func reopenOne(path string, rights fs.FileMode) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&rights != rights && info.Mode()&fs.ModeSymlink == 0 {
		_ = os.Chmod(path, info.Mode().Perm()|rights)
	}
}

// make makes the directories in a run.
func (d UnitDirs) make(run disk.Tree) error {
	for _, dir := range d.dirs() {
		if err := run.MkdirAll(dir); err != nil {
			return fmt.Errorf("make the unit's directories: %w", err)
		}
	}
	return nil
}

func (d UnitDirs) dirs() []string { return []string{d.Workspace, d.Logs, d.Artifacts} }

// clearUnitDirs removes the directories of units that have no result, since these are run again from the beginning.
func (r *Run) clearUnitDirs() error {
	for _, id := range r.manifest.Units {
		if r.results.done[id] {
			continue
		}
		c, v, trial := splitUnit(id)
		var errs []error
		for _, dir := range r.UnitDirs(c, v, trial).dirs() {
			errs = append(errs, disk.Tree(r.dir).RemoveAll(dir))
		}
		if err := errors.Join(errs...); err != nil {
			return fmt.Errorf("remove what unit %s left: %w", id, err)
		}
	}
	for _, v := range r.manifest.variantIDs() { // a variant's own directories may be those of a unit
		if err := unitDirsIn(r.dir, variantDir(v)).make(disk.Tree(r.dir)); err != nil {
			return err
		}
	}
	return nil
}
