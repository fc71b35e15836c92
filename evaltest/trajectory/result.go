package trajectory

import (
	"fmt"
	"strings"
)

// Result is what came of matching a run: it passed, it failed, or nothing is known because of Err.
type Result struct {
	// Pass is true if all expectations held, which is when Score is 1.
	Pass bool
	// Score is Held by Total, 1 if nothing was expected and nothing was wrong. It means nothing with Err.
	Score float64
	// Held of Total expectations held: each expected call is one, and so is each limit and each tool of Never. Calls
	// that Exact does not expect add to Total where they are more than those that it does.
	Held, Total int
	// Err is why nothing is known: a malformed expectation, or arguments of the run that are not JSON.
	Err error

	sections []section
}

// section is what came of one part of a matcher.
type section struct {
	name        string // as in YAML, e.g. "in_order"
	held, total int
	// problems say in one line each what did not hold; none if the part passed.
	problems []string
	// rows explains each expectation; it is costly and called only for text.
	rows func() []row
}

func (r *Result) add(s section) {
	r.sections = append(r.sections, s)
	r.Held += s.held
	r.Total += s.total
	r.Pass = r.Held == r.Total
	r.Score = 1
	if r.Total > 0 {
		r.Score = float64(r.Held) / float64(r.Total)
	}
}

// Reason says in one line what did not hold, e.g. "in_order: step 2 not matched: issue_refund amount=40"; it is empty
// if the result passed.
func (r Result) Reason() string {
	if r.Err != nil {
		return "error: " + strings.ReplaceAll(r.Err.Error(), "\n", "; ")
	}
	var reasons []string
	for _, s := range r.sections {
		if len(s.problems) == 0 {
			continue
		}
		reason := s.name + ": " + fold(s.problems[0], maxReason)
		if more := len(s.problems) - 1; more > 0 {
			reason += fmt.Sprintf(" (and %d more)", more)
		}
		reasons = append(reasons, reason)
	}
	return strings.Join(reasons, "; ")
}

// Table shows each expectation beside the call that matched it or came nearest, and what that call should have been,
// in aligned lines without a final newline. Long values and long runs of like lines are folded. It is empty with Err.
func (r Result) Table() string {
	if len(r.sections) == 1 {
		return table(r.sections[0].rows(), "")
	}
	var blocks []string
	for _, s := range r.sections {
		block := fmt.Sprintf("%s: %d of %d", s.name, s.held, s.total)
		if rows := table(s.rows(), "  "); rows != "" {
			block += "\n" + rows
		}
		blocks = append(blocks, block)
	}
	return strings.Join(blocks, "\n")
}

// String returns the reason, if there is one, and the table.
func (r Result) String() string {
	reason, rows := r.Reason(), r.Table()
	if reason != "" && rows != "" {
		reason += "\n"
	}
	return reason + rows
}
