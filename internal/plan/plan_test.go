package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

func planOf(t *testing.T, file string) *plan.Plan {
	t.Helper()
	p, err := plan.Load(file, kinds)
	require.NoError(t, err)
	planned, err := p.Plan()
	require.NoError(t, err)
	return planned
}

func jobIDs(jobs []plan.Job) []string {
	var ids []string
	for _, j := range jobs {
		ids = append(ids, j.ID)
	}
	return ids
}

func TestPlan(t *testing.T) {
	planned := planOf(t, "testdata/valid/everything.yaml")
	assert.Equal(t, []string{"setup", "eval", "check", "summary"}, jobIDs(planned.Jobs))
	assert.Equal(t, []string{"setup"}, jobIDs(planned.Before()))
	assert.Equal(t, []string{"summary"}, jobIDs(planned.After()))

	var units []string
	for _, u := range planned.Units {
		units = append(units, u.ID())
	}
	assert.Equal(t, []string{
		"demo/refund/ant/1", "demo/refund/ant/2", "demo/refund/ant/3",
		"demo/refund/zebra/1", "demo/refund/zebra/2", "demo/refund/zebra/3",
		"demo/dialogue/ant/1", "demo/dialogue/ant/2", "demo/dialogue/ant/3",
		"demo/dialogue/zebra/1", "demo/dialogue/zebra/2", "demo/dialogue/zebra/3",
	}, units, "variants are in the order of the matrix, and one that no matrix lists is left out")

	ant, zebra := planned.Trials("refund", "ant"), planned.Trials("refund", "zebra")
	require.Len(t, ant, 3)
	assert.Equal(t, "demo/refund/ant/3", ant[2].ID())
	assert.Len(t, ant[0].Steps, 2)
	require.Len(t, zebra[0].Steps, 3, "zebra goes through both matrix jobs")
	assert.Equal(t, "check", zebra[0].Steps[2].Job)
	assert.Nil(t, planned.Trials("refund", "unused"))
	assert.Nil(t, planned.Trials("nothing", "ant"))

	assert.Equal(t,
		[]string{"testdata/valid/everything.yaml:22: note: variant unused is in no matrix: nothing runs it"},
		planned.Notes())

	var names []string
	for _, e := range ant[0].Evaluators {
		names = append(names, e.Name)
	}
	assert.Equal(t, []string{"finds-and-fixes", "tool_trajectory", "partial"}, names)
}

// TestLoopStyle has the agent read the rules of a style only where a step writes them.
func TestLoopStyle(t *testing.T) {
	const text = `task: {prompt: hello}
variants: {a: {agent: {kind: fake-acp}}}
workflow: {jobs: {eval: {strategy: {matrix: {variant: [a]}}, steps: [
  STYLE
  {uses: builtin:sdd-eval/acp.sdd-loop}]}}}
`
	for prepare, want := range map[string]bool{"{uses: builtin:sdd-eval/sdd.prepare},": true, "": false} {
		p, err := plan.Parse("p.yaml", []byte(strings.Replace(text, "STYLE", prepare, 1)), kinds)
		require.NoError(t, err)
		planned, err := p.Plan()
		require.NoError(t, err)
		assert.Equal(t, want, strings.HasPrefix(planned.Units[0].Prompts()[0], "Workflow style: sdd. "), prepare)
	}
}

// TestExpectedEnds has the nearest word on how sessions end count: a case's before a variant's before the playbook's.
func TestExpectedEnds(t *testing.T) {
	const text = `cases:
  - {id: own, prompt: x, expect_stop: [refusal]}
  - {id: common, prompt: x}
expect_stop: [end_turn, max_tokens]
variants:
  plain: {agent: {kind: fake-acp}}
  breaks: {agent: {kind: fake-acp}, expect_stop: [end_turn, cancelled]}
workflow: {jobs: {eval: {strategy: {matrix: {variant: [plain, breaks]}}, steps: [{uses: builtin:sdd-eval/acp.prompt}]}}}
`
	p, err := plan.Parse("p.yaml", []byte(text), kinds)
	require.NoError(t, err)
	planned, err := p.Plan()
	require.NoError(t, err)
	ends := make(map[string]string)
	for _, u := range planned.Units {
		ends[u.ID()] = fmt.Sprint(u.ExpectStop, " ", u.ExpectedAt)
	}
	assert.Equal(t, map[string]string{
		"p/own/plain/1": "[refusal] p.yaml:2", "p/own/breaks/1": "[refusal] p.yaml:2",
		"p/common/plain/1": "[end_turn max_tokens] p.yaml:4", "p/common/breaks/1": "[end_turn cancelled] p.yaml:7",
	}, ends)
}

