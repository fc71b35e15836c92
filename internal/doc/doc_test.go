package doc_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

type position struct {
	File         string
	Line, Column int
}

type point struct {
	X     int      `yaml:"x,required"`
	Place position `yaml:",position"`
}

type named struct {
	ID    string   `yaml:",key" pattern:"^[a-z]+$"`
	Value string   `yaml:"value"`
	At    position `yaml:",position"`
}

type inner struct {
	Needed string  `yaml:"needed,required"`
	Weight float64 `yaml:"weight" default:"1.5" min:"0" max:"9"`
}

// everything has a field of each type that can be decoded into.
type everything struct {
	Text     string            `yaml:"text"`
	Choice   string            `yaml:"choice" enum:"one,three_four" default:"one"`
	ID       string            `yaml:"id" pattern:"^[a-z]+$"`
	Flag     bool              `yaml:"flag" default:"true"`
	Count    int               `yaml:"count" default:"7" min:"1" max:"10"`
	Big      int64             `yaml:"big"`
	Ratio    *float64          `yaml:"ratio" min:"0" max:"1"`
	Wait     time.Duration     `yaml:"wait" min:"1"`
	Match    *regexp.Regexp    `yaml:"match"`
	Matches  []*regexp.Regexp  `yaml:"matches"`
	List     []string          `yaml:"list" min:"1" max:"2"`
	Words    []string          `yaml:"words" enum:"a,b"`
	Files    map[string]string `yaml:"files" pattern:"^[a-z.]+$"`
	Points   []point           `yaml:"points"`
	Named    []named           `yaml:"named" min:"1" reason:"at least one is needed"`
	Inner    inner             `yaml:"inner"`
	Optional *inner            `yaml:"optional"`
	Any      any               `yaml:"any"`
	Node     *doc.Node         `yaml:"node"`
	Untagged string
}

func decode[T any](t *testing.T, text string) (T, error) {
	t.Helper()
	d := doc.Parse("f.yaml", []byte(text))
	var v T
	if ok := d.Root.Decode(&v); ok != (d.Err() == nil) {
		t.Errorf("Decode returned %v, and Err %v", ok, d.Err())
	}
	return v, d.Err()
}

func TestDecode(t *testing.T) {
	got, err := decode[everything](t, `# comment
text: 2025-01-15
choice: three_four
id: abc
flag: false
count: 3
big: 9007199254740993
ratio: 0.25
wait: 1m30s
match: ^a+$
matches: [b, "c"]
list: ["", x]
words: [b, a]
files:
  b.go: "1"
  a.go: |
    two
points:
  - x: 1
  - {x: -2}
named:
  zebra: {value: yes}
  ant:
    value: "no"
inner: &anchor {needed: x}
optional: *anchor
any: {n: 12345678901234567890, f: 1.50, t: true, z: ~, l: [1, "a"]}
node: {k: v}
`)
	require.NoError(t, err)
	assert.Equal(t, "2025-01-15", got.Text)
	assert.Equal(t, "three_four", got.Choice)
	assert.False(t, got.Flag)
	assert.Equal(t, 3, got.Count)
	assert.Equal(t, int64(9007199254740993), got.Big)
	assert.Equal(t, 0.25, *got.Ratio)
	assert.Equal(t, 90*time.Second, got.Wait)
	assert.True(t, got.Match.MatchString("aaa"))
	assert.Equal(t, "c", got.Matches[1].String())
	assert.Equal(t, []string{"", "x"}, got.List)
	assert.Equal(t, []string{"b", "a"}, got.Words)
	assert.Equal(t, map[string]string{"b.go": "1", "a.go": "two\n"}, got.Files)
	assert.Equal(t, []point{{1, position{"f.yaml", 19, 5}}, {-2, position{"f.yaml", 20, 5}}}, got.Points)
	assert.Equal(t, []named{{"zebra", "yes", position{"f.yaml", 22, 3}}, {"ant", "no", position{"f.yaml", 23, 3}}},
		got.Named)
	assert.Equal(t, inner{"x", 1.5}, got.Inner)
	assert.Equal(t, inner{"x", 1.5}, *got.Optional)
	assert.Equal(t, map[string]any{
		"n": json.Number("12345678901234567890"), "f": json.Number("1.50"), "t": true, "z": nil,
		"l": []any{json.Number("1"), "a"},
	}, got.Any)
	assert.Equal(t, "node.k", got.Node.Get("k").Path())
}

