package fieldaccuracy_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/fieldaccuracy"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/testkit/evaluatortest"
)

// parse decodes an evaluator whose own keys are given, without indentation.
func parse(keys string) (evaluator.Evaluator, error) {
	return evaluatortest.Parse("field_accuracy", fieldaccuracy.Kind(), keys)
}

// answering returns a run in which the agent said something, a last message among others.
func answering(text string) *trajectory.Run {
	return &trajectory.Run{Events: []trajectory.Event{
		{Turn: 1, Body: trajectory.Prompt{Text: "p"}},
		{Turn: 1, Body: trajectory.Message{Text: `{"id": "of an earlier message"}`}},
		{Turn: 1, Body: trajectory.Message{Text: text}},
		{Turn: 1, Body: trajectory.Stop{Reason: "end_turn"}},
	}}
}

func evaluate(t *testing.T, keys, answer string) evaluator.Verdict {
	t.Helper()
	e, err := parse(keys)
	require.NoError(t, err)
	assert.Zero(t, e.Needs())
	return e.Evaluate(context.Background(), evaluator.Input{Run: answering(answer)})
}

func TestF1(t *testing.T) {
	const keys = `
fields:
  - {path: id, equals: INV-7, weight: 2}
  - {path: total, number: 100, tolerance: 1}
  - {path: date, date: 2025-01-15}
  - {path: 'lines[0].q', equals: 3}`
	v := evaluate(t, keys, `{"id": "INV-7", "total": 100.5, "date": "15-JAN-2025", "lines": [{"q": 2}]}`)
	assert.Equal(t, result.Fail, v.Outcome)
	assert.Equal(t, 0.8, *v.Score)
	assert.Equal(t, "lines[0].q equals 3: it is 2", v.Reason)
	assert.Equal(t, `✓ id equals "INV-7" (weight 2)
✓ total is 100, tolerance 1
✓ date is the day 2025-01-15
✗ lines[0].q equals 3: it is 2`, v.Detail)
}

