package llmjudge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/payload"
	"github.com/sdd-eval/sdd-eval/internal/script"
)

// program is a prompt that a script prints.
type program struct {
	script script.Script
	name   string // as the playbook has it, for errors
	config any
	compat string
}

// programKeys are the keys of a prompt that a script prints.
type programKeys struct {
	Script []string  `yaml:"script,required"`
	Config *doc.Node `yaml:"config"`
}

// compileProgram returns the prompt that a script prints. It runs in the directory of its file.
func compileProgram(k keys) prompt {
	var own programKeys
	if !k.Prompt.Decode(&own) {
		return program{}
	}
	p := program{name: strings.Join(own.Script, " "), config: k.Config.Value(), compat: k.Compat}
	if own.Config != nil {
		p.config = own.Config.Value()
	}
	argv, file := script.Locate(k.Prompt, own.Script)
	switch {
	case own.Script[0] == "":
		k.Prompt.Errorf("script[0]", "must not be empty")
	case file == "" || file == argv[0]:
		k.Prompt.Errorf("script", "must name the script's file, behind the program")
	}
	p.script = script.Script{Argv: argv, Cwd: filepath.Dir(file), Timeout: k.Timeout, Network: k.Network}
	return p
}

func (program) needs() evaluator.Needs { return evaluator.NeedsWorkspace | evaluator.StartsChild }

// render returns what the script prints. Nothing in it is a variable.
func (p program) render(ctx context.Context, in evaluator.Input) (string, error) {
	if in.Scripts == nil {
		return "", errors.New("there is nothing to run the prompt's script with")
	}
	input, err := payload.Of(ctx, in, p.config)
	if err != nil {
		return "", err
	}
	stdin, err := payload.Encode(input, p.compat)
	if err != nil {
		return "", err
	}
	out, err := in.Scripts.Run(ctx, p.script, stdin, in.Workspace)
	if err != nil {
		return "", fmt.Errorf("the prompt: %w", err)
	}
	out = bytes.TrimSpace(out)
	switch {
	case len(out) == 0:
		return "", fmt.Errorf("the prompt: script %s: it printed an empty prompt", p.name)
	case !utf8.Valid(out):
		return "", fmt.Errorf("the prompt: script %s: it printed what is not valid UTF-8", p.name)
	}
	return string(out), nil
}
