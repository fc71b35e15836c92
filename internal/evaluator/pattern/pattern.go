// Package pattern compiles the regular expressions of expectations, and refuses those that expect nothing.
package pattern

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode"
)

var errAlways = errors.New("matches every text, also an empty one, so it expects nothing: write `.+` instead of `.*`, or what has to be there")

// Compile is [regexp.Compile], except that an expression which matches in every text is an error. One that matches the
// empty text among others, such as ^\s*$, is none.
func Compile(expr string) (*regexp.Regexp, error) {
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err == nil && (always(tree, atStart) || always(tree, atEnd)) {
		return nil, errAlways
	}
	return regexp.Compile(expr)
}

// A place in a text is told by the assertions that hold there, whatever the text is.
var (
	atStart   = []syntax.Op{syntax.OpBeginText, syntax.OpBeginLine}
	atLineEnd = []syntax.Op{syntax.OpEndLine}
	atEnd     = []syntax.Op{syntax.OpEndText, syntax.OpEndLine}
)

// always reports whether re matches from a place on in every text.
func always(re *syntax.Regexp, place []syntax.Op) bool {
	part := func(sub *syntax.Regexp) bool { return always(sub, place) }
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpStar, syntax.OpQuest:
		return true
	case syntax.OpCapture, syntax.OpPlus:
		return part(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min == 0 || part(re.Sub[0])
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, part)
	case syntax.OpConcat:
		return alwaysInTurn(re.Sub, place)
	}
	return slices.Contains(place, re.Op)
}

// alwaysInTurn is always for parts that follow each other. A part that takes all that there is leads to another place.
func alwaysInTurn(parts []*syntax.Regexp, place []syntax.Op) bool {
	for i, part := range parts {
		if part.Op == syntax.OpStar {
			each, rest := part.Sub[0], parts[i+1:]
			if isAny(each) && alwaysInTurn(rest, atEnd) || each.Op == syntax.OpAnyCharNotNL && alwaysInTurn(rest, atLineEnd) {
				return true
			}
		}
		if !always(part, place) {
			return false
		}
	}
	return true
}

// isAny reports whether re is any one character, such as [\s\S].
func isAny(re *syntax.Regexp) bool {
	return re.Op == syntax.OpAnyChar || re.Op == syntax.OpCharClass && slices.Equal(re.Rune, []rune{0, unicode.MaxRune})
}
