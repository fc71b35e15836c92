package cli

import (
	"slices"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

const (
	pastRuns  = 5        // of a playbook that estimates are made from
	pastBytes = 32 << 20 // of the results of one of them that are read
)

// past returns the units of the newest runs of a playbook that ended with a verdict on an agent that ran: what others
// took, such as replays and errors, says nothing about the next run. Runs that cannot be read are left out.
func (a *App) past(root, playbook string) []result.Unit {
	runs, err := rundir.List(root)
	if err != nil {
		return nil
	}
	var units []result.Unit
	read := 0
	for _, s := range runs {
		if s.Err != nil || s.Playbook != playbook || s.Mode == "replay" || read == pastRuns {
			continue
		}
		r, err := rundir.Open(root, s.ID, a.secrets)
		if err != nil {
			continue
		}
		size, err := r.Size(rundir.ResultsFile)
		if err == nil && size <= pastBytes {
			ended, err := r.Units()
			if err == nil {
				units = append(units, slices.DeleteFunc(ended, func(u result.Unit) bool { return !u.Telling() })...)
				read++
			}
		}
		_ = r.Close() // it was only read
	}
	return units
}

// median returns the median of some figures, the lower of two; false if there are none.
func median[T float64 | time.Duration](figures []T) (T, bool) {
	if len(figures) == 0 {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(figures))
	return sorted[(len(sorted)-1)/2], true
}
