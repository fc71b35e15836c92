// Package playbook has the parts of a playbook that tests written in Go use too: which agent to start, what it may do,
// what ends it, and which answers of tools are replaced. See evaltest.RunAgent and
// evaltest.Override.
//
// The fields are keys of playbooks, and the tags give their names, defaults and bounds; docs/playbook.md describes all
// keys. Reading whole playbooks belongs to the framework: a test names their files in evaltest.Describe.
package playbook

import "time"

// Agent says which agent to start and how.
type Agent struct {
	// Kind is a product's, such as claude-code-acp, or acp (any agent that speaks the protocol) or fake-acp (the
	// built-in script). docs/playbook.md has a table of all.
	Kind string `yaml:"kind,required" doc:"The kind of agent."`

	// Preset names an account in the user's configuration. It is never a secret itself. Some kinds need one.
	Preset string `yaml:"preset" min:"1" doc:"Name of an account preset, never a secret."`

	// Command is the program to start; empty: the kind's own. Kind acp needs one.
	Command string `yaml:"command" min:"1" doc:"The program to start; default by kind."`

	// Args are the program's arguments; nil: the kind's own, which they otherwise replace. For fake-acp: the path of a
	// script, else the built-in one runs.
	Args []string `yaml:"args" doc:"Arguments of the program; default by kind."`

	Model string `yaml:"model" min:"1" doc:"The model to select; default: the agent's."`
	Mode  string `yaml:"mode" min:"1" doc:"The session mode to select, e.g. acceptEdits; default: the agent's."`
}

// Overlay is in what a variant differs from another one with the same agent. All of it belongs to the variant and not
// to the case: with and without it, a case is the same. Paths are relative to the playbook's directory, or the test's.
// The zero value adds nothing.
type Overlay struct {
	// Workspace and Files are written over the workspace after the case's files, and Skills, Plugins and Instructions
	// after them.
	Workspace Additions         `yaml:"workspace" doc:"Directories and files to copy over the workspace."`
	Files     map[string]string `yaml:"files" doc:"Files to write into the workspace, by path."`

	// Skills are directories with a SKILL.md. Each is put where agents of the kind look for skills, with the files that
	// git does not ignore, but without evals, recordings and baselines.
	Skills []string `yaml:"skills" min:"1" doc:"Directories of skills to install."`
	// Plugins are directories with a .claude-plugin/plugin.json. The agent gets a copy in its workspace, with the files
	// that a skill would have, and is told of it: agents of kinds that know plugins can be.
	Plugins []string `yaml:"plugins" min:"1" doc:"Directories of plugins to install."`
	// Instructions is a file that is appended to the one from which agents of the kind take instructions, such as
	// AGENTS.md.
	Instructions string `yaml:"instructions" min:"1" doc:"File to append to AGENTS.md, or what the agent reads."`

	// MCP and Env are added to the playbook's.
	MCP []MCPServer `yaml:"mcp" doc:"Further tool servers."`
	Env Env         `yaml:"env" doc:"Further environment variables of agents and steps."`

	// PromptPrefix and PromptSuffix come before and after each prompt, with an empty line between.
	PromptPrefix string `yaml:"prompt_prefix" min:"1" doc:"Text before each prompt."`
	PromptSuffix string `yaml:"prompt_suffix" min:"1" doc:"Text after each prompt."`
	// Prompts has files whose texts take the place of the prompts of cases, by their ids.
	Prompts map[string]string `yaml:"prompts" doc:"Files with other prompts, by case."`
}

// Additions are what is copied over a workspace.
type Additions struct {
	Add []Addition `yaml:"add" min:"1" doc:"What to copy, in order."`
}

// Addition is a directory or a file that is copied over a workspace.
type Addition struct {
	From string `yaml:"from,required" doc:"Directory or file to copy, relative to the playbook's directory."`
	// To is a path below the workspace, with slashes; empty: a directory is copied to the workspace itself, and a file
	// keeps its name.
	To string `yaml:"to" min:"1" doc:"Where to, a path below the workspace."`
}

