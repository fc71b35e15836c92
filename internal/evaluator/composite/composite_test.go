package composite_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/composite"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/testkit/evaluatortest"
)

// fake returns the verdict in its keys, and records that it was asked.
type fake struct {
	Say     string   `yaml:"say" enum:"skip,error,nothing"`
	Score   float64  `yaml:"score"`
	NaN     bool     `yaml:"nan"`
	Reason  string   `yaml:"reason"`
	Detail  string   `yaml:"detail"`
	Depends int      `yaml:"needs"`
	Prompt  string   `yaml:"prompt"`
	Script  []string `yaml:"script"`

	asked *[]string
}

func (f fake) Needs() evaluator.Needs { return evaluator.Needs(f.Depends) }

func (f fake) Evaluate(context.Context, evaluator.Input) evaluator.Verdict {
	*f.asked = append(*f.asked, f.Prompt+strings.Join(f.Script, " "))
	v := evaluator.Verdict{Outcome: result.Pass, Reason: f.Reason, Detail: f.Detail}
	switch {
	case f.Say == "nothing":
		v.Outcome = ""
		return v
	case f.Say != "":
		v.Outcome = result.Outcome(f.Say)
		return v
	case f.NaN:
		f.Score = math.NaN()
	}
	v.Score = &f.Score
	if f.Score < 1 {
		v.Outcome = result.Fail
	}
	return v
}

// parse decodes an evaluator whose own keys are given, without indentation. The prompts and scripts of the members that
// it asks are added to asked.
func parse(keys string, asked *[]string) (plan.Evaluator, error) {
	kind := plan.Kind{Keys: fake{}, Decode: func(n *doc.Node) any {
		f := fake{asked: asked}
		n.Decode(&f)
		return f
	}}
	return evaluatortest.ParseAmong(plan.Kinds{
		"composite": composite.Kind(), "fake": kind, "llm_judge": kind, "code_judge": kind,
	}, "composite", keys)
}

// judge asks the composite as a unit does, with its threshold.
func judge(t *testing.T, keys string) (evaluator.Verdict, []string) {
	t.Helper()
	var asked []string
	e, err := parse(keys, &asked)
	require.NoError(t, err)
	return evaluator.Judge(context.Background(), e, evaluator.Input{}), asked
}

func TestC6(t *testing.T) {
	v, _ := judge(t,
		"members: [{name: a, type: fake, score: 1, weight: 3}, {name: b, type: fake, score: 0, reason: no tests}]")
	assert.Equal(t, result.Fail, v.Outcome, "an average hides no failure: the threshold is 1")
	assert.Equal(t, 0.75, *v.Score)
	assert.Equal(t, "b 0: no tests", v.Reason)
	assert.Equal(t, "✓ a (fake, weight 3) pass 1\n✗ b (fake, weight 1) fail 0: no tests", v.Detail)

	u := result.Unit{Evaluations: []result.Evaluation{
		{Outcome: result.Pass, Score: new(1.0), Weight: 3}, {Outcome: result.Fail, Score: new(0.0), Weight: 1},
	}}
	u.Judge()
	assert.Equal(t, 0.75, *u.Score(), "without a composite it is the same")
	assert.Equal(t, result.Fail, u.Outcome)
}

func TestK1(t *testing.T) {
	v, asked := judge(t, `
members:
  - {type: llm_judge, prompt: Be polite., score: 1}
  - {type: code_judge, script: [sh, check.sh], score: 1}`)
	assert.Equal(t, result.Pass, v.Outcome)
	assert.Equal(t, []string{"Be polite.", "sh check.sh"}, asked, "each member has its own keys")
}

