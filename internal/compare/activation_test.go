package compare

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

// using is an arm of cases, each with what is known of the use of skills in its trials.
func using(cases ...[][]result.Activation) (a Arm) {
	for i, trials := range cases {
		c := Case{ID: string(rune('a' + i))}
		for _, used := range trials {
			c.Trials = append(c.Trials, Trial{Outcome: result.Pass, Activations: used})
		}
		a.Cases = append(a.Cases, c)
	}
	return a
}

// of is what is known of one skill in a trial.
func of(name string, wanted bool, fired *bool) []result.Activation {
	return []result.Activation{{Name: name, Wanted: wanted, Fired: fired}}
}

// TestActivations: what is not known is in no share, and what never fired has no precision.
func TestActivations(t *testing.T) {
	yes, no := new(true), new(false)
	base := using(
		[][]result.Activation{of("pdf", true, no), of("pdf", true, yes), of("pdf", true, nil)},
		[][]result.Activation{of("pdf", false, yes), of("pdf", false, nil)},
		[][]result.Activation{of("xls", true, no), of("doc", true, nil)},
	)
	head := using(
		[][]result.Activation{of("pdf", true, yes), of("pdf", true, yes)},
		[][]result.Activation{of("pdf", false, no), of("pdf", false, no)},
		[][]result.Activation{of("xls", true, no), of("doc", true, yes)},
	)
	rows := Rule{Scope: Suite, Alpha: .05}.Compare(base, head).Activation
	var said []string
	for _, row := range rows {
		said = append(said, row.Says())
	}
	require.Equal(t, []string{
		"doc: precision ? % → 100.0 %",
		"pdf: fired where it should in 50.0 % → 100.0 %, p = 0.750",
		"pdf: silent where it should be in 0.0 % → 100.0 %, p = 0.750",
		"pdf: precision 50.0 % → 100.0 %",
		"xls: fired where it should in 0.0 % → 0.0 %, p = 1.000",
	}, said)
	assert.True(t, math.IsNaN(float64(rows[0].Base)), "it never fired")
	swapped := Rule{Scope: Suite, Alpha: .05}.Compare(head, base).Activation
	for i, row := range rows[1:] {
		assert.InDelta(t, -float64(row.Delta), float64(swapped[i+1].Delta), 1e-12, row.Name)
		assert.Equal(t, row.Measure, swapped[i+1].Measure)
	}
}
