// Package blame finds where sessions of one task part, and which tool calls go along with failure. It aligns sessions
// by their calls, in order; what it says of them is cut, on one line and harmless.
package blame

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/stats"
)

// Calls returns the tool calls of a session, each as its tool's name and its arguments.
func Calls(run *trajectory.Run) ([]string, error) {
	calls := run.ToolCalls()
	texts := make([]string, len(calls))
	for i, c := range calls {
		args, err := json.Marshal(c.Args)
		if err != nil {
			return nil, fmt.Errorf("call %d: %w", i+1, err)
		}
		texts[i] = cmp.Or(c.Name, strings.TrimSpace(c.Kind+" "+c.Title)) + " " + string(args)
	}
	return texts, nil
}

// What is shown of a call, in characters.
const (
	maxCall   = 100
	maxBefore = 30 // the first difference
)

// Parting is where two sessions part.
type Parting struct {
	// Call is the first tool call that differs, from 1; 0: they made the same calls.
	Call int
	// A and B show what was called; empty: the session has no such call.
	A, B string
}

// Part returns where two sessions part, of which a and b are the [Calls].
func Part(a, b []string) Parting {
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	at := Parting{Call: same + 1}
	switch {
	case same < min(len(a), len(b)):
		at.A, at.B = apart(a[same], b[same])
	case same < len(a):
		at.A = show(a[same])
	case same < len(b):
		at.B = show(b[same])
	default:
		return Parting{}
	}
	return at
}

func show(call string) string { return excerpt.Line(call, maxCall) }

// apart shows two calls. If their arguments alone differ, their tool's name stays.
func apart(a, b string) (string, string) {
	name, x, _ := strings.Cut(a, " ")
	other, y, _ := strings.Cut(b, " ")
	if name != other {
		return show(a), show(b)
	}
	x, y = excerpt.Apart(x, y, maxCall, maxBefore, show)
	name = show(name) + " "
	return name + x, name + y
}

// Session is one trial of a task.
type Session struct {
	Calls  []string // see [Calls]
	Failed bool
}

// Association is a tool call that sessions which failed made more often than those which passed, or less often. It is
// no cause.
type Association struct {
	// Call shows the call: a tool's name alone stands for all calls of the tool.
	Call string `json:"call"`
	// Others is how many other calls were made in the same sessions.
	Others int `json:"others,omitempty"`
	// Failed is how many of OfFailed sessions that failed made it, Passed how many of OfPassed that passed.
	Failed   int `json:"failed"`
	OfFailed int `json:"of_failed"`
	Passed   int `json:"passed"`
	OfPassed int `json:"of_passed"`
	// P is that of Fisher's exact test, adjusted for the number of calls (Benjamini and Hochberg), to six places.
	P float64 `json:"p"`
}

// maxAssociations is how many calls are blamed.
const maxAssociations = 3

// Associations returns the calls that go along with failure of sessions of one task, the surest first: those whose
// adjusted p is below alpha, a few at most. Calls of the same sessions are one, and calls of all sessions say nothing:
// neither depends on what failed, so the test stays exact.
func Associations(sessions []Session, alpha float64) []Association {
	var failed, passed int
	for _, s := range sessions {
		if s.Failed {
			failed++
		} else {
			passed++
		}
	}
	var found []Association
	var ps []float64
	for _, p := range patterns(sessions) {
		a := Association{Call: show(p.call), Others: p.calls - 1, OfFailed: failed, OfPassed: passed}
		for _, i := range p.in {
			if sessions[i].Failed {
				a.Failed++
			} else {
				a.Passed++
			}
		}
		found = append(found, a)
		ps = append(ps, stats.Fisher(stats.Count{Passed: a.Failed, Trials: failed},
			stats.Count{Passed: a.Passed, Trials: passed}))
	}
	for i, p := range stats.BenjaminiHochberg(ps) {
		found[i].P = math.Round(p*1e6) / 1e6
	}
	found = slices.DeleteFunc(found, func(a Association) bool { return a.P >= alpha })
	slices.SortStableFunc(found, func(a, b Association) int { return cmp.Compare(a.P, b.P) })
	return found[:min(len(found), maxAssociations)]
}

// pattern is the calls that were made in the same sessions, but not in all.
type pattern struct {
	call  string // the first of them
	calls int
	in    []int
}

// patterns returns them in the order in which sessions make the calls. A tool is one more call, by its name, unless it
// has the pattern of one of its calls.
func patterns(sessions []Session) []*pattern {
	var order []string
	in := make(map[string][]int)
	add := func(call string, session int) {
		made, known := in[call]
		if !known {
			order = append(order, call)
		}
		if !known || made[len(made)-1] != session {
			in[call] = append(made, session)
		}
	}
	for i, s := range sessions {
		for _, call := range s.Calls {
			add(call, i)
		}
	}
	for i, s := range sessions {
		for _, call := range s.Calls {
			if name, _, args := strings.Cut(call, " "); args {
				add(name, i)
			}
		}
	}
	var all []*pattern
	same := make(map[string]*pattern)
	for _, call := range order {
		key := fmt.Sprint(in[call])
		switch p := same[key]; {
		case len(in[call]) == len(sessions):
		case p == nil:
			same[key] = &pattern{call: call, calls: 1, in: in[call]}
			all = append(all, same[key])
		case strings.Contains(call, " "):
			p.calls++
		}
	}
	return all
}

// String says it to people.
func (a Association) String() string {
	call := a.Call
	if a.Others > 0 {
		call += fmt.Sprintf(" and %d more", a.Others)
	}
	p := fmt.Sprintf("= %.3f", a.P)
	if a.P < .001 {
		p = "< 0.001"
	}
	return fmt.Sprintf("%s: made in %d of %d trials that failed, %d of %d that passed, p %s", call, a.Failed,
		a.OfFailed, a.Passed, a.OfPassed, p)
}