func TestDefaults(t *testing.T) {
	got, err := decode[everything](t, "{}")
	require.NoError(t, err)
	assert.Equal(t, everything{Choice: "one", Flag: true, Count: 7, Inner: inner{Weight: 1.5}}, got)
}

func TestDecodeProblems(t *testing.T) {
	tests := []struct {
		name, text, want string
	}{
		{"unknown key", "zzzzz: 1", "1:1: zzzzz: unknown key"},
		{"near miss of a key", "choise: one", `1:1: choise: unknown key, did you mean "choice"?`},
		{"key in another case", "Text: a", `1:1: Text: unknown key, did you mean "text"?`},
		{"root of another type", "- a", "1:1: must be a mapping, not a list"},
		{"number into string", "text: 12", "1:7: text: must be a string, not a number: quote it"},
		{"boolean into string", "text: true", "1:7: text: must be a string, not a boolean: quote it"},
		{"null into string", "text:", "1:6: text: must be a string, but there is no value"},
		{"tilde into string", "text: ~", "1:7: text: must be a string, not null"},
		{"list into string", "text: [a]", "1:1: text: must be a string, not a list"},
		{"string into integer", `count: "3"`, "1:8: count: must be an integer, not a string: remove the quotes"},
		{"fraction into integer", "count: 3.0", "1:8: count: must be an integer, not 3.0"},
		{"exponent into integer", "count: 3e0", "1:8: count: must be an integer, not 3e0"},
		{"integer out of range", "big: 9223372036854775808", "1:6: big: 9223372036854775808 is out of range"},
		{"float out of range", "ratio: 1e999", "1:8: ratio: 1e999 is out of range"},
		{"below min", "count: 0", "1:8: count: must be at least 1, not 0"},
		{"above max", "ratio: 1.01", "1:8: ratio: must be at most 1, not 1.01"},
		{"yes is no boolean", "flag: yes", "1:7: flag: must be true or false, not a string"},
		{"infinity", "ratio: .inf", "1:8: ratio: numbers must be finite"},
		{"negative infinity", "ratio: -.Inf", "1:8: ratio: numbers must be finite"},
		{"not a number", "ratio: .NaN", "1:8: ratio: numbers must be finite"},
		{
			"hexadecimal", "count: 0x10",
			"1:8: count: write the number 0x10 in plain decimal, or quote it to make it a string",
		},
		{"octal", "count: 010", "1:8: count: write the number 010 in plain decimal, or quote it to make it a string"},
		{
			"underscore", "count: 1_0",
			"1:8: count: write the number 1_0 in plain decimal, or quote it to make it a string",
		},
		{
			"leading point", "ratio: .5",
			"1:8: ratio: write the number .5 in plain decimal, or quote it to make it a string",
		},
		{"plus", "any: [+1]", "1:7: any[0]: write the number +1 in plain decimal, or quote it to make it a string"},
		{
			"enum", "choice: three-four",
			`1:9: choice: must be one of one, three_four, not "three-four", did you mean "three_four"?`,
		},
		{"enum, far", "choice: x", `1:9: choice: must be one of one, three_four, not "x"`},
		{"enum in a list", "words: [a, c]", `1:12: words[1]: must be one of a, b, not "c"`},
		{"pattern", "id: A1", `1:5: id: "A1" must match ^[a-z]+$`},
		{"pattern of keys", "files: {A: b}", `1:9: files.A: "A" must match ^[a-z.]+$`},
		{"pattern of ids", "named: {a1: {}}", `1:9: named.a1: "a1" must match ^[a-z]+$`},
		{"duration", "wait: 3", `1:7: wait: must be a duration like "90s" or "30m", not a number`},
		{"malformed duration", "wait: 3 min", `1:7: wait: must be a duration like "90s" or "30m", not "3 min"`},
		{"short duration", "wait: -1s", "1:7: wait: must be at least 1s, not -1s"},
		{"regexp", "match: a(", "1:8: match: error parsing regexp: missing closing ): `a(`"},
		{"empty list", "list: []", "1:1: list: must not be empty"},
		{"long list", "list: [a, b, c]", "1:1: list: must have at most 2 elements, not 3"},
		{"null list", "words:", "1:7: words: must be a list, but there is no value"},
		{"mapping for a list", "words: {a: b}", "1:1: words: must be a list, not a mapping"},
		{"reason, empty mapping", "named: {}", "1:1: named: at least one is needed"},
		{"reason, empty list", "named: []", "1:1: named: at least one is needed"},
		{"reason, no value", "named:", "1:7: named: at least one is needed"},
		{"list for a mapping", "named: [a]", "1:1: named: must be a mapping, not a list"},
		{"missing key", "points: [{}]", "1:10: points[0]: `points[0].x` is required"},
		{"missing in a struct without value", "optional:", "1:10: optional: `optional.needed` is required"},
		{"blank where required", `inner: {needed: " "}`, "1:17: inner.needed: must not be empty"},
		{"duplicate key", "text: a\ntext: b", `2:1: text: duplicate key "text", first on line 1`},
		{"duplicate key deep down", "any: {a: [{b: 1, b: 1}]}", `1:18: any.a[0].b: duplicate key "b", first on line 1`},
		{"merge key", "any: {<<: {a: b}}", "1:7: any: merge keys (<<) are not supported, write the keys out"},
		{"number as a key", "any: {1: a}", "1:7: any: a key must be a string, not a number: quote it"},
		{"null as a key", "any: {~: a}", "1:7: any: a key must be a string, not null: quote it"},
		{"list as a key", "any: {[a]: b}", "1:7: any: a key must be a string"},
		{"tag", "text: !!str 1", "1:7: text: YAML tags are not supported, remove !!str"},
		{"tag on a mapping", "inner: !foo {needed: a}", "1:8: inner: YAML tags are not supported, remove !foo"},
		{"odd keys in paths", `any: {"a.b": {"": .inf}}`, `1:19: any["a.b"][""]: numbers must be finite`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := decode[everything](t, tt.text)
			require.Error(t, err)
			assert.Equal(t, "f.yaml:"+tt.want, err.Error())
		})
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	_, err := decode[everything](t, "text: 1\ncount: 0\nzzz: 1\nany: [0x1]\nany: 2\n")
	require.Error(t, err)
	assert.Equal(t, strings.Join([]string{
		"f.yaml:1:7: text: must be a string, not a number: quote it",
		"f.yaml:2:8: count: must be at least 1, not 0",
		"f.yaml:3:1: zzz: unknown key",
		"f.yaml:4:7: any[0]: write the number 0x1 in plain decimal, or quote it to make it a string",
		`f.yaml:5:1: any: duplicate key "any", first on line 4`,
	}, "\n"), err.Error())
}

