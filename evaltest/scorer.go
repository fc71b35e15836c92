package evaltest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

// Score is what a [Scorer] makes of an output.
type Score struct {
	// Value is in 0..1. Any other value, including NaN, is an error of the scorer.
	Value float64
	// Reason says in one line why it is not 1.
	Reason string
	// Details are the full text for people, of any number of lines; may be empty.
	Details string

	failed bool // whatever the value: a part has missed its threshold
}

// Scorer judges the output of a [Suite]'s task for a row. It is a value: its methods return a changed copy. Make one
// with [NewScorer] or, for agents, use a ready one: [ToolSequence], [ToolOrder], [ExcludedTools], [Completion].
type Scorer[In, Out, Want any] struct {
	scorer
	// judge may panic.
	judge func(context.Context, In, Out, Want) finding
}

// NewScorer returns a scorer that calls f. Name is the name of its subtest. If f returns an error or panics, that is an
// error and not a failure: nothing is known about the output.
func NewScorer[In, Out, Want any](
	name string, f func(ctx context.Context, input In, output Out, expected Want) (Score, error),
) Scorer[In, Out, Want] {
	s := Scorer[In, Out, Want]{scorer: scorer{name: name}}
	if f == nil {
		s.err = errors.New("it has no function")
	}
	s.judge = func(ctx context.Context, input In, output Out, expected Want) finding {
		score, err := f(ctx, input, output, expected)
		if err != nil {
			return unknown(err)
		}
		return finding{outcome: result.Pass, Score: score, final: score.failed}
	}
	return s
}

// Score returns the scorer's score of an output, for scorers that are made of others and for tests of scorers. The
// error says why there is none. A score that misses the scorer's own threshold remembers that, and fails when it is
// returned, whatever its Value is then; a new Score with its Value does not.
func (s Scorer[In, Out, Want]) Score(ctx context.Context, input In, output Out, expected Want) (Score, error) {
	if err := s.untyped().check(); err != nil {
		return Score{}, err
	}
	f := s.judge(ctx, input, output, expected).hold(s.least(0))
	if f.outcome == result.Error {
		return Score{}, errors.New(f.Reason)
	}
	f.failed = f.outcome == result.Fail
	return f.Score, nil
}

// Named returns the scorer under another name, for suites with two scorers of the same kind.
func (s Scorer[In, Out, Want]) Named(name string) Scorer[In, Out, Want] {
	s.name = name
	return s
}

// Threshold returns the scorer with its own lowest score that passes, above 0 and up to 1, in place of the suite's.
func (s Scorer[In, Out, Want]) Threshold(least float64) Scorer[In, Out, Want] {
	s.threshold = &least
	return s
}

// Weight returns the scorer with a weight, above 0, for [Weighted]; without one its weight is 1.
func (s Scorer[In, Out, Want]) Weight(weight float64) Scorer[In, Out, Want] {
	s.weight = &weight
	return s
}

// Optional returns the scorer as one that decides nothing: its score is shown, below its threshold too. An error of it
// is an error all the same.
func (s Scorer[In, Out, Want]) Optional() Scorer[In, Out, Want] {
	s.optional = true
	return s
}

// untyped returns the scorer for the run of a suite, whose rows have lost their types.
func (s Scorer[In, Out, Want]) untyped() scorer {
	if s.weight != nil {
		s.err = errors.Join(s.err, errors.New("it has a weight, which counts only inside Weighted"))
	}
	own := s.scorer
	if s.judge != nil {
		own.judge = func(ctx context.Context, c scored) finding {
			return s.judge(ctx, as[In](c.input), as[Out](c.output), as[Want](c.expected))
		}
	}
	return own
}

