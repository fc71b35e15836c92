package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/baseline"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/scoring/aijudge"
	"github.com/sdd-eval/sdd-eval/internal/scoring/human"
)

// Load reads what a run's directory says about its results. Artifacts that are missing or too large are noted in their
// unit; only the page reads them. If a file cannot be read for another reason, Load returns an error that names it.
func Load(run *rundir.Run) (*Report, error) { return LoadOnly(run, "", nil) }

// LoadOnly is Load for those units of the run that keep reports, as [rundir.Manifest.Select] has them; by is what chose
// them. The report says that they are not all, and its files are in the directory selected of the run. A nil keep keeps
// all.
func LoadOnly(run *rundir.Run, by string, keep func(caseID, variant string) bool) (*Report, error) {
	rep, err := load(run, by, keep)
	if err != nil {
		return nil, fmt.Errorf("report on run %s: %w", run.ID(), err)
	}
	rep.run = run
	if keep != nil {
		rep.dir = "selected/"
	}
	return rep, nil
}

func load(run *rundir.Run, by string, keep func(caseID, variant string) bool) (*Report, error) {
	units, err := run.Units()
	if err != nil {
		return nil, err
	}
	jobs, err := run.Jobs()
	if err != nil {
		return nil, err
	}
	people, err := human.Load(run)
	if err != nil {
		return nil, err
	}
	judged, err := aijudge.Load(run)
	if err != nil {
		return nil, err
	}
	mutants, err := run.Mutants()
	if err != nil {
		return nil, err
	}
	src := source{
		mutants:  mutants,
		manifest: run.Manifest().Shown(), units: units, jobs: jobs, notes: run.Notes(), ai: make(map[string][]AIScore),
		paths:     func(u *Unit) Paths { return unitPaths(run, u) },
		look:      func(u *Unit) error { return look(run, u) },
		artifacts: func(u *Unit) (artifacts, error) { return readArtifacts(run, u) },
	}
	if keep != nil {
		src.manifest.Select(by, keep)
		src.units = slices.DeleteFunc(src.units, func(u result.Unit) bool { return !keep(u.Case, u.Variant) })
		people, src.mutants = nil, nil // what they say is about all units
	}
	for _, p := range people {
		for variant, r := range p.Variants { // the report sorts them
			src.human = append(src.human, rating{variant, Opinion{By: p.Rater, Score: r.Score, Notes: r.Notes}})
		}
	}
	for _, s := range judged {
		src.ai[s.Unit] = append(src.ai[s.Unit], AIScore{Model: s.Model, Score: s.Score, Reason: s.Reason})
	}
	return src.report()
}

// source has the data for a report.
type source struct {
	manifest  rundir.Manifest
	units     []result.Unit
	jobs      []result.Job
	human     []rating
	mutants   *result.Mutants      // nil: there are none
	ai        map[string][]AIScore // by unit
	notes     []string
	paths     func(*Unit) Paths
	look      func(*Unit) error // notes artifacts that are missing or too large in a unit that ran
	artifacts func(*Unit) (artifacts, error)
}

// rating is one person's score of a variant.
type rating struct {
	variant string
	Opinion
}