func TestMatchers(t *testing.T) {
	tests := []struct {
		name, reason string
		field        string // without its path, which is x
		got          string // JSON; empty: there is none
		want         string // what is wrong
	}{
		{"text", "", "equals: a", `"a"`, ""},
		{"another case", "", "equals: a", `"A"`, `it is "A"`},
		{"number", "", "equals: 1", "1.0", ""},
		{"number as text", "types count", "equals: 1", `"1"`, `it is "1"`},
		{"null", "", "equals: null", "null", ""},
		{"null, but it is missing", "", "equals: null", "", `the document has no key "x"`},
		{"list", "", "equals: [1, {a: b}]", `[1, {"a": "b"}]`, ""},
		{"list in another order", "", "equals: [1, 2]", "[2, 1]", "it is [2,1]"},
		{"missing", "", "equals: 1", "", `the document has no key "x"`},

		{"near", "", "number: 100, tolerance: 1", "99", ""},
		{"at the edge", "in floats it is more than 0.1", "number: 100.1, tolerance: 0.1", "100.2", ""},
		{
			"beyond the edge", "", "number: 100.1, tolerance: 0.1", "100.2000000000000000001",
			"it is 100.2000000000000000001",
		},
		{"below", "", "number: 100, tolerance: 1", "98.9", "it is 98.9"},
		{"no tolerance at all", "", "number: 100, tolerance: 0", "100.0", ""},
		{"relative", "", "number: -200, relative: 0.01", "-202", ""},
		{"relative, too far", "", "number: -200, relative: 0.01", "-202.01", "it is -202.01"},
		{"number in a text", "types count", "number: 1, tolerance: 1", `"1"`, `it is "1", a string and not a number`},
		{"null is no number", "", "number: 0, tolerance: 1", "null", "it is null, null and not a number"},
		{
			"huge number", "nobody computes with it", "number: 0, tolerance: 1", "1e999999999",
			"it is 1e999999999, which is out of range",
		},
		{
			"a number nobody can read", "", "number: 0, tolerance: 1", "1e9999999999999999999",
			"it is 1e9999999999999999999, which is out of range",
		},

		{"a time of many digits", "", "date: 2025-01-15", `"2025-01-15T00:00:00.` + strings.Repeat("0", 79) + `Z"`, ""},
		{
			"a time of more", "no day is that long", "date: 2025-01-15",
			`"2025-01-15T00:00:00.` + strings.Repeat("0", 80) + `Z"`,
			`it is "2025-01-15T00:00:00.` + strings.Repeat("0", 59) + `…, which is not a date in a known format`,
		},
		{"day", "", "date: 2025-01-15", `"2025-01-15"`, ""},
		{"day with a name", "", "date: 2025-01-15", `" 15 january 2025 "`, ""},
		{"day in American", "", "date: 2025-01-05", `"Jan 5, 2025"`, ""},
		{
			"day with a time", "the day is the one that is written", "date: 2025-01-15", `"2025-01-15T23:30:00-08:00"`,
			"",
		},
		{"another day", "", "date: 2025-01-15", `"16-JAN-2025"`, `it is "16-JAN-2025" (2025-01-16)`},
		{
			"no such day", "", "date: 2025-03-01", `"29-FEB-2025"`,
			`it is "29-FEB-2025", which is not a date in a known format`,
		},
		{
			"day that could be two", "nobody knows which", "date: 2025-02-01", `"01/02/2025"`,
			`it is "01/02/2025", which is not a date in a known format`,
		},
		{"day in a format", "", "date: 2025-02-01, formats: [DD/MM/YYYY]", `"01/02/2025"`, ""},
		{
			"day in the other format", "", "date: 2025-01-02, formats: [DD/MM/YYYY]", `"01/02/2025"`,
			`it is "01/02/2025" (2025-02-01)`,
		},
		{"day in one of the formats", "", "date: 2025-02-01, formats: [MMMM D YYYY, D.M.YYYY]", `"1.2.2025"`, ""},
		{
			"day in no format", "formats replace all others", "date: 2025-02-01, formats: [DD/MM/YYYY]", `"2025-02-01"`,
			`it is "2025-02-01", which is not a date in a known format`,
		},
		{"no day", "", "date: 2025-01-15", "20250115", "it is 20250115, a number and not a string"},

		{"like", "", "text: Acme Corp", `"  ACME corp\n"`, ""},
		{"unlike", "", "text: Acme Corp", `"Acme"`, `it is "Acme"`},
		{"no text", "", "text: '1'", "1", "it is 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer := `{"x": ` + tt.got + "}"
			if tt.got == "" {
				answer = "{}"
			}
			v := evaluate(t, "fields: [{path: x, "+tt.field+"}]", answer)
			if tt.want == "" {
				assert.Equal(t, result.Pass, v.Outcome, tt.reason)
				assert.Equal(t, 1.0, *v.Score)
				assert.Empty(t, v.Reason)
				return
			}
			require.Equal(t, result.Fail, v.Outcome, tt.reason)
			assert.Equal(t, 0.0, *v.Score)
			assert.True(t, strings.HasSuffix(v.Reason, ": "+tt.want), v.Reason)
		})
	}
}

// TestWords shows what is expected in words.
func TestWords(t *testing.T) {
	v := evaluate(t, `fields:
  - {path: a, number: 1, tolerance: 2}
  - {path: b, number: 1, relative: 0.5, weight: 0.25}
  - {path: c, text: ' x '}
  - {path: d, date: 2025-01-15, required: true}`, `{"a": 1, "b": 1, "c": "X", "d": "15-JAN-2025"}`)
	assert.Equal(t, result.Pass, v.Outcome)
	assert.Equal(t, "✓ a is 1, tolerance 2\n✓ b is 1, relative tolerance 0.5 (weight 0.25)\n✓ c is like \" x \"\n"+
		"✓ d is the day 2025-01-15 (required)", v.Detail)
}

