package scale

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/bundle"
	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/queue"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
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
}

func (f *fetcher) fetch(ctx context.Context) (done Fetched, err error) {
	if c := f.Counts(); f.End == nil && c.Running+c.Waiting > 0 {
		return done, fmt.Errorf("%d of its %d units have no result yet: wait, or cancel it", c.Running+c.Waiting,
			len(f.Units))
	}
	if _, err := os.Lstat(filepath.Join(rundir.Below(f.root), f.Run.ID)); !errors.Is(err, fs.ErrNotExist) {
		return done, cmp.Or(err, fmt.Errorf("%s is there already", filepath.Join(rundir.Below(f.root), f.Run.ID)))
	}
	below := filepath.Join(f.root, ".llman", "sdd-eval", "queue")
	if err := disk.Tree(f.root).MkdirAll(below); err != nil {
		return done, err
	}
	if f.temp, err = disk.MkdirTemp(below); err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, disk.RemoveAll(f.temp)) }()
	var parts []*rundir.Run
	for i, r := range f.Records {
		if why := f.notRun(r); why != "" {
			done.NotRun = append(done.NotRun, f.Units[i].ID+": "+why)
			continue
		}
		part, err := f.load(ctx, i, *r.Done)
		if err != nil {
			return done, fmt.Errorf("unit %s: %w", f.Units[i].ID, err)
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return done, fmt.Errorf("no unit has a result: %s", strings.Join(done.NotRun[:min(3, len(done.NotRun))], "; "))
	}
	run, err := rundir.Merge(ctx, f.root, f.Run.ID, f.Run.CreatedAt, parts, f.secrets)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	done.Dir = run.Dir()
	stopped := ""
	if n := len(done.NotRun); n > 0 {
		stopped = fmt.Sprintf("%d units have no result: %s", n, done.NotRun[0])
	}
	if f.Run.MaxUSD > 0 {
		err = run.Spend(rundir.Budget{
			MaxUSD: f.Run.MaxUSD, AssumedUSD: f.Run.AssumedUSD, SpentUSD: max(0, f.Money.SpentUSD),
		}, stopped)
	} else if stopped != "" {
		err = run.Stop(stopped)
	}
	if err != nil {
		return done, err
	}
	return done, run.Finish(rundir.StateInterrupted)
}

// notRun says why a unit has no result, empty if it has one.
func (f *fetcher) notRun(r queue.Record) string {
	switch {
	case r.Done != nil && r.Done.Archive != nil:
		return ""
	case r.Done != nil:
		return excerpt.Line(r.Done.Why, 300)
	case f.End != nil:
		return excerpt.Line(f.End.String(), 300)
	}
	return "nobody knows why"
}

// load fetches the archive of a unit, which is a run of that unit alone.
func (f *fetcher) load(ctx context.Context, n int, done queue.Done) (*rundir.Run, error) {
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
	run, err := rundir.OpenAt(dir)
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
	return run, nil
}
