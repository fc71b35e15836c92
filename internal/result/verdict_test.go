package result

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// trial is a unit that ended so, with evaluators "a", "b" and so on of these outcomes.
func trial(n int, o Outcome, evaluators ...Outcome) Unit {
	u := Unit{Case: "c", Variant: "v", Trial: n, Outcome: o}
	for i, e := range evaluators {
		u.Evaluations = append(u.Evaluations, Evaluation{Name: string(rune('a' + i)), Outcome: e})
	}
	return u
}

func TestJudgeTrials(t *testing.T) {
	const pass, fail, broken, skip, completed = Pass, Fail, Error, Skip, Completed
	tests := []struct {
		name, reason string
		trials       []Unit
		need         int
		want         Outcome
		checks       []Outcome
	}{
		{"all pass", "", []Unit{trial(1, pass, pass), trial(2, pass, pass)}, 2, pass, []Outcome{pass}},
		{"enough pass", "", []Unit{trial(1, pass, pass), trial(2, fail, fail)}, 1, pass, []Outcome{pass}},
		{"too few pass", "", []Unit{trial(1, pass, pass), trial(2, fail, fail)}, 2, fail, []Outcome{fail}},
		{
			"too few pass as wholes", "each evaluator passed often enough, but not in the same trials",
			[]Unit{trial(1, fail, pass, fail), trial(2, fail, fail, pass)},
			1, fail,
			[]Outcome{pass, pass},
		},
		{
			"an error", "nothing is known",
			[]Unit{trial(1, pass, pass), trial(2, broken, broken)},
			1,
			broken,
			[]Outcome{broken},
		},
		{
			"an error before the evaluators", "the trial that passed is enough for the evaluator, not for the case",
			[]Unit{trial(1, pass, pass), trial(2, broken)},
			1, broken,
			[]Outcome{pass},
		},
		{
			"a failed step", "the evaluator never saw the second trial, which could have decided",
			[]Unit{trial(1, pass, pass), trial(2, fail)},
			2, fail,
			[]Outcome{broken},
		},
		{
			"an evaluator that skipped", "enough trials passed, but it says nothing of most of them",
			[]Unit{trial(1, pass, pass, skip), trial(2, pass, pass, pass)},
			2, fail,
			[]Outcome{pass, fail},
		},
		{"all skipped", "", []Unit{trial(1, skip, skip), trial(2, skip, skip)}, 1, skip, []Outcome{skip}},
		{"some skipped", "", []Unit{trial(1, pass, pass), trial(2, skip, skip)}, 1, pass, []Outcome{pass}},
		{
			"completed", "it is never shown as passed",
			[]Unit{trial(1, completed), trial(2, completed)},
			1, completed,
			nil,
		},
		{"completed, then failed", "", []Unit{trial(1, completed), trial(2, fail)}, 2, fail, nil},
		{"not run", "", []Unit{trial(1, NotRun), trial(2, NotRun)}, 1, NotRun, nil},
		{
			"not run, undecided", "what is missing could decide",
			[]Unit{trial(1, fail, fail), trial(2, NotRun)},
			1, NotRun,
			[]Outcome{NotRun},
		},
		{
			"not run, decided", "what is missing cannot save it",
			[]Unit{trial(1, fail, fail), trial(2, NotRun)},
			2, fail,
			[]Outcome{fail},
		},
		{
			"not run first", "what is missing comes before what is known",
			[]Unit{trial(1, NotRun), trial(2, fail, fail)},
			2, fail,
			[]Outcome{fail},
		},
		{
			"a failed step first", "the evaluator saw only the second trial",
			[]Unit{trial(1, fail), trial(2, pass, pass)},
			1, pass,
			[]Outcome{pass},
		},
		{
			"reported", "it says something and decides nothing",
			[]Unit{trial(1, pass, pass, Reported)},
			1, pass,
			[]Outcome{pass, Reported},
		},
		{
			"no outcome at all", "what nobody knows is not green",
			[]Unit{trial(1, "fine", pass)},
			1,
			broken,
			[]Outcome{pass},
		},
		{
			"a verdict that is none", "what nobody knows is not green",
			[]Unit{trial(1, pass, "fine")},
			1,
			broken,
			[]Outcome{broken},
		},
		{
			"not run, enough passed", "an error could still come",
			[]Unit{trial(1, pass, pass), trial(2, NotRun)},
			1, NotRun,
			[]Outcome{pass},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := JudgeTrials(tt.trials, Rule{Need: tt.need})
			require.Equal(t, tt.want, r.Outcome, tt.reason)
			var checks []Outcome
			for _, e := range r.Evaluators {
				checks = append(checks, e.Outcome)
			}
			require.Equal(t, tt.checks, checks, tt.reason)
		})
	}
}

