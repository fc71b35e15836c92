package trajectory

import (
	"fmt"
	"time"
)

// within is the longest that a run may take.
type within time.Duration

// MaxDuration expects that the whole run, from its first event to its last, took no longer than d, which must be
// positive. For a single call see [Call.MaxDuration].
func MaxDuration(d time.Duration) Matcher { return matcherOf(within(d)) }

func (w within) check() error {
	if w <= 0 {
		return fmt.Errorf("max_duration_ms: a limit of %v: want more than 0", time.Duration(w))
	}
	return nil
}

func (w within) judge(s *session) section {
	limit := time.Duration(w)
	took := fmt.Sprintf("the run took %v", s.took)
	result := section{name: "max_duration_ms", total: 1, held: 1}
	r := row{mark: good, left: took}
	if s.took > limit {
		result.held = 0
		r = row{mark: bad, left: took, right: fmt.Sprintf("want at most %v", limit)}
		result.problems = []string{fmt.Sprintf("%s, want at most %v", took, limit)}
	}
	result.rows = func() []row { return []row{r} }
	return result
}
