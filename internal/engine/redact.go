package engine

import (
	"encoding/json"
	"fmt"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// redact takes secrets out of all texts of a unit's result but its run: it is shown to people and written down.
func (r *Runner) redact(u *result.Unit) {
	r.mask(&u.Reason, &u.Next)
	r.maskAll(u.Warnings)
	r.maskAll(u.Attempts)
	r.redactSteps(u.Steps)
	for i := range u.Evaluations {
		e := &u.Evaluations[i]
		r.mask(&e.Reason, &e.Detail)
	}
}

func (r *Runner) redactJob(j *result.Job) {
	r.mask(&j.Reason)
	r.redactSteps(j.Steps)
}

func (r *Runner) redactSteps(steps []result.Step) {
	for i := range steps {
		s := &steps[i]
		r.mask(&s.Name, &s.Reason, &s.Output)
	}
}

func (r *Runner) mask(texts ...*string) {
	for _, t := range texts {
		*t = r.secrets.String(*t)
	}
}

func (r *Runner) maskAll(texts []string) {
	for i := range texts {
		r.mask(&texts[i])
	}
}

// masked returns a run without secrets: what evaluators quote from it is cut if it is long, and half a secret is not
// one that could be masked. A run that shows none stays as it is.
func (r *Runner) masked(run *trajectory.Run) (*trajectory.Run, error) {
	data, err := json.Marshal(run)
	if err != nil {
		return nil, fmt.Errorf("look for secrets in the run: %w", err)
	}
	if _, found := r.secrets.Contains(data); !found {
		return run, nil
	}
	masked := new(trajectory.Run)
	if err := json.Unmarshal(r.secrets.JSON(data), masked); err != nil {
		return nil, fmt.Errorf("mask the secrets in the run: %w", err)
	}
	return masked, nil
}