// TestJudgeTrialsByScore: the mean score decides over failures, and over nothing else.
func TestJudgeTrialsByScore(t *testing.T) {
	weighed := func(u Unit, weights ...float64) Unit {
		for i, w := range weights {
			u.Evaluations[i].Weight = w
		}
		return u
	}
	half := weighed(trial(1, Fail, Pass, Fail, Reported), 1, 1, 100)
	good := weighed(trial(2, Pass, Pass, Pass), 1, 1)
	refused := weighed(trial(3, Fail, Pass, Pass), 1, 1)
	refused.MockRefused = true
	inexact := weighed(trial(1, Fail, Pass, Fail), 7, 3)
	tests := []struct {
		name   string
		trials []Unit
		score  float64
		want   Outcome
		checks []Outcome
	}{
		{"reached", []Unit{half}, 0.5, Pass, []Outcome{Pass, Reported, Reported}},
		{"missed", []Unit{half}, 0.51, Fail, []Outcome{Pass, Fail, Reported}},
		{"the mean of the trials", []Unit{half, good}, 0.75, Pass, nil},
		{"below the mean", []Unit{half, good}, 0.76, Fail, nil},
		{"a sum that is not exact", []Unit{inexact, inexact, inexact}, 0.7, Pass, nil},
		{"a limit", []Unit{weighed(trial(1, Fail, Pass), 1)}, 0.51, Fail, nil},
		{"a limit counts as one more", []Unit{weighed(trial(1, Fail, Pass), 1)}, 0.5, Pass, nil},
		{"what a mock refuses", []Unit{refused}, 0.01, Fail, nil},
		{"an error", []Unit{good, weighed(trial(3, Error, Pass), 1)}, 0.01, Error, nil},
		{"an evaluator that said nothing", []Unit{good, weighed(trial(3, Pass, Pass, Skip), 1, 1)}, 0.01, Error, nil},
		{"a trial that was skipped", []Unit{good, trial(3, Skip)}, 0.01, Error, nil},
		{"nothing that decides", []Unit{good, trial(3, Pass, Reported)}, 0.01, Error, nil},
		{"completed", []Unit{trial(1, Completed)}, 0.01, Error, nil},
		{"not run", []Unit{good, trial(3, NotRun)}, 0.5, NotRun, nil},
		{"not run, and cannot save it", []Unit{half, trial(3, NotRun)}, 0.8, Fail, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := JudgeTrials(tt.trials, Rule{Need: len(tt.trials), Score: tt.score})
			require.Equal(t, tt.want, r.Outcome)
			if tt.checks != nil {
				var checks []Outcome
				for _, e := range r.Evaluators {
					checks = append(checks, e.Outcome)
				}
				require.Equal(t, tt.checks, checks)
			}
		})
	}
}

