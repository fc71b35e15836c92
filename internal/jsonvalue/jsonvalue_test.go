package jsonvalue_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

func decode(t *testing.T, text string) any {
	t.Helper()
	var v any
	require.NoError(t, jsonvalue.Decode([]byte(text), &v))
	return v
}

func TestEqual(t *testing.T) {
	long := strings.Repeat("9", 5000)
	tests := []struct {
		name, reason, a, b string
		want               bool
	}{
		{"whole numbers", "1 is the value", "1", "1.0", true},
		{"exponents", "", "100", "1e2", true},
		{"exponents in several forms", "", "1.5E+003", "1500", true},
		{"small", "", "0.015", "15e-3", true},
		{"negative", "", "-1", "1", false},
		{"negative zero", "no JSON reader tells zeros apart", "0", "-0.0e7", true},
		{"beyond floats", "ids are large", "9007199254740992", "9007199254740993", false},
		{"beyond floats, with a point", "", "9007199254740993", "9007199254740993.0", true},
		{"decimals that are one float", "", "0.1", "0.1000000000000000055511151231257827", false},
		{"huge", "nothing is expanded", "1e999999999", "10e999999998", true},
		{"huge and another", "", "1e999999999", "1e999999998", false},
		{"huge and plain", "", "1e999999999", "1", false},
		{"tiny", "", "1e-999999999", "0", false},
		{"exponent beyond computing", "equal as written", "1e9999999999999999999", "1e9999999999999999999", true},
		{"exponents beyond computing", "", "1e9999999999999999999", "10e9999999999999999998", false},
		{"at the limit of computing", "", "10e999999999999999998", "1e999999999999999999", true},
		{"over the limit of computing", "equal as written", "10e999999999999999999", "1e1000000000000000000", false},
		{"over the limit of computing, and zero", "", "10e999999999999999999", "0", false},
		{"exponent with zeros before it", "", "1e+00000000000000000000002", "100", true},
		{"exponent of zeros", "", "1e-0000", "1", true},
		{"zero with any exponent", "", "0e9999999999999999999", "0", true},
		{"long", "", long, long, true},
		{"long with a point", "", long, long + ".00", true},
		{"long and longer", "", long, long + "0", false},
		{"number and string", "types count", "1", `"1"`, false},
		{"strings", "", `"a"`, `"\u0061"`, true},
		{"cases", "", `"a"`, `"A"`, false},
		{"null and false", "", "null", "false", false},
		{"null and an empty text", "", "null", `""`, false},
		{"null", "", "null", "null", true},
		{"booleans", "", "true", "false", false},
		{"null and an array", "", "null", "[]", false},
		{"arrays", "", "[1, [2]]", "[1.0, [2]]", true},
		{"order of elements", "", "[1, 2]", "[2, 1]", false},
		{"shorter", "", "[1]", "[1, 2]", false},
		{"order of members", "", `{"a": 1, "b": {}}`, `{"b": {}, "a": 1}`, true},
		{"null and a missing member", "", `{"a": null}`, `{"b": null}`, false},
		{"one member more", "", `{"a": 1}`, `{"a": 1, "b": 1}`, false},
		{"members inside", "", `{"o": {"a": "1"}}`, `{"o": {"a": "2"}}`, false},
		{"members inside, the same", "", `{"o": {"a": 1}}`, `{"o": {"a": 1.0}}`, true},
		{"members of an array's element", "", `[{"a": "1"}]`, `[{"a": "2"}]`, false},
		{"object and array", "unlike JavaScript's", "{}", "[]", false},
		{"true and object", "", "true", "{}", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, b := decode(t, tt.a), decode(t, tt.b)
			assert.Equal(t, tt.want, jsonvalue.Equal(a, b), tt.reason)
			assert.Equal(t, tt.want, jsonvalue.Equal(b, a), tt.reason)
			assert.Equal(t, tt.want, jsonvalue.Canonical(a) == jsonvalue.Canonical(b), tt.reason)
			assert.True(t, jsonvalue.Equal(a, a))
		})
	}
}

