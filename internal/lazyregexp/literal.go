package lazyregexp

import "regexp/syntax"

// Literal returns the longest text that is part of everything that an expression matches, as far as that is easily
// seen. It is empty if there is none, and for what is no expression.
func Literal(expr string) string {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return ""
	}
	return literal(re.Simplify())
}

func literal(re *syntax.Regexp) (longest string) {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return string(re.Rune)
		}
	case syntax.OpConcat, syntax.OpCapture, syntax.OpPlus:
		for _, sub := range re.Sub {
			if part := literal(sub); len(part) > len(longest) {
				longest = part
			}
		}
	}
	return longest
}
