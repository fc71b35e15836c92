package pipeline

import (
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// Recordings returns a runner for looking at the recordings of a playbook, and its plan. Nothing runs. An error in the
// playbook is an [*InputError]. Of the options those of a run do not count.
func Recordings(o Options) (*engine.Runner, *playbook.Plan, error) {
	p := &pipeline{Options: o}
	if err := p.load(); err != nil {
		return nil, nil, &InputError{err}
	}
	runner, err := engine.New(p.plan, engine.Config{
		Mode: engine.Replay, Root: p.Root, Cassettes: p.Cassettes, Source: p.Root, Secrets: p.Secrets, Getenv: p.Getenv, Environ: p.Environ,
		Command: p.command,
	})
	if err != nil {
		return nil, nil, &InputError{err}
	}
	return runner, p.plan, nil
}