func TestVerdict(t *testing.T) {
	tests := []struct {
		name, reason string
		keys         string
		outcome      result.Outcome
		score        float64
		why          string
	}{
		{
			"mean", "", "threshold: 0.7\nmembers: [{name: a, type: fake, score: 0.5}, {name: b, type: fake, score: 1}]",
			result.Pass, 0.75, "a 0.5",
		},
		{
			"mean below", "",
			"threshold: 0.8\nmembers: [{name: a, type: fake, score: 0.5}, {name: b, type: fake, score: 1}]",
			result.Fail, 0.75, "a 0.5",
		},
		{
			"member just below its threshold", "",
			"all: [{name: a, type: fake, score: 0.79999999, threshold: 0.8}]", result.Fail, 0, "a 0.79999999",
		},
		{
			"mean of several", "",
			"members: [{name: a, type: fake, score: 0.5, reason: r}, {name: b, type: fake, score: 0}]", result.Fail,
			0.25, "a 0.5: r (and 1 more)",
		},
		{
			"without weight", "its score is shown",
			"members: [{name: a, type: fake, score: 1}, {name: b, type: fake, score: 0, weight: 0}]", result.Pass, 1,
			"",
		},
		{
			"hardly any weight", "rounding hides no failure",
			"members: [{name: a, type: fake, score: 1, weight: 1e17}, {name: b, type: fake}]", result.Fail,
			math.Nextafter(1, 0), "b 0",
		},
		{
			"skipped without weight", "it would not count anyway",
			"members: [{name: a, type: fake, score: 1}, {name: b, type: fake, say: skip, weight: 0}]", result.Pass, 1,
			"",
		},

		{
			"required", "",
			"threshold: 0.5\nmembers: [{name: a, type: fake, score: 1, required: true}, {name: b, type: fake, score: " +
				"0}]", result.Pass, 0.5, "b 0",
		},
		{
			"required fails", "whatever the mean",
			"threshold: 0.5\nmembers: [{name: a, type: fake, score: 1, weight: 9}, {name: b, type: fake, score: 0.9, " +
				"required: true, reason: r}]", result.Fail, 0, "required: b 0.9: r",
		},
		{
			"required reaches its threshold", "",
			"threshold: 0.5\nmembers: [{name: a, type: fake, score: 0.9, required: true, threshold: 0.9}]", result.Pass,
			0.9, "a 0.9",
		},
		{
			"required without weight", "it only has to pass",
			"members: [{name: a, type: fake, score: 1}, {name: b, type: fake, weight: 0, required: true}]", result.Fail,
			0, "required: b 0",
		},
		{
			"not required", "as if it were not said",
			"threshold: 0.5\nmembers: [{name: a, type: fake, score: 1}, {name: b, type: fake, required: false}]",
			result.Pass, 0.5, "b 0",
		},
		{
			"required fails, another is skipped", "the other could not help",
			"members: [{name: a, type: fake, say: skip}, {name: b, type: fake, required: true}]", result.Fail, 0,
			"required: b 0",
		},

		{
			"all", "", "all: [{name: a, type: fake, score: 1}, {name: b, type: fake, score: 0.5, threshold: 0.5}]",
			result.Pass, 1, "",
		},
		{
			"all but one", "",
			"threshold: 0.1\nall: [{name: a, type: fake, score: 1}, {name: b, type: fake, score: 0.5}]", result.Fail, 0,
			"b 0.5",
		},
		{
			"all, one fails and one is skipped", "", "all: [{name: a, type: fake, say: skip}, {name: b, type: fake}]",
			result.Fail, 0, "b 0",
		},
		{"any", "", "any: [{name: a, type: fake}, {name: b, type: fake, score: 1}]", result.Pass, 1, ""},
		{
			"any, one passes and one is skipped", "",
			"any: [{name: a, type: fake, say: skip}, {name: b, type: fake, score: 1}]", result.Pass, 1, "",
		},
		{
			"none", "", "threshold: 0.1\nany: [{name: a, type: fake, score: 0.9, reason: r}, {name: b, type: fake}]",
			result.Fail, 0, "none passed: a 0.9: r (and 1 more)",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, asked := judge(t, tt.keys)
			assert.Equal(t, tt.outcome, v.Outcome, tt.reason)
			require.NotNil(t, v.Score)
			assert.Equal(t, tt.score, *v.Score)
			assert.Equal(t, tt.why, v.Reason)
			assert.Len(t, asked, strings.Count(tt.keys, "name:"), "all are asked")
		})
	}
}

