package result

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJudge(t *testing.T) {
	tests := []struct {
		name, reason string
		stop         string
		outcomes     []Outcome
		want         Outcome
	}{
		{"all pass", "", "end_turn", []Outcome{Pass, Pass}, Pass},
		{"one fails", "evaluators are never averaged", "end_turn", []Outcome{Pass, Fail}, Fail},
		{"error before fail", "nothing is known", "end_turn", []Outcome{Fail, Error, Pass}, Error},
		{"some skipped", "the others judge", "end_turn", []Outcome{Skip, Pass}, Pass},
		{"all skipped", "nothing was judged", "end_turn", []Outcome{Skip, Skip}, Skip},
		{"none", "there was nothing to judge", "end_turn", nil, Completed},
		{"none and stopped early", "a refusal is not completed", "refusal", nil, Fail},
		{"judged though stopped early", "it may have done little", "max_tool_calls", []Outcome{Pass}, Fail},
		{"skipped though stopped early", "that it refused is known without a model", "refusal", []Outcome{Skip}, Fail},
		{"never began", "a step failed before", "", []Outcome{Skip}, Skip},
		{"timeout", "an agent that never answers leaves no file that it must not", "timeout", []Outcome{Pass}, Fail},
		{"timeout and skipped", "that it did not answer is known without a model", "timeout", []Outcome{Skip}, Fail},
		{"timeout and error", "nothing is known", "timeout", []Outcome{Pass, Error}, Error},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u := Unit{Stop: tt.stop}
			for _, o := range tt.outcomes {
				u.Evaluations = append(u.Evaluations, Evaluation{Outcome: o})
			}
			u.Judge()
			require.Equal(t, tt.want, u.Outcome, tt.reason)
		})
	}
}

func TestScore(t *testing.T) {
	score := func(f float64) *float64 { return &f }
	u := Unit{Evaluations: []Evaluation{{Score: score(1), Weight: 3}, {Score: score(0), Weight: 1}, {Weight: 100}}}
	require.Equal(t, 0.75, *u.Score(), "what has no score does not count")
	slices.Reverse(u.Evaluations)
	require.Equal(t, 0.75, *u.Score(), "wherever it is")
	require.Nil(t, Unit{Evaluations: []Evaluation{{Weight: 1}}}.Score(), "a score is never invented")
	require.Nil(t, Unit{Evaluations: []Evaluation{{Score: score(1)}}}.Score(), "nothing has weight")
}

func TestDuration(t *testing.T) {
	var d Duration
	require.NoError(t, json.Unmarshal([]byte("1500"), &d))
	require.Equal(t, "1.5s", d.String())
	for _, text := range []string{`"1s"`, "1.5", "null", "99999999999999999999"} {
		require.ErrorContains(t, json.Unmarshal([]byte(text), &d), "duration in milliseconds: ", text)
	}
	require.Equal(t, "1.5s", d.String(), "what cannot be read changes nothing")
}

func TestPlus(t *testing.T) {
	require.Nil(t, Plus(nil, nil), "unknown and unknown is unknown")
	require.EqualValues(t, 2, *Plus(new(int64(2)), nil))
	require.EqualValues(t, 3, *Plus(nil, new(int64(3))))
	require.EqualValues(t, 5, *Plus(new(int64(2)), new(int64(3))))
}

func TestCheck(t *testing.T) {
	failed := []Step{{Name: "build", Outcome: Fail}}
	judged := func(outcomes ...Outcome) (all []Evaluation) {
		for _, o := range outcomes {
			all = append(all, Evaluation{Name: "e", Outcome: o, Score: new(1.0), Threshold: 1})
		}
		return all
	}
	tests := []struct {
		name string
		unit Unit
		want string // part of the error, empty: none
	}{
		{"as judged", Unit{Outcome: Fail, Evaluations: judged(Pass, Fail)}, ""},
		{
			"pass below its threshold",
			Unit{Outcome: Pass, Evaluations: []Evaluation{{Name: "e", Outcome: Pass, Score: new(0.7), Threshold: 0.8}}},
			`evaluator "e" cannot have passed`,
		},
		{
			"pass without a score",
			Unit{Outcome: Pass, Evaluations: []Evaluation{{Name: "e", Outcome: Pass}}},
			`evaluator "e" cannot have passed`,
		},
		{
			"better than judged",
			Unit{Outcome: Pass, Evaluations: judged(Pass, Fail)},
			`is "pass", but by its evaluations, its steps and its end it should be "fail"`,
		},
		{"worse for a reason", Unit{Outcome: Fail, Reason: "the agent did not ask", Evaluations: judged(Pass)}, ""},
		{
			"worse for none",
			Unit{Outcome: Fail, Evaluations: judged(Pass)},
			`is "fail", but by its evaluations, its steps and its end it should be "pass"`,
		},
		{"error for a reason", Unit{Outcome: Error, Reason: "leak", Evaluations: judged(Pass)}, ""},
		{"error for none", Unit{Outcome: Error, Evaluations: judged(Pass)}, `should be "pass"`},
		{"skipped for a reason", Unit{Outcome: Skip, Reason: "no key"}, ""},
		{"skipped for none", Unit{Outcome: Skip}, `should be "completed"`},
		{
			"skipped though judged",
			Unit{Outcome: Skip, Reason: "x", Steps: []Step{{Outcome: Pass}}, Evaluations: judged(Pass)},
			`should be "pass"`,
		},
		{
			"error that became a failure",
			Unit{Outcome: Fail, Reason: "x", Evaluations: judged(Error)},
			`should be "error"`,
		},
		{"failed step", Unit{Outcome: Fail, Steps: failed, Evaluations: judged(Pass)}, ""},
		{"failed step that passed", Unit{Outcome: Pass, Steps: failed, Evaluations: judged(Pass)}, `should be "fail"`},
		{"skipped", Unit{Outcome: Skip, Reason: "docker is missing"}, ""},
		{"skipped though it was begun", Unit{Outcome: Skip, Reason: "x", Stop: StopEndTurn}, `should be "completed"`},
		{"skipped by its judges", Unit{Outcome: Skip, Stop: StopEndTurn, Evaluations: judged(Skip)}, ""},
		{
			"refusal that passed",
			Unit{Outcome: Pass, Stop: StopRefusal, Evaluations: judged(Pass)},
			`should be "fail"`,
		},
		{
			"expected refusal", Unit{
				Outcome: Pass, Stop: StopRefusal, Ending: Ending{ExpectStop: []string{StopRefusal}},
				Evaluations: judged(Pass),
			}, "",
		},
		{"timeout", Unit{Outcome: Pass, Stop: StopTimeout, Evaluations: judged(Pass)}, `should be "fail"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.unit.Check()
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.want)
		})
	}
	require.NoError(t, Job{Outcome: Pass, Steps: []Step{{Outcome: Pass}, {Outcome: Skip}}}.Check())
	require.ErrorContains(t, Job{Outcome: Pass, Steps: failed}.Check(), `of its step "build" is "fail"`)
}

// TestJudging adds up what agents that judge took: what is unknown of one turn is unknown of all.
func TestJudging(t *testing.T) {
	var j Judging
	j.Add(10, 1, new(0.5))
	j.Add(20, 2, new(0.25))
	require.Equal(t, Judging{Turns: 2, InputTokens: 30, OutputTokens: 3, CostUSD: new(0.75)}, j)
	j.Add(5, 0, nil)
	j.Add(5, 0, new(1.0))
	require.Equal(t, Judging{Turns: 4, InputTokens: 40, OutputTokens: 3}, j)
}
