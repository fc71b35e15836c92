package report

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/scoring/aijudge"
	"github.com/sdd-eval/sdd-eval/internal/scoring/human"
)

// Load reads a run's directory. What is missing of a unit that ran is noted in the unit; what is there and cannot be
// read is an error that names the file, unless it is only too large, which is noted as well.
func Load(run *rundir.Run) (*Report, error) {
	rep, err := load(run)
	if err != nil {
		return nil, fmt.Errorf("report on run %s: %w", run.ID(), err)
	}
	return rep, nil
}

func load(run *rundir.Run) (*Report, error) {
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
	src := source{
		manifest: run.Manifest(), units: units, jobs: jobs, notes: run.Notes(), ai: make(map[string][]AIScore),
		place:     func(u *Unit) (Paths, error) { return places(run, u) },
		artifacts: func(u *Unit) (artifacts, error) { return readArtifacts(run, u) },
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

// source is what a report is made of.
type source struct {
	manifest  rundir.Manifest
	units     []result.Unit
	jobs      []result.Job
	human     []rating
	ai        map[string][]AIScore // by unit
	notes     []string
	place     func(*Unit) (Paths, error)
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
			ID: m.RunID, Name: m.Name, CreatedAt: m.CreatedAt, FinishedAt: m.FinishedAt, State: string(m.State), Tool: m.Tool,
			Mode: m.Mode, Sandbox: m.Sandbox, Playbook: Playbook(m.Playbook), Trials: m.Trials, Need: m.Need, Judged: m.Evaluators,
		},
		Variants: []Variant{}, Cases: []Case{}, Jobs: []Job{}, Units: make([]Unit, len(m.Units)),
	}
	for _, c := range m.Cases {
		rep.Cases = append(rep.Cases, Case(c))
	}
	if err := s.fillUnits(rep); err != nil {
		return nil, err
	}
	verdict := m.Judge(s.units, s.jobs)
	rep.Outcome, rep.Run.Problems = verdict.Outcome, verdict.Problems
	var results, jobs Counts
	rep.Results = make([]Result, len(verdict.Cases))
	for i, t := range verdict.Cases {
		rep.Results[i] = resultOf(t)
		results.add(t.Outcome)
	}
	for _, j := range verdict.Jobs {
		rep.Jobs = append(rep.Jobs, jobOf(j))
		jobs.add(j.Outcome)
	}
	for _, v := range m.Variants {
		rep.Variants = append(rep.Variants, s.variant(v, rep))
	}
	rep.Headline = headline(rep, results, jobs)
	rep.Notes = []string{}
	for _, p := range rep.Run.Problems {
		rep.Notes = append(rep.Notes, "problem of the run as a whole: "+p)
	}
	rep.Notes = append(append(rep.Notes, s.notes...), notes(rep.Units)...)
	return rep, nil
}

// fillUnits reads what there is of each unit the manifest lists.
func (s source) fillUnits(rep *Report) error {
	ended := make(map[string]*result.Unit, len(s.units))
	for i := range s.units {
		ended[s.units[i].ID] = &s.units[i]
	}
	tasks := make(map[string]*Case, len(rep.Cases))
	for i := range rep.Cases {
		tasks[rep.Cases[i].ID] = &rep.Cases[i]
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, id := range s.manifest.Units {
		u := &rep.Units[i]
		if err := u.identify(id, ended[id]); err != nil {
			return err
		}
		u.AI = s.ai[id]
		g.Go(func() (err error) {
			if u.Paths, err = s.place(u); err != nil {
				return err
			}
			if u.Result == nil {
				return nil
			}
			files, err := s.artifacts(u)
			if err != nil {
				return err
			}
			u.page, err = pack(*u, tasks[u.Case], files)
			return err
		})
	}
	return g.Wait()
}

// identify takes the unit's id apart and notes how it ended; r is nil if it did not.
func (u *Unit) identify(id string, r *result.Unit) error {
	u.ID, u.Outcome, u.Result = id, result.NotRun, r
	parts := strings.Split(id, "/")
	if len(parts) < 4 {
		return fmt.Errorf("manifest: the unit %q is not playbook/case/variant/trial", id)
	}
	u.Case, u.Variant = parts[len(parts)-3], parts[len(parts)-2]
	var err error
	if u.Trial, err = strconv.Atoi(parts[len(parts)-1]); err != nil {
		return fmt.Errorf("manifest: the unit %q does not end in the number of a trial", id)
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
		ID: m.ID, Style: m.Style, Kind: m.Kind, Preset: m.Preset, Model: m.Model, Mode: m.Mode, Command: m.Command,
		Args: m.Args, Env: m.Env,
	}
	for _, r := range s.human {
		if r.variant == m.ID {
			v.Human.Scores = append(v.Human.Scores, r.Opinion)
		}
	}
	v.sumUp(rep.Units, rep.Results)
	return v
}