// Limits end a unit early. Zero fields are not given.
type Limits struct {
	Timeout      time.Duration `yaml:"timeout" min:"0.001" doc:"Wall clock for a unit, e.g. 30m."`
	MaxToolCalls int           `yaml:"max_tool_calls" min:"1" doc:"Tool calls of the agent in a unit."`

	// MaxTokens and MaxCostUSD bound the usage that the agent reports. If it reports none, its unit ends in error.
	MaxTokens  int64   `yaml:"max_tokens" min:"1" doc:"Tokens that the agent reports to have used in a unit."`
	MaxCostUSD float64 `yaml:"max_cost_usd" above:"0" doc:"Cost in US dollars that the agent reports for a unit."`

	// Memory, CPUs, Disk and Processes bound what each process that a unit starts, such as its agent, uses of the
	// machine, with all its descendants. One that exceeds them is ended, and its unit as Exceeded says; only CPUs slows
	// it down. Disk is what workspace, HOME and TMPDIR may take, Processes counts threads.
	Memory    Size    `yaml:"memory" doc:"Memory of an agent, with all that it starts, e.g. 8GiB; default: 4GiB."`
	CPUs      float64 `yaml:"cpus" min:"0.1" max:"4096" doc:"Processors' time that it gets; default: all."`
	Disk      Size    `yaml:"disk" doc:"Workspace, HOME and TMPDIR together, e.g. 20GiB; default: 10GiB."`
	Processes int     `yaml:"processes" min:"16" max:"1000000" doc:"Threads; default: 2048."`
	// Exceeded is the outcome of a unit whose agent, terminal or run step exceeded Memory, Disk or Processes: "error",
	// or "fail" if it is the agent's failure. The zero value means "error".
	Exceeded string `yaml:"exceeded" enum:"error,fail" doc:"Outcome where memory, disk or processes is exceeded."`
}

// Decision is the answer to an agent that asks for permission.
type Decision string

const (
	// DecideAllow lets the agent do it, this once.
	DecideAllow Decision = "allow"
	// DecideReject forbids it; the agent may go on in another way.
	DecideReject Decision = "reject"
	// DecideError ends the unit as an error: the playbook expects that the agent never asks.
	DecideError Decision = "error"
)

// Permissions answer an agent's requests for permission. The first rule that matches decides.
type Permissions struct {
	Default Decision         `yaml:"default" enum:"allow,reject,error" default:"allow"`
	Rules   []PermissionRule `yaml:"rules" doc:"The first that matches decides."`

	// AllowUnasked accepts that the agent does unasked what the permissions forbid; else its unit ends in error.
	AllowUnasked bool `yaml:"allow_unasked" doc:"Accept that the agent does unasked what is forbidden here."`
}

// PermissionRule decides on some requests. It has a tool, a path or both.
type PermissionRule struct {
	// Tool is the tool's name, e.g. "Bash", in which * stands for any characters; empty: any tool.
	Tool string `yaml:"tool" min:"1" doc:"Name of the tool, e.g. Bash, * for any characters; default: any."`

	// Path is a glob of files relative to the workspace, with ** for any number of directories; empty: any files, and
	// none. A rule that allows matches if all files that the request names match; others if one does.
	Path string `yaml:"path" min:"1" doc:"Glob of files, relative to the workspace, e.g. internal/**; default: any."`

	Decide Decision `yaml:"decide,required" enum:"allow,reject,error" doc:"The answer."`
}

// MCPServer is a tool server that the agent is asked to start, over stdin and stdout.
type MCPServer struct {
	Name string `yaml:"name,required" pattern:"id"`

	// Command is the program with its arguments; it has at least one element, unless there is a Mock.
	Command []string `yaml:"command" min:"1" doc:"The program and its arguments."`

	// Mock are directories that the server is played from, in the place of a Command: of each tool in a file TOOL.md.
	// A later one's tools take the place of those of an earlier one.
	Mock []string `yaml:"mock" min:"1" doc:"Directories that the server is played from, in place of a command."`
}

