package rundir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// OpenAt opens the run in a directory, wherever that is and however it is called, for reading.
func OpenAt(dir string) (*Run, error) {
	run, err := openAt(dir)
	if err != nil {
		return nil, fmt.Errorf("open the run in %s: %w", dir, err)
	}
	return run, nil
}

func openAt(dir string) (*Run, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, err
	}
	m, err := readManifestOf(dir, "")
	if err != nil {
		return nil, err
	}
	return &Run{id: m.RunID, dir: dir, tree: disk.Tree(dir), manifest: m}, nil
}

// PartsIn returns the runs in a directory that a person names: the directory itself, or the runs in it, or those of the
// project there.
func PartsIn(dir string) ([]*Run, error) {
	var dirs []string
	for _, place := range []string{dir, Below(dir)} {
		if isRun(place) {
			dirs = append(dirs, place)
			continue
		}
		entries, err := os.ReadDir(place)
		if err != nil && (place == dir || !errors.Is(err, fs.ErrNotExist)) {
			return nil, err
		}
		for _, e := range entries {
			if below := filepath.Join(place, e.Name()); e.IsDir() && !strings.HasPrefix(e.Name(), ".") && isRun(below) {
				dirs = append(dirs, below)
			}
		}
	}
	if dirs == nil {
		return nil, fault.Advise(fmt.Errorf("%s has no %s, nor has a directory in it: there is no run", dir,
			manifestFile),
			"name the directory that `sdd-eval run --shard` printed, as the job kept it")
	}
	runs := make([]*Run, len(dirs))
	for i, d := range dirs {
		var err error
		if runs[i], err = OpenAt(d); err != nil {
			return nil, err
		}
	}
	return runs, nil
}

func isRun(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, manifestFile))
	return err == nil && info.Mode().IsRegular()
}

// Merge makes a run below the project root that has what all the parts of a plan have, and returns it locked, with
// state running: the jobs after the units may be run, and then the caller calls [Run.Finish] with [Merged.State]. Id
// and created are those of the run; zero: an id as [NewID] makes it, and now. Parts of different plans, a shard that
// is there twice and a unit with two results are errors, which name the directories. What no part has, has not run,
// and the run says why.
func Merge(
	ctx context.Context, root, id string, created time.Time, parts []*Run, mask *secret.Set,
) (Merged, error) {
	m, err := merge(ctx, root, id, created, parts, mask)
	if err != nil {
		return Merged{}, fmt.Errorf("merge: %w", err)
	}
	return m, nil
}

// Merged is a run that was made of others.
type Merged struct {
	*Run
	// State is how it ends: interrupted if units have not run.
	State State
	// Missing says what the parts do not have, a line each; nil: nothing.
	Missing []string
}

func merge(
	ctx context.Context, root, id string, created time.Time, parts []*Run, mask *secret.Set,
) (_ Merged, err error) {
	if len(parts) == 0 {
		return Merged{}, errors.New("there are no runs")
	}
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b *Run) int { return cmp.Compare(a.shard(), b.shard()) })
	if err := fit(parts); err != nil {
		return Merged{}, err
	}
	set, err := collect(parts)
	if err != nil {
		return Merged{}, err
	}
	whole := parts[0].manifest.Whole()
	for _, r := range parts { // one without units has none
		if whole.Budget == nil {
			whole.Budget = r.manifest.Whole().Budget
		}
	}
	missing := set.describe(&whole, parts)
	playbook, err := parts[0].ReadFile(playbookFile, maxFile)
	if err != nil {
		return Merged{}, err
	}
	if digest(playbook) != whole.Playbook.Digest {
		return Merged{}, fmt.Errorf("%s is not the playbook of the run", filepath.Join(parts[0].dir, playbookFile))
	}
	whole.RunID, whole.CreatedAt = id, created
	run, err := Create(root, whole, playbook, mask)
	if err != nil {
		return Merged{}, err
	}
	defer func() {
		if err != nil { // what was begun is not a run to look at
			_, again := removeRun(run.tree, filepath.Dir(run.dir), run.ID())
			err = errors.Join(err, run.Close(), again)
		}
	}()
	merged := Merged{Run: run, State: StateFinished, Missing: missing}
	if missing != nil {
		merged.State = StateInterrupted
	}
	return merged, set.write(ctx, run, parts)
}

// shard is the number of a part, 0 if it is no shard.
func (r *Run) shard() int {
	if r.manifest.Part == nil {
		return 0
	}
	return r.manifest.Part.Shard
}

// name says which part a run is, and where.
func (r *Run) name() string {
	if r.manifest.Part == nil {
		return r.dir
	}
	return fmt.Sprintf("%s (%s)", r.manifest.Part, r.dir)
}