func TestRequiredStructs(t *testing.T) {
	type leaf struct {
		Jobs []named `yaml:"jobs,required" reason:"jobs, please"`
	}
	type root struct {
		Leaf  leaf  `yaml:"leaf,required"`
		Inner inner `yaml:"inner,required"`
	}
	_, err := decode[root](t, "{}")
	assert.EqualError(t, err, "f.yaml:1:1: jobs, please\nf.yaml:1:1: `inner.needed` is required")
	_, err = decode[root](t, "leaf: {jobs: {}}\ninner: {needed: x}")
	assert.EqualError(t, err, "f.yaml:1:8: leaf.jobs: jobs, please")
}

func TestParseProblems(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("a: &a [x,x,x,x,x,x,x,x,x,x]\n")
	for c := 'b'; c <= 'i'; c++ {
		bomb.WriteString(string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+",", 10) + "]\n")
	}
	tests := []struct {
		name, text, want string
	}{
		{"empty", "", "1:1: the file is empty"},
		{"comment only", "# a\n", "1:1: the file is empty"},
		{"second document", "a: 1\n---\nb: 1\n", "2:1: a second YAML document: a file must have only one"},
		{"empty second document", "a: 1\n---\n", "2:1: a second YAML document: a file must have only one"},
		{"too large", strings.Repeat("# a\n", doc.MaxSize/4+1), "1:1: the file exceeds the limit of 1048576 bytes"},
		{"too deep", strings.Repeat("[", 70) + strings.Repeat("]", 70), "nested deeper than 64 levels"},
		{"too many values", "[" + strings.Repeat("1,", doc.MaxNodes) + "]", "the file has more than 100000 values"},
		{"alias bomb", bomb.String(), "the file has more than 100000 values"},
		{"alias to itself", "x: 1\ny: &a {b: [*a]}\n", "2:12: y.b[0]: alias *a is inside the value that it refers to"},
		{"unknown alias", "x: 1\ny: *a\n", `2:1: not valid YAML: unknown anchor "a"`},
		{"tab as indentation", "a:\n\tb: 1\n", "2:1: tabs cannot indent YAML, use spaces"},
		{"tab after spaces", "a:\n  b: 1\n \tc: 1\n", "3:2: tabs cannot indent YAML, use spaces"},
		{"not UTF-8", "a: 1\nb: é\xff\n", "2:5: not UTF-8: byte 0xff"},
		{"UTF-16", "\xff\xfea\x00", "1:1: not UTF-8: byte 0xff"},
		{"NUL", "a: b\x00\n", "1:5: control character U+0000"},
		{"escape", "a: \x1b[0m\n", "1:4: control character U+001B"},
		{
			"unclosed list", "x: 1\ny: [1, 2\n",
			"2:1: not valid YAML: did not find expected ',' or ']': a bracket is not closed, or a text with ? : , [ " +
				"] { } or # needs quotes",
		},
		{
			"question in a list", "x: 1\ny: [\"a?\", é b?, c]\nz: 1\n",
			"2:14: not valid YAML: did not find expected ',' or ']': a bracket is not closed, or a text",
		},
		{
			"question in a mapping", "x: 1\ny:\n  - z: {a: Why?}\n\n  - z: 1\n",
			"3:15: not valid YAML: did not find expected ',' or '}': a bracket",
		},
		{
			"question within a text", "x: 1\ny: [a? b]\n\n\nz: 1\n",
			"2:1: not valid YAML: did not find expected ',' or ']': a bracket",
		},
		{
			"colon in a mapping", "x: {a: b: c, d: \"e?\"}\n",
			"1:1: not valid YAML: did not find expected ',' or '}': a bracket",
		},
		{"wrong indentation", "a: 1\nb:\n  cc: 1\n dd: 222\ne: 1\n", "4:2: not valid YAML: did not find expected key"},
		{"unclosed quote", "x: 1\ny: \"a\nz: 1\n", "2:1: not valid YAML: found unexpected end of stream"},
		{"value within value", "a: b: c\n", "1:1: not valid YAML: mapping values are not allowed in this context"},
		{"text after the document", "{a: 1}{", "1:1: not valid YAML: did not find expected <document start>"},
		{"directive", "%YAML 1.2\n---\na: 1\n", "1:1: not valid YAML: found incompatible YAML document"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := doc.Parse("f.yaml", []byte(tt.text)).Err()
			require.Error(t, err)
			assert.Contains(t, err.Error(), tt.want)
			assert.Len(t, err, 1)
		})
	}
}

