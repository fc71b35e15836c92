package agent

import (
	"fmt"

	"github.com/pelletier/go-toml/v2"
)

// provider is a model provider as Codex has it in its configuration.
type provider struct {
	Name    string `toml:"name"`
	BaseURL string `toml:"base_url"`
	WireAPI string `toml:"wire_api,omitempty"`
	EnvKey  string `toml:"env_key,omitempty"`
}

// decodeCodex reads codex.toml: [model_providers.NAME] with a provider as Codex has it, and [model_providers.NAME.env]
// with a variable a key.
func decodeCodex(data []byte, name string) (Preset, error) {
	t, err := decodeTable(data, "model_providers", name)
	if err != nil {
		return Preset{}, err
	}
	p := t.marks(name)
	p.provider = &provider{
		Name: t.text("name"), BaseURL: t.text("base_url"), WireAPI: t.text("wire_api"), EnvKey: t.text("env_key"),
	}
	if p.provider.Name == "" {
		p.provider.Name = name
	}
	if p.provider.BaseURL == "" {
		t.fail("base_url", "it is required")
	}
	env := t.table("env")
	p.Env = env.variables()
	t.checkSecret(p)
	t.done()
	t.errs = append(t.errs, env.errs...)
	return p, t.err()
}

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
