package expect_test

import (
	"math"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/evaluator/expect"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

func TestMean(t *testing.T) {
	almost := math.Nextafter(1, 0)
	tests := []struct {
		name, reason    string
		scores, weights []float64
		want            float64
	}{
		{"plain", "", []float64{1, 0}, []float64{3, 1}, 0.75},
		{"full", "the sums are the same, rounding and all", []float64{1, 1, 1}, []float64{0.1, 0.2, 0.3}, 1},
		{"without weight", "it does not take part", []float64{1, 0}, []float64{1, 0}, 1},
		{"hardly any weight", "rounding hides no miss", []float64{1, 0}, []float64{1e17, 1}, almost},
		{"denormal weight", "rounding hides no miss", []float64{0.9}, []float64{5e-324}, almost},
		{"nothing", "", []float64{0, 0}, []float64{1, 1}, 0},
		{"not a number", "whoever judges refuses it", []float64{math.NaN()}, []float64{1}, math.NaN()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := expect.Mean(tt.scores, tt.weights)
			assert.True(t, got == tt.want || math.IsNaN(got) && math.IsNaN(tt.want), "got %v: %s", got, tt.reason)
		})
	}
}

func TestVerdict(t *testing.T) {
	var all expect.Tally
	all.Hold(2, "a is there")
	v := all.Verdict()
	require.Equal(t, result.Pass, v.Outcome)
	assert.Equal(t, 1.0, *v.Score)
	assert.Empty(t, v.Reason)
	assert.Equal(t, "✓ a is there", v.Detail)

	var some expect.Tally
	some.Hold(1, "a is there")
	some.Miss(2, "b is there", "it is not\n\"c\"\n\"d\"")
	some.Miss(1, "c is there", "it is not")
	v = some.Verdict()
	require.Equal(t, result.Fail, v.Outcome)
	assert.Equal(t, 0.25, *v.Score)
	assert.Equal(t, "b is there: it is not (and 1 more)", v.Reason)
	assert.Equal(t, "✓ a is there\n✗ b is there: it is not\n    \"c\"\n    \"d\"\n✗ c is there: it is not",
		v.Detail)
}

// A miss without weight is the reason, although the score is 1.
func TestVerdictOfWeightless(t *testing.T) {
	var some expect.Tally
	some.Hold(1, "a")
	some.Miss(0, "b", "it is not")
	v := some.Verdict()
	assert.Equal(t, result.Pass, v.Outcome)
	assert.Equal(t, "b: it is not", v.Reason)
}

const expectsNothing = "matches every text, even an empty one: write `.+` instead of `.*`, or the text to find"

func TestCompile(t *testing.T) {
	tests := []struct{ name, expr, err string }{
		{"star", `x*`, expectsNothing},
		{"optional", `(hello)?`, expectsNothing},
		{"begin", `^`, expectsNothing},
		{"end", `$`, expectsNothing},
		{"begin of a line", `(?m)^`, expectsNothing},
		{"anything from the begin", `^.*`, expectsNothing},
		{"anything up to the end", `\s*$`, expectsNothing},
		{"a line with anything", `(?m)^.*$`, expectsNothing},
		{"a text with anything", `(?s)\A.*\z`, expectsNothing},
		{"all characters", `^[\s\S]*$`, expectsNothing},
		{"one of the two is empty", `hello|`, expectsNothing},
		{"no times or more", `(ab){0,3}`, expectsNothing},
		{"twice or more of nothing", `(a*){2,3}`, expectsNothing},
		{"once or more of nothing", `(?:a*)+`, expectsNothing},
		{"a text", `hello`, ""},
		{"twice", `(ab){2,3}`, ""},
		{"something", `.+`, ""},
		{"some space", `\s`, ""},
		{"no text", `^$`, ""},
		{"no text but spaces", `^\s*$`, ""},
		{"an empty line", `(?m)^$`, ""},
		{"no text or this one", `^(hello)?$`, ""},
		{"one line", `^.*$`, ""},
		{"without a letter", `^[^a]*$`, ""},
		{"a word boundary", `\b`, ""},
		{"at most so long", `(?s)^.{0,80}$`, ""},
		{"anything and then something", `.*hello`, ""},
		{"bad", `a(`, "error parsing regexp: missing closing ): `a(`"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := expect.CompilePattern(test.expr)
			if test.err != "" {
				assert.EqualError(t, err, test.err)
				return
			}
			assert.NoError(t, err)
		})
	}
}

// An expression that is refused matches every text; otherwise a good expectation was refused.
func FuzzCompile(f *testing.F) {
	f.Add(`x*`, "a\nb")
	f.Add(`(?m)^.*$|a`, "\x00\n")
	f.Fuzz(func(t *testing.T, expr, text string) {
		if _, err := expect.CompilePattern(expr); err == nil || err.Error() != expectsNothing {
			return
		}
		if !regexp.MustCompile(expr).MatchString(text) {
			t.Errorf("%q was refused and does not match %q", expr, text)
		}
	})
}
