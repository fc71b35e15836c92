// Package kinds is the registry of the kinds of evaluators. A kind's own code belongs in its package.
package kinds

import (
	"github.com/sdd-eval/sdd-eval/internal/evaluator/activation"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/codejudge"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/command"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/composite"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/fieldaccuracy"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/files"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/llmjudge"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/metrics"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/text"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/tooltrajectory"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

// All returns the kinds by their type in a playbook. Each kind decodes to an evaluator.Evaluator.
func All() plan.Kinds {
	return plan.Kinds{
		"activation":      activation.Kind(),
		"code_judge":      codejudge.Kind(),
		"command":         command.Kind(),
		"composite":       composite.Kind(),
		"field_accuracy":  fieldaccuracy.Kind(),
		"files":           files.Kind(),
		"llm_judge":       llmjudge.Kind(),
		"metrics":         metrics.Kind(),
		"text":            text.Kind(),
		"tool_trajectory": tooltrajectory.Kind(),
	}
}
