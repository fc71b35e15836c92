package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/environ"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// progress remembers what has passed, on which other jobs may build. What did not run has not passed.
type progress struct {
	mu   sync.Mutex
	ran  []string // ids of jobs outside the matrix
	jobs []string // those that passed
	// trials counts those that passed, by case and variant.
	trials map[string]int
}

// blocked returns why what needs these jobs cannot run: one of them did not pass. Empty: it can.
func (r *Runner) blocked(needs []string) string {
	r.progress.mu.Lock()
	defer r.progress.mu.Unlock()
	for _, n := range needs {
		i := slices.IndexFunc(r.plan.Jobs, func(j plan.Job) bool { return j.ID == n })
		if i >= 0 && !r.passed(r.plan.Jobs[i]) {
			if r.partly(r.plan.Jobs[i]) {
				return fmt.Sprintf("needs job %s, of which not all units were selected", n)
			}
			return fmt.Sprintf("needs job %s, which did not pass", n)
		}
	}
	return ""
}

// passed reports whether a job has. A matrix job has if enough trials of each of its cases and variants have; of a
// variant that is a reference, failing is as good.
func (r *Runner) passed(j plan.Job) bool {
	if j.Strategy == nil {
		return slices.Contains(r.progress.jobs, j.ID)
	}
	for _, c := range r.plan.Cases() {
		for _, v := range j.Variants() {
			if r.progress.trials[trialsKey(c.ID, v)] < r.pb.Trials.Need() {
				return false
			}
		}
	}
	return true
}

// partly reports whether a job is of a matrix, not all of whose units are selected.
func (r *Runner) partly(j plan.Job) bool {
	return r.cfg.Selected != nil && slices.ContainsFunc(r.plan.Units, func(u plan.Unit) bool {
		return slices.Contains(j.Variants(), u.Variant.ID) && !r.cfg.Selected(u)
	})
}

func trialsKey(caseID, variantID string) string { return caseID + "/" + variantID }

// jobsBefore returns the jobs outside the matrix that a unit's jobs need. Matrix jobs that need each other are parts of
// the same unit.
func (r *Runner) jobsBefore(u plan.Unit) []string {
	var needs []string
	for _, j := range r.plan.Jobs {
		if !slices.Contains(j.Variants(), u.Variant.ID) {
			continue
		}
		for _, n := range j.Needs {
			if slices.ContainsFunc(r.plan.Jobs, func(j plan.Job) bool { return j.ID == n && j.Strategy == nil }) {
				needs = append(needs, n)
			}
		}
	}
	return needs
}

// ran reports whether a job outside the matrix has run.
func (r *Runner) ran(id string) bool {
	r.progress.mu.Lock()
	defer r.progress.mu.Unlock()
	return slices.Contains(r.progress.ran, id)
}

// noteJob remembers how a job outside the matrix ended.
func (r *Runner) noteJob(id string, o result.Outcome) {
	r.progress.mu.Lock()
	defer r.progress.mu.Unlock()
	r.progress.ran = append(r.progress.ran, id)
	if o == result.Pass {
		r.progress.jobs = append(r.progress.jobs, id)
	}
}

// noteUnit remembers how a unit ended.
func (r *Runner) noteUnit(u plan.Unit, o result.Outcome) {
	if o != result.Pass && o != result.Completed && !(o == result.Fail && u.Variant.Reference) {
		return
	}
	r.progress.mu.Lock()
	defer r.progress.mu.Unlock()
	if r.progress.trials == nil {
		r.progress.trials = make(map[string]int)
	}
	r.progress.trials[trialsKey(u.Case.ID, u.Variant.ID)]++
}

// restore takes over how units and jobs ended in a run that is resumed.
func (r *Runner) restore(units []result.Unit, jobs []result.Job) {
	for _, j := range jobs {
		r.noteJob(j.ID, j.Outcome)
	}
	for _, ended := range units {
		i := slices.IndexFunc(r.plan.Units, func(u plan.Unit) bool { return u.ID() == ended.ID })
		if i >= 0 {
			r.noteUnit(r.plan.Units[i], ended.Outcome)
		}
	}
}

// account resolves how an agent is started and under which account. From here on nothing that is written may show the
// preset's secrets.
func (r *Runner) account(profile agent.Profile, a playbook.Agent) (agent.Launch, error) {
	preset, err := agent.Resolve(profile.Kind, a.Preset, r.cfg.ConfigDir)
	if err != nil {
		return agent.Launch{}, err
	}
	if a, err = r.findAgent(a); err != nil {
		return agent.Launch{}, err
	}
	launch, err := profile.Launch(a.Command, profile.Arguments(a.Args, a.Mode), preset)
	if err != nil {
		return agent.Launch{}, err
	}
	for name, value := range launch.Env {
		r.given.Store(name, true)
		if slices.Contains(launch.SecretNames, name) {
			r.secrets.Mark(name, value)
		} else {
			r.secrets.Add(name, value)
		}
	}
	for name, value := range launch.Masked {
		r.secrets.Add(name, value)
	}
	for _, f := range launch.Files {
		if f.From != "" {
			r.secrets.AddFile(f.Path, f.Data)
		}
	}
	return launch, nil
}

// givenNames are the names of the variables that presets give to agents only.
func (r *Runner) givenNames() []string {
	var names []string
	for name := range r.given.Range {
		names = append(names, name.(string))
	}
	return names
}

// accounts resolves the accounts of the agents that the run would start for units that have not ended, so that what is
// missing is known before anything runs. It returns the names of the variables that each variant's agent is given, by
// the variant's id.
func (r *Runner) accounts(ended []result.Unit) (map[string][]string, error) {
	given := make(map[string][]string)
	if reason, err := r.missingPrograms(); reason != "" || err != nil {
		return given, nil // no agent starts, and each unit says why
	}
	for _, u := range r.plan.Units {
		if r.cfg.Selected != nil && !r.cfg.Selected(u) {
			continue
		}
		hasEnded := slices.ContainsFunc(ended, func(e result.Unit) bool { return e.ID == u.ID() })
		if given[u.Variant.ID] != nil || hasEnded || !r.startsAgent(u) {
			continue
		}
		profile, ok := agent.Lookup(u.Variant.Agent.Kind)
		if !ok {
			return nil, fmt.Errorf("%s: unknown kind of agent %q", u.Variant.Position, u.Variant.Agent.Kind)
		}
		launch, err := r.account(profile, u.Variant.Agent)
		if err != nil {
			return nil, fmt.Errorf("%s: variant %s: %w", u.Variant.Position, u.Variant.ID, err)
		}
		given[u.Variant.ID] = append([]string{}, slices.Sorted(maps.Keys(launch.Env))...)
		r.noteWithheld(profile.Kind, launch.Withheld)
	}
	return given, nil
}

// noteWithheld notes which variables of ours agents of a kind do not get, since they would prefer them to their login.
func (r *Runner) noteWithheld(kind string, names []string) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return environ.Get(r.cfg.Environ, name) == ""
	})
	if len(names) == 0 {
		return
	}
	note := fmt.Sprintf("set and not used: %s; the agent, %s, works under the machine's login (preset: %s uses a key)",
		strings.Join(names, ", "), kind, agent.APIKey)
	if !slices.Contains(r.withheld, note) {
		r.withheld = append(r.withheld, note)
	}
}

// startsAgent reports whether a unit's session would be with an agent.
func (r *Runner) startsAgent(u plan.Unit) bool {
	return r.roleOf(u).runsAgent() && slices.ContainsFunc(u.Steps, plan.Step.Prompts)
}
