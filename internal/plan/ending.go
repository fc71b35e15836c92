package plan

import (
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// Stop is a reason for which a session may be expected to end, one of [result.Stops].
type Stop string

func (s *Stop) decode(n *doc.Node) {
	all := result.Stops()
	if n.Decode((*string)(s)) && !slices.Contains(all, string(*s)) {
		n.Errorf("", "must be one of %s, not %q%s", strings.Join(all, ", "), *s, doc.DidYouMean(string(*s), all))
	}
}

// placeEnds notes where the playbook and its variants say how sessions should end.
func (p *Playbook) placeEnds(root *doc.Node) {
	p.ExpectedAt = root.Get("expect_stop").Position()
	for i, v := range p.Variants {
		p.Variants[i].ExpectedAt = root.Get("variants").Get(v.ID).Get("expect_stop").Position()
	}
}

// endOf returns the reasons for which the sessions of a case with a variant should end, and where that stands.
func (p *Playbook) endOf(c Case, v Variant) (expected []string, at doc.Position) {
	stops, at := p.ExpectStop, p.ExpectedAt
	switch {
	case len(c.ExpectStop) > 0:
		stops, at = c.ExpectStop, c.ExpectedAt
	case len(v.ExpectStop) > 0:
		stops, at = v.ExpectStop, v.ExpectedAt
	}
	for _, s := range stops {
		expected = append(expected, string(s))
	}
	return expected, at
}

// MustSend returns how many prompts must be sent before the session may end. The prompts of a loop are one piece of
// work: if the last step that prompts is a loop, the session may end at any of them.
func (u Unit) MustSend() int {
	n := len(u.Prompts())
	for _, s := range slices.Backward(u.Steps) {
		if !s.Prompts() {
			continue
		}
		if action.Of(s.Uses).Loops {
			n -= len(u.PromptsOf(s)) - 1
		}
		break
	}
	return n
}

// ends checks that sessions can end as is expected.
func (c checker) ends() {
	c.stops(c.root.Get("expect_stop"))
	for _, item := range c.cases.Items() {
		c.stops(item.Get("expect_stop"))
	}
	for _, v := range c.p.Variants {
		c.stops(c.root.Get("variants").Get(v.ID).Get("expect_stop"))
	}
}

func (c checker) stops(list *doc.Node) {
	given := map[string]bool{
		result.StopToolCalls: c.p.Limits.MaxToolCalls > 0, result.StopTokenLimit: c.p.Limits.MaxTokens > 0,
		result.StopCostLimit: c.p.Limits.MaxCostUSD > 0, result.StopDecided: c.p.Limits.Until != "",
	}
	var seen []string
	for _, item := range list.Items() {
		stop := item.Text()
		if set, limit := given[stop]; limit && !set {
			item.Errorf("", "no session ends with %s: the playbook has no `%s`", stop, result.LimitKey(stop))
		}
		if slices.Contains(seen, stop) {
			item.Errorf("", "duplicate %q", stop)
		}
		seen = append(seen, stop)
	}
	if slices.Equal(seen, []string{result.Unsent}) {
		list.Errorf("", "%s says at which prompt a session may end: name the reason beside it", result.Unsent)
	}
}
