package compare

import (
	"cmp"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/stats"
)

// Arm is one side of a comparison: what a variant came to in a run.
type Arm struct {
	// Name is how people call it, such as "20260302-101500-shop-k3v9qa:claude" or the name of a baseline.
	Name string `json:"name"`
	// Cases are in the order of the playbook. Their ids differ.
	Cases []Case `json:"cases"`
	// Calls returns what the agent called in a trial, from 1, of a case. It is nil where no sessions are kept.
	Calls func(caseID string, trial int) ([]string, error) `json:"-"`
	// Dir is the directory of its run, empty for one that is of a file.
	Dir string `json:"-"`
}

// Case is what a case came to in an arm.
type Case struct {
	// ID is playbook/case.
	ID string `json:"case"`
	// Cluster names cases that are alike, such as those about one repository. Empty: the case is by itself.
	Cluster string `json:"cluster,omitempty"`
	// Digests are of what the case is, whoever is asked: its prompts, its workspace, its evaluators, by these names.
	// Two cases are the same only if all are equal.
	Digests map[string]string `json:"digests,omitempty"`
	Trials  []Trial           `json:"trials"`
}

// Trial is how one trial of a case ended.
type Trial struct {
	Outcome result.Outcome `json:"outcome"`
	// Score is nil without one.
	Score *float64 `json:"score,omitempty"`
	// CostUSD, Tokens and Seconds are what the agent used, nil where it does not say so, and Seconds also where it did
	// not run.
	CostUSD *float64 `json:"cost_usd,omitempty"`
	Tokens  *float64 `json:"tokens,omitempty"`
	Seconds *float64 `json:"seconds,omitempty"`
	// Evaluators has the outcomes of the evaluators by their names.
	Evaluators map[string]result.Outcome `json:"evaluators,omitempty"`
	// Checks are those of the evaluators that passed or failed; none: each of those judged one thing.
	Checks []Check `json:"checks,omitempty"`
	// Activations are what is known of the use of skills and tools.
	Activations []result.Activation `json:"activations,omitempty"`
	// Session tells the agent's session from all others: the checksum of its recording, or its run and its unit.
	Session string `json:"session,omitempty"`
}

// known reports whether the trial says something about the agent. One that ended in an error, was skipped or did not
// run is missing; it is no failure.
func (t Trial) known() bool { return t.Outcome == result.Pass || t.Outcome == result.Fail }

// count returns how many of the trials that say something passed.
func (c Case) count() stats.Count {
	var n stats.Count
	for _, t := range c.Trials {
		if t.known() {
			n.Trials++
		}
		if t.Outcome == result.Pass {
			n.Passed++
		}
	}
	return n
}

// missing returns how many of the trials of cases say nothing, and how many there are.
func missing(cases []Case) stats.Count {
	var n stats.Count
	for _, c := range cases {
		n.Trials += len(c.Trials)
		n.Passed += len(c.Trials) - c.count().Trials
	}
	return n
}

// pair is one case in both arms.
type pair struct{ base, head Case }

func (p pair) counts() stats.Pair { return stats.Pair{Base: p.base.count(), Head: p.head.count()} }

// Incomparable is a case that cannot be compared.
type Incomparable struct {
	Case string `json:"case"`
	// Why names what differs, or the arm that does not have the case.
	Why []string `json:"why"`
}

// match returns the cases that are the same in both arms, in the order of the base, and the others.
func match(base, head Arm) (pairs []pair, others []Incomparable) {
	in := make(map[string]Case)
	for _, c := range head.Cases {
		in[c.ID] = c
	}
	for _, c := range base.Cases {
		other, ok := in[c.ID]
		if !ok {
			others = append(others, Incomparable{c.ID, []string{"it is not in the head"}})
			continue
		}
		delete(in, c.ID)
		if why := c.Differences(other); why != nil {
			others = append(others, Incomparable{c.ID, why})
			continue
		}
		pairs = append(pairs, pair{c, other})
	}
	for _, c := range head.Cases {
		if _, ok := in[c.ID]; ok {
			others = append(others, Incomparable{c.ID, []string{"it is not in the base"}})
		}
	}
	slices.SortStableFunc(others, func(a, b Incomparable) int { return cmp.Compare(a.Case, b.Case) })
	return pairs, others
}

// Differences names the digests of a case that differ in two arms, sorted.
func (a Case) Differences(b Case) []string {
	var names []string
	for name, digest := range a.Digests {
		if b.Digests[name] != digest {
			names = append(names, name)
		}
	}
	for name := range b.Digests {
		if _, ok := a.Digests[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// repeated returns the first case of which one session is there more than once, in one arm or in both, since its
// recording was replayed, or a run is compared with itself: that is one trial.
func repeated(pairs []pair) (id string, found bool) {
	for _, p := range pairs {
		seen := make(map[string]bool)
		for _, t := range slices.Concat(p.base.Trials, p.head.Trials) {
			if t.Session != "" && seen[t.Session] {
				return p.base.ID, true
			}
			seen[t.Session] = true
		}
	}
	return "", false
}
