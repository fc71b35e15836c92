package skill

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/expect"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// Check is one thing that is expected of an agent.
type Check struct {
	ID   string // 8 hexadecimal digits of Text
	Text string // what is expected, in words
	Type string // as it is declared, empty: it is not
	// By says what decides. For [Model] there is no rule.
	By   By
	Rule Rule
	// Synthetic: it is made from the expected_output of a case without checks.
	Synthetic bool
	Position  doc.Position
}

// By is what decides a check.
type By string

// What decides checks: a model, or code that looks at the agent's last message, at a file that it left (the evaluator
// `files`), or at its tool calls (`tool_trajectory`).
const (
	Model By = "model"
	Text  By = "text"
	File  By = "file"
	Calls By = "calls"
)

// Op is what a rule wants of its patterns.
type Op string

// What rules want: all patterns at least so often, none of them, each one after the one before, or calls of a tool.
const (
	Contains Op = "contains"
	Absent   Op = "absent"
	Ordered  Op = "ordered"
	Called   Op = "called"
)

// Rule is what code looks for.
type Rule struct {
	Op       Op
	Patterns []Pattern // of texts; for Called, the tool's name
	Min      int       // for Contains: how often, at least 1
	File     string    // of the workspace, for [File]
}

// Pattern is a text or, with Regexp, a regular expression whose ^ and $ are at lines.
type Pattern struct {
	Text   string
	Regexp *regexp.Regexp
}

// types are those of checks that code can decide.
var types = map[string]Op{
	"contains": Contains, "content_contains": Contains, "content_regex": Contains, "code_contains": Contains,
	"code_count": Contains, "absence": Absent, "content_not_contains": Absent, "ordered_content": Ordered,
	"tool_use": Called,
}

// forModels matches declared types that say that a model is to decide.
var forModels = lazyregexp.New(`^(validator|behavioral|behavior_.*)$`)

// maxCount is how often a text may have to be there.
const maxCount = 10_000

var checkKeys = []string{
	"text", "description", "check", "name", "value", "id", "type", "kind", "pattern", "patterns", "min_count",
	"file", "path",
}

// readChecks reads all checks of a case.
func (r *reader) readChecks(c *Case, n *doc.Node) {
	full := false
	add := func(at *doc.Node, check Check) {
		if len(c.Checks) == maxChecks {
			if !full {
				r.bad(at, c.ID, "there are more than %d checks", maxChecks)
			}
			full = true
			return
		}
		check.ID, check.Position = digest(check.Text), at.Position()
		for _, other := range c.Checks {
			if other.ID == check.ID {
				what := fmt.Sprintf("the check %q is there twice, first on line %d", check.Text, other.Position.Line)
				r.add(Error, "duplicate", check.Position, c.ID, what, "remove one, or say how they differ")
				return
			}
		}
		c.Checks = append(c.Checks, check)
	}
	before := len(r.Findings)
	for _, key := range []string{"expectations", "assertions"} {
		list := n.Get(key)
		if kind := list.Kind(); kind != doc.List && kind != doc.Null && kind != doc.Invalid {
			r.bad(list, c.ID, "must be a list of checks, not %s", kind)
		}
		for _, item := range list.Items() {
			switch {
			case item.Kind() == doc.String && strings.TrimSpace(item.Text()) != "":
				add(item, Check{Text: item.Text(), By: Model})
			case item.Kind() == doc.Map:
				if check, ok := r.object(item, c.ID); ok {
					add(item, check)
				}
			case item.Kind() != doc.Invalid:
				r.bad(item, c.ID, "a check must be a text or a mapping with a text")
			}
		}
	}
	for _, must := range []struct {
		key, text string
		op        Op
	}{{"must_have", "must have: ", Contains}, {"must_not_have", "must not have: ", Absent}} {
		for _, item := range r.texts(n.Get(must.key), c.ID) {
			rule := Rule{Op: must.op, Min: 1}
			if p, ok := r.expression(item, c.ID, must.op); ok {
				rule.Patterns = []Pattern{p}
			}
			add(item, Check{Text: must.text + item.Text(), By: Text, Rule: rule})
		}
	}
	for _, item := range r.texts(n.Get("expect"), c.ID) {
		add(item, Check{Text: item.Text(), By: Model})
	}
	for _, item := range r.texts(n.Get("fail"), c.ID) {
		add(item, Check{Text: "This must not be so: " + item.Text(), By: Model})
	}
	for _, item := range r.texts(n.Get("expected_behavior"), c.ID) {
		add(item, Check{Text: item.Text(), By: Model})
	}
	criteria := n.Get("evaluation_criteria")
	if kind := criteria.Kind(); kind != doc.Map && kind != doc.Null && kind != doc.Invalid {
		for _, item := range r.texts(criteria, c.ID) {
			add(item, Check{Text: item.Text(), By: Model})
		}
	}
	for _, e := range criteria.Entries() {
		if text := r.text(e.Value, c.ID); strings.TrimSpace(text) != "" {
			add(e.Value, Check{Text: e.Key + ": " + text, By: Model})
		}
	}
	if len(c.Checks) > 0 || len(r.Findings) > before {
		return
	}
	if strings.TrimSpace(c.Expected) == "" {
		r.bad(n, c.ID, "the case has no checks, and no expected_output to make one from")
		return
	}
	add(n.Get("expected_output"), Check{Text: c.Expected, By: Model, Synthetic: true})
}

