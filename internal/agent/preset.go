package agent

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// What answers an agent as the model.
const (
	Real     = "real"
	Scripted = "scripted"
)

// maxPresets bounds the size of a file with presets, in bytes.
const maxPresets = 1 << 20

// Preset is an account and an endpoint for an agent. No error of this package shows a value out of one.
type Preset struct {
	// Name is the preset's name; empty: there is none.
	Name string
	// Endpoint is [Real] or [Scripted].
	Endpoint string
	// Env has the variables for the agent's process.
	Env map[string]string
	// Secret are the names of those variables that the preset marks as secret, sorted.
	Secret []string

	provider *provider // of Codex and OpenCode
}

// Resolve reads the preset with that name for agents of a kind. An empty name is no preset. The file stands in configDir
// or, if that is empty, in $LLMAN_CONFIG_DIR, or else in the directory llman of the user's configuration directory.
func Resolve(kind, name, configDir string) (Preset, error) {
	p, ok := Lookup(kind)
	if !ok {
		return Preset{}, fmt.Errorf("unknown kind of agent %q: it is one of %s", kind, strings.Join(Kinds(), ", "))
	}
	preset := Preset{Name: name, Endpoint: Real}
	switch {
	case name == "" && p.NeedsPreset:
		return Preset{}, fmt.Errorf("agents of kind %s need a preset, one of %s", kind, p.PresetFile)
	case kind == Fake: // the agent itself is the script
		preset.Endpoint = Scripted
		return preset, nil
	case name == "":
		return preset, nil
	case p.decode == nil:
		return Preset{}, fmt.Errorf("preset %q: there are no presets for agents of kind %s", name, kind)
	}
	dir, err := findConfigDir(configDir)
	if err != nil {
		return Preset{}, fmt.Errorf("preset %q: %w", name, err)
	}
	file := filepath.Join(dir, p.PresetFile)
	data, err := readBounded(file)
	if err != nil {
		return Preset{}, fmt.Errorf("preset %q: %w", name, err)
	}
	preset, err = p.decode(presetFile{file, data}, name)
	if err != nil {
		return Preset{}, fmt.Errorf("preset %q: %w", name, err)
	}
	return preset, nil
}

func findConfigDir(dir string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	if dir := os.Getenv("LLMAN_CONFIG_DIR"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the configuration directory: %w; set LLMAN_CONFIG_DIR", err)
	}
	return filepath.Join(dir, "llman"), nil
}

func readBounded(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPresets+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxPresets {
		return nil, fmt.Errorf("%s: the file is larger than %d bytes", file, maxPresets)
	}
	return bytes.TrimPrefix(data, []byte("\ufeff")), nil // editors of Windows begin files with it
}

// decodeGroup reads claude-code.toml and gemini.toml: [groups.NAME] with a variable a key.
func decodeGroup(f presetFile, name string) (Preset, error) {
	t, err := f.table("groups", name)
	if err != nil {
		return Preset{}, err
	}
	p := t.marks(name)
	p.Env = t.variables()
	t.checkSecret(p)
	t.checkCredentials(p.Env)
	if len(p.Env) == 0 && len(t.errs) == 0 {
		return Preset{}, fmt.Errorf("%s: [%s] sets no variable: the agent could not log in", t.position(t.path...), t.name())
	}
	return p, t.err()
}

// marks takes what presets of all kinds may have beside variables: `endpoint` and `secret`.
func (t *table) marks(name string) Preset {
	p := Preset{Name: name, Endpoint: Real, Secret: t.texts("secret")}
	switch e := t.text("endpoint"); e {
	case "", Real:
	case Scripted:
		p.Endpoint = Scripted
	default:
		t.fail("endpoint", `it has to be "`+Real+`" or "`+Scripted+`"`)
	}
	slices.Sort(p.Secret)
	p.Secret = slices.Compact(p.Secret)
	return p
}

// checkSecret reports names of secrets that are no variables of p.
func (t *table) checkSecret(p Preset) {
	for _, s := range p.Secret {
		if _, ok := p.Env[s]; !ok {
			t.fail("secret", "it names a variable that the preset does not set")
		}
	}
}

// checkCredentials reports keys and tokens that are empty, unless one of them is not: setting ANTHROPIC_API_KEY to nothing
// beside an ANTHROPIC_AUTH_TOKEN says which of them counts.
func (t *table) checkCredentials(env map[string]string) {
	var empty []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		switch credential := strings.HasSuffix(name, "_KEY") || strings.HasSuffix(name, "_TOKEN"); {
		case credential && env[name] != "":
			return
		case credential:
			empty = append(empty, name)
		}
	}
	for _, name := range empty {
		t.fail(name, "it is empty: the agent could not log in")
	}
}

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
