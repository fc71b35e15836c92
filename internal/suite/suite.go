// Package suite reads evals that were written for other tools, and writes them as playbooks. It runs nothing. What a
// playbook cannot say is a [Problem] with its place; nothing is passed over.
//
// A new format is a row of the table in this file, with its reader in a file of its own.
package suite

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// Generated is the directory, below a project's root and with slashes, of the playbooks that are written to run evals
// as they are.
const Generated = ".llman/sdd-eval/suites"

// Format is a format of evals.
type Format struct {
	Name string
	// What describes the directory that is read.
	What string
	// of returns the directory to convert of which a path, absolute, is a part; empty: it is none. It only looks at
	// names.
	of func(path string) string
	// Evals returns the directory, below the one to convert and with slashes, that has the evals: they can be run as
	// they are. Nil: they cannot.
	Evals func(dir string) (string, error)
	// Later says of evals that are recognised and cannot be converted yet why, and what to do instead.
	Later string
	read  func(ctx context.Context, dir string, o Options) (*Suite, error)
}

// Formats returns all formats that are read.
func Formats() []Format {
	return []Format{{
		Name: "plugin-evals", What: "a plugin of Claude Code, with the directory evals",
		of: pluginOf, Evals: pluginEvalsDir, read: readPluginEvals,
	}, {
		Name: "skill", What: "a skill with evals/evals.json, as `sdd-eval skill` runs them",
		of: skillOf, read: readSkill,
	}, {
		Name: "promptfoo", What: "a configuration of promptfoo, or a directory with promptfooconfig.yaml",
		of: promptfooOf, read: readPromptfoo,
	}, {
		Name: "agentv", What: "a suite of AgentV, in YAML",
		of: agentvOf, read: readAgentV,
	}, {
		Name: "waza", What: "a suite of waza, or a directory with eval.yaml", of: wazaOf, read: readWaza,
	}}
}

// Recognise returns the format of evals of which a path, absolute, is a part, and the directory to convert.
func Recognise(path string) (f Format, dir string, ok bool) {
	for _, f := range append(Formats(), harbor) {
		if dir := f.of(path); dir != "" {
			return f, dir, true
		}
	}
	return Format{}, "", false
}

// Options say how playbooks are written.
type Options struct {
	// Out is the directory of the playbooks, absolute: their paths are relative to it.
	Out string
	// Agent and Preset are those of the variants.
	Agent, Preset string
	// Command and Args are the program of the agents, as playbooks name it; empty: that of the kind.
	Command string
	Args    []string
	// JudgeModel is the model that is asked whatever a model is to decide. If it is empty, Judge is asked, an agent, or
	// without a kind that of the variants.
	JudgeModel string
	Judge      playbook.Agent
	// Tags, if there are any, leave out the cases that have none of them, where a format has tags.
	Tags []string
	// Trials, if it is not 0, takes the place of what the suite says of how often a case is tried.
	Trials int
	// Threshold, if it is not 0, is the score below which a case fails, as --threshold says.
	Threshold float64
	// Scripts: scripts that prepare workspaces are taken over, as steps that run confined.
	Scripts bool
	// Servers: MCP servers of a plugin that are not mocked are taken over, as programs that agents start.
	Servers bool
	// Getenv returns a variable of the environment that a suite asks for. Nil: there is none.
	Getenv func(name string) string
	// Ignore are settings of sessions that need not be honoured, among those of [Ignorable].
	Ignore []string
}

// Flags are those of `sdd-eval run --from` that say the same, but for the agents.
func (o Options) Flags() []string {
	var flags []string
	if len(o.Ignore) > 0 {
		flags = append(flags, "--ignore", strings.Join(o.Ignore, ","))
	}
	if o.JudgeModel != "" {
		flags = append(flags, "--judge-model", o.JudgeModel)
	}
	if len(o.Tags) > 0 {
		flags = append(flags, "--tag", strings.Join(o.Tags, ","))
	}
	if o.Trials > 0 {
		flags = append(flags, "--trials", strconv.Itoa(o.Trials))
	}
	if o.Threshold > 0 {
		flags = append(flags, "--threshold", strconv.FormatFloat(o.Threshold, 'f', -1, 64))
	}
	if o.Scripts {
		flags = append(flags, "--scaffold")
	}
	if o.Servers {
		flags = append(flags, "--allow-real-servers")
	}
	return flags
}

// Suite is what was read.
type Suite struct {
	// Name is that of the plugin or the skill.
	Name string
	// Playbooks hold the cases without problems.
	Playbooks []Playbook
	Cases     []Case
	Problems  []Problem
	// Notes say what is left out and changes no verdict.
	Notes []Problem
}

// Case is a case of the suite.
type Case struct {
	Name, ID string
	At       doc.Position
	// Graders counts what decides, by its type.
	Graders map[string]int
	// Mapped: a playbook has it.
	Mapped bool
}

// Playbook is a file to write.
type Playbook struct {
	File  string // its name in Options.Out
	Cases []string
	Text  []byte
	// At are the places in the source of what a case expects, by the case's id and the evaluator's name. What all cases
	// expect has no id.
	At map[string]map[string]doc.Position

	keys doc.Pairs // of Text, the last of which lists the cases; nil: no case can be taken out
}

