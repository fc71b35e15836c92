package rundir

import (
	"cmp"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

// ManifestOf returns what a manifest says of a plan. The id, the time, the mode, the playbook's path and the names of
// variables are the caller's to add.
func ManifestOf(plan *spec.Plan) Manifest {
	pb := plan.Playbook
	m := Manifest{
		Name: pb.Name, Trials: max(pb.Trials.Count, 1), Need: pb.Trials.Need(), Human: pb.Report.Human.Enabled,
		Judges: make(map[string][]string), AIJudge: AIJudge{Enabled: pb.Report.AIJudge.Enabled, Model: pb.Report.AIJudge.Model},
	}
	for _, v := range pb.Variants {
		command, args := v.Agent.Command, v.Agent.Args
		if profile, ok := agent.Lookup(v.Agent.Kind); ok {
			command = cmp.Or(command, profile.Command)
			if args == nil {
				args = profile.Args
			}
		}
		m.Variants = append(m.Variants, Variant{
			ID: v.ID, Style: v.Style, Kind: v.Agent.Kind, Preset: v.Agent.Preset, Command: command, Args: args,
			Model: v.Agent.Model, Mode: v.Agent.Mode,
		})
	}
	for _, c := range plan.Cases() {
		title := c.ID
		if pb.Task != nil && pb.Task.Title != "" {
			title = pb.Task.Title
		}
		m.Cases = append(m.Cases, Case{
			ID: c.ID, Title: title, Prompts: c.Prompts, ExpectedOutcome: c.ExpectedOutcome, ReferenceAnswer: c.ReferenceAnswer,
		})
	}
	for _, u := range plan.Units {
		m.Units = append(m.Units, u.ID())
		m.Evaluators = m.Evaluators || len(u.Evaluators) > 0
		m.Judges[u.Case.ID] = namesOf(u.Evaluators) // which are the same under all variants
	}
	for _, j := range slices.Concat(plan.Before(), plan.After()) {
		m.Jobs = append(m.Jobs, j.ID)
	}
	return m
}

func namesOf(evaluators []spec.Evaluator) []string {
	names := make([]string, len(evaluators))
	for i, e := range evaluators {
		names[i] = e.Name
	}
	return names
}
