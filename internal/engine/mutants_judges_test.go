package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/judgment"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/testkit/mutatedata"
)

// asker answers as models that judge.
type asker func(llm.Request) string

func (a asker) Complete(_ context.Context, r llm.Request) (llm.Reply, error) {
	return llm.Reply{Text: a(r), Model: r.Model, InputTokens: 900, OutputTokens: 30}, nil
}

// asked lets a playbook's judges ask.
func asked(a llm.Asker) func(*engine.Config) {
	return func(c *engine.Config) {
		c.LLMJudge = true
		c.Models = func() (llm.Asker, error) { return a, nil }
	}
}

// judgeEvaluators have thresholds that what is said reaches, or not.
func judgeEvaluators(plain, rubrics float64) string {
	return fmt.Sprintf(`evaluators:
  - {name: plain, type: llm_judge, judges: [a, b], samples: 2, threshold: %v}
  - {name: rubrics, type: llm_judge, model: c, threshold: %v, rubrics: [
      {id: one, text: It is one.}, {id: two, text: It is two., weight: 2}]}
`, plain, rubrics)
}

const (
	plainReply   = `{"score":0.75,"reason":"mostly","hits":["one"],"misses":["two"]}`
	rubricsReply = `{"checks":[{"id":"one","pass":false,"reason":"no"},{"id":"two","pass":true,"reason":"yes"}],` +
		`"reason":"two of three"}`
)

// says answers with the replies.
func says(plain, rubrics string) asker {
	return func(r llm.Request) string {
		if r.Model == "c" {
			return rubrics
		}
		return plain
	}
}

// thresholds are those that are reached, and those that are not.
var thresholds = map[string]string{"green": judgeEvaluators(0.7, 0.6), "red": judgeEvaluators(0.8, 0.7)}

// requireJudged requires that all evaluators pass if the name is green, else that all fail.
func requireJudged(t *testing.T, name string, u result.Unit) {
	t.Helper()
	want := map[string]result.Outcome{"green": result.Pass, "red": result.Fail}[name]
	require.NotEmpty(t, u.Evaluations, "%s", judged(u))
	for _, e := range u.Evaluations {
		require.Equal(t, want, e.Outcome, "%s: %s", e.Name, e.Reason)
	}
}

// judgeSurvivors are the mutants of recorded judgements that may pass.
var judgeSurvivors = []survivor{
	{values, "question: question.answers[].input_tokens", "not judged"},
	{values, "question: question.answers[].output_tokens", "not judged"},
	{values, "question: question.answers[].model", "as the server calls it; a warning if it is another"},
	{values, "question: question.answers[].text", "space before and behind the reply"},
}

// replySurvivors are the mutants of replies that may pass.
var replySurvivors = map[string][]survivor{
	"green-plain": {
		{around, "*", "text around the only object is none of the judgement"},
		{values, "score: ", "the order of keys means nothing"},
		{values, "score: score", "another score above the threshold"},
		{values, "score: reason", "shown, not judged"},
		{values, "score: hits*", "shown, not judged"},
		{elements, "score: hits[]", "shown, not judged"},
		{values, "score: misses*", "shown, not judged"},
		{elements, "score: misses[]", "shown, not judged"},
	},
	"green-rubrics": {
		{around, "*", "text around the only object is none of the judgement"},
		{values, "checks: ", "the order of keys means nothing"},
		{values, "checks: checks[]", "the order of keys means nothing"},
		{values, "checks: checks[].pass", "more rubrics hold"},
		{values, "checks: *reason", "shown, not judged"},
	},
	"red-rubrics": {{values, "checks: checks[].pass", "more rubrics hold"}},
}

var around = []string{mutatedata.FileBytes, mutatedata.FileZipBad, mutatedata.LineAdded}

func TestMutantsOfJudgments(t *testing.T) {
	t.Parallel()
	root, path := recordedBy(t, mutantsHead+thresholds["green"], sessionScript, asked(says(plainReply, rubricsReply)))
	for name, evaluators := range thresholds {
		t.Run(name, func(t *testing.T) {
			s := subject{
				file: judgment.Path(path), seal: mutatedata.Judgments, run: replayed(t, root, mutantsHead+evaluators),
				sample: 40,
			}
			if name == "green" {
				s.survives = judgeSurvivors
			}
			requireJudged(t, name, s.run())
			s.hunt(t)
		})
	}
}

// TestMutantsOfReplies mutates what models answer.
func TestMutantsOfReplies(t *testing.T) {
	t.Parallel()
	root, path := recordedBy(t, mutantsHead+thresholds["green"], sessionScript, asked(says(plainReply, rubricsReply)))
	require.NoError(t, os.Remove(judgment.Path(path)))
	for name, evaluators := range thresholds {
		for which, reply := range map[string]string{"plain": plainReply, "rubrics": rubricsReply} {
			t.Run(name+"-"+which, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "reply")
				require.NoError(t, os.WriteFile(file, []byte(reply+"\n"), 0o644))
				said := asker(func(r llm.Request) string {
					data, err := os.ReadFile(file)
					if err != nil {
						data, err = os.ReadFile(file + ".gz")
					}
					require.NoError(t, err)
					if which == "plain" {
						return says(string(data), rubricsReply)(r)
					}
					return says(plainReply, string(data))(r)
				})
				s := subject{file: file, run: replayed(t, root, mutantsHead+evaluators, asked(said)), sample: 30}
				s.survives = replySurvivors[name+"-"+which]
				requireJudged(t, name, s.run())
				s.hunt(t)
			})
		}
	}
}
