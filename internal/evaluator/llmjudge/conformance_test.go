package llmjudge_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/composite"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/llmjudge"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// good is a reply that passes.
const good = `{"score": 1, "reason": "fine", "hits": [], "misses": []}`

// needs skips a test whose runtime is not installed.
func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed", program)
	}
}

// withBasic is a project with the script of the case table's rows.
func withBasic(t *testing.T) project {
	t.Helper()
	text, err := os.ReadFile("testdata/prompts/basic.py")
	require.NoError(t, err)
	return newProject(t, map[string]string{"prompts/basic.py": string(text), "evals/.keep": ""})
}

// The rows of the case table that are this package's own.

func TestP1ScriptSeesTheUnitAndItsConfig(t *testing.T) {
	needs(t, "python3")
	s := saying(t, good)
	v := withBasic(t).verdict(t, `
model: judge
prompt:
  script: [python3, ../prompts/basic.py]
  config: {rubric: be right, strictMode: true, nested: {fooBar: 1}}`, s)
	require.Equal(t, result.Pass, v.Outcome, v.Reason)
	require.Equal(t, `question: What is 2+2?
answer: The answer is 4
reference: The sum is 4
config: {"nested": {"fooBar": 1}, "rubric": "be right", "strictMode": true}
flags: []`, s.asked[0].user())
}

func TestP3ScriptFails(t *testing.T) {
	s := saying(t, good)
	p := newProject(t, map[string]string{"prompts/boom.sh": "echo boom >&2; exit 3\n"})
	v := p.verdict(t, "model: judge\nprompt: {script: [sh, ../prompts/boom.sh]}", s)
	require.Equal(t, result.Error, v.Outcome)
	require.Nil(t, v.Score)
	for _, part := range []string{"prompts/boom.sh", "exit code 3", "boom"} {
		require.Contains(t, v.Reason, part)
	}
	require.Empty(t, s.asked)
}

func TestP4EmptyPrompt(t *testing.T) {
	s := saying(t, good)
	p := newProject(t, map[string]string{"prompts/blank.sh": "printf ' \\n '\n"})
	v := p.verdict(t, "model: judge\nprompt: {script: [sh, ../prompts/blank.sh]}", s)
	require.Equal(t, result.Error, v.Outcome)
	require.Equal(t, "the prompt: script sh ../prompts/blank.sh: it printed nothing", v.Reason)
	require.Empty(t, s.asked)
}

func TestP5PrintedVariablesAreLiteral(t *testing.T) {
	s := saying(t, good)
	p := newProject(t, map[string]string{
		"prompts/echo.sh": "echo 'Rate {{reference_answer}}'\n",
		"prompts/t.md":    "A: {{candidate_answer}} Q: {{question}}",
	})
	v := p.verdict(t, "model: judge\nprompt: {script: [sh, ../prompts/echo.sh]}", s)
	require.Equal(t, result.Pass, v.Outcome, v.Reason)
	require.Equal(t, "Rate {{reference_answer}}", s.asked[0].user())

	in := unit(s)
	in.Case.Prompts = []string{"{{reference_answer}}"}
	in.Case.ReferenceAnswer = "secret"
	for _, prompt := range []string{"../prompts/t.md", "'{{candidate_answer}} of {{question}}'", "Is it right?"} {
		v := evaluator.Judge(t.Context(), p.mustLoad(t, "model: judge\nprompt: "+prompt), in)
		require.Equal(t, result.Pass, v.Outcome, v.Reason)
		require.NotContains(t, s.asked[len(s.asked)-1].user(), "secret", "a text template is filled in one pass")
	}
}

func TestP7MissingFile(t *testing.T) {
	p := newProject(t, nil)
	for _, prompt := range []string{
		"../prompts/none.md", "./none.txt", "none.md", "{script: [python3, ../prompts/none.py]}",
	} {
		_, err := p.load("model: judge\nprompt: " + prompt)
		require.ErrorContains(t, err, "p.yaml:7:", prompt)
		require.ErrorContains(t, err, "no such file", prompt)
	}
	_, err := p.load("model: judge\nprompt: {script: [/bin/sh, ../prompts/none.sh]}")
	require.ErrorContains(t, err, "must name a script file after the program",
		"the program is none, though it is a file")
}

