package evaltest

import (
	"context"
	"errors"
	"fmt"
	"reflect"

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
}

// Scorer judges the output of a [Suite]'s task for a row. It is a value: its methods return a changed copy. Make one
// with [NewScorer], or use a ready one: [ToolSequence], [ToolOrder], [ExcludedTools], [Completion], [Weighted],
// [LLMJudge].
type Scorer struct {
	name      string
	threshold *float64 // nil: the suite's
	// judge may panic.
	judge func(context.Context, scored) finding
	// takes returns why the scorer cannot judge what a suite of these types has.
	takes func(types) error
	// models tells that it asks models.
	models bool
	err    error // it is malformed
}

// NewScorer returns a scorer that calls f. Name is the name of its subtest. Its types have to be those of the suite, or
// interfaces that they implement. If f returns an error or panics, that is an error and not a failure: nothing is known
// about the output.
func NewScorer[In, Out, Want any](name string, f func(ctx context.Context, input In, output Out, expected Want) (Score, error)) Scorer {
	s := Scorer{
		name: name,
		judge: func(ctx context.Context, c scored) finding {
			score, err := f(ctx, as[In](c.input), as[Out](c.output), as[Want](c.expected))
			if err != nil {
				return unknown(err)
			}
			return finding{outcome: result.Pass, Score: score}
		},
		takes: func(t types) error {
			return errors.Join(assignable[In]("input", t.input), assignable[Out]("output", t.output), assignable[Want]("expected", t.expected))
		},
	}
	if f == nil {
		s.err = errors.New("it has no function")
	}
	return s
}

// Named returns the scorer under another name, for suites with two scorers of the same kind.
func (s Scorer) Named(name string) Scorer {
	s.name = name
	return s
}

// Threshold returns the scorer with its own lowest score that passes, above 0 and up to 1, in place of the suite's.
func (s Scorer) Threshold(least float64) Scorer {
	s.threshold = &least
	return s
}

// types are those of a suite.
type types struct{ input, output, expected reflect.Type }

// scored is what a scorer looks at.
type scored struct {
	row                     *rowRun
	input, output, expected any
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

// check returns why the scorer cannot be used in a suite of these types.
func (s Scorer) check(t types) error {
	if s.judge == nil && s.err == nil {
		return errors.New("a zero Scorer judges nothing: use NewScorer or one that is there")
	}
	err := s.err
	if err == nil && !idPattern.MatchString(s.name) {
		err = fmt.Errorf("its name must match %s", idPattern)
	}
	if err == nil && s.threshold != nil {
		err = checkThreshold(*s.threshold)
	}
	if err == nil {
		err = s.takes(t)
	}
	if err != nil {
		return fmt.Errorf("scorer %q: %w", s.name, err)
	}
	return nil
}

// checkThreshold refuses what nothing could reach, and what everything would: of no score NaN is less than it.
func checkThreshold(least float64) error {
	if !(least > 0 && least <= 1) {
		return fmt.Errorf("a threshold is above 0 and up to 1, not %v", least)
	}
	return nil
}

// least returns the least score that passes.
func (s Scorer) least(suite float64) float64 {
	if s.threshold != nil {
		return *s.threshold
	}
	return suite
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

// as returns v, which has been checked to be a T, or nil.
func as[T any](v any) T {
	t, _ := v.(T)
	return t
}

// assignable returns an error if values of a suite's type are no values of T.
func assignable[T any](what string, of reflect.Type) error {
	if want := reflect.TypeFor[T](); !of.AssignableTo(want) {
		return fmt.Errorf("its %s is of type %v, and the suite's of type %v", what, want, of)
	}
	return nil
}
