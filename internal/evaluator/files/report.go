package files

import (
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// report collects what holds and what does not.
type report struct {
	held, total int
	reason      string // the first thing that does not hold
	lines       []string
}

// add adds a check of the file at path, of which problem says what is wrong.
func (r *report) add(path, what, problem string) {
	r.total++
	if problem == "" {
		r.held++
		r.lines = append(r.lines, "✓ "+path+" "+what)
		return
	}
	summary, excerpt, _ := strings.Cut(problem, "\n")
	if r.reason == "" {
		r.reason = path + " " + what + ": " + summary
	}
	r.lines = append(r.lines, "✗ "+path+" "+what+": "+summary)
	if excerpt != "" {
		r.lines = append(r.lines, "    "+strings.ReplaceAll(excerpt, "\n", "\n    "))
	}
}

func (r *report) verdict() evaluator.Verdict {
	score := float64(r.held) / float64(r.total)
	v := evaluator.Verdict{Outcome: result.Pass, Score: &score, Detail: strings.Join(r.lines, "\n")}
	if r.held < r.total {
		v.Outcome, v.Reason = result.Fail, r.reason
		if more := r.total - r.held - 1; more > 0 {
			v.Reason += fmt.Sprintf(" (and %d more)", more)
		}
	}
	return v
}
