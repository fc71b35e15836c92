package mockdir

import (
	"errors"
	"math"
	"strconv"

	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

const (
	maxSubject = 8192 // characters of a value that an expression looks at, if it is simple
	minSubject = 16
	budget     = 50_000_000 // steps that a matcher which tries again may take
)

var (
	repeat = lazyregexp.New(`^\{([0-9]+)(?:,([0-9]*))?\}`)

	errDialect = errors.New("has more than literals, ., escapes, classes and quantifiers of one of these: groups, | " +
		"and references are not known here")
	errQuantifier = errors.New("a quantifier must follow a single character, escape or class")
)

// pattern is what the work of matching a guard's expression depends on.
type pattern struct {
	loops    int     // quantifiers without an end
	ranges   float64 // in how many ways the others can be carried out
	atoms    float64
	anchored bool
}

// limit returns how many characters of a value an expression is shown, as Claude Code has it: so many that trying all
// ways to match takes a bounded time. A longer value is refused. An error says that the expression is none of a guard.
func limit(expression string) (int, error) {
	p := pattern{ranges: 1}
	rest := []rune(expression)
	atom, quantified := false, false
	for i := 0; i < len(rest); i++ {
		c := rest[i]
		lazy := c == '?' && quantified
		quantified = false
		switch {
		case c == '(' || c == ')' || c == '|', c == '^' && i > 0, c == '$' && i < len(rest)-1:
			return 0, errDialect
		case c == '^':
			p.anchored = true
			atom = false
			continue
		case c == '$' || lazy:
			continue
		}
		low, high, length := quantifier(rest[i:])
		switch {
		case length > 0 && high < low:
			return 0, errors.New("a quantifier's most is less than its least")
		case length > 0 && !atom:
			return 0, errQuantifier
		case length > 0:
			if math.IsInf(high, 1) {
				p.loops++
				p.atoms += low - 1
			} else {
				p.ranges *= high - low + 1
				p.atoms += high - 1
			}
			i += length - 1
			atom, quantified = false, true
		case c == '\\':
			if i++; i == len(rest) {
				return 0, errors.New("ends with a backslash")
			}
			if c = rest[i]; c >= '1' && c <= '9' || c == 'k' {
				return 0, errDialect
			}
			if atom = c != 'b' && c != 'B'; atom {
				p.atoms++
			}
		default:
			if c == '[' {
				for i++; i < len(rest) && rest[i] != ']'; i++ {
					if rest[i] == '\\' {
						i++
					}
				}
				if i >= len(rest) {
					return 0, errors.New("has a class without an end")
				}
			}
			atom = true
			p.atoms++
		}
	}
	if p.ranges > budget {
		return 0, errors.New("has too many quantifiers with a most")
	}
	most := 0
	for low, high := 0, maxSubject; low <= high; {
		if middle := (low + high) / 2; p.steps(float64(middle)) <= budget {
			most, low = middle, middle+1
		} else {
			high = middle - 1
		}
	}
	if most < minSubject {
		return 0, errors.New("has so many quantifiers that it could look at nothing")
	}
	return most, nil
}

// quantifier returns the quantifier that a text begins with: how often at least and at most, and its length, 0: none.
func quantifier(text []rune) (low, high float64, length int) {
	switch text[0] {
	case '*':
		return 0, math.Inf(1), 1
	case '+':
		return 1, math.Inf(1), 1
	case '?':
		return 0, 1, 1
	case '{':
		m := repeat.FindStringSubmatch(string(text[:min(len(text), 64)]))
		if m == nil {
			return 0, 0, 0
		}
		low, _ = strconv.ParseFloat(m[1], 64)
		switch {
		case m[2] != "":
			high, _ = strconv.ParseFloat(m[2], 64)
		case m[0] == "{"+m[1]+"}":
			high = low
		default:
			high = math.Inf(1)
		}
		return low, high, len(m[0])
	}
	return 0, 0, 0
}

// steps bounds the work of matching a text of a length.
func (p pattern) steps(length float64) float64 {
	ways := 1.0
	for i := 1.0; i <= float64(p.loops) && ways <= budget; i++ {
		ways *= (length + i) / i
	}
	if !p.anchored {
		ways *= max(1, length)
	}
	return ways * p.ranges * (length + p.atoms)
}
