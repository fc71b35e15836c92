package engine

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// progress remembers what jobs may build on. A matrix job has passed if enough trials of each case and variant have.
type progress struct {
	mu     sync.Mutex
	ran    []string // ids of jobs outside the matrix
	failed []string // ids of jobs
	// short counts, by case and variant, the trials that did not pass.
	short map[string]int
}

// blocked returns why a job outside the matrix, or a unit, cannot run: a job that it needs did not pass. Empty: it can.
func (r *Runner) blocked(needs []string) string {
	r.progress.mu.Lock()
	defer r.progress.mu.Unlock()
	for _, n := range needs {
		if slices.Contains(r.progress.failed, n) {
			return fmt.Sprintf("job %s, which has to pass before, did not", n)
		}
	}
	return ""
}

// unitNeeds returns the jobs outside the matrix that a unit's jobs need. Matrix jobs that need each other are parts of
// the same unit.
func (r *Runner) unitNeeds(u playbook.Unit) []string {
	var needs []string
	for _, j := range r.jobsOf(u) {
		for _, n := range j.Needs {
			if i := slices.IndexFunc(r.plan.Jobs, func(j playbook.Job) bool { return j.ID == n }); i >= 0 && r.plan.Jobs[i].Strategy == nil {
				needs = append(needs, n)
			}
		}
	}
	return needs
}

// jobsOf returns the matrix jobs that a unit goes through.
func (r *Runner) jobsOf(u playbook.Unit) []playbook.Job {
	var jobs []playbook.Job
	for _, j := range r.plan.Jobs {
		if slices.Contains(j.Variants(), u.Variant.ID) {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// Ran reports whether a job outside the matrix has run.
func (r *Runner) Ran(id string) bool {
	r.progress.mu.Lock()
	defer r.progress.mu.Unlock()
	return slices.Contains(r.progress.ran, id)
}

// noteJob remembers how a job outside the matrix ended.
func (r *Runner) noteJob(id string, o result.Outcome) {
	r.progress.mu.Lock()
	defer r.progress.mu.Unlock()
	r.progress.ran = append(r.progress.ran, id)
	if o != result.Pass {
		r.progress.failed = append(r.progress.failed, id)
	}
}

// noteUnit remembers how a unit ended: its jobs fail when too few trials can still pass.
func (r *Runner) noteUnit(u playbook.Unit, o result.Outcome) {
	if o == result.Pass || o == result.Completed {
		return
	}
	r.progress.mu.Lock()
	defer r.progress.mu.Unlock()
	if r.progress.short == nil {
		r.progress.short = make(map[string]int)
	}
	key := strings.Join([]string{u.Case.ID, u.Variant.ID}, "/")
	r.progress.short[key]++
	if r.progress.short[key] <= max(r.pb.Trials.Count, 1)-r.Need() {
		return
	}
	for _, j := range r.jobsOf(u) {
		r.progress.failed = append(r.progress.failed, j.ID)
	}
}

// Need returns how many trials of each case and variant have to pass.
func (r *Runner) Need() int { return r.pb.Trials.Need() }
