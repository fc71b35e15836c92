package judge_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/judge"
)

func TestParseResult(t *testing.T) {
	tests := []struct {
		name, reply string
		want        judge.Result
	}{
		{"score alone", `{"score":0}`, judge.Result{}},
		{"bounds", `{"score":1.0}`, judge.Result{Score: 1}},
		{
			"form with a score",
			` {"score":0.85,"hits":["a"," "],"misses":["b"],"reasoning":"r","details":{"fooBar":1}}` + "\n",
			judge.Result{
				Score: 0.85, Hits: []string{"a", " "}, Misses: []string{"b"}, Reason: "r",
				Details: json.RawMessage(`{"fooBar":1}`),
			},
		},
		{
			"null is absent", `{"score":1,"hits":null,"misses":null,"reasoning":null,"details":null}`,
			judge.Result{Score: 1},
		},
		{"byte order mark", "\ufeff{\"score\":1}\r\n", judge.Result{Score: 1}},
		{
			"a check failed beside one that passed",
			`{"pass":true,"checks":[{"id":"a","pass":true},{"id":"b","pass":false}]}`,
			judge.Result{Pass: new(true), Score: 1, Checks: []judge.Check{{ID: "a", Pass: true}, {ID: "b"}}},
		},
		{"no checks", `{"pass":true,"checks":[]}`, judge.Result{Pass: new(true), Score: 1}},
		{
			"no pass with every check passed", `{"pass":false,"checks":[{"id":"a","pass":true}]}`,
			judge.Result{Pass: new(false), Checks: []judge.Check{{ID: "a", Pass: true}}},
		},
		{"pass alone", `{"pass":true}`, judge.Result{Pass: new(true), Score: 1}},
		{"fail alone", `{"pass":false}`, judge.Result{Pass: new(false)}},
		{"fail with half a score", `{"pass":false,"score":0.5}`, judge.Result{Pass: new(false), Score: 0.5}},
		{
			"form with a word",
			`{"pass":true,"score":0.9,"reason":"r","checks":[{"id":"a","pass":true,"score":1},{"text":"b",` +
				`"pass":false,"reason":"x"}]}`,
			judge.Result{Pass: new(true), Score: 0.9, Reason: "r", Checks: []judge.Check{
				{ID: "a", Pass: true, Score: new(1.0)}, {Text: "b", Reason: "x"},
			}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := judge.ParseResult([]byte(tt.reply))
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestParseResultErrors(t *testing.T) {
	tests := []struct{ name, reply, want string }{
		{"nothing", "", "the reply is not JSON: the text is empty; it was"},
		{"blank", " \n", "not JSON"},
		{"words", "fine", `it was "fine"`},
		{"null", "null", "not a JSON object"},
		{"list", `[{"score":1}]`, "not a JSON object"},
		{"text", `"0.9"`, "not a JSON object"},
		{"number", "1", "not a JSON object"},
		{"empty object", "{}", "score is missing"},
		{"cut", `{"score":1`, "not JSON: the text is incomplete: unexpected EOF"},
		{"cut value", `{"score":`, "not JSON"},
		{"line before", `debug {"score":1}`, "not JSON"},
		{"fence", "```json\n{\"score\":1}\n```", "not JSON"},
		{"line behind", `{"score":1} debug`, "the reply has text after its JSON object; it was"},
		{"second object", `{"score":0}{"score":1}`, "the reply has text after its JSON object"},
		{"key twice", `{"score":0,"score":1}`, `the reply has a duplicate key "score"; it was`},
		{"key in other letters", `{"Score":1}`, `the reply has an unknown key "Score": the keys are score, hits`},
		{"unknown key", `{"score":1,"mises":[]}`, `unknown key "mises"`},
		{"score a text", `{"score":"1"}`, `score must be a number, not "\"1\""`},
		{"score null", `{"score":null}`, "score is missing"},
		{"score true", `{"score":true}`, "score must be a number"},
		{"score NaN", `{"score":NaN}`, "not JSON"},
		{
			"score beyond numbers", `{"score":1e309}`,
			"the reply is not a verdict: score 1e309 is out of range: want 0 to 1; it was",
		},
		{"score far below", `{"score":-1e309}`, "score -1e309 is out of range"},
		{"mark in the middle", "{\"score\":\ufeff1}", "not JSON"},
		{"two marks", "\ufeff\ufeff{\"score\":1}", "not JSON"},
		{"score above 1", `{"score":1.0000000001}`, "out of range"},
		{"score below 0", `{"score":-0.1}`, "out of range"},
		{"score of 7", `{"score":7}`, "out of range"},
		{"hits a text", `{"score":1,"hits":"a"}`, "hits must be a list of strings"},
		{"hits of numbers", `{"score":1,"hits":[1]}`, "hits must be a list of strings"},
		{"null among hits", `{"score":1,"misses":[null]}`, "misses[0] must be a string, not null"},
		{"reasoning a list", `{"score":1,"reasoning":[]}`, "reasoning must be a string"},
		{"details a list", `{"score":1,"details":[]}`, "details must be an object"},
		{"reason without pass", `{"score":1,"reason":"x"}`, "pass is missing"},
		{"reason alone", `{"reason":"completely wrong"}`, "pass is missing"},
		{"pass null", `{"pass":null,"score":1}`, "pass is missing"},
		{"pass a text", `{"pass":"true"}`, "pass must be true or false"},
		{"pass a number", `{"pass":1}`, "pass must be true or false"},
		{"both forms", `{"pass":true,"hits":[]}`, "cannot be combined with"},
		{"no pass with a full score", `{"pass":false,"score":1}`, "contradicts itself"},
		{"pass with a score of 0", `{"pass":true,"score":0}`, "contradicts itself"},
		{
			"pass with its check failed",
			`{"pass":true,"checks":[{"id":"tests","pass":false,"reason":"3 tests fail"}]}`,
			"pass is true, but all checks failed",
		},
		{
			"pass with every check failed",
			`{"pass":true,"score":1,"checks":[{"id":"a","pass":false},{"id":"b","pass":false}]}`, "contradicts itself",
		},
		{
			"pass with half a score and every check failed",
			`{"pass":true,"score":0.5,"checks":[{"id":"a","pass":false}]}`, "contradicts itself",
		},
		{"check without pass", `{"pass":true,"checks":[{"id":"a"}]}`, "checks[0]: pass is missing"},
		{"check without a name", `{"pass":true,"checks":[{"pass":true}]}`, "checks[0]: id or text is required"},
		{
			"check with a score of 2", `{"pass":true,"checks":[{"id":"a","pass":true,"score":2}]}`,
			"checks[0]: score 2 is out of range",
		},
		{
			"check with another key", `{"pass":true,"checks":[{"id":"a","passed":true}]}`,
			`is not a verdict: checks[0]: it has an unknown key "passed"`,
		},
		{"check that is null", `{"pass":true,"checks":[null]}`, "checks[0]: it is not a JSON object"},
		{"nested verdict", `{"result":{"score":1}}`, `unknown key "result"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := judge.ParseResult([]byte(tt.reply))
			require.ErrorContains(t, err, tt.want)
			assert.Zero(t, got)
		})
	}
	_, err := judge.ParseResult([]byte(strings.Repeat("x", 1<<20)))
	assert.Less(t, len(err.Error()), 1000, "a long reply is cut")
}

func TestMarshalErrors(t *testing.T) {
	for _, r := range []judge.Result{
		{Score: math.NaN()},
		{Score: 1.1},
		{Score: -1},
		{Pass: new(true)},
		{Pass: new(false), Score: 1},
		{Checks: []judge.Check{{ID: "a"}}},
		{Pass: new(true), Score: 1, Checks: []judge.Check{{ID: "a"}}},
		{Pass: new(false), Hits: []string{"a"}},
		{Pass: new(false), Checks: []judge.Check{{}}},
		{Details: json.RawMessage("[]")},
		{Pass: new(false), Checks: []judge.Check{{ID: "a", Score: new(math.Inf(1))}}},
	} {
		_, err := json.Marshal(r)
		assert.ErrorContains(t, err, "not a verdict", "%+v", r)
	}
}

// FuzzParseResult checks that what is taken for a verdict is one, and is read again as the same.
func FuzzParseResult(f *testing.F) {
	for _, s := range []string{
		`{"score":0.5,"hits":["a"],"misses":[],"reasoning":"r","details":{"a":[1,{}]}}`, `{"score":1}{"score":0}`,
		`{"pass":false,"score":0.2,"reason":"r","checks":[{"id":"a","text":"b","pass":true,"score":0,"reason":""}]}`,
		`{"pass":true}`, `GRADE: pass`, "```json\n{}\n```", `{"score":0,"score":1}`, `{"score":1e-400}`, `{"score":-0}`,
		"\ufeff{\"score\":1e309}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, reply []byte) {
		got, err := judge.ParseResult(reply)
		if err != nil {
			require.Zero(t, got)
			return
		}
		require.True(t, got.Score >= 0 && got.Score <= 1)
		require.True(t, json.Valid(bytes.TrimPrefix(reply, []byte("\ufeff"))))
		text, err := json.Marshal(got)
		require.NoError(t, err)
		again, err := judge.ParseResult(text)
		require.NoError(t, err)
		repeat, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(text), string(repeat))
	})
}
