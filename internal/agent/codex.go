package agent

import (
	"fmt"

	"github.com/pelletier/go-toml/v2"
)

// codexFiles returns Codex's configuration, which it looks for in ~/.codex.
func codexFiles(p Preset) ([]File, error) {
	if p.provider == nil {
		return nil, fmt.Errorf("it is not a preset for Codex")
	}
	const id = "preset" // Codex reserves names such as "openai"
	config := struct {
		ModelProvider string `toml:"model_provider"`
		// A login shell would set PATH anew from /etc/profile.
		AllowLoginShell bool `toml:"allow_login_shell"`
		CheckForUpdate  bool `toml:"check_for_update_on_startup"`
		// Without it Codex sends metrics to its makers.
		Analytics struct {
			Enabled bool `toml:"enabled"`
		} `toml:"analytics"`
		ModelProviders map[string]provider `toml:"model_providers"`
	}{ModelProvider: id, ModelProviders: map[string]provider{id: *p.provider}}
	data, err := toml.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("write Codex's configuration: %w", err)
	}
	return []File{{Path: ".codex/config.toml", Data: data}}, nil
}
