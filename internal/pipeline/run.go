package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/testrun"
	"github.com/sdd-eval/sdd-eval/internal/tracing"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// Finished is how a run ended.
type Finished struct {
	ID, Dir string
	// Verdict is its verdict, as in its reports.
	Verdict result.Run
	// Listed is how many units there are in all.
	Listed int
	// Resumable tells that units are left to run.
	Resumable bool
	// Units and Jobs are in listed order. What was interrupted is not among them.
	Units []result.Unit
	Jobs  []result.Job
}

// Run takes a playbook through a run, or finishes one. An [*InputError] says that nothing was run. After any other error,
// and after the end of ctx, what is known stands in the run's directory, which Finished names if there is one.
func Run(ctx context.Context, o Options) (*Finished, error) {
	p := &pipeline{Options: o, models: engine.Models(o.Getenv)}
	if err := p.open(ctx); err != nil {
		if p.dir != nil {
			err = errors.Join(err, p.dir.Close())
		}
		return nil, err
	}
	done := &Finished{ID: p.dir.ID(), Dir: p.dir.Dir(), Listed: len(p.plan.Units)}
	err := errors.Join(p.run(ctx), p.ended(done))
	if warning := p.tracer.Close(); warning != nil {
		p.Watch.Note("warning: tracing: " + warning.Error())
	}
	state := rundir.StateFinished
	if err != nil || ctx.Err() != nil {
		state = rundir.StateInterrupted
	}
	done.Resumable = state == rundir.StateInterrupted
	leak := p.scrub(ctx)
	if leak != nil {
		err = errors.Join(err, leak, p.dir.Finish(state, leak.Error()))
	} else {
		err = errors.Join(err, p.dir.Finish(state))
	}
	done.Verdict = p.dir.Manifest().Judge(done.Units, done.Jobs)
	if state == rundir.StateFinished {
		err = errors.Join(err, p.closeReports(ctx))
	}
	return done, errors.Join(err, p.dir.Close())
}

// pipeline is one run.
type pipeline struct {
	Options
	name   string // of the playbook's file, as results cite it
	data   []byte // its text
	plan   *playbook.Plan
	runner *engine.Runner
	tracer *tracing.Tracer // nil: no traces are wanted
	// models returns the client of all models that are asked in the run: evaluators and the AI judge share its budget.
	models func() (llm.Asker, error)
	// confined tells what confines agents and their code.
	confined confine.Held
	dir      *rundir.Run
	masked   int // the secrets that were known before the first unit

	earlier     []result.Unit // finished before the run was resumed
	earlierJobs []result.Job
}

// open checks all that can be checked before anything runs, then makes or opens the run's directory. What the user has to
// mend is an [*InputError].
func (p *pipeline) open(ctx context.Context) (err error) {
	if p.Resume != "" {
		if p.dir, err = rundir.Resume(p.Root, p.Resume, p.Secrets); err != nil {
			return err
		}
	}
	env, err := p.check()
	if err != nil {
		return &InputError{err}
	}
	// What confines the agents and their code is known before anything is made for them.
	if p.confined, err = p.runner.Sandbox(ctx); err != nil {
		return &InputError{err}
	}
	if p.dir == nil {
		name, err := testrun.ID(p.Getenv)
		if err != nil {
			return &InputError{err}
		}
		if p.dir, err = rundir.Create(p.Root, p.manifest(name, env), p.data, p.Secrets); err != nil {
			return err
		}
	}
	p.runner.Keep(engine.Archive{RunID: p.dir.ID(), RunDir: p.dir.Dir(), Place: func(u playbook.Unit) (engine.Place, error) {
		place, err := p.dir.MakePlace(u.Case.ID, u.Variant.ID, u.Trial)
		return engine.Place(place), err
	}})
	p.runner.Restore(p.earlier, p.earlierJobs)
	if p.tracer, err = tracing.Open(tracing.Config{Getenv: p.Getenv, RunID: p.dir.ID(), Version: p.Tool, Secrets: p.Secrets}); err != nil {
		return &InputError{err}
	}
	p.masked = p.Secrets.Len()
	return nil
}

// check loads the playbook, makes its runner and resolves what it depends on. It returns the names of the variables that agents are given,
// by variant.
func (p *pipeline) check() (map[string][]string, error) {
	if err := p.load(); err != nil {
		return nil, err
	}
	sandbox, err := engine.OpenSandbox(p.plan.Playbook, p.Sandbox)
	if err != nil {
		return nil, err
	}
	if p.runner, err = engine.New(p.plan, p.config(sandbox)); err != nil {
		return nil, err
	}
	env, err := p.runner.Accounts(p.earlier)
	if err != nil {
		return nil, err
	}
	if name, found := p.Secrets.Contains(p.data); found {
		return nil, fmt.Errorf("%s contains the value of %s: a playbook names presets, never secrets", p.name, name)
	}
	// The one that sends is opened when the run has an id; what is wrong with the environment is told before that.
	tracer, err := tracing.Open(tracing.Config{Getenv: p.Getenv, Secrets: p.Secrets})
	if err != nil {
		return nil, err
	}
	return env, errors.Join(tracer.Close(), p.checkJudge())
}

