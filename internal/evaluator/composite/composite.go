// Package composite is the evaluator kind composite: it combines the verdicts of other evaluators, its members. What
// combines trials or units does not belong here.
package composite

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/expect"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// rule is how the verdicts of members make one.
type rule int

const (
	mean  rule = iota // of their scores, by weight
	all               // all pass
	anyOf             // at least one passes
)

// composite implements [evaluator.Evaluator].
type composite struct {
	rule    rule
	members []member
}

type member struct {
	plan.Evaluator
	// required members must pass, whatever the mean.
	required bool
}

// Needs returns what any of the members needs.
func (c composite) Needs() evaluator.Needs {
	var needs evaluator.Needs
	for _, m := range c.members {
		needs |= m.Config.(evaluator.Evaluator).Needs()
	}
	return needs
}

// Agents returns those that any of the members asks.
func (c composite) Agents() []playbook.Agent {
	var all []playbook.Agent
	for _, m := range c.members {
		all = append(all, evaluator.Agents(m.Config.(evaluator.Evaluator))...)
	}
	return all
}

// Evaluate runs all members. If one ends in an error, so does the composite. If one is skipped, so is the composite,
// unless the others decide: the score of some is not the score of all.
func (c composite) Evaluate(ctx context.Context, in evaluator.Input) evaluator.Verdict {
	verdicts := make([]evaluator.Verdict, len(c.members))
	rows := make([]string, len(c.members))
	for i, m := range c.members {
		verdicts[i] = evaluator.Judge(ctx, m.Evaluator, in)
		rows[i] = c.row(m, verdicts[i])
	}
	v := c.combine(verdicts)
	v.Detail = strings.Join(rows, "\n")
	return v
}

// combine returns the verdict without its detail. Errors come first, then what decides whatever skipped members would
// have said, then the skipped members.
func (c composite) combine(verdicts []evaluator.Verdict) evaluator.Verdict {
	if broken := c.summarize(verdicts, func(_ member, v evaluator.Verdict) bool {
		return v.Outcome != result.Pass && v.Outcome != result.Fail && v.Outcome != result.Skip
	}); broken != "" {
		return evaluator.Verdict{Outcome: result.Error, Reason: broken}
	}
	if v, decided := c.decided(verdicts); decided {
		return v
	}
	if skipped := c.summarize(verdicts, func(m member, v evaluator.Verdict) bool {
		return v.Outcome == result.Skip && (m.Weight > 0 || m.required)
	}); skipped != "" {
		return evaluator.Verdict{Outcome: result.Skip, Reason: "skipped: " + skipped}
	}
	switch c.rule {
	case all:
		return scored(1, "")
	case anyOf:
		return scored(0, "none passed: "+c.summarize(verdicts, failed))
	default:
		return c.mean(verdicts)
	}
}

// decided returns the verdict if no skipped member could change it.
func (c composite) decided(verdicts []evaluator.Verdict) (v evaluator.Verdict, decided bool) {
	switch c.rule {
	case anyOf:
		decided = slices.ContainsFunc(verdicts, func(v evaluator.Verdict) bool { return v.Outcome == result.Pass })
		return scored(1, ""), decided
	case all:
		reason := c.summarize(verdicts, failed)
		return scored(0, reason), reason != ""
	default:
		reason := c.summarize(verdicts, func(m member, v evaluator.Verdict) bool { return m.required && failed(m, v) })
		return scored(0, "required: "+reason), reason != ""
	}
}

func failed(_ member, v evaluator.Verdict) bool { return v.Outcome == result.Fail }

// mean returns the mean by weight. Every member that has weight has a score.
func (c composite) mean(verdicts []evaluator.Verdict) evaluator.Verdict {
	var scores, weights []float64
	for i, v := range verdicts {
		if v.Score != nil {
			scores, weights = append(scores, *v.Score), append(weights, c.members[i].Weight)
		}
	}
	return scored(expect.Mean(scores, weights), c.summarize(verdicts, func(m member, v evaluator.Verdict) bool {
		return m.Weight > 0 && *v.Score < 1
	}))
}

func scored(score float64, reason string) evaluator.Verdict {
	v := evaluator.Verdict{Outcome: result.Pass, Score: &score, Reason: reason}
	if score < 1 {
		v.Outcome = result.Fail
	}
	return v
}

