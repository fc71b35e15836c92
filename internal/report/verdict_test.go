package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

// trial is a unit that ended so, with evaluators "a", "b" and so on of these outcomes.
func trial(n int, o result.Outcome, evaluators ...result.Outcome) Unit {
	u := Unit{Case: "c", Variant: "v", Trial: n, Outcome: o}
	if o == NotRun {
		return u
	}
	u.Result = &result.Unit{Outcome: o}
	for i, e := range evaluators {
		u.Result.Evaluations = append(u.Result.Evaluations, result.Evaluation{Name: string(rune('a' + i)), Outcome: e})
	}
	return u
}

func TestJudge(t *testing.T) {
	const pass, fail, broken, skip, completed = result.Pass, result.Fail, result.Error, result.Skip, result.Completed
	tests := []struct {
		name, reason string
		trials       []Unit
		need         int
		want         result.Outcome
		checks       []result.Outcome
	}{
		{"all pass", "", []Unit{trial(1, pass, pass), trial(2, pass, pass)}, 2, pass, []result.Outcome{pass}},
		{"enough pass", "", []Unit{trial(1, pass, pass), trial(2, fail, fail)}, 1, pass, []result.Outcome{pass}},
		{"too few pass", "", []Unit{trial(1, pass, pass), trial(2, fail, fail)}, 2, fail, []result.Outcome{fail}},
		{
			"too few pass as wholes", "each evaluator passed often enough, but not in the same trials",
			[]Unit{trial(1, fail, pass, fail), trial(2, fail, fail, pass)},
			1, fail,
			[]result.Outcome{pass, pass},
		},
		{"an error", "nothing is known", []Unit{trial(1, pass, pass), trial(2, broken, broken)}, 1, broken, []result.Outcome{broken}},
		{
			"an error before the evaluators", "the trial that passed is enough for the evaluator, not for the case",
			[]Unit{trial(1, pass, pass), trial(2, broken)},
			1, broken,
			[]result.Outcome{pass},
		},
		{
			"a failed step", "the evaluator never saw the second trial, which could have decided",
			[]Unit{trial(1, pass, pass), trial(2, fail)},
			2, fail,
			[]result.Outcome{broken},
		},
		{
			"an evaluator that skipped", "enough trials passed, but it says nothing of most of them",
			[]Unit{trial(1, pass, pass, skip), trial(2, pass, pass, pass)},
			2, fail,
			[]result.Outcome{pass, fail},
		},
		{"all skipped", "", []Unit{trial(1, skip, skip), trial(2, skip, skip)}, 1, skip, []result.Outcome{skip}},
		{"some skipped", "", []Unit{trial(1, pass, pass), trial(2, skip, skip)}, 1, pass, []result.Outcome{pass}},
		{"completed", "it is never shown as passed", []Unit{trial(1, completed), trial(2, completed)}, 1, completed, nil},
		{"completed, then failed", "", []Unit{trial(1, completed), trial(2, fail)}, 2, fail, nil},
		{"not run", "", []Unit{trial(1, NotRun), trial(2, NotRun)}, 1, NotRun, nil},
		{
			"not run, undecided", "what is missing could decide",
			[]Unit{trial(1, fail, fail), trial(2, NotRun)},
			1, NotRun,
			[]result.Outcome{NotRun},
		},
		{
			"not run, decided", "what is missing cannot save it",
			[]Unit{trial(1, fail, fail), trial(2, NotRun)},
			2, fail,
			[]result.Outcome{fail},
		},
		{
			"not run, enough passed", "an error could still come",
			[]Unit{trial(1, pass, pass), trial(2, NotRun)},
			1, NotRun,
			[]result.Outcome{pass},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := judge(tt.trials, tt.need)
			require.Equal(t, tt.want, r.Outcome, tt.reason)
			var checks []result.Outcome
			for _, c := range r.Checks {
				checks = append(checks, c.Outcome)
			}
			require.Equal(t, tt.checks, checks, tt.reason)
		})
	}
}

func TestTotal(t *testing.T) {
	tests := []struct {
		name          string
		results, jobs Counts
		want          result.Outcome
	}{
		{"error before fail", Counts{Pass: 1, Fail: 1, Error: 1}, Counts{}, result.Error},
		{"fail before not run", Counts{Fail: 1, NotRun: 1}, Counts{}, result.Fail},
		{"not run before pass", Counts{Pass: 9, NotRun: 1}, Counts{}, NotRun},
		{"completed is no pass", Counts{Pass: 1, Completed: 1}, Counts{}, result.Completed},
		{"pass", Counts{Pass: 1, Skip: 1}, Counts{Completed: 1}, result.Pass},
		{"a job failed", Counts{Pass: 1}, Counts{Fail: 1}, result.Fail},
		{"all skipped", Counts{Skip: 2}, Counts{}, result.Skip},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, total(tt.results, tt.jobs))
		})
	}
}
