package scale

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/bundle"
	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/queue"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// Fetched is a run that was fetched.
type Fetched struct {
	Dir string
	// NotRun says which units have no result, and why. The run's directory is one that was interrupted then.
	NotRun []string
}

// Fetch makes the directory of a run below a project's root, with the results of all units that have one, as if they
// had run here. A run that goes on is an error.
func Fetch(ctx context.Context, q *queue.Queue, id, root string, secrets *secret.Set) (Fetched, error) {
	s, err := q.Status(ctx, id)
	if err != nil {
		return Fetched{}, err
	}
	f := fetcher{Status: s, queue: q, root: root, secrets: secrets}
	done, err := f.fetch(ctx)
	if err != nil {
		return done, fmt.Errorf("fetch the run %s: %w", id, err)
	}
	return done, nil
}

type fetcher struct {
	queue.Status
	queue   *queue.Queue
	root    string
	secrets *secret.Set
	temp    string

	parts []*part
	jobs  map[string]result.Job
	run   *rundir.Run
}

// part is a unit's own run, with the only result in it.
type part struct {
	run  *rundir.Run
	unit result.Unit
	done queue.Done
}

func (f *fetcher) fetch(ctx context.Context) (done Fetched, err error) {
	if c := f.Counts(); f.End == nil && c.Running+c.Waiting > 0 {
		return done, fmt.Errorf("%d of its %d units have no result yet: wait, or cancel it", c.Running+c.Waiting,
			len(f.Units))
	}
	if _, err := os.Lstat(filepath.Join(rundir.Below(f.root), f.Run.ID)); !errors.Is(err, fs.ErrNotExist) {
		return done, cmp.Or(err, fmt.Errorf("%s is there already", filepath.Join(rundir.Below(f.root), f.Run.ID)))
	}
	// Beside the runs, so that files can be renamed.
	below := filepath.Join(f.root, ".llman", "sdd-eval", "queue")
	if err := disk.Tree(f.root).MkdirAll(below); err != nil {
		return done, err
	}
	if f.temp, err = disk.MkdirTemp(below); err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, disk.RemoveAll(f.temp)) }()
	for i, r := range f.Records {
		if why := f.notRun(r); why != "" {
			done.NotRun = append(done.NotRun, f.Units[i].ID+": "+why)
			continue
		}
		p, err := f.load(ctx, i, *r.Done)
		if err != nil {
			return done, fmt.Errorf("unit %s: %w", f.Units[i].ID, err)
		}
		f.parts = append(f.parts, p)
	}
	if len(f.parts) == 0 {
		return done, fmt.Errorf("no unit has a result: %s", strings.Join(done.NotRun[:min(3, len(done.NotRun))], "; "))
	}
	m, err := f.manifest()
	if err != nil {
		return done, err
	}
	text, err := f.parts[0].run.ReadFile("playbook.yaml", queue.MaxFile)
	if err != nil {
		return done, err
	}
	if f.run, err = rundir.Create(f.root, m, text, f.secrets); err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, f.run.Close()) }()
	done.Dir = f.run.Dir()
	for _, p := range f.parts {
		if err := f.take(ctx, p); err != nil {
			return done, fmt.Errorf("unit %s: %w", p.unit.ID, err)
		}
	}
	for _, id := range m.Jobs {
		if j, ok := f.jobs[id]; ok {
			if err := f.run.AppendJob(j); err != nil {
				return done, err
			}
		}
	}
	if len(done.NotRun) > 0 {
		if err := f.run.Stop(fmt.Sprintf("%d units have no result: %s", len(done.NotRun), done.NotRun[0])); err != nil {
			return done, err
		}
	}
	return done, f.run.Finish(rundir.StateInterrupted)
}

// notRun says why a unit has no result, empty if it has one.
func (f *fetcher) notRun(r queue.Record) string {
	switch {
	case r.Done != nil && r.Done.Archive != nil:
		return ""
	case r.Done != nil:
		return excerpt.Line(r.Done.Why, 300)
	case f.End != nil:
		return f.End.Kind + ": " + excerpt.Line(f.End.Why, 300)
	}
	return "nobody knows why"
}

