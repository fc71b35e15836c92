package skill

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

const (
	// queryRuns is how often each query is asked, and queryRate in which part of that it must be right.
	queryRuns = 3
	queryRate = 0.5

	// Doubted is how many queries that are to trigger something are asked before the others, and how many of them must
	// trigger nothing for all to be in doubt.
	Doubted = 5
)

// TriggersName is the name of the playbook of queries.
func (s *Suite) TriggersName() string { return s.Slug() + "-triggers" }

// rivals finds the other skills that queries name, once each. What cannot be installed leaves its queries out.
func (r *reader) rivals() error {
	wanted := make(map[string]bool)
	for _, q := range r.Queries {
		for _, name := range q.Skills {
			wanted[name] = wanted[name] || name != r.Name
		}
	}
	delete(wanted, r.Name)
	if len(wanted) == 0 || r.Dir == "" {
		return nil
	}
	all, err := r.skills(".")
	if err != nil {
		return err
	}
	r.Rivals = make(map[string]string)
	for name := range wanted {
		var dirs []string
		for _, c := range all {
			hidden := strings.HasPrefix(c.dir, ".") && c.dir != "." // agents' own directories have copies
			if c.name == name && c.dir != r.Dir && !hidden {
				dirs = append(dirs, c.dir)
			}
		}
		if len(dirs) == 1 && folderName.MatchString(name) {
			r.Rivals[name] = dirs[0]
		}
	}
	for i, q := range r.Queries {
		for _, name := range q.Skills {
			if r.Rivals[name] == "" && name != r.Name && q.Absent == "" {
				r.Queries[i].Absent = name
				what := fmt.Sprintf("it expects the skill %q, of which the repository does not have just one: it is "+
					"not asked", name)
				r.add(Warning, "routing", q.Position, q.ID, what, "")
			}
		}
	}
	return nil
}

// Asked returns the queries that can be asked. The first that are to trigger something come before the others, so that
// an instrument that shows nothing is found out soon.
func (s *Suite) Asked() []Query {
	var first, others []Query
	seen := make(map[string]bool)
	for _, q := range s.Queries {
		id := strings.ToLower(q.ID)
		switch {
		case seen[id] || q.Absent != "":
		case q.Skills != nil && len(first) < Doubted:
			first = append(first, q)
		default:
			others = append(others, q)
		}
		seen[id] = true
	}
	return append(first, others...)
}

// GenerateTriggers writes a playbook of the queries for agents that have the skill, and those that the queries name,
// and returns its absolute path. It sets o.Dir and o.Arms.
func (s *Suite) GenerateTriggers(ctx context.Context, o Options) (string, error) {
	if err := s.makeDir(&o); err != nil {
		return "", err
	}
	arm, err := s.arm(ctx, With, false)
	if err != nil {
		return "", err
	}
	rivals, err := s.InstalledRivals(ctx)
	if err != nil {
		return "", err
	}
	arm.Rivals = make(map[string]string)
	for name, t := range rivals {
		if arm.Rivals[name], err = s.copy(t, name); err != nil {
			return "", fmt.Errorf("skill %s: %w", name, err)
		}
	}
	o.Arms = []Arm{arm}
	text, err := s.TriggersPlaybook(o)
	if err != nil {
		return "", err
	}
	return s.write(o.Dir, s.TriggersName(), text)
}

// InstalledRivals returns what agents get of the other skills that queries name, by their names.
func (s *Suite) InstalledRivals(ctx context.Context) (map[string]Tree, error) {
	all := make(map[string]Tree)
	for name, dir := range s.Rivals {
		t, err := Install(ctx, workspace.Source{Dir: s.File(dir)}, plan.SkillFile)
		if err != nil {
			return nil, fmt.Errorf("skill %s: %w", name, err)
		}
		all[name] = t
	}
	return all, nil
}

// TriggersPlaybook returns a playbook of the queries that can be asked, of which there must be one. A session ends when
// it is sure which skill it turned to.
func (s *Suite) TriggersPlaybook(o Options) ([]byte, error) {
	queries := s.Asked()
	if len(queries) == 0 {
		return nil, errors.New("no query can be asked")
	}
	w := &writer{dir: o.Dir, root: s.Root}
	w.line(0, "# Written by %s from %s.", o.By, strings.Join(s.queryFiles(), ", "))
	w.line(0, "name: %s", s.TriggersName())
	w.line(0, "limits: {timeout: %s, until: %s}", sessionLimit, plan.UntilDecided)
	w.line(0, "trials: {count: %d, pass_rate: %g}", queryRuns, queryRate)
	if err := w.arms(o, s.Folder()); err != nil {
		return nil, err
	}
	w.line(0, "cases:")
	for _, q := range queries {
		w.query(q, s.Name, s.Folder(), slices.Sorted(maps.Keys(s.Rivals)))
	}
	return w.text.Bytes(), nil
}

// queryFiles are the files that have queries, below the root.
func (s *Suite) queryFiles() []string {
	if len(s.Triggers) == 0 {
		return []string{s.Evals}
	}
	return s.Triggers
}

// query writes a case. Own is the name of the skill, which is in a folder, and rivals are those of others.
func (w *writer) query(q Query, own, folder string, rivals []string) {
	w.line(1, "- id: %s", q.ID)
	w.line(2, "prompt: %s", quote(q.Prompt))
	installed := append([]string{folder}, rivals...)
	var fires, silent []string
	for _, name := range q.Skills {
		if name == own {
			name = folder
		}
		fires = append(fires, name)
	}
	switch {
	case len(fires) > 1: // one of them is enough
		rate := math.Floor(100/float64(len(fires))) / 100
		w.line(2, "evaluators: [{type: activation, fires: %s, threshold: %g}]", quoteAll(fires), rate)
		return
	case q.Routing:
		silent = slices.DeleteFunc(installed, func(name string) bool { return slices.Contains(fires, name) })
	case fires == nil:
		silent = []string{folder}
	}
	if fires != nil {
		w.line(2, "fires: %s", quoteAll(fires))
	}
	if len(silent) > 0 {
		w.line(2, "silent: %s", quoteAll(silent))
	}
}

// rivalsOf returns the places of further skills in a playbook, as entries of workspace.add.
func (w *writer) rivalsOf(a Arm, place string) (adds []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(a.Rivals)) {
		from, err := w.path(a.Rivals[name])
		if err != nil {
			return nil, err
		}
		adds = append(adds, fmt.Sprintf("{from: %s, to: %s}", from, quote(path.Join(place, name))))
	}
	return adds, nil
}