func TestPlanOfTask(t *testing.T) {
	planned := planOf(t, "testdata/valid/task.eval.yaml")
	require.Len(t, planned.Cases(), 1)
	require.Len(t, planned.Units, 1)
	u := planned.Units[0]
	assert.Equal(t, "task/task/a/1", u.ID())
	assert.Equal(t, []string{"Do it. ${{ not.scanned }}"}, u.Case.Prompts)
	assert.Equal(t, "testdata/valid/task.eval.yaml:1", u.Case.Position.String())
}

func TestPlanOrder(t *testing.T) {
	tests := []struct {
		name, jobs, want string
	}{
		{"order of the file", "c:; a:; b:", "c a b"},
		{"needs first", "c: a b; a: b; b:", "b a c"},
		{"order of the file breaks ties", "d: a; c:; b: a; a:", "c a d b"},
		{"diamond", "end: left right; right: start; left: start; start:", "start right left end"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p plan.Playbook
			for job := range strings.SplitSeq(tt.jobs, "; ") {
				id, needs, _ := strings.Cut(job, ":")
				p.Workflow.Jobs = append(p.Workflow.Jobs, plan.Job{ID: id, Needs: strings.Fields(needs)})
			}
			planned, err := p.Plan()
			require.NoError(t, err)
			assert.Equal(t, tt.want, strings.Join(jobIDs(planned.Jobs), " "))
		})
	}
}

// TestBeforeAndAfter says where the jobs outside the matrix run; "job*" is a matrix job.
func TestBeforeAndAfter(t *testing.T) {
	tests := []struct {
		name, jobs, before, after, reason string
	}{
		{"no matrix", "a:; b:", "a b", "", "nothing comes after units that are not there"},
		{"needs", "eval*:; report: eval", "", "report", ""},
		{"needs of needs", "publish: report; report: eval; eval*:", "", "report publish", ""},
		{"order of the file", "setup:; eval*:; notes:", "setup", "notes", "it breaks ties"},
		{"needed by the units", "eval*: setup; setup: tools; tools:; notes:", "tools setup", "notes", ""},
		{
			"needed by later matrix jobs", "eval*:; setup:; check*: eval setup", "setup", "",
			"a unit goes through both without a break",
		},
		{"two matrix jobs", "eval*:; notes:; check*:", "", "notes", "the units run where the first stands"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := plan.Playbook{Variants: []plan.Variant{{ID: "x"}}}
			for job := range strings.SplitSeq(tt.jobs, "; ") {
				id, needs, _ := strings.Cut(job, ":")
				j := plan.Job{Needs: strings.Fields(needs)}
				var matrix bool
				if j.ID, matrix = strings.CutSuffix(id, "*"); matrix {
					j.Strategy = &plan.Strategy{Matrix: plan.Matrix{Variant: []string{"x"}}}
				}
				p.Workflow.Jobs = append(p.Workflow.Jobs, j)
			}
			planned, err := p.Plan()
			require.NoError(t, err)
			assert.Equal(t, tt.before, strings.Join(jobIDs(planned.Before()), " "), tt.reason)
			assert.Equal(t, tt.after, strings.Join(jobIDs(planned.After()), " "), tt.reason)
		})
	}
}

func TestPlanErrors(t *testing.T) {
	p := plan.Playbook{File: "p.yaml", Workflow: plan.Workflow{Jobs: []plan.Job{
		{ID: "a", Needs: []string{"b"}}, {ID: "b", Needs: []string{"a"}},
	}}}
	_, err := p.Plan()
	require.EqualError(t, err, "p.yaml: dependency cycle of jobs a, b")

	p.Workflow.Jobs = []plan.Job{{
		ID: "a", Strategy: &plan.Strategy{Matrix: plan.Matrix{Variant: []string{"x"}}},
		Position: doc.Position{File: "p.yaml", Line: 3},
	}}
	_, err = p.Plan()
	require.EqualError(t, err, `p.yaml:3: the matrix names variant "x", which is missing from variants`)
}

func TestAddEvaluator(t *testing.T) {
	planned := planOf(t, "testdata/valid/everything.yaml")
	planned.AddEvaluator("in Go", 42, doc.Position{File: "x_test.go", Line: 7})
	for _, u := range planned.Units {
		last := u.Evaluators[len(u.Evaluators)-1]
		assert.Equal(t, "in Go", last.Name)
		assert.Equal(t, 42, last.Config)
		assert.Equal(t, 1.0, last.Threshold)
		assert.Equal(t, "x_test.go:7", last.Position.String())
	}
	assert.PanicsWithValue(t,
		`playbook: unit demo/refund/ant/1 has an evaluator "partial" already: choose another name`,
		func() { planned.AddEvaluator("partial", nil, doc.Position{}) })
}