// Sandbox confines the agent, and whatever else a unit starts. The zero value is the strongest kind that works on the
// machine, and network for the agent alone.
type Sandbox struct {
	// Kind is "auto", "bwrap", "landlock", "command" or "none". "auto", also if empty, is the strongest that works on
	// the machine.
	Kind string `yaml:"kind" enum:"auto,bwrap,landlock,command,none" default:"auto"`

	// Network says who has network access: "agent", also if empty, is only the agent's process, "none" nobody, and
	// "all" also run steps, terminals and commands of evaluators.
	Network string `yaml:"network" enum:"agent,none,all" default:"agent"`

	// AllowRead are further files and directories that everything confined may read: absolute, relative to the
	// playbook or the test, or in the user's home with a leading ~/.
	AllowRead []string `yaml:"allow_read" min:"1" doc:"Further files and directories that may be read."`

	// Command is the wrapper of kind "command": a program and its arguments, to which what it confines is appended.
	Command []string `yaml:"command" min:"1" doc:"With kind: command, what confines the command that follows it."`

	// AllowCommands are base names of further programs that run steps may start, and agents' terminals where nothing
	// confines them.
	AllowCommands []string `yaml:"allow_commands" pattern:"program" doc:"Further programs that may be started."`

	// UnixSockets lets everything confined connect to unix sockets, where the sandbox cannot tell those outside apart.
	UnixSockets bool `yaml:"unix_sockets" doc:"Unix sockets, also where those outside cannot be told apart."`

	// AllowUserns lets everything confined make user namespaces, with capabilities in them.
	AllowUserns bool `yaml:"allow_userns" doc:"User namespaces, for agents that bring a sandbox of their own."`

	// Require are properties, such as "files read", without which nothing is started; docs/confinement.md has all.
	Require []string `yaml:"require" min:"1" doc:"Properties without which nothing is started."`
}

// Env says which environment variables agents and steps see besides those that every program needs.
type Env struct {
	// Pass are the names of variables of ours.
	Pass []string `yaml:"pass" pattern:"^[a-zA-Z_][a-zA-Z0-9_]*$" doc:"Names of variables to pass on."`

	// Set has values by name. They are no secrets: they stand in recordings.
	Set map[string]string `yaml:"set" pattern:"^[a-zA-Z_][a-zA-Z0-9_]*$" doc:"Variables with their values."`
}

// Override replaces the answers of calls of a tool.
//
// With cassette level run, graders see it in place of the recorded one, and nothing else changes: the agent did what it
// did. With the other levels the agent sees it, also during recording. An override that no call matches is an error.
type Override struct {
	// Tool is the tool's name, in which * stands for any characters: as the agent gives it with level run, else one of
	// fs/read_text_file, fs/write_text_file, terminal/create, session/request_permission and mcp__SERVER__TOOL.
	Tool string `yaml:"tool,required"`

	// Args are arguments that the call must have, as JSON values, with paths in the workspace as $WORKSPACE/...; nil:
	// any.
	Args map[string]any `yaml:"args" min:"1"`

	// Case and Variant limit the override to units of that case, of that variant; empty: any.
	Case    string `yaml:"case" min:"1" doc:"The case whose units it holds in; default: all."`
	Variant string `yaml:"variant" min:"1" doc:"The variant whose units it holds in; default: all."`

	// Nth is which of the matching calls, from 1; 0: all of them.
	Nth int `yaml:"nth" min:"1" doc:"Which of the calls that match, from 1; default: each."`

	// Output is the answer. Exactly one of Output and Error is given.
	Output any `yaml:"output" doc:"The answer."`
	// Error makes the call fail with this text.
	Error string `yaml:"error" min:"1" doc:"Makes the call fail with this text."`
}

// LLMJudge says how models judge, or an agent: an evaluator of type llm_judge.
type LLMJudge struct {
	// Name names the judge's subtest; empty: llm-judge.
	Name string
	// Threshold is the lowest score that passes, above 0 and up to 1; 0: the suite's.
	Threshold float64
	// Models are the models that judge, at least one unless there is an Agent; the median of their scores counts.
	Models []string `yaml:"judges"`
	// Agent judges in the place of models, without a tool and without an API key but its own account's; the zero value
	// is none. It has no Mode.
	Agent Agent `yaml:"agent"`
	// Prompt is a template of the question to models; empty: the built-in prompt.
	Prompt string `yaml:"prompt"`
	// Samples is how often each model is asked; 0 means 1.
	Samples int `yaml:"samples"`
	// Rubrics are judged one by one.
	Rubrics []Rubric `yaml:"rubrics"`
}

// Rubric is one thing that an [LLMJudge] looks for: it holds, or it does not.
type Rubric struct {
	// ID matches ^[a-zA-Z][a-zA-Z0-9_-]*$.
	ID   string `yaml:"id"`
	Text string `yaml:"text"`
	// Weight is its weight in the score; 0 means 1.
	Weight float64 `yaml:"weight"`
	// Required makes the judge's score fail, whatever it is, if the rubric does not hold.
	Required bool `yaml:"required"`
	// Calls shows an agent that judges the tool calls, for a rubric that asks how the work was done: its verdict is
	// marked as not blind. Models are always shown them.
	Calls bool `yaml:"calls"`
}
