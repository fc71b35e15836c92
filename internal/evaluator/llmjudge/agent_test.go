package llmjudge_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// jury is an agent that passes all checks but those that say "no".
type jury struct {
	asked []llm.Request
	err   error
}

func (j *jury) Complete(_ context.Context, r llm.Request) (llm.Reply, error) {
	j.asked = append(j.asked, r)
	var reply llm.Reply
	for _, c := range r.Checks {
		reply.Verdicts = append(reply.Verdicts, llm.Verdict{
			Passed: !strings.Contains(c.Text, "no"), Evidence: "as " + c.ID, Program: "agent 1", Model: "small",
		})
	}
	return reply, j.err
}

// judged is the verdict of an agent on the unit of the case table.
func (p project) judged(t *testing.T, keys string, j *jury) evaluator.Verdict {
	t.Helper()
	in := unit(saying(t, good))
	in.Models = j
	return evaluator.Judge(t.Context(), p.mustLoad(t, keys), in)
}

// TestAgent: an agent is asked about all rubrics in one turn, and sees the work but not how it was done.
func TestAgent(t *testing.T) {
	p, j := newProject(t, nil), new(jury)
	const keys = `
agent: {kind: fake-acp, model: m, preset: p}
timeout: 90s
rubrics: [{id: a, text: "yes"}, {id: b, text: "no", weight: 3}]
`
	e := p.mustLoad(t, keys).Config.(evaluator.Evaluator)
	require.Equal(t, evaluator.NeedsWorkspace|evaluator.AsksAgent, e.Needs())
	require.Equal(t, []playbook.Agent{{Kind: "fake-acp", Model: "m", Preset: "p"}}, evaluator.Agents(e))
	v := p.judged(t, keys, j)
	require.Equal(t, result.Fail, v.Outcome)
	require.Equal(t, 0.25, *v.Score)
	require.Equal(t, []result.Check{
		{ID: "a", Text: "yes", Outcome: result.Pass, Evidence: "as a"},
		{ID: "b", Text: "no", Outcome: result.Fail, Evidence: "as b"},
	}, v.Checks)
	require.Contains(t, v.Detail, "fake-acp/p (m) (answered by agent 1 with small): 0.25")
	require.Len(t, j.asked, 1)
	r := j.asked[0]
	require.Equal(t, llm.Agent{Kind: "fake-acp", Preset: "p", Timeout: 90 * time.Second}, *r.Agent)
	require.Equal(t, "m", r.Model)
	require.Contains(t, r.User, "# Question\nWhat is 2+2?")
	require.Contains(t, r.User, "# Answer\nThe answer is 4")
	require.Contains(t, r.User, "# Changes to files")
	for _, hidden := range []string{"Tool calls", "get_weather", unit(saying(t, good)).Variant + "/"} {
		require.NotContains(t, r.System+r.User, hidden)
	}
}

// TestAgentShownCalls: who asks how the work was done is asked in a turn of its own, which is shown the calls.
func TestAgentShownCalls(t *testing.T) {
	j := new(jury)
	v := newProject(t, nil).judged(t, `
agent: {kind: fake-acp}
rubrics: [{id: how, text: "it looked", calls: true}, {id: what, text: "it is right"}]`, j)
	require.Equal(t, result.Pass, v.Outcome, v.Reason)
	require.Equal(t, "(not blind: it was shown the tool calls) as how", v.Checks[0].Evidence)
	require.Equal(t, "as what", v.Checks[1].Evidence)
	require.Len(t, j.asked, 2)
	require.Equal(t, []llm.Check{{ID: "what", Text: "it is right"}}, j.asked[0].Checks)
	require.NotContains(t, j.asked[0].User, "get_weather")
	require.Equal(t, []llm.Check{{ID: "how", Text: "it looked"}}, j.asked[1].Checks)
	require.Contains(t, j.asked[1].User, "# Tool calls\nsearch")
}

// TestAgentWithoutRubrics asks one question about the whole work.
func TestAgentWithoutRubrics(t *testing.T) {
	j := new(jury)
	v := newProject(t, nil).judged(t, "agent: {kind: fake-acp}", j)
	require.Equal(t, result.Pass, v.Outcome, v.Reason)
	require.Empty(t, v.Checks)
	require.Contains(t, v.Detail, "as work")
	require.Len(t, j.asked[0].Checks, 1)
}

// TestAgentErrors: an agent that gives no verdicts says nothing about the work.
func TestAgentErrors(t *testing.T) {
	p := newProject(t, nil)
	v := p.judged(t, "agent: {kind: fake-acp}", &jury{err: errors.New("gone")})
	require.Equal(t, evaluator.Verdict{Outcome: result.Error, Reason: "gone"}, v)
	in := unit(saying(t, good))
	in.Models, in.NoModels = nil, "nobody may ask"
	v = evaluator.Judge(t.Context(), p.mustLoad(t, "agent: {kind: fake-acp}"), in)
	require.Equal(t, evaluator.Verdict{Outcome: result.Skip, Reason: "nobody may ask"}, v)
}

func TestAgentKeys(t *testing.T) {
	const fake = "agent: {kind: fake-acp}\n"
	for keys, want := range map[string]string{
		fake + "model: m":     "exactly one of `model`, `judges` and `agent` is required: write `agent: {model: ...}`",
		"agent: {preset: p}":  "6:5: evaluators[0].agent: `evaluators[0].agent.kind` is required",
		"agent: {kind: fake}": `6:19: evaluators[0].agent.kind: unknown kind of agent "fake"`,
		"agent: {kind: claude-cli}": "evaluators[0].agent: agents of kind claude-cli need a " +
			"`preset`",
		"agent: {kind: fake-acp, args: [no.json]}": "evaluators[0].agent.args[0]: the script of the built-in agent",
		"agent: {kind: fake-acp, mode: plan}":      "agent.mode: has no effect: an agent that judges may use no tools",
		fake + "samples: 3":                        "7:14: evaluators[0].samples: has no effect with `agent`",
		fake + "prompt: Is it right?":              "7:13: evaluators[0].prompt: has no effect with `agent`",
		fake + "rubrics: [{id: a, text: t, score_ranges: [{range: [0, 10], text: x}]}]": "rubrics[0].score_ranges: " +
			"has no effect with `agent`, which says of each rubric whether it holds",
		"model: m\nrubrics: [{id: a, text: t, calls: true}]": "7:39: evaluators[0].rubrics[0].calls: has no effect " +
			"without `agent`: models are always shown the tool calls",
	} {
		_, err := newProject(t, nil).load(keys)
		require.ErrorContains(t, err, want, keys)
	}
}