// fit returns an error unless runs are parts of one plan, and no shard is there twice.
func fit(parts []*Run) error {
	first := parts[0]
	for _, r := range parts {
		p, f := r.manifest.Part, first.manifest.Part
		switch {
		case p == nil:
			return fault.Advise(fmt.Errorf("%s is no part of a run: it has all units of its plan", r.dir),
				"name the directories of its shards; sdd-eval report shows a whole run")
		case f == nil: // told of the first
		case r.manifest.Name != first.manifest.Name:
			return fmt.Errorf("foreign: %s is of the playbook %s, and %s of %s", r.name(), r.manifest.Name,
				first.name(), first.manifest.Name)
		case p.Plan != f.Plan:
			return fault.Advise(fmt.Errorf("stale: %s and %s are of different plans: %s", first.name(), r.name(),
				strings.Join(difference(first.manifest, r.manifest), "; ")), "run the shards anew, all of one commit")
		case p.Of != f.Of || p.Division != f.Division:
			return fault.Advise(fmt.Errorf("foreign: %s and %s were not divided alike (%s; %s)", first.name(),
				r.name(), f.By, p.By), "run the shards anew, of the same number and with the same weights")
		}
	}
	for i, r := range parts[1:] {
		if before := parts[i]; r.shard() > 0 && r.shard() == before.shard() {
			return fault.Advise(fmt.Errorf("doubled: %s is also in %s", before.name(), r.dir), "name one of them")
		}
	}
	return nil
}

// difference says in what the plans of two runs differ.
func difference(a, b Manifest) []string {
	var in []string
	add := func(differs bool, what string) {
		if differs {
			in = append(in, what)
		}
	}
	add(a.Playbook.Digest != b.Playbook.Digest, "the playbook has changed")
	add(a.Mode != b.Mode, fmt.Sprintf("mode %s and mode %s", a.Mode, b.Mode))
	add(a.Tool != b.Tool, fmt.Sprintf("%s and %s", a.Tool, b.Tool))
	add(!slices.Equal(a.allUnits(), b.allUnits()), "other units were selected")
	for name, d := range a.Inputs {
		add(b.Inputs[name] != d, name+" differs")
	}
	for name := range b.Inputs {
		if _, ok := a.Inputs[name]; !ok {
			add(true, name+" differs")
		}
	}
	if slices.Sort(in); in == nil {
		in = append(in, "agents, cases or evaluators differ")
	}
	return in[:min(len(in), 5)]
}

// collected has the results of the parts.
type collected struct {
	units map[string]result.Unit // by id
	from  map[string]*Run        // the part that has a unit
	jobs  map[string]result.Job
	lost  []string // units of the plan that no part is to run
}

// collect reads the results of parts.
func collect(parts []*Run) (*collected, error) {
	c := &collected{units: make(map[string]result.Unit), from: make(map[string]*Run), jobs: make(map[string]result.Job)}
	listed := make(map[string]*Run)
	for _, r := range parts {
		units, err := r.Units()
		if err != nil {
			return nil, err
		}
		for _, id := range r.manifest.Units {
			if other := listed[id]; other != nil && r.shard() > 0 {
				return nil, fmt.Errorf("doubled: the unit %s is in %s and in %s", id, other.name(), r.name())
			}
			listed[id] = r
		}
		for _, u := range units {
			if other, ok := c.units[u.ID]; ok && other.Outcome != u.Outcome {
				return nil, fmt.Errorf("doubled: the unit %s ended as %s in %s and as %s in %s", u.ID, other.Outcome,
					c.from[u.ID].name(), u.Outcome, r.name())
			} else if !ok {
				c.units[u.ID], c.from[u.ID] = u, r
			}
		}
		jobs, err := r.Jobs()
		if err != nil {
			return nil, err
		}
		for _, j := range jobs { // each shard runs those that its units build on: the worst counts
			if other, ok := c.jobs[j.ID]; !ok || severity(j.Outcome) > severity(other.Outcome) {
				c.jobs[j.ID] = j
			}
		}
	}
	for _, id := range parts[0].manifest.allUnits() {
		if listed[id] == nil {
			c.lost = append(c.lost, id)
		}
	}
	if p := parts[0].manifest.Part; p.Of > 0 && len(parts) == p.Of && c.lost != nil {
		return nil, fmt.Errorf("lost: all of the %d shards are here, and none has the unit %s", p.Of, c.lost[0])
	}
	return c, nil
}

func severity(o result.Outcome) int {
	return slices.Index([]result.Outcome{result.Completed, result.Pass, result.Skip, result.Fail, result.Error}, o)
}