// Cite has the evaluators of a plan, which was made of the playbook, stand where the source has them. Name returns how
// results cite a file.
func (p Playbook) Cite(plan *plan.Plan, name func(file string) string) {
	for i, u := range plan.Units {
		evaluators := slices.Clone(u.Evaluators)
		for j, e := range evaluators {
			if at, ok := p.At[u.Case.ID][e.Name]; ok {
				at.File = name(at.File)
				evaluators[j].Position = at
			}
		}
		plan.Units[i].Evaluators = evaluators
	}
}

// Problem is what does not map, or cannot be read.
type Problem struct {
	At   doc.Position
	Case string // empty: it is about the suite
	Key  string // what does not map, such as execution.max_turns
	What string
}

// Convert reads the evals in a directory, absolute, and writes them as playbooks. The error means that there are none,
// or that nothing could be read.
func (f Format) Convert(ctx context.Context, dir string, o Options) (*Suite, error) {
	s, err := f.read(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	order := func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.At.File, b.At.File), cmp.Compare(a.At.Line, b.At.Line),
			cmp.Compare(a.At.Column, b.At.Column))
	}
	slices.SortStableFunc(s.Problems, order)
	slices.SortStableFunc(s.Notes, order)
	return s, nil
}

// aPart matches what a problem of a playbook is about: a case, an evaluator, or neither.
var aPart = lazyregexp.New(`^(?:((?:eval)?cases)\[(\d+)\]\.?)?(?:execution\.)?(?:evaluators\[(\d+)\])?`)

// Refuse adds why a playbook that was written cannot be loaded. The cases that it is about are not mapped then, and the
// playbook has the others. What is about none of them is about all: it leaves no playbook.
func (s *Suite) Refuse(p Playbook, err error) {
	problems, ok := errors.AsType[doc.Problems](err)
	if !ok {
		problems = doc.Problems{{Reason: err.Error()}}
	}
	root := doc.Parse(p.File, p.Text).Root
	located := slices.ContainsFunc(problems, func(p doc.Problem) bool { return p.Path != "" })
	for _, problem := range problems {
		if located && problem.Path == "" { // such as that there are more: they are found when the others are loaded
			continue
		}
		part := aPart.FindStringSubmatch(problem.Path)
		i, _ := strconv.Atoi(part[2])
		if i >= len(p.Cases) || part[1] != "" && i >= len(root.Get(part[1]).Items()) {
			part, i = make([]string, len(part)), 0
		}
		c := s.named(p.Cases[i])
		about := Problem{At: c.At, What: strings.TrimPrefix(problem.Path+": "+problem.Reason, ": ")}
		within, id := root, ""
		if part[1] != "" {
			within, id, about.Case = root.Get(part[1]).Items()[i], c.ID, c.Name
			c.Mapped = false
		}
		if j, err := strconv.Atoi(part[3]); err == nil {
			all := cmp.Or(within.Get("execution"), within).Get("evaluators").Items()
			if j < len(all) {
				if at, ok := p.At[id][all[j].Get("name").Text()]; ok {
					about.At = at
				}
			}
		}
		if part[1] == "" || p.keys == nil {
			for _, id := range p.Cases {
				s.named(id).Mapped = false
			}
		}
		s.Problems = append(s.Problems, about)
	}
	i := slices.IndexFunc(s.Playbooks, func(q Playbook) bool { return q.File == p.File })
	if s.Playbooks[i] = s.mapped(p); len(s.Playbooks[i].Cases) == 0 {
		s.Playbooks = slices.Delete(s.Playbooks, i, i+1)
	}
}

// named returns the case with an id.
func (s *Suite) named(id string) *Case {
	return &s.Cases[slices.IndexFunc(s.Cases, func(c Case) bool { return c.ID == id })]
}

// mapped returns a playbook with those of its cases alone that map.
func (s *Suite) mapped(p Playbook) Playbook {
	var ids []string
	var cases []doc.Pairs
	for i, id := range p.Cases {
		if s.named(id).Mapped {
			ids, cases = append(ids, id), append(cases, p.keys[len(p.keys)-1].Value.([]doc.Pairs)[i])
		}
	}
	if p.Cases = ids; len(ids) > 0 {
		p.keys = slices.Clone(p.keys)
		p.keys[len(p.keys)-1].Value = cases
		p.Text = p.keys.YAML()
	}
	return p
}

var aNote = lazyregexp.New(`: note: (?:(?:eval)?cases\[(\d+)\])?.*?: (.*)`)

// Noted adds notes about a playbook that was written, see [plan.Playbook.Noted], each once: they stand at its first
// case that they are about.
func (s *Suite) Noted(p Playbook, notes []string) {
	for _, note := range notes {
		m := aNote.FindStringSubmatch(note)
		if m == nil || slices.ContainsFunc(s.Notes, func(n Problem) bool { return n.What == m[2] }) {
			continue
		}
		n, err := strconv.Atoi(m[1])
		i := slices.IndexFunc(s.Cases, func(c Case) bool { return c.ID == p.Cases[min(n, len(p.Cases)-1)] })
		if i < 0 {
			continue
		}
		about := Problem{At: s.Cases[i].At, What: m[2]}
		if err == nil {
			about.Case = s.Cases[i].Name
		}
		s.Notes = append(s.Notes, about)
	}
}
