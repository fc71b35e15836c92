package plan

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// Lint has the findings of package lint that the author knows and accepts.
type Lint struct {
	Accept []Accept `yaml:"accept" min:"1" doc:"Findings that are accepted, each with the reason."`
}

// Accept is a finding that the author accepts. One that is not found is an error, since what it says is no longer true.
type Accept struct {
	// Rule is one of LintRules.
	Rule string `yaml:"rule,required" doc:"The rule that finds it."`
	// Where is what the finding gives in brackets after the rule, or a glob of it.
	Where string `yaml:"where,required" doc:"What the finding has in brackets after its rule; may be a glob."`
	Why   string `yaml:"why,required" doc:"Why it is right as it is."`

	Position doc.Position `yaml:",position"`
}

// LintRules are the ids of the rules of package lint.
var LintRules = []string{
	"answer-in-prompt", "answer-in-workspace", "answer-in-history", "judge-in-workspace", "judge-exposed", "canary",
	"writable-judge", "idle-passes",
}

func (a *Accept) decode(n *doc.Node) {
	if !n.Decode(a) {
		return
	}
	if !slices.Contains(LintRules, a.Rule) {
		n.Errorf("rule", "unknown rule %q%s; there are %s", a.Rule, doc.DidYouMean(a.Rule, LintRules),
			strings.Join(LintRules, ", "))
	}
	if !doublestar.ValidatePattern(a.Where) {
		n.Errorf("where", "malformed glob %q", a.Where)
	}
}
