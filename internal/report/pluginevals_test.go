package report

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestAggregateOfErrors: a case of which one run is not known has not passed, however well the others went.
func TestAggregateOfErrors(t *testing.T) {
	why := "outage"
	passed, unknown := armRun{Score: 1, Passed: true}, armRun{Error: &why}
	for _, tt := range []struct {
		name string
		with []armRun
		want int
	}{
		{"all pass", []armRun{passed, passed}, 1},
		{"one is not known", []armRun{passed, unknown}, 0},
		{"none is known", []armRun{unknown}, 0},
		{"none was run", nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := new(caseResult)
			c.Arms.With = tt.with
			c.sum()
			a := aggregateResult{Suite: aggregateSuite{Threshold: 1}, Cases: []*caseResult{c}}
			a.sum()
			assert.Equal(t, tt.want, a.Aggregates.CasesPassed)
		})
	}
}
