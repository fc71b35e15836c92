package report

import (
	"errors"
	"path"
	"slices"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/shard"
)

// ErrNoTimes says that no unit of a run tells how long it takes.
var ErrNoTimes = errors.New("no unit of this run says how long an agent takes: none has ended, or all were replayed")

// Weights returns weights.json, which run --shard reads: the medians of the trials of each case under a variant, in
// seconds. A replay and a unit that ended early say nothing of that.
func (rep *Report) Weights() ([]byte, error) {
	took := make(map[string][]float64)
	for _, u := range rep.Units {
		if u.Result == nil || !u.Result.Telling() {
			continue
		}
		of := path.Dir(u.Result.ID)
		took[of] = append(took[of], time.Duration(u.Result.Duration).Seconds())
	}
	if len(took) == 0 {
		return nil, fault.Advise(ErrNoTimes, "name a run whose agents ran: sdd-eval list")
	}
	w := shard.Weights{Version: 1, Seconds: make(map[string]float64, len(took))}
	for of, seconds := range took {
		slices.Sort(seconds)
		w.Seconds[of] = round((seconds[(len(seconds)-1)/2]+seconds[len(seconds)/2])/2, 3)
	}
	return jsonvalue.Indent(w)
}
