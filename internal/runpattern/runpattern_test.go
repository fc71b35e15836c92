package runpattern

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestErrors: what is no expression is told with its level. What patterns mean is tested beside go test, in evaltest.
func TestErrors(t *testing.T) {
	for pattern, want := range map[string]string{
		"a/b[": "level 2: error parsing regexp: missing closing ]: `[`",
		"a/*":  "level 2: error parsing regexp: missing argument to repetition operator: `*`",
		"(a/b": "level 1: error parsing regexp: missing closing ): `(a/b`",
	} {
		_, err := Parse(pattern)
		require.EqualError(t, err, want, pattern)
	}
}

// FuzzParse takes whatever a person can write.
func FuzzParse(f *testing.F) {
	f.Add("a/b|c", "a/b")
	f.Add("[/]/(a|/)", "]")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		all, err := Parse(pattern)
		require.Equal(t, err == nil, len(all) > 0)
		for _, p := range all {
			p.Matches(strings.Split(name, "/"))
		}
	})
}
