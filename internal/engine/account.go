package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/spec"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// account resolves how an agent is started and under which account. From here on nothing that is written may show the
// preset's secrets.
func (r *Runner) account(profile agent.Profile, a playbook.Agent) (agent.Launch, error) {
	preset, err := agent.Resolve(profile.Kind, a.Preset, r.cfg.ConfigDir)
	if err != nil {
		return agent.Launch{}, err
	}
	launch, err := profile.Launch(a.Command, a.Args, preset)
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
// missing is known before anything runs. It returns the names of the variables that each variant's agent is given, by the
// variant's id.
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
	}
	return given, nil
}

// startsAgent reports whether a unit's session would be with an agent.
func (r *Runner) startsAgent(u spec.Unit) bool {
	return r.roleOf(u).runsAgent() && slices.ContainsFunc(u.Steps, spec.Step.Prompts)
}
