package text_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/text"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/testkit/evaluatortest"
)

// parse decodes an evaluator whose own keys are given, without indentation.
func parse(keys string) (evaluator.Evaluator, error) {
	return evaluatortest.Parse("text", text.Kind(), keys)
}

// saying returns a run in which the agent said something, a last message among others.
func saying(last string) *trajectory.Run {
	return &trajectory.Run{Events: []trajectory.Event{
		{Turn: 1, Body: trajectory.Prompt{Text: "prompted"}},
		{Turn: 1, Body: trajectory.Message{Text: "earlier"}},
		{Turn: 1, Body: trajectory.Message{Text: last}},
		{Turn: 1, Body: trajectory.Stop{Reason: "end_turn"}},
	}}
}

// check judges one check, given by its keys besides the id.
func check(t *testing.T, keys string, in evaluator.Input) result.Check {
	t.Helper()
	e, err := parse("checks: [{id: a, " + keys + "}]")
	require.NoError(t, err)
	v := e.Evaluate(t.Context(), in)
	require.Len(t, v.Checks, 1, v.Reason)
	assert.Equal(t, v.Outcome, v.Checks[0].Outcome)
	return v.Checks[0]
}

func TestChecks(t *testing.T) {
	const said = "Done.\nThe total is 42 EUR, of 7 orders.\nTotal: 42\n"
	const quoted = `"Done.\nThe total is 42 EUR, of 7 orders.\nTotal: 42\n"`
	const second = `on line 2 of the last message: "The total is 42 EUR, of 7 orders."`
	long := strings.Repeat("x", 30) + "needle" + strings.Repeat("y", 200) + "\n"
	tests := []struct {
		name, keys, said string
		holds            bool
		evidence         string
	}{
		{"contains", `contains: ["total is"]`, said, true, `"total is" is ` + second},
		{
			"contains all", `contains: ["Done", "42"]`, said, true,
			`"Done" is on line 1 of the last message: "Done."; "42" is ` + second,
		},
		{
			"contains one", `contains: ["Done", "43"]`, said, false,
			`"43" is not found in the last message, which begins with ` + quoted,
		},
		{
			"what was said before", "contains: [earlier]", said, false,
			`"earlier" is not found in the last message, which begins with ` + quoted,
		},
		{"often", `contains: ["42"], min_count: 2`, said, true, `"42" is ` + second},
		{
			"not often enough", `contains: ["42"], min_count: 3`, said, false,
			`"42" is found 2 times, not 3, first ` + second,
		},
		{
			"only once", `contains: [Done], min_count: 2`, said, false,
			`"Done" is found once, not 2, first on line 1 of the last message: "Done."`,
		},
		{"as often as said", `contains: ["42"], min_count: 2, max_count: 2`, said, true, `"42" is ` + second},
		{
			"too often", `matches: ['\d+'], max_count: 2`, said, false,
			`"\\d+" is found more than 2 times, then on line 3 of the last message: "Total: 42"`,
		},
		{
			"texts that would overlap", "contains: [aa], min_count: 2", "aaa", false,
			`"aa" is found once, not 2, first on line 1 of the last message: "aaa"`,
		},

		{
			"contains none", `not_contains: [Paris, "43"]`, "Done.", true,
			`"Paris", "43" is not found in the last message, which begins with "Done."`,
		},
		{"contains one of them", `not_contains: [Paris, "42"]`, said, false, `"42" is ` + second},

		{
			"matches", `matches: ['(?m)^Total: \d+$']`, said, true,
			`"(?m)^Total: \\d+$" is on line 3 of the last message: "Total: 42"`,
		},
		{
			"lines only with (?m)", `matches: ['^Total']`, said, false,
			`"^Total" is not found in the last message, which begins with ` + quoted,
		},
		{
			"matches often", `matches: ['(?m)^\w'], min_count: 3`, said, true,
			`"(?m)^\\w" is on line 1 of the last message: "Done."`,
		},
		{
			"the rest of a line is no line", `matches: ['(?m)^a'], min_count: 2`, "aa", false,
			`"(?m)^a" is found once, not 2, first on line 1 of the last message: "aa"`,
		},
		{
			"matches none", "not_matches: ['[0-9]{3}']", "42", true,
			`"[0-9]{3}" is not found in the last message, which begins with "42"`,
		},
		{
			"matches one of them", "not_matches: ['[0-9]{3}', '(?i)TOTAL']", said, false,
			`"(?i)TOTAL" is ` + second,
		},
		{
			"over lines", `matches: ['(?s)Done.*total']`, said, true,
			`"(?s)Done.*total" is on line 1 of the last message: "Done.\nThe total is 42 EUR, of 7 orders."`,
		},

		{
			"in order", `ordered: ["42", orders, "42"]`, said, true,
			`"42" ` + second + `, then "orders" on line 2 of the last message: …"tal is 42 EUR, of 7 orders.", ` +
				`then "42" on line 3 of the last message: "Total: 42"`,
		},
		{
			"the other way round", `ordered: [orders, EUR]`, said, false,
			`"EUR" is not found after "orders" on line 2 of the last message: …"tal is 42 EUR, of 7 orders."`,
		},
		{
			"one place is not two", `ordered: [ab, b]`, "ab", false,
			`"b" is not found after "ab" on line 1 of the last message: "ab"`,
		},
		{
			"the first is not there", `ordered: [Paris, EUR]`, "EUR", false,
			`"Paris" is not found in the last message, which begins with "EUR"`,
		},

		{"nothing was said", "contains: [a]", " \n", false, "the agent said nothing in its last turn"},
		{
			"nothing was said, which has no bad words", "not_contains: [a]", "", false,
			"the agent said nothing in its last turn",
		},
		{
			"a long line", "contains: [needle]", long, true,
			`"needle" is on line 1 of the last message: …"` +
				strings.Repeat("x", 20) + "needle" + strings.Repeat("y", 74) + `"…`,
		},
		{
			"what controls terminals", `contains: ["\e[31m"]`, "\x1b[31mred\u202e", true,
			`"\x1b[31m" is on line 1 of the last message: "\x1b[31mred\u202e"`,
		},
		{
			"many", "not_contains: [a, b, c, d, e, f, g]", "-", true,
			`"a", "b", "c", "d", "e" and 2 more is not found in the last message, which begins with "-"`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := check(t, tt.keys, evaluator.Input{Run: saying(tt.said)})
			want := result.Fail
			if tt.holds {
				want = result.Pass
			}
			assert.Equal(t, want, got.Outcome)
			assert.Equal(t, tt.evidence, got.Evidence)
		})
	}
}

