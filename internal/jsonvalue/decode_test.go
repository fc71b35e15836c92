package jsonvalue_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

func TestDecode(t *testing.T) {
	tests := []struct {
		name, reason, text string
		line, column       int // 0: no error
		err                string
	}{
		{"object", "", `{"a": 1}`, 0, 0, ""},
		{"space around", "", " [1]\r\n\t", 0, 0, ""},
		{"duplicate key", "most readers take the last", `{"a": 1, "a": 2}`, 0, 0, ""},
		{"not UTF-8", "encoding/json replaces it", "\"\xff\"", 0, 0, ""},
		{"empty", "", "", 1, 1, "the text is empty"},
		{"blank", "", " \n", 1, 1, "the text is empty"},
		{"prose", "", "no", 1, 2, "invalid character 'o' in literal null (expecting 'u')"},
		{"NaN", "JSON has none", "{\n  \"ä\": NaN}", 2, 8, "invalid character 'N' looking for beginning of value"},
		{"cut", "the place is the end", "{\"a\":\n ", 1, 6, "the text is incomplete: unexpected EOF"},
		{"second value", "which one counts?", "{\"a\": 1}\n{\"a\": 2}", 2, 1, "text after the JSON value"},
		{"text after", "", `{"a": 1} and more`, 1, 10, "text after the JSON value"},
		{
			"deep", "the limit of encoding/json", strings.Repeat("[", 10_001), 1, 10_001,
			"invalid character '[' exceeded max depth",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var v any
			at, err := locate(t, jsonvalue.Decode([]byte(tt.text), &v))
			assert.Equal(t, [2]int{tt.line, tt.column}, at, tt.reason)
			assert.Equal(t, tt.err, err, tt.reason)
		})
	}
	var v struct{ Of any }
	require.NoError(t,
		jsonvalue.Decode([]byte(`{"of": [9007199254740993, 1.0], "OF": 2, "other": 3, "of": [9007199254740993, 1.0]}`),
			&v))
	assert.Equal(t, []any{json.Number("9007199254740993"), json.Number("1.0")}, v.Of)
	var n int
	at, err := locate(t, jsonvalue.Decode([]byte("\n\"x\""), &n))
	assert.Equal(t, [2]int{2, 3}, at)
	assert.Equal(t, "json: cannot unmarshal string into Go value of type int", err)
	assert.ErrorIs(t, jsonvalue.Decode([]byte("{"), &v), io.ErrUnexpectedEOF)
	assert.EqualError(t, jsonvalue.In("a.json", jsonvalue.Decode([]byte("\n{"), &v)),
		"a.json:2: the text is incomplete: unexpected EOF")
	assert.EqualError(t, jsonvalue.In("a.json", errors.New("not found")), "a.json: not found")
	assert.ErrorIs(t, jsonvalue.Decode([]byte("{}{}"), &v), jsonvalue.ErrTrailing)
}

// locate returns the place and the text of an error of the package, nothing for none.
func locate(t *testing.T, err error) (at [2]int, text string) {
	t.Helper()
	if err == nil {
		return at, ""
	}
	var e *jsonvalue.Error
	require.ErrorAs(t, err, &e)
	return [2]int{e.Line, e.Column}, e.Error()
}

type (
	base struct {
		ID     string `json:"id"`
		Hidden int    `json:"-"`
		Both   int
	}
	side  struct{ Both int }
	named struct {
		Inner int `json:"inner"`
	}
	upper string // decodes itself
	loop  struct {
		*loop
		Deep int `json:"deep"`
	}
	record struct {
		base
		*side
		named `json:"named"`
		loop
		Plain   int
		Tags    []base           `json:"tags,omitempty"`
		ByName  map[string]*base `json:"by_name"`
		Any     any              `json:"any"`
		Raw     json.RawMessage  `json:"raw"`
		Upper   *upper           `json:"upper"`
		private int
	}
)

var _ = record{private: 1, loop: loop{loop: nil}} // they are used

func (u *upper) UnmarshalJSON(data []byte) error { *u = upper(bytes.ToUpper(data)); return nil }