// describe adds to the manifest of the whole what the parts say of themselves, and returns what they lack.
func (c *collected) describe(whole *Manifest, parts []*Run) (missing []string) {
	var sandboxes, stopped []string
	env := make(map[string][]string)
	add := func(list *[]string, text string) {
		if text != "" && !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	whole.Problems, whole.Accepted, whole.Stopped = nil, nil, ""
	if whole.Budget != nil {
		whole.Budget.SpentUSD, whole.Budget.EnoughUSD = 0, 0
	}
	present := make(map[int]bool)
	for _, r := range parts {
		m := r.manifest
		present[r.shard()] = true
		add(&sandboxes, m.Sandbox)
		add(&stopped, m.Stopped)
		for _, p := range m.Problems {
			add(&whole.Problems, p)
		}
		for _, a := range m.Accepted {
			add(&whole.Accepted, a)
		}
		if whole.Budget != nil && m.Budget != nil {
			whole.Budget.SpentUSD += m.Budget.SpentUSD
		}
		for _, v := range m.Variants {
			for _, name := range v.Env {
				if !slices.Contains(env[v.ID], name) {
					env[v.ID] = append(env[v.ID], name)
				}
			}
		}
		if lacks := c.lacks(m.Units); lacks > 0 {
			missing = append(missing, fmt.Sprintf("%s ended before %d of its %d units had run", r.name(), lacks,
				len(m.Units)))
		} else if m.State != StateFinished { // nothing has searched its directory for secrets
			missing = append(missing, fmt.Sprintf("%s has not ended (%s), though all of its units have results",
				r.name(), m.State))
		}
	}
	if of := parts[0].manifest.Part.Of; of > 0 {
		for i := 1; i <= of; i++ {
			if !present[i] {
				missing = append(missing, fmt.Sprintf("lost: shard %d of %d is not among the directories", i, of))
			}
		}
	} else if len(c.lost) > 0 {
		missing = append(missing, fmt.Sprintf("lost: %d units, such as %s, are in none of the runs", len(c.lost),
			c.lost[0]))
	}
	whole.Variants = slices.Clone(whole.Variants)
	for i, v := range whole.Variants {
		whole.Variants[i].Env = env[v.ID]
		slices.Sort(whole.Variants[i].Env)
	}
	whole.Sandbox = strings.Join(sandboxes, "; ")
	if len(missing) > 0 {
		add(&stopped, strings.Join(missing, "; "))
	}
	whole.Stopped = strings.Join(stopped, "; ")
	return missing
}

// lacks returns how many of the units have no result.
func (c *collected) lacks(ids []string) (n int) {
	for _, id := range ids {
		if _, ok := c.units[id]; !ok {
			n++
		}
	}
	return n
}

// write copies the results into the run, with the files of their units.
func (c *collected) write(ctx context.Context, run *Run, parts []*Run) error {
	for _, r := range parts {
		if err := run.copyTemplates(r); err != nil {
			return err
		}
	}
	var group errgroup.Group
	group.SetLimit(16)
	for id, u := range c.units {
		group.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := run.copyUnit(ctx, c.from[id], u); err != nil {
				return fmt.Errorf("copy unit %s from %s: %w", id, c.from[id].dir, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, id := range run.manifest.Units { // in their order, as a run that does one after the other
		if u, ok := c.units[id]; ok {
			if err := run.Append(u); err != nil {
				return err
			}
		}
	}
	for _, id := range run.manifest.Jobs {
		if j, ok := c.jobs[id]; ok {
			if err := run.AppendJob(j); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyUnit copies the directories of a unit from another run, which were masked when that finished; else they are here.
func (r *Run) copyUnit(ctx context.Context, from *Run, u result.Unit) error {
	source, to := from.UnitDirs(u.Case, u.Variant, u.Trial).dirs(), r.UnitDirs(u.Case, u.Variant, u.Trial).dirs()
	tree := disk.Tree(r.dir)
	for i, dir := range source {
		if err := from.tree.Check(dir); err != nil {
			return err
		}
		info, err := os.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is no directory", dir)
		}
		if err == nil {
			err = tree.RemoveAll(to[i])
		}
		if err == nil {
			err = tree.MkdirAll(filepath.Dir(to[i]))
		}
		if err == nil {
			err = disk.Copy(ctx, dir, to[i])
		}
		if err == nil && from.manifest.State != StateFinished {
			_, err = r.mask.Scrub(ctx, to[i], nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copyTemplates copies the lists of the templates of workspaces, which are called by their digests.
func (r *Run) copyTemplates(from *Run) error {
	dir := filepath.Join(from.dir, templatesDir)
	err := from.tree.Check(dir)
	var entries []os.DirEntry
	if err == nil {
		entries, err = os.ReadDir(dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		name := templatesDir + "/" + e.Name()
		if _, sizeErr := r.Size(name); err != nil || sizeErr == nil {
			continue
		}
		var data []byte
		if data, err = from.ReadFile(name, maxFile); err == nil {
			err = r.WriteFile(name, data)
		}
	}
	return err
}

var validName = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)

// ValidName reports whether a name can end the id of a run.
func ValidName(name string) bool { return validName.MatchString(name) }
