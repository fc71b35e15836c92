package engine

import (
	"fmt"
	"slices"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/spec"
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
		i := slices.IndexFunc(r.plan.Jobs, func(j spec.Job) bool { return j.ID == n })
		if i >= 0 && !r.passed(r.plan.Jobs[i]) {
			return fmt.Sprintf("job %s, which has to pass before, did not", n)
		}
	}
	return ""
}

// passed reports whether a job has. A matrix job has if enough trials of each of its cases and variants have.
func (r *Runner) passed(j spec.Job) bool {
	if j.Strategy == nil {
		return slices.Contains(r.progress.jobs, j.ID)
	}
	for _, c := range r.plan.Cases() {
		for _, v := range j.Variants() {
			if r.progress.trials[trialsKey(c.ID, v)] < r.RequiredPasses() {
				return false
			}
		}
	}
	return true
}

func trialsKey(caseID, variantID string) string { return caseID + "/" + variantID }

// jobsBefore returns the jobs outside the matrix that a unit's jobs need. Matrix jobs that need each other are parts of
// the same unit.
func (r *Runner) jobsBefore(u spec.Unit) []string {
	var needs []string
	for _, j := range r.plan.Jobs {
		if !slices.Contains(j.Variants(), u.Variant.ID) {
			continue
		}
		for _, n := range j.Needs {
			if slices.ContainsFunc(r.plan.Jobs, func(j spec.Job) bool { return j.ID == n && j.Strategy == nil }) {
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
func (r *Runner) noteUnit(u spec.Unit, o result.Outcome) {
	if o != result.Pass && o != result.Completed {
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
		i := slices.IndexFunc(r.plan.Units, func(u spec.Unit) bool { return u.ID() == ended.ID })
		if i >= 0 {
			r.noteUnit(r.plan.Units[i], ended.Outcome)
		}
	}
}

// RequiredPasses returns how many trials of each case and variant have to pass.
func (r *Runner) RequiredPasses() int { return r.pb.Trials.Need() }
