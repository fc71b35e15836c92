package judgment

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// panelist is an agent that passes each check whose text begins with "yes", and remembers the ids that it was asked.
type panelist struct {
	turns []string
	err   error
}

func (p *panelist) Complete(_ context.Context, r llm.Request) (llm.Reply, error) {
	var ids []string
	reply := llm.Reply{InputTokens: 50, OutputTokens: 5, CostUSD: new(0.25)}
	for _, c := range r.Checks {
		ids = append(ids, c.ID)
		reply.Verdicts = append(reply.Verdicts, llm.Verdict{
			Passed: strings.HasPrefix(c.Text, "yes"), Evidence: "as " + c.Text, Program: "agent 1", Model: "m",
		})
	}
	p.turns = append(p.turns, strings.Join(ids, " "))
	return reply, p.err
}

// checks is a request to an agent. Checks are given as "id text".
func checks(list ...string) llm.Request {
	r := llm.Request{
		Agent: &llm.Agent{Kind: "claude-code-acp", Preset: "login"}, Model: "small", System: "Judge.", User: "the work",
	}
	for _, c := range list {
		id, text, _ := strings.Cut(c, " ")
		r.Checks = append(r.Checks, llm.Check{ID: id, Text: text})
	}
	return r
}

func verdicts(t *testing.T, f *File, r llm.Request) (passed []bool) {
	t.Helper()
	reply, err := f.Complete(t.Context(), r)
	require.NoError(t, err)
	for _, v := range reply.Verdicts {
		require.Equal(t, llm.Verdict{Passed: v.Passed, Evidence: v.Evidence, Program: "agent 1", Model: "m"}, v)
		passed = append(passed, v.Passed)
	}
	return passed
}

// TestChecks records the checks of an agent each on its own, and asks only about those without a verdict.
func TestChecks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v.1.judges.jsonl")
	agent := new(panelist)
	f := open(t, path, Record, agent)
	require.Nil(t, f.Judging())
	require.Equal(t, []bool{true, false, true}, verdicts(t, f, checks("a yes it is", "b no", "twin yes it is")))
	require.Equal(t, result.Judging{Turns: 1, InputTokens: 50, OutputTokens: 5, CostUSD: new(0.25)}, *f.Judging())
	require.NoError(t, f.Save())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(data), `"question":`))
	require.Contains(t, string(data), `{"judgments":{"version":2}`)
	require.Equal(t, 1, strings.Count(string(data), `"input_tokens":50`), "a turn's tokens are counted once")

	f = open(t, path, Replay, nil)
	require.Equal(t, []bool{false, true}, verdicts(t, f, checks("other no", "name yes it is")),
		"neither ids nor their order is part of a question")
	require.Equal(t, 0, f.Unused())
	require.Empty(t, f.Others())
	require.Nil(t, f.Judging(), "a replay costs nothing")

	f = open(t, path, Missing, agent)
	require.Equal(t, []bool{true, true, false}, verdicts(t, f, checks("a yes it is", "new yes, too", "b no")))
	require.NoError(t, f.Save())
	require.Equal(t, []string{"a b", "new"}, agent.turns)
	f = open(t, path, Replay, nil)
	require.Equal(t, []bool{true}, verdicts(t, f, checks("new yes, too")))
	require.Equal(t, 2, f.Unused())
}

// TestChecksMissing says which checks have no verdict, and how to get theirs alone.
func TestChecksMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v.1.judges.jsonl")
	f := open(t, path, Record, new(panelist))
	verdicts(t, f, checks("a yes", "b no"))
	require.NoError(t, f.Save())
	f, err := Open(path, Config{
		Tree: "/", Mode: Replay, Secrets: new(secret.Set), Name: "x", Command: command, CommandOpen: "ask for more",
	})
	require.NoError(t, err)
	with := func(change func(*llm.Request)) llm.Request {
		r := checks("a yes", "b no")
		change(&r)
		return r
	}
	for want, r := range map[string]llm.Request{
		"on b, c: the nearest question has another check: line 1 was \"no\" and is \"not\"": checks("a yes", "b not",
			"c nor"),
		"on a, b: the nearest question was for claude-code-acp/login (small)": with(func(r *llm.Request) {
			r.Model = "large"
		}),
		"on a, b: the nearest question has another prompt: ": with(func(r *llm.Request) { r.User = "other work" }),
		"on a, b: the nearest question has other parameters": with(func(r *llm.Request) { r.Agent.Command = "other" }),
	} {
		_, err := f.Complete(t.Context(), r)
		require.ErrorContains(t, err, "x: there is no recorded verdict of claude-code-acp/login (")
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "; record what is missing with ask for more")
	}
}

// TestChecksKept: what was recorded of some checks outlasts an agent that does not answer about others.
func TestChecksKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v.1.judges.jsonl")
	f := open(t, path, Record, new(panelist))
	verdicts(t, f, checks("a yes"))
	require.NoError(t, f.Save())
	f = open(t, path, Missing, &panelist{err: errors.New("gone")})
	_, err := f.Complete(t.Context(), checks("a yes", "b no"))
	require.EqualError(t, err, "gone")
	require.Equal(t, 1, f.Judging().Turns, "it was paid for")
	require.NoError(t, f.Save())
	require.Equal(t, []bool{true}, verdicts(t, open(t, path, Replay, nil), checks("a yes")))
}

// TestChecksEdited refuses a verdict that nobody gave.
func TestChecksEdited(t *testing.T) {
	q := questionOf(checks("a yes"))
	q.Key = digest(q.request())
	for text, want := range map[string]string{
		`{"passed":true,"evidence":"x"}`: "",
		`{"passed":true}`:                "the verdict of an agent: ",
		`{"passed":1,"evidence":"x"}`:    "the verdict of an agent: ",
		`yes`:                            "the verdict of an agent: ",
	} {
		q.Answers = []answer{{Text: text}}
		if err := q.check(); want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}
