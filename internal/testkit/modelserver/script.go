package modelserver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

// Workspace is a placeholder in scripts for the working directory of the agent's session, which the request names.
const Workspace = "$WORKSPACE"

// Script is what the model does about one task with one set of tools.
type Script struct {
	// Name identifies the script in ids and errors, e.g. "fix/claude". Two scripts never share one.
	Name string `yaml:",key"`
	// Prompt must match the user's last prompt for the script to be chosen.
	Prompt *regexp.Regexp
	// Offers is a tool that the request must offer for the script to be chosen. It tells agents apart: the scripts of
	// one task differ by the tools they call.
	Offers string `yaml:"offers,required"`
	// Told, if not nil, must match what the agent tells beside the user's prompts, such as the list of
	// its skills. The script then goes before those of the same prompt and tools that need not be told anything.
	Told *regexp.Regexp `yaml:"told"`
	// Turns are the model's answers, in order.
	Turns []Turn `yaml:"turns,required"`
}

// Turn is one answer of the model. The request that it answers holds one tool result for each call of the turns before
// it since the user's last prompt: counting those, not requests, makes retries harmless.
type Turn struct {
	// Saw, if not nil, must match the results of the calls of the turn before, joined by newlines. It keeps a script
	// honest: a model that says that the tests pass must have seen them pass.
	Saw *regexp.Regexp `yaml:"saw"`
	// Think is reasoning shown before the answer, where the request asks for it.
	Think string `yaml:"think"`
	// Say is text for the user.
	Say string `yaml:"say"`
	// Calls are the tools that the model calls at once. A turn without calls ends the agent's turn.
	Calls []Call `yaml:"calls"`
}

// Call is one tool call.
type Call struct {
	Tool string `yaml:"tool,required"`
	// Input is a map[string]any of JSON values, or a string for a tool that takes free text, as Codex's apply_patch
	// does. [Workspace] is replaced in every string of it.
	Input any `yaml:"input"`

	namespace string // of the tool, as the request has it
}

// check reports what is invalid in a script although its types allow it. Paths are relative to s.
func (s Script) check(report func(path, format string, args ...any)) {
	for i, t := range s.Turns {
		path := fmt.Sprintf("turns[%d]", i)
		if t.Say == "" && len(t.Calls) == 0 {
			report(path, "must have say or calls")
		}
		if t.Saw != nil && i == 0 {
			report(path+".saw", "the first turn cannot have seen the result of a call")
		}
		if len(t.Calls) == 0 && i < len(s.Turns)-1 {
			report(path, "a turn without calls must be the last one")
		}
		for j, c := range t.Calls {
			switch c.Input.(type) {
			case map[string]any, string:
			default:
				path := fmt.Sprintf("%s.calls[%d].input", path, j)
				report(path, "must be a mapping, or text for a tool that takes text")
			}
		}
	}
}

// step is the turn that answers one request.
type step struct {
	script string
	index  int // of the turn, from 0
	turn   Turn
}

// choose finds the one script and the turn of it that answer r.
func choose(scripts []Script, r request) (step, error) {
	var found []Script
	for _, s := range scripts {
		if s.Prompt.MatchString(r.prompt) && slices.Contains(r.toolNames(), s.Offers) &&
			(s.Told == nil || s.Told.MatchString(r.told)) {
			found = append(found, s)
		}
	}
	needsTelling := func(s Script) bool { return s.Told != nil }
	if slices.ContainsFunc(found, needsTelling) {
		found = slices.DeleteFunc(found, func(s Script) bool { return !needsTelling(s) })
	}
	switch len(found) {
	case 0:
		return step{}, fmt.Errorf("no script matches the prompt %s with the tools %s",
			shown(r.prompt), strings.Join(r.toolNames(), ", "))
	case 1:
		return found[0].step(r)
	default:
		return step{}, fmt.Errorf("scripts %q and %q both match the prompt %s",
			found[0].Name, found[1].Name, shown(r.prompt))
	}
}

// step finds the turn of s that answers r.
func (s Script) step(r request) (step, error) {
	need := 0 // tool results before the turn
	for i, t := range s.Turns {
		if need >= len(r.results) {
			if need > len(r.results) {
				break
			}
			turn, err := s.at(i, r)
			if err != nil {
				return step{}, fmt.Errorf("script %q: turn %d: %w", s.Name, i+1, err)
			}
			return step{script: s.Name, index: i, turn: turn}, nil
		}
		need += len(t.Calls)
	}
	if need > len(r.results) {
		return step{}, fmt.Errorf("script %q: %d tool results do not complete a turn's calls", s.Name, len(r.results))
	}
	return step{}, fmt.Errorf("script %q has only %d turns, but the agent continues, with %d tool results",
		s.Name, len(s.Turns), len(r.results))
}

