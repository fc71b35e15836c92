package jsregexp_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/jsregexp"
)

// TestFindsWhatJavaScriptFinds compares with what Node.js found: testdata/found.mjs writes found.json.
func TestFindsWhatJavaScriptFinds(t *testing.T) {
	data, err := os.ReadFile("testdata/found.json")
	require.NoError(t, err)
	var all []struct {
		Pattern, Flags, Text string
		Found                bool
		Count                int
	}
	require.NoError(t, json.Unmarshal(data, &all))
	require.NotEmpty(t, all)
	for _, c := range all {
		written, err := jsregexp.Translate(c.Pattern, c.Flags)
		require.NoErrorf(t, err, "/%s/%s", c.Pattern, c.Flags)
		re, err := regexp.Compile(written)
		require.NoErrorf(t, err, "/%s/%s", c.Pattern, c.Flags)
		assert.Equalf(t, c.Found, re.MatchString(c.Text), "/%s/%s as %s in %q", c.Pattern, c.Flags, written, c.Text)
		ahead := strings.Contains(written, `\x{10ffff}`) // what is allowed next may be found with it
		if !ahead && !strings.Contains(c.Flags, "y") && !re.MatchString("") {
			assert.Lenf(t, re.FindAllString(c.Text, -1), c.Count, "/%s/%s as %s in %q", c.Pattern, c.Flags,
				written, c.Text)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct{ pattern, flags, want string }{
		{`ab(?=cd)`, "", "character 3: Go's regular expressions do not have a look ahead, (?=...), of more than one " +
			"character"},
		{`é(?!c*)`, "", "character 2: Go's regular expressions do not have a negative look ahead, (?!...), of more " +
			"than one character"},
		{`é(?!c(?!d))`, "", "character 2: Go's regular expressions do not have a negative look ahead, (?!...), of " +
			"more than one character"},
		{`(?i:x(?!y))`, "", "character 6: a look ahead within a group that begins with flags"},
		{`(?!a`, "", "a parenthesis is not closed"},
		{`(?!a)*`, "", "character 6: there is nothing to repeat"},
		{`(?<=a)b`, "", "character 1: Go's regular expressions do not have a look behind, (?<=...)"},
		{`(?<!a)b`, "", "character 1: Go's regular expressions do not have a negative look behind, (?<!...)"},
		{`(a)\1`, "", `character 4: Go's regular expressions do not have references to groups, \1`},
		{`(?<a>b)\k<a>`, "", `character 8: Go's regular expressions do not have references to groups, \k`},
		{`[a--b]`, "v", `character 3: Go's regular expressions do not have what "--" is with the flag v`},
		{`[[a]]`, "v", `character 2: Go's regular expressions do not have what "[" is with the flag v`},
		{`\p{Emoji}`, "u", `character 1: Go's regular expressions do not have the property "Emoji"`},
		{`\p`, "u", `character 1: \p without {...}`},
		{`(?s:.)`, "", `character 1: a group that begins with "(?s"`},
		{`(?P<a>b)`, "", `character 1: a group that begins with "(?P<a>b)"`},
		{`a**`, "", "character 3: there is nothing to repeat"},
		{`a{2}{3}`, "", "character 5: there is nothing to repeat"},
		{`*a`, "", "character 1: there is nothing to repeat"},
		{`\b+`, "", "character 3: there is nothing to repeat"},
		{`a{1001}`, "", `invalid repeat count: "{1001}"`},
		{`a{1111111111111111111111111}`, "", "character 2: a number that is too large"},
		{`(a`, "", "a parenthesis is not closed"},
		{`a)`, "", "character 2: a parenthesis that was not opened"},
		{`[a`, "", "character 1: a bracket is not closed"},
		{`[b-a]`, "", `invalid character class range: "b-a"`},
		{`a\`, "", "character 2: a backslash at the end"},
		{`a{`, "u", `character 2: with the flags u and v, '{' must be escaped`},
		{`\a`, "u", `character 1: with the flags u and v there is no \a`},
		{`\u{110000}`, "u", `character 1: \u{110000} is no character`},
		{`\ud83d`, "", `character 1: half a character, \ud83d`},
		{`\01`, "", "character 1: an octal escape"},
		{"\xff", "", "a regular expression that is not UTF-8"},
		{`a`, "x", `the flag 'x' is not one of JavaScript's`},
		{`a`, "gg", `the flag 'g' is there twice`},
		{`a`, "uv", "the flags u and v exclude each other"},
		{strings.Repeat("a", 64<<10+1), "", "a regular expression of 65537 bytes, more than 65536"},
	} {
		_, err := jsregexp.Translate(test.pattern, test.flags)
		assert.EqualError(t, err, test.want, "/%.40s/%s", test.pattern, test.flags)
	}
}

// FuzzTranslate checks that what is returned without an error is a regular expression of Go.
func FuzzTranslate(f *testing.F) {
	for _, seed := range []string{
		`^(?:[^/\n]|/(?![/*]))*x`, `[\d-a\S]{2,3}?|\u{1F600}\p{L}`, `[^]]\0\cA(?<n>[]$.)`, "[\xff",
	} {
		f.Add(seed, "i")
		f.Add(seed, "msvy")
	}
	f.Fuzz(func(t *testing.T, pattern, flags string) {
		written, err := jsregexp.Translate(pattern, flags)
		if err == nil {
			_, err = regexp.Compile(written)
			require.NoErrorf(t, err, "/%s/%s", pattern, flags)
		}
	})
}
