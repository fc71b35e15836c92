package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sdd-eval/sdd-eval/internal/wildcard"
)

// Rule says which calls are meant: by the name of the tool and, if it has one, a pattern.
type Rule struct {
	text    string
	tool    string // with * and the like, as package path has them
	pattern string // empty: none
}

// ParseRule parses TOOL or TOOL(PATTERN). In the tool's name * stands for any characters. The pattern is for the call's path,
// as package doublestar has them and below the project unless absolute; of a tool that takes none it is for the command, the URL
// or the query, where * stands for any characters.
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
	if _, err := path.Match(r.tool, ""); err != nil {
		return Rule{}, fmt.Errorf("%q: %w", text, err)
	}
	if r.tool == "" || strings.ContainsAny(r.tool, " \t\n,()|") {
		return Rule{}, fmt.Errorf("%q: %q is not the name of a tool; for several tools give several rules", text, r.tool)
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

// newCall returns what rules see. An input that is no object has no fields.
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

// first returns the first of these fields that is there.
func (c call) first(fields ...string) string {
	for _, f := range fields {
		if s := c.text(f); s != "" {
			return s
		}
	}
	return ""
}

// path returns the absolute path that the call is about, empty if it is about none.
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

// meets reports whether the rule is about the call in any way that counts: by the path as it is written, or by that which
// links lead it to.
func (r Rule) meets(c call) bool {
	return r.holds(c, func(written, resolved bool) bool { return written || resolved })
}

// covers reports whether the rule is about the call in all ways.
func (r Rule) covers(c call) bool {
	return r.holds(c, func(written, resolved bool) bool { return written && resolved })
}

func (r Rule) holds(c call, join func(written, resolved bool) bool) bool {
	if ok, _ := path.Match(r.tool, c.tool); !ok {
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

// matchesPath reports whether an absolute path is as the pattern has it. The pattern of a directory's content, dir/**, is that of
// the directory, too.
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

// resolve follows links in as much of an absolute path as there is.
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