func TestDecodeStrict(t *testing.T) {
	tests := []struct {
		name, reason, text string
		options            jsonvalue.Option
		line, column       int
		err                string
	}{
		{"all fields", "", `{"id":"a", "named":{"inner":1}, "deep":1, "Plain":1, "tags":[{"id":"b"},{}],
			"by_name":{"x":{"id":"c"}}, "any":{"ID":[]}, "raw":{"Id":-1.5e+3}, "upper":{"Id":true}}`, 0, 0, 0, ""},
		{"null", "it leaves a Go value as it is", "null", 0, 0, 0, ""},
		{"empty containers", "", `{"tags":[], "any":{}, "by_name":null}`, 0, 0, 0, ""},
		{"duplicate key", "which one counts?", `{"id":"a","id":"b"}`, 0, 1, 11, `duplicate key "id"`},
		{"duplicate key in disguise", "", `{"id":"a","\u0069d":"b"}`, 0, 1, 11, `duplicate key "id"`},
		{"duplicate key in any", "", "{\"any\":[0,{\"a\":\"}\\\\\",\n \"a\":2}]}", 0, 2, 2, `duplicate key "a"`},
		{"duplicate key in raw text", "", `{"raw":{"a":{},"a":{}}}`, 0, 1, 16, `duplicate key "a"`},
		{"duplicate key of what decodes itself", "", `{"upper":{"a":1,"a":1}}`, 0, 1, 17, `duplicate key "a"`},
		{"duplicate key of a map", "", `{"by_name":{"a":null,"a":null}}`, 0, 1, 22, `duplicate key "a"`},
		{"the same key elsewhere", "", `{"any":[{"a":1},{"a":2},{"b":{"a":3}}]}`, 0, 0, 0, ""},
		{
			"unknown key", "a misspelt one would be lost", "{\"id\":\"a\",\n\t\"idd\":\"b\"}", 0, 2,
			2, `unknown key "idd"`,
		},
		{"unknown key deep down", "", `{"by_name":{"x":{"idd":"c"}}}`, 0, 1, 18, `unknown key "idd"`},
		{"unknown key in a list", "", `{"tags":[{},{"idd":"c"}]}`, 0, 1, 14, `unknown key "idd"`},
		{"unknown key, allowed", "", `{"idd":{"x":1}}`, jsonvalue.UnknownKeys, 0, 0, ""},
		{"duplicate unknown key", "", `{"idd":1,"idd":2}`, jsonvalue.UnknownKeys, 1, 10, `duplicate key "idd"`},
		{"another case", "encoding/json takes it", `{"Id":"a"}`, 0, 1, 2, `unknown key "Id": write "id"`},
		{
			"another case, unknown keys allowed", "", `{"Id":"a"}`, jsonvalue.UnknownKeys, 1, 2,
			`unknown key "Id": write "id"`,
		},
		{"skipped field", "no key decodes into it", `{"Hidden":1}`, 0, 1, 2, `unknown key "Hidden"`},
		{"field of a named struct", "it is not promoted", `{"inner":1}`, 0, 1, 2, `unknown key "inner"`},
		{"private field", "", `{"private":1}`, 0, 1, 2, `unknown key "private"`},
		{"ambiguous field", "encoding/json drops both", `{"Both":1}`, 0, 1, 2, `unknown key "Both"`},
		{"not UTF-8", "readers differ", "{\"id\":\n\"ä\xff\"}", 0, 2, 3, "the text is not UTF-8"},
		{"cut", "", `{"id":"a"`, 0, 1, 10, "the text is incomplete: unexpected EOF"},
		{"text after", "", `{"id":"a"},`, 0, 1, 11, "text after the JSON value"},
		{
			"another type", "", `{"id":7}`, 0, 1, 7,
			"json: cannot unmarshal number into Go struct field record.base.id of type string",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var v record
			at, err := locate(t, jsonvalue.DecodeStrict([]byte(tt.text), &v, tt.options))
			assert.Equal(t, tt.err, err, tt.reason)
			assert.Equal(t, [2]int{tt.line, tt.column}, at, tt.reason)
		})
	}
	var exact, float struct{ Any any }
	require.NoError(t, jsonvalue.DecodeStrict([]byte(`{"Any":1.0}`), &exact, 0))
	assert.Equal(t, json.Number("1.0"), exact.Any)
	require.NoError(t, jsonvalue.DecodeStrict([]byte(`{"Any":1.0}`), &float, jsonvalue.Floats))
	assert.Equal(t, 1.0, float.Any)
	var invalid *json.InvalidUnmarshalError
	assert.ErrorAs(t, jsonvalue.DecodeStrict([]byte(`{}`), exact, 0), &invalid)
}

