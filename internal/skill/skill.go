// Package skill finds the evals that authors of skills keep beside them, most of them in the format of skill-creator,
// and reads them into cases, checks and queries. It runs nothing. What is wrong with them is a [Finding], with its
// place; nothing is passed over.
package skill

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// Suite is a skill with its evals, as they were found. Files are named by their paths below Root, with slashes; in
// positions they are absolute.
type Suite struct {
	// Root is the top of the git repository, or the directory in which the evals were looked for.
	Root string
	// Dir is the directory of the skill, below Root; empty: there is none.
	Dir string
	// Name is what the skill calls itself, else what the evals call it, else the name of Dir.
	Name string
	// Evals is the file with the cases, empty: there is none. Triggers are those with queries.
	Evals    string
	Triggers []string
	Cases    []Case
	Queries  []Query
	// Installed is what agents get of the skill.
	Installed Tree
	// Plugin is installed in place of the skill where cases are run; nil: none is.
	Plugin *Plugin
	// Rivals are the directories of other skills, below Root, that queries name, by their names.
	Rivals map[string]string
	// Unknown are keys that were read and mean nothing here.
	Unknown  []Key
	Findings []Finding
}

// Case is one task of an agent, with what is expected of it.
type Case struct {
	// ID is stable: it comes from the case's id, else from its name, else from its prompt, never from its place.
	ID string
	// Given is the id or the name as it is written, empty: the case has neither.
	Given, Name string
	Prompt      string
	// Expected is the expected_output, in words.
	Expected string
	Inputs   []Input
	Checks   []Check
	// Command: the prompt begins with a /command, which only a plugin knows, and none is installed.
	Command bool
	// Broken: there is a finding of level [Error], so that the case cannot be run or judged.
	Broken   bool
	Position doc.Position
}

// Input is a file or directory that a case has in its workspace.
type Input struct {
	From string // below the suite's root
	To   string // below the workspace, with slashes
	Dir  bool
	// Files are those of the input, below it; of a file, ".".
	Files []string
}

// Query is a prompt that is there to see which skill an agent turns to.
type Query struct {
	ID     string
	Given  string // the id as it is written, empty: it has none
	Prompt string
	// Skills are the names of the skills of which one is to be used; Suite.Name stands for the suite's own. Empty:
	// none is, or not the suite's own where Routing is false.
	Skills []string
	// Routing: the query names the skill that is right, which may be another one.
	Routing bool
	// Absent is a skill that the query expects and that is not there, so that the query is not asked; empty: none is.
	Absent   string
	Position doc.Position
}

// Level says how bad a finding is.
type Level string

// The levels.
const (
	Error   Level = "error"   // something cannot be run or judged
	Warning Level = "warning" // a verdict would mean nothing
	Note    Level = "note"    // it may be a mistake
)

// Finding is something that the author should know.
type Finding struct {
	Level Level
	Rule  string
	At    doc.Position // zero: it is about the suite as a whole
	Where string       // the case, the query or the file; empty: the suite
	What  string
	Next  string // what to do, empty: nothing is known
}

// Key is a key that means nothing here.
type Key struct {
	In    string // what has it: "file", "case", "check" or "query"
	Name  string
	Count int
	At    doc.Position // the first one
}

func (s *Suite) add(level Level, rule string, at doc.Position, where, what, next string) {
	s.Findings = append(s.Findings, Finding{level, rule, at, where, what, next})
}

// sort puts what is worst first, and findings of a level in the order of the files.
func (s *Suite) sort() {
	levels := []Level{Error, Warning, Note}
	slices.SortStableFunc(s.Findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(slices.Index(levels, a.Level), slices.Index(levels, b.Level)),
			cmp.Compare(a.At.File, b.At.File), cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Column, b.At.Column),
		)
	})
}

// File returns the absolute path of a file of the suite, by its path below the root.
func (s *Suite) File(p string) string { return filepath.Join(s.Root, filepath.FromSlash(p)) }

// Level returns the worst level of the findings, empty if there are none.
func (s *Suite) Level() Level {
	var worst Level
	for _, f := range s.Findings {
		if f.Level == Error || worst == "" || worst == Note {
			worst = f.Level
		}
	}
	return worst
}

// Runnable returns how many cases can be run.
func (s *Suite) Runnable() int {
	n := 0
	for _, c := range s.Cases {
		if c.Runs() {
			n++
		}
	}
	return n
}