// A wrong required field makes the score 0, whatever its weight.
func TestRequired(t *testing.T) {
	const keys = "fields: [{path: a, equals: 1, weight: 3}, {path: b, equals: 1}, {path: c, equals: 1, weight: 0, " +
		"required: true}]"
	v := evaluate(t, keys, `{"a": 1, "b": 2, "c": 2}`)
	assert.Equal(t, result.Fail, v.Outcome)
	assert.Equal(t, 0.0, *v.Score)
	assert.Equal(t, "c equals 1 (required) (weight 0): it is 2", v.Reason)
	assert.Equal(t, `✓ a equals 1 (weight 3)
✗ b equals 1: it is 2
✗ c equals 1 (required) (weight 0): it is 2
a required field is wrong: the score is 0 instead of 0.75`, v.Detail)

	v = evaluate(t, keys, `{"a": 1, "b": 2, "c": 1}`)
	assert.Equal(t, 0.75, *v.Score)
}

// An agent that did not answer with JSON has failed; this is not an error.
func TestAnswer(t *testing.T) {
	const fields = "fields: [{path: id, equals: INV-7}]"
	tests := []struct{ name, answer, problem string }{
		{"bare", `{"id": "INV-7"}`, ""},
		{"in prose", `It is {"id": "INV-7"}.`, ""},
		{"fenced", "Here it is:\n```json\n{\"id\": \"INV-7\"}\n```\n", ""},
		{"nothing", "", "the reply is empty"},
		{"prose", "INV-7", "the reply has no JSON object"},
		{"cut", `{"id": "INV-7"`, "the reply's JSON object: unexpected EOF"},
		{"two objects", `{"id": "INV-7"} {"id": "INV-8"}`, "the reply has more than one JSON object, or a part of one"},
		{"twice the same key", `{"id": "INV-8", "id": "INV-7"}`, `the reply's JSON object: duplicate key "id"`},
		{"list", `[{"id": "INV-7"}]`, "the reply has more than one JSON object, or a part of one"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := evaluate(t, fields, tt.answer)
			if tt.problem == "" {
				assert.Equal(t, result.Pass, v.Outcome)
				return
			}
			assert.Equal(t, result.Fail, v.Outcome)
			assert.Equal(t, 0.0, *v.Score)
			assert.True(t, strings.HasPrefix(v.Reason, "the answer \""), v.Reason)
			assert.True(t, strings.HasSuffix(v.Reason, " is not a JSON document: "+tt.problem), v.Reason)
		})
	}
}

func TestFile(t *testing.T) {
	ws := t.TempDir()
	for name, text := range map[string]string{
		"good.json": `[{"id": "INV-7"}]`, "bad.json": `{"id": `, "two.json": "{} {}", "empty.json": "",
		"twice.json": `[{"id": "INV-7", "id": "INV-8"}]`, "sub/x": "",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(ws, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(ws, name), []byte(text), 0o644))
	}
	require.NoError(t, os.Symlink("../../etc/hostname", filepath.Join(ws, "out.json")))
	big, err := os.Create(filepath.Join(ws, "big.json"))
	require.NoError(t, err)
	require.NoError(t, big.Truncate(16<<20+1))
	require.NoError(t, big.Close())

	tests := []struct {
		name, file string
		outcome    result.Outcome
		reason     string
	}{
		{"good", "./good.json", result.Pass, ""},
		{"missing", "none.json", result.Fail, "none.json: it does not exist"},
		{"directory", "sub", result.Fail, "sub: it is a directory"},
		{"link to the outside", "out.json", result.Fail, "out.json: it leads out of the workspace"},
		{"cut", "bad.json", result.Fail, "bad.json is not a JSON document: the text is incomplete: unexpected EOF"},
		{"two documents", "two.json", result.Fail, "two.json is not a JSON document: text after the JSON value"},
		{"duplicate key", "twice.json", result.Fail, `twice.json is not a JSON document: duplicate key "id"`},
		{"empty", "empty.json", result.Fail, "empty.json is not a JSON document: the text is empty"},
		{"too large", "big.json", result.Error, "big.json exceeds the 16 MiB limit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := parse("file: " + tt.file + "\nfields: [{path: '[0].id', equals: INV-7}]")
			require.NoError(t, err)
			assert.Equal(t, evaluator.NeedsWorkspace, e.Needs())
			v := e.Evaluate(context.Background(), evaluator.Input{Run: answering("done"), Workspace: ws})
			assert.Equal(t, tt.outcome, v.Outcome)
			assert.Equal(t, tt.reason, v.Reason)
			assert.Equal(t, tt.outcome == result.Error, v.Score == nil)
		})
	}
	e, err := parse("file: a.json\nfields: [{path: id, equals: 1}]")
	require.NoError(t, err)
	v := e.Evaluate(context.Background(), evaluator.Input{Run: answering("done")})
	assert.Equal(t, evaluator.Verdict{Outcome: result.Error, Reason: "no workspace"}, v)
}

