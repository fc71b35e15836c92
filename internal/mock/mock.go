// Package mock is an MCP server that is played from a directory: each tool gives the answer that its file says. The
// format is that of the stand-ins of Claude Code's plugin evals. Package mcpproxy serves it; package mockdir reads it.
package mock

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// Server is a server that is played.
type Server struct {
	Name  string
	Tools map[string]Tool
	// Files are the texts that answers may hold, by the number of the answer's directory and the path in that.
	Files map[string]string
}

// Tool is a tool of a server.
type Tool struct {
	Description string
	InputSchema map[string]any

	Body   string
	Error  bool // the answer is an error
	Expect []Guard
	Dir    int // the number of its directory
}

// Guard is what a value of the arguments must be: one of some texts, of a type, or found by an expression.
type Guard struct {
	Path    string // with dots
	Shown   string
	OneOf   []string
	Type    string
	Matches string // an expression of Go's
	Most    int    // characters of the value that Matches looks at; more are refused
}

// Verdict is how a call was answered.
type Verdict string

// The verdicts, as Claude Code's own plugin evals name them.
const (
	OK       Verdict = "ok"
	Failed   Verdict = "tool_error"
	Refused  Verdict = "abort" // the arguments are not what the tool expects
	Unserved Verdict = "no_result"
)

// Reply is the answer to a call.
type Reply struct {
	Verdict Verdict
	Text    string
}

// Call answers a call of a tool with decoded arguments. It depends on nothing else.
func (s *Server) Call(name string, args any) Reply {
	args = floats(args)
	t, ok := s.Tools[name]
	if !ok {
		return Reply{Failed, fmt.Sprintf("no mock for %s/%s", s.Name, name)}
	}
	for _, g := range t.Expect {
		if err := g.check(args); err != nil {
			return Reply{Refused, fmt.Sprintf("the call was refused by the mock of %s/%s: input violates expect: %v",
				s.Name, name, err)}
		}
	}
	text, err := s.fill(t, args)
	switch {
	case err != nil:
		return Reply{Failed, err.Error()}
	case t.Error:
		return Reply{Failed, text}
	}
	return Reply{OK, text}
}

// maxReply is how many bytes an answer may have.
const maxReply = 8 << 20

var (
	places    = lazyregexp.New(`\{\{\s*(input\.[A-Za-z0-9_.-]+|file:(?:[^{}]|\{input\.[A-Za-z0-9_.-]+\})+?)\s*\}\}`)
	inputPart = lazyregexp.New(`\{input\.[A-Za-z0-9_.-]+\}`)
	plainName = lazyregexp.New(`^[A-Za-z0-9._-]+$`)
)

// HasFiles reports whether an answer may hold files.
func HasFiles(body string) bool { return strings.Contains(body, "file:") }

// fill writes what stands for {{input.PATH}} and {{file:PATH}} into the body of a tool.
func (s *Server) fill(t Tool, args any) (string, error) {
	var out strings.Builder
	rest := t.Body
	for {
		m := places.FindStringSubmatchIndex(rest)
		if m == nil {
			break
		}
		out.WriteString(rest[:m[0]])
		what := rest[m[2]:m[3]]
		rest = rest[m[1]:]
		text, err := "", error(nil)
		if field, ok := strings.CutPrefix(what, "input."); ok {
			if v, found := lookUp(args, field); found {
				text = written(v)
			}
		} else {
			text, err = s.file(t.Dir, strings.TrimSpace(strings.TrimPrefix(what, "file:")), args)
		}
		if err != nil {
			return "", err
		}
		out.WriteString(text)
		if out.Len() > maxReply {
			return "", fmt.Errorf("the mock's answer has more than %d bytes", maxReply)
		}
	}
	out.WriteString(rest)
	return out.String(), nil
}