// An agent that said something in an earlier turn only has said nothing.
func TestLastTurn(t *testing.T) {
	run := saying("total")
	run.Events = append(run.Events, trajectory.Event{Turn: 2, Body: trajectory.Stop{Reason: "end_turn"}})
	assert.Equal(t, result.Fail, check(t, "contains: [total]", evaluator.Input{Run: run}).Outcome)
}

func TestFile(t *testing.T) {
	ws := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(ws, "out"), 0o755))
	for name, data := range map[string]string{
		"out/a.md": "# Report\nok\n", "empty": "", "large": "", "binary": "\xff\x00x",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(ws, name), []byte(data), 0o644))
	}
	require.NoError(t, os.Truncate(filepath.Join(ws, "large"), 16<<20+1))
	in := evaluator.Input{Run: saying("ok"), Workspace: ws, Kept: func(path string) error {
		if path == "left/out" {
			return errors.New("not kept")
		}
		return nil
	}}
	tests := []struct {
		name, keys string
		holds      bool
		evidence   string
	}{
		{"contains", "file: ./out/a.md, contains: [ok]", true, `"ok" is on line 2 of out/a.md: "ok"`},
		{
			"contains not", "file: out/a.md, contains: [Done]", false,
			`"Done" is not found in out/a.md, which begins with "# Report\nok\n"`,
		},
		{"no file", "file: b.md, contains: [ok]", false, "b.md: it does not exist"},
		{"no file, which has no bad words", "file: b.md, not_contains: [ok]", false, "b.md: it does not exist"},
		{"a directory", "file: out, not_matches: [ok]", false, "out: it is a directory"},
		{"an empty file", "file: empty, not_contains: [ok]", true, `"ok" is not found in empty, which is empty`},
		{"no text", "file: binary, contains: [x]", true, `"x" is on line 1 of binary: "\xff\x00x"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := check(t, tt.keys, in)
			assert.Equal(t, tt.holds, got.Outcome == result.Pass)
			assert.Equal(t, tt.evidence, got.Evidence)
		})
	}
	for file, reason := range map[string]string{
		"large": "large exceeds the 16 MiB limit", "left/out": "not kept",
	} {
		e, err := parse("checks: [{id: a, contains: [ok]}, {id: b, contains: [ok], file: " + file + "}]")
		require.NoError(t, err)
		assert.Equal(t, evaluator.NeedsWorkspace, e.Needs())
		assert.Equal(t, evaluator.Verdict{Outcome: result.Error, Reason: reason}, e.Evaluate(t.Context(), in))
	}
}

func TestVerdict(t *testing.T) {
	e, err := parse(`
checks:
  - {id: 3f2a91bc, text: "The report names\nthe total", contains: ["42"]}
  - {id: "77", contains: [a, b], min_count: 2}
  - {id: c, ordered: [x, y], file: out/a.md}
  - {id: d, not_matches: [z]}`)
	require.NoError(t, err)
	v := e.Evaluate(t.Context(), evaluator.Input{Run: saying("42"), Workspace: t.TempDir()})
	assert.Equal(t, result.Fail, v.Outcome)
	assert.Equal(t, 0.5, *v.Score)
	const missing = `"a" is not found in the last message, which begins with "42"`
	assert.Equal(t, `the last message contains "a", "b", at least 2 times: `+missing+` (and 1 more)`, v.Reason)
	assert.Equal(t, `✓ The report names the total
✗ the last message contains "a", "b", at least 2 times: `+missing+`
✗ out/a.md contains in this order "x", "y": out/a.md: it does not exist
✓ the last message does not match "z"`, v.Detail)
	assert.Equal(t, []result.Check{
		{
			ID: "3f2a91bc", Text: "The report names\nthe total", Outcome: result.Pass,
			Evidence: `"42" is on line 1 of the last message: "42"`,
		},
		{
			ID: "77", Text: `the last message contains "a", "b", at least 2 times`, Outcome: result.Fail,
			Evidence: missing,
		},
		{
			ID: "c", Text: `out/a.md contains in this order "x", "y"`, Outcome: result.Fail,
			Evidence: "out/a.md: it does not exist",
		},
		{
			ID: "d", Text: `the last message does not match "z"`, Outcome: result.Pass,
			Evidence: `"z" is not found in the last message, which begins with "42"`,
		},
	}, v.Checks)
}

func TestDecode(t *testing.T) {
	const one = "exactly one of `contains`, `not_contains`, `matches`, `not_matches`, `ordered` and `json` " +
		"is required"
	const always = "matches every text, even an empty one: write `.+` instead of `.*`, or the text to find"
	tests := []struct{ name, keys, want string }{
		{"no checks", "checks: []", "6:5: evaluators[0].checks: must not be empty"},
		{
			"no id",
			"checks: [{contains: [a]}]",
			"6:14: evaluators[0].checks[0]: `evaluators[0].checks[0].id` is required",
		},
		{
			"bad id",
			"checks: [{id: a b, contains: [a]}]",
			"6:19: evaluators[0].checks[0].id: \"a b\" must match ^[a-zA-Z0-9][a-zA-Z0-9_-]*$",
		},
		{
			"an id twice",
			"checks: [{id: a, contains: [a]}, {id: a, contains: [b]}]",
			"6:43: evaluators[0].checks[1].id: duplicate check \"a\", first on line 6",
		},
		{"nothing", "checks: [{id: a}]", "6:14: evaluators[0].checks[0]: " + one},
		{"two", "checks: [{id: a, contains: [a], matches: [b]}]", "6:14: evaluators[0].checks[0]: " + one},
		{
			"no texts",
			"checks: [{id: a, contains: []}]",
			"6:22: evaluators[0].checks[0].contains: must not be empty",
		},
		{
			"an empty text",
			"checks: [{id: a, ordered: [b, '']}]",
			"6:35: evaluators[0].checks[0].ordered[1]: is found in every text: write the text to find",
		},
		{
			"an empty expression",
			"checks: [{id: a, matches: ['']}]",
			"6:32: evaluators[0].checks[0].matches[0]: is found in every text: write the text to find",
		},
		{
			"an expression that says nothing",
			"checks: [{id: a, matches: ['(?m)^x*']}]",
			"6:32: evaluators[0].checks[0].matches[0]: " + always,
		},
		{
			"one that nothing passes",
			"checks: [{id: a, not_matches: ['.*']}]",
			"6:36: evaluators[0].checks[0].not_matches[0]: " + always,
		},
		{
			"no expression",
			"checks: [{id: a, not_matches: ['a(?=b)']}]",
			"6:36: evaluators[0].checks[0].not_matches[0]: " +
				"error parsing regexp: invalid or unsupported Perl syntax: `(?=`",
		},
		{
			"a count that means nothing",
			"checks: [{id: a, ordered: [a], min_count: 2}]",
			"6:47: evaluators[0].checks[0].min_count: has no effect with `ordered`",
		},
		{
			"never",
			"checks: [{id: a, contains: [a], min_count: 0}]",
			"6:48: evaluators[0].checks[0].min_count: must be at least 1, not 0",
		},
		{
			"too often",
			"checks: [{id: a, contains: [a], min_count: 10001}]",
			"6:48: evaluators[0].checks[0].min_count: must be at most 10000, not 10001",
		},
		{
			"a file elsewhere",
			"checks: [{id: a, contains: [a], file: ../b}]",
			"6:43: evaluators[0].checks[0].file: \"../b\" is not a path below the workspace",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse(tt.keys)
			assert.EqualError(t, err, "p.yaml:"+tt.want)
		})
	}
}

func hidden(r rune) bool { return !unicode.IsPrint(r) }

// FuzzEvaluate holds that what loads can be judged, that evidence is short and harmless, and that what cannot be loaded
// says where.
func FuzzEvaluate(f *testing.F) {
	f.Add("checks: [{id: a, contains: [b, \"\\e\"], min_count: 2}, {id: b, not_contains: [c]}]", "b\x1b\nbb")
	f.Add("checks: [{id: 1a, matches: ['(?m)^$', '\\b'], min_count: 3}, {id: b, not_matches: [c]}]", "\n\n\xff")
	f.Add("checks: [{id: a, json: object, schema: {required: [a]}}, {id: b, json: whole}]", "{\"a\": {}}")
	f.Add("checks: [{id: a, ordered: [a, a, é], text: \"b\\nc\"}, {id: b, file: x, ordered: [c]}]", "aaé")
	f.Fuzz(func(t *testing.T, keys, said string) {
		e, err := parse(keys)
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "p.yaml:"), err)
			return
		}
		v := e.Evaluate(context.Background(), evaluator.Input{Run: saying(said), Workspace: t.TempDir()})
		if v.Outcome == result.Error { // a file that cannot be looked for
			return
		}
		require.Equal(t, v.Outcome == result.Pass, *v.Score == 1)
		for _, c := range v.Checks {
			require.NotEmpty(t, c.Text)
			require.NotEmpty(t, c.Evidence)
			require.Less(t, utf8.RuneCountInString(c.Evidence), 20_000)
			require.False(t, strings.ContainsFunc(c.Evidence, hidden), c.Evidence)
		}
	})
}

func TestTurn(t *testing.T) {
	run := &trajectory.Run{Events: []trajectory.Event{
		{Turn: 1, Body: trajectory.Prompt{Text: "add"}},
		{Turn: 1, Body: trajectory.Message{Text: "let me see"}},
		{Turn: 1, Body: trajectory.Message{Text: "def add"}},
		{Turn: 2, Body: trajectory.Prompt{Text: "go on"}},
		{Turn: 3, Body: trajectory.Prompt{Text: "hints"}},
		{Turn: 3, Body: trajectory.Message{Text: "-> int"}},
	}}
	for _, test := range []struct {
		keys     string
		holds    bool
		evidence string
	}{
		{"contains: [def], turn: 1", true, `"def" is on line 1 of the last message of turn 1: "def add"`},
		{"contains: [see], turn: 1", false, `"see" is not found in the last message of turn 1`},
		{"not_contains: [see], turn: 1", true, `"see" is not found in the last message of turn 1`},
		{"contains: [def], turn: 3", false, `"def" is not found in the last message of turn 3`},
		{"contains: [def]", false, `"def" is not found in the last message`},
		{"not_contains: [def], turn: 2", false, "the agent said nothing in turn 2"},
		{"not_contains: [def], turn: 4", false, "there is no turn 4: the session has 3"},
	} {
		c := check(t, test.keys, evaluator.Input{Run: run})
		assert.Equal(t, test.holds, c.Outcome == result.Pass, test.keys)
		assert.Contains(t, c.Evidence, test.evidence, test.keys)
	}
	c := check(t, "contains: [def], turn: 1", evaluator.Input{Run: run})
	assert.Equal(t, `the last message of turn 1 contains "def"`, c.Text)
	for _, keys := range []string{"file: a.txt", "target: created_files"} {
		_, err := parse("checks: [{id: a, contains: [a], turn: 1, " + keys + "}]")
		assert.ErrorContains(t, err, "turn: is about messages: a file is looked at as the agent left it")
	}
	_, err := parse("checks: [{id: a, contains: [a], turn: 0}]")
	assert.ErrorContains(t, err, "turn")
}
