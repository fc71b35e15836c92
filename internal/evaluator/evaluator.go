// Package evaluator defines what judges a unit. Each kind of evaluator is a package below, with its playbook keys,
// their decoding and its judgement; package kinds lists them.
package evaluator

import (
	"context"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/script"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

// Evaluator judges one trial of a unit.
type Evaluator interface {
	// Evaluate returns the verdict on what the agent did. It may be called for several units at the same time. The
	// same input gives the same verdict, byte for byte, unless the evaluator starts a child.
	Evaluate(ctx context.Context, in Input) Verdict
	// Needs returns what Evaluate depends on besides the run.
	Needs() Needs
}

// Input is what an evaluator looks at.
type Input struct {
	// Unit is the unit's id.
	Unit string
	// Case is what was asked.
	Case spec.Case
	// Run is what the agent did; it is never nil.
	Run *trajectory.Run
	// Metrics counts what the agent did. It is nil only where nothing could be counted.
	Metrics *result.Metrics
	// Workspace is the directory as the agent left it, empty if no evaluator asked for it.
	Workspace string
	// Threshold is the score from which on the evaluator passes. [Judge] sets it.
	Threshold float64
	// Changes returns the unified diff of the workspace against what was prepared. It is nil without a Workspace.
	Changes func(context.Context) (string, error)
	// Scripts runs what the playbook's author wrote: judges, templates of prompts, commands.
	Scripts *script.Runner
	// Models asks the models that judge.
	Models llm.Asker
}

// Verdict is what an evaluator found.
type Verdict struct {
	// Outcome is pass if everything was as expected, else fail; error if nothing is known about the agent. A threshold
	// is the engine's to apply.
	Outcome result.Outcome
	// Final says that a fail stands whatever the score: what was required is missing.
	Final bool
	// Score is in 0..1, nil unless the outcome is pass or fail.
	Score *float64
	// Reason says in one line what was not as expected; empty if all was.
	Reason string
	// Detail is the full text for people, of several lines, without a final newline; may be empty.
	Detail string
}

// Needs is a set of what an evaluator depends on.
type Needs uint8

const (
	// NeedsWorkspace: the workspace must be there as the agent left it.
	NeedsWorkspace Needs = 1 << iota
	// StartsChild: it starts a process, so that its verdict must not come from go test's cache.
	StartsChild
	// AsksModel: it asks a model, unless the answer was recorded.
	AsksModel
)
