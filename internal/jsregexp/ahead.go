package jsregexp

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// ahead is what a look ahead of one character allows to come next: one of some characters, or the end.
type ahead struct {
	allowed []rune // ranges, as in [syntax.Regexp]
	end     bool
}

// free is the state in which anything may come next.
const free = 0

const (
	maxStates = 8        // looks ahead, with their combinations
	maxAhead  = 16 << 10 // bytes of an expression, or a part of one, that is written for looks ahead
)

// errTooManyLooks says that the expression would become too large.
var errTooManyLooks = errors.New("too many looks ahead for a regular expression of Go's")

// aheads rewrites an expression with looks ahead of one character as one without. Each of its states is what may come
// next. The language of a part is, for a state before it and a state behind it, a regular expression: the looks ahead
// are carried to the character that they are about.
type aheads struct {
	looks  []ahead // by the numbers in the names of groups
	states []ahead // that of free is not used
}

// language is what a part finds from one state, by the state behind it.
type language map[int]string

// aheadGroup begins the name of the empty group that stands for a look ahead.
const aheadGroup = "ahead"

// lookAhead returns what a look ahead is about, written as a regular expression of Go's; ok is false if that is more
// than a character.
func lookAhead(inner string, negative bool) (a ahead, ok bool) {
	re, err := syntax.Parse(inner, syntax.Perl)
	if err != nil {
		return ahead{}, false
	}
	for re.Op == syntax.OpCapture {
		re = re.Sub[0]
	}
	set, ok := oneOf(re)
	if !ok {
		return ahead{}, false
	}
	if negative {
		set = complement(set)
	}
	return ahead{allowed: set, end: negative}, true
}

// oneOf returns the characters of an expression that finds exactly one.
func oneOf(re *syntax.Regexp) (ranges []rune, ok bool) {
	switch re.Op {
	case syntax.OpLiteral:
		if len(re.Rune) != 1 {
			return nil, false
		}
		return folded(re.Rune[0], re.Flags&syntax.FoldCase != 0), true
	case syntax.OpCharClass:
		return re.Rune, true
	case syntax.OpAnyChar:
		return []rune{0, unicode.MaxRune}, true
	case syntax.OpAnyCharNotNL:
		return []rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune}, true
	}
	return nil, false
}

// folded returns a character, with those that differ from it in case alone if asked for.
func folded(r rune, fold bool) []rune {
	all := []rune{r}
	for f := unicode.SimpleFold(r); fold && f != r; f = unicode.SimpleFold(f) {
		all = append(all, f)
	}
	slices.Sort(all)
	var ranges []rune
	for _, c := range all {
		ranges = append(ranges, c, c)
	}
	return ranges
}

func complement(ranges []rune) []rune {
	var out []rune
	next := rune(0)
	for i := 0; i < len(ranges); i += 2 {
		if ranges[i] > next {
			out = append(out, next, ranges[i]-1)
		}
		next = max(next, ranges[i+1]+1)
	}
	if next <= unicode.MaxRune {
		out = append(out, next, unicode.MaxRune)
	}
	return out
}

func intersect(a, b []rune) []rune {
	var out []rune
	for i, j := 0, 0; i < len(a) && j < len(b); {
		if low, high := max(a[i], b[j]), min(a[i+1], b[j+1]); low <= high {
			out = append(out, low, high)
		}
		if a[i+1] < b[j+1] {
			i += 2
		} else {
			j += 2
		}
	}
	return out
}

// class writes characters; empty: there are none.
func class(ranges []rune) string {
	if len(ranges) == 0 {
		return ""
	}
	var b strings.Builder
	for i := 0; i < len(ranges); i += 2 {
		fmt.Fprintf(&b, `\x{%x}-\x{%x}`, ranges[i], ranges[i+1])
	}
	return "[" + b.String() + "]"
}

// rewrite returns an expression that finds something where the given one does.
func (x *aheads) rewrite(expression string) (string, error) {
	re, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return "", err
	}
	x.states = []ahead{{}}
	l, err := x.from(re, free)
	if err != nil {
		return "", err
	}
	for state, text := range l {
		if state == free {
			continue
		}
		delete(l, state)
		next := class(x.states[state].allowed)
		if x.states[state].end {
			next = either(next, `\z`)
		}
		l.add(free, join(text, next))
	}
	if len(l[free]) > maxAhead {
		return "", errTooManyLooks
	}
	return cmp.Or(l[free], `[^\x00-\x{10ffff}]`), nil
}

// add adds what is found on a way to a state; text may find nothing at all, which is empty.
func (l language) add(state int, text string) {
	if text == "" {
		return
	}
	l[state] = either(l[state], text)
}

// nothing is written for the empty text, since "" stands for what is never found.
const nothing = "(?:)"

func either(a, b string) string {
	switch {
	case a == "" || a == b:
		return b
	case b == "":
		return a
	}
	return "(?:" + a + "|" + b + ")"
}

