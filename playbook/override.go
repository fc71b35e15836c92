package playbook

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/answer"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// Override replaces the answers of calls of a tool.
//
// With [LevelRun] graders see it in place of the recorded one, and nothing else changes: the agent did what it did.
// With the other levels the agent sees it, also during recording. An override that no call matches is an error.
type Override struct {
	// Tool is the tool's name: as the agent gives it with [LevelRun], else one of fs/read_text_file, fs/write_text_file,
	// terminal/create, session/request_permission and mcp__SERVER__TOOL.
	Tool string `yaml:"tool,required" doc:"With level run the tool's name, e.g. Bash; else fs/read_text_file, fs/write_text_file, terminal/create, session/request_permission or mcp__SERVER__TOOL."`

	// Args are arguments that the call must have, as JSON values, with paths in the workspace as $WORKSPACE/...; nil:
	// any.
	Args map[string]any `yaml:"args" min:"1" doc:"Arguments that the call has, paths in the workspace as $WORKSPACE/...; default: any."`

	// Case and Variant limit the override to units of that case, of that variant; empty: any.
	Case    string `yaml:"case" min:"1" doc:"The case whose units it holds in; default: all."`
	Variant string `yaml:"variant" min:"1" doc:"The variant whose units it holds in; default: all."`

	// Nth is which of the matching calls, from 1; 0: all of them.
	Nth int `yaml:"nth" min:"1" doc:"Which of the calls that match, from 1; default: each."`

	// Output is the answer. Exactly one of Output and Error is given.
	Output any `yaml:"output" doc:"The answer."`
	// Error makes the call fail with this text.
	Error string `yaml:"error" min:"1" doc:"Makes the call fail with this text."`

	Position Position `yaml:",position"`
}

func (o *Override) decode(n *doc.Node) {
	if !n.Decode(o) {
		return
	}
	output, failure := n.Get("output"), n.Get("error")
	switch {
	case output == nil && failure == nil:
		n.Errorf("", "an override needs `output`, another answer, or `error`, which makes the call fail")
	case output != nil && failure != nil:
		n.Errorf("error", "an override has either `output` or `error`")
	case output != nil && o.Output == nil:
		n.Errorf("output", "must not be null")
	}
}

// holds reports whether the override is one of the unit's.
func (o Override) holds(u Unit) bool {
	return (o.Case == "" || o.Case == u.Case.ID) && (o.Variant == "" || o.Variant == u.Variant.ID)
}

// OverridesOf returns the overrides that apply to a unit.
func (c Cassette) OverridesOf(u Unit) []Override {
	return slices.DeleteFunc(slices.Clone(c.Overrides), func(o Override) bool { return !o.holds(u) })
}

// Override adds an override written in Go. Its arguments and output may be any values that encoding/json can marshal.
// The error says what is wrong with it.
func (p *Playbook) Override(o Override) error {
	if (o.Output == nil) == (o.Error == "") {
		return errors.New("an override needs either an output or an error")
	}
	if o.Nth < 0 {
		return fmt.Errorf("there is no call %d: calls are counted from 1", o.Nth)
	}
	args, errArgs := jsonvalue.Of(o.Args)
	output, errOutput := jsonvalue.Of(o.Output)
	if err := cmp.Or(errArgs, errOutput); err != nil {
		return fmt.Errorf("an override of %s: %w", o.Tool, err)
	}
	if o.Output = output; o.Args != nil {
		o.Args = args.(map[string]any)
	}
	if key, err := p.checkOverride(o); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	p.Cassette.Overrides = append(p.Cassette.Overrides, o)
	return nil
}

// checkOverride returns what is wrong with an override in this playbook, and at which of its keys; nil if nothing is.
func (p *Playbook) checkOverride(o Override) (key string, err error) {
	var cases, variants []string
	for _, c := range p.allCases() {
		cases = append(cases, c.ID)
	}
	for _, v := range p.Variants {
		variants = append(variants, v.ID)
	}
	if o.Case != "" && !slices.Contains(cases, o.Case) {
		return "case", fmt.Errorf("there is no case %q%s", o.Case, doc.DidYouMean(o.Case, cases))
	}
	if o.Variant != "" && !slices.Contains(variants, o.Variant) {
		return "variant", fmt.Errorf("there is no variant %q%s", o.Variant, doc.DidYouMean(o.Variant, variants))
	}
	if plan, err := p.Plan(); err == nil && len(plan.Units) > 0 && !slices.ContainsFunc(plan.Units, o.holds) {
		return "variant", fmt.Errorf("no unit of variant %q is one in which it could hold", o.Variant)
	}
	if err := p.checkTool(o.Tool); err != nil {
		return "tool", err
	}
	if p.Cassette.Level.RunsAgent() && o.Error == "" {
		return "output", answer.Check(o.Tool, o.Output)
	}
	return "", nil
}
