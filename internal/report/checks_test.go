package report

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// checked has two variants, of which the first is a reference, and three cases of two trials with a check that is a
// rubric and one that is an evaluator. Outcomes are those of the rubric, a letter a trial: p, f, or e for an error.
func checked(t *testing.T, outcomes map[string]string) source {
	t.Helper()
	s := sample(t, 2, 3, 2)
	s.manifest.Variants[0].Reference = true
	for i := range s.units {
		u := &s.units[i]
		u.Outcome, u.Reason = result.Pass, ""
		rubric := result.Check{ID: "r1", Text: "It is polite | <b>", Outcome: result.Pass, Evidence: "says please"}
		tests := result.Evaluation{Name: "tests", Type: "command", Outcome: result.Pass, Score: new(1.0), Threshold: 1}
		judge := result.Evaluation{Name: "judge", Type: "llm_judge", Outcome: result.Pass, Score: new(1.0)}
		switch outcomes[u.Case+"/"+u.Variant][u.Trial-1] {
		case 'f':
			u.Outcome, judge.Outcome, rubric.Outcome, rubric.Evidence = result.Fail, result.Fail, result.Fail, "is rude"
		case 'e':
			u.Outcome, judge.Outcome, judge.Reason, judge.Score = result.Error, result.Error, "no answer", nil
		}
		judge.Checks = []result.Check{rubric}
		u.Evaluations = []result.Evaluation{judge, tests}
	}
	return s
}

var someOutcomes = map[string]string{
	"case-1/variant-1": "pp", "case-1/variant-2": "pf", // lost
	"case-2/variant-1": "ff", "case-2/variant-2": "pe", // gained, of what is known
	"case-3/variant-1": "ff", "case-3/variant-2": "ee", // nothing is known
}

// TestChecks: what flips is told by check and arm; what ended in an error is unknown, and no failure.
func TestChecks(t *testing.T) {
	rep := reportOf(t, checked(t, someOutcomes))
	got := make(map[string]string)
	for _, c := range rep.armChecks() {
		got[c.Case+" "+c.Evaluator+"/"+c.ID] = fmt.Sprintf("%s, %s: %d", c.Arms[0], c.Arms[1], c.Flip)
	}
	require.Equal(t, map[string]string{
		"case-1 judge/r1":    "✓ 2/2, ✗ 1/2: -1",
		"case-2 judge/r1":    "✗ 0/2, ✓ 1/1, 1 unknown: 1",
		"case-3 judge/r1":    "✗ 0/2, –, 2 unknown: 0",
		"case-1 tests/tests": "✓ 2/2, ✓ 2/2: 0", "case-2 tests/tests": "✓ 2/2, ✓ 2/2: 0",
		"case-3 tests/tests": "✓ 2/2, ✓ 2/2: 0",
	}, got)
	golden.Equal(t, "testdata/checks.md", string(rep.Summary(MaxSummary)))
	require.Nil(t, reportOf(t, sample(t, 2, 1, 1)).armChecks(), "there is no reference")
}

// TestReferences: an arm is compared with the reference that was made from it, or that is most like it.
func TestReferences(t *testing.T) {
	axes := func(agent, skill string) map[string]string { return map[string]string{"agent": agent, "skill": skill} }
	variants := []Variant{
		{ID: "a-with", Axes: axes("a", "with")},
		{ID: "b-with", Axes: axes("b", "with")},
		{ID: "a-without", Axes: axes("a", "without"), Reference: true},
		{ID: "b-without", Axes: axes("b", "without"), Reference: true},
		{ID: "b-bare", Of: "b-with", Reference: true},
	}
	require.Equal(t, []int{2, 4, -1, -1, -1}, (&Report{Variants: variants}).references())
	require.Nil(t, (&Report{Variants: variants[:2]}).references())
	require.Nil(t, (&Report{Variants: variants[2:]}).references())
}

// TestPageChecks: the page shows the same, what was lost first, and says on demand why.
func TestPageChecks(t *testing.T) {
	page, err := reportOf(t, checked(t, someOutcomes)).HTML()
	require.NoError(t, err)
	rows := inPage[[][]string](t, page, `
		const rows = [...document.querySelectorAll(".checks tbody tr")].map((tr) =>
			[...tr.children].map((td) => td.textContent.replace(/\s+/g, " ").trim()));
		const open = document.querySelectorAll(".checks details")[0];
		open.querySelector("summary").click();
		while (!open.querySelector("li")) await new Promise((done) => setTimeout(done, 10));
		return [...rows.slice(0, 5), [...open.querySelectorAll("li")].map((li) => li.textContent),
			[...texts("#checks-title + p"), String(document.querySelectorAll(".checks b").length)]];`)
	require.Equal(t, [][]string{
		{"case-1", "", "✓2/2", "✓1/2"},
		{"It is polite | <b> judge", "▼ lost", "✓2/2", "✗1/2"},
		{"tests", "", "✓2/2", "✓2/2"},
		{"case-2", "", "✗0/2", "!1/2"},
		{"It is polite | <b> judge", "▲ gained", "✗0/2", "✓passed! 1"},
		{"✓variant-1/1says please", "✓variant-1/2says please", "✓variant-2/1says please", "✗variant-2/2is rude"},
		{"Compared with the reference, 1 check gained and 1 lost, of 6.", "0"},
	}, rows)
}

// TestManyChecks: those of a large run take little time, and of too many those that flip are shown.
func TestManyChecks(t *testing.T) {
	s := sample(t, 2, 5000, 1)
	s.manifest.Variants[0].Reference = true
	for i := range s.units {
		if e := s.units[i].Evaluations; len(e) > 0 {
			for n := range 8 {
				c := result.Check{ID: fmt.Sprint("c", n), Text: "It is polite", Outcome: e[0].Outcome}
				e[0].Checks = append(e[0].Checks, c)
			}
		}
	}
	rep := reportOf(t, s)
	began := time.Now()
	checks, left := rep.pageChecks()
	all := rep.armChecks()
	t.Logf("%d checks of %d units: %s", len(all), len(s.units), time.Since(began)/2)
	require.Len(t, checks, maxPageChecks)
	require.Equal(t, len(all)-maxPageChecks, left)
	flips := func(list []armCheck) (n int) {
		for _, c := range list {
			n += c.Flip * c.Flip
		}
		return n
	}
	require.Equal(t, min(flips(all), maxPageChecks), flips(checks))
	began = time.Now()
	require.Less(t, len(rep.Markdown()), 70_000)
	t.Logf("report.md: %s", time.Since(began))
}