func join(a, b string) string {
	switch {
	case a == "" || b == "":
		return ""
	case a == nothing:
		return b
	case b == nothing:
		return a
	}
	return a + b
}

func star(a string) string {
	if a == "" || a == nothing {
		return nothing
	}
	return "(?:" + a + ")*"
}

// state returns the number of what two looks ahead allow together.
func (x *aheads) state(a, b ahead) (int, error) {
	both := ahead{intersect(a.allowed, b.allowed), a.end && b.end}
	for i, s := range x.states[1:] {
		if s.end == both.end && slices.Equal(s.allowed, both.allowed) {
			return i + 1, nil
		}
	}
	if len(x.states) == maxStates {
		return 0, errTooManyLooks
	}
	x.states = append(x.states, both)
	return len(x.states) - 1, nil
}

// from returns what a part finds from a state.
func (x *aheads) from(re *syntax.Regexp, state int) (language, error) {
	if state == free && !looks(re) {
		return language{free: "(?:" + re.String() + ")"}, nil
	}
	switch re.Op {
	case syntax.OpNoMatch:
		return language{}, nil
	case syntax.OpCapture:
		number, ok := strings.CutPrefix(re.Name, aheadGroup)
		if !ok {
			return x.from(re.Sub[0], state)
		}
		i, _ := strconv.Atoi(number) // which this package has written
		before := ahead{[]rune{0, unicode.MaxRune}, true}
		if state != free {
			before = x.states[state]
		}
		next, err := x.state(before, x.looks[i])
		return language{next: nothing}, err
	case syntax.OpLiteral:
		first, _ := oneOf(&syntax.Regexp{Op: syntax.OpLiteral, Rune: re.Rune[:1], Flags: re.Flags})
		text := class(intersect(first, x.states[state].allowed))
		if len(re.Rune) > 1 {
			rest := &syntax.Regexp{Op: syntax.OpLiteral, Rune: re.Rune[1:], Flags: re.Flags}
			text = join(text, "(?:"+rest.String()+")")
		}
		l := language{}
		l.add(free, text)
		return l, nil
	case syntax.OpConcat:
		return x.inOrder(re.Sub, state)
	case syntax.OpAlternate:
		l := language{}
		for _, sub := range re.Sub {
			one, err := x.from(sub, state)
			if err != nil {
				return nil, err
			}
			for to, text := range one {
				l.add(to, text)
			}
		}
		return l, nil
	case syntax.OpStar:
		return x.repeated(re.Sub[0], state)
	case syntax.OpPlus:
		again := &syntax.Regexp{Op: syntax.OpStar, Sub: re.Sub, Flags: re.Flags}
		return x.inOrder([]*syntax.Regexp{re.Sub[0], again}, state)
	case syntax.OpQuest:
		l, err := x.from(re.Sub[0], state)
		if err == nil {
			l.add(state, nothing)
		}
		return l, err
	case syntax.OpRepeat:
		return x.from(re.Simplify(), state)
	}
	if set, ok := oneOf(re); ok {
		l := language{}
		l.add(free, class(intersect(set, x.states[state].allowed)))
		return l, nil
	}
	return language{state: "(?:" + re.String() + ")"}, nil // it takes no character
}

// looks reports whether an expression has a look ahead.
func looks(re *syntax.Regexp) bool {
	return re.Op == syntax.OpCapture && strings.HasPrefix(re.Name, aheadGroup) || slices.ContainsFunc(re.Sub, looks)
}

// inOrder is from for parts that follow each other.
func (x *aheads) inOrder(parts []*syntax.Regexp, state int) (language, error) {
	l := language{state: nothing}
	for _, part := range parts {
		next := language{}
		for _, mid := range slices.Sorted(maps.Keys(l)) {
			one, err := x.from(part, mid)
			if err != nil {
				return nil, err
			}
			for to, text := range one {
				if next.add(to, join(l[mid], text)); len(next[to]) > maxAhead {
					return nil, errTooManyLooks
				}
			}
		}
		l = next
	}
	return l, nil
}

// repeated is from for any number of a part, by Kleene's algorithm.
func (x *aheads) repeated(part *syntax.Regexp, state int) (language, error) {
	var way [maxStates][maxStates]string
	known := make([]bool, maxStates)
	reached := []int{state}
	for i := 0; i < len(reached); i++ {
		at := reached[i]
		if known[at] {
			continue
		}
		known[at] = true
		l, err := x.from(part, at)
		if err != nil {
			return nil, err
		}
		for to, text := range l {
			way[at][to] = text
			reached = append(reached, to)
		}
	}
	for k := range x.states {
		var next [maxStates][maxStates]string
		for i := range x.states {
			for j := range x.states {
				next[i][j] = either(way[i][j], join(join(way[i][k], star(way[k][k])), way[k][j]))
				if len(next[i][j]) > maxAhead {
					return nil, errTooManyLooks
				}
			}
		}
		way = next
	}
	l := language{}
	for to := range x.states {
		l.add(to, way[state][to])
	}
	l.add(state, nothing)
	return l, nil
}