func TestP8PromptWithoutScript(t *testing.T) {
	_, err := newProject(t, nil).load("model: judge\nprompt: {config: {}}")
	require.EqualError(t, err, "p.yaml:7:5: evaluators[0].prompt: `evaluators[0].prompt.script` is required")
}

func TestP9Argv(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"empty", "[]", "p.yaml:7:14: evaluators[0].prompt.script: must not be empty"},
		{"string", "python3 x.py", "p.yaml:7:22: evaluators[0].prompt.script: must be a list, not a string"},
		{"number", "[1]", "p.yaml:7:23: evaluators[0].prompt.script[0]: must be a string, not a number: quote it"},
		{
			"later number", "[sh, 2]",
			"p.yaml:7:27: evaluators[0].prompt.script[1]: must be a string, not a number: quote it",
		},
		{
			"no script", "[python3, -c, pass]",
			"p.yaml:7:14: evaluators[0].prompt.script: must name a script file after the program",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := newProject(t, nil).load("model: judge\nprompt: {script: " + tt.script + "}")
			require.EqualError(t, err, tt.want)
		})
	}
}

func TestP10TrailingArguments(t *testing.T) {
	needs(t, "python3")
	s := saying(t, good)
	v := withBasic(t).verdict(t, "model: judge\nprompt: {script: [python3, ../prompts/basic.py, --flag]}", s)
	require.Equal(t, result.Pass, v.Outcome, v.Reason)
	require.Contains(t, s.asked[0].user(), "flags: ['--flag']")
}

func TestP11EvaluatorsConfig(t *testing.T) {
	needs(t, "python3")
	tests := []struct{ name, keys, want string }{
		{"the evaluator's", "config: {top: 1}", `config: {"top": 1}`},
		{"none", "", "config: null"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := saying(t, good)
			v := withBasic(t).verdict(t, "model: judge\nprompt: {script: [python3, ../prompts/basic.py]}\n"+tt.keys, s)
			require.Equal(t, result.Pass, v.Outcome, v.Reason)
			require.Contains(t, s.asked[0].user(), tt.want)
		})
	}
}

const allVariables = `{{question}} | {{candidate_answer}} | {{reference_answer}} | {{expected_outcome}}
{{input_messages}}
{{output_messages}}
{{expected_messages}} | {{file_changes}} | {{ tool_calls }} | {{config.key}} {{config.more}}
`

func TestP12TextTemplate(t *testing.T) {
	p := newProject(t, map[string]string{
		"prompts/all.md":     allVariables,
		"prompts/unknown.md": allVariables + "{{unknown_var}}\n",
	})
	keys := "model: judge\nconfig: {key: k, more: {fooBar: [1.50]}}\nprompt: ../prompts/"
	_, err := p.load(keys + "unknown.md")
	require.ErrorContains(t, err,
		"p.yaml:8:13: evaluators[0].prompt: ../prompts/unknown.md: line 5: unknown variable {{unknown_var}}")

	s := saying(t, good)
	v := p.verdict(t, keys+"all.md", s)
	require.Equal(t, result.Pass, v.Outcome, v.Reason)
	text := s.asked[0].user()
	for _, part := range []string{
		"What is 2+2? | The answer is 4 | The sum is 4 | \n", `"content": "The answer is 4"`,
		`"query": "weather Paris"`,
		`"tool": "get_weather"`, "k {\n  \"fooBar\": [\n    1.50\n  ]\n}",
	} {
		require.Contains(t, text, part)
	}
	require.NotContains(t, text, "{{")
}

func TestP13TemplateThatShowsNothing(t *testing.T) {
	p := newProject(t, map[string]string{"prompts/blind.md": "Is {{question}} {{tool_calls}} answered?"})
	_, err := p.load("model: judge\nprompt: ../prompts/blind.md")
	require.EqualError(t, err,
		"p.yaml:7:13: evaluators[0].prompt: ../prompts/blind.md does not show the judge what the agent did: "+
			"use one of {{candidate_answer}}, {{output_messages}}, {{file_changes}}")
}

func TestJ1FencedReply(t *testing.T) {
	v := newProject(t, nil).verdict(t, "model: judge\nthreshold: 0.8",
		saying(t, "Here is my verdict.\n```json\n{\"score\": 0.85, \"reasoning\": \"nearly\"}\n```\nThat is all."))
	require.Equal(t, result.Pass, v.Outcome, v.Reason)
	require.Equal(t, 0.85, *v.Score)
}

