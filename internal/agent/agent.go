// Package agent knows the kinds of coding agents that a playbook can name, how to start each, and the presets that say
// which account and endpoint they use. It starts nothing itself: package session does.
//
//	preset, err := agent.Resolve("claude-code-acp", "production", "") // reads ~/.config/llman/claude-code.toml
//	if err != nil {
//		return err
//	}
//	profile, _ := agent.Lookup("claude-code-acp")
//	launch, err := profile.Launch("", nil, preset) // "claude-agent-acp" with the preset's variables
//
// A new kind of agent is a row of the table in this file.
package agent

import (
	"regexp"
	"slices"
	"time"
)

// Fake is the kind of sdd-eval's own scripted agent, which needs no account.
const Fake = "fake-acp"

// Profile describes a kind of agent.
type Profile struct {
	// Kind is the kind's name in playbooks.
	Kind string
	// Names are the lower-case words by which a text reveals the agent: its own name and its maker's.
	Names []string
	// Provider is the provider of the agent's models, as in OpenTelemetry's gen_ai.provider.name. It is empty if the
	// agent works with any.
	Provider string
	// Transcript is the format of the records that the agent keeps of its sessions, if package convert reads it.
	Transcript string
	// Command is the program that is started unless the playbook names one. If it is empty, the playbook must.
	Command string
	// Args are the arguments of the program, unless the playbook has arguments.
	Args []string
	// AskingArgs are added to Args for a kind whose arguments decide whether it asks before it edits or runs anything.
	AskingArgs []string
	// Env has variables for the agent's process. Those of a preset win over them.
	Env map[string]string
	// PresetFile is the file with presets of this kind in the configuration directory, or empty if the kind has none.
	PresetFile string
	// NeedsPreset means that the kind does not work without a preset.
	NeedsPreset bool
	// Programs are those that agents of the kind are known to be started with; the first is that of Command.
	Programs []Program
	// Login says how a person logs in, so that the agent writes the files of an account; empty: unknown.
	Login string
	// ClientFiles and ClientTerminals say which capabilities the client advertises to the agent. Agents that do
	// everything in their own process ignore them.
	ClientFiles, ClientTerminals bool
	// AuthMethod is the method to authenticate with after initialization. It is empty if the preset's variables
	// suffice.
	AuthMethod string
	// AskingModes are session modes in which the agent asks before it edits or runs anything. Unless the playbook names
	// a mode, the first of them that the session offers is set.
	AskingModes []string
	// UnaskingModes are modes in which the agent asks for nothing. The first that the session offers is set if it
	// offers none that asks, and the playbook forbids nothing. If it offers neither, its initial mode is kept.
	UnaskingModes []string
	// Volatile are keys in the input and output of the agent's tools whose values differ from run to run. The key
	// context_used is the size of the context, of agents that estimate it from texts that differ.
	Volatile []string
	// VolatileText is a regular expression for what differs from run to run in the texts of the agent and its tools:
	// random names of sub-agents, of commands in the background, of files with long outputs. It may be empty.
	VolatileText string
	// Grace is how long the agent may take to end after its input is closed. If it is 0, the default for processes
	// holds.
	Grace time.Duration
	// Headless says how to drive an agent that does not speak the Agent Client Protocol. It is nil if the agent does.
	Headless *Headless

	// Skills is the directory of the workspace in which the agent looks for skills, and Instructions the file there
	// from which it takes instructions; empty: none is known.
	Skills, Instructions string
	// Plugins is the directory of the workspace for plugins, of which the agent is told when its session begins; empty:
	// it cannot be told of any.
	Plugins string

	// Tools are the names of the kind's own tools that are known; nil: the kind may have any.
	Tools []string

	// Activation says what agents of the kind show of the skills and tools that they use; nil: nobody has seen it, and
	// that they show no use of one says nothing.
	Activation *Activation

	// MCPFile is the file in the agent's home that names its MCP servers, for an agent that takes none from its client.
	MCPFile string

	// machine is where the machine has accounts.
	machine machineAccount
	// sample is a preset to paste, of the name NAME.
	sample string
	// decode reads a preset from a PresetFile. If it is nil, a preset's name is only recorded.
	decode func(f presetFile, name string) (Preset, error)
	// files returns the files that the agent must find in its home directory. It may be nil.
	files func(Preset) ([]File, error)
}

// Activation is how agents show that they use a skill, beside reading its file: by a call of a tool of theirs. Calls of
// other tools they show by name.
type Activation struct {
	// Tool is the tool that loads a skill; empty: they have none.
	Tool string
	// Argument is the tool's argument with the skill's name. A call without arguments begins its title with the name in
	// quotes (Gemini).
	Argument string
}

