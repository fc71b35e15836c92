// Package evaluatortest is for tests of kinds of evaluators.
package evaluatortest

import (
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

// before is a playbook up to its only evaluator's type.
const before = `task: {title: t, prompt: p}
variants: {v: {style: sdd, agent: {kind: acp, command: agent}}}
workflow: {jobs: {j: {strategy: {matrix: {variant: [v]}}, steps: [{uses: builtin:sdd-eval/acp.prompt}]}}}
evaluators:
  - type: `

// Parse decodes an evaluator of a kind of that name, whose own keys are given, without indentation.
func Parse(name string, kind spec.Kind, keys string) (evaluator.Evaluator, error) {
	text := before + name + "\n    " + strings.ReplaceAll(strings.TrimSpace(keys), "\n", "\n    ") + "\n"
	pb, err := spec.Parse("p.yaml", []byte(text), spec.Kinds{name: kind})
	if err != nil {
		return nil, err
	}
	return pb.Evaluators[0].Config.(evaluator.Evaluator), nil
}
