package skill

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// Options say how the cases of a suite are run.
type Options struct {
	// By says who writes the playbook, for its first line.
	By string
	// Dir is the directory of the playbook, absolute: what it names is relative to that.
	Dir   string
	Agent playbook.Agent
	// Judge is the agent that decides what code cannot; without a kind it is Agent.
	Judge  playbook.Agent
	Arms   []Arm
	Trials int // of each case in each arm; 0: 1
}

// Arm is a variant: what agents get of the skill.
type Arm struct {
	ID string
	// Copy is a directory with what agents get of the skill, Skill one from which that is installed, and Plugin one
	// from which the plugin is that has it; absolute. All empty: they get nothing.
	Copy, Skill, Plugin string
	// Rivals are directories with what agents get of further skills, by the names of these.
	Rivals    map[string]string
	Reference bool
}

// sessionLimit ends sessions that hang. Recordings depend on it.
const sessionLimit = "30m"

// The names of evaluators: of those that look at texts, of those that look at the calls of a tool, with the check's id
// behind it, and of those that ask a model.
const (
	textChecks  = "text"
	callChecks  = "calls-"
	modelChecks = "judge"
)

// Playbook returns a playbook of the cases that can be run, of which there must be one.
func (s *Suite) Playbook(o Options) ([]byte, error) {
	if s.Runnable() == 0 {
		return nil, errors.New("no case can be run")
	}
	if o.Judge.Kind == "" {
		o.Judge = o.Agent
	}
	w := &writer{dir: o.Dir, root: s.Root}
	w.line(0, "# Written by %s from %s.", o.By, s.Evals)
	w.line(0, "name: %s", s.Slug())
	w.line(0, "limits: {timeout: %s}", sessionLimit)
	w.line(0, "trials: {count: %d}", max(o.Trials, 1))
	if err := w.arms(o, s.Folder()); err != nil {
		return nil, err
	}
	w.line(0, "cases:")
	for _, c := range s.Cases {
		if c.Runs() {
			w.testCase(c, o.Judge)
		}
	}
	return w.text.Bytes(), nil
}

// Runs reports whether the case can be run.
func (c Case) Runs() bool { return !c.Broken && !c.Command }

// Open returns how many of its checks a model decides.
func (c Case) Open() int {
	n := 0
	for _, k := range c.Checks {
		if k.By == Model {
			n++
		}
	}
	return n
}

// Asked is the prompt of the case, with the paths of its files that the prompt does not name.
func (c Case) Asked() string {
	var unnamed []string
	for _, in := range c.Inputs {
		if in.To != "." && !strings.Contains(c.Prompt, in.To) {
			unnamed = append(unnamed, in.To)
		}
	}
	if unnamed == nil {
		return c.Prompt
	}
	return strings.TrimRight(c.Prompt, "\n") + "\n\nInput files: " + strings.Join(unnamed, ", ")
}

