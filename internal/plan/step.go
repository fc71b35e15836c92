package plan

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/words"
)

// Step is one thing that a job does: a built-in action or a command. [Playbook.Resolve] makes it ready to run.
type Step struct {
	Name string `yaml:"name" min:"1" doc:"What the step is called in results; default: its action or command."`

	// Uses is a built-in action such as [action.Prompt]. A step has either uses or run.
	Uses string `yaml:"uses" min:"1" doc:"A built-in action. Either uses or run."`

	// With are the action's settings as [Node.Value] returns them.
	With map[string]any `yaml:"with" doc:"Settings of the action."`

	// Run is one command, without a shell: see [Playbook.AllowedCommands].
	Run string `yaml:"run" min:"1" doc:"One command, without a shell. Either uses or run."`

	// Cwd is the directory that the command starts in, relative to the workspace in a matrix job, else to the run's
	// directory.
	Cwd string `yaml:"cwd" min:"1" doc:"Where the command starts, relative to the workspace; default: the workspace."`

	// Args are the words of Run.
	Args []string

	// Job is the id of the job that the step belongs to.
	Job string

	Position doc.Position `yaml:",position"`
}

// Prompts reports whether the step starts the agent and speaks with it. Its placeholders have to be resolved.
func (s Step) Prompts() bool { return action.Of(s.Uses).Asks() }

func lookupAction(name string) (action.Action, error) {
	if a := action.Of(name); a.Exists() {
		return a, nil
	}
	return action.Action{}, fmt.Errorf("unknown action %q%s", name, doc.DidYouMean(name, action.Names()))
}

// decode decodes a step and checks what needs no other part of the playbook.
func (s *Step) decode(n *doc.Node) {
	n.Decode(s)
	if n.Kind() != doc.Map {
		return // reported
	}
	uses, run := n.Get("uses") != nil, n.Get("run") != nil
	if uses == run {
		n.Errorf("", "a step has exactly one of `uses` and `run`")
		return
	}
	if run && n.Get("with") != nil {
		n.Errorf("with", "`with` is for steps with `uses`")
	}
	if uses && n.Get("cwd") != nil {
		n.Errorf("cwd", "`cwd` is for steps with `run`")
	}
	if s.Run != "" {
		var err error
		if s.Args, err = words.Split(s.Run); err != nil {
			n.Errorf("run", "%v", err)
		}
	}
	if err := checkCwd(s.Cwd); err != nil {
		n.Errorf("cwd", "%v", err)
	}
}

// checkCwd refuses paths that lead out of the directory that they are relative to. Links on the way can only be found
// when the step runs.
func checkCwd(cwd string) error {
	switch {
	case strings.HasPrefix(cwd, "/") || filepath.IsAbs(cwd):
		return fmt.Errorf("%q must be relative", cwd)
	case slices.Contains(strings.FieldsFunc(cwd, func(r rune) bool { return r == '/' || r == '\\' }), ".."):
		return fmt.Errorf("%q must not contain \"..\"", cwd)
	}
	return nil
}

// commands are the programs that any playbook may start.
var commands = []string{
	"cargo", "git", "go", "just", "make", "node", "npm", "pnpm", "pytest", "python", "python3", "rg", "yarn",
}

// AllowedCommands returns the base names of the programs that run steps may start, and agents' terminals where nothing
// confines them: cargo, git, go, just, make, node, npm, pnpm, pytest, python, python3, rg, yarn and those of
// sandbox.allow_commands.
func (p *Playbook) AllowedCommands() []string {
	allowed := slices.Concat(commands, p.Sandbox.AllowCommands)
	slices.Sort(allowed)
	return slices.Compact(allowed)
}

// checkCommand refuses programs that a run step may not start. A path must be absolute: below a sandbox root a relative
// one could only be a program that the agent wrote.
func (p *Playbook) checkCommand(args []string) error {
	if len(args) == 0 || args[0] == "" {
		return errors.New("the command is empty")
	}
	allowed := p.AllowedCommands()
	switch program, base := args[0], filepath.Base(args[0]); {
	case !slices.Contains(allowed, base):
		return fmt.Errorf("command %q is not allowed: use one of %s, or name it under sandbox.allow_commands",
			base, strings.Join(allowed, ", "))
	case base != program && !filepath.IsAbs(program):
		return fmt.Errorf("command %q must be a name or an absolute path", program)
	}
	return nil
}

