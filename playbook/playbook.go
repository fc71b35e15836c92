package playbook

import (
	"cmp"
	"fmt"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// Position is a place in a playbook.
type Position struct {
	// File is the path that [Load] or [Parse] was given.
	File string
	// Line and Column count from 1; columns are characters.
	Line, Column int
}

// String returns "file:line", the form in which failures cite a playbook.
func (p Position) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Playbook is one file. Its fields, and those of the types below it, are the keys of the file; the tags give their
// names, defaults and bounds.
type Playbook struct {
	// File is the path that [Load] or [Parse] was given, or a [Source]'s name.
	File string
	// Dir is the directory of the file, absolute, to which paths in the playbook are relative; empty: it was parsed from a
	// text.
	Dir string
	// Text is what the playbook was decoded from. Whoever archives it takes this: the file may have changed since.
	Text []byte

	// Name is the first part of every unit's id. Its default is the file's name without .yaml or .eval.yaml.
	Name string `yaml:"name" pattern:"^[a-zA-Z][a-zA-Z0-9_-]*$" doc:"Default: the file's name without .yaml or .eval.yaml."`

	// Task is what all variants are asked to do. A playbook has either a task or cases.
	Task *Task `yaml:"task" doc:"The job that every variant is given. Either task or cases."`

	// Cases are several tasks, each judged on its own.
	Cases []Case `yaml:"cases" min:"1" doc:"Several jobs, each judged on its own. Either task or cases."`

	// Variants are the agents that are compared, in the order of the file.
	Variants []Variant `yaml:"variants,required" reason:"at least one variant is required" doc:"The agents, by id."`

	Workflow Workflow `yaml:"workflow" doc:"What is done for each variant, and around all of them."`

	// SDDLoop configures steps with [ActionLoop].
	SDDLoop SDDLoop `yaml:"sdd_loop" doc:"How long acp.sdd-loop keeps on prompting."`

	// Styles are the playbook's own workflow styles, in the order of the file.
	Styles []StyleSource `yaml:"styles" doc:"Workflow styles beside sdd and sdd-legacy, by name."`

	Report      Report      `yaml:"report" doc:"Who scores the variants beside the evaluators."`
	Trials      Trials      `yaml:"trials" doc:"How often each case is tried with each variant, and how often it has to pass."`
	Limits      Limits      `yaml:"limits" doc:"What ends a unit early."`
	Permissions Permissions `yaml:"permissions" doc:"What the agent is told when it asks for permission."`

	// Parallel is how many units run at a time, from 1; 0: not given.
	Parallel int `yaml:"parallel" min:"1" max:"1000" doc:"Units at a time, 1 to 1000; default: processors in replay, else 1."`

	// Retries is how often a unit is tried again after an infrastructure error: the agent did not start. What the agent
	// did wrong is never retried.
	Retries int `yaml:"retries" min:"0" max:"10" doc:"Further attempts after infrastructure errors only, 0 to 10."`

	// Evaluators judge every unit. A playbook without any, here or in its cases, never passes.
	Evaluators []Evaluator `yaml:"evaluators" min:"1" doc:"What must hold for every case."`

	Workspace Workspace `yaml:"workspace" doc:"The files that the agent starts with."`
	Sandbox   Sandbox   `yaml:"sandbox" doc:"What agents and steps may do."`
	Env       Env       `yaml:"env" doc:"The environment of agents and steps."`

	// MCP are the tool servers that agents are told of when a session is opened.
	MCP []MCPServer `yaml:"mcp" doc:"Tool servers (Model Context Protocol) that agents are told of."`

	Cassette Cassette `yaml:"cassette" doc:"How sessions are recorded."`

	// Requires are programs without which the playbook is skipped; under CI their absence is an error.
	Requires []string `yaml:"requires" pattern:"^[a-zA-Z0-9][a-zA-Z0-9._+-]*$" doc:"Programs that must be installed."`
}

// SDDLoop bounds the loop of [ActionLoop].
type SDDLoop struct {
	// MaxIterations is the number of prompts that are sent in one session, each a turn.
	MaxIterations int `yaml:"max_iterations" default:"6" min:"1" max:"1000" doc:"Prompts in one session, 1 to 1000; default: 6."`
}

// Limits end a unit early. Zero fields are not given.
type Limits struct {
	Timeout      time.Duration `yaml:"timeout" min:"0.001" doc:"Wall clock for a unit, e.g. 30m."`
	MaxToolCalls int           `yaml:"max_tool_calls" min:"1" doc:"Tool calls of the agent in a unit."`

	// MaxTokens and MaxCostUSD bound the usage that the agent reports. If it reports none, its unit ends in error.
	MaxTokens  int64   `yaml:"max_tokens" min:"1" doc:"Tokens that the agent reports to have used in a unit."`
	MaxCostUSD float64 `yaml:"max_cost_usd" above:"0" doc:"Cost in US dollars that the agent reports for a unit."`
}

// UnitTimeout is the wall clock for a unit, and for each of its run steps: Timeout, or 30 minutes.
func (l Limits) UnitTimeout() time.Duration { return cmp.Or(l.Timeout, 30*time.Minute) }

// Values of [Sandbox.Network], beside "agent".
const (
	NetworkNone = "none"
	NetworkAll  = "all"
)

// Sandbox says what agents, and the code that they write, may do.
type Sandbox struct {
	// Kind is the kind of sandbox, see package confine; "auto" is the strongest that works on the machine.
	Kind string `yaml:"kind" enum:"auto,bwrap,landlock,command,none" default:"auto" doc:"What confines agents, run steps and judges; default: auto, the strongest that there is."`
	// Network says who has network access: "agent" is only the agent's process, "all" also run steps, terminals and
	// commands of evaluators.
	Network string `yaml:"network" enum:"agent,none,all" default:"agent" doc:"Who reaches the network; default: agent, its process alone."`
	// AllowRead are further files and directories that everything confined may read: absolute, relative to the playbook,
	// or in the user's home with a leading ~/.
	AllowRead []string `yaml:"allow_read" min:"1" doc:"Further files and directories that may be read."`
	// Command is the wrapper of kind "command".
	Command []string `yaml:"command" min:"1" doc:"With kind: command, what confines the command that follows it."`
	// AllowCommands are further programs that run steps and agents' terminals may start. See [Playbook.AllowedCommands].
	AllowCommands []string `yaml:"allow_commands" pattern:"^[a-zA-Z0-9][a-zA-Z0-9._+-]*$" doc:"Further programs that may be started."`
}

func (s *Sandbox) decode(n *doc.Node) {
	n.Decode(s)
	switch {
	case n.Kind() != doc.Map: // reported
	case s.Kind == "command" && len(s.Command) == 0:
		n.Errorf("kind", "a sandbox of kind command needs the `command` that confines")
	case s.Kind != "command" && len(s.Command) > 0:
		n.Errorf("command", "only a sandbox of kind command has one: write `kind: command`")
	}
}

// Env says which of our environment variables agents and steps see.
type Env struct {
	Pass []string `yaml:"pass" pattern:"^[a-zA-Z_][a-zA-Z0-9_]*$" doc:"Names of variables to pass on."`
}
