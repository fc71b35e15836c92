// Package action has the table of what a step of a playbook can do. Whatever has to be known about an action before it
// runs derives from its row, and the row says what runs it: an action that is not complete does not compile.
package action

import (
	"context"
	"maps"
	"slices"
)

// The names of the built-in actions.
const (
	Prepare = "builtin:sdd-eval/workspace.prepare"
	Style   = "builtin:sdd-eval/sdd.prepare"
	Loop    = "builtin:sdd-eval/acp.sdd-loop"
	Prompt  = "builtin:sdd-eval/acp.prompt"
	Report  = "builtin:sdd-eval/report.generate"
)

// Unit does what a step of a unit asks for.
type Unit interface {
	// Prepare makes the workspace that the agent starts with.
	Prepare(context.Context) error
	// WriteStyle writes the variant's workflow style into the workspace.
	WriteStyle(context.Context) error
	// Ask sends the action's prompts to the agent, one turn each; before the first it starts the session.
	Ask(context.Context) error
	// Exhaust is Ask for prompts that use up a budget: an agent that answers all of them was ended by the limit.
	Exhaust(context.Context) error
	// Command runs the step's command.
	Command(context.Context) error
}

// Run does what a step of a job outside the matrix asks for.
type Run interface {
	// Report makes the reports of the run.
	Report(context.Context) error
	// Command runs the step's command.
	Command(context.Context) error
}

// Action is what a step does. The zero value is an action that does not exist.
type Action struct {
	// InUnit carries the action out for a unit, nil if it cannot be in a matrix job.
	InUnit func(Unit, context.Context) error
	// InRun carries it out for the run, nil if it belongs in a matrix job.
	InRun func(Run, context.Context) error
	// Prompts returns what the action asks the agent, nil if it does not speak with the agent.
	Prompts func(Task) []string
	// Loops tells that its prompts are one piece of work, in which the agent is asked to go on.
	Loops bool
	// Template tells that it copies the workspace's template, Setup that it makes a part of what the agent starts with.
	Template, Setup bool
	// Files tells that it reads or writes files of the workspace, also when the session is replayed.
	Files bool
	// StartsChild tells that it starts a process, also when the session is replayed.
	StartsChild bool
	// WritesStyle tells that it writes the variant's workflow style into the workspace.
	WritesStyle bool
	// Reports tells that it looks at how units ended.
	Reports bool
	// Settings are the keys of the step's `with`.
	Settings []string
}

var builtin = map[string]Action{
	Prepare: {InUnit: Unit.Prepare, Template: true, Setup: true},
	Style:   {InUnit: Unit.WriteStyle, Setup: true, Files: true, WritesStyle: true},
	Prompt:  {InUnit: Unit.Ask, Prompts: casePrompts},
	Loop:    {InUnit: Unit.Exhaust, Prompts: loopPrompts, Loops: true},
	Report:  {InRun: Run.Report, Reports: true},
}

// command is the action of a step with `run`.
var command = Action{InUnit: Unit.Command, InRun: Run.Command, Files: true, StartsChild: true}

// Of returns the action of a step that uses a name, or runs a command if the name is empty. It is the zero value if
// there is no such action.
func Of(uses string) Action {
	if uses == "" {
		return command
	}
	return builtin[uses]
}

// Names returns the names of the built-in actions, sorted.
func Names() []string { return slices.Sorted(maps.Keys(builtin)) }

// Exists reports whether there is such an action.
func (a Action) Exists() bool { return a.InUnit != nil || a.InRun != nil }

// Asks reports whether the action speaks with the agent.
func (a Action) Asks() bool { return a.Prompts != nil }