func TestLoadErrors(t *testing.T) {
	const one = "exactly one of `equals`, `number`, `date` and `text` is required"
	tests := []struct{ name, keys, want string }{
		{"no fields", "file: a.json", "5:5: evaluators[0]: `evaluators[0].fields` is required"},
		{"empty list", "fields: []", "6:5: evaluators[0].fields: must not be empty"},
		{
			"unknown key", "fields: [{path: a, equals: 1, wight: 1}]",
			`6:35: evaluators[0].fields[0].wight: unknown key, did you mean "weight"?`,
		},
		{"no matcher", "fields: [{path: a}]", "6:14: evaluators[0].fields[0]: " + one},
		{"two matchers", "fields: [{path: a, equals: 1, text: a}]", "6:14: evaluators[0].fields[0]: " + one},
		{
			"bad path", "fields: [{path: 'a[-1]', equals: 1}]",
			`6:21: evaluators[0].fields[0].path: [-1] is neither an index like [0] nor a key like ["a.b"]`,
		},
		{
			"same path", "fields: [{path: a, equals: 1}, {path: a, text: b}]",
			`6:43: evaluators[0].fields[1].path: duplicate path "a", first on line 6`,
		},
		{
			"no tolerance", "fields: [{path: a, number: 1}]",
			"6:32: evaluators[0].fields[0].number: needs exactly one of `tolerance` and `relative`; " +
				"for an exact value use `equals`",
		},
		{
			"negative tolerance", "fields: [{path: a, number: 1, tolerance: -1}]",
			"6:46: evaluators[0].fields[0].tolerance: must be at least 0, not -1",
		},
		{
			"tolerance is not a number", "fields: [{path: a, number: 1, tolerance: .nan}]",
			"6:46: evaluators[0].fields[0].tolerance: numbers must be finite",
		},
		{
			"tolerance of nothing", "fields: [{path: a, equals: 1, tolerance: 1}]",
			"6:46: evaluators[0].fields[0].tolerance: has no effect without `number`",
		},
		{
			"relative to nothing", "fields: [{path: a, equals: 1, relative: 0.1}]",
			"6:45: evaluators[0].fields[0].relative: has no effect without `number`",
		},
		{
			"tiny number", "fields: [{path: a, number: 1e-999999999, tolerance: 1}]",
			"6:32: evaluators[0].fields[0].number: is out of range",
		},
		{
			"tiny tolerance", "fields: [{path: a, number: 1, tolerance: 1e-999999999}]",
			"6:46: evaluators[0].fields[0].tolerance: is out of range",
		},
		{
			"relative to 0", "fields: [{path: a, number: 0, relative: 0.1}]",
			"6:45: evaluators[0].fields[0].relative: a share of 0 is always 0: use `tolerance`",
		},
		{
			"day that is none", "fields: [{path: a, date: 2025-02-30}]",
			`6:30: evaluators[0].fields[0].date: must be a day like 2025-01-15, not "2025-02-30"`,
		},
		{
			"formats of nothing", "fields: [{path: a, text: b, formats: [YYYY-MM-DD]}]",
			"6:33: evaluators[0].fields[0].formats: has no effect without `date`",
		},
		{
			"format that is none", "fields: [{path: a, date: 2025-01-15, formats: [DD/MM/YY]}]",
			`6:52: evaluators[0].fields[0].formats[0]: "DD/MM/YY" is not a date format: write YYYY, ` +
				`one of MMMM MMM MM M, and one of DD D, with - / . , or spaces between`,
		},
		{
			"format without a year", "fields: [{path: a, date: 2025-01-15, formats: [DD/MM]}]",
			`6:52: evaluators[0].fields[0].formats[0]: "DD/MM" is not a date format: write YYYY, ` +
				`one of MMMM MMM MM M, and one of DD D, with - / . , or spaces between`,
		},
		{
			"format without a month", "fields: [{path: a, date: 2025-01-15, formats: [DD/YYYY]}]",
			`6:52: evaluators[0].fields[0].formats[0]: "DD/YYYY" is not a date format: write YYYY, ` +
				`one of MMMM MMM MM M, and one of DD D, with - / . , or spaces between`,
		},
		{
			"format with two days", "fields: [{path: a, date: 2025-01-15, formats: [DD/MM/YYYY/DD]}]",
			`6:52: evaluators[0].fields[0].formats[0]: "DD/MM/YYYY/DD" is not a date format: write YYYY, ` +
				`one of MMMM MMM MM M, and one of DD D, with - / . , or spaces between`,
		},
		{
			"format that is ambiguous", "fields: [{path: a, date: 2025-01-15, formats: [DMYYYY]}]",
			`6:52: evaluators[0].fields[0].formats[0]: "DMYYYY" is ambiguous: put a separator between its parts`,
		},
		{
			"no weight", "fields: [{path: a, equals: 1, weight: 0}]",
			"6:5: evaluators[0].fields: the weights must add up to more than 0 and be finite",
		},
		{
			"negative weight", "fields: [{path: a, equals: 1, weight: -1}]",
			"6:43: evaluators[0].fields[0].weight: must be at least 0, not -1",
		},
		{
			"infinite weight", "fields: [{path: a, equals: 1, weight: 1e308}, {path: b, equals: 1, weight: 1e308}]",
			"6:5: evaluators[0].fields: the weights must add up to more than 0 and be finite",
		},
		{
			"file outside", "file: ../a.json\nfields: [{path: a, equals: 1}]",
			`6:11: evaluators[0].file: "../a.json" is not a path below the workspace`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse(tt.keys)
			assert.EqualError(t, err, "p.yaml:"+tt.want)
		})
	}
}

// FuzzDecode holds that what loads can be judged, and that what cannot be loaded says where.
func FuzzDecode(f *testing.F) {
	f.Add("fields: [{path: 'a[0]', equals: [1, null]}, {path: b, number: 1e3, relative: 0.5}]",
		`{"a": [[1, null]], "b": 1200}`)
	f.Add("fields: [{path: a, date: 2025-01-15, formats: [D.M.YYYY, MMMM DD YYYY]}]", `{"a": "15.1.2025"}`)
	f.Add("fields: [{path: $, text: b, weight: 0.1, required: true}]", "b")
	f.Fuzz(func(t *testing.T, keys, answer string) {
		e, err := parse(keys)
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "p.yaml:"), err)
			return
		}
		v := e.Evaluate(context.Background(), evaluator.Input{Run: answering(answer)})
		require.NotEmpty(t, v.Outcome)
		require.Equal(t, v.Outcome == result.Error, v.Score == nil)
		if v.Score != nil {
			require.True(t, *v.Score >= 0 && *v.Score <= 1, *v.Score)
			require.Equal(t, v.Outcome == result.Pass, *v.Score == 1)
		}
	})
}
