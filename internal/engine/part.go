package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/shard"
)

// FindShard finds out which shard of the plan is run: by what a flag says, empty if nothing, and by the environment. A
// note says what a person should know.
func (c *Config) FindShard(flag string, tests bool) (note string, err error) {
	c.Shard, note, err = shard.Find(shard.Words{Flag: flag, Getenv: c.Getenv, Tests: tests})
	return note, err
}

// part is which of the plan's units are run, where others run the others.
type part struct {
	rundir.Part
	// all reports whether a unit is one of the plan that is divided: of those that the user selected.
	all func(plan.Unit) bool
	// own reports whether a unit of the plan is one of the part; nil: the caller says which.
	own   func(plan.Unit) bool
	units int     // that it has
	share float64 // of the budget
	note  string  // for people
}

// divide takes the part of the plan that is run.
func (r *Runner) divide() error {
	if k := r.cfg.Keep; k != nil && k.Resumed != nil {
		return r.resumePart(k.Resumed.Manifest())
	}
	all := func(plan.Unit) bool { return true }
	if k := r.cfg.Keep; k != nil && k.SelectedBy != "" && r.cfg.Selected != nil {
		all = r.cfg.Selected
	}
	if r.cfg.Shard.Of == 0 {
		if k := r.cfg.Keep; k != nil && k.Part != nil {
			r.take(&part{Part: rundir.Part{By: "by their ids"}, all: all, share: 1}, k.Part)
		}
		return nil
	}
	if k := r.cfg.Keep; k != nil && (k.Again != "" || k.Rejudged != nil) {
		return fmt.Errorf("%s: a run that repeats another is not divided: run it without that", r.cfg.Shard.From)
	}
	var ids []string
	for _, u := range r.plan.Units {
		if all(u) {
			ids = append(ids, u.ID())
		}
	}
	if len(ids) == 0 {
		return fmt.Errorf("%s: %s has no units that could be divided", r.cfg.Shard.From, r.pb.File)
	}
	weights, err := r.weights()
	if err != nil {
		return err
	}
	s := r.cfg.Shard
	d := shard.Divide(shard.TasksOf(ids, weights), s.Of)
	p := &part{
		Part: rundir.Part{Shard: s.Index, Of: s.Of, By: d.By(), Division: d.Digest()}, all: all,
		share: d.Share(s.Index), units: d.Units(s.Index),
	}
	p.note = fmt.Sprintf("%s (%s): %d of %d units, divided %s", s, s.From, p.units, len(ids), d.By())
	if p.units == 0 {
		p.note = fmt.Sprintf("%s (%s): none of the %d units is this shard's: nothing is run", s, s.From, len(ids))
	}
	own := make(map[string]bool)
	for _, id := range d.Tasks(s.Index) {
		own[id] = true
	}
	r.take(p, func(u plan.Unit) bool { return own[u.Playbook+"/"+u.Case.ID] })
	return nil
}

// take has the runner run a part of the units that are selected, those that own reports.
func (r *Runner) take(p *part, own func(plan.Unit) bool) {
	p.own = own
	r.part = p
	if selected := r.cfg.Selected; own != nil && selected != nil {
		r.cfg.Selected = func(u plan.Unit) bool { return own(u) && selected(u) }
	} else if own != nil {
		r.cfg.Selected = own
	}
}

// resumePart takes the part of the plan that a run has which is resumed.
func (r *Runner) resumePart(m rundir.Manifest) error {
	was := rundir.Part{}
	if m.Part != nil {
		was = *m.Part
	}
	if s := r.cfg.Shard; s.Of > 0 && (s.Index != was.Shard || s.Of != was.Of) {
		return fmt.Errorf("%s says %s, and the run %s is not that one: a run goes on as it began", s.From, s, m.RunID)
	}
	if m.Part == nil {
		return nil
	}
	r.part = &part{Part: was, share: 1, units: len(m.Units)} // its budget is the share
	r.part.note = fmt.Sprintf("%s: %s", was, m.Selected())
	return nil
}

// weights reads how long units take, if somebody has written that down.
func (r *Runner) weights() (shard.Weights, error) {
	path := r.cfg.Weights
	if path == "" {
		path = strings.TrimSuffix(r.pb.File, filepath.Ext(r.pb.File)) + ".weights.json"
		if !filepath.IsAbs(path) {
			path = filepath.Join(r.cfg.Root, path)
		}
	}
	data, err := disk.ReadRegular(path, shard.MaxWeights)
	if errors.Is(err, fs.ErrNotExist) && r.cfg.Weights == "" {
		return shard.Weights{}, nil
	}
	if err != nil {
		return shard.Weights{}, fmt.Errorf("weights of units: %w", err)
	}
	w, err := shard.ParseWeights(data)
	if err != nil {
		return shard.Weights{}, fmt.Errorf("weights of units: %s: %w", path, err)
	}
	return w, nil
}

// InShard reports whether it is this process that runs a unit if anybody does.
func (r *Runner) InShard(u plan.Unit) bool {
	return r.part == nil || r.part.own == nil || r.part.own(u)
}

// chosen reports whether a unit is one that the user selected, whoever runs it.
func (r *Runner) chosen(u plan.Unit) bool {
	if r.part != nil {
		return r.part.all(u)
	}
	return r.cfg.Selected == nil || r.cfg.Selected(u)
}

// Before returns the jobs outside the matrix that are run before the units: each part runs those, since its units may
// build on what they make; a shard without units none.
func (r *Runner) Before() []plan.Job {
	if r.part != nil && r.part.Of > 0 && r.part.units == 0 {
		return nil
	}
	return r.plan.Before()
}

// After returns the jobs outside the matrix that are run after the units. They are about all of these: those of a run
// that is kept run when its parts are merged, the others in the first shard.
func (r *Runner) After() []plan.Job {
	if r.part != nil && (r.cfg.Keep != nil || r.part.Shard != 1) {
		return nil
	}
	return r.plan.After()
}

// takePart makes the manifest of the plan that of the part that is run.
func (r *Runner) takePart(m *rundir.Manifest, playbook []byte) {
	if r.part == nil {
		return
	}
	r.part.MaxUSD = r.wholeBudget().MaxUSD
	var before []string
	for _, j := range r.Before() {
		before = append(before, j.ID)
	}
	own := make(map[string]bool)
	for _, u := range r.plan.Units {
		if r.InShard(u) {
			own[u.ID()] = true
		}
	}
	m.TakePart(r.part.Part, playbook, before, func(id string) bool { return own[id] })
}