func (s source) report() (*Report, error) {
	m := s.manifest
	rep := &Report{
		Version: 1,
		Run: Run{
			ID: m.RunID, Name: m.Name, CreatedAt: m.CreatedAt, FinishedAt: m.FinishedAt, State: string(m.State),
			Tool: m.Tool, Mode: m.Mode, Sandbox: m.Sandbox, Playbook: m.Playbook, Trials: m.Trials,
			Need: m.Need, NeedScore: m.NeedScore, Judged: m.Evaluators, Again: m.Again, Rejudged: m.Rejudged,
		},
		Variants: []Variant{}, Cases: []Case{}, Jobs: []Job{}, Units: make([]Unit, len(m.Units)),
		Mutants: s.mutants, artifacts: s.artifacts, came: func() *baseline.Baseline { return baseline.Of(m, s.units) },
	}
	if s := m.Selection; s != nil {
		rep.Run.Selection = &Selection{Units: len(m.Units), Of: s.Of, By: s.By, text: m.Selected()}
	}
	for _, c := range m.Cases {
		rep.Cases = append(rep.Cases, Case{
			ID: c.ID, Title: c.Title, Prompts: c.Prompts, ExpectedOutcome: c.ExpectedOutcome,
			ReferenceAnswer: c.ReferenceAnswer, Digests: c.Digests,
		})
	}
	rep.Axes = m.Axes
	if err := s.fillUnits(rep); err != nil {
		return nil, err
	}
	verdict := m.Judge(s.units, s.jobs)
	rep.Outcome, rep.Run.Problems = verdict.Outcome, verdict.Problems
	var results, references, jobs Counts
	rep.Results = make([]Result, len(verdict.Cases))
	for i, t := range verdict.Cases {
		rep.Results[i] = resultOf(t)
		if t.Counts() == result.Reported {
			references.add(t.Outcome)
		} else {
			results.add(t.Outcome)
		}
	}
	for _, j := range verdict.Jobs {
		rep.Jobs = append(rep.Jobs, jobOf(j))
		jobs.add(j.Outcome)
	}
	for _, v := range m.Variants {
		rep.Variants = append(rep.Variants, s.variant(v, rep))
	}
	rep.Headline = headline(rep, results, references, jobs)
	rep.Notes = []string{}
	for _, p := range rep.Run.Problems {
		rep.Notes = append(rep.Notes, "problem of the run as a whole: "+p)
	}
	if m.Stopped != "" {
		rep.Notes = append(rep.Notes, m.Stopped)
	}
	if m.Rejudged != "" {
		rep.Notes = append(rep.Notes,
			fmt.Sprintf("the run %s was judged anew: what the agents did is that run's.", m.Rejudged))
	}
	if m.Again != "" {
		rep.Notes = append(rep.Notes, fmt.Sprintf("units of the run %s were run again; its results stay.", m.Again))
	}
	for _, c := range m.Accepted {
		rep.Notes = append(rep.Notes, "accepted when the run was resumed: "+c)
	}
	rep.Notes = append(append(rep.Notes, s.notes...), notes(rep.Units)...)
	return rep, nil
}

// fillUnits fills in the units that the manifest lists.
func (s source) fillUnits(rep *Report) error {
	ended := make(map[string]*result.Unit, len(s.units))
	for i := range s.units {
		ended[s.units[i].ID] = &s.units[i]
	}
	for i, id := range s.manifest.Units {
		u := &rep.Units[i]
		err := u.identify(id, ended[id])
		if err != nil {
			return err
		}
		u.AI, u.Paths = s.ai[id], s.paths(u)
		if u.Result != nil {
			if err := s.look(u); err != nil {
				return err
			}
		}
	}
	return nil
}

// identify sets the unit's id and its parts, and its result, which is nil if the unit has not ended.
func (u *Unit) identify(id string, r *result.Unit) error {
	u.ID, u.Outcome, u.Result = id, result.NotRun, r
	parts := strings.Split(id, "/")
	if len(parts) < 4 {
		return fmt.Errorf("manifest: unit %q: want playbook/case/variant/trial", id)
	}
	u.Case, u.Variant = parts[len(parts)-3], parts[len(parts)-2]
	var err error
	if u.Trial, err = strconv.Atoi(parts[len(parts)-1]); err != nil {
		return fmt.Errorf("manifest: unit %q: want a trial's number at the end", id)
	}
	if r != nil {
		u.Outcome, u.Score = r.Outcome, r.Score()
	}
	return nil
}

func jobOf(j result.Job) Job {
	if j.Outcome == result.NotRun {
		return Job{ID: j.ID, Outcome: j.Outcome}
	}
	return Job{ID: j.ID, Outcome: j.Outcome, Result: &j}
}

func (s source) variant(m rundir.Variant, rep *Report) Variant {
	v := Variant{
		ID: m.ID, Style: m.Style, Kind: m.Kind, Reference: m.Reference, Axes: m.Axes, Ablated: m.Ablated,
		Of: m.Of, Skills: m.Skills, Preset: m.Preset,
		Model: m.Model, Mode: m.Mode, Command: m.Command, Args: m.Args, Env: m.Env,
	}
	for _, r := range s.human {
		if r.variant == m.ID {
			v.Human.Scores = append(v.Human.Scores, r.Opinion)
		}
	}
	v.sumUp(rep.Units, rep.Results)
	return v
}

// maxArtifact is the largest size of a unit's file that is read, in bytes.
const maxArtifact = 64 << 20

// artifacts are the files of a unit that exist.
type artifacts struct {
	run  json.RawMessage
	cut  []string // what was left out of run
	diff string
}

func unitPaths(run *rundir.Run, u *Unit) Paths {
	d := run.UnitDirs(u.Case, u.Variant, u.Trial)
	paths := Paths{run.Left(d), path.Dir(d.File(rundir.SessionLog)), path.Dir(d.File(rundir.Diff))}
	if _, err := os.Lstat(d.Logs); d.OfCase && err != nil {
		paths.Logs = ""
	}
	return paths
}

