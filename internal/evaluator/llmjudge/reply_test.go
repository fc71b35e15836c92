package llmjudge

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

// testRubrics are a rubric that holds or not and a graded one.
var testRubrics = []rubric{
	{id: "r1", text: "one", weight: 1, least: maxScore},
	{id: "acc", text: "accuracy", weight: 3, ranges: []scoreRange{{0, 10, "any"}}},
}

func TestParseScore(t *testing.T) {
	const several = "the reply has more than one JSON object, or a part of one"
	tests := []struct {
		name, reason string
		reply        string
		want         opinion
		err          string
	}{
		{
			"all", "", `{"score": 0.5, "reason": "half", "hits": ["a"], "misses": ["b", " "]}`,
			opinion{score: 0.5, reason: "half", hits: []string{"a"}, misses: []string{"b"}},
			"",
		},
		{"score alone", "", `{"score": 1}`, opinion{score: 1}, ""},
		{"reasoning", "", `{"score": 0, "reasoning": "r"}`, opinion{reason: "r"}, ""},
		{"minus nothing", "it is not shown as -0", `{"score": -0.0}`, opinion{}, ""},
		{
			"variables", "they are a text as any other", `{"score": 0, "reason": "{{reference_answer}} ${{ x }}"}`,
			opinion{reason: "{{reference_answer}} ${{ x }}"},
			"",
		},
		{
			"object in a text", "it is a text", `{"score": 0.1, "reason": "{\"score\": 1}"}`,
			opinion{score: 0.1, reason: `{"score": 1}`},
			"",
		},

		{"GRADE: pass", "a verdict in words is none", "GRADE: pass", opinion{}, "the reply has no JSON object"},
		{"GRADE: pass before the object", "the object counts", "GRADE: pass\n{\"score\": 0}", opinion{}, ""},
		{"second object", "which one counts?", `{"score": 0} {"score": 1}`, opinion{}, several},
		{"second object in a block", "", "{\"score\": 0}\n```json\n{\"score\": 1}\n```", opinion{}, several},
		{"two blocks", "", "```\n{\"score\": 0}\n```\n```\n{\"score\": 1}\n```", opinion{}, several},
		{
			"nested object", "what is inside is no verdict", `{"verdict": {"score": 1}}`,
			opinion{},
			`the reply: unknown key "verdict": the keys are score, reason, reasoning, hits, misses`,
		},
		{
			"nested beside", "", `{"score": 0, "override": {"score": 1}}`,
			opinion{},
			`the reply: unknown key "override": the keys are score, reason, reasoning, hits, misses`,
		},
		{
			"score twice", "readers differ in which counts", `{"score": 0, "score": 1}`,
			opinion{},
			`the reply's JSON object: duplicate key "score"`,
		},
		{
			"other case", "encoding/json would take it", `{"score": 0, "Score": 1}`,
			opinion{},
			`the reply: unknown key "Score": the keys are score, reason, reasoning, hits, misses`,
		},
		{"list", "", `[{"score": 1}]`, opinion{}, several},

		{"no score", "", `{"reason": "bad"}`, opinion{}, "the reply: score is missing"},
		{"null", "", `{"score": null}`, opinion{}, `the reply: score must be a number, not "null"`},
		{"string", "", `{"score": "1"}`, opinion{}, `the reply: score must be a number, not "\"1\""`},
		{"boolean", "", `{"score": true}`, opinion{}, `the reply: score must be a number, not "true"`},
		{
			"NaN", "", `{"score": NaN}`,
			opinion{},
			"the reply's JSON object: invalid character 'N' looking for beginning of value",
		},
		{"NaN in a string", "", `{"score": "NaN"}`, opinion{}, `the reply: score must be a number, not "\"NaN\""`},
		{
			"infinite", "a number, but too large", `{"score": 1e999}`,
			opinion{},
			"the reply: score 1e999 is out of range: want 0 to 1",
		},
		{"negative", "", `{"score": -0.1}`, opinion{}, "the reply: score -0.1 is out of range: want 0 to 1"},
		{"percent", "", `{"score": 85}`, opinion{}, "the reply: score 85 is out of range: want 0 to 1"},
		{
			"pass", "", `{"score": 1, "pass": true}`,
			opinion{},
			"the reply: it has `pass`, but the threshold decides what passes",
		},
		{
			"two reasons", "", `{"score": 1, "reason": "a", "reasoning": "b"}`,
			opinion{},
			"the reply: it has both `reason` and `reasoning`",
		},
		{
			"reason of another type", "", `{"score": 1, "reason": 1}`,
			opinion{},
			`the reply: reason must be a string, not "1"`,
		},
		{
			"null in hits", "", `{"score": 1, "hits": ["a", null]}`,
			opinion{},
			"the reply: hits[1] must be a string, not null",
		},
		{
			"number in misses", "", `{"score": 1, "misses": [1]}`,
			opinion{},
			`the reply: misses must be a list of strings, not "[1]"`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parse(tt.reply, nil)
			if tt.err != "" {
				require.EqualError(t, err, tt.err, tt.reason)
				return
			}
			require.NoError(t, err, tt.reason)
			require.Equal(t, tt.want, got, tt.reason)
			require.False(t, math.Signbit(got.score))
		})
	}
}

