package cli

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

// enoughUnits is how many units of a run tell how long the others take, whatever former runs took.
const enoughUnits = 5

// pace is how long units take.
type pace struct {
	past, own []time.Duration // of former runs, and of this one
	one       time.Duration   // the median, which is computed when a unit has ended; 0: unknown
}

// before takes over the units of former runs.
func (p *pace) before(units []result.Unit) {
	for _, u := range units {
		p.past = append(p.past, time.Duration(u.Duration))
	}
	p.one, _ = median(p.past)
}

func (p *pace) add(u result.Unit) {
	u.Replayed = false // in a replay all are
	if !u.Telling() {
		return
	}
	p.own = append(p.own, time.Duration(u.Duration))
	all := p.own
	if len(all) < enoughUnits {
		all = slices.Concat(p.past, p.own)
	}
	p.one, _ = median(all)
}

func (p *pace) median() (time.Duration, bool) { return p.one, p.one > 0 }

// spent is what units cost, by currency.
type spent struct {
	sums    map[string]float64
	unknown bool // of some units that ran
}

func (s *spent) add(u result.Unit) {
	switch {
	case u.Replayed || u.Metrics == nil: // nobody paid
	case u.Metrics.Cost == nil:
		s.unknown = true
	default:
		if s.sums == nil {
			s.sums = make(map[string]float64)
		}
		s.sums[u.Metrics.Cost.Currency] += u.Metrics.Cost.Amount
	}
}

// with returns what has been spent, with what units cost so far that run: "$1.20", or "≥ $1.20" if some do not tell. It
// is empty if none tells.
func (s *spent) with(running []*runningUnit) string {
	sums, unknown := maps.Clone(s.sums), s.unknown
	for _, r := range running {
		if r.Cost == nil {
			unknown = true
			continue
		}
		if sums == nil {
			sums = make(map[string]float64)
		}
		sums["USD"] += *r.Cost // an activity has no others
	}
	var parts []string
	for _, currency := range slices.Sorted(maps.Keys(sums)) {
		parts = append(parts, money(sums[currency], printable(currency)))
	}
	if len(parts) > 0 && unknown {
		return "≥ " + strings.Join(parts, ", ")
	}
	return strings.Join(parts, ", ")
}
