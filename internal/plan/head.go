package plan

import (
	"errors"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// HeadProblem says what is wrong with the head of a skill's file, on a line of it.
type HeadProblem struct {
	Line   int
	Reason string
}

// plainName finds the name in a head that is no YAML: agents that read lines find it, too.
var plainName = lazyregexp.New(`(?m)^name:[ \t]*["']?([^"'#\r\n]*[^"'#\s])`)

// NameAtHead returns the name at the head of a skill's file with this content, empty if it has none, and what is wrong
// with the head; nil: nothing.
func NameAtHead(file string, data []byte) (string, *HeadProblem) {
	text := strings.ReplaceAll(strings.TrimPrefix(string(data), "\uFEFF"), "\r\n", "\n")
	head, ok := strings.CutPrefix(text, "---\n")
	head, _, closed := strings.Cut(head, "\n---")
	if !ok || !closed {
		return "", &HeadProblem{1, "there is no front matter, which says when agents use the skill"}
	}
	d := doc.Parse(file, []byte("\n"+head)) // its lines are those of the file
	if problems, ok := errors.AsType[doc.Problems](d.Err()); ok {
		name := ""
		if m := plainName.FindStringSubmatch(head); m != nil {
			name = m[1]
		}
		return name, &HeadProblem{
			problems[0].Position.Line, "the front matter is not what every agent reads: " + problems[0].Reason,
		}
	}
	name := d.Root.Get("name").Text()
	if name == "" {
		return "", &HeadProblem{1, "the front matter has no name"}
	}
	return name, nil
}
