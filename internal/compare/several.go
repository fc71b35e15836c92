package compare

import (
	"fmt"

	"github.com/sdd-eval/sdd-eval/internal/stats"
)

// Arms are two arms to compare.
type Arms struct{ Base, Head Arm }

// CompareAll compares several arms. Their p values are adjusted for their number ([stats.Holm]): a difference that one
// comparison alone would show is inconclusive where so many could have shown one by chance.
func (r Rule) CompareAll(all []Arms) []*Comparison {
	list := make([]*Comparison, len(all))
	var ps []float64
	var tested []*Comparison
	for i, arms := range all {
		list[i] = r.Compare(arms.Base, arms.Head)
		if list[i].Verdict != Invalid {
			tested, ps = append(tested, list[i]), append(ps, float64(list[i].P))
		}
	}
	if len(tested) < 2 {
		return list
	}
	for i, p := range stats.Holm(ps) {
		c := tested[i]
		c.Adjusted = new(Number)
		*c.Adjusted = Number(p)
		if significant := c.Verdict == Better || c.Verdict == Worse || c.SmallLoss; significant && p >= r.Alpha {
			c.Verdict, c.SmallLoss = Inconclusive, false
			c.Why = append(c.Why, fmt.Sprintf("p = %.3f, adjusted for %d comparisons, is not below %g", p,
				len(tested), r.Alpha))
		}
	}
	return list
}

// Gate is which verdict a comparison must have.
type Gate string

const (
	// GateWorse fails what is worse.
	GateWorse Gate = "worse"
	// GateNotWorse wants better or not worse.
	GateNotWorse Gate = "not-worse"
	// GateBetter wants better.
	GateBetter Gate = "better"
	// GateNone fails nothing but what is invalid.
	GateNone Gate = "none"
)

// Exit codes of a gate, those of the command.
const (
	exitOpposite = 1
	exitInvalid  = 3
	exitOpen     = 4
)

// Exit returns the exit code of comparisons under a gate: 0 if all pass; 3 if one is invalid, whatever the gate; 1 if
// one is what the gate refuses; 4 if one is inconclusive where the gate wants more.
func (g Gate) Exit(all []*Comparison) int {
	code := 0
	for _, c := range all {
		switch now := g.exit(c.Verdict); {
		case now == exitInvalid || code == 0:
			code = now
		case now == exitOpposite && code == exitOpen:
			code = now
		}
	}
	return code
}

func (g Gate) exit(v Verdict) int {
	passes := map[Gate]map[Verdict]bool{
		GateWorse:    {Better: true, NotWorse: true, Inconclusive: true},
		GateNotWorse: {Better: true, NotWorse: true},
		GateBetter:   {Better: true},
		GateNone:     {Better: true, NotWorse: true, Inconclusive: true, Worse: true},
	}[g]
	switch {
	case v == Invalid:
		return exitInvalid
	case passes[v]:
		return 0
	case v == Inconclusive || v == NotWorse:
		return exitOpen
	}
	return exitOpposite
}
