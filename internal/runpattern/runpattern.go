// Package runpattern reads the patterns that go test's -run and -skip take, for names with levels.
package runpattern

import (
	"fmt"
	"regexp"
	"strings"
)

// Pattern is one alternative of such a pattern: an expression for each level of a name.
type Pattern []*regexp.Regexp

// Parse takes a pattern apart: at | into alternatives, and these at / into levels, but not within brackets or
// parentheses.
func Parse(text string) ([]Pattern, error) {
	var all []Pattern
	var levels Pattern
	var wrong error
	brackets, parens, start := 0, 0, 0
	level := func(end int) {
		// Package testing writes names so, and takes patterns as if they were names.
		expression, err := regexp.Compile(strings.ReplaceAll(text[start:end], " ", "_"))
		if err != nil && wrong == nil {
			wrong = fmt.Errorf("level %d: %w", len(levels)+1, err)
		}
		levels = append(levels, expression)
		start = end + 1
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '[':
			brackets++
		case c == ']':
			brackets = max(brackets-1, 0)
		case brackets > 0:
		case c == '(':
			parens++
		case c == ')':
			parens--
		case parens != 0:
		case c == '/':
			level(i)
		case c == '|':
			level(i)
			all, levels = append(all, levels), nil
		}
	}
	level(len(text))
	if wrong != nil {
		return nil, wrong
	}
	return append(all, levels), nil
}

// Matches reports whether a name, by its levels, can be one that the pattern means, or one above it; whole that it is
// one which it means.
func (p Pattern) Matches(levels []string) (ok, whole bool) {
	for i, level := range levels[:min(len(levels), len(p))] {
		if !p[i].MatchString(level) {
			return false, false
		}
	}
	return true, len(levels) >= len(p)
}