func TestByteOrderMark(t *testing.T) {
	got, err := decode[everything](t, "\ufefftext: a\n")
	require.NoError(t, err)
	assert.Equal(t, "a", got.Text)
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.yaml")
	require.NoError(t, os.WriteFile(path, []byte("a: 1\n"), 0o600))
	d, err := doc.Load(path, path)
	require.NoError(t, err)
	assert.Equal(t, "1", d.Root.Get("a").Text())

	require.NoError(t, os.Truncate(path, doc.MaxSize+1))
	d, err = doc.Load(path, path)
	require.NoError(t, err)
	require.ErrorContains(t, d.Err(), "exceeds the limit")

	_, err = doc.Load(path+"x", path)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = doc.Load(os.DevNull, "device")
	require.ErrorContains(t, err, "is not a regular file")
}

func TestManyProblems(t *testing.T) {
	err := doc.Parse("f.yaml", []byte("["+strings.Repeat(".nan,", 1000)+"]")).Err()
	assert.Len(t, err, 201)
	assert.ErrorContains(t, err, "too many problems, the rest is not shown")
}

func TestErrorf(t *testing.T) {
	tests := []struct {
		name, path, want string
	}{
		{"itself", "", "f.yaml:2:1: a: x 1"},
		{"child", "b[1].c", "f.yaml:4:13: a.b[1].c: x 1"},
		{"no such element", "b[7].c", "f.yaml:3:3: a.b[7].c: x 1"},
		{"no such key", "bc", "f.yaml:2:1: a.bc: x 1"},
		{"key in brackets", `["d.e"].f`, `f.yaml:5:14: a["d.e"].f: x 1`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := doc.Parse("f.yaml", []byte("\na:\n  b:\n    [1, {c: 1}]\n  \"d.e\": {f: 1}\n"))
			d.Root.Get("a").Errorf(tt.path, "x %d", 1)
			assert.EqualError(t, d.Err(), tt.want)
		})
	}
}