// file returns a file of a directory, in whose name {input.PATH} stands for a part.
func (s *Server) file(dir int, name string, args any) (string, error) {
	var wrong error
	name = inputPart.ReplaceAllStringFunc(name, func(part string) string {
		v, found := lookUp(args, strings.TrimSuffix(strings.TrimPrefix(part, "{input."), "}"))
		word, scalar := Text(v)
		if wrong == nil && (!scalar || !plainName.MatchString(word) || word == "." || word == "..") {
			wrong = fmt.Errorf("%s = %s is not a plain file-name segment", part, shown(v, found))
		}
		return word
	})
	if wrong != nil {
		return "", wrong
	}
	clean := path.Clean(name)
	if path.IsAbs(clean) || clean == "." || clean == ".." || strings.HasPrefix(clean, "../") {
		return "", fmt.Errorf("{{file:%s}} names a path outside the mock's directory", name)
	}
	text, ok := s.Files[FileKey(dir, clean)]
	if !ok {
		return "", fmt.Errorf("{{file:%s}}: no such fixture", name)
	}
	return text, nil
}

// FileKey is the name of a file in [Server.Files].
func FileKey(dir int, name string) string { return fmt.Sprintf("%d/%s", dir, name) }

// lookUp returns the value at a path with dots.
func lookUp(v any, at string) (any, bool) {
	for part := range strings.SplitSeq(at, ".") {
		switch inner := v.(type) {
		case map[string]any:
			next, ok := inner[part]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i := 0
			for _, c := range part {
				if c < '0' || c > '9' || i > len(inner) {
					return nil, false
				}
				i = 10*i + int(c-'0')
			}
			if part == "" || i >= len(inner) {
				return nil, false
			}
			v = inner[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// written returns a value as it stands in answers.
func written(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	data, err := jsonvalue.Marshal(v)
	if err != nil {
		return jsonvalue.Compact(v)
	}
	return string(data)
}

// floats returns a decoded value with the numbers that JavaScript would have, so that they are written as there.
func floats(v any) any {
	switch v := v.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil {
			return f
		}
	case []any:
		all := make([]any, len(v))
		for i, item := range v {
			all[i] = floats(item)
		}
		return all
	case map[string]any:
		all := make(map[string]any, len(v))
		for key, item := range v {
			all[key] = floats(item)
		}
		return all
	}
	return v
}

// Text returns a scalar as text, as JavaScript writes it; false: it is none.
func Text(v any) (string, bool) {
	switch v.(type) {
	case nil, map[string]any, []any:
		return "", false
	}
	return written(floats(v)), true
}

func shown(v any, found bool) string {
	if !found {
		return "(missing)"
	}
	return excerpt.Line(jsonvalue.Compact(v), 80)
}

// Types are the types that a guard may name.
func Types() []string { return []string{"string", "number", "bool", "boolean", "object", "array"} }

func typeOf(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case bool:
		return "bool"
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case nil:
		return "missing"
	}
	return "number"
}

// check returns what is wrong with arguments.
func (g Guard) check(args any) error {
	v, found := lookUp(args, g.Path)
	said := shown(v, found)
	word, scalar := Text(v)
	switch {
	case g.Type != "":
		want := g.Type
		if want == "boolean" {
			want = "bool"
		}
		if typeOf(v) != want {
			return fmt.Errorf("%s = %s is not a %s", g.Path, said, want)
		}
	case g.Matches != "":
		if length := utf16Len(word); length > g.Most {
			return fmt.Errorf("%s is %d characters, more than this /regex/ guard checks (%d)", g.Path, length, g.Most)
		}
		expression, err := regexp.Compile(g.Matches)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", g.Path, g.Shown, err)
		}
		if !scalar || !expression.MatchString(word) {
			return fmt.Errorf("%s = %s does not match %s", g.Path, said, g.Shown)
		}
	case !scalar || !slices.Contains(g.OneOf, word):
		if len(g.OneOf) == 1 {
			return fmt.Errorf("%s = %s is not %q", g.Path, said, g.OneOf[0])
		}
		return fmt.Errorf("%s = %s is not one of [%s]", g.Path, said, strings.Join(g.OneOf, ", "))
	}
	return nil
}

// utf16Len is the length of a text as JavaScript counts it.
func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		if n++; r > 0xFFFF {
			n++
		}
	}
	return n
}