// object reads a check that is a mapping.
func (r *reader) object(n *doc.Node, where string) (Check, bool) {
	r.unknown("check", n, checkKeys...)
	var check Check
	from := ""
	for _, key := range []string{"text", "description", "check", "name", "value"} {
		if v := n.Get(key); check.Text == "" && (v.Kind() == doc.String || v.Kind() == doc.Number) {
			check.Text, from = strings.TrimSpace(v.Text()), key
		}
	}
	if check.Text == "" {
		r.bad(n, where, "the check has no text: write it as text or description")
		return check, false
	}
	if check.Type = n.Get("type").Text(); check.Type == "" {
		check.Type = n.Get("kind").Text()
	}
	op, known := types[check.Type]
	if !known {
		if check.Type != "" && !forModels.MatchString(check.Type) {
			r.add(Note, "type", n.Position(), where, fmt.Sprintf("type %q is not known: a model judges the check%s",
				check.Type, doc.DidYouMean(check.Type, slices.Sorted(maps.Keys(types)))), "")
		}
		check.By = Model
		return check, true
	}
	rule, ok := r.rule(n, where, check.Type, op, from)
	if !ok {
		return check, true // it is found, and By is of no matter
	}
	switch {
	case rule.Patterns == nil:
		check.By = Model
		what := fmt.Sprintf("%q does not say what to look for: a model judges the check", check.Type)
		r.add(Note, "type", n.Position(), where, what, "write a text as value, or a regular expression as pattern")
	case op == Called:
		check.By, check.Rule = Calls, rule
	case rule.File != "":
		check.By, check.Rule = File, rule
	default:
		check.By, check.Rule = Text, rule
	}
	return check, true
}

var namesTool = lazyregexp.New(`^[\p{L}_*][^\s|,(){}\[\]]*$`)

// rule reads what a check of a type that code can decide looks for. Its text stands under the key from. No patterns: it
// does not say.
func (r *reader) rule(n *doc.Node, where, typ string, op Op, from string) (rule Rule, ok bool) {
	rule = Rule{Op: op, Min: 1}
	for _, key := range []string{"path", "file"} {
		if v := r.text(n.Get(key), where); v != "" {
			var err error
			if rule.File, err = expect.CleanPath(v); err != nil {
				r.bad(n.Get(key), where, "%v", err)
			}
		}
	}
	if least := n.Get("min_count"); least != nil {
		var err error
		if rule.Min, err = strconv.Atoi(least.Text()); err != nil || least.Kind() != doc.Number || rule.Min < 1 ||
			rule.Min > maxCount {
			r.bad(least, where, "must be a whole number from 1 to %d", maxCount)
			return rule, false
		}
	}
	var operand *doc.Node
	expression := typ == "content_regex"
	for _, key := range []string{"pattern", "patterns", "value", "check", "text", "name"} {
		v := n.Get(key)
		switch {
		case v == nil || v.Kind() == doc.Null, key == "text" && from == "text",
			key == "name" && (op != Called || from != "name"):
			continue
		}
		operand = v
		expression = expression || op != Ordered && op != Called && strings.HasPrefix(key, "pattern")
		break
	}
	before := len(r.Findings)
	for _, item := range r.texts(operand, where) {
		p := Pattern{Text: item.Text()}
		switch {
		case expression:
			if p, ok = r.expression(item, where, op); !ok {
				continue
			}
		case op == Called && !namesTool.MatchString(p.Text):
			r.bad(item, where, "%q is no name of a tool", p.Text)
		}
		rule.Patterns = append(rule.Patterns, p)
	}
	return rule, len(r.Findings) == before
}

// expression returns a regular expression; one that cannot be used is found.
func (r *reader) expression(n *doc.Node, where string, op Op) (Pattern, bool) {
	re, err := regexp.Compile("(?m)" + n.Text())
	_, always := expect.CompilePattern("(?m)" + n.Text())
	switch {
	case err != nil:
		what := fmt.Sprintf("%s: %q is no regular expression that RE2 knows: %s", n.Path(), n.Text(),
			strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		r.add(Error, "expression", n.Position(), where, what,
			"write it without lookaround, backreferences and possessive repetition, or as a check for a model")
	case always != nil, op == Contains && re.MatchString(""):
		what := fmt.Sprintf("%s: %q is found in every text", n.Path(), n.Text())
		r.add(Error, "expression", n.Position(), where, what, "write one that needs a character")
	default:
		return Pattern{n.Text(), re}, true
	}
	return Pattern{}, false
}
