package trajectory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

func TestOutcome(t *testing.T) {
	zero, one := 0, 1
	tests := []struct {
		name string
		call trajectory.ToolCall
		want trajectory.Outcome
	}{
		{"pending", trajectory.ToolCall{Status: trajectory.Pending}, trajectory.OutcomePending},
		{"in progress", trajectory.ToolCall{Status: trajectory.InProgress}, trajectory.OutcomePending},
		{"cancelled", trajectory.ToolCall{Status: trajectory.Cancelled}, trajectory.OutcomePending},
		{"completed", trajectory.ToolCall{Status: trajectory.Completed}, trajectory.OutcomeOK},
		{"exited with 0", trajectory.ToolCall{Status: trajectory.Completed, ExitCode: &zero}, trajectory.OutcomeOK},
		{
			"exited with 1, which the agent calls completed",
			trajectory.ToolCall{Status: trajectory.Completed, ExitCode: &one},
			trajectory.OutcomeError,
		},
		{"failed", trajectory.ToolCall{Status: trajectory.Failed}, trajectory.OutcomeError},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, tt.call.Outcome()) })
	}
}
