package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// Preset is an account and an endpoint for an agent. No error of this package shows a value of a preset, other than the
// names of its files.
type Preset struct {
	// Name is the preset's name, or empty if there is none.
	Name string
	// Endpoint is [Real] or [Scripted].
	Endpoint string
	// Env has the variables for the agent's process.
	Env map[string]string
	// Secret lists the variables that the preset marks as secret, sorted.
	Secret []string
	// Withheld lists variables that the agent must not have although a playbook passes them on: it would prefer them to
	// the account.
	Withheld []string

	provider   *provider     // only for Codex and OpenCode; nil: the agent's own
	files      []accountFile // for the agent's home
	authMethod *authMethod   // nil: the kind's
	// masked are other texts that may be secrets, by names for them.
	masked map[string]string
}

// Resolve reads a preset for agents of a kind. An empty name means no preset; what [Login] and [APIKey] mean is said
// there. The file is in configDir or, if that is
// empty, in $LLMAN_CONFIG_DIR, or else in the directory llman of the user's configuration directory.
func Resolve(kind, name, configDir string) (Preset, error) {
	p, ok := Lookup(kind)
	if !ok {
		return Preset{}, fmt.Errorf("unknown kind of agent %q; available: %s", kind, strings.Join(Kinds(), ", "))
	}
	preset := Preset{Name: name, Endpoint: Real}
	dir, noDir := findConfigDir(configDir)
	switch {
	case name == "" && p.NeedsPreset:
		err := fmt.Errorf("agents of kind %s need a preset from %s", kind, p.PresetFile)
		return Preset{}, p.advisePreset(err, dir, "NAME")
	case kind == Fake: // the agent itself is the script
		preset.Endpoint = Scripted
		return preset, nil
	case name == "":
		return preset, nil
	case p.decode == nil:
		return Preset{}, fmt.Errorf("preset %q: agents of kind %s have no presets", name, kind)
	}
	if noDir != nil {
		return Preset{}, fmt.Errorf("preset %q: %w", name, noDir)
	}
	file := filepath.Join(dir, p.PresetFile)
	data, err := readBounded(file)
	absent := errors.Is(err, fs.ErrNotExist)
	if err == nil {
		preset, err = p.decode(presetFile{file, data}, name)
	}
	available, unknown := errors.AsType[unknownPreset](err)
	if absent || unknown {
		if own, ok, err := p.ofMachine(name); ok && err != nil {
			return Preset{}, fmt.Errorf("preset %q: %w", name, err)
		} else if ok {
			return own, nil
		}
	}
	switch {
	case absent:
		err = p.advisePreset(err, dir, name)
	case unknown:
		return Preset{}, p.advisePreset(fmt.Errorf("%s: unknown preset %q; %w", file, name, available), dir, name)
	case err == nil:
		err = p.readFiles(&preset, dir)
	}
	if err != nil {
		return Preset{}, fmt.Errorf("preset %q: %w", name, err)
	}
	return preset, nil
}

// Presets returns the file with the presets of a kind, and their names, sorted. The file is where [Resolve] looks.
func Presets(p Profile, configDir string) (file string, names []string, err error) {
	dir, err := findConfigDir(configDir)
	if err != nil {
		return "", nil, err
	}
	file = filepath.Join(dir, p.PresetFile)
	data, err := readBounded(file)
	if err != nil {
		return file, nil, err
	}
	_, err = p.decode(presetFile{file, data}, "\x00") // no key of TOML
	if available, ok := errors.AsType[unknownPreset](err); ok {
		return file, available, nil
	}
	return file, nil, err
}

// Gives are the names of what a preset gives to an agent.
type Gives struct {
	// Set are the variables that have a value, Empty those that have an empty one.
	Set, Empty []string
	// Unset are variables that the preset names as those of a key, and does not set.
	Unset []string
	// Files are those of the user's that the agent finds in its home.
	Files []string
}

// Gives says what the preset gives to an agent.
func (p Preset) Gives() Gives {
	var g Gives
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		if p.Env[name] == "" {
			g.Empty = append(g.Empty, name)
		} else {
			g.Set = append(g.Set, name)
		}
	}
	if p.provider != nil && p.provider.EnvKey != "" && p.Env[p.provider.EnvKey] == "" {
		g.Unset = append(g.Unset, p.provider.EnvKey)
	}
	for _, f := range p.files {
		g.Files = append(g.Files, f.Path)
	}
	return g
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
