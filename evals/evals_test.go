package evals

import (
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

func TestEvals(t *testing.T) {
	evaltest.Describe(t, "*/*.yaml", evaltest.Check("ends-what-it-starts", endsWhatItStarts))
}

// endsWhatItStarts expects that no tool call is left open, in any suite.
func endsWhatItStarts(t *evaltest.T, u evaltest.Unit) {
	for _, c := range u.Run.ToolCalls() {
		if c.Status == trajectory.Pending {
			t.Errorf("turn %d: %s (%s) never ended", c.Turn, c.Name, c.Title)
		}
	}
}