// Headless says how to drive an agent that is started anew for each prompt, see package claudecli. It cannot ask for
// permissions: what it is not allowed to do beforehand is denied.
type Headless struct {
	// Unasked are the arguments with which the agent asks for no permission, UnaskedMode is the mode in which it asks
	// for none, and UnaskedEnv has the variables that both need. They are for agents that are confined.
	Unasked     []string
	UnaskedMode string
	UnaskedEnv  map[string]string
	// Asking are the agent's own tools that need a permission.
	Asking []string
}

// profiles is the table of all kinds, in the order in which they are shown. What it says was measured with the versions
// in fixtures/agents.
var profiles = []Profile{
	{
		// The kind has two adapters. @agentclientprotocol/claude-agent-acp acts in its own process and ends with its
		// input; since 0.101.0 it begins in the mode "auto", in which a model decides and nobody is asked.
		// @zed-industries/claude-code-acp, named by `command: claude-code-acp`, reads and writes files and runs
		// commands through its client if it may, and does not end by itself. In the mode acceptEdits it leaves a
		// .claude/settings.local.json in the workspace.
		Kind:         "claude-code-acp",
		Skills:       ".claude/skills",
		Plugins:      ".claude/plugins",
		Instructions: "CLAUDE.md",
		Tools:        claudeTools,
		Activation:   &Activation{Tool: "Skill", Argument: "skill"},
		Names:        []string{"claude", "anthropic"},
		Provider:     "anthropic",
		Transcript:   "claude",
		Command:      "claude-agent-acp",
		Programs: []Program{
			{"claude-agent-acp", "@agentclientprotocol/claude-agent-acp", "0.101.0"},
			{"claude-code-acp", "@zed-industries/claude-code-acp", "0.16.2"},
		},
		PresetFile:      "claude-code.toml",
		NeedsPreset:     true,
		ClientFiles:     true,
		ClientTerminals: true,
		AskingModes:     []string{"default"},
		VolatileText:    claudeVolatile,
		Grace:           time.Second,
		Login:           "claude auth login",
		machine:         claudeAccount,
		sample:          anthropicSample,
		decode:          decodeClaude,
	},
	{
		// Claude Code itself, without an adapter: @anthropic-ai/claude-code, or the program that comes with
		// claude-agent-acp. As root it takes neither --dangerously-skip-permissions nor bypassPermissions without
		// IS_SANDBOX. Its presets are those of claude-code-acp.
		Kind:         "claude-cli",
		Skills:       ".claude/skills",
		Plugins:      ".claude/plugins",
		Instructions: "CLAUDE.md",
		Tools:        claudeTools,
		Activation:   &Activation{Tool: "Skill", Argument: "skill"},
		Names:        []string{"claude", "anthropic"},
		Provider:     "anthropic",
		Command:      "claude",
		Args:         []string{"-p", "--output-format", "stream-json", "--verbose"},
		Programs:     []Program{{"claude", "@anthropic-ai/claude-code", "2.1.318"}},
		PresetFile:   "claude-code.toml",
		NeedsPreset:  true,
		Grace:        time.Second,
		Headless: &Headless{
			Unasked:     []string{"--dangerously-skip-permissions"},
			UnaskedMode: "bypassPermissions",
			UnaskedEnv:  map[string]string{"IS_SANDBOX": "1"},
			Asking: []string{
				"Bash", "Edit", "EnterWorktree", "ExitPlanMode", "ExitWorktree", "Monitor", "MultiEdit",
				"NotebookEdit", "ReadMcpResourceTool", "Skill", "SlashCommand", "WebFetch", "WebSearch", "Workflow",
				"Write",
			},
		},
		VolatileText: claudeVolatile,
		Login:        "claude auth login",
		machine:      claudeAccount,
		sample:       anthropicSample,
		decode:       decodeClaude,
	},
	{
		// Codex has a sandbox of its own, which fails inside another one: only without it can it run commands. The kind
		// has two adapters, and neither ends with its input. @zed-industries/codex-acp takes its configuration from its
		// arguments and asks before edits and commands. @agentclientprotocol/codex-acp ignores them, and Codex 0.166,
		// which it drives, has no setting that asks without the sandbox: it works in the mode "agent-full-access".
		Kind:         "codex-acp",
		Skills:       ".agents/skills",
		Instructions: "AGENTS.md",
		Tools:        codexTools,
		Activation:   &Activation{},
		Names:        []string{"codex", "openai"},
		Provider:     "openai",
		Transcript:   "codex",
		Command:      "codex-acp",
		AskingArgs:   []string{"-c", "approval_policy=untrusted", "-c", "sandbox_mode=danger-full-access"},
		Programs: []Program{
			{"codex-acp", "@zed-industries/codex-acp", "0.16.0"},
			{"codex-acp", "@agentclientprotocol/codex-acp", "2.6.0"},
		},
		PresetFile:      "codex.toml",
		NeedsPreset:     true,
		ClientFiles:     true,
		ClientTerminals: true,
		UnaskingModes:   []string{"agent-full-access", "full-access"},
		Volatile: []string{
			"call_id", "process_id", "turn_id", "started_at_ms", "completed_at_ms", "duration",
			"agentThreadId", "senderThreadId", "receiverThreadIds", "agentsStates", // of sub-agents
		},
		Grace:   time.Second,
		Login:   "codex login",
		machine: codexAccount,
		sample:  codexSample,
		decode:  decodeCodex,
		files:   codexFiles,
	},
	{
		// @google/gemini-cli 0.61.0. The key is GEMINI_API_KEY. It cannot create files through its client, so it writes
		// files itself. In a folder that it does not trust it has only the modes default and plan. In the mode default
		// it asks before it edits or runs anything, and the request is the first mention of such a call. It reports
		// neither the input nor the output of tools, and what a turn took only in metadata. Clients cannot choose a
		// model; that takes `--model`.
		Kind:            "gemini-acp",
		Skills:          ".gemini/skills",
		Instructions:    "GEMINI.md",
		Tools:           geminiTools,
		Activation:      &Activation{Tool: "activate_skill", Argument: "name"},
		Names:           []string{"gemini"},
		Provider:        "gcp.gen_ai",
		Transcript:      "gemini",
		Command:         "gemini",
		Args:            []string{"--acp"}, // --experimental-acp before
		Programs:        []Program{{"gemini", "@google/gemini-cli", "0.61.0"}},
		PresetFile:      "gemini.toml",
		Env:             map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "true"},
		ClientTerminals: true,
		AuthMethod:      "gemini-api-key",
		AskingModes:     []string{"default"},
		Login:           "gemini",
		machine:         geminiAccount,
		sample:          geminiSample,
		decode:          decodeGroup,
		files:           geminiFiles,
	},
	{
		// opencode-ai 1.18.34. Its configuration makes it ask before it edits or runs anything. It also writes its
		// edits through its client, and outside of repositories it names files without their first slash. It searches
		// with ripgrep, which it downloads if there is none. Its mode is an option of the session: build or plan.
		Kind:            "opencode-acp",
		Skills:          ".agents/skills",
		Instructions:    "AGENTS.md",
		Tools:           openCodeTools,
		Activation:      &Activation{Tool: "skill", Argument: "name"},
		Names:           []string{"opencode"},
		Transcript:      "opencode",
		Command:         "opencode",
		Args:            []string{"acp"},
		Programs:        []Program{{"opencode", "opencode-ai", "1.18.34"}},
		PresetFile:      "opencode.toml",
		Env:             map[string]string{"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"},
		ClientFiles:     true,
		ClientTerminals: true,
		VolatileText:    `\b(tool|ses)_[0-9a-f]{12}[0-9A-Za-z]{14}\b`,
		Login:           "opencode auth login",
		machine:         openCodeAccount,
		sample:          openCodeSample,
		decode:          decodeOpenCode,
		files:           openCodeFiles,
	},
	{
		// @github/copilot 1.0.102. It works with other providers than GitHub where a preset names one by the variables
		// COPILOT_PROVIDER_BASE_URL, COPILOT_PROVIDER_API_KEY and COPILOT_MODEL. In the mode "agent" it asks before it
		// edits or runs anything; in "autopilot" it asks for nothing. From clients it takes only MCP servers that it
		// reaches by HTTP, and says nothing of the others.
		Kind:            "copilot-acp",
		Skills:          ".agents/skills",
		Instructions:    "AGENTS.md",
		Tools:           copilotTools,
		Activation:      &Activation{Tool: "skill", Argument: "skill"},
		Names:           []string{"copilot", "github"},
		Transcript:      "copilot",
		Command:         "copilot",
		Args:            []string{"--acp"},
		Programs:        []Program{{"copilot", "@github/copilot", "1.0.102"}},
		PresetFile:      "copilot.toml",
		Env:             map[string]string{"COPILOT_AUTO_UPDATE": "false"},
		ClientFiles:     true,
		ClientTerminals: true,
		MCPFile:         ".copilot/mcp-config.json",
		AskingModes:     []string{"agent"},
		Volatile:        []string{"context_used"},
		VolatileText:    `\b\d+-copilot-tool-output-\d+-[0-9a-f-]{36}\b`,
		Login:           "copilot login",
		machine:         copilotAccount,
		sample:          copilotSample,
		decode:          decodeGroup,
	},
	{
		// @qwen-code/qwen-code 0.24.4. Its account is OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL, or a Qwen
		// account. It begins in the mode "auto", in which a model decides and nobody is asked.
		Kind:            "qwen-acp",
		Skills:          ".qwen/skills",
		Instructions:    "AGENTS.md",
		Tools:           qwenTools,
		Activation:      &Activation{Tool: "skill", Argument: "skill"},
		Names:           []string{"qwen", "alibaba"},
		Transcript:      "qwen",
		Command:         "qwen",
		Args:            []string{"--acp"},
		Programs:        []Program{{"qwen", "@qwen-code/qwen-code", "0.24.4"}},
		PresetFile:      "qwen.toml",
		ClientFiles:     true,
		ClientTerminals: true,
		AskingModes:     []string{"default"},
		Volatile:        []string{"pid", "promptId", "averageDurationMs", "totalDurationMs"},
		VolatileText: `\bbg_[0-9a-f]{8}\b|\bpid \d+\b|\bPGID: \d+\b` +
			`|\.qwen/tmp/[0-9a-f]{64}|\brun_shell_command_[0-9a-f]{12}\b`,
		machine: qwenAccount,
		sample:  openAISample,
		decode:  decodeGroup,
		files:   qwenFiles,
	},
	{
		// cline 3.0.65. It opens no session before a client has authenticated it by an account of Cline's or ChatGPT's.
		Kind:            "cline-acp",
		Skills:          ".agents/skills",
		Instructions:    "AGENTS.md",
		Names:           []string{"cline"},
		Command:         "cline",
		Args:            []string{"--acp"},
		Programs:        []Program{{"cline", "cline", "3.0.65"}},
		PresetFile:      "cline.toml",
		ClientFiles:     true,
		ClientTerminals: true,
		sample:          anySample,
		decode:          decodeGroup,
	},
	{
		// Goose, by its documentation: its mode is a variable.
		Kind:            "goose-acp",
		Skills:          ".agents/skills",
		Instructions:    "AGENTS.md",
		Names:           []string{"goose"},
		Command:         "goose",
		Args:            []string{"acp"},
		PresetFile:      "goose.toml",
		Env:             map[string]string{"GOOSE_MODE": "approve"},
		ClientFiles:     true,
		ClientTerminals: true,
		sample:          anySample,
		decode:          decodeGroup,
	},
	{
		// Any other agent that speaks the protocol.
		Kind:            "acp",
		PresetFile:      "acp.toml",
		ClientFiles:     true,
		ClientTerminals: true,
		sample:          anySample,
		decode:          decodeGroup,
	},
	{
		// sdd-eval's own scripted agent.
		Kind:            Fake,
		Skills:          ".agents/skills",
		Instructions:    "AGENTS.md",
		Activation:      &Activation{},
		Command:         Fake,
		ClientFiles:     true,
		ClientTerminals: true,
	},
}

