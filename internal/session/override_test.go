package session

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// TestOverrideOfNoAnswer holds that a call which was cut off before its answer is none that an override has changed.
func TestOverrideOfNoAnswer(t *testing.T) {
	call := func(id string) trajectory.Event {
		return trajectory.Event{Body: trajectory.ToolStart{ID: id, Name: "Bash"}}
	}
	end := trajectory.Event{Body: trajectory.ToolEnd{ID: "c2", Status: trajectory.Completed, Output: "ok"}}
	run := &trajectory.Run{Events: []trajectory.Event{call("c1"), call("c2"), end}}
	overrides := overridesOf([]playbook.Override{{Tool: "Bash", Nth: 1, Error: "disk full"}, {Tool: "Bash", Nth: 2, Error: "no power"}})
	override(run, overrides)
	assert.Equal(t, []trajectory.Event{
		call("c1"), call("c2"),
		{Body: trajectory.ToolEnd{ID: "c2", Status: trajectory.Failed, Output: "disk full"}},
		{Body: trajectory.Notice{Name: "override", Data: map[string]any{"id": "c2"}}},
	}, run.Events)
	left := overrides.Unapplied()
	assert.Len(t, left, 1)
	assert.Equal(t, 2, left[0].Nth)
}