// FuzzEqual checks that Equal is an equivalence, that canonical texts decide it, and that they mean the value itself.
func FuzzEqual(f *testing.F) {
	f.Add(`[1, 1.0, 10e-1, "1", null]`)
	f.Add(`[{"a": [1.50]}, {"a": [15e-1]}, {"a": 1, "b": []}, {"b": [], "a": 1E0}]`)
	f.Add(`[1e999999999999999999, 1e9999999999999999999, -0, 0.0, [0], [-0e1]]`)
	f.Add(`["\u202e", "<&>\ud800", "𝄞", true, false, {}]`)
	f.Fuzz(func(t *testing.T, text string) {
		var list []any
		if jsonvalue.Decode([]byte(text), &list) != nil || len(list) > 20 {
			return
		}
		for _, a := range list {
			canonical := jsonvalue.Canonical(a)
			again := decode(t, canonical)
			require.True(t, jsonvalue.Equal(a, again), "%s", canonical)
			require.Equal(t, canonical, jsonvalue.Canonical(again))
			require.True(t, jsonvalue.Equal(a, decode(t, jsonvalue.Compact(a))))
			for _, b := range list {
				require.Equal(t, canonical == jsonvalue.Canonical(b), jsonvalue.Equal(a, b))
				require.Equal(t, jsonvalue.Equal(a, b), jsonvalue.Equal(b, a))
			}
		}
	})
}

func TestNumberOrder(t *testing.T) {
	ascending := []string{
		"-1e400", "-9007199254740993", "-9007199254740992", "-10", "-9", "-1.5", "-1", "-0.1", "-1e-400",
		"0", "1e-400", "0.01",
		"0.1", "0.11", "0.9", "1", "1.5", "9", "10", "9007199254740992", "9007199254740993", "1e17", "1e400",
	}
	for i, a := range ascending {
		for j, b := range ascending {
			x, okX := jsonvalue.ParseNumber(json.Number(a))
			y, okY := jsonvalue.ParseNumber(json.Number(b))
			require.True(t, okX && okY)
			assert.Equal(t, cmp.Compare(i, j), x.Compare(y), "%s and %s", a, b)
		}
	}
}

// FuzzNumber compares numbers with encoding/json, which knows the syntax, and math/big, which knows the values.
func FuzzNumber(f *testing.F) {
	f.Add("1", "1.0")
	f.Add("-0.00", "0e5")
	f.Add("9007199254740993", "9007199254740992")
	f.Add("1.5E+3", "1500")
	f.Add("01", "0x1")
	f.Add("0", "0 ")
	f.Add("1e401", "1e-+1")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, okX := jsonvalue.ParseNumber(json.Number(a))
		y, okY := jsonvalue.ParseNumber(json.Number(b))
		_, err := jsonvalue.Of(json.Number(a))
		isNumber := json.Valid([]byte(a)) && strings.Trim(a, "-+.0123456789eE") == ""
		require.Equal(t, isNumber, err == nil)
		require.True(t, isNumber || !okX)
		p, inX := x.Rat()
		q, inY := y.Rat()
		if !okX || !okY || !inX || !inY {
			return
		}
		require.Equal(t, p.Cmp(q), x.Compare(y))
		require.Equal(t, p.Cmp(q) == 0, x == y)
		require.Equal(t, p.IsInt(), x.IsInt())
		if len(a) < 1000 && p.Sign() != 0 { // big.Rat computes the exponent of a zero, too
			r, ok := new(big.Rat).SetString(a)
			require.True(t, ok)
			require.Zero(t, r.Cmp(p))
		}
		require.LessOrEqual(t, len(p.Num().Bits()), 100)
	})
}

