package engine

import "github.com/sdd-eval/sdd-eval/internal/result"

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
