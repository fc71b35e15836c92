package rundir

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/shard"
)

// Part says that a run has only some of the units of a plan, which other runs complete: [Merge] makes one run of all.
// The manifest's cases, variants and trials are those of the whole plan.
type Part struct {
	// Plan is the digest of the whole plan, see [Manifest.PlanDigest].
	Plan string `json:"plan"`
	// Shard says which shard the run is, from 1, Of how many; 0: its units were listed by their ids.
	Shard int `json:"shard,omitempty"`
	Of    int `json:"of,omitempty"`
	// By says how the plan was divided, for people, and Division is a digest of it: shards of one plan that were
	// divided otherwise do not fit together.
	By       string `json:"by"`
	Division string `json:"division,omitempty"`
	// Jobs are those of the whole plan outside the matrix. The run has only those before the units.
	Jobs []string `json:"jobs"`
	// MaxUSD is the budget of the whole plan, of which the run has its share; 0: there is none.
	MaxUSD float64 `json:"max_usd,omitempty"`
}

// String says which part it is: "shard 2 of 3".
func (p Part) String() string {
	if p.Of == 0 {
		return "a part of a plan"
	}
	return shard.Shard{Index: p.Shard, Of: p.Of}.String()
}

// TakePart leaves only those units in the manifest of a whole plan that keep reports, and the jobs before the units,
// and makes the rest known as p says. It sets the part's Plan and Jobs.
func (m *Manifest) TakePart(p Part, playbook []byte, before []string, keep func(id string) bool) {
	m.Playbook.Digest = digest(playbook)
	p.Plan, p.Jobs = m.PlanDigest(), m.Jobs
	m.Part, m.Jobs = &p, before
	m.Units = slices.DeleteFunc(slices.Clone(m.Units), func(id string) bool { return !keep(id) })
}

// Whole returns the manifest of the plan of which the run has a part, or the manifest itself.
func (m Manifest) Whole() Manifest {
	if m.Part != nil {
		m.Jobs, m.Units = m.Part.Jobs, m.allUnits()
		if m.Budget != nil {
			whole := *m.Budget
			whole.MaxUSD = m.Part.MaxUSD
			m.Budget = &whole
		}
		m.Part = nil
	}
	return m
}

// allUnits returns the ids of the units of the whole plan.
func (m *Manifest) allUnits() []string {
	var ids []string
	for _, c := range m.Cases {
		for _, v := range c.Variants {
			for trial := range m.Trials {
				ids = append(ids, m.Name+"/"+c.ID+"/"+v+"/"+strconv.Itoa(trial+1))
			}
		}
	}
	return ids
}

// PlanDigest returns a digest of what is run: the same for all parts of a plan, on whatever machine, and for the run
// that has all of it. Another playbook, other files that judge, another mode or another version give another one.
func (m Manifest) PlanDigest() string {
	if m.Part != nil {
		return m.Part.Plan
	}
	// What differs between machines, and how the run went.
	m.Version, m.State, m.FinishedAt, m.Totals = version, StateRunning, nil, nil
	m.RunID, m.CreatedAt, m.Sandbox, m.Again, m.Rejudged = "", time.Time{}, "", "", ""
	m.Budget, m.Stopped, m.Problems, m.Accepted = nil, "", nil, nil
	m.Variants = slices.Clone(m.Variants)
	for i := range m.Variants {
		m.Variants[i].Env = nil
	}
	text, err := jsonvalue.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("rundir: digest of a plan: %v", err)) // it has been written as JSON
	}
	return digest(text)
}

// Shown returns the manifest as reports show it: a part of a plan is a selection, with its own cases and variants
// alone.
func (m Manifest) Shown() Manifest {
	all := m.allUnits()
	if m.Part == nil || len(m.Units) == len(all) {
		return m
	}
	s := Selection{By: fmt.Sprintf("--shard %d/%d", m.Part.Shard, m.Part.Of), Of: len(all)}
	if m.Part.Of == 0 {
		s.By = "listed units"
	}
	if was := m.Selection; was != nil {
		if strings.HasSuffix(was.By, s.By) {
			return m // it is what is shown
		}
		s = Selection{By: was.By + " " + s.By, Of: was.Of}
	}
	m.Selection = &s
	own := make(map[[2]string]bool)
	for _, id := range m.Units {
		c, v, _ := splitUnit(id)
		own[[2]string{c, v}] = true
	}
	m.keepCases(func(c, v string) bool { return own[[2]string{c, v}] })
	return m
}

// checkPart returns an error for a part that no run has.
func (m *Manifest) checkPart() error {
	p := m.Part
	if p == nil {
		return nil
	}
	known := setOf(p.Jobs)
	for _, id := range m.Jobs {
		if !known[id] {
			return fmt.Errorf("part: the plan has no job %q", id)
		}
	}
	switch {
	case !sha256Digest.MatchString(p.Plan):
		return fmt.Errorf("part: the plan's digest is %q: want sha256: and 64 hexadecimal digits", p.Plan)
	case p.Of < 0 || p.Of > shard.Most || p.Shard < 0 || p.Shard > p.Of || p.Of > 0 && p.Shard == 0:
		return fmt.Errorf("part: there is no shard %d of %d", p.Shard, p.Of)
	case m.Again != "" || m.Rejudged != "":
		return errors.New("part: a run that repeats another has no parts")
	case p.MaxUSD < 0:
		return errors.New("part: want a sum of money in max_usd")
	}
	return checkIDs("job of the plan", p.Jobs, safeID)
}

// Empty reports whether the run is one of several shards, and the others have all the units of the plan.
func (m *Manifest) Empty() bool {
	return m.Part != nil && m.Part.Of > 1 && len(m.Units) == 0
}
