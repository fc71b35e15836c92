package playbook

import (
	"math"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// Trials says how often each case is tried with each variant. The zero value is one trial that has to pass.
type Trials struct {
	Count int `yaml:"count" default:"1" min:"1" max:"1000" doc:"How many trials, 1 to 1000."`

	// Pass is how many trials must pass; 0: not given. See [Trials.Need].
	Pass int `yaml:"pass" min:"1" doc:"How many trials must pass; default: all. Either pass or pass_rate."`

	// PassRate is the share of the trials that must pass, above 0 and up to 1; 0: not given. See [Trials.Need].
	PassRate float64 `yaml:"pass_rate" above:"0" max:"1" doc:"Part of the trials that must pass. Either pass or pass_rate."`
}

func (t *Trials) decode(n *doc.Node) {
	if !n.Decode(t) {
		return
	}
	if n.Get("pass") != nil && n.Get("pass_rate") != nil {
		n.Errorf("pass_rate", "give either `pass` or `pass_rate`")
		return
	}
	if t.Pass > t.Count {
		n.Errorf("pass", "%d trials can never pass out of %d", t.Pass, t.Count)
	}
}

// Need returns how many trials have to pass: Pass, or PassRate of Count rounded up, or else all.
func (t Trials) Need() int {
	count := max(t.Count, 1)
	switch {
	case t.Pass > 0:
		return t.Pass
	case t.PassRate > 0:
		// A rate of 0.28 of 25 trials is 7.000000000000001, and meant is 7.
		return max(1, int(math.Ceil(t.PassRate*float64(count)-1e-9)))
	default:
		return count
	}
}
