package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/toolname"
	"github.com/sdd-eval/sdd-eval/internal/wildcard"
)

// Policy says which calls to deny and which to rewrite; the zero value does neither. It restricts an agent to the
// subject of a test. It is not a sandbox: it sees the path that a call names, not everything that the call reaches.
type Policy struct {
	// Deny lists calls that are denied even if Allow lists them.
	Deny []Rule
	// Allow, if not empty, lists the only calls that are not denied.
	Allow []Rule
	// Rewrite lists changes of the input of calls, in order.
	Rewrite []Rewrite
}

// decision is what a policy decided about a call.
type decision struct {
	denied string          // the reason; empty: the call is not denied
	input  json.RawMessage // the new input; nil: the call keeps its own
}

func (p Policy) decide(c call) (decision, error) {
	for _, r := range p.Deny {
		if r.matchesAny(c) {
			return decision{denied: c.about() + " is denied by the rule " + r.text}, nil
		}
	}
	if len(p.Allow) > 0 && !slices.ContainsFunc(p.Allow, func(r Rule) bool { return r.matchesAll(c) }) {
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
		if !r.rule.matchesAny(c) {
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

// Rewrite sets a field of the input of calls.
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

// Rule selects calls by the name of the tool and, if it has one, a pattern.
type Rule struct {
	text    string
	tool    string // * stands for any characters
	pattern string // empty: none
}

// ParseRule parses TOOL or TOOL(PATTERN). In the tool's name * stands for any characters. The pattern matches the
// call's path, in the syntax of package doublestar and below the project unless absolute. For a tool without a path it
// matches the command, the URL or the query, where * stands for any characters.
func ParseRule(text string) (Rule, error) {
	r := Rule{text: text, tool: text}
	if tool, rest, ok := strings.Cut(text, "("); ok {
		pattern, closed := strings.CutSuffix(rest, ")")
		if !closed || pattern == "" {
			return Rule{}, fmt.Errorf("%q: write TOOL or TOOL(PATTERN)", text)
		}
		r.tool, r.pattern = tool, pattern
		if !doublestar.ValidatePattern(pattern) {
			return Rule{}, fmt.Errorf("%q: %w", text, doublestar.ErrBadPattern)
		}
	}
	if err := toolname.Check(r.tool); err != nil {
		return Rule{}, fmt.Errorf("%q: %w; write one rule for each tool", text, err)
	}
	return r, nil
}

// String returns the rule as it was written.
func (r Rule) String() string { return r.text }

// call is what rules see of a tool call.
type call struct {
	tool         string
	cwd, project string // absolute
	input        map[string]json.RawMessage
}

// newCall returns what rules see of a payload. An input that is not an object has no fields.
func newCall(p *payload, project string) call {
	c := call{tool: p.Tool, cwd: p.Cwd, project: project}
	if c.project == "" {
		c.project = p.Cwd
	}
	_ = json.Unmarshal(p.Input, &c.input)
	return c
}

// text returns a field of the input, empty if it is not a text.
func (c call) text(field string) string {
	var s string
	if json.Unmarshal(c.input[field], &s) != nil {
		return ""
	}
	return s
}

// first returns the first of these fields that is a text and not empty.
func (c call) first(fields ...string) string {
	for _, f := range fields {
		if s := c.text(f); s != "" {
			return s
		}
	}
	return ""
}

// path returns the absolute path that the call names, empty if it names none.
func (c call) path() string {
	p := c.first("file_path", "notebook_path", "path")
	searches := c.tool == "Glob" || c.tool == "Grep" || c.tool == "LS"
	if p == "" && !searches {
		return ""
	}
	if !filepath.IsAbs(p) {
		p = filepath.Join(c.cwd, p)
	}
	if c.tool == "Glob" { // its pattern may lead elsewhere
		base, _ := doublestar.SplitPattern(filepath.ToSlash(c.text("pattern")))
		if base = filepath.FromSlash(base); filepath.IsAbs(base) {
			p = base
		} else {
			p = filepath.Join(p, base)
		}
	}
	return filepath.Clean(p)
}

// matchesAny reports whether the rule matches the call by the path as it is written or by the path that links lead to.
func (r Rule) matchesAny(c call) bool {
	return r.matches(c, func(written, resolved bool) bool { return written || resolved })
}

// matchesAll reports whether the rule matches the call by both paths.
func (r Rule) matchesAll(c call) bool {
	return r.matches(c, func(written, resolved bool) bool { return written && resolved })
}

func (r Rule) matches(c call, join func(written, resolved bool) bool) bool {
	if !wildcard.Match(r.tool, c.tool) {
		return false
	}
	if r.pattern == "" {
		return true
	}
	if p := c.path(); p != "" {
		return join(r.matchesPath(p, c.project), r.matchesPath(resolve(p), resolve(c.project)))
	}
	text := c.first("command", "url", "query")
	return text != "" && wildcard.Match(r.pattern, text)
}

// matchesPath reports whether the pattern matches an absolute path. The pattern for a directory's content, dir/**, also
// matches the directory.
func (r Rule) matchesPath(p, project string) bool {
	pattern := path.Clean(filepath.ToSlash(r.pattern))
	if !path.IsAbs(pattern) && !filepath.IsAbs(r.pattern) {
		rel, err := filepath.Rel(project, p)
		if err != nil || !filepath.IsLocal(rel) && !strings.HasPrefix(pattern, "..") { // ** stands for .. too
			return false
		}
		p = rel
	}
	return doublestar.MatchUnvalidated(pattern, filepath.ToSlash(p))
}

// resolve follows links in the part of an absolute path that exists.
func resolve(p string) string {
	rest := ""
	for dir := p; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		} else if !errors.Is(err, os.ErrNotExist) || dir == filepath.Dir(dir) {
			return p
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}
