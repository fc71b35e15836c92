// Package evaluator defines evaluators, which judge units. Each kind of evaluator is a package below this one, with its
// playbook keys, their decoding and its judgement; package kinds lists them. How a unit is run, and what follows from
// a verdict, does not belong here.
package evaluator

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/mock/mockdir"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/panics"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/script"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// Evaluator judges one trial of a unit.
type Evaluator interface {
	// Evaluate returns the verdict on what the agent did. It may be called for several units at the same time. The
	// same input gives the same verdict, byte for byte, unless the evaluator starts a child.
	Evaluate(ctx context.Context, in Input) Verdict
	// Needs returns what Evaluate depends on besides the run.
	Needs() Needs
}

// Input is what an evaluator judges.
type Input struct {
	// Unit is the unit's id.
	Unit string
	// Case is what was asked.
	Case plan.Case
	// Variant is the id of the variant that was asked.
	Variant string
	// Run is what the agent did; it is never nil.
	Run *trajectory.Run
	// Metrics counts what the agent did. It is nil only where nothing could be counted.
	Metrics *result.Metrics
	// Files are those of the workspace as the agent left it, and Workspace is the directory that they are in. Files is
	// nil if no evaluator asked for them, unless Workspace has them; Workspace is empty if none asked for that.
	Files     workspace.Files
	Workspace string
	// Given reports whether a step before the agent made what is at a path in the Workspace, or took it away, and the
	// agent did not change it: then it says nothing about the agent. Nil: there was no such step.
	Given func(path string) (bool, error)
	// AfterSteps is the workspace for evaluators with `after: steps`; nil: no step ran after the agent.
	AfterSteps *State
	// Kept returns an error for a path in the Workspace, relative and with slashes, that recordings do not keep: what
	// is there now, or is not, says nothing. Nil: all are kept.
	Kept func(path string) error
	// Threshold is the lowest score with which the evaluator passes. [Judge] sets it.
	Threshold float64
	// Changes returns a unified diff from the workspace as it was prepared to the Workspace; nil if that is empty.
	Changes func(context.Context) (string, error)
	// Scripts runs what the playbook's author wrote: judges, templates of prompts, commands.
	Scripts *script.Runner
	// Mocks are the MCP servers that were played.
	Mocks mockdir.Set
	// Models asks the models and the agents that judge; nil: none may be asked, and NoModels may say why and what to
	// do.
	Models   llm.Asker
	NoModels string
}

// State is a workspace at another time.
type State struct {
	Files     workspace.Files
	Workspace string
	Changes   func(context.Context) (string, error)
}

// afterSteps is the input of evaluators with `after: steps`.
func (in Input) afterSteps() Input {
	if s := in.AfterSteps; s != nil {
		in.Files, in.Workspace, in.Changes = s.Files, s.Workspace, s.Changes
	}
	in.Given = nil
	return in
}

// Verdict is what an evaluator found.
type Verdict struct {
	// Outcome is pass if everything was as expected, else fail; error if nothing is known about the agent. [Judge]
	// applies the threshold.
	Outcome result.Outcome
	// Final marks a fail that no score can turn into a pass, since something required is missing.
	Final bool
	// Score is in 0..1, nil unless the outcome is pass or fail.
	Score *float64
	// Reason says in one line what was not as expected; empty if everything was.
	Reason string
	// Detail is the full text for people, of several lines, without a final newline; may be empty.
	Detail string
	// Calls are the agent's calls that were not as expected, as far as it knows.
	Calls []result.Call
	// Activations are the skills and tools of which it judged whether the agent used them.
	Activations []result.Activation
	// Checks are what it judged one by one; none: it judged one thing.
	Checks []result.Check
}

// Needs is a set of what an evaluator depends on.
type Needs uint8

const (
	// NeedsWorkspace: it reads the workspace as the agent left it.
	NeedsWorkspace Needs = 1 << iota
	// StartsChild: it starts a process, so that its verdict must not come from go test's cache.
	StartsChild
	// AsksModel: it asks a model on a server, unless the answer was recorded.
	AsksModel
	// NeedsDir: it reads the workspace in a directory, since what it starts or calls takes a path.
	NeedsDir
	// AsksAgent: it asks an agent, unless the answer was recorded. See [Agents].
	AsksAgent
)

// Asks reports whether answers are asked for, of models or agents, unless they were recorded.
func (n Needs) Asks() bool { return n&(AsksModel|AsksAgent) != 0 }

// Agents returns the agents that an evaluator asks.
func Agents(e Evaluator) []playbook.Agent {
	if asks, ok := e.(interface{ Agents() []playbook.Agent }); ok {
		return asks.Agents()
	}
	return nil
}

// NotAsked is the verdict of an evaluator that needs a model where none may be asked.
func (in Input) NotAsked() Verdict {
	return Verdict{Outcome: result.Skip, Reason: cmp.Or(in.NoModels, "not asked: no model may be asked")}
}

// Judge runs one evaluator and compares its score with the threshold. A verdict that contradicts itself is an error.
// The verdict of an advisory evaluator is reported and decides nothing.
func Judge(ctx context.Context, e plan.Evaluator, in Input) Verdict {
	v := evaluate(ctx, e, in)
	if e.Advisory && (v.Outcome == result.Pass || v.Outcome == result.Fail) {
		v.Outcome = result.Reported
	}
	return v
}

// evaluate returns the verdict as if e were not advisory.
func evaluate(ctx context.Context, e plan.Evaluator, in Input) Verdict {
	if e.AfterSteps {
		in = in.afterSteps()
	}
	in.Threshold = e.Threshold
	var v Verdict
	err := panics.Catch(func() error {
		v = e.Config.(Evaluator).Evaluate(ctx, in)
		return nil
	})
	if err != nil {
		return Verdict{
			Outcome: result.Error, Detail: err.Error(), Reason: fmt.Sprintf("evaluator %s panicked", e.Name),
		}
	}
	if v.Outcome != result.Pass && v.Outcome != result.Fail {
		v.Score = nil
		return v
	}
	if v.Score == nil || !(*v.Score >= 0 && *v.Score <= 1) {
		return Verdict{
			Outcome: result.Error, Detail: v.Detail,
			Reason: fmt.Sprintf("evaluator %s returned %q without a score between 0 and 1", e.Name, v.Outcome),
		}
	}
	score := *v.Score // alone: an evaluator's own may be a part of all that it saw, and verdicts are kept
	v.Score = &score
	if v.Outcome == result.Fail && *v.Score == 1 {
		return Verdict{
			Outcome: result.Error, Detail: v.Detail,
			Reason: fmt.Sprintf("evaluator %s returned \"fail\" with a score of 1", e.Name),
		}
	}
	if v.Outcome == result.Fail && v.Final {
		return v
	}
	v.Outcome = result.Fail
	if *v.Score >= e.Threshold {
		v.Outcome = result.Pass
	}
	return v
}

// Unseen returns an error if the run shows no tool call although the agent had its client write a file or run a
// command. Such an agent used tools without reporting them, so its calls are unknown. Reads do not count: agents read
// their instructions without a tool.
func Unseen(run *trajectory.Run) error {
	var unseen error
	for _, e := range run.Events {
		did := ""
		switch b := e.Body.(type) {
		case trajectory.ToolStart:
			return nil
		case trajectory.FileWrite:
			did = "write " + b.Path
		case trajectory.Terminal:
			did = "run " + strings.Join(append([]string{b.Command}, b.Args...), " ")
		default:
			continue
		}
		if unseen == nil {
			unseen = fmt.Errorf("the session shows no tool call, although the agent had its client %s", did)
		}
	}
	return unseen
}
