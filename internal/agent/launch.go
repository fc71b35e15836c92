package agent

import (
	"fmt"
	"maps"
	"slices"
)

// Launch is how to start one agent.
type Launch struct {
	// Command is the program, a path or a name to be looked up, and Args are its arguments without argv[0].
	Command string
	Args    []string
	// Env has the kind's and the preset's variables, for the agent's process alone. The environment that every agent gets, with a fresh
	// HOME and TMPDIR, comes from elsewhere.
	Env map[string]string
	// Files must be written into the fresh HOME.
	Files []File
	// AuthMethod is the method to authenticate with; empty: none.
	AuthMethod string
	// Endpoint is what answers as the model: [Real] or [Scripted].
	Endpoint string
	// SecretNames are the variables that the preset marks as secret, sorted.
	SecretNames []string
}

// File is a file that an agent wants to find.
type File struct {
	Path string // relative to HOME, with slashes
	Data []byte
}

// Launch returns how to start an agent of this kind. An empty command means the kind's own, and so do nil args.
func (p Profile) Launch(command string, args []string, preset Preset) (Launch, error) {
	if command == "" {
		command = p.Command
	}
	if command == "" {
		return Launch{}, fmt.Errorf("agents of kind %s have no command of their own: the playbook has to name one", p.Kind)
	}
	if args == nil {
		args = p.Args
	}
	l := Launch{
		Command: command, Args: slices.Clone(args), Env: merge(p.Env, preset.Env),
		AuthMethod: p.AuthMethod, Endpoint: preset.Endpoint, SecretNames: slices.Clone(preset.Secret),
	}
	if p.files == nil {
		return l, nil
	}
	var err error
	if l.Files, err = p.files(preset); err != nil {
		return Launch{}, fmt.Errorf("preset %q: %w", preset.Name, err)
	}
	return l, nil
}

// merge returns the variables of both, b's where they have one in common, nil if there are none.
func merge(a, b map[string]string) map[string]string {
	if len(a) == 0 {
		return maps.Clone(b)
	}
	m := maps.Clone(a)
	maps.Copy(m, b)
	return m
}
