package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// Finished is how a run ended.
type Finished struct {
	ID, Dir string
	Outcome result.Outcome
	// Listed is how many units there are in all.
	Listed int
	// Judged is how many units and jobs were more than skipped.
	Judged int
	// Units and Jobs are in listed order. What was interrupted is not among them.
	Units []result.Unit
	Jobs  []result.Job
}

// Run takes a playbook through a run, or finishes one. An [*InputError] says that nothing was run. After any other error,
// and after the end of ctx, what is known stands in the run's directory, which Finished names if there is one.
func Run(ctx context.Context, o Options) (*Finished, error) {
	p := &pipeline{Options: o}
	if err := p.open(); err != nil {
		if p.dir != nil {
			err = errors.Join(err, p.dir.Close())
		}
		return nil, &InputError{err}
	}
	done := &Finished{ID: p.dir.ID(), Dir: p.dir.Dir(), Listed: len(p.plan.Units)}
	err := p.run(ctx)
	done.Units, done.Jobs = p.ended()
	done.Outcome = p.outcome(done)
	state := rundir.StateFinished
	if interrupted(ctx) {
		state = rundir.StateInterrupted
	}
	err = errors.Join(err, p.dir.Finish(state))
	if err == nil && !interrupted(ctx) {
		err = p.closeReports(ctx)
	}
	return done, errors.Join(err, p.sweep(ctx), p.dir.Close())
}

// pipeline is one run.
type pipeline struct {
	Options
	name   string // of the playbook's file, as results cite it
	data   []byte // its text
	plan   *playbook.Plan
	runner *engine.Runner
	dir    *rundir.Run

	earlier     []result.Unit // finished before the run was resumed
	earlierJobs []result.Job
	reported    bool // a job made reports
}

// open checks all that can be checked before anything runs, then makes or opens the run's directory.
func (p *pipeline) open() error {
	if err := p.load(); err != nil {
		return err
	}
	if name, found := p.Secrets.Contains(p.data); found {
		return fmt.Errorf("%s contains the value of %s: a playbook names presets, never secrets", p.name, name)
	}
	check, err := engine.New(p.plan, p.config())
	if err != nil {
		return err
	}
	env, err := check.Accounts()
	if err != nil {
		return err
	}
	if name, found := p.Secrets.Contains(p.data); found {
		return fmt.Errorf("%s contains the value of %s: a playbook names presets, never secrets", p.name, name)
	}
	if err := p.checkJudge(); err != nil {
		return err
	}
	if p.dir == nil {
		p.dir, err = rundir.Create(p.Root, p.manifest(env), p.data, p.Secrets)
		if err != nil {
			return err
		}
	}
	p.runner, err = engine.New(p.plan, p.config())
	if err == nil {
		p.runner.Restore(p.earlier, p.earlierJobs)
	}
	return err
}

// load reads the playbook: the user's file, or the copy in the directory of the run that is to be finished.
func (p *pipeline) load() (err error) {
	if p.Resume != "" {
		err = p.loadCopy()
	} else {
		err = p.loadFile()
	}
	if err != nil {
		return err
	}
	pb, err := playbook.Parse(p.name, p.data, kinds.All())
	if err != nil {
		return err
	}
	p.plan, err = pb.Plan()
	return err
}

// loadFile reads the user's playbook. Its own errors cite it as the user wrote it, results as it lies below the root.
func (p *pipeline) loadFile() error {
	shown, err := filepath.Rel(p.Dir, p.Playbook)
	if err != nil || !filepath.IsLocal(shown) {
		shown = p.Playbook
	}
	if _, err := playbook.LoadAs(p.Playbook, filepath.ToSlash(shown), kinds.All()); err != nil {
		return err
	}
	if p.data, err = os.ReadFile(p.Playbook); err != nil {
		return err
	}
	p.name = nameBelow(p.Root, p.Playbook)
	return nil
}