func TestOf(t *testing.T) {
	type point struct {
		X float64 `json:"x"`
	}
	cyclic := map[string]any{}
	cyclic["a"] = cyclic
	tests := []struct {
		name, reason string
		v            any
		want         string // canonical
		err          string
	}{
		{
			"plain", "",
			map[string]any{"a": []any{nil, true, "<x>", json.Number("1.0"), 7}},
			`{"a":[null,true,"<x>",1,7]}`, "",
		},
		{
			"of Go types", "they are what encoding/json makes of them",
			[]any{point{0.5}, int64(9007199254740993), []string{"a"}},
			`[{"x":5e-1},9007199254740993,["a"]]`, "",
		},
		{"large exponent", "it is a number", json.Number("1e9999999999999999999"), "1e9999999999999999999", ""},
		{"no number", "", []any{json.Number("0x1")}, "", `[0]: "0x1" is not a number`},
		{
			"number with space", "JSON allows it around values, and it is no part of them", json.Number("1 "), "",
			`"1 " is not a number`,
		},
		{"no JSON", "", map[string]any{"f": func() {}}, "", "f: json: unsupported type: func()"},
		{"what refuses", "its own words are enough", []any{refusing{}}, "", "[0]: not me"},
		{"without end", "", cyclic, "", "nested too deeply"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := jsonvalue.Of(tt.v)
			if tt.err != "" {
				assert.EqualError(t, err, tt.err, tt.reason)
				assert.False(t, jsonvalue.IsDecoded(tt.v))
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, jsonvalue.Canonical(v), tt.reason)
			assert.True(t, jsonvalue.IsDecoded(v))
			_, number := tt.v.(json.Number)
			assert.Equal(t, number, jsonvalue.IsDecoded(tt.v), "others have Go's own types")
		})
	}
	for _, text := range []string{"", "-", "1e", "1e+-1", "e5", "1.", ".5", "01", "1.e5"} {
		_, err := jsonvalue.Of(json.Number(text))
		assert.Error(t, err, text)
	}
	for depth, ok := range map[int]bool{10_000: true, 10_001: false} {
		var nested any = "x"
		for range depth {
			nested = []any{nested}
		}
		_, err := jsonvalue.Of(nested)
		assert.Equal(t, ok, err == nil, depth)
	}
	inner := []any{"a"}
	v, err := jsonvalue.Of(map[string]any{"list": inner})
	require.NoError(t, err)
	inner[0] = "b"
	assert.Equal(t, `{"list":["a"]}`, jsonvalue.Canonical(v), "a change afterwards does not matter")
}

type refusing struct{}

func (refusing) MarshalJSON() ([]byte, error) { return nil, errors.New("not me") }

func TestRat(t *testing.T) {
	digits := strings.Repeat("1", 400)
	for text, want := range map[json.Number]bool{
		"1.5": true, "1e399": true, "1e400": false, "-1e400": false, "1e-401": true, "1e-402": false,
		json.Number("0." + digits): true, json.Number("0." + digits + "1"): false,
	} {
		n, ok := jsonvalue.ParseNumber(text)
		require.True(t, ok)
		rat, ok := n.Rat()
		assert.Equal(t, want, ok, text)
		if !want {
			assert.Nil(t, rat)
			continue
		}
		exact, _ := new(big.Rat).SetString(text.String())
		assert.Zero(t, exact.Cmp(rat), text)
	}
	zero, ok := jsonvalue.ParseNumber("-0.0")
	require.True(t, ok)
	assert.Equal(t, "0", zero.String())
}

func TestType(t *testing.T) {
	for text, want := range map[string]string{
		"null": "null", "true": "a boolean", "1": "a number", `""`: "a string", "[]": "an array", "{}": "an object",
	} {
		assert.Equal(t, want, jsonvalue.Type(decode(t, text)))
	}
}

func TestText(t *testing.T) {
	assert.Equal(t, `{"a":"<b>","n":1.50}`, jsonvalue.Compact(map[string]any{"n": json.Number("1.50"), "a": "<b>"}))
	assert.Equal(t, `"\u001b[31m\u202e\udb40\udc01ä"`, jsonvalue.Compact("\x1b[31m\u202e\U000e0001ä"),
		"it is for terminals")
	assert.Equal(t, `(json: invalid number literal "x")`, jsonvalue.Compact(json.Number("x")))
	v := decode(t, `{"b": "x", "a": [1.50, -0.0]}`)
	assert.Equal(t, `{"a":[15e-1,0],"b":"x"}`, jsonvalue.Canonical(v))
	assert.Equal(t, `{"a":[1.50,-0.0],"b":"x"}`, jsonvalue.Compact(v), "it is as it was")
	text, err := jsonvalue.MarshalIndent(map[string]any{"a": "<"}, "", "  ")
	require.NoError(t, err)
	assert.Equal(t, "{\n  \"a\": \"<\"\n}", string(text))
}