// load reads the playbook: the user's file, or the copy in the directory of the run to finish.
func (p *pipeline) load() (err error) {
	if p.Resume != "" {
		err = p.loadCopy()
	} else {
		err = p.loadFile()
	}
	if err != nil {
		return err
	}
	path := p.Playbook
	if path == "" { // a run that is finished has only its name for it
		path = p.name
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.Root, path)
	}
	pb, err := playbook.Read(playbook.Source{Path: path, Name: p.name, Root: p.Root, Data: p.data}, kinds.All())
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
	pb, err := playbook.Read(playbook.Source{Path: p.Playbook, Name: filepath.ToSlash(shown), Root: p.Root}, kinds.All())
	if err != nil {
		return err
	}
	p.data, p.name = pb.Text, nameBelow(p.Root, p.Playbook)
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

// loadCopy takes over how the run began.
func (p *pipeline) loadCopy() (err error) {
	m := p.dir.Manifest()
	p.name, p.Cassettes = m.Playbook.Path, m.Cassettes
	if p.Mode, err = engine.ParseMode(m.Mode, engine.Live, p.Getenv); err != nil {
		return err
	}
	if p.data, err = p.dir.ReadFile("playbook.yaml", doc.MaxSize); err != nil {
		return err
	}
	if p.earlier, err = p.dir.Units(); err != nil {
		return err
	}
	p.earlierJobs, err = p.dir.Jobs()
	return err
}

// config is how the engine runs the plan.
func (p *pipeline) config(sandbox *confine.Sandbox) engine.Config {
	return engine.Config{
		Mode: p.Mode, Stale: p.Stale, Root: p.Root, Cassettes: p.Cassettes, ConfigDir: p.ConfigDir, Source: p.Root,
		Sandbox: sandbox, Secrets: p.Secrets, Getenv: p.Getenv, Environ: p.Environ, Watch: p.Watch.Activity, Report: p.report,
		LLMJudge: p.LLMJudge, RecordJudges: p.RecordJudges, Models: p.models,
		Command: p.command,
	}
}

// command returns the command that runs the playbook, and with it the unit, in a mode.
func (p *pipeline) command(m engine.Mode, _ playbook.Unit) string { return p.Command(m) }

// manifest describes the run before it begins. Its id ends in name; env has the names of variables by variant.
func (p *pipeline) manifest(name string, env map[string][]string) rundir.Manifest {
	m := rundir.ManifestOf(p.plan)
	m.CreatedAt = time.Now().UTC()
	m.RunID = rundir.NewID(m.CreatedAt, m.Name, name)
	m.Tool, m.Mode, m.Sandbox = p.Tool, string(p.Mode), p.confined.String()
	m.Playbook.Path, m.Cassettes = p.name, p.Cassettes
	for i, v := range m.Variants {
		m.Variants[i].Env = env[v.ID]
	}
	return m
}

// run runs what has not run yet. It returns an error if a result could not be recorded.
func (p *pipeline) run(ctx context.Context) error {
	p.Watch.Plan(len(p.plan.Units), p.earlier)
	for _, note := range slices.Concat(p.dir.Notes(), p.runner.Notes(ctx)) {
		p.Watch.Note(note)
	}
	switch held := p.confined; {
	case held.Kind == confine.None:
		p.Watch.Note("warning: nothing confines the agents and their code (sandbox none): they run with all of your rights")
	case len(held.PassedOver) > 0:
		p.Watch.Note(fmt.Sprintf("sandbox %s; %s", held, strings.Join(held.PassedOver, "; ")))
	case len(held.Open) > 0:
		p.Watch.Note("sandbox " + held.String())
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
		if ctx.Err() != nil {
			return nil
		}
		if p.runner.Ran(j.ID) {
			continue
		}
		res := p.runner.Job(ctx, j)
		if ctx.Err() != nil && res.Outcome == result.Error {
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
	done := make(map[string]bool, len(p.earlier))
	for _, e := range p.earlier {
		done[e.ID] = true
	}
	for _, u := range p.plan.Units {
		if done[u.ID()] {
			continue
		}
		group.Go(func() error {
			if ctx.Err() != nil {
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
	if ctx.Err() != nil && res.Outcome == result.Error {
		return nil // it was cut short, and nothing is known
	}
	if err := p.dir.Append(res); err != nil {
		return err
	}
	p.tracer.Unit(res)
	p.Watch.UnitEnds(res)
	return nil
}

// ended reads what has a result, now and from before the run was resumed.
func (p *pipeline) ended(done *Finished) error {
	var unitsErr, jobsErr error
	done.Units, unitsErr = p.dir.Units()
	done.Jobs, jobsErr = p.dir.Jobs()
	return errors.Join(unitsErr, jobsErr)
}