// look notes the artifacts of a unit that ran if they are missing or too large to show.
func look(run *rundir.Run, u *Unit) error {
	m := u.metrics()
	for _, file := range []struct {
		name   string
		wanted bool // it is missing if it is not there
	}{{rundir.Trajectory, m != nil}, {rundir.Diff, m != nil && m.Changes != nil}} {
		path := u.Paths.Artifacts + "/" + file.name
		size, err := run.Size(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if file.wanted {
				u.Missing = append(u.Missing, path)
			}
		case err != nil:
			return err
		case size > maxArtifact:
			u.TooLarge = append(u.TooLarge, fmt.Sprintf("%s is too large to show (%d bytes)", path, size))
		}
	}
	return nil
}

// readArtifacts reads the files of a unit that ran.
func readArtifacts(run *rundir.Run, u *Unit) (artifacts, error) {
	var files artifacts
	err := openArtifact(run, u, rundir.Trajectory, func(file *os.File, size int64) (err error) {
		if size > maxDetail {
			files.run, files.cut, err = shortRun(file)
		} else if files.run, err = disk.ReadAll(file, maxDetail); err == nil && !whole(files.run) {
			err = errors.New("it is cut off")
		}
		if err != nil {
			err = fmt.Errorf("%s: not a whole JSON object: %w", file.Name(), err)
		}
		return err
	})
	if err != nil {
		return artifacts{}, err
	}
	err = openArtifact(run, u, rundir.Diff, func(file *os.File, _ int64) error {
		diff, err := disk.ReadAll(file, maxArtifact)
		files.diff = string(diff)
		return err
	})
	return files, err
}

// whole reports whether a JSON object was not torn, which is what happens to files. That the rest of it is JSON is seen
// when the page shows it: to decode all trajectories would take longer than everything else.
func whole(object []byte) bool {
	object = bytes.TrimSpace(object)
	return bytes.HasPrefix(object, []byte("{")) && bytes.HasSuffix(object, []byte("}"))
}

// openArtifact calls read with an artifact of the unit, unless it is missing or too large, which look has noted.
func openArtifact(run *rundir.Run, u *Unit, name string, read func(file *os.File, size int64) error) error {
	file, err := run.OpenFile(u.Paths.Artifacts + "/" + name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() > maxArtifact {
		return err
	}
	return read(file, info.Size())
}

// notes returns what a reader must know about the units to judge the figures.
func notes(units []Unit) []string {
	scripted, replayed, missing, large, repeated := 0, 0, 0, 0, 0
	remarks := make(map[string]int)
	var order []string
	remark := func(text string) {
		if remarks[text]++; remarks[text] == 1 {
			order = append(order, text)
		}
	}
	for _, u := range units {
		if len(u.Missing) > 0 {
			missing++
		}
		if len(u.TooLarge) > 0 {
			large++
		}
		if u.Result == nil {
			continue
		}
		if u.Result.Endpoint == "scripted" {
			scripted++
		}
		if u.Result.Replayed {
			replayed++
		}
		if len(u.Result.Attempts) > 0 {
			repeated++
		}
		for _, e := range u.Result.Evaluations {
			switch {
			case e.Outcome == result.Reported:
				remark(fmt.Sprintf("evaluator %s only reports its score.", e.Name))
			case e.Outcome == result.Skip && u.Result.Metrics != nil: // without metrics there was nothing to judge
				remark(fmt.Sprintf("evaluator %s was skipped: %s", e.Name, e.Reason))
			}
		}
		for _, w := range u.Result.Warnings {
			remark("warning: " + w)
		}
	}
	list := []string{}
	note := func(n int, text string) {
		if n > 0 {
			list = append(list, fmt.Sprintf("%s of %d: %s", plural(n, "unit"), len(units), text))
		}
	}
	note(scripted, "the agent's model was scripted, so the figures are not those of a real model.")
	note(replayed, "replayed from recordings; no agent ran, and times are those of the replay.")
	note(repeated, "earlier attempts ended in errors and were repeated.")
	note(missing, "artifacts are missing although the unit ran.")
	note(large, "artifacts are too large to show.")
	for i, text := range order {
		if i == maxRemarks {
			return append(list, fmt.Sprintf("%s more.", plural(len(order)-i, "remark")))
		}
		note(remarks[text], text)
	}
	return list
}

// maxRemarks is how many different remarks about single units the notes have: warnings, and evaluators that did not
// judge.
const maxRemarks = 10