// If a member that counts has no verdict, the composite has none, and no score.
func TestNothingKnown(t *testing.T) {
	tests := []struct {
		name, keys string
		outcome    result.Outcome
		why        string
	}{
		{
			"error in a mean",
			"members: [{name: a, type: fake, score: 1, weight: 99}, {name: b, type: fake, say: error, reason: boom}]",
			result.Error, "b: boom",
		},
		{
			"error without weight",
			"members: [{name: a, type: fake, score: 1}, {name: b, type: fake, say: error, weight: 0, reason: boom}]",
			result.Error, "b: boom",
		},
		{
			"error though one passes",
			"any: [{name: a, type: fake, score: 1}, {name: b, type: fake, say: error, reason: boom}]", result.Error,
			"b: boom",
		},
		{
			"error though one fails", "all: [{name: a, type: fake}, {name: b, type: fake, say: error, reason: boom}]",
			result.Error, "b: boom",
		},
		{
			"error though a required one fails",
			"members: [{name: a, type: fake, required: true}, {name: b, type: fake, say: error, reason: boom}]",
			result.Error, "b: boom",
		},
		{
			"two errors", "any: [{name: a, type: fake, say: error, reason: bang}, {name: b, type: fake, say: error}]",
			result.Error, "a: bang (and 1 more)",
		},
		{
			"NaN", "members: [{name: a, type: fake, nan: true}, {name: b, type: fake, score: 1}]", result.Error,
			`a: evaluator a returned "pass" without a score between 0 and 1`,
		},
		{
			"score above 1", "any: [{name: a, type: fake, score: 1.5}]", result.Error,
			`a: evaluator a returned "pass" without a score between 0 and 1`,
		},
		{"no outcome", "members: [{name: a, type: fake, say: nothing}]", result.Error, "a"},
		{
			"all skipped",
			"members: [{name: a, type: fake, say: skip, reason: not asked}, {name: b, type: fake, say: skip}]",
			result.Skip, "skipped: a: not asked (and 1 more)",
		},
		{
			"one skipped in a mean",
			"members: [{name: a, type: fake, score: 1}, {name: b, type: fake, say: skip, reason: not asked}]",
			result.Skip, "skipped: b: not asked",
		},
		{
			"required skipped",
			"members: [{name: a, type: fake, score: 1}, {name: b, type: fake, say: skip, weight: 0, required: true}]",
			result.Skip, "skipped: b",
		},
		{
			"one skipped of all", "all: [{name: a, type: fake, score: 1}, {name: b, type: fake, say: skip}]",
			result.Skip, "skipped: b",
		},
		{
			"one skipped of any", "any: [{name: a, type: fake}, {name: b, type: fake, say: skip}]", result.Skip,
			"skipped: b",
		},
		{
			"error beside a skip",
			"all: [{name: a, type: fake, say: skip}, {name: b, type: fake, say: error, reason: boom}]", result.Error,
			"b: boom",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, asked := judge(t, tt.keys)
			assert.Equal(t, tt.outcome, v.Outcome)
			assert.Nil(t, v.Score)
			assert.Equal(t, tt.why, v.Reason)
			assert.Len(t, asked, strings.Count(tt.keys, "name:"), "all are asked")
			assert.Len(t, strings.Split(v.Detail, "\n"), strings.Count(tt.keys, "name:"), "all are shown")
		})
	}
}

func TestNested(t *testing.T) {
	v, _ := judge(t, `
threshold: 0.5
members:
  - name: either
    type: composite
    weight: 3
    required: true
    any:
      - {name: a, type: fake, reason: no a, detail: "✗ a\n    b"}
      - {name: b, type: fake, score: 1}
  - {name: c, type: fake, say: skip, weight: 0, reason: not asked}
  - {name: d, type: fake, score: 0.25}`)
	assert.Equal(t, result.Pass, v.Outcome)
	assert.Equal(t, 0.8125, *v.Score)
	assert.Equal(t, `✓ either (composite, weight 3, required) pass 1
    ✗ a (fake) fail 0: no a
        ✗ a
            b
    ✓ b (fake) pass 1
- c (fake, weight 0) skip: not asked
✗ d (fake, weight 1) fail 0.25`, v.Detail)

	v, _ = judge(t, "all: [{type: composite, any: [{type: fake, say: error, reason: boom}]}]")
	assert.Equal(t, result.Error, v.Outcome, "an error comes through")
	assert.Equal(t, "composite: fake: boom", v.Reason)
	assert.Equal(t, "! composite (composite) error: fake: boom\n    ! fake (fake) error: boom", v.Detail)
}

