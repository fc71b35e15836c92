package evaltest

import (
	"flag"
	"regexp"
	"strings"
)

// selection tells which subtests go test's -run and -skip leave, before package testing is asked: units begin before
// their subtests do. See `go help testflag`.
type selection struct{ run, skip []pattern }

// pattern is one alternative of such a flag: an expression for each level of a test's name.
type pattern []*regexp.Regexp

// newSelection reads the flags of the test process, which package testing has checked.
func newSelection() selection {
	return selection{run: patternsOf("test.run"), skip: patternsOf("test.skip")}
}

func patternsOf(name string) []pattern {
	f := flag.Lookup(name)
	if f == nil || f.Value.String() == "" {
		return nil
	}
	return parsePatterns(f.Value.String())
}

// parsePatterns takes the value of a flag apart: at | into alternatives, and these at / into levels, but not within
// brackets or parentheses.
func parsePatterns(text string) []pattern {
	var all []pattern
	var levels pattern
	brackets, parens, start := 0, 0, 0
	level := func(end int) {
		// Package testing writes names so, and takes patterns as if they were names.
		expression := strings.Map(func(r rune) rune {
			if r == ' ' {
				return '_'
			}
			return r
		}, text[start:end])
		levels = append(levels, regexp.MustCompile(expression))
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
	return append(all, levels)
}

// matches reports whether a name, by its levels, can be that of a test which the pattern means, or of one above it; whole
// that it is one which it means.
func (p pattern) matches(levels []string) (ok, whole bool) {
	for i, level := range levels[:min(len(levels), len(p))] {
		if !p[i].MatchString(level) {
			return false, false
		}
	}
	return true, len(levels) >= len(p)
}

// has reports whether the test of that name, or one below it, is run.
func (s selection) has(name string) bool {
	levels := strings.Split(name, "/")
	for _, p := range s.skip {
		if ok, whole := p.matches(levels); ok {
			if whole {
				return false
			}
			break // package testing looks no further
		}
	}
	for _, p := range s.run {
		if ok, _ := p.matches(levels); ok {
			return true
		}
	}
	return len(s.run) == 0
}
