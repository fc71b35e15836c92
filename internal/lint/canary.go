package lint

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// canaryLine matches a line with a canary: a token that begins with the word, or the word and behind it a GUID or a
// token of 16 letters and digits or more.
var canaryLine = lazyregexp.New(`(?i)\b(canary[-_][\w-]{8,})\b|\bcanary\b.*?[\s"'\x60:=(]` +
	`([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[\w-]{16,})\b`)

// mark is a canary and where it stands.
type mark struct {
	text string
	by   string // its file and line
}

// marks returns the canaries of the judges' files, the playbook among them.
func (s *suite) marks() (all []mark) {
	seen := make(map[string]bool)
	for _, j := range s.judges {
		number := 0
		for line := range strings.Lines(string(j.data)) {
			number++
			m := canaryLine.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			text := m[1] + m[2]
			if !seen[text] && strings.ContainsAny(text, "0123456789") && !s.onlyGiven(j, text) {
				seen[text] = true
				all = append(all, mark{text, fmt.Sprintf("%s:%d", s.shownPath(j.path), number)})
			}
		}
	}
	return all
}

// onlyGiven reports whether a text stands in the playbook only where it is given to the agent.
func (s *suite) onlyGiven(j judgeFile, text string) bool {
	if j.what != thePlaybook {
		return false
	}
	given := 0
	for _, c := range s.cases {
		for _, n := range c.prompts {
			given += strings.Count(n.Text(), text)
		}
		for _, f := range c.files {
			given += bytes.Count(f.data, []byte(text))
		}
	}
	return given >= bytes.Count(j.data, []byte(text))
}

// canary finds canaries of the judges in what the agent gets.
func canary(_ context.Context, s *suite, found func(Finding)) error {
	marks := s.marks()
	for i := range s.cases {
		c := &s.cases[i]
		for _, m := range marks {
			for _, n := range c.prompts {
				if at := bytes.Index([]byte(n.Text()), []byte(m.text)); at >= 0 {
					found(Finding{
						Position: s.positionIn(n, at), Where: c.ID,
						What: fmt.Sprintf("the prompt has the canary %s of %s", quote(m.text), m.by),
					})
				}
			}
			for _, f := range s.startsWith(c) {
				at := bytes.Index(f.data, []byte(m.text))
				if at < 0 || s.isJudge(f) != nil {
					continue
				}
				p := f.at
				if f.source != "" {
					p.Line = lineOf(f.data, at)
				}
				found(Finding{
					Position: p, Where: f.path,
					What: fmt.Sprintf("the agent can read the canary %s of %s", quote(m.text), m.by),
				})
			}
		}
	}
	return nil
}