func TestHandle(t *testing.T) {
	type outer struct {
		List []inner `yaml:"list"`
		Ptr  *inner  `yaml:"ptr"`
	}
	d := doc.Parse("f.yaml", []byte("list: [{needed: a}, {needed: b}]\nptr: {needed: a, weight: 100}\n"))
	doc.Handle(d, func(v *inner, n *doc.Node) {
		if n.Decode(v) && v.Needed == "b" {
			n.Errorf("needed", "not b")
		}
	})
	var v outer
	assert.False(t, d.Root.Decode(&v))
	assert.EqualError(t, d.Err(),
		"f.yaml:1:30: list[1].needed: not b\nf.yaml:2:26: ptr.weight: must be at most 9, not 100")
	assert.Nil(t, v.Ptr)
}

func TestRest(t *testing.T) {
	type common struct {
		Name string    `yaml:"name"`
		Rest *doc.Node `yaml:",rest"`
	}
	type own struct {
		Mode string `yaml:"mode"`
	}
	d := doc.Parse("f.yaml", []byte("name: a\nmode: b\n"))
	var c common
	require.True(t, d.Root.Decode(&c))
	var o own
	require.True(t, c.Rest.Decode(&o))
	assert.Equal(t, own{"b"}, o)

	d = doc.Parse("f.yaml", []byte("nmae: a\nmode: b\n"))
	require.True(t, d.Root.Decode(&c))
	require.False(t, c.Rest.Decode(&o))
	assert.EqualError(t, d.Err(), `f.yaml:1:1: nmae: unknown key, did you mean "name"?`)
}

func TestRefusedField(t *testing.T) {
	type own struct {
		Mode  string   `yaml:"mode"`
		Later struct{} `yaml:"later,refused" reason:"not yet"`
	}
	_, err := decode[own](t, "mode: a\n")
	require.NoError(t, err)
	_, err = decode[own](t, "mode: a\nlater: {any: thing}\n")
	require.EqualError(t, err, "f.yaml:2:1: later: not yet")
	_, err = decode[own](t, "latr: 1\n")
	assert.EqualError(t, err, `f.yaml:1:1: latr: unknown key, did you mean "later"?`)
}

func TestAbove(t *testing.T) {
	type own struct {
		Rate  float64 `yaml:"rate" above:"0" max:"1"`
		Count int     `yaml:"count" above:"1"`
	}
	got, err := decode[own](t, "rate: 0.001\ncount: 2\n")
	require.NoError(t, err)
	assert.Equal(t, own{0.001, 2}, got)
	_, err = decode[own](t, "rate: 0\ncount: 1\n")
	require.EqualError(t, err, "f.yaml:1:7: rate: must be above 0, not 0\nf.yaml:2:8: count: must be above 1, not 1")
	_, err = decode[own](t, "{}")
	assert.NoError(t, err, "it holds for what is given")
}

func TestRefuse(t *testing.T) {
	d := doc.Parse("f.yaml", []byte("points: [{x: 1, later: 2}]\nversion: 1\n"))
	d.Refuse(map[string]string{"points[].later": "not yet", "version": "gone"})
	var v everything
	assert.False(t, d.Root.Decode(&v))
	assert.EqualError(t, d.Err(), "f.yaml:1:17: points[0].later: not yet\nf.yaml:2:1: version: gone")
}

func TestMisusePanics(t *testing.T) {
	root := doc.Parse("f.yaml", []byte("a: 1")).Root
	tests := []struct {
		name string
		v    any
	}{
		{"no pointer", everything{}},
		{"nil", (*everything)(nil)},
		{"unsupported type", &struct {
			A chan int `yaml:"a"`
		}{}},
		{"unknown option", &struct {
			A int `yaml:"a,omitempty"`
		}{}},
		{"bad bound", &struct {
			A int `yaml:"a" min:"x"`
		}{}},
		{"bad default", &struct {
			B int `yaml:"b" default:"x"`
		}{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Panics(t, func() { root.Decode(tt.v) })
		})
	}
}

func TestDidYouMean(t *testing.T) {
	tests := []struct {
		name, word string
		candidates []string
		want       string
	}{
		{"swap", "kidn", []string{"name", "kind"}, `, did you mean "kind"?`},
		{"nearest", "max_tool_cals", []string{"max_tokens", "max_tool_calls"}, `, did you mean "max_tool_calls"?`},
		{"joined otherwise", "in-order", []string{"in_order"}, `, did you mean "in_order"?`},
		{"too far", "timeout", []string{"title"}, ""},
		{"short words differ", "ab", []string{"ac"}, ""},
		{"no candidates", "a", nil, ""},
		{"very long", strings.Repeat("a", 1000), []string{strings.Repeat("a", 1001)}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, doc.DidYouMean(tt.word, tt.candidates))
		})
	}
}

