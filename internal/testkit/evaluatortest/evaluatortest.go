// Package evaluatortest decodes evaluators for the tests of their kinds. What they judge belongs in those tests.
package evaluatortest

import (
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

// before is a playbook up to its only evaluator's type.
const before = `task: {title: t, prompt: p}
variants: {v: {style: sdd, agent: {kind: acp, command: agent}}}
workflow: {jobs: {j: {strategy: {matrix: {variant: [v]}}, steps: [{uses: builtin:sdd-eval/acp.prompt}]}}}
evaluators:
  - type: `

// Parse decodes an evaluator of the named kind. Its own keys are given without indentation.
func Parse(name string, kind plan.Kind, keys string) (evaluator.Evaluator, error) {
	e, err := ParseAmong(plan.Kinds{name: kind}, name, keys)
	if err != nil {
		return nil, err
	}
	return e.Config.(evaluator.Evaluator), nil
}

// ParseAmong is [Parse] for an evaluator whose members are of other kinds. It returns the evaluator with the keys that
// all kinds share.
func ParseAmong(kinds plan.Kinds, name, keys string) (plan.Evaluator, error) {
	text := before + name + "\n    " + strings.ReplaceAll(strings.TrimSpace(keys), "\n", "\n    ") + "\n"
	pb, err := plan.Parse("p.yaml", []byte(text), kinds)
	if err != nil {
		return plan.Evaluator{}, err
	}
	return pb.Evaluators[0], nil
}
