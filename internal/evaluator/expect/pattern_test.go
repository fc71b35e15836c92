package expect_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sdd-eval/sdd-eval/internal/evaluator/expect"
)

const expectsNothing = "matches every text, also an empty one, so it expects nothing: write `.+` instead of `.*`, or what has to be there"

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
		{"once or more of nothing", `(?:a*)+`, expectsNothing},
		{"a text", `hello`, ""},
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

// What is refused matches any text, or a good expectation was refused.
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
