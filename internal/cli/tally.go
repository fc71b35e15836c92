package cli

import (
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

// notRun counts as an outcome of units that have none yet.
const notRun result.Outcome = "not run"

// tally counts units by their outcome.
type tally map[result.Outcome]int

// words returns what is not 0, the worst first: "2 failed", "1 error". Skips the outcomes that are left out.
func (t tally) words(leaveOut ...result.Outcome) []string {
	skip := make(map[result.Outcome]bool)
	for _, o := range leaveOut {
		skip[o] = true
	}
	var words []string
	for _, w := range []struct {
		outcome   result.Outcome
		one, many string
	}{
		{result.Fail, "failed", "failed"},
		{result.Error, "error", "errors"},
		{result.Pass, "passed", "passed"},
		{result.Completed, "completed", "completed"},
		{result.Skip, "skipped", "skipped"},
		{notRun, "not run", "not run"},
	} {
		switch n := t[w.outcome]; {
		case n == 0 || skip[w.outcome]:
		case n == 1:
			words = append(words, "1 "+w.one)
		default:
			words = append(words, fmt.Sprintf("%d %s", n, w.many))
		}
	}
	return words
}

// String returns "2 failed, 1 error", "no units" if there are none.
func (t tally) String() string {
	if words := t.words(); len(words) > 0 {
		return strings.Join(words, ", ")
	}
	return "no units"
}

// tallyOf counts how the units of a run ended.
func tallyOf(units []result.Unit, listed int) tally {
	t := tally{notRun: listed - len(units)}
	for _, u := range units {
		t[u.Outcome]++
	}
	return t
}
