package agent

// provider is a model provider as Codex and OpenCode have it in their configurations.
type provider struct {
	Name    string   `toml:"name"`
	BaseURL string   `toml:"base_url"`
	WireAPI string   `toml:"wire_api,omitempty"` // of Codex
	EnvKey  string   `toml:"env_key,omitempty"`
	Models  []string `toml:"-"` // of OpenCode, which knows none of a provider's own
}

// decodeCodex reads codex.toml, with providers as Codex has them.
func decodeCodex(f presetFile, name string) (Preset, error) {
	return decodeProvider(f, name, func(t *table, p *provider) { p.WireAPI = t.text("wire_api") })
}

// decodeOpenCode reads opencode.toml, whose providers have models.
func decodeOpenCode(f presetFile, name string) (Preset, error) {
	return decodeProvider(f, name, func(t *table, p *provider) {
		if p.Models = t.texts("models"); len(p.Models) == 0 {
			t.fail("models", "it is required")
		}
	})
}

// decodeProvider reads a file with [model_providers.NAME], a provider, and [model_providers.NAME.env] with a variable a key.
// The keys that only one kind of agent has are taken by own.
func decodeProvider(f presetFile, name string, own func(*table, *provider)) (Preset, error) {
	t, err := f.table("model_providers", name)
	if err != nil {
		return Preset{}, err
	}
	p := t.marks(name)
	p.provider = &provider{Name: t.text("name"), BaseURL: t.text("base_url"), EnvKey: t.text("env_key")}
	if p.provider.Name == "" {
		p.provider.Name = name
	}
	own(t, p.provider)
	if p.provider.BaseURL == "" {
		t.fail("base_url", "it is required")
	}
	env := t.table("env")
	p.Env = env.variables()
	env.checkCredentials(p.Env)
	t.checkSecret(p)
	t.done()
	t.errs = append(t.errs, env.errs...)
	return p, t.err()
}
