// Package expect has what several kinds of evaluators share: regular expressions and JSON paths, the files that the
// agent left, and a tally of which expectations hold. What only one kind needs belongs in that kind's package.
package expect

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// Tally is a list of expectations, each of which holds or does not. The zero value is empty.
type Tally struct {
	scores, weights []float64
	missed          int
	reason          string // the first expectation that does not hold
	lines           []string
}

// Hold adds an expectation that holds. What describes it in one line.
func (t *Tally) Hold(weight float64, what string) {
	t.scores, t.weights = append(t.scores, 1), append(t.weights, weight)
	t.lines = append(t.lines, "✓ "+what)
}

// Miss adds an expectation that does not hold. The first line of problem says why, the others show it.
func (t *Tally) Miss(weight float64, what, problem string) {
	t.scores, t.weights = append(t.scores, 0), append(t.weights, weight)
	summary, excerpt, _ := strings.Cut(problem, "\n")
	if t.missed == 0 {
		t.reason = what + ": " + summary
	}
	t.missed++
	t.lines = append(t.lines, "✗ "+what+": "+summary)
	if excerpt != "" {
		t.lines = append(t.lines, Indent(excerpt))
	}
}

// Verdict returns the verdict of the expectations. There is at least one, and at least one has weight.
func (t *Tally) Verdict() evaluator.Verdict {
	score := Mean(t.scores, t.weights)
	v := evaluator.Verdict{
		Outcome: result.Pass, Score: &score, Reason: t.reason, Detail: strings.Join(t.lines, "\n"),
	}
	if t.missed > 1 {
		v.Reason += fmt.Sprintf(" (and %d more)", t.missed-1)
	}
	if score < 1 {
		v.Outcome = result.Fail
	}
	return v
}

// Mean returns the mean of scores in 0..1 by weight. It is 1 only if every score that has weight is 1: rounding never
// makes a full score of a smaller one. The sum of the weights must be positive and finite.
func Mean(scores, weights []float64) float64 {
	var sum, weight float64
	full := true
	for i, s := range scores {
		sum += s * weights[i]
		weight += weights[i]
		full = full && (s == 1 || weights[i] == 0)
	}
	if full {
		return 1
	}
	return min(sum/weight, math.Nextafter(1, 0))
}

// Meaningless reports those of the keys that n has, since they mean nothing where it stands.
func Meaningless(n *doc.Node, where string, keys ...string) {
	for _, key := range keys {
		if n.Get(key) != nil {
			n.Errorf(key, "has no effect %s", where)
		}
	}
}

// Indent moves a text of one or more lines to the right.
func Indent(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }

var errAlways = errors.New("matches every text, even an empty one: write `.+` instead of `.*`, or the text to find")

// CompilePattern is [regexp.Compile], except that it refuses an expression that matches in every text. An expression
// that matches the empty text but not every text, such as ^\s*$, is allowed.
func CompilePattern(expr string) (*regexp.Regexp, error) {
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err == nil && (always(tree, atStart) || always(tree, atEnd)) {
		return nil, errAlways
	}
	return regexp.Compile(expr)
}

// A position in a text is represented by the assertions that hold there in every text.
var (
	atStart   = []syntax.Op{syntax.OpBeginText, syntax.OpBeginLine}
	atLineEnd = []syntax.Op{syntax.OpEndLine}
	atEnd     = []syntax.Op{syntax.OpEndText, syntax.OpEndLine}
)

// always reports whether re matches at this position of every text.
func always(re *syntax.Regexp, at []syntax.Op) bool {
	part := func(sub *syntax.Regexp) bool { return always(sub, at) }
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
		return alwaysInTurn(re.Sub, at)
	}
	return slices.Contains(at, re.Op)
}

// alwaysInTurn is always for parts that follow each other. A part that consumes the rest of a line or of the text
// moves the position there.
func alwaysInTurn(parts []*syntax.Regexp, at []syntax.Op) bool {
	for i, part := range parts {
		if part.Op == syntax.OpStar {
			each, rest := part.Sub[0], parts[i+1:]
			if isAny(each) && alwaysInTurn(rest, atEnd) ||
				each.Op == syntax.OpAnyCharNotNL && alwaysInTurn(rest, atLineEnd) {
				return true
			}
		}
		if !always(part, at) {
			return false
		}
	}
	return true
}

// isAny reports whether re is any one character, such as [\s\S].
func isAny(re *syntax.Regexp) bool {
	return re.Op == syntax.OpAnyChar || re.Op == syntax.OpCharClass && slices.Equal(re.Rune, []rune{0, unicode.MaxRune})
}
