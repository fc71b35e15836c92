package llmjudge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sdd-eval/sdd-eval/evaltest/judge"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/expect"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/payload"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/script"
)

// prompt makes what a judge is asked.
type prompt interface {
	render(ctx context.Context, in evaluator.Input) (string, error)
	needs() evaluator.Needs
}

// maxTemplate is the size of the largest template file, in bytes.
const maxTemplate = 1 << 20

// compilePrompt returns the evaluator's prompt. It reports errors on n.
func compilePrompt(n *doc.Node, k keys) prompt {
	config := k.Config.Value()
	if k.Prompt == nil {
		if n.Get("prompt") == nil {
			expect.Meaningless(n, "without a `prompt` that uses it", "config")
		}
		expect.Meaningless(n, "without a script of a prompt", "timeout", "network", "compat")
		return written{}
	}
	text, ok := k.Prompt.Value().(string)
	if !ok {
		return compileProgram(k)
	}
	expect.Meaningless(n, "without a script of a prompt", "timeout", "network", "compat")
	if strings.TrimSpace(text) == "" {
		k.Prompt.Errorf("", "must not be empty")
		return written{}
	}
	name := strings.TrimSpace(text)
	if isScript(name) {
		k.Prompt.Errorf("", "%s is a script, whose output is to be the prompt: write prompt: {script: [%s]}", name,
			programs[filepath.Ext(name)]+", "+name)
		return written{}
	}
	if !isFile(name) {
		t, err := parseTemplate(text, config)
		if err != nil {
			k.Prompt.Errorf("", "%v", err)
		}
		return written{t}
	}
	t, err := readTemplate(k.Prompt, name, config)
	if err != nil {
		k.Prompt.Errorf("", "%v", err)
	}
	return written{t}
}

// isFile reports whether a prompt is the name of a file rather than a text.
func isFile(text string) bool {
	if strings.Contains(text, "\n") {
		return false
	}
	return strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../") ||
		strings.HasSuffix(text, ".md") || strings.HasSuffix(text, ".txt")
}

// programs run scripts, by the extension of their names.
var programs = map[string]string{
	".ts": "bun", ".mts": "bun", ".cts": "bun", ".tsx": "bun", ".js": "node", ".mjs": "node", ".cjs": "node",
	".py": "python3", ".sh": "sh", ".rb": "ruby",
}

// isScript reports whether a prompt is the name of a script rather than a text.
func isScript(text string) bool {
	return !strings.ContainsAny(text, " \t\n") && programs[filepath.Ext(text)] != ""
}

// readTemplate reads the template in a file. It must show what the agent did, since nothing is appended to it.
func readTemplate(n *doc.Node, name string, config any) (*template, error) {
	path, err := plan.File(n, name)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxTemplate+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxTemplate:
		return nil, fmt.Errorf("%s exceeds the %d MiB limit", name, maxTemplate>>20)
	case !utf8.Valid(data):
		return nil, fmt.Errorf("%s is not valid UTF-8", name)
	}
	t, err := parseTemplate(string(data), config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if !t.uses(evidence...) {
		return nil, fmt.Errorf("%s does not show the judge what the agent did: use one of {{%s}}",
			name, strings.Join(evidence, "}}, {{"))
	}
	return t, nil
}

// written is a prompt from the playbook or a file; without a template it is the built-in one. If the template does not
// show what the agent did, that is appended.
type written struct{ template *template }

func (w written) needs() evaluator.Needs {
	if w.appends() || w.template.uses("file_changes") {
		return evaluator.NeedsWorkspace
	}
	return 0
}

// appends reports whether what the agent did is appended to the template.
func (w written) appends() bool { return w.template == nil || !w.template.uses(evidence...) }

func (w written) render(ctx context.Context, in evaluator.Input) (string, error) {
	p, err := payload.Of(ctx, in, nil)
	if err != nil {
		return "", err
	}
	switch {
	case w.template == nil:
		return asked(p) + "\n" + fenced(p, true), nil
	case w.appends():
		return strings.TrimRight(w.template.fill(p), "\n") + "\n\n" + fenced(p, true), nil
	}
	return w.template.fill(p), nil
}

// template is a text with variables. It is filled in one pass: values are never scanned.
type template struct {
	parts []part
}

// part is a text, or a variable that is replaced by its value.
type part struct {
	text     string
	variable string
}