// Resolve returns a step with its placeholders replaced, checked as [Parse] checks steps without placeholders. The
// error has the step's position.
func (p *Playbook) Resolve(s Step, values Values) (Step, error) {
	if s.Uses != "" {
		return s.resolveAction(values)
	}
	args := make([]string, len(s.Args))
	for i, a := range s.Args {
		var err error
		if args[i], err = Interpolate(a, values); err != nil {
			return Step{}, at(s.Position, "run", err)
		}
	}
	cwd, err := Interpolate(s.Cwd, values)
	if err == nil {
		err = checkCwd(cwd)
	}
	if err != nil {
		return Step{}, at(s.Position, "cwd", err)
	}
	if err := p.checkCommand(args); err != nil {
		return Step{}, at(s.Position, "run", err)
	}
	if !slices.Equal(args, s.Args) {
		s.Run = words.Join(args...) // texts of the step tell what was run
	}
	s.Args, s.Cwd = args, cwd
	return s, nil
}

func (s Step) resolveAction(values Values) (Step, error) {
	uses, err := Interpolate(s.Uses, values)
	if err == nil {
		_, err = lookupAction(uses)
	}
	if err != nil {
		return Step{}, at(s.Position, "uses", err)
	}
	s.Uses = uses
	if len(s.With) == 0 {
		return s, nil
	}
	with, err := interpolateAll(s.With, values)
	if err != nil {
		return Step{}, at(s.Position, "with", err)
	}
	s.With = with.(map[string]any)
	return s, nil
}

// at puts a position before an error that comes up when a playbook runs.
func at(p doc.Position, key string, err error) error { return fmt.Errorf("%s: %s: %w", p, key, err) }

// Values are what the placeholders ${{ path }} of steps stand for, by path. [Unit.Values] and [Playbook.Values] have
// those that come from the playbook; the runner adds run.run_id and run.run_dir.
type Values map[string]string

// paths are all paths that a placeholder can have.
var paths = []string{
	"matrix.variant", "variant.style", "variant.agent.kind", "task.title", "task.prompt",
	"run.run_id", "run.run_dir", "case.id", "trial",
}

// Interpolate replaces each ${{ path }} in text with its value. There are no expressions, and values are never scanned
// for placeholders. A path without a value is an error, as are an empty and an unterminated placeholder.
func Interpolate(text string, values Values) (string, error) {
	var b strings.Builder
	err := eachPlaceholder(text, func(before, path string) error {
		b.WriteString(before)
		if path == "" {
			return nil
		}
		if err := checkPath(path); err != nil {
			return err
		}
		value, ok := values[path]
		if !ok {
			return fmt.Errorf("${{ %s }} is not available here", path)
		}
		b.WriteString(value)
		return nil
	})
	if err != nil {
		return "", err
	}
	return b.String(), nil
}

// eachPlaceholder calls f for each placeholder with the text before it, and at the end with the text that is left and
// an empty path.
func eachPlaceholder(text string, f func(before, path string) error) error {
	for {
		before, rest, ok := strings.Cut(text, "${{")
		if !ok {
			return f(text, "")
		}
		path, rest, ok := strings.Cut(rest, "}}")
		if !ok {
			return errors.New("unterminated ${{")
		}
		if path = strings.TrimSpace(path); path == "" {
			return errors.New("empty ${{ }}")
		}
		if err := f(before, path); err != nil {
			return err
		}
		text = rest
	}
}

func checkPath(path string) error {
	if axis, ok := strings.CutPrefix(path, "matrix."); slices.Contains(paths, path) || ok && id.MatchString(axis) {
		return nil
	}
	return fmt.Errorf("unknown path %q in ${{ }}%s", path, doc.DidYouMean(path, paths))
}

// hasPlaceholder reports whether text has to be interpolated.
func hasPlaceholder(text string) bool { return strings.Contains(text, "${{") }

// interpolateAll replaces the placeholders in each string of a decoded value, keys of mappings excepted.
func interpolateAll(v any, values Values) (any, error) {
	switch v := v.(type) {
	case string:
		return Interpolate(v, values)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			var err error
			if list[i], err = interpolateAll(item, values); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		m := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			value, err := interpolateAll(v[key], values)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			m[key] = value
		}
		return m, nil
	default:
		return v, nil
	}
}

// Values returns the values that the playbook itself has for placeholders: its task.
func (p *Playbook) Values() Values { return p.Task.values() }

func (t *Task) values() Values {
	v := Values{}
	if t == nil {
		return v
	}
	v["task.prompt"] = t.Prompt
	if t.Title != "" {
		v["task.title"] = t.Title
	}
	return v
}