func TestParseMerging(t *testing.T) {
	for text, want := range map[string]string{
		"a: &a {x: 1, y: 2}\nb: {<<: *a}":                       `{"x":1,"y":2}`,
		"a: &a {x: 1}\nb: {<<: *a, x: 3}":                       `{"x":3}`,
		"a: &a {x: 1}\nb: {x: 3, <<: *a}":                       `{"x":3}`,
		"a: &a {x: 1}\nb: {<<: [*a, {x: 2, y: 2}]}":             `{"x":1,"y":2}`,
		"a: &a {x: 1}\nc: &c {<<: *a, y: 2}\nb: {<<: *c, z: 3}": `{"x":1,"y":2,"z":3}`,
		"a: 1\nb: {<<: {}}":                                     `{}`,
		"a: 1\nb: {'<<': c}":                                    `{"<<":"c"}`,
	} {
		d := doc.ParseMerging("f.yaml", []byte(text))
		require.NoError(t, d.Err(), text)
		got, err := json.Marshal(d.Root.Get("b").Value())
		require.NoError(t, err)
		assert.JSONEq(t, want, string(got), text)
	}
	const notMapping = "a merge key (<<) takes the keys of a mapping, not "
	for text, want := range map[string]string{
		"a: [x]\nb: {<<: x}":           "2:5: b: " + notMapping + "a string",
		"a: &a [{x: 1}]\nb: {<<: *a}":  "2:5: b: " + notMapping + "a list",
		"b: &a {x: 1, <<: *a}":         "1:18: b: alias *a is inside the value that it refers to",
		"a: &a {x: .inf}\nb: {<<: *a}": "1:11: a.x: numbers must be finite",
		"b: {<<: {}, <<: {1: 2}}":      "1:18: b: a key must be a string, not a number: quote it",
	} {
		d := doc.ParseMerging("f.yaml", []byte(text))
		require.Error(t, d.Err(), text)
		assert.Contains(t, d.Err().Error(), want, text)
		assert.False(t, d.Root.Get("b").Decode(&map[string]any{}), text)
	}
	d := doc.ParseMerging("f.yaml", []byte("a: &a {x: {y: 1}}\nb: {<<: *a}"))
	assert.Equal(t, "b.x.y", d.Root.Get("b").Get("x").Get("y").Path())
	assert.Equal(t, 1, d.Root.Get("b").Get("x").Position().Line, "what is merged stands where it was written")
}

// FuzzParse checks that no text makes Parse or Decode panic, and that every problem stands somewhere in the file.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"text: a\ncount: 1\n", "a: &a [*a]\n", "a: [", "\ta: 1", "a: 1\n---\nb: 1",
		"points: [{x: 1}]\nnamed: {a: {value: b}}",
		"? a\n: b\n", "a: |\n  b\n #c\n", "<<: {a: b}", "\"a\\u0000\": 1", "- - - -\n#\n", "{}{",
		"wait: 1s\nmatch: (\nany: {1: .nan}",
	} {
		f.Add([]byte(s))
	}
	f.Add([]byte("a: &a {x: 1, <<: *a}\nb: {<<: [*a, {x: 2, y: 3}], y: 4}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := doc.Parse("f.yaml", data)
		if merging := doc.ParseMerging("f.yaml", data); d.Err() == nil {
			require.NoError(t, merging.Err())
			require.Equal(t, d.Root.Value(), merging.Root.Value())
		}
		var v everything
		ok := d.Root.Decode(&v)
		err := d.Err()
		if ok != (err == nil) {
			t.Fatalf("Decode returned %v, and Err %v", ok, err)
		}
		if err == nil {
			return
		}
		lines := strings.Count(string(data), "\n") + strings.Count(string(data), "\r") +
			strings.Count(string(data), "\u0085") +
			// a value that is not there may begin after the last line
			strings.Count(string(data), "\u2028") + strings.Count(string(data), "\u2029") + 2
		for _, p := range err.(doc.Problems) {
			if p.Position.File != "f.yaml" || p.Position.Line < 1 || p.Position.Line > lines || p.Position.Column < 1 {
				t.Errorf("%v is no position in %q", p.Position, data)
			}
			if p.Reason == "" {
				t.Errorf("%v has no reason", p)
			}
		}
	})
}
