package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/pelletier/go-toml/v2"
)

// Launch is how to start one agent.
type Launch struct {
	// Command is the program, a path or a name to look up, and Args are its arguments without argv[0].
	Command string
	Args    []string
	// Env has the kind's and the preset's variables, for the agent's process only. The environment that every agent
	// gets, with a fresh HOME and TMPDIR, comes from elsewhere.
	Env map[string]string
	// Files must be written to the fresh HOME.
	Files []File
	// AuthMethod is the method to authenticate with, or empty.
	AuthMethod string
	// Endpoint says what answers as the model: [Real] or [Scripted].
	Endpoint string
	// SecretNames are the variables that the preset marks as secret, sorted.
	SecretNames []string
	// Withheld are variables that the agent must not have.
	Withheld []string
	// Masked are texts of the preset, other than variables, that may be secrets, by names for them.
	Masked map[string]string
	// AuthMethodAt is where the preset says AuthMethod, as file:line; empty: the method is the kind's.
	AuthMethodAt string
}

// File is a file that an agent needs.
type File struct {
	Path string // relative to HOME, with slashes
	Data []byte
	// From is the user's file that Data is a copy of; empty: the file is the kind's.
	From string
	// WriteBack says that the user's file becomes what the agent makes of its copy.
	WriteBack bool
}

// Launch returns how to start an agent of this kind. An empty command and nil args mean those of the kind.
func (p Profile) Launch(command string, args []string, preset Preset) (Launch, error) {
	if command == "" {
		command = p.Command
	}
	if command == "" {
		return Launch{}, fmt.Errorf("agents of kind %s have no default command: the playbook must name one", p.Kind)
	}
	if args == nil {
		args = p.Args
	}
	l := Launch{
		Command: command, Args: slices.Clone(args), Env: merge(p.Env, preset.Env),
		AuthMethod: p.AuthMethod, Endpoint: preset.Endpoint, SecretNames: slices.Clone(preset.Secret),
		Masked: maps.Clone(preset.masked), Withheld: preset.Withheld,
	}
	if m := preset.authMethod; m != nil {
		l.AuthMethod, l.AuthMethodAt = m.id, m.at
	}
	var err error
	if p.files != nil {
		l.Files, err = p.files(preset)
	}
	if err == nil {
		err = l.addFiles(preset.files, p.MCPFile)
	}
	if err != nil {
		return Launch{}, fmt.Errorf("preset %q: %w", preset.Name, err)
	}
	return l, nil
}

// merge returns the variables of a and b, or nil if there are none. If both have a variable, b's value counts.
func merge(a, b map[string]string) map[string]string {
	if len(a) == 0 {
		return maps.Clone(b)
	}
	m := maps.Clone(a)
	maps.Copy(m, b)
	return m
}

// codexFiles returns Codex's configuration, which it reads from ~/.codex. Without a provider in the preset, Codex uses
// its own.
func codexFiles(p Preset) ([]File, error) {
	config := map[string]any{
		// A login shell would set PATH from /etc/profile.
		"allow_login_shell":           false,
		"check_for_update_on_startup": false,
		// By default Codex sends metrics to its makers.
		"analytics": map[string]any{"enabled": false},
	}
	if p.provider != nil {
		const id = "preset" // Codex reserves names such as "openai"
		config["model_provider"] = id
		config["model_providers"] = map[string]any{id: p.provider.forCodex()}
	}
	data, err := toml.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("write Codex's configuration: %w", err)
	}
	return []File{{Path: ".codex/config.toml", Data: data}}, nil
}

// forCodex returns the provider as Codex's configuration has it.
func (p provider) forCodex() map[string]any {
	keys := map[string]any{"name": p.Name}
	maps.Copy(keys, p.Own)
	if p.BaseURL != "" {
		keys["base_url"] = p.BaseURL
	}
	if p.EnvKey != "" {
		keys["env_key"] = p.EnvKey
	}
	return keys
}

// geminiFiles returns Gemini's settings, which it reads from ~/.gemini and where it notes how it has authenticated.
func geminiFiles(Preset) ([]File, error) {
	const settings = `{
  "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
  "privacy": {"usageStatisticsEnabled": false}
}
`
	return []File{{Path: ".gemini/settings.json", Data: []byte(settings)}}, nil
}

// qwenFiles returns Qwen's settings, which it reads from ~/.qwen. By default it asks the model for more than the task:
// what the user may want next, and what to remember in a home that ends with the session.
func qwenFiles(Preset) ([]File, error) {
	const settings = `{
  "general": {"enableAutoUpdate": false},
  "memory": {"enableManagedAutoMemory": false, "enableManagedAutoDream": false},
  "privacy": {"usageStatisticsEnabled": false},
  "ui": {"enableFollowupSuggestions": false}
}
`
	return []File{{Path: ".qwen/settings.json", Data: []byte(settings)}}, nil
}

// openCodeFiles returns OpenCode's configuration, which it reads from ~/.config/opencode. An opencode.json in the
// workspace wins over it.
func openCodeFiles(p Preset) ([]File, error) {
	config := map[string]any{
		"autoupdate": false,
		"share":      "disabled",
		// By default OpenCode asks for nothing, and a playbook's permissions have no effect.
		"permission": map[string]string{"edit": "ask", "bash": "ask", "webfetch": "ask"},
	}
	if p.provider != nil {
		const id = "preset"
		models := make(map[string]any)
		for _, m := range p.provider.Models {
			models[m] = struct{}{}
		}
		options := map[string]string{"baseURL": p.provider.BaseURL}
		if p.provider.EnvKey != "" {
			options["apiKey"] = "{env:" + p.provider.EnvKey + "}"
		}
		config["model"] = id + "/" + p.provider.Models[0]
		config["small_model"] = config["model"] // for titles
		config["enabled_providers"] = []string{id}
		config["provider"] = map[string]any{id: map[string]any{
			"npm": "@ai-sdk/openai-compatible", "name": p.provider.Name, "options": options, "models": models,
		}}
	}
	data, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write OpenCode's configuration: %w", err)
	}
	return []File{{Path: ".config/opencode/opencode.json", Data: append(data, '\n')}}, nil
}
