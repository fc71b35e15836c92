package human

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// The files that Write makes, and the name that a filled-in template gets.
const (
	packFile     = "human-pack.json"
	PageFile     = "human-pack.html" // on which a person scores the variants
	templateFile = "human-scores.template.json"
	filledFile   = "scores.json"
)

// Pack has the paths of everything that a person needs to score the variants. Unlike the page, it names the variants.
type Pack struct {
	Version int    `json:"version"` // 1
	RunID   string `json:"run_id"`
	// Task is the task of a run that has one, else Cases are its cases.
	Task     *Task         `json:"task,omitempty"`
	Cases    []Task        `json:"cases,omitempty"`
	Variants []PackVariant `json:"variants"`
}

// Task is what the agents were asked to do.
type Task struct {
	ID              string   `json:"id"`
	Title           string   `json:"title,omitempty"`
	Prompts         []string `json:"prompts"`
	ExpectedOutcome string   `json:"expected_outcome,omitempty"`
}

// PackVariant are the units of one variant.
type PackVariant struct {
	ID    string     `json:"variant"`
	Units []PackUnit `json:"units"`
}

// PackUnit has the paths of one unit's files, relative to the run's directory and with slashes. A path is empty if the
// unit has not run or left no such file.
type PackUnit struct {
	ID         string `json:"unit"`
	Workspace  string `json:"workspace,omitempty"`
	Diff       string `json:"diff,omitempty"`
	SessionLog string `json:"session_log,omitempty"`
	Metrics    string `json:"metrics,omitempty"`
}

// template is a file of scores to be filled in.
type template struct {
	File     string            `json:"file"`
	Variants map[string]Rating `json:"variants"`
}

// Write writes the pack, the template and the page of a run. The same directory gives the same bytes each time.
func Write(r *rundir.Run) error {
	pack, err := newPack(r)
	if err != nil {
		return fmt.Errorf("make %s: %w", packFile, err)
	}
	blank := template{File: filledFile, Variants: make(map[string]Rating)}
	for _, v := range r.Manifest().Variants {
		blank.Variants[v.ID] = Rating{}
	}
	units, err := r.Units()
	if err != nil {
		return fmt.Errorf("read the results: %w", err)
	}
	page, err := renderPage(r, units)
	if err != nil {
		return fmt.Errorf("make %s: %w", PageFile, err)
	}
	return errors.Join(writeJSON(r, packFile, pack), writeJSON(r, templateFile, blank), r.WriteFile(PageFile, page))
}

func writeJSON(r *rundir.Run, name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return r.WriteFile(name, append(data, '\n'))
}

func newPack(r *rundir.Run) (Pack, error) {
	m := r.Manifest()
	pack := Pack{Version: 1, RunID: m.RunID, Variants: []PackVariant{}}
	if tasks := tasksOf(m); len(tasks) == 1 {
		pack.Task = &tasks[0]
	} else {
		pack.Cases = tasks
	}
	for _, v := range m.Variants {
		units := []PackUnit{}
		for _, id := range m.Units {
			if u := parseUnit(id); u.variant == v.ID {
				unit, err := newPackUnit(r, id, u)
				if err != nil {
					return Pack{}, err
				}
				units = append(units, unit)
			}
		}
		pack.Variants = append(pack.Variants, PackVariant{ID: v.ID, Units: units})
	}
	return pack, nil
}

func tasksOf(m rundir.Manifest) []Task {
	var tasks []Task
	for _, c := range m.Cases {
		tasks = append(tasks, Task{ID: c.ID, Title: c.Title, Prompts: c.Prompts, ExpectedOutcome: c.ExpectedOutcome})
	}
	return tasks
}

// unitName has the parts of a unit's id.
type unitName struct {
	caseID, variant string
	trial           int
}

// String returns case/variant/trial.
func (u unitName) String() string { return fmt.Sprintf("%s/%s/%d", u.caseID, u.variant, u.trial) }

// parseUnit parses an id of a manifest, playbook/case/variant/trial, which package rundir has checked.
func parseUnit(id string) unitName {
	parts := strings.Split(id, "/")
	if len(parts) < 3 {
		return unitName{}
	}
	trial, _ := strconv.Atoi(parts[len(parts)-1])
	return unitName{caseID: parts[len(parts)-3], variant: parts[len(parts)-2], trial: trial}
}

func newPackUnit(r *rundir.Run, id string, u unitName) (PackUnit, error) {
	dirs := r.UnitDirs(u.caseID, u.variant, u.trial)
	unit := PackUnit{ID: id}
	for _, pointer := range []struct {
		to   *string
		path string
	}{
		{&unit.Workspace, r.Left(dirs)},
		{&unit.Diff, dirs.File(rundir.Diff)},
		{&unit.SessionLog, dirs.File(rundir.SessionLog)},
		{&unit.Metrics, dirs.File(rundir.Metrics)},
	} {
		_, err := os.Lstat(filepath.Join(r.Dir(), filepath.FromSlash(pointer.path)))
		if err == nil {
			*pointer.to = pointer.path
		} else if !errors.Is(err, fs.ErrNotExist) {
			return PackUnit{}, err
		}
	}
	return unit, nil
}
