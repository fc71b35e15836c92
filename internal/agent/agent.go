// Package agent knows the kinds of coding agents that a playbook can name, how to start each, and the presets that say
// which account and endpoint they use.
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
	"slices"
	"time"
)

// Fake is the kind of our own scripted agent, which needs no account.
const Fake = "fake-acp"

// Profile is what is to know of one kind of agent.
type Profile struct {
	// Kind is the kind's name in playbooks.
	Kind string
	// Names are the words that give the agent away in any text, in lower case: its own name and its maker's.
	Names []string
	// Provider is whose models answer the agent, as OpenTelemetry calls them in gen_ai.provider.name; empty: anybody's.
	Provider string
	// Transcript is the format of the records that the agent keeps of its sessions, if package convert reads it.
	Transcript string
	// Command is the program that is started unless the playbook names one; empty: the playbook has to.
	Command string
	// Args are the arguments of the program unless the playbook gives some, which replace them all.
	Args []string
	// Env has variables for the agent's process; those of a preset win over them.
	Env map[string]string
	// PresetFile is the file with presets of this kind, in the configuration directory; empty: there are none.
	PresetFile string
	// NeedsPreset says that the kind cannot do without a preset.
	NeedsPreset bool
	// ClientFiles and ClientTerminals say what to advertise to the agent. Agents that act in their own process all the
	// same are indifferent to it.
	ClientFiles, ClientTerminals bool
	// AuthMethod is the method to authenticate with once initialized; empty: none is needed, the preset's variables do.
	AuthMethod string
	// Modes are session modes in which the agent works unattended. Unless the playbook names a mode, the first of them
	// that the session offers is to be set; none: the mode that the session begins in will do.
	Modes []string
	// Volatile are keys in the input and output of the agent's tools whose values differ from run to run.
	Volatile []string
	// Grace is how long the agent is given to end when its input is closed; 0: as long as any other process.
	Grace time.Duration
	// Headless says how an agent is driven that does not speak the Agent Client Protocol; nil: it does.
	Headless *Headless

	// decode reads one preset out of a PresetFile; nil: a preset's name is recorded and nothing is read.
	decode func(f presetFile, name string) (Preset, error)
	// files returns what the agent has to find in its home directory; nil: nothing.
	files func(Preset) ([]File, error)
}

// Headless is how an agent is driven that is started for each prompt, as package claudecli has it. Nobody can be asked for
// a permission then: what is not given before is denied.
type Headless struct {
	// Unasked are the arguments by which it asks for no permission, UnaskedMode the mode in which it does not, and
	// UnaskedEnv the variables that it takes both with. They are for agents that are confined.
	Unasked     []string
	UnaskedMode string
	UnaskedEnv  map[string]string
	// Asking are its own tools that need a permission.
	Asking []string
}

// profiles is the table of all kinds, in the order in which people are told of them. Measured with the versions that
// fixtures/agents pins.
var profiles = []Profile{
	{
		// The kind has two adapters. @agentclientprotocol/claude-agent-acp acts in its own process and ends with its
		// input. @zed-industries/claude-code-acp, named by `command: claude-code-acp`, reads and writes files and runs
		// commands through its client if it may, and does not end by itself. In the mode "default" both ask before they
		// edit or run anything, which the playbook's permissions answer. In the mode acceptEdits the latter leaves a
		// .claude/settings.local.json in the workspace.
		Kind:            "claude-code-acp",
		Names:           []string{"claude", "anthropic"},
		Provider:        "anthropic",
		Transcript:      "claude",
		Command:         "claude-agent-acp",
		PresetFile:      "claude-code.toml",
		NeedsPreset:     true,
		ClientFiles:     true,
		ClientTerminals: true,
		Grace:           time.Second,
		decode:          decodeGroup,
	},
	{
		// Claude Code itself, without an adapter: @anthropic-ai/claude-code, or the program that comes with
		// claude-agent-acp. As root it takes neither --dangerously-skip-permissions nor bypassPermissions without
		// IS_SANDBOX. Its presets are those of claude-code-acp.
		Kind:        "claude-cli",
		Names:       []string{"claude", "anthropic"},
		Provider:    "anthropic",
		Command:     "claude",
		Args:        []string{"-p", "--output-format", "stream-json", "--verbose"},
		PresetFile:  "claude-code.toml",
		NeedsPreset: true,
		Grace:       time.Second,
		Headless: &Headless{
			Unasked:     []string{"--dangerously-skip-permissions"},
			UnaskedMode: "bypassPermissions",
			UnaskedEnv:  map[string]string{"IS_SANDBOX": "1"},
			Asking: []string{
				"Bash", "Edit", "EnterWorktree", "ExitPlanMode", "ExitWorktree", "Monitor", "MultiEdit", "NotebookEdit", "ReadMcpResourceTool",
				"Skill", "SlashCommand", "WebFetch", "WebSearch", "Workflow", "Write",
			},
		},
		decode: decodeGroup,
	},
	{
		// The agent has a sandbox of its own, which fails inside another one and without bubblewrap: only the modes
		// without it can run commands, and they ask for nothing. "full-access" is what @zed-industries/codex-acp calls
		// it, "agent-full-access" @agentclientprotocol/codex-acp. Neither ends with its input.
		Kind:            "codex-acp",
		Names:           []string{"codex", "openai"},
		Provider:        "openai",
		Transcript:      "codex",
		Command:         "codex-acp",
		PresetFile:      "codex.toml",
		NeedsPreset:     true,
		ClientFiles:     true,
		ClientTerminals: true,
		Modes:           []string{"agent-full-access", "full-access"},
		Volatile:        []string{"call_id", "process_id", "turn_id", "started_at_ms", "completed_at_ms", "duration"},
		Grace:           time.Second,
		decode:          decodeCodex,
		files:           codexFiles,
	},
	{
		// @google/gemini-cli 0.61.0. The key is GEMINI_API_KEY. It cannot make new files through its client, so it is to use
		// its own hands. A folder that it does not trust has no modes but default and plan. In the mode default it asks
		// before it edits or runs anything, and mentions such a call first by asking. It tells neither what a tool is given
		// nor what comes of it, and what a turn took in metadata alone. A model is not offered to clients: it takes `--model`.
		Kind:            "gemini-acp",
		Names:           []string{"gemini"},
		Provider:        "gcp.gen_ai",
		Command:         "gemini",
		Args:            []string{"--acp"}, // --experimental-acp before
		PresetFile:      "gemini.toml",
		Env:             map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "true"},
		ClientTerminals: true,
		AuthMethod:      "gemini-api-key",
		decode:          decodeGroup,
		files:           geminiFiles,
	},
	{
		// opencode-ai 1.18.33. It is told to ask before it edits or runs anything. It also writes what it edits through its
		// client, and outside of repositories names files without their first slash. Searches are ripgrep, which it downloads
		// if there is none. Its modes are a configuration option and no session modes, so a playbook cannot select one.
		Kind:            "opencode-acp",
		Names:           []string{"opencode"},
		Command:         "opencode",
		Args:            []string{"acp"},
		PresetFile:      "opencode.toml",
		Env:             map[string]string{"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"},
		ClientFiles:     true,
		ClientTerminals: true,
		decode:          decodeOpenCode,
		files:           openCodeFiles,
	},
	{
		// Any other agent that speaks the protocol.
		Kind:            "acp",
		ClientFiles:     true,
		ClientTerminals: true,
	},
	{
		// Our own scripted agent.
		Kind:            Fake,
		Command:         Fake,
		ClientFiles:     true,
		ClientTerminals: true,
	},
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
