package baseline

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/compare"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// trial is one with a check of that outcome and an evaluator that passed.
func checkedTrial(session string, o result.Outcome) compare.Trial {
	return compare.Trial{
		Outcome: o, Session: session, Evaluators: map[string]result.Outcome{"text": o, "calls": result.Pass},
		Checks: []compare.Check{{Evaluator: "text", ID: "1", Text: "It says please", Outcome: o}},
	}
}

func skillBaseline(mode, digest string, cases ...compare.Case) *Baseline {
	return &Baseline{Version: 1, Mode: mode, Variants: []Variant{
		{ID: "with", Skills: []Skill{{"pdf", digest}}, Cases: cases},
		{ID: "without", Cases: cases},
	}}
}

func caseOf(id, digest string, trials ...compare.Trial) compare.Case {
	return compare.Case{ID: id, Digests: map[string]string{"prompts": digest}, Trials: trials}
}

// TestDrift: what was replayed with the same skill must come out as before; what is another session is compared; what
// the baseline does not know is told.
func TestDrift(t *testing.T) {
	pass, fail := checkedTrial("s1", result.Pass), checkedTrial("s1", result.Fail)
	other := checkedTrial("s2", result.Fail)
	was := skillBaseline("record", "1", caseOf("p/a", "1", pass), caseOf("p/gone", "1", pass))
	changed := Change{Case: "p/a", Variant: "with", Trial: 1, Check: "It says please", Was: "pass", Now: "fail"}
	reference := changed
	reference.Variant = "without"
	for _, tt := range []struct {
		name string
		now  *Baseline
		want Drift
		rest int // cases to compare
	}{
		{"the same", skillBaseline("replay", "1", caseOf("p/a", "1", pass)), Drift{Kept: 4}, 0},
		{
			"judged otherwise", skillBaseline("missing", "1", caseOf("p/a", "1", fail)),
			Drift{Kept: 2, Changes: []Change{changed, reference}},
			0,
		},
		{
			"another recording, replayed", skillBaseline("replay", "1", caseOf("p/a", "1", other)),
			Drift{Kept: 1, Changes: []Change{changed}},
			0,
		},
		{"recorded anew", skillBaseline("missing", "1", caseOf("p/a", "1", other)), Drift{}, 1},
		{
			"another skill", skillBaseline("replay", "2", caseOf("p/a", "1", other)), Drift{}, 1,
		},
		{
			"another case", skillBaseline("replay", "1", caseOf("p/a", "2", fail)),
			Drift{Unknown: []compare.Incomparable{{Case: "p/a", Why: []string{"prompts"}}}},
			0,
		},
		{
			"a new case", skillBaseline("replay", "1", caseOf("p/a", "1", pass), caseOf("p/b", "1", fail)),
			Drift{
				Kept: 4, Unknown: []compare.Incomparable{{Case: "p/b", Why: []string{"it is not in the baseline"}}},
			},
			0,
		},
		{
			"more trials", skillBaseline("replay", "1", caseOf("p/a", "1", pass, pass)),
			Drift{Kept: 2, Changes: []Change{
				{"p/a", "with", 2, "It says please", "", "pass"}, {"p/a", "with", 2, "calls", "", "pass"},
			}},
			0,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := was.Drift(tt.now, "with")
			require.Len(t, got.Others.Base.Cases, tt.rest)
			require.Len(t, got.Others.Head.Cases, tt.rest)
			require.Equal(t, []string{"p/gone"}, got.Gone)
			got.Others, got.Gone = compare.Arms{}, nil
			require.Equal(t, tt.want, got)
		})
	}
	selected := skillBaseline("replay", "1", caseOf("p/a", "1", pass))
	selected.Selected = "1 of 2"
	require.Empty(t, was.Drift(selected, "with").Gone)
	limit := pass
	limit.Outcome = result.Fail
	require.Equal(t, []Change{{"p/a", "with", 1, "", "pass", "fail"}, {"p/a", "without", 1, "", "pass", "fail"}},
		was.Drift(skillBaseline("replay", "1", caseOf("p/a", "1", limit)), "with").Changes, "by no check")
}
