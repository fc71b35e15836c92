package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/sdd-eval/sdd-eval/internal/disk"
)

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
