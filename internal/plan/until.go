package plan

import (
	"fmt"
	"slices"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// UntilDecided is the value of [Limits.Until].
const UntilDecided = "decided"

// Early is the configuration of an evaluator whose verdict may be sure before the session has ended.
type Early interface {
	// Awaits says what the verdict on a session with a variant depends on, a line each.
	Awaits(variant string) []string
	// Watch returns a function that is called with each tool call of a session, or request to an MCP server, again when
	// more is known of it. It reports whether the verdict by a threshold is sure, whatever the agent does now.
	Watch(v Variant, threshold float64) func(trajectory.Body) bool
}

// early reports whether the verdict of each of these evaluators may be sure before the session has ended.
func early(evaluators []Evaluator) bool {
	return len(evaluators) > 0 && !slices.ContainsFunc(evaluators, func(e Evaluator) bool {
		_, ok := e.Config.(Early)
		return !ok
	})
}

// Watch returns a function as that of [Early], which speaks for all evaluators of the unit. It is nil if one of them
// needs the whole session.
func (u Unit) Watch() func(trajectory.Body) bool {
	if !early(u.Evaluators) {
		return nil
	}
	watches := make([]func(trajectory.Body) bool, len(u.Evaluators))
	for i, e := range u.Evaluators {
		watches[i] = e.Config.(Early).Watch(u.Variant, e.Threshold)
	}
	return func(b trajectory.Body) bool {
		sure := true
		for _, watch := range watches {
			sure = watch(b) && sure
		}
		return sure
	}
}

// Awaits says what the verdicts depend on that end the unit's session, a line each; nil if none does.
func (u Unit) Awaits() (lines []string) {
	if !early(u.Evaluators) {
		return nil
	}
	for _, e := range u.Evaluators {
		for _, line := range e.Config.(Early).Awaits(u.Variant.ID) {
			if e.Threshold < 1 {
				line = fmt.Sprintf("%s (threshold %g)", line, e.Threshold)
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// until checks that the limit can end a session.
func (c checker) until() {
	if c.p.Limits.Until == "" {
		return
	}
	for _, x := range c.p.Cases {
		if early(slices.Concat(c.p.Evaluators, x.Evaluators)) {
			return
		}
	}
	if !early(c.p.Evaluators) {
		c.root.Errorf("limits.until", "it ends no session: `fires` and `silent` may be decided early, and each case "+
			"has another evaluator, which needs the whole session, or none")
	}
}
