package suite_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// otherwise are the tests that end otherwise than in promptfoo, each with the reason.
var otherwise = map[string]string{
	"is-json-twice":        "an object with a duplicate key is no JSON here",
	"contains-json-braces": "promptfoo reads {name} as YAML, in which it is an object",
	"contains-json-single": "promptfoo reads single quotes as YAML",
	"contains-json-cut":    "promptfoo closes braces that are open",
}

// Tests end as promptfoo 0.123.1 ended them: verdicts.json has `success` of each of the results that
// `promptfoo eval --no-cache -o results.json` wrote.
func TestPromptfooOracle(t *testing.T) {
	dir, err := filepath.Abs("testdata/promptfoo-oracle")
	require.NoError(t, err)
	data, err := os.ReadFile(filepath.Join(dir, "verdicts.json"))
	require.NoError(t, err)
	var verdicts map[string]bool
	require.NoError(t, json.Unmarshal(data, &verdicts))
	o := options(dir)
	s, err := format(t, "promptfoo").Convert(t.Context(), dir, o)
	require.NoError(t, err)
	require.Empty(t, s.Problems)
	require.Len(t, s.Playbooks, 1)
	read, err := plan.Parse(filepath.Join(o.Out, s.Playbooks[0].File), s.Playbooks[0].Text, kinds.All())
	require.NoError(t, err)
	p, err := read.Plan()
	require.NoError(t, err)
	require.Len(t, p.Units, len(verdicts))
	for _, u := range p.Units {
		t.Run(u.Case.ID, func(t *testing.T) {
			theirs, ok := verdicts[u.Case.ID]
			require.True(t, ok)
			ours := true
			for _, e := range u.Evaluators {
				v := evaluator.Judge(t.Context(), e, evaluator.Input{Run: saying(u.Case.Prompts[0])})
				require.NotEqual(t, result.Error, v.Outcome, v.Reason)
				ours = ours && v.Outcome != result.Fail
			}
			if reason := otherwise[u.Case.ID]; reason != "" {
				assert.NotEqual(t, theirs, ours, "no longer: %s", reason)
			} else {
				assert.Equal(t, theirs, ours)
			}
		})
	}
}

// saying returns a session in which an agent says a text.
func saying(text string) *trajectory.Run {
	return &trajectory.Run{Events: []trajectory.Event{
		{Turn: 1, Body: trajectory.Message{Text: text}}, {Turn: 1, Body: trajectory.Stop{Reason: "end_turn"}},
	}}
}