// at returns turn i of s, as the answer to r.
func (s Script) at(i int, r request) (Turn, error) {
	t := s.Turns[i]
	if t.Saw != nil {
		seen := r.results
		if i > 0 {
			seen = seen[len(seen)-len(s.Turns[i-1].Calls):]
		}
		if text := strings.Join(seen, "\n"); !t.Saw.MatchString(text) {
			return Turn{}, fmt.Errorf("the tool results before it do not match saw %q: %s", t.Saw, shown(text))
		}
	}
	calls := make([]Call, 0, len(t.Calls))
	for _, c := range t.Calls {
		call, err := c.in(r)
		if err != nil {
			return Turn{}, fmt.Errorf("call of %s: %w", c.Tool, err)
		}
		calls = append(calls, call)
	}
	t.Calls = calls
	return t, nil
}

// in returns c for the session of r.
func (c Call) in(r request) (Call, error) {
	i := slices.IndexFunc(r.tools, func(t tool) bool { return t.name == c.Tool })
	if i < 0 {
		return Call{}, fmt.Errorf("the agent does not offer this tool; it offers %s", strings.Join(r.toolNames(), ", "))
	}
	if _, text := c.Input.(string); text != r.tools[i].freeText {
		takes := "a mapping"
		if r.tools[i].freeText {
			takes = "text"
		}
		return Call{}, fmt.Errorf("the input is a %T, but the tool takes %s", c.Input, takes)
	}
	input, err := expand(c.Input, r.cwd)
	if err != nil {
		return Call{}, err
	}
	return Call{Tool: c.Tool, Input: input, namespace: r.tools[i].namespace}, nil
}

// expand returns v with [Workspace] replaced by cwd in every string.
func expand(v any, cwd string) (any, error) {
	switch v := v.(type) {
	case string:
		if !strings.Contains(v, Workspace) {
			return v, nil
		}
		if cwd == "" {
			return nil, fmt.Errorf("cannot replace %s: the request does not name the working directory", Workspace)
		}
		return strings.ReplaceAll(v, Workspace, cwd), nil
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			var err error
			if list[i], err = expand(e, cwd); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		object := make(map[string]any, len(v))
		for k, e := range v {
			var err error
			if object[k], err = expand(e, cwd); err != nil {
				return nil, err
			}
		}
		return object, nil
	default:
		return v, nil
	}
}

// shown returns a text as it is quoted in errors.
func shown(text string) string { return excerpt.Quote(text, 300) }

// Model is all that the model can say.
type Model struct {
	Scripts []Script
	Judges  []Judge
}

// scriptFile is a YAML file with the answers to one prompt.
type scriptFile struct {
	Prompt  *regexp.Regexp `yaml:"prompt,required"`
	Scripts []Script       `yaml:"scripts"`
	Judges  []Judge        `yaml:"judges"`
}

// Load reads all files NAME.yaml in dir. A file has one `prompt` and either, under `scripts`, a script for each set of
// tools, or, under `judges`, a reply for each model that judges; they are called "NAME/key". The error has every
// problem of every file.
func Load(dir string) (Model, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return Model{}, fmt.Errorf("read scripts: %w", err)
	}
	var m Model
	var errs []error
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".yaml")
		if !ok {
			continue
		}
		path := filepath.Join(dir, e.Name())
		d, err := doc.Load(path, path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		found, err := decode(name, d)
		if err != nil {
			errs = append(errs, err)
		}
		m.Scripts, m.Judges = append(m.Scripts, found.Scripts...), append(m.Judges, found.Judges...)
	}
	if m.empty() && errs == nil {
		errs = append(errs, fmt.Errorf("read scripts: %s has no .yaml files", dir))
	}
	if errs != nil {
		return Model{}, errors.Join(errs...)
	}
	return m, nil
}

func (m Model) empty() bool { return len(m.Scripts)+len(m.Judges) == 0 }

// decode returns the content of a file whose name, without extension, is given.
func decode(name string, d *doc.Document) (Model, error) {
	var file scriptFile
	if d.Root.Decode(&file) && (len(file.Scripts) == 0) == (len(file.Judges) == 0) {
		d.Root.Errorf("", "must have either scripts or judges")
	}
	for i := range file.Scripts {
		s := &file.Scripts[i]
		s.check(d.Root.Get("scripts").Get(s.Name).Errorf)
		s.Name = name + "/" + s.Name
		s.Prompt = file.Prompt
	}
	for i := range file.Judges {
		j := &file.Judges[i]
		j.check(d.Root.Get("judges").Get(j.Model).Errorf)
		j.Name = name + "/" + j.Model
		j.Prompt = file.Prompt
	}
	if err := d.Err(); err != nil {
		return Model{}, err
	}
	return Model{file.Scripts, file.Judges}, nil
}
