package secret_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/secret"
)

func TestJSON(t *testing.T) {
	var s secret.Set
	s.Mark("A", "abc\"de\\f/gh")
	s.Mark("N", "12345678")
	s.Mark("P", "1234")
	s.Mark("E", "näh𝄞ist")
	s.Mark("L", "nfoobarbaz")
	tests := []struct{ name, reason, in, want string }{
		{name: "value", in: `{"a": "x abc\"de\\f/gh y"}`, want: `{"a": "x [REDACTED:A] y"}`},
		{name: "escaped at will", in: `["\u0061bc\u0022de\u005Cf\/gh"]`, want: `["[REDACTED:A]"]`},
		{name: "pair of surrogates", in: `"n\u00e4h\ud834\udd1eist näh𝄞ist"`, want: `"[REDACTED:E] [REDACTED:E]"`},
		{
			name: "half a pair", reason: "text that is not masked keeps its meaning",
			in: `"\ud834 12345678\ud834x"`, want: "\"\ufffd [REDACTED:N]\ufffdx\"",
		},
		{name: "key", in: `{"abc\"de\\f\/gh":1}`, want: `{"[REDACTED:A]":1}`},
		{
			name: "nothing", reason: "not a byte changes",
			in:   "{ \"b\":1e5, \"a\" : 10000000000000000000001,\n\"\\u0061\":[true ,false,null] }\n",
			want: "{ \"b\":1e5, \"a\" : 10000000000000000000001,\n\"\\u0061\":[true ,false,null] }\n",
		},
		{
			name: "rest stays",
			in:   `{"b":1.50,"x":"12345678","a":-1E+2,"c":"\u0041<>&\/"}`,
			want: `{"b":1.50,"x":"[REDACTED:N]","a":-1E+2,"c":"\u0041<>&\/"}`,
		},
		{
			name: "number", reason: "secrets are masked in numbers, too",
			in:   `{"a":12345678,"b":912345678,"c":1234}`,
			want: `{"a":"[REDACTED:N]","b":"9[REDACTED:N]","c":"[REDACTED:P]"}`,
		},
		{name: "other numbers", in: `[12345,-12340,1.12345]`, want: `[12345,-12340,1.12345]`},
		{
			name: "letter of an escape", reason: "as bytes it would leave a backslash alone",
			in: `["\nfoobarbaz","\\nfoobarbaz","nfoobarbaz"]`, want: `["\nfoobarbaz","\\[REDACTED:L]","[REDACTED:L]"]`,
		},
		{name: "JSON in JSON", in: `{"a":"{\"b\":\"abc\\\"de\\\\f/gh\"}"}`, want: `{"a":"{\"b\":\"[REDACTED:A]\"}"}`},
		{
			name: "control characters",
			in:   `"\b\f\n\r\t\u0001\u000b12345678"`, want: `"\b\f\n\r\t\u0001\u000b[REDACTED:N]"`,
		},
		{
			name: "several values",
			in:   "{\"a\":\"12345678\"}\n{\"b\":\"\"}\n", want: "{\"a\":\"[REDACTED:N]\"}\n{\"b\":\"\"}\n",
		},
		{name: "empty"},
		{name: "no JSON", in: `x "abc"de\f/gh" {"12345678"`, want: `x "[REDACTED:A]" {"[REDACTED:N]"`},
		{name: "cut off", in: `{"a":"12345678`, want: `{"a":"[REDACTED:N]`},
		{name: "cut off in an escape", in: `{"a":"12345678\u00`, want: `{"a":"[REDACTED:N]\u00`},
		{name: "cut off after an escaped quote", in: `{"a":"12345678\"`, want: `{"a":"[REDACTED:N]\"`},
		{name: "wrong escape", in: `{"a":"12345678\q"}`, want: `{"a":"[REDACTED:N]\q"}`},
		{name: "wrong digits", in: `{"a":"12345678\u00zz"}`, want: `{"a":"[REDACTED:N]\u00zz"}`},
		{name: "wrong word", in: `[trues,"12345678"]`, want: `[trues,"[REDACTED:N]"]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, string(s.JSON([]byte(tt.in))), tt.reason)
			var b strings.Builder
			w := s.Lines(&b)
			for _, c := range []byte(tt.in) {
				_, err := w.Write([]byte{c})
				require.NoError(t, err)
			}
			require.NoError(t, w.Close())
			if tt.name != "nothing" { // where a value has several lines
				assert.Equal(t, tt.want, b.String(), "by lines")
			}
		})
	}
}

// FuzzJSON: JSON stays JSON, with the same values except those that are masked, and no string of it contains a secret.
func FuzzJSON(f *testing.F) {
	f.Add(`{"a":"x01234567y","\u0030\u0031234567":[1,"\n\"\\\ud800"]}`)
	f.Add(`[12345678,"{\"a\":\"\\u00301234567\"}"]`)
	f.Add(`{"a":"01234567`)
	f.Add("\"nfoo\\nfoobarébaz 0123\\\"4567\"")
	var s secret.Set
	s.Mark("A", "01234567")
	s.Mark("B", "nfoobarébaz")
	s.Mark("C", `0123"4567`)
	f.Fuzz(func(t *testing.T, text string) {
		masked := s.JSON([]byte(text))
		require.Equal(t, string(masked), string(s.JSON(masked)), "masked again")
		if !json.Valid([]byte(text)) {
			return
		}
		var before, after any
		decode(t, text, &before)
		decode(t, string(masked), &after)
		require.Equal(t, shapeOf(before), shapeOf(after))
		for _, text := range texts(after, nil) {
			_, found := s.Contains([]byte(text))
			require.False(t, found, "%q", text)
		}
		if string(s.Bytes([]byte(text))) == text && !strings.Contains(text, `\`) {
			require.Equal(t, text, string(masked), "there was nothing to mask")
		}
	})
}

func decode(t *testing.T, text string, v *any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber() // numbers beyond float64 are valid JSON, too
	require.NoError(t, d.Decode(v), "%q", text)
}

// shapeOf returns the nesting and the lengths of lists. Objects count as equal, since keys may have become the same.
func shapeOf(v any) any {
	list, ok := v.([]any)
	if !ok {
		_, object := v.(map[string]any)
		return object
	}
	var all []any
	for _, e := range list {
		all = append(all, shapeOf(e))
	}
	return append(all, len(list))
}

func texts(v any, all []string) []string {
	switch v := v.(type) {
	case string:
		all = append(all, v)
	case []any:
		for _, e := range v {
			all = texts(e, all)
		}
	case map[string]any:
		for k, e := range v {
			all = texts(e, append(all, k))
		}
	}
	return all
}
