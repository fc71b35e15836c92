package rundir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"

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

// ReadFile reads a regular file of the run. If it has more than limit bytes, the error wraps a [*disk.SizeError]; if it
// does not exist, the error wraps [fs.ErrNotExist].
func (r *Run) ReadFile(name string, limit int64) ([]byte, error) {
	data, err := readFile(r.dir, name, limit)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", r.ID(), err)
	}
	return data, nil
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
	if err := checkName(name); err != nil {
		return nil, err
	}
	file, err := openIn(dir, name)
	if err != nil { // which may be due to a link that leads out of the run
		return nil, cmp.Or(disk.Tree(dir).Check(filepath.Join(dir, filepath.FromSlash(name))), err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return disk.ReadAll(file, limit)
}

// openIn opens a regular file below dir, by no link that leads out of it.
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
}

// The files of a unit. The session's log is in the logs, the others are in the artifacts.
const (
	SessionLog = "acp-session.jsonl"
	Metrics    = "acp-metrics.json"
	Trajectory = "trajectory.json"
	Diff       = "workspace.diff"
	Changes    = "workspace-changes.json"
	Workspace  = "workspace.json" // in the place of a workspace: how it differs from its template
)

// TemplateList is the file of the run that lists the template of workspaces with this digest.
func TemplateList(digest string) string { return "templates/" + digest + ".jsonl" }

func unitDirsIn(dir string) UnitDirs {
	return UnitDirs{
		Workspace: filepath.Join(dir, "workspace"), Logs: filepath.Join(dir, "logs"),
		Artifacts: filepath.Join(dir, "artifacts"),
	}
}

func variantDir(dir, variant string) string { return filepath.Join(dir, "variants", variant) }

// UnitDirs returns the directories of a unit: in variants/<variant> if the run has one case and one trial, else in
// variants/<variant>/cases/<case>/<trial>. It panics if the run has no such unit.
func (r *Run) UnitDirs(caseID, variant string, trial int) UnitDirs {
	m := r.Manifest()
	r.indexing.Do(func() { r.cases, r.variants = setOf(m.caseIDs()), setOf(m.variantIDs()) })
	if !r.cases[caseID] || !r.variants[variant] || trial < 1 || trial > m.Trials {
		panic(fmt.Sprintf("rundir: UnitDirs: the run has no case %q, variant %q, trial %d", caseID, variant, trial))
	}
	dir := variantDir(r.dir, variant)
	if len(m.Cases) > 1 || m.Trials > 1 {
		d := unitDirsIn(filepath.Join(dir, "cases", caseID, strconv.Itoa(trial)))
		d.OfCase = len(m.Cases) > 1
		return d
	}
	return unitDirsIn(dir)
}

// MakeUnitDirs returns the directories of a unit, and makes those that do not exist. The workspace of one of several
// cases is made by [Run.MakeWorkspace] only, and what was kept of it is removed.
func (r *Run) MakeUnitDirs(caseID, variant string, trial int) (UnitDirs, error) {
	r.mustBeLocked("MakeUnitDirs")
	d := r.UnitDirs(caseID, variant, trial)
	reopen(filepath.Dir(d.Workspace), r.dir)
	for _, dir := range d.dirs() {
		reopenOne(dir, private)
	}
	tree := disk.Tree(r.dir)
	if !d.OfCase {
		return d, d.make(tree)
	}
	err := errors.Join(tree.MkdirAll(d.Logs), tree.MkdirAll(d.Artifacts))
	if err == nil {
		err = errors.Join(tree.RemoveAll(d.Workspace), tree.RemoveAll(filepath.Join(d.Artifacts, Workspace)))
	}
	if err != nil {
		err = fmt.Errorf("make the unit's directories: %w", err)
	}
	return d, err
}

// MakeWorkspace makes the directory of a unit's workspace, unless it exists.
func (r *Run) MakeWorkspace(d UnitDirs) error { return disk.Tree(r.dir).MkdirAll(d.Workspace) }

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
		if err := unitDirsIn(variantDir(r.dir, v)).make(disk.Tree(r.dir)); err != nil {
			return err
		}
	}
	return nil
}
