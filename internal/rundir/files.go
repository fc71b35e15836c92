package rundir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// WriteFile writes a file of the run, masked: whole or not at all, and synced. Name is its path below the run's
// directory with slashes; directories on the way are made. Links that lead out of the run are not followed.
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

// ReadFile reads a regular file of the run that has no more than limit bytes: a larger one is a
// [*disk.SizeError]. A file that is not there is [fs.ErrNotExist].
func (r *Run) ReadFile(name string, limit int64) ([]byte, error) {
	data, err := readFile(r.dir, name, limit)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", r.ID(), err)
	}
	return data, nil
}

// ReadJSON is [Run.ReadFile] for JSON that this program wrote, which goes into v, as strictly as the lines of results.
func (r *Run) ReadJSON(name string, limit int64, v any) error {
	data, err := r.ReadFile(name, limit)
	if err != nil {
		return err
	}
	if err := jsonvalue.DecodeStrict(data, v, 0); err != nil {
		return fmt.Errorf("read %w", jsonvalue.In(filepath.Join(r.dir, name), err))
	}
	return nil
}

// writeFile puts data in the place of the file below dir. [os.Root] keeps it there, whatever links an agent made.
func writeFile(dir, name string, data []byte) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", name, err)
		}
	}()
	if err := checkName(name); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	parent := path.Dir(name)
	if err := root.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	temporary := path.Join(parent, "."+path.Base(name)+"."+rand.Text()[:8])
	file, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = root.Rename(temporary, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temporary))
	}
	return syncIn(root, parent)
}

// checkName refuses names that mean something else on another system, or lead out of the run.
func checkName(name string) error {
	if !fs.ValidPath(name) || name == "." || !filepath.IsLocal(filepath.FromSlash(name)) {
		return errors.New("this is not the path of a file below the run's directory")
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
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	file, err := disk.OpenRegularIn(root, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return disk.ReadAll(file, limit)
}

// openRegular opens a regular file that is not a link. It never blocks: a FIFO is refused like anything else.
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

// syncIn is [disk.SyncDir] below a root. Windows has no means to.
func syncIn(root *os.Root, name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	dir, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Place is where one unit is kept: absolute paths of three directories.
type Place struct {
	// Workspace is what the agent works in.
	Workspace string
	// Logs and Artifacts are what is written about it.
	Logs, Artifacts string
}

// The files of a unit: the session's log lies with the logs, all others with the artifacts.
const (
	SessionLog = "acp-session.jsonl"
	Metrics    = "acp-metrics.json"
	Trajectory = "trajectory.json"
	Diff       = "workspace.diff"
	Changes    = "workspace-changes.json"
)

func placeIn(dir string) Place {
	return Place{filepath.Join(dir, "workspace"), filepath.Join(dir, "logs"), filepath.Join(dir, "artifacts")}
}

func variantDir(dir, variant string) string { return filepath.Join(dir, "variants", variant) }

// Place returns where a unit is kept: variants/<variant> if the run has one case and one trial, else
// variants/<variant>/cases/<case>/<trial>. A unit that the run does not have is a mistake of the caller.
func (r *Run) Place(caseID, variant string, trial int) Place {
	m := r.Manifest()
	r.placing.Do(func() { r.cases, r.variants = setOf(m.caseIDs()), setOf(m.variantIDs()) })
	if !r.cases[caseID] || !r.variants[variant] || trial < 1 || trial > m.Trials {
		panic(fmt.Sprintf("rundir: Place: the run has no case %q, variant %q, trial %d", caseID, variant, trial))
	}
	dir := variantDir(r.dir, variant)
	if len(m.Cases) > 1 || m.Trials > 1 {
		dir = filepath.Join(dir, "cases", caseID, strconv.Itoa(trial))
	}
	return placeIn(dir)
}

// MakePlace returns where a unit is kept and makes the directories, unless they are there.
func (r *Run) MakePlace(caseID, variant string, trial int) (Place, error) {
	r.mustHold("MakePlace")
	p := r.Place(caseID, variant, trial)
	return p, p.make()
}

func (p Place) make() error {
	// Most are new in one that is new, too, and MkdirAll looks at each directory on the way first.
	for _, dir := range append([]string{filepath.Dir(p.Workspace)}, p.dirs()...) {
		err := os.Mkdir(dir, 0o755)
		if err != nil {
			err = os.MkdirAll(dir, 0o755)
		}
		if err != nil {
			return fmt.Errorf("make the unit's directories: %w", err)
		}
	}
	return nil
}

func (p Place) dirs() []string { return []string{p.Workspace, p.Logs, p.Artifacts} }

// clearPlaces empties the places of the units that have no result: they are run as if for the first time.
func (r *Run) clearPlaces() error {
	for _, id := range r.manifest.Units {
		if r.results.done[id] {
			continue
		}
		c, v, trial, _ := splitUnit(id)
		p := r.Place(c, v, trial)
		var errs []error
		for _, dir := range p.dirs() {
			errs = append(errs, disk.RemoveAll(dir))
		}
		if err := errors.Join(errs...); err != nil {
			return fmt.Errorf("remove what unit %s left: %w", id, err)
		}
	}
	for _, v := range r.manifest.variantIDs() { // some of these are such places
		if err := placeIn(variantDir(r.dir, v)).make(); err != nil {
			return err
		}
	}
	return nil
}
