package engine

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// TestInstrument ends cases of two trials each, of which a word says what is known: "+" fires and should, "-" does not
// and should, "?" nobody knows, "o" should not, "." has not ended.
func TestInstrument(t *testing.T) {
	for _, tt := range []struct {
		cases   int
		trials  string
		refused bool
	}{
		{2, "-- -- ..", true},
		{2, "-- -- --", true},
		{2, "-- -- .. -+", true}, // it was known before
		{2, "-- -. ..", false},
		{2, "-- -+ ..", false},
		{2, "+- -- ..", false},
		{2, "-- oo -- ..", true},
		{2, "oo oo oo ..", false},
		{2, "-- oo ..", false},
		{2, "-- -? ..", true},
		{2, "-- .. --", false}, // it may be another that should
		{0, "-- -- ..", false},
		{3, "-- -- ..", false},
	} {
		i := instrument{cases: tt.cases}
		var units []plan.Unit
		trial := 1
		n := 0
		for _, word := range tt.trials {
			if word == ' ' {
				n, trial = n+1, 1
				continue
			}
			u := plan.Unit{Playbook: "p", Case: plan.Case{ID: fmt.Sprint("c", n)}, Trial: trial}
			units, trial = append(units, u), trial+1
			a := result.Activation{Name: "pdf", Wanted: word != 'o', Fired: new(word == '+')}
			if word == '?' {
				a.Fired = nil
			}
			if word != '.' {
				i.note(result.Unit{
					ID: u.ID(), Evaluations: []result.Evaluation{{Activations: []result.Activation{a}}},
				})
			}
		}
		require.Equal(t, tt.refused, i.refuses(units), "%d of %s", tt.cases, tt.trials)
		if tt.refused {
			require.True(t, i.refuses(units))
			require.ErrorContains(t, i.suspect, fmt.Sprintf("first %d cases", tt.cases))
			require.ErrorContains(t, i.suspect, "2 units were not run")
		}
	}
}