func TestDecodeAllKeys(t *testing.T) {
	type inner struct {
		N     int       `json:"n"`
		P     *int      `json:"p"`
		Maybe string    `json:"maybe,omitempty"`
		Zero  time.Time `json:"zero,omitzero"`
	}
	type outer struct {
		inner
		List []inner          `json:"list"`
		Map  map[string]inner `json:"map"`
		At   time.Time        `json:"at"`
	}
	const whole = `{"n":1,"p":null,"list":[{"n":1,"p":2}],"map":{"x":{"n":1,"p":null}},"at":"2026-01-02T03:04:05Z"}`
	tests := []struct {
		name, text string
		column     int
		err        string
	}{
		{"whole", whole, 0, ""},
		{"nothing in containers", `{"n":1,"p":null,"list":null,"map":null,"at":"2026-01-02T03:04:05Z"}`, 0, ""},
		{"missing", `{}`, 1, `the key "at" is missing`},
		{"missing of an embedded struct", strings.Replace(whole, `"n":1,`, "", 1), 1, `the key "n" is missing`},
		{"missing in a list", strings.Replace(whole, `,"p":2`, "", 1), 25, `the key "p" is missing`},
		{"missing in a map", strings.Replace(whole, `{"n":1,"p":null}}`, `{"n":1}}`, 1), 51, `the key "p" is missing`},
		{"null number", strings.Replace(whole, `"n":1`, `"n":null`, 1), 6, "null stands where a value must be"},
		{
			"null time", strings.Replace(whole, `"2026-01-02T03:04:05Z"`, "null", 1), 74,
			"null stands where a value must be",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var v outer
			at, err := locate(t, jsonvalue.DecodeStrict([]byte(tt.text), &v, jsonvalue.AllKeys))
			assert.Equal(t, tt.err, err)
			assert.Equal(t, tt.column, at[1])
		})
	}
}

func TestDecodeNoNull(t *testing.T) {
	var v struct {
		N    int
		P    *int
		Any  any
		List []int
		Map  map[string]int
	}
	for text, bad := range map[string]bool{
		`{"N":null}`: true, `{"List":null}`: true, `{"List":[1,null]}`: true, `{"Map":{"a":null}}`: true,
		`{"Map":null}`: true,
		`{"P":null}`:   false, `{"Any":null}`: false, `{"Any":{"a":null}}`: false, `{"N":1}`: false,
	} {
		err := jsonvalue.DecodeStrict([]byte(text), &v, jsonvalue.NoNull)
		assert.Equal(t, bad, err != nil, text)
	}
}

// TestCheckKeys: it says what DecodeStrict says.
func TestCheckKeys(t *testing.T) {
	for _, text := range []string{
		`{"id":"a"}`, `{"id":"a","id":"b"}`, `{"Id":"a"}`, "{\"id\":\n\"\xff\"}", `{"id":null}`,
	} {
		var v record
		want := jsonvalue.DecodeStrict([]byte(text), &v, jsonvalue.NoNull)
		at, err := locate(t, jsonvalue.CheckKeys([]byte(text), &v, jsonvalue.NoNull))
		wantAt, wantErr := locate(t, want)
		assert.Equal(t, wantErr, err)
		assert.Equal(t, wantAt, at)
	}
}

// TestUnknownNull: of a key that is not known, no value is wrong.
func TestUnknownNull(t *testing.T) {
	var v struct{ N int }
	require.NoError(t, jsonvalue.DecodeStrict([]byte(`{"N":1,"new":null}`), &v,
		jsonvalue.UnknownKeys|jsonvalue.AllKeys))
}

// TestFields: the field that is less deep counts, then the one with a tag, as in encoding/json.
func TestFields(t *testing.T) {
	type deep struct {
		A, B int
		C    int `json:"C"`
	}
	type other struct {
		C string
		B string `json:"B"`
	}
	type whole struct {
		A string
		deep
		other
	}
	fields := jsonvalue.Fields(reflect.TypeFor[whole]())
	assert.Equal(t, map[string]reflect.Type{
		"A": reflect.TypeFor[string](), "B": reflect.TypeFor[string](), "C": reflect.TypeFor[int](),
	}, fields)
}

