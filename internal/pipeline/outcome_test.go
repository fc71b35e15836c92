package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// twoTrials has one case with two variants, each tried twice, of which one trial has to pass.
const twoTrials = `name: p
task: {prompt: Do it.}
trials: {count: 2, pass: 1}
variants: {a: {agent: {kind: fake-acp}}, b: {agent: {kind: fake-acp}}}
workflow: {jobs: {eval: {strategy: {matrix: {variant: [a, b]}}, steps: [{uses: builtin:sdd-eval/acp.prompt}]}}}
`

func TestOutcome(t *testing.T) {
	pb, err := playbook.Parse("p.yaml", []byte(twoTrials), kinds.All())
	require.NoError(t, err)
	plan, err := pb.Plan()
	require.NoError(t, err)
	const pass, fail, broken, skip, completed = result.Pass, result.Fail, result.Error, result.Skip, result.Completed
	tests := []struct {
		name, reason string
		a, b         []result.Outcome
		job          result.Outcome
		want         result.Outcome
	}{
		{name: "all pass", reason: "", a: []result.Outcome{pass, pass}, b: []result.Outcome{pass, pass}, want: pass},
		{name: "enough pass", reason: "the rule wants one of two", a: []result.Outcome{pass, fail}, b: []result.Outcome{fail, pass}, want: pass},
		{name: "too few pass", reason: "", a: []result.Outcome{fail, fail}, b: []result.Outcome{pass, pass}, want: fail},
		{name: "an error among passes", reason: "nothing is known of that trial", a: []result.Outcome{pass, broken}, b: []result.Outcome{pass, pass}, want: broken},
		{name: "error and failure", reason: "error first", a: []result.Outcome{fail, fail}, b: []result.Outcome{broken, pass}, want: broken},
		{name: "completed", reason: "nothing judges", a: []result.Outcome{completed, completed}, b: []result.Outcome{completed, completed}, want: completed},
		{name: "skipped in part", reason: "the rest is judged", a: []result.Outcome{skip, skip}, b: []result.Outcome{pass, pass}, want: pass},
		{name: "all skipped", reason: "nothing ran, and nothing looks green that is not", a: []result.Outcome{skip, skip}, b: []result.Outcome{skip, skip}, want: broken},
		{name: "all skipped but the report", reason: "a report is no step that ran", a: []result.Outcome{skip, skip}, b: []result.Outcome{skip, skip}, job: pass, want: broken},
		{name: "not run", reason: "a missing result is not a pass", a: []result.Outcome{pass, pass}, want: broken},
		{name: "a job failed", reason: "", a: []result.Outcome{pass, pass}, b: []result.Outcome{pass, pass}, job: fail, want: fail},
		{name: "all skipped for a job", reason: "the job is what failed", a: []result.Outcome{skip, skip}, b: []result.Outcome{skip, skip}, job: fail, want: fail},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			done := &Finished{}
			for variant, outcomes := range map[string][]result.Outcome{"a": tt.a, "b": tt.b} {
				for i, o := range outcomes {
					done.Units = append(done.Units, result.Unit{Case: "task", Variant: variant, Trial: i + 1, Outcome: o})
				}
			}
			if tt.job != "" {
				done.Jobs = []result.Job{{ID: "before", Outcome: tt.job}}
			}
			require.Equal(t, tt.want, (&pipeline{plan: plan}).outcome(done), tt.reason)
		})
	}
}