func TestNeeds(t *testing.T) {
	e, err := parse("all: [{type: fake, needs: 1}, {type: composite, any: [{type: fake, needs: 4}]}]", new([]string))
	require.NoError(t, err)
	assert.Equal(t, evaluator.NeedsWorkspace|evaluator.AsksModel, e.Config.(evaluator.Evaluator).Needs())
}

func TestLoadErrors(t *testing.T) {
	const one = "5:5: evaluators[0]: exactly one of `members`, `all` and `any` is required"
	const weights = "the weights must add up to more than 0 and be finite: use `all` if no score is wanted"
	tests := []struct{ name, keys, want string }{
		{"no list", "weight: 1", one},
		{"two lists", "all: [{type: fake}]\nany: [{type: fake}]", one},
		{"empty list", "members: []", "6:5: evaluators[0].members: must not be empty"},
		{"null", "any:", "6:9: evaluators[0].any: must be a list, but there is no value"},
		{"no list at all", "all: {type: fake}", "6:5: evaluators[0].all: must be a list, not a mapping"},
		{
			"unknown type", "all: [{type: fak}]",
			`6:18: evaluators[0].all[0].type: unknown type "fak", did you mean "fake"?`,
		},
		{"no type", "all: [{name: a}]", "6:11: evaluators[0].all[0]: `evaluators[0].all[0].type` is required"},
		{"no mapping", "all: [fake]", "6:11: evaluators[0].all[0]: must be a mapping, not a string"},
		{
			"unknown key of a member", "all: [{type: fake, sccore: 1}]",
			`6:24: evaluators[0].all[0].sccore: unknown key, did you mean "score"?`,
		},
		{
			"threshold above 1", "all: [{type: fake, threshold: 1.5}]",
			"6:35: evaluators[0].all[0].threshold: must be at most 1, not 1.5",
		},
		{
			"same names", "any: [{type: fake}, {type: fake}]",
			"6:25: evaluators[0].any[1].name: duplicate evaluator name \"fake\", first on line 6: write a `name`",
		},
		{
			"same names below", "any: [{type: composite, all: [{name: a, type: fake}, {name: a, type: fake}]}]",
			"6:65: evaluators[0].any[0].all[1].name: duplicate evaluator name \"a\", first on line 6: write a `name`",
		},
		{
			"weight in all", "all: [{type: fake, weight: 2}]",
			"6:32: evaluators[0].all[0].weight: has no effect in `all`, only in `members`",
		},
		{
			"required in any", "any: [{type: fake, required: true}]",
			"6:34: evaluators[0].any[0].required: has no effect in `any`, only in `members`",
		},
		{
			"threshold in a mean", "members: [{type: fake, threshold: 0.5}]",
			"6:39: evaluators[0].members[0].threshold: has no effect without `required: true`: " +
				"the threshold of the mean decides",
		},
		{"no weight", "members: [{type: fake, weight: 0, required: true}]", "6:5: evaluators[0].members: " + weights},
		{
			"infinite weight", "members: [{name: a, type: fake, weight: 1e308}, {type: fake, weight: 1e308}]",
			"6:5: evaluators[0].members: " + weights,
		},
		{
			"negative weight", "members: [{name: a, type: fake, weight: -1}, {type: fake, weight: 3}]",
			"6:45: evaluators[0].members[0].weight: must be at least 0, not -1",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse(tt.keys, nil)
			assert.EqualError(t, err, "p.yaml:"+tt.want)
		})
	}
}