// claudeVolatile is what Claude Code says of sub-agents, and the files in which it keeps long outputs.
const claudeVolatile = `\b(agentId: |to: ')a[0-9a-f]{6,16}\b|\bduration_ms: \d+\b|/tool-results/[0-9a-z]+`

// Patterns returns the playbook's own patterns of what a recording does not keep, and the kind's.
func (p Profile) Patterns(own []*regexp.Regexp) []*regexp.Regexp {
	if p.VolatileText == "" {
		return own
	}
	return append(slices.Clip(own), regexp.MustCompile(p.VolatileText))
}

// Arguments returns the arguments of the program: those that the playbook names, if they are not nil, else the kind's.
// They make it ask, unless the playbook names a session mode, which then decides.
func (p Profile) Arguments(named []string, mode string) []string {
	switch {
	case named != nil:
		return named
	case mode != "":
		return p.Args
	}
	return slices.Concat(p.Args, p.AskingArgs)
}

// Profiles returns all kinds.
func Profiles() []Profile { return slices.Clone(profiles) }

// Lookup returns the profile of a kind.
func Lookup(kind string) (Profile, bool) {
	i := slices.IndexFunc(profiles, func(p Profile) bool { return p.Kind == kind })
	if i < 0 {
		return Profile{}, false
	}
	return profiles[i], true
}

// Kinds returns the names of all kinds.
func Kinds() []string {
	kinds := make([]string, len(profiles))
	for i, p := range profiles {
		kinds[i] = p.Kind
	}
	return kinds
}
