package hook

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// Policy says which calls to deny and which to rewrite; the zero value does neither. It keeps an agent to the subject
// of a test. It is not a sandbox: it sees the path that a call names, not everything that the call reaches.
type Policy struct {
	// Deny are calls that are denied, whatever Allow says.
	Deny []Rule
	// Allow, if there are any, are the only calls that are not denied.
	Allow []Rule
	// Rewrite change the input of calls, in their order.
	Rewrite []Rewrite
}

// decision is what a policy says of a call.
type decision struct {
	denied string          // the reason, empty: it is not denied
	input  json.RawMessage // in place of the call's own, nil: that stays
}

func (p Policy) decide(c call) (decision, error) {
	for _, r := range p.Deny {
		if r.meets(c) {
			return decision{denied: c.about() + " is denied by the rule " + r.text}, nil
		}
	}
	if len(p.Allow) > 0 && !slices.ContainsFunc(p.Allow, func(r Rule) bool { return r.covers(c) }) {
		return decision{denied: c.about() + " is not allowed: the rules allow " + join(p.Allow)}, nil
	}
	return p.rewrite(c)
}

func join(rules []Rule) string {
	texts := make([]string, len(rules))
	for i, r := range rules {
		texts[i] = r.text
	}
	return strings.Join(texts, ", ")
}

// about names the call in a reason.
func (c call) about() string {
	if what := c.first("file_path", "notebook_path", "path", "command", "url", "query"); what != "" {
		return fmt.Sprintf("%s of %.200q", c.tool, what)
	}
	return c.tool
}

func (p Policy) rewrite(c call) (decision, error) {
	changed := false
	for _, r := range p.Rewrite {
		if !r.rule.meets(c) {
			continue
		}
		if c.input == nil {
			return decision{}, fmt.Errorf("rewrite %s: the input of the call is not an object", r.text)
		}
		if !changed {
			changed = true
			c.input = maps.Clone(c.input)
		}
		c.input[r.field] = r.value(c)
	}
	if !changed {
		return decision{}, nil
	}
	input, err := jsonvalue.Marshal(c.input)
	return decision{input: input}, err
}

// Rewrite puts a value into a field of the input of calls.
type Rewrite struct {
	text   string
	rule   Rule
	field  string
	filler string
}

// old stands for the field's old value in a new one.
const old = "{old}"

// ParseRewrite parses "RULE FIELD=VALUE". The value is JSON if it parses as JSON, otherwise a text, in which {old}
// stands for the text that the field had.
func ParseRewrite(text string) (Rewrite, error) {
	for at, c := range text {
		rule := text[:at]
		field, value, ok := strings.Cut(text[at:], "=")
		field = strings.TrimPrefix(field, " ")
		inPattern := strings.Contains(rule, "(") && !strings.HasSuffix(rule, ")")
		if c != ' ' || !ok || inPattern || field == "" || strings.ContainsAny(field, ` ()*{}"`) {
			continue
		}
		r, err := ParseRule(rule)
		return Rewrite{text: text, rule: r, field: field, filler: value}, err
	}
	return Rewrite{}, fmt.Errorf("%q: write RULE FIELD=VALUE, for example: Bash command=nice {old}", text)
}

// String returns the rewrite as it was written.
func (r Rewrite) String() string { return r.text }

// value returns what the field of the call becomes.
func (r Rewrite) value(c call) json.RawMessage {
	if json.Valid([]byte(r.filler)) {
		return json.RawMessage(r.filler)
	}
	var before string
	if raw := c.input[r.field]; json.Unmarshal(raw, &before) != nil {
		before = string(raw)
	}
	// No text fails to become JSON.
	data, _ := jsonvalue.Marshal(strings.ReplaceAll(r.filler, old, before))
	return data
}