// Weighted returns a scorer whose score is the weighted mean of its parts' scores, see [Scorer.Weight]. A part with a
// threshold of its own has to reach that, whatever the mean. If a part ends in error, so does the whole.
func Weighted[In, Out, Want any](name string, parts ...Scorer[In, Out, Want]) Scorer[In, Out, Want] {
	s := Scorer[In, Out, Want]{scorer: scorer{name: name}}
	if len(parts) == 0 {
		s.err = errors.New("it has no parts")
	}
	for _, p := range parts {
		if w := p.weightOf(); !(w > 0) || math.IsInf(w, 1) {
			s.err = errors.Join(s.err, fmt.Errorf("the weight of %q must be above 0, not %v", p.name, w))
		}
		if p.optional {
			s.err = errors.Join(s.err, fmt.Errorf("%q is optional, which a part cannot be: leave it out", p.name))
		}
		part := p.scorer
		if p.judge != nil {
			part.judge = func(context.Context, scored) finding { return finding{} } // there is one
		}
		s.err = errors.Join(s.err, part.check())
	}
	s.judge = func(ctx context.Context, input In, output Out, expected Want) finding {
		all := finding{outcome: result.Pass}
		var sum, weight float64
		var lines []string
		for _, p := range parts {
			f := p.judge(ctx, input, output, expected).hold(p.least(0))
			if f.outcome == result.Error {
				f.Reason = p.name + ": " + f.Reason
				return f
			}
			sum, weight = sum+p.weightOf()*f.Value, weight+p.weightOf()
			all.final = all.final || f.outcome == result.Fail
			lines = append(lines, p.line(f))
		}
		all.Value, all.Details = min(sum/weight, 1), strings.Join(lines, "\n")
		return all
	}
	return s
}

// scorer is a [Scorer] without its types.
type scorer struct {
	name      string
	threshold *float64 // nil: the suite's
	weight    *float64 // nil: 1
	optional  bool
	judge     func(context.Context, scored) finding
	err       error // it is malformed
}

// scored is what a scorer looks at.
type scored struct {
	row                     *rowRun
	input, output, expected any
}

// check returns why the scorer cannot be used.
func (s scorer) check() error {
	if s.judge == nil && s.err == nil {
		return errors.New("a zero Scorer judges nothing: use NewScorer or a ready scorer")
	}
	err := s.err
	if err == nil && !idPattern.MatchString(s.name) {
		err = fmt.Errorf("its name must match %s", idPattern)
	}
	if err == nil && s.threshold != nil {
		err = checkThreshold(*s.threshold)
	}
	if err != nil {
		return fmt.Errorf("scorer %q: %w", s.name, err)
	}
	return nil
}

// checkThreshold refuses what nothing could reach, and what everything would: of no score NaN is less than it.
func checkThreshold(least float64) error {
	if !(least > 0 && least <= 1) {
		return fmt.Errorf("a threshold must be above 0 and at most 1, not %v", least)
	}
	return nil
}

// least returns the least score that passes.
func (s scorer) least(suite float64) float64 {
	if s.threshold != nil {
		return *s.threshold
	}
	return suite
}

func (s scorer) weightOf() float64 {
	if s.weight != nil {
		return *s.weight
	}
	return 1
}

// line shows what the scorer found as a part of another.
func (s scorer) line(f finding) string {
	var line strings.Builder
	score, least := result.FormatScore(f.Value), ""
	if s.threshold != nil {
		score, least = result.FormatScores(f.Value, *s.threshold)
	}
	fmt.Fprintf(&line, "%s: %s, weight %s", s.name, score, result.FormatScore(s.weightOf()))
	switch {
	case f.outcome == result.Fail && f.final:
		line.WriteString(", which fails whatever the score")
	case f.outcome == result.Fail:
		line.WriteString(", below its own threshold of " + least)
	}
	for _, text := range []string{f.Details, f.Reason} {
		if text != "" {
			line.WriteString("\n    " + strings.ReplaceAll(text, "\n", "\n    "))
		}
	}
	return line.String()
}

// finding is what a scorer found.
type finding struct {
	Score
	// outcome is pass if there is a score, which is yet to be held to the threshold.
	outcome result.Outcome
	// final says that it fails whatever its score.
	final bool
}

func unknown(err error) finding {
	return finding{outcome: result.Error, Score: Score{Reason: err.Error()}}
}

// hold holds a score to a threshold.
func (f finding) hold(least float64) finding {
	switch {
	case f.outcome != result.Pass:
	case !(f.Value >= 0 && f.Value <= 1):
		f.outcome = result.Error
		f.Reason = fmt.Sprintf("its score %v is not between 0 and 1", f.Value)
	case f.final || f.Value < least:
		f.outcome = result.Fail
	}
	return f
}

// as returns v, which is a T, or nil if T is an interface.
func as[T any](v any) T {
	t, _ := v.(T)
	return t
}
