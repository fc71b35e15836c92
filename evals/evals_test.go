package evals

import (
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

func TestEvals(t *testing.T) {
	evaltest.Describe(t, "*/*.yaml",
		evaltest.Check("ends-what-it-starts", endsWhatItStarts),
		evaltest.Check("says-what-it-did", saysWhatItDid))
}

// saysWhatItDid expects a last word of an agent that ended its turn by its own will.
func saysWhatItDid(t *evaltest.T, u evaltest.Unit) {
	stops := u.Run.StopReasons()
	if len(stops) > 0 && stops[len(stops)-1] == "end_turn" && u.Run.Answer() == "" {
		t.Errorf("the agent ended its last turn without a word")
	}
}

// endsWhatItStarts expects that no tool call is left open, in any suite.
func endsWhatItStarts(t *evaltest.T, u evaltest.Unit) {
	for _, c := range u.Run.ToolCalls() {
		if c.Status == trajectory.Pending {
			t.Errorf("turn %d: %s (%s) never ended", c.Turn, c.Name, c.Title)
		}
	}
}
