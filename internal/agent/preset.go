package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// What answers an agent as the model: a real one, or a script.
const (
	Real     = "real"
	Scripted = "scripted"
)

// maxPresets is the largest size of a file with presets, in bytes.
const maxPresets = 1 << 20

// Preset is an account and an endpoint for an agent. No error of this package shows a value of a preset.
type Preset struct {
	// Name is the preset's name, or empty if there is none.
	Name string
	// Endpoint is [Real] or [Scripted].
	Endpoint string
	// Env has the variables for the agent's process.
	Env map[string]string
	// Secret lists the variables that the preset marks as secret, sorted.
	Secret []string

	provider *provider // only for Codex and OpenCode
}

// Resolve reads a preset for agents of a kind. An empty name means no preset. The file is in configDir or, if that is
// empty, in $LLMAN_CONFIG_DIR, or else in the directory llman of the user's configuration directory.
func Resolve(kind, name, configDir string) (Preset, error) {
	p, ok := Lookup(kind)
	if !ok {
		return Preset{}, fmt.Errorf("unknown kind of agent %q; available: %s", kind, strings.Join(Kinds(), ", "))
	}
	preset := Preset{Name: name, Endpoint: Real}
	switch {
	case name == "" && p.NeedsPreset:
		return Preset{}, fmt.Errorf("agents of kind %s need a preset from %s", kind, p.PresetFile)
	case kind == Fake: // the agent itself is the script
		preset.Endpoint = Scripted
		return preset, nil
	case name == "":
		return preset, nil
	case p.decode == nil:
		return Preset{}, fmt.Errorf("preset %q: agents of kind %s have no presets", name, kind)
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
	if available, ok := errors.AsType[unknownPreset](err); ok {
		return Preset{}, fmt.Errorf("%s: unknown preset %q; %w", file, name, available)
	}
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
		return nil, fmt.Errorf("%s: the file exceeds the limit of %d bytes", file, maxPresets)
	}
	return bytes.TrimPrefix(data, []byte("\ufeff")), nil // some editors begin files with a byte order mark
}

// decodeGroup reads claude-code.toml and gemini.toml, where each key in [groups.NAME] is a variable.
func decodeGroup(f presetFile, name string) (Preset, error) {
	t, err := f.table("groups", name)
	if err != nil {
		return Preset{}, err
	}
	p := t.common(name)
	p.Env = t.variables()
	t.checkSecret(p)
	t.checkCredentials(p.Env)
	if len(p.Env) == 0 && len(t.errs) == 0 {
		return Preset{}, fmt.Errorf("%s: [%s] sets no variable, so the agent cannot log in",
			t.position(t.path...), t.name())
	}
	return p, t.err()
}

// common takes the keys that presets of all kinds may have besides variables: `endpoint` and `secret`.
func (t *table) common(name string) Preset {
	p := Preset{Name: name, Endpoint: Real, Secret: t.texts("secret")}
	switch e := t.text("endpoint"); e {
	case "", Real:
	case Scripted:
		p.Endpoint = Scripted
	default:
		t.fail("endpoint", `must be "`+Real+`" or "`+Scripted+`"`)
	}
	slices.Sort(p.Secret)
	p.Secret = slices.Compact(p.Secret)
	return p
}

// checkSecret reports names of secrets that are not variables of p.
func (t *table) checkSecret(p Preset) {
	for _, s := range p.Secret {
		if _, ok := p.Env[s]; !ok {
			t.fail("secret", "names a variable that the preset does not set")
		}
	}
}

// checkCredentials reports empty keys and tokens, unless another one is not empty: an empty ANTHROPIC_API_KEY beside an
// ANTHROPIC_AUTH_TOKEN says which of them counts.
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
		t.fail(name, "is empty, so the agent cannot log in")
	}
}

// provider is a model provider in the configuration of Codex or OpenCode.
type provider struct {
	Name    string   `toml:"name"`
	BaseURL string   `toml:"base_url"`
	WireAPI string   `toml:"wire_api,omitempty"` // only for Codex
	EnvKey  string   `toml:"env_key,omitempty"`
	Models  []string `toml:"-"` // only for OpenCode, which does not know the models of other providers
}

// decodeCodex reads codex.toml, whose providers are those of Codex.
func decodeCodex(f presetFile, name string) (Preset, error) {
	return decodeProvider(f, name, func(t *table, p *provider) { p.WireAPI = t.text("wire_api") })
}

// decodeOpenCode reads opencode.toml, whose providers have models.
func decodeOpenCode(f presetFile, name string) (Preset, error) {
	return decodeProvider(f, name, func(t *table, p *provider) {
		if p.Models = t.texts("models"); len(p.Models) == 0 {
			t.fail("models", "is required")
		}
	})
}

// decodeProvider reads a file with providers in [model_providers.NAME], and their variables in
// [model_providers.NAME.env]. own takes the keys that only one kind of agent has.
func decodeProvider(f presetFile, name string, own func(*table, *provider)) (Preset, error) {
	t, err := f.table("model_providers", name)
	if err != nil {
		return Preset{}, err
	}
	p := t.common(name)
	p.provider = &provider{Name: t.text("name"), BaseURL: t.text("base_url"), EnvKey: t.text("env_key")}
	if p.provider.Name == "" {
		p.provider.Name = name
	}
	own(t, p.provider)
	if p.provider.BaseURL == "" {
		t.fail("base_url", "is required")
	}
	env := t.table("env")
	p.Env = env.variables()
	env.checkCredentials(p.Env)
	t.checkSecret(p)
	t.done()
	t.errs = append(t.errs, env.errs...)
	return p, t.err()
}