// variables are what a template may use, besides the keys of its configuration.
var variables = map[string]func(judge.Input) string{
	"question":          func(in judge.Input) string { return in.Question },
	"candidate_answer":  func(in judge.Input) string { return in.CandidateAnswer },
	"reference_answer":  func(in judge.Input) string { return in.ReferenceAnswer },
	"expected_outcome":  func(in judge.Input) string { return in.ExpectedOutcome },
	"input_messages":    func(in judge.Input) string { return asJSON(in.InputMessages) },
	"output_messages":   func(in judge.Input) string { return asJSON(in.OutputMessages) },
	"expected_messages": func(in judge.Input) string { return asJSON(in.ExpectedMessages) },
	"file_changes":      func(in judge.Input) string { return in.FileChanges },
	"tool_calls":        func(in judge.Input) string { return asJSON(toolCalls(in)) },
}

// evidence lists the variables that show what the agent did.
var evidence = []string{"candidate_answer", "output_messages", "file_changes"}

const configPrefix = "config."

// parseTemplate reads a template that has a configuration. Errors begin with the line.
func parseTemplate(text string, config any) (*template, error) {
	t := new(template)
	line := 1
	for {
		before, rest, ok := strings.Cut(text, "{{")
		line += strings.Count(before, "\n")
		if before != "" {
			t.parts = append(t.parts, part{text: before})
		}
		if !ok {
			return t, nil
		}
		inside, after, ok := strings.Cut(rest, "}}")
		if !ok {
			return nil, fmt.Errorf("line %d: {{ without }}", line)
		}
		p, err := variable(strings.TrimSpace(inside), config)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		t.parts = append(t.parts, p)
		line += strings.Count(inside, "\n")
		text = after
	}
}

// variable returns the part for a variable. Values of the configuration are known already, so they become texts.
func variable(name string, config any) (part, error) {
	key, ok := strings.CutPrefix(name, configPrefix)
	if !ok {
		if _, known := variables[name]; !known {
			names := append(slices.Sorted(maps.Keys(variables)), configPrefix+"KEY")
			return part{}, fmt.Errorf("unknown variable {{%s}}; available: %s", name, strings.Join(names, ", "))
		}
		return part{variable: name}, nil
	}
	values, _ := config.(map[string]any)
	value, ok := values[key]
	if !ok {
		return part{}, fmt.Errorf("unknown variable {{%s}}: the evaluator's config has no key %q", name, key)
	}
	if text, ok := value.(string); ok {
		return part{text: text}, nil
	}
	return part{text: asJSON(value)}, nil
}

// uses reports whether the template has one of these variables.
func (t *template) uses(names ...string) bool {
	return slices.ContainsFunc(t.parts, func(p part) bool { return slices.Contains(names, p.variable) })
}

func (t *template) fill(in judge.Input) string {
	var b strings.Builder
	for _, p := range t.parts {
		if p.variable == "" {
			b.WriteString(p.text)
			continue
		}
		b.WriteString(variables[p.variable](in))
	}
	return b.String()
}

func toolCalls(in judge.Input) []judge.ToolCall {
	var calls []judge.ToolCall
	for _, m := range in.OutputMessages {
		calls = append(calls, m.ToolCalls...)
	}
	return calls
}

// asJSON returns a value as indented JSON, with an empty list for none.
func asJSON(v any) string {
	data, err := jsonvalue.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("llmjudge: %v", err)) // it came from JSON
	}
	if string(data) == "null" {
		return "[]"
	}
	return string(data)
}

// program is a prompt that a script prints.
type program struct {
	script script.Script
	name   string // from the playbook, for errors
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
		k.Prompt.Errorf("script", "must name a script file after the program")
	}
	p.script = script.Script{Argv: argv, Cwd: filepath.Dir(file), Timeout: k.Timeout, Network: k.Network}
	return p
}

func (program) needs() evaluator.Needs {
	return evaluator.NeedsWorkspace | evaluator.NeedsDir | evaluator.StartsChild
}

// render returns what the script prints. Nothing in it is a variable.
func (p program) render(ctx context.Context, in evaluator.Input) (string, error) {
	if in.Scripts == nil {
		return "", errors.New("scripts cannot be run here")
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
		return "", fmt.Errorf("the prompt: script %s: it printed nothing", p.name)
	case !utf8.Valid(out):
		return "", fmt.Errorf("the prompt: script %s: it printed invalid UTF-8", p.name)
	}
	return string(out), nil
}