func TestObject(t *testing.T) {
	var o jsonvalue.Object
	require.NoError(t, json.Unmarshal([]byte(`{"n": 2, "zero": -0.0, "low": -1, "high": 2.5, "huge": 1e999, "text": "x",
		"null": null, "list": ["a", "b"], "gap": ["a", null], "part": 0.5}`), &o))
	numbers := []struct {
		key  string
		want float64
		err  string
	}{
		{"n", 2, ""},
		{"zero", 0, ""},
		{"part", 0.5, ""},
		{"low", 0, "low -1 is out of range: want 0 to 2"},
		{"high", 0, "high 2.5 is out of range: want 0 to 2"},
		{"huge", 0, "huge 1e999 is out of range: want 0 to 2"},
		{"text", 0, `text must be a number, not "\"x\""`},
		{"null", 0, `null must be a number, not "null"`},
		{"none", 0, "none is missing"},
	}
	for _, tt := range numbers {
		var n float64
		err := o.Number(tt.key, 2, &n)
		if tt.err != "" {
			assert.EqualError(t, err, tt.err)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, tt.want, n)
		assert.False(t, math.Signbit(n))
	}
	var list []string
	require.NoError(t, o.Texts("list", &list))
	assert.Equal(t, []string{"a", "b"}, list)
	assert.EqualError(t, o.Texts("gap", &list), "gap[1] must be a string, not null")
	assert.EqualError(t, o.Texts("n", &list), `n must be a list of strings, not "2"`)
	assert.EqualError(t, o.Texts("none", &list), "none is missing")
	few := jsonvalue.Object{"b": nil, "a": nil}
	require.NoError(t, few.Only("a", "b", "c"))
	assert.EqualError(t, few.Only("b", "c"), `unknown key "a": the keys are b, c`)
}

func TestReadLine(t *testing.T) {
	long := strings.Repeat("x", 99)
	in := bufio.NewReaderSize(strings.NewReader("a\n"+long+"\n"+long+"\nrest"), 16)
	for _, want := range []string{"a\n", long + "\n"} {
		line, err := jsonvalue.ReadLine(in, 100)
		require.NoError(t, err)
		assert.Equal(t, want, string(line))
	}
	line, err := jsonvalue.ReadLine(in, 99)
	require.EqualError(t, err, "the line has more than 99 bytes")
	assert.Equal(t, long, string(line), "its beginning")
	line, err = jsonvalue.ReadLine(bufio.NewReader(strings.NewReader("rest")), 99)
	require.ErrorIs(t, err, io.EOF)
	assert.Equal(t, "rest", string(line))
}

// FuzzDecodeStrict compares strict decoding with encoding/json: what it accepts means the same there, and what only it
// refuses is not UTF-8, or has a key twice, or in another case.
func FuzzDecodeStrict(f *testing.F) {
	for _, text := range []string{
		`{"id":"a","tags":[{"id":"b","id":"c"}]}`, `{"named":{"inner":1},"Plain":2}`, `{"Tags":null}`,
		`{"any":{"a":[1,"\"}"]}}`,
		"{\"raw\":{\"\\u0061\":1,\"a\":2}} ", `{"upper":{"a":{}},"unknown":-1e5}`, "[\"\xff\"]",
		"1 2", "", `{"deep":true}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var want, got record
		d := tokens(text)
		d.DisallowUnknownFields()
		wantErr := d.Decode(&want)
		if _, err := d.Token(); wantErr == nil && !errors.Is(err, io.EOF) {
			wantErr = jsonvalue.ErrTrailing
		}
		err := jsonvalue.DecodeStrict(text, &got, 0)
		if err == nil {
			require.NoError(t, wantErr)
			require.True(t, reflect.DeepEqual(want, got), "%#v\n%#v", want, got)
			return
		}
		if own := err.Error(); wantErr == nil && own != "the text is not UTF-8" && !strings.Contains(own, ": write") {
			require.Contains(t, own, "duplicate key")
			require.Error(t, twice(tokens(text)))
		}
		var all any
		if jsonvalue.DecodeStrict(text, &all, 0) == nil {
			require.NoError(t, twice(tokens(text)))
		}
	})
}

func tokens(text []byte) *json.Decoder {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d
}

// twice returns an error if a key is twice in one object of the next value.
func twice(d *json.Decoder) error {
	token, err := d.Token()
	if _, nested := token.(json.Delim); err != nil || !nested {
		return err
	}
	seen := make(map[json.Token]bool)
	for d.More() {
		if token == json.Delim('{') {
			key, err := d.Token()
			if err != nil {
				return err
			}
			if seen[key] {
				return errors.New("twice")
			}
			seen[key] = true
		}
		if err := twice(d); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}