// nameBelow returns the path of a file below root, with slashes, or else its absolute path.
func nameBelow(root, file string) string {
	// Both without links, so that a project that is reached through one is still one.
	if real, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil {
		file = filepath.Join(real, filepath.Base(file))
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	if rel, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return file
}

// maxPlaybook is how large a playbook can be, in bytes; a larger one was refused when the run began.
const maxPlaybook = 1 << 20

// loadCopy opens the run that is to be finished.
func (p *pipeline) loadCopy() (err error) {
	if p.dir, err = rundir.Resume(p.Root, p.Resume, p.Secrets); err != nil {
		return err
	}
	m := p.dir.Manifest()
	p.name, p.Mode = m.Playbook.Path, engine.Mode(m.Mode)
	if p.data, err = p.dir.ReadFile("playbook.yaml", maxPlaybook); err != nil {
		return err
	}
	if p.earlier, err = p.dir.Units(); err != nil {
		return err
	}
	p.earlierJobs, err = p.dir.Jobs()
	return err
}

// config is how the engine runs the plan.
func (p *pipeline) config() engine.Config {
	c := engine.Config{
		Mode: p.Mode, Root: p.Root, Cassettes: p.Cassettes, ConfigDir: p.ConfigDir, Source: p.Root,
		Secrets: p.Secrets, Getenv: p.Getenv, Environ: p.Environ, Watch: p.Watch.Activity, Report: p.report,
		RecordCommand: func(playbook.Unit) string { return "sdd-eval run --playbook " + p.name + " --mode record" },
	}
	if p.dir != nil {
		c.RunID, c.RunDir = p.dir.ID(), p.dir.Dir()
		c.Place = func(u playbook.Unit) (engine.Place, error) {
			place, err := p.dir.MakePlace(u.Case.ID, u.Variant.ID, u.Trial)
			return engine.Place(place), err
		}
	}
	return c
}

// manifest describes the run before it begins. Env has the names of variables by variant.
func (p *pipeline) manifest(env map[string][]string) rundir.Manifest {
	m := rundir.ManifestOf(p.plan)
	m.CreatedAt = time.Now().UTC()
	m.RunID = rundir.NewID(m.CreatedAt, m.Name, p.Getenv("TEST_RUN_ID"))
	m.Tool, m.Mode, m.Sandbox = p.Tool, string(p.Mode), "none"
	m.Playbook.Path = p.name
	for i, v := range m.Variants {
		m.Variants[i].Env = env[v.ID]
	}
	return m
}

// run runs what has not run yet. It returns an error if a result could not be recorded.
func (p *pipeline) run(ctx context.Context) error {
	p.Watch.Plan(len(p.plan.Units), p.earlier)
	for _, note := range p.dir.Notes() {
		p.Watch.Note(note)
	}
	if !p.Unconfined && p.Mode != engine.Replay {
		p.Watch.Note("warning: this version does not confine agents: they run with your rights (--sandbox none says that you know)")
	}
	if err := p.runJobs(ctx, p.plan.Before()); err != nil {
		return err
	}
	if err := p.runUnits(ctx); err != nil {
		return err
	}
	return p.runJobs(ctx, p.plan.After())
}

// runJobs runs jobs outside the matrix.
func (p *pipeline) runJobs(ctx context.Context, jobs []playbook.Job) error {
	for _, j := range jobs {
		if interrupted(ctx) {
			return nil
		}
		if p.runner.Ran(j.ID) {
			continue
		}
		res := p.runner.Job(ctx, j)
		if interrupted(ctx) && res.Outcome == result.Error {
			return nil // it was cut short
		}
		if err := p.dir.AppendJob(res); err != nil {
			return err
		}
		p.Watch.JobEnds(res)
	}
	return nil
}

// runUnits runs the units in listed order, several at a time.
func (p *pipeline) runUnits(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group errgroup.Group
	group.SetLimit(max(p.Parallel, 1))
	for _, u := range p.plan.Units {
		if slices.ContainsFunc(p.earlier, func(e result.Unit) bool { return e.ID == u.ID() }) {
			continue
		}
		group.Go(func() error {
			if interrupted(ctx) {
				return nil
			}
			err := p.runUnit(ctx, u)
			if err != nil { // nothing that follows could be recorded either
				cancel(err)
			}
			return err
		})
	}
	return group.Wait()
}

func (p *pipeline) runUnit(ctx context.Context, u playbook.Unit) error {
	p.Watch.UnitStarts(u.ID())
	res := p.runner.Unit(ctx, u, io.Discard) // all of its notes are in its session log
	if interrupted(ctx) && res.Outcome == result.Error {
		return nil // it was cut short, and nothing is known
	}
	if err := p.dir.Append(res); err != nil {
		return err
	}
	p.Watch.UnitEnds(res)
	return nil
}

// ended returns what has a result, now and before the run was resumed.
func (p *pipeline) ended() ([]result.Unit, []result.Job) {
	units, err := p.dir.Units()
	if err != nil {
		p.Watch.Note(err.Error())
	}
	jobs, err := p.dir.Jobs()
	if err != nil {
		p.Watch.Note(err.Error())
	}
	return units, jobs
}