var (
	unitName   = lazyregexp.New(`^[a-zA-Z][a-zA-Z0-9_-]{0,63}$`)
	folderName = lazyregexp.New(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,63}$`)
)

// Slug is the name of the skill as it stands in names of units.
func (s *Suite) Slug() string {
	if unitName.MatchString(s.Name) {
		return s.Name
	}
	return "skill-" + slug(s.Name)
}

// Folder is the name of the directory that agents find the skill in: its own, so that they call it by that.
func (s *Suite) Folder() string {
	if folderName.MatchString(s.Name) {
		return s.Name
	}
	return slug(s.Name)
}

// writer writes YAML.
type writer struct {
	text      bytes.Buffer
	dir, root string // of the playbook, and of the suite
}

// line writes a line, so many levels deep.
func (w *writer) line(level int, format string, args ...any) {
	w.text.WriteString(strings.Repeat("  ", level))
	fmt.Fprintf(&w.text, format+"\n", args...)
}

// quote returns a text in quotes, which mean the same to YAML as to Go.
func quote(text string) string { return strconv.Quote(text) }

func quoteAll(texts []string) string {
	quoted := make([]string, len(texts))
	for i, t := range texts {
		quoted[i] = quote(t)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// path returns an absolute path as the playbook names it.
func (w *writer) path(name string) (string, error) {
	rel, err := filepath.Rel(w.dir, name)
	return quote(filepath.ToSlash(rel)), err
}

// arms writes the workspace, the variants, and the workflow that has each of them do each case. Folder is the name of
// the skill's directory.
func (w *writer) arms(o Options, folder string) error {
	w.line(0, "workspace: {empty: true, repository: true}")
	w.line(0, "variants:")
	ids := make([]string, len(o.Arms))
	for i, a := range o.Arms {
		ids[i] = a.ID
		if err := w.arm(a, o.Agent, folder); err != nil {
			return err
		}
	}
	w.line(0, "workflow:")
	w.line(1, "jobs:")
	w.line(2, "eval:")
	w.line(3, "strategy: {matrix: {variant: [%s]}}", strings.Join(ids, ", "))
	w.line(3, "steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]")
	return nil
}

// arm writes a variant. Folder is the name of the skill's directory.
func (w *writer) arm(a Arm, who playbook.Agent, folder string) error {
	w.line(1, "%s:", a.ID)
	w.line(2, "agent: %s", agentKeys(who))
	if a.Reference {
		w.line(2, "reference: true")
	}
	switch {
	case a.Skill != "":
		from, err := w.path(a.Skill)
		w.line(2, "skills: [%s]", from)
		return err
	case a.Plugin != "":
		from, err := w.path(a.Plugin)
		w.line(2, "plugins: [%s]", from)
		return err
	case a.Copy == "":
		return nil
	}
	profile, _ := agent.Lookup(who.Kind)
	if profile.Skills == "" {
		return fmt.Errorf("it is not known where agents of kind %s look for skills", who.Kind)
	}
	from, err := w.path(a.Copy)
	if err != nil {
		return err
	}
	rivals, err := w.rivalsOf(a, profile.Skills)
	own := fmt.Sprintf("{from: %s, to: %s}", from, quote(path.Join(profile.Skills, folder)))
	w.line(2, "workspace: {add: [%s]}", strings.Join(append([]string{own}, rivals...), ", "))
	return err
}

// agentKeys returns the mapping of an agent.
func agentKeys(a playbook.Agent) string {
	keys := []string{"kind: " + a.Kind}
	for _, k := range []struct{ name, value string }{
		{"preset", a.Preset}, {"command", a.Command}, {"model", a.Model}, {"mode", a.Mode},
	} {
		if k.value != "" {
			keys = append(keys, k.name+": "+quote(k.value))
		}
	}
	if a.Args != nil {
		keys = append(keys, "args: "+quoteAll(a.Args))
	}
	return "{" + strings.Join(keys, ", ") + "}"
}

func (w *writer) testCase(c Case, judge playbook.Agent) {
	w.line(1, "- id: %s", c.ID)
	w.line(2, "prompt: %s", quote(c.Asked()))
	if c.Expected != "" {
		w.line(2, "expected_outcome: %s", quote(c.Expected))
	}
	if len(c.Inputs) > 0 {
		w.line(2, "workspace:")
		w.line(3, "add:")
	}
	for _, in := range c.Inputs {
		from, _ := filepath.Rel(w.dir, filepath.Join(w.root, filepath.FromSlash(in.From))) // both are absolute
		to := ""
		if in.To != "." {
			to = ", to: " + quote(in.To)
		}
		w.line(4, "- {from: %s%s}", quote(filepath.ToSlash(from)), to)
	}
	w.line(2, "evaluators:")
	w.texts(c)
	for _, k := range c.Checks {
		if k.By == Calls {
			w.line(3, "- {name: %s%s, type: tool_trajectory, args: ignore, expected: [%s]}", callChecks, k.ID,
				expectedCalls(k.Rule))
		}
	}
	w.rubrics(c, judge)
}

func expectedCalls(r Rule) string {
	calls := make([]string, len(r.Patterns))
	for i, p := range r.Patterns {
		calls[i] = "{tool: " + quote(p.Text) + "}"
	}
	return strings.Join(calls, ", ")
}

// texts writes the evaluator of the checks that look at texts.
func (w *writer) texts(c Case) {
	first := true
	for _, k := range c.Checks {
		if k.By != Text && k.By != File {
			continue
		}
		if first {
			w.line(3, "- name: %s", textChecks)
			w.line(4, "type: text")
			w.line(4, "checks:")
			first = false
		}
		w.line(5, "- {id: %s, text: %s, %s}", quote(k.ID), quote(k.Text), k.Rule.keys())
	}
}

// looks returns what a check of the evaluator text looks for, under which key.
func (r Rule) looks() (key string, patterns []string) {
	key = map[Op]string{Contains: "contains", Absent: "not_contains", Ordered: "ordered"}[r.Op]
	for _, p := range r.Patterns {
		pattern := p.Text
		if p.Regexp != nil { // then all are expressions
			key, pattern = map[Op]string{Contains: "matches", Absent: "not_matches"}[r.Op], p.Regexp.String()
		}
		patterns = append(patterns, pattern)
	}
	return key, patterns
}

// keys returns the keys of a check of the evaluator text.
func (r Rule) keys() string {
	key, patterns := r.looks()
	keys := key + ": " + quoteAll(patterns)
	if r.Op == Contains && r.Min > 1 {
		keys += fmt.Sprintf(", min_count: %d", r.Min)
	}
	if r.File != "" {
		keys += ", file: " + quote(r.File)
	}
	return keys
}

// rubrics writes the evaluator of the checks that a model decides.
func (w *writer) rubrics(c Case, judge playbook.Agent) {
	first := true
	for _, k := range c.Checks {
		if k.By != Model {
			continue
		}
		if first {
			w.line(3, "- name: %s", modelChecks)
			w.line(4, "type: llm_judge")
			w.line(4, "agent: %s", agentKeys(judge))
			w.line(4, "rubrics:")
			first = false
		}
		calls := ""
		if asksHow.MatchString(k.Text) {
			calls = ", calls: true"
		}
		w.line(5, "- {id: %s, text: %s%s}", quote(k.ID), quote(k.Text), calls)
	}
}

// asksHow matches checks of how the work was done, which nobody can judge who sees only what came of it. What it
// matches too often is judged all the same, only not blind.
var asksHow = lazyregexp.New(`(?i)\b(tools?|scripts?|commands?|sub-?agents?|(read|run|call|open|search|fetch|invoke|` +
	`execute|consult|delegate)(s|es|d|ed)?|ran|web ?search)\b`)