func TestJ2OutOfRange(t *testing.T) {
	for reply, want := range map[string]string{
		`{"score":1.5}`: `judge judge: the reply: score 1.5 is out of range: want 0 to 1; ` +
			`the reply was "{\"score\":1.5}"`,
		"Score: 0.5": `judge judge: the reply has no JSON object; the reply was "Score: 0.5"`,
	} {
		v := newProject(t, nil).verdict(t, "model: judge", saying(t, reply))
		require.Equal(t, evaluator.Verdict{Outcome: result.Error, Reason: want}, v)
	}
}

func TestJ3ThresholdIsInclusive(t *testing.T) {
	p := newProject(t, nil)
	for threshold, want := range map[string]result.Outcome{"0.6": result.Pass, "0.61": result.Fail} {
		v := p.verdict(t, "model: judge\nthreshold: "+threshold, saying(t, `{"score":0.6}`))
		require.Equal(t, want, v.Outcome)
		require.Equal(t, 0.6, *v.Score)
	}
}

func TestJ4MissingRubric(t *testing.T) {
	v := newProject(t, nil).verdict(t, `
model: judge
rubrics:
  - {id: r1, text: one, required: true}
  - {id: r2, text: two, required: true}`,
		saying(t, `{"checks": [{"id": "r1", "pass": true, "reason": "yes"}], "reason": "ok"}`))
	require.Equal(t, result.Error, v.Outcome)
	require.Nil(t, v.Score)
	require.Contains(t, v.Reason, "rubric r2 is missing")
}

func TestJ5ScoreRanges(t *testing.T) {
	const ranges = "score_ranges: [{range: [0, 4], text: bad}, {range: [5, 10], text: good}]"
	v := newProject(t, nil).verdict(t, `
model: judge
rubrics:
  - {id: acc, text: accuracy, weight: 3, required_min_score: 9, `+ranges+`}
  - {id: sty, text: style, `+ranges+`}`,
		saying(t, `{"checks": [{"id": "sty", "score": 4}, {"id": "acc", "score": 8}]}`))
	require.Equal(t, result.Fail, v.Outcome)
	require.Equal(t, 0.7, *v.Score)
	require.Equal(t, "rubric acc has 8 of 10, less than 9, and is required", v.Reason)
}

func TestJ6NoScore(t *testing.T) {
	for reply, want := range map[string]string{
		`{"reason":"completely wrong"}`: "score is missing",
		`{"pass":false,"score":1}`:      "it has `pass`, but the threshold decides what passes",
		`{"score":7}`:                   "score 7 is out of range: want 0 to 1",
	} {
		v := newProject(t, nil).verdict(t, "model: judge", saying(t, reply))
		require.Equal(t, result.Error, v.Outcome, reply)
		require.Nil(t, v.Score)
		require.Contains(t, v.Reason, want)
		require.Contains(t, v.Reason, fmt.Sprintf("the reply was %q", reply))
	}
}

func TestK1MembersOwnPrompt(t *testing.T) {
	p := newProject(t, map[string]string{"evals/own.md": "Mine: {{candidate_answer}}"})
	pb, err := p.playbook(`
type: composite
members:
  - {name: mine, type: llm_judge, model: judge, prompt: own.md}
  - {name: other, type: llm_judge, model: judge, prompt: 'Other: {{candidate_answer}}'}`,
		plan.Kinds{"composite": composite.Kind(), "llm_judge": llmjudge.Kind()})
	require.NoError(t, err)
	s := saying(t, good)
	v := evaluator.Judge(t.Context(), pb.Evaluators[0], unit(s))
	require.Equal(t, result.Pass, v.Outcome, v.Reason)
	require.Len(t, s.asked, 2)
	require.Equal(t, "Mine: The answer is 4", s.asked[0].user())
	require.Equal(t, "Other: The answer is 4", s.asked[1].user())
}

func TestScriptTimeout(t *testing.T) {
	p := newProject(t, map[string]string{"prompts/slow.sh": "sleep 86400 & sleep 86400\n"})
	v := p.verdict(t, "model: judge\ntimeout: 200ms\nprompt: {script: [sh, ../prompts/slow.sh]}", saying(t, good))
	require.Equal(t, result.Error, v.Outcome)
	require.True(t, strings.Contains(v.Reason, "timeout"), v.Reason)
}
