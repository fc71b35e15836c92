package llmjudge_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/evaluator/llmjudge"
)

func TestLoadErrors(t *testing.T) {
	const ranges = "rubrics: [{id: a, text: t, score_ranges: "
	tests := []struct {
		name string
		keys string // from line 6
		want []string
	}{
		{
			"model and judges", "model: a\njudges: [b]",
			[]string{"5:5: evaluators[0]: only one of `model`, `judges` and `agent` is allowed"},
		},
		{
			"prompt of a script", "prompt: x.ts",
			[]string{"6:13: evaluators[0].prompt: x.ts is a script, whose output is to be the prompt: " +
				"write prompt: {script: [bun, x.ts]}"},
		},
		{
			"prompt of a script beside it", "prompt: ./judges/x.py",
			[]string{"6:13: evaluators[0].prompt: ./judges/x.py is a script, whose output is to be the prompt: " +
				"write prompt: {script: [python3, ./judges/x.py]}"},
		},
		{"no judges", "judges: []", []string{"6:5: evaluators[0].judges: must not be empty"}},
		{
			"judge twice", "judges: [a, b, a]",
			[]string{
				`6:20: evaluators[0].judges[2]: duplicate judge "a", first on line 6: ` + "`samples` asks it again",
			},
		},
		{"empty judge", "judges: ['']", []string{"6:14: evaluators[0].judges[0]: must not be empty"}},
		{
			"unknown key", "model: a\nprompts: x",
			[]string{`7:5: evaluators[0].prompts: unknown key, did you mean "prompt"?`},
		},
		{"no samples", "model: a\nsamples: 0", []string{"7:14: evaluators[0].samples: must be at least 1, not 0"}},
		{"empty prompt", "model: a\nprompt: ' '", []string{"7:13: evaluators[0].prompt: must not be empty"}},
		{
			"a script's keys without a script", "model: a\nprompt: Rate\ntimeout: 1s",
			[]string{"8:14: evaluators[0].timeout: has no effect without a script of a prompt"},
		},
		{
			"prompt of no program", "model: a\nprompt: {script: ['']}",
			[]string{"7:23: evaluators[0].prompt.script[0]: must not be empty"},
		},
		{
			"prompt of another type", "model: a\nprompt: [x]",
			[]string{"7:5: evaluators[0].prompt: must be a mapping, not a list"},
		},
		{
			"unknown key of a prompt", "model: a\nprompt: {script: [sh, p.sh], cwd: x}",
			[]string{"7:34: evaluators[0].prompt.cwd: unknown key"},
		},
		{
			"unknown variable", "model: a\nprompt: 'Rate {{candidate}}'",
			[]string{"7:13: evaluators[0].prompt: line 1: unknown variable {{candidate}}; available: " +
				"candidate_answer, expected_messages, expected_outcome, file_changes, input_messages, " +
				"output_messages, question, reference_answer, tool_calls, config.KEY"},
		},
		{"unknown key of config", "model: a\nconfig: {a: 1}\nprompt: 'Rate {{config.b}}'", []string{
			`8:13: evaluators[0].prompt: line 1: unknown variable {{config.b}}: the evaluator's config has no key "b"`,
		}},
		{
			"open variable", "model: a\nprompt: 'Rate {{candidate_answer'",
			[]string{"7:13: evaluators[0].prompt: line 1: {{ without }}"},
		},
		{
			"config for nothing", "model: a\nconfig: {a: 1}",
			[]string{"7:5: evaluators[0].config: has no effect without a `prompt` that uses it"},
		},
		{
			"timeout for nothing", "model: a\ntimeout: 1s",
			[]string{"7:14: evaluators[0].timeout: has no effect without a script of a prompt"},
		},

		{"no rubrics", "model: a\nrubrics: []", []string{"7:5: evaluators[0].rubrics: must not be empty"}},
		{
			"rubric without text", "model: a\nrubrics: [{id: a}]",
			[]string{"7:15: evaluators[0].rubrics[0]: `evaluators[0].rubrics[0].text` is required"},
		},
		{
			"rubric twice", "model: a\nrubrics: [{id: a, text: t}, {id: a, text: u}]",
			[]string{`7:38: evaluators[0].rubrics[1].id: duplicate rubric "a", first on line 7`},
		},
		{
			"no weight", "model: a\nrubrics: [{id: a, text: t, weight: 0}]",
			[]string{"7:40: evaluators[0].rubrics[0].weight: must be above 0, not 0"},
		},
		{"gap in ranges", "model: a\n" + ranges + "[{range: [0, 3], text: a}, {range: [5, 10], text: b}]}]", []string{
			"7:32: evaluators[0].rubrics[0].score_ranges: no range contains the score 4",
		}},
		{
			"ranges from 1", "model: a\n" + ranges + "[{range: [1, 10], text: a}]}]",
			[]string{"7:32: evaluators[0].rubrics[0].score_ranges: no range contains the score 0"},
		},
		{
			"ranges to 9", "model: a\n" + ranges + "[{range: [0, 9], text: a}]}]",
			[]string{"7:32: evaluators[0].rubrics[0].score_ranges: no range contains the score 10"},
		},
		{"overlap", "model: a\n" + ranges + "[{range: [5, 10], text: b}, {range: [0, 5], text: a}]}]", []string{
			"7:32: evaluators[0].rubrics[0].score_ranges: more than one range contains the score 5",
		}},
		{
			"upside down", "model: a\n" + ranges + "[{range: [10, 0], text: b}]}]",
			[]string{"7:48: evaluators[0].rubrics[0].score_ranges[0].range: [10, 0] is not a range in 0..10"},
		},
		{
			"beyond", "model: a\n" + ranges + "[{range: [0, 11], text: b}]}]",
			[]string{"7:48: evaluators[0].rubrics[0].score_ranges[0].range: [0, 11] is not a range in 0..10"},
		},
		{
			"fraction", "model: a\n" + ranges + "[{range: [0, 9.5], text: b}]}]",
			[]string{"7:59: evaluators[0].rubrics[0].score_ranges[0].range[1]: must be an integer, not 9.5"},
		},
		{
			"three ends", "model: a\n" + ranges + "[{range: [0, 5, 10], text: b}]}]",
			[]string{"7:48: evaluators[0].rubrics[0].score_ranges[0].range: must have at most 2 elements, not 3"},
		},
		{"least score without ranges", "model: a\nrubrics: [{id: a, text: t, required_min_score: 3}]", []string{
			"7:52: evaluators[0].rubrics[0].required_min_score: has no effect without `score_ranges`; " +
				"write `required: true`",
		}},
		{
			"required without a least score", "model: a\n" + ranges + "[{range: [0, 10], text: b}], required: true}]",
			[]string{
				"7:85: evaluators[0].rubrics[0].required: does not say which score is enough: " +
					"write `required_min_score`",
			},
		},
		{
			"contradiction",
			"model: a\n" + ranges + "[{range: [0, 10], text: b}], required: false, required_min_score: 3}]",
			[]string{
				"7:85: evaluators[0].rubrics[0].required: contradicts `required_min_score`",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := newProject(t, map[string]string{"evals/p.sh": ""}).load(tt.keys)
			require.Error(t, err)
			require.Equal(t, "p.yaml:"+strings.Join(tt.want, "\np.yaml:"), err.Error())
		})
	}
}

