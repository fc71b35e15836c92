// Package mutate asks whether an eval would notice a bad agent. From a recorded session it derives others that could
// have happened, in which the agent did worse, and has the unit's evaluators judge them: a session that they fail is
// killed, one that they pass has survived, and shows a hole in the eval.
//
// An operator is a row of a table, with its function in a file beside those of its like. How a unit is judged is
// package engine's; nothing here starts an agent.
package mutate

import (
	"path"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// Session is a recorded session from which others are derived. Nobody changes it.
type Session struct {
	Unit  plan.Unit
	Turns []cassette.Turn
	// Before has contents of texts that the agent began with: of all that it changed, of tests, and of some others.
	Before map[string]string
	// Others are the final answers of other units that pass.
	Others []Answer
	// Notes tell what no mutants were made of.
	Notes []string
}

// Answer is the final answer of a unit.
type Answer struct{ Case, Variant, Text string }

// Mutant is a session that could have happened.
type Mutant struct {
	// Operator is the id of what made it.
	Operator string
	// Where is its place in the session, the same as long as the session is: a path, a call, an argument.
	Where string
	// What says what the agent did, in one line.
	What  string
	Turns []cassette.Turn
	// Path is the file that it is about, empty if it is about none; Tool is the tool.
	Path, Tool string
	// Right says why an eval need not notice it; empty: it should.
	Right string
}

// Operator derives sessions of one kind.
type Operator struct {
	// ID names it in reports and in `mutate.accept`.
	ID string
	// Doc says in a few words what the agent does.
	Doc string
	// Looks is what evaluators have to look at to notice it.
	Looks Sense
	// derive calls yield with each mutant; it sets all but the operator.
	derive func(s *view, yield func(Mutant))
	// advice is what to write into the playbook.
	advice func(m Mutant) string
}

// Sense is what an evaluator looks at.
type Sense string

// What evaluators look at.
const (
	Files   Sense = "files"
	Calls   Sense = "calls"
	Answers Sense = "answer"
)

// Operators returns the table, in the order of reports.
func Operators() []Operator {
	return slices.Concat(wholeOperators, fileOperators, callOperators, answerOperators)
}

// Derive returns all mutants of a session, in the order of the table, also those that are the same session.
func Derive(s *Session) []Mutant {
	v := viewOf(s)
	var all []Mutant
	for _, op := range Operators() {
		op.derive(v, func(m Mutant) {
			m.Operator = op.ID
			all = append(all, m)
		})
	}
	return all
}

// copyOf returns turns whose events and changes can be replaced; what these hold is shared.
func copyOf(turns []cassette.Turn) []cassette.Turn {
	all := slices.Clone(turns)
	for i, t := range all {
		all[i].Events = slices.Clone(t.Events)
		all[i].Delta.Changes = slices.Clone(t.Delta.Changes)
	}
	return all
}

// local is a path of a session's events as one of the workspace.
func local(p string) string {
	p = strings.TrimPrefix(strings.ReplaceAll(p, `\`, "/"), "$WORKSPACE")
	return path.Clean(strings.TrimPrefix(p, "/"))
}

// each changes the events of turns: those for which change returns nil are gone.
func each(turns []cassette.Turn, change func(turn int, b trajectory.Body) trajectory.Body) {
	for t := range turns {
		var kept []trajectory.Event
		for _, e := range turns[t].Events {
			if e.Body = change(t, e.Body); e.Body != nil {
				kept = append(kept, e)
			}
		}
		turns[t].Events = kept
	}
}

// frame reports whether an event is there in each turn, whatever the agent does.
func frame(b trajectory.Body) bool {
	switch b.(type) {
	case trajectory.Prompt, trajectory.Stop:
		return true
	}
	return false
}

// wholeOperators change all of a session, or all of a turn.
var wholeOperators = []Operator{
	{
		ID: "null-agent", Doc: "does nothing and says nothing", Looks: Answers,
		derive: func(v *view, yield func(Mutant)) {
			turns := copyOf(v.Turns)
			for i := range turns {
				cut(&turns[i])
			}
			yield(Mutant{Where: "session", What: "the agent does nothing and says nothing", Turns: turns})
		},
		advice: func(Mutant) string {
			return "expect something that only work brings about: a call, a file or an answer"
		},
	},
	{
		ID: "claim-only", Doc: "claims success without the work", Looks: Files,
		derive: func(v *view, yield func(Mutant)) {
			if len(v.changed) == 0 {
				return
			}
			turns := copyOf(v.Turns)
			v.removeCalls(turns, func(c *call) bool { return c.edits })
			for i := range turns {
				turns[i].Delta.Changes = nil
			}
			yield(Mutant{
				Where: "session", What: "the agent changes no file, and answers as if it had", Turns: turns,
				Path: v.changed[0],
			})
		},
		advice: contains,
	},
	{
		ID: "cut-turn", Doc: "stops in the middle of a turn, or does nothing in it", Looks: Calls,
		derive: cutTurns,
		advice: func(Mutant) string {
			return "`text` on the final answer, or `tool_trajectory` with the last call that matters"
		},
	},
}

// cut leaves nothing of a turn but its frame.
func cut(t *cassette.Turn) {
	t.Delta = workspace.Delta{}
	t.Events = slices.DeleteFunc(t.Events, func(e trajectory.Event) bool { return !frame(e.Body) })
}
