package rundir

import (
	"errors"
	"fmt"
	"maps"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

// Totals says what the results of a run come to, so that a list of runs need not read them.
type Totals struct {
	// Outcomes counts the units that have a result, by outcome.
	Outcomes map[result.Outcome]int `json:"outcomes"`
	// Bytes is the size of the results. Of results that have another size by now, the totals say nothing.
	Bytes int64 `json:"results_bytes"`
}

// count counts units by outcome.
func count(units []result.Unit) map[result.Outcome]int {
	outcomes := make(map[result.Outcome]int)
	for _, u := range units {
		outcomes[u.Outcome]++
	}
	return outcomes
}

// checkTotals returns an error for totals that no run of the manifest's units has.
func (m *Manifest) checkTotals() error {
	if m.Totals == nil {
		return nil
	}
	if m.State == StateRunning {
		return errors.New("totals: the run has not ended")
	}
	sum := 0
	for outcome, n := range m.Totals.Outcomes {
		if err := checkOutcome(outcome); err != nil {
			return fmt.Errorf("totals: %w", err)
		}
		if n < 1 {
			return fmt.Errorf("totals: %d units with the outcome %s", n, outcome)
		}
		sum += n
	}
	if sum > len(m.Units) {
		return fmt.Errorf("totals: %d outcomes of %d units", sum, len(m.Units))
	}
	return nil
}

// totals returns what the results come to.
func (r *Run) totals() (*Totals, error) {
	size, err := r.Size(ResultsFile)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return &Totals{Outcomes: maps.Clone(r.outcomes), Bytes: size}, nil
}

// Outcomes counts the run's units that have a result, by outcome. It reads the results only if the manifest does not
// have their totals: the run goes on, was killed, or is of an earlier version, or somebody changed the results.
func (s Summary) Outcomes() (map[result.Outcome]int, error) {
	if s.Err != nil {
		return nil, s.Err
	}
	run := &Run{dir: s.Dir}
	size, err := run.Size(ResultsFile)
	if err != nil {
		return nil, err
	}
	if s.totals != nil && s.totals.Bytes == size {
		return maps.Clone(s.totals.Outcomes), nil
	}
	if run.manifest, err = readManifest(s.Dir); err != nil {
		return nil, err
	}
	units, err := run.Units()
	return count(units), err
}