func TestPromptFiles(t *testing.T) {
	p := newProject(t, map[string]string{
		"prompts/up.txt": "{{candidate_answer}}", "evals/latin.md": "{{candidate_answer}} \xe9",
		"evals/large.md": "{{candidate_answer}}" + strings.Repeat(" ", 1<<20),
	})
	_, err := p.load("model: a\nprompt: prompts/up.txt")
	require.NoError(t, err, "files are looked for above the playbook, too")
	_, err = p.load("model: a\nprompt: latin.md")
	require.ErrorContains(t, err, "latin.md is not valid UTF-8")
	_, err = p.load("model: a\nprompt: large.md")
	require.ErrorContains(t, err, "large.md exceeds the 1 MiB limit")
	_, err = p.load("model: a\nprompt: ../evals")
	require.ErrorContains(t, err, "is not a regular file")
}

// TestDocs holds the section about llm_judge to what is read: its YAML loads, and it has every key.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile("../../../docs/judges.md")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(data), "\n## llm_judge\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	p := newProject(t, map[string]string{"evals/prompts/strict.py": ""})
	blocks := regexp.MustCompile("(?s)```yaml\nevaluators:\n  - (.*?)```").FindAllStringSubmatch(section, -1)
	require.Len(t, blocks, 4)
	for _, block := range blocks {
		keys := strings.ReplaceAll(block[1], "\n    ", "\n")
		_, err := p.load(strings.Replace(keys, "type: llm_judge\n", "", 1))
		assert.NoError(t, err, block[1])
	}
	kind := reflect.TypeOf(llmjudge.Kind().Keys)
	for field := range kind.Fields() {
		key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		assert.Contains(t, section, "`"+key+"`", "key %s", key)
	}
}