// summarize names the first of the selected members with its reason, and counts the others; empty if there is none.
func (c composite) summarize(verdicts []evaluator.Verdict, selected func(member, evaluator.Verdict) bool) string {
	reason, more := "", 0
	for i, v := range verdicts {
		switch m := c.members[i]; {
		case !selected(m, v):
		case reason == "":
			reason = m.Name + suffix(m, v)
		default:
			more++
		}
	}
	if more > 0 {
		reason += fmt.Sprintf(" (and %d more)", more)
	}
	return reason
}

// suffix returns the score and the reason of a member's verdict, to follow its name.
func suffix(m member, v evaluator.Verdict) string {
	var s string
	if v.Score != nil {
		score, _ := result.FormatScores(*v.Score, m.Threshold)
		s = " " + score
	}
	if v.Reason != "" {
		s += ": " + v.Reason
	}
	return s
}

var marks = map[result.Outcome]string{result.Pass: "✓", result.Fail: "✗", result.Skip: "-"}

// row shows a member with its verdict and, below it, its detail.
func (c composite) row(m member, v evaluator.Verdict) string {
	kind := m.Type
	if c.rule == mean {
		kind += ", weight " + strconv.FormatFloat(m.Weight, 'g', -1, 64)
	}
	if m.required {
		kind += ", required"
	}
	row := fmt.Sprintf("%s %s (%s) %s%s", cmp.Or(marks[v.Outcome], "!"), m.Name, kind, v.Outcome, suffix(m, v))
	if v.Detail != "" {
		row += "\n" + expect.Indent(v.Detail)
	}
	return row
}

// keys are the evaluator's own keys in a playbook: exactly one of them.
type keys struct {
	Members []plan.Evaluator `yaml:"members" min:"1" doc:"Evaluators whose scores make a mean by weight."`
	All     []plan.Evaluator `yaml:"all" min:"1" doc:"Evaluators that must all pass."`
	Any     []plan.Evaluator `yaml:"any" min:"1" doc:"Evaluators of which at least one must pass."`
}

// Kind returns the kind of evaluator. Its members may be of every kind that the playbook may use.
func Kind() plan.Kind { return plan.Kind{Decode: decode, Keys: keys{}} }

func decode(n *doc.Node) any {
	var k keys
	n.Decode(&k)
	forms := []struct {
		key     string
		members []plan.Evaluator
		rule    rule
	}{
		{"members", k.Members, mean},
		{"all", k.All, all},
		{"any", k.Any, anyOf},
	}
	var c composite
	given := 0
	for _, f := range forms {
		list := n.Get(f.key)
		if list == nil {
			continue
		}
		given++
		c = composite{rule: f.rule}
		unique(list, f.members)
		for i, item := range list.Items() {
			f.members[i].Advisory = false // a member that is not required counts in the mean
			c.members = append(c.members, member{f.members[i], f.rule == mean && item.Get("required").Value() == true})
			expect.Meaningless(item, "in a composite: write it beside `type: composite`", "min_agreement")
			if f.rule != mean {
				expect.Meaningless(item, "in `"+f.key+"`, only in `members`", "weight", "required")
			}
		}
		if f.rule == mean && len(c.members) > 0 {
			checkWeights(list, c.members)
		}
	}
	if given != 1 {
		n.Errorf("", "exactly one of `members`, `all` and `any` is required")
	}
	return c
}

// unique reports members that have the same name.
func unique(list *doc.Node, members []plan.Evaluator) {
	items := list.Items()
	seen := make(map[string]int)
	for i, m := range members {
		if line, twice := seen[m.Name]; twice && m.Name != "" {
			items[i].Errorf("name", "duplicate evaluator name %q, first on line %d: write a `name`", m.Name, line)
			continue
		}
		seen[m.Name] = m.Position.Line
	}
}

func checkWeights(list *doc.Node, members []member) {
	items := list.Items()
	weight := 0.0
	for i, m := range members {
		weight += m.Weight
		if items[i].Get("threshold") != nil && !m.required {
			items[i].Errorf("threshold", "has no effect without `required: true`: the threshold of the mean decides")
		}
	}
	if weight == 0 || math.IsInf(weight, 0) {
		list.Errorf("", "the weights must add up to more than 0 and be finite: use `all` if no score is wanted")
	}
}