func TestParseChecks(t *testing.T) {
	tests := []struct {
		name, checks string
		want         opinion
		err          string
	}{
		{
			"all", `{"id": "acc", "score": 5, "reason": "so"}, {"id": "r1", "pass": true}`,
			opinion{score: 0.625, checks: []check{{10, ""}, {5, "so"}}},
			"",
		},
		{"none", "", opinion{}, "the reply: rubric r1 is missing"},
		{"one is missing", `{"id": "r1", "pass": true}`, opinion{}, "the reply: rubric acc is missing"},
		{
			"twice", `{"id": "r1", "pass": false}, {"id": "r1", "pass": true}`,
			opinion{},
			"the reply: checks[1]: duplicate rubric \"r1\"",
		},
		{"unknown", `{"id": "r2", "pass": true}`, opinion{}, `the reply: checks[0]: unknown rubric "r2"`},
		{"no id", `{"pass": true}`, opinion{}, "the reply: checks[0]: id is missing"},
		{
			"score of what holds or not", `{"id": "r1", "score": 10}`,
			opinion{},
			`the reply: checks[0]: unknown key "score": the keys are id, pass, reason, reasoning`,
		},
		{
			"pass of what is graded", `{"id": "acc", "pass": true}`,
			opinion{},
			`the reply: checks[0]: unknown key "pass": the keys are id, score, reason, reasoning`,
		},
		{
			"both", `{"id": "r1", "pass": false, "score": 10}`,
			opinion{},
			`the reply: checks[0]: unknown key "score": the keys are id, pass, reason, reasoning`,
		},
		{
			"pass in a string", `{"id": "r1", "pass": "true"}`,
			opinion{},
			`the reply: checks[0]: pass must be true or false, not "\"true\""`,
		},
		{
			"pass null", `{"id": "r1", "pass": null}`,
			opinion{},
			`the reply: checks[0]: pass must be true or false, not "null"`,
		},
		{
			"fraction", `{"id": "acc", "score": 7.5}`,
			opinion{},
			"the reply: checks[0]: the score 7.5 of rubric acc is not an integer",
		},
		{
			"too much", `{"id": "acc", "score": 11}`,
			opinion{},
			"the reply: checks[0]: score 11 is out of range: want 0 to 10",
		},
		{"no object", `"r1"`, opinion{}, `the reply: checks must be a list of objects, not "[\"r1\"]"`},
		{"null", `null`, opinion{}, "the reply: checks[0]: id is missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parse(`{"checks": [`+tt.checks+`]}`, testRubrics)
			if tt.err != "" {
				require.EqualError(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
	for reply, want := range map[string]string{
		`{"score": 1}`:                `the reply: unknown key "score": the keys are checks, reason, reasoning`,
		`{"reason": "x"}`:             "the reply: checks is missing",
		`{"checks": {"r1": true}}`:    `the reply: checks must be a list of objects, not "{\"r1\": true}"`,
		`{"checks": null}`:            `the reply: checks must be a list of objects, not "null"`,
		`{"checks": [], "score": 10}`: `the reply: unknown key "score": the keys are checks, reason, reasoning`,
	} {
		_, err := parse(reply, testRubrics)
		require.EqualError(t, err, want, reply)
	}
}

// Rounding of the weights must not make a full score less than 1.
func TestFullScore(t *testing.T) {
	rubrics := []rubric{{id: "a", weight: 0.1}, {id: "b", weight: 0.2}, {id: "c", weight: 0.3}, {id: "d", weight: 0.7}}
	got, err := parse(`{"checks": `+
		`[{"id":"a","pass":true},{"id":"b","pass":true},{"id":"c","pass":true},{"id":"d","pass":true}]}`, rubrics)
	require.NoError(t, err)
	require.Equal(t, 1.0, got.score)
}

// A score below 1 must not be rounded up: a required rubric may have a tiny weight.
func TestAlmostFullScore(t *testing.T) {
	rubrics := []rubric{{id: "a", weight: 1}, {id: "b", weight: 1e-15, least: maxScore}}
	got, err := parse(`{"checks": [{"id": "a", "pass": true}, {"id": "b", "pass": false}]}`, rubrics)
	require.NoError(t, err)
	require.Less(t, got.score, 1.0)
	v := panel{models: []string{"m"}, rubrics: rubrics}.verdict([][]opinion{{got}})
	require.Equal(t, result.Fail, v.Outcome)
	require.Less(t, *v.Score, 1.0)
}

func TestForm(t *testing.T) {
	for name, rubrics := range map[string][]rubric{
		"score": nil, "both kinds": testRubrics, "one kind": testRubrics[:1],
	} {
		f := formOf(rubrics)
		var schema map[string]any
		require.NoError(t, json.Unmarshal(f.schema, &schema), name)
		require.Equal(t, false, schema["additionalProperties"], name)
		require.Len(t, schema["required"], len(schema["properties"].(map[string]any)), name)
		for _, r := range rubrics {
			require.Contains(t, f.instructions, "- "+r.id+": ", name)
			require.Contains(t, string(f.schema), `"`+r.id+`"`, name)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"score": 0.5, "reason": "half", "hits": ["a"], "misses": ["b"]}`, `{"score": 1e999}`, "GRADE: pass",
		`{"score":0}{"score":1}`,
		"```json\n{\"score\": 1}\n```",
		`{"checks": [{"id": "acc", "score": 5}, {"id": "r1", "pass": true, "reason": "x"}], "reason": "y"}`,
		`{"checks": [{"id": "r1", "pass": null}]}`, `{"score": -0.0}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, reply string) {
		o, err := parse(reply, nil)
		if err == nil {
			require.True(t,
				o.score >= 0 && o.score <= 1 && strings.Contains(reply, `score`) || strings.Contains(reply, `\u`))
			require.Empty(t, o.checks)
		} else {
			require.Zero(t, o.score, "an error is never a score")
		}
		o, err = parse(reply, testRubrics)
		if err == nil {
			require.True(t, o.score >= 0 && o.score <= 1)
			require.Len(t, o.checks, len(testRubrics))
		} else {
			require.Zero(t, o, "an error is never a score")
		}
	})
}
