package rundir

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

// ManifestOf returns the manifest for a plan. The caller must add the id, the time, the mode, the playbook's path and
// the names of variables.
func ManifestOf(planned *plan.Plan) Manifest {
	pb := planned.Playbook
	m := Manifest{
		Name: pb.Name, Trials: max(pb.Trials.Count, 1), Need: pb.Trials.Need(), NeedScore: pb.Trials.Score,
		Human:  pb.Report.Human.Enabled,
		Judges: make(map[string][]string), Ablate: pb.AblatedAlso,
		AIJudge: AIJudge{Enabled: pb.Report.AIJudge.Enabled, Model: pb.Report.AIJudge.Model},
	}
	given := make(map[string]string)
	styled := slices.ContainsFunc(planned.Units, func(u plan.Unit) bool {
		return u.Style() != "" || u.Variant.Style != pb.Variants[0].Style // a command of the playbook's may use it
	})
	for _, u := range planned.Units {
		if given[u.Variant.ID] == "" {
			given[u.Variant.ID] = digestOfGiven(u)
		}
	}
	for _, v := range pb.Variants {
		if !styled {
			v.Style = ""
		}
		command, args := v.Agent.Command, v.Agent.Args
		if profile, ok := agent.Lookup(v.Agent.Kind); ok {
			command = cmp.Or(command, profile.Command)
			args = profile.Arguments(args, v.Agent.Mode)
		}
		m.Variants = append(m.Variants, Variant{
			ID: v.ID, Style: v.Style, Kind: v.Agent.Kind, Reference: v.Reference, Preset: v.Agent.Preset,
			Command: command, Args: args, Model: v.Agent.Model, Mode: v.Agent.Mode, Given: given[v.ID],
			Axes: m.choose(v.Axes), Ablated: v.Ablated, Of: v.Of,
		})
	}
	for _, c := range planned.Cases() {
		title := c.ID
		if pb.Task != nil && pb.Task.Title != "" {
			title = pb.Task.Title
		}
		m.Cases = append(m.Cases, Case{
			ID: c.ID, Title: title, Variants: variantIDs(planned.Variants(c)), Prompts: c.Prompts,
			ExpectedOutcome: c.ExpectedOutcome, ReferenceAnswer: c.ReferenceAnswer,
		})
	}
	evaluators := make(map[string][]plan.Evaluator) // the same under all variants
	for _, u := range planned.Units {
		evaluators[u.Case.ID] = u.Evaluators
		m.Units = append(m.Units, u.ID())
		m.Evaluators = m.Evaluators || len(u.Evaluators) > 0
		m.Judges[u.Case.ID] = namesOf(u.Evaluators)
	}
	m.JudgeDigests = digestsOfJudges(planned.Units)
	for i, c := range planned.Cases() {
		m.Cases[i].Digests = digestsOf(c, evaluators[c.ID])
	}
	for _, j := range slices.Concat(planned.Before(), planned.After()) {
		m.Jobs = append(m.Jobs, j.ID)
	}
	return m
}

// choose returns what a variant has on axes, and adds them to the manifest's.
func (m *Manifest) choose(choices []plan.Choice) map[string]string {
	if choices == nil {
		return nil
	}
	values := make(map[string]string)
	for _, c := range choices {
		values[c.Axis] = c.Value
		i := slices.IndexFunc(m.Axes, func(a Axis) bool { return a.Name == c.Axis })
		if i < 0 {
			i = len(m.Axes)
			m.Axes = append(m.Axes, Axis{Name: c.Axis})
		}
		if !slices.Contains(m.Axes[i].Values, c.Value) {
			m.Axes[i].Values = append(m.Axes[i].Values, c.Value)
		}
	}
	return values
}

func variantIDs(variants []plan.Variant) []string {
	ids := make([]string, len(variants))
	for i, v := range variants {
		ids[i] = v.ID
	}
	return ids
}

// digestOfGiven returns [Variant.Given] of a unit's variant, which is the same for all its units.
func digestOfGiven(u plan.Unit) string {
	adds := u.Variant.Overlay
	given := []any{u.Variant.Style, adds.PromptPrefix, adds.PromptSuffix, u.Variant.Texts}
	u.Case = plan.Case{}
	for _, s := range u.Steps {
		given = append(given, s.Uses, s.With, s.Run, s.Cwd, u.PromptsOf(s))
	}
	return digestOf(given)
}

// digestsOf returns the digests of a case that follow from the plan alone.
func digestsOf(c plan.Case, evaluators []plan.Evaluator) map[string]string {
	judged := []any{c.ExpectedOutcome, c.ReferenceAnswer, c.ExpectedMessages}
	for _, e := range evaluators {
		judged = append(judged, e.Name, e.Digest)
	}
	return map[string]string{
		"prompts": digestOf(c.Prompts), "files": digestOf(c.Files), "evaluators": digestOf(judged),
	}
}

// digestOf returns a short digest of a value that JSON can hold.
func digestOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("rundir: digest of %T: %v", v, err)) // it was read from YAML, or is text
	}
	return digest(text)[:31]
}

// digestsOfJudges returns [Manifest.JudgeDigests].
func digestsOfJudges(units []plan.Unit) map[string]string {
	digests, others := make(map[string]string), make(map[string]bool)
	for _, u := range units {
		for _, e := range u.Evaluators {
			if known, ok := digests[e.Name]; e.Digest == "" || ok && known != e.Digest {
				others[e.Name] = true
			}
			digests[e.Name] = e.Digest
		}
	}
	maps.DeleteFunc(digests, func(name, _ string) bool { return others[name] })
	return digests
}

func namesOf(evaluators []plan.Evaluator) []string {
	names := make([]string, len(evaluators))
	for i, e := range evaluators {
		names[i] = e.Name
	}
	return names
}
