package judge_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/judge"
)

func read(text string) (judge.Input, error) { return judge.ReadInput(strings.NewReader(text)) }

func TestReadInput(t *testing.T) {
	in, err := read(`{"question":"q","candidate_answer":"a","config":{"fooBar":1,"snake_case":[1.50]},
		"output_messages":[{"role":"assistant","content":"a",
			"tool_calls":[{"tool":"t","input":{"unitSystem":12345678901234567890},"duration_ms":4.5}]}],
		"trace_summary":{"event_count":1,"tool_names":["t"]},"later_key":{}}`)
	require.NoError(t, err)
	assert.Equal(t, `{"fooBar":1,"snake_case":[1.50]}`, string(in.Config), "word for word")
	call := in.OutputMessages[0].ToolCalls[0]
	assert.Equal(t, map[string]any{"unitSystem": json.Number("12345678901234567890")}, call.Input)
	assert.Equal(t, 4.5, *call.DurationMS)
	assert.Equal(t, 1, in.TraceSummary.EventCount)

	in, err = read(`{"question":"","candidate_answer":"","config":null,"output_messages":null,"trace_summary":null,` +
		`"metrics":null}`)
	require.NoError(t, err)
	assert.Equal(t, judge.Input{}, in)
}

func TestTraceSummaryAsText(t *testing.T) {
	for text, want := range map[string]judge.TraceSummary{
		`"2 calls"`:                      {Text: "2 calls"},
		`"{\"event_count\":2}"`:          {EventCount: 2},
		`" {\"tool_names\":[\"a\"]} "`:   {ToolNames: []string{"a"}},
		`{"event_count":2,"cost_usd":1}`: {EventCount: 2, CostUSD: new(1.0)},
	} {
		in, err := read(`{"question":"q","candidate_answer":"a","trace_summary":` + text + `}`)
		require.NoError(t, err)
		assert.Equal(t, want, *in.TraceSummary)
	}
}

func TestReadInputErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", "", "the text is empty"},
		{"a list", "[]", "cannot unmarshal array"},
		{"another case", `{"Question":"q","candidate_answer":"a"}`, `unknown key "Question": write "question"`},
		{"duplicate key", `{"question":"q","candidate_answer":"a","config":{"a":1,"a":2}}`, `duplicate key "a"`},
		{"text behind", `{"question":"q","candidate_answer":"a"} x`, "text after the JSON value"},
		{"no question", `{"candidate_answer":"a"}`, "question is missing"},
		{"null answer", `{"question":"q","candidate_answer":null}`, "candidate_answer is missing"},
		{"other type", `{"question":"q","candidate_answer":"a","input_files":"x"}`, "cannot unmarshal string"},
		{"broken summary", `{"question":"q","candidate_answer":"a","trace_summary":"{"}`, "trace_summary"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := read(tt.text)
			require.ErrorContains(t, err, "read the judge's input: ")
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// Every key is written, even if nothing is known.
func TestMarshalInput(t *testing.T) {
	text, err := json.Marshal(judge.Input{})
	require.NoError(t, err)
	assert.JSONEq(t, `{"question":"","expected_outcome":"","expected_messages":[],"reference_answer":"",
		"candidate_answer":"","output_messages":null,"guideline_files":[],"input_files":[],"input_messages":[],
		"trace_summary":null,"config":null,
		"schema_version":0,"workspace_path":"","file_changes":"","metrics":null}`, string(text))
}

// FuzzReadInput checks that an input that was read is written and read as the same.
func FuzzReadInput(f *testing.F) {
	f.Add(`{"question":"q","candidate_answer":"a"}`)
	f.Add(`{"question":"q","candidate_answer":"a","trace_summary":"x","config":{"a":1.0},"metrics":[]}`)
	f.Add(`{"question":"q","candidate_answer":"a","output_messages":[{"role":"tool","tool_calls":[{"tool":"t",` +
		`"input":[1e5]}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		in, err := read(text)
		if err != nil {
			return
		}
		first, err := json.Marshal(in)
		require.NoError(t, err)
		again, err := read(string(first))
		require.NoError(t, err)
		second, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(first), string(second))
	})
}