func TestJudgeRun(t *testing.T) {
	const pass, fail, broken, skip, completed = Pass, Fail, Error, Skip, Completed
	tests := []struct {
		name, reason string
		cases        []Outcome
		references   []Outcome
		jobs         []Job
		unfinished   bool
		problems     []string
		want         Outcome
	}{
		{name: "pass", cases: []Outcome{pass, pass}, want: pass},
		{
			name: "error before fail", reason: "nothing is known of what ended in it",
			cases: []Outcome{pass, fail, broken}, want: broken,
		},
		{name: "fail before not run", cases: []Outcome{fail, NotRun}, want: fail},
		{name: "not run before pass", cases: []Outcome{pass, NotRun}, want: NotRun},
		{name: "completed is no pass", cases: []Outcome{pass, completed}, want: completed},
		{name: "skipped in part", reason: "the rest is judged", cases: []Outcome{pass, skip}, want: pass},
		{
			name: "pass, not finished", reason: "what is still to come could fail", cases: []Outcome{pass},
			unfinished: true, want: NotRun,
		},
		{
			name: "fail, not finished", reason: "nothing can save it", cases: []Outcome{fail},
			unfinished: true, want: fail,
		},
		{name: "all skipped, not finished", cases: []Outcome{skip}, unfinished: true, want: NotRun},
		{
			name: "a problem", reason: "it is of the run as a whole", cases: []Outcome{pass},
			problems: []string{"leak"}, want: broken,
		},
		{name: "a job failed", cases: []Outcome{pass}, jobs: []Job{{Outcome: fail}}, want: fail},
		{name: "a job broke", cases: []Outcome{fail}, jobs: []Job{{Outcome: broken}}, want: broken},
		{name: "a job did not run", cases: []Outcome{pass}, jobs: []Job{{Outcome: NotRun}}, want: NotRun},
		{name: "a job was skipped", cases: []Outcome{pass}, jobs: []Job{{Outcome: skip}}, want: pass},
		{
			name: "a job passed", reason: "nobody judges it", cases: []Outcome{completed},
			jobs: []Job{{Outcome: pass, Commands: 1}}, want: completed,
		},
		{name: "all skipped", reason: "it would look like success", cases: []Outcome{skip, skip}, want: broken},
		{
			name: "all skipped but the report", reason: "a report is nothing that was done", cases: []Outcome{skip},
			jobs: []Job{{Outcome: pass}}, want: broken,
		},
		{
			name: "all skipped but a command", cases: []Outcome{skip},
			jobs: []Job{{Outcome: pass, Commands: 1}}, want: completed,
		},
		{
			name: "all skipped for a job", reason: "the job is what failed", cases: []Outcome{skip},
			jobs: []Job{{Outcome: fail, Commands: 1}}, want: fail,
		},
		{name: "a reference failed", cases: []Outcome{pass}, references: []Outcome{fail}, want: pass},
		{name: "a reference passed", cases: []Outcome{fail}, references: []Outcome{pass}, want: fail},
		{name: "a reference broke", cases: []Outcome{pass}, references: []Outcome{broken}, want: broken},
		{name: "a reference did not run", cases: []Outcome{pass}, references: []Outcome{NotRun}, want: NotRun},
		{
			name: "a reference alone", reason: "nothing was decided",
			references: []Outcome{pass, fail}, want: completed,
		},
		{
			name: "a reference beside skips", reason: "what was to be compared with it was not judged",
			cases: []Outcome{skip}, references: []Outcome{pass}, want: broken,
		},
		{
			name: "a reference beside skips of another", references: []Outcome{skip, pass}, want: completed,
		},
		{name: "references skipped", references: []Outcome{skip}, want: broken},
		{name: "nothing at all", reason: "it would look like success", want: broken},
		{
			name: "no outcome at all", reason: "what nobody knows is not green", cases: []Outcome{pass},
			jobs: []Job{{}}, want: broken,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cases := make([]Trials, len(tt.cases))
			for i, o := range tt.cases {
				cases[i].Outcome = o
			}
			for _, o := range tt.references {
				cases = append(cases, Trials{Outcome: o, Reference: true})
			}
			got := JudgeRun(cases, tt.jobs, !tt.unfinished, tt.problems)
			require.Equal(t, tt.want, got.Outcome, tt.reason)
			if tt.want == Error {
				known := len(tt.problems) > 0
				for _, c := range slices.Concat(tt.cases, tt.references) {
					known = known || c == Error
				}
				for _, j := range tt.jobs {
					known = known || j.Outcome == Error || j.Outcome == ""
				}
				said := slices.Contains(got.Problems, idle) || slices.Contains(got.Problems, undecided)
				require.Equal(t, !known, said,
					"an error is reported even if nothing in the run shows it")
			}
		})
	}
}
