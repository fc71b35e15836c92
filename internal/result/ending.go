package result

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The reasons why sessions end: those of the Agent Client Protocol, then limits that the harness sets.
const (
	StopEndTurn     = "end_turn" // the usual one: the agent has finished its turn
	StopMaxTokens   = "max_tokens"
	StopMaxRequests = "max_turn_requests"
	StopRefusal     = "refusal"
	StopCancelled   = "cancelled"

	StopTimeout    = "timeout"
	StopToolCalls  = "max_tool_calls"
	StopTokenLimit = "token_limit"
	StopCostLimit  = "cost_limit"
	// StopDecided: the verdict of all evaluators was known, which is a normal end where a playbook wants it.
	StopDecided = "decided"

	// Unsent, beside reasons that are expected: the session may end so before all prompts were sent.
	Unsent = "unsent"

	// StopByLimit: all iterations of a loop were used, which is the normal end of a loop.
	StopByLimit = "completed-by-limit"
)

// Stops returns what may be expected of the end of a session: reasons, and [Unsent].
func Stops() []string {
	return []string{
		StopEndTurn, StopMaxTokens, StopMaxRequests, StopRefusal, StopCancelled, StopTimeout, StopToolCalls,
		StopTokenLimit, StopCostLimit, StopDecided, Unsent,
	}
}

// limitKeys are the playbook's keys of the limits that end sessions.
var limitKeys = map[string]string{
	StopTimeout: "limits.timeout", StopToolCalls: "limits.max_tool_calls", StopTokenLimit: "limits.max_tokens",
	StopCostLimit: "limits.max_cost_usd", StopDecided: "limits.until",
}

// LimitKey returns the playbook's key of the limit that ends sessions for a reason, empty if none does.
func LimitKey(stop string) string { return limitKeys[stop] }

// Ending is how far a unit's session came, and how it should have ended. The zero value is a session that never began.
type Ending struct {
	// ExpectStop are the reasons for which the session should end, and [Unsent] if it may do so before all prompts were
	// sent; empty: the agent should finish its last turn.
	ExpectStop []string `json:"expect_stop,omitempty"`
	// Sent is the number of prompts that were sent, Unsent that of the prompts which should have been sent after them,
	// and were not because the session had ended.
	Sent   int `json:"prompts_sent,omitempty"`
	Unsent int `json:"prompts_unsent,omitempty"`
	// ExpectedAt is where the playbook says how the session should end; empty: it does not.
	ExpectedAt string `json:"-"`
}

// Stops says why the sessions of the trials ended, each reason once with the number of trials if there are several:
// "2 × end_turn, refusal". It is empty if none began.
func (t Trials) Stops() string {
	counts := make(map[string]int)
	for _, u := range t.Units {
		if u.Stop != "" {
			counts[u.Stop]++
		}
	}
	var parts []string
	for _, stop := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[stop]; n > 1 {
			stop = fmt.Sprintf("%d × %s", n, stop)
		}
		parts = append(parts, stop)
	}
	return strings.Join(parts, ", ")
}

// WrongEnd says in one line what is wrong with the end of a session that had one, empty if nothing is. All prompts must
// have been sent, unless the opposite is expected, too: a refusal of the first says nothing about the second.
func (u Unit) WrongEnd() string {
	stop := u.Stop
	if stop == StopByLimit { // the agent finished each of its turns
		stop = StopEndTurn
	}
	expected := u.ExpectStop
	if len(expected) == 0 {
		expected = []string{StopEndTurn}
	}
	as, whole := slices.Contains(expected, stop), u.Unsent == 0 || slices.Contains(expected, Unsent)
	if stop == StopDecided && len(u.ExpectStop) == 0 { // no further prompt would have changed the verdict
		return ""
	}
	switch {
	case u.Stop == "" || as && whole:
		return ""
	case len(u.ExpectStop) > 0 && !as:
		text := fmt.Sprintf("expect_stop: the session ended with %s, not with %s", u.Stop,
			strings.Join(slices.DeleteFunc(slices.Clone(expected), func(s string) bool { return s == Unsent }), " or "))
		if u.ExpectedAt != "" {
			text = u.ExpectedAt + ": " + text
		}
		return text + u.unsent()
	}
	text := "the session ended early"
	switch {
	case u.Unsent > 0:
		text += fmt.Sprintf(", at prompt %d of %d", u.Sent, u.Sent+u.Unsent)
	case u.Sent > 1:
		text += fmt.Sprintf(", at prompt %d", u.Sent)
	}
	text += ": " + u.Stop
	if key := limitKeys[u.Stop]; key != "" {
		text += ", by " + key
	}
	return text + u.unsent()
}

// unsent names the prompts that were not sent, for the end of a line.
func (e Ending) unsent() string {
	first, last := e.Sent+1, e.Sent+e.Unsent
	switch e.Unsent {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("; prompt %d was not sent", last)
	case 2:
		return fmt.Sprintf("; prompts %d and %d were not sent", first, last)
	}
	return fmt.Sprintf("; prompts %d to %d were not sent", first, last)
}

// Judge sets the outcome of a unit, whose steps have all run, from its evaluations and the end of its session: error
// takes precedence over fail, and fail over pass. A session that did not end as it should has failed, even if the
// evaluations pass: an agent that does nothing meets every expectation of what must not happen. If all evaluators were
// skipped, the outcome is skip. If there are none, it is completed.
func (u *Unit) Judge() {
	count := make(map[Outcome]int)
	for _, e := range u.Evaluations {
		count[e.Outcome]++
	}
	wrong := u.WrongEnd()
	switch {
	case count[Error] > 0:
		u.Outcome = Error
	case wrong != "":
		u.Outcome, u.Reason = Fail, wrong
		u.Reason += u.remedy()
	case count[Fail] > 0:
		u.Outcome = Fail
	case count[Pass] > 0:
		u.Outcome = Pass
	case count[Skip] > 0:
		u.Outcome = Skip
	default:
		u.Outcome = Completed
	}
}

// remedy says how to expect the end of a session that ended early.
func (u Unit) remedy() string {
	stop := u.Stop
	switch {
	case len(u.ExpectStop) > 0 && u.Unsent > 0 && slices.Contains(u.ExpectStop, u.Stop):
		return fmt.Sprintf(" (if that is right, add `%s` to expect_stop)", Unsent)
	case len(u.ExpectStop) > 0 || stop == StopEndTurn || stop == StopByLimit:
		return ""
	case u.Unsent > 0:
		stop += ", " + Unsent
	}
	return fmt.Sprintf(" (if that is right, write `expect_stop: [%s]`)", stop)
}