// load fetches and checks the archive of a unit.
func (f *fetcher) load(ctx context.Context, n int, done queue.Done) (*part, error) {
	data, err := f.queue.Load(ctx, *done.Archive)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(f.temp, strconv.Itoa(n))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	if err := bundle.Unpack(data, dir); err != nil {
		return nil, err
	}
	runs, err := os.ReadDir(rundir.Below(dir))
	var ids []string
	for _, e := range runs {
		if e.IsDir() {
			ids = append(ids, e.Name())
		}
	}
	if err != nil || len(ids) != 1 {
		return nil, cmp.Or(err, fmt.Errorf("its archive has %d runs: want one", len(ids)))
	}
	run, err := rundir.Open(dir, ids[0], f.secrets)
	if err != nil {
		return nil, err
	}
	units, err := run.Units()
	if err != nil {
		return nil, err
	}
	if len(units) != 1 || units[0].ID != f.Units[n].ID || string(units[0].Outcome) != done.Outcome {
		return nil, fmt.Errorf("its archive, of %s, has not its result and no other", done.Worker)
	}
	jobs, err := run.Jobs()
	if err != nil {
		return nil, err
	}
	for _, j := range jobs {
		if f.jobs == nil {
			f.jobs = make(map[string]result.Job)
		}
		// A job before the units ran for each of them: what went worst counts.
		if had, ok := f.jobs[j.ID]; !ok || worse(j.Outcome, had.Outcome) {
			f.jobs[j.ID] = j
		}
	}
	return &part{run, units[0], done}, nil
}

func worse(a, b result.Outcome) bool {
	order := []result.Outcome{result.Error, result.Fail, result.Skip, result.Completed, result.Pass}
	return slices.Index(order, a) < slices.Index(order, b)
}

// manifest returns the manifest of the whole. Those of the units must be of one plan. Each knows of its own variant
// only what its agent was given.
func (f *fetcher) manifest() (rundir.Manifest, error) {
	m := f.parts[0].run.Manifest()
	m.Variants = slices.Clone(m.Variants)
	var ids []string
	for _, u := range f.Units {
		ids = append(ids, u.ID)
	}
	sandboxes, problems := make(map[string]bool), []string(nil)
	for _, p := range f.parts {
		own := p.run.Manifest()
		switch {
		case !slices.Equal(own.Units, ids):
			return m, fmt.Errorf("the archive of %s, of %s, is of another plan", p.unit.ID, p.done.Worker)
		case own.Playbook != m.Playbook || !maps.Equal(own.Inputs, m.Inputs) || own.Mode != m.Mode ||
			!reflect.DeepEqual(own.Judges, m.Judges) || !slices.Equal(own.Jobs, m.Jobs) ||
			len(own.Variants) != len(m.Variants):
			return m, fmt.Errorf("the archives of %s, of %s, and %s, of %s, are of different plans", f.parts[0].unit.ID,
				f.parts[0].done.Worker, p.unit.ID, p.done.Worker)
		}
		for i, v := range own.Variants {
			if v.ID == p.unit.Variant && m.Variants[i].ID == v.ID {
				m.Variants[i] = v
			}
		}
		sandboxes[own.Sandbox] = true
		for _, problem := range own.Problems {
			if !slices.Contains(problems, problem) {
				problems = append(problems, problem)
			}
		}
	}
	m.RunID, m.CreatedAt, m.Problems = f.Run.ID, f.Run.CreatedAt, problems
	m.Sandbox = strings.Join(slices.Sorted(maps.Keys(sandboxes)), " | ")
	m.Budget, m.Stopped = nil, ""
	if f.Run.MaxUSD > 0 {
		m.Budget = &rundir.Budget{
			MaxUSD: f.Run.MaxUSD, AssumedUSD: f.Run.AssumedUSD, SpentUSD: max(0, f.Money.SpentUSD),
		}
	}
	return m, nil
}

// take takes a unit's files and its result over into the whole.
func (f *fetcher) take(ctx context.Context, p *part) error {
	u := p.unit
	from, to := p.run.UnitDirs(u.Case, u.Variant, u.Trial), f.run.UnitDirs(u.Case, u.Variant, u.Trial)
	tree := disk.Tree(f.run.Dir())
	for _, dirs := range [][2]string{
		{from.Workspace, to.Workspace}, {from.Logs, to.Logs}, {from.Artifacts, to.Artifacts},
	} {
		if _, err := os.Lstat(dirs[0]); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		err := tree.RemoveAll(dirs[1])
		if err == nil {
			err = tree.MkdirAll(filepath.Dir(dirs[1]))
		}
		if err == nil {
			err = disk.Move(ctx, dirs[0], dirs[1])
		}
		if err != nil {
			return err
		}
	}
	// What is left is of the run as a whole: lists of templates, files of jobs.
	names, err := bundle.Files(p.run.Dir(), nil)
	if err != nil {
		return err
	}
	for _, name := range names {
		switch name {
		case "manifest.json", "playbook.yaml", "jobs.jsonl", rundir.ResultsFile:
			continue
		}
		if _, err := f.run.Size(name); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		data, err := p.run.ReadFile(name, queue.MaxFile)
		if err == nil {
			err = f.run.WriteFile(name, data)
		}
		if err != nil {
			return err
		}
	}
	return f.run.Append(u)
}
