package fault_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/fault"
)

func TestMarks(t *testing.T) {
	gone := errors.New("gone")
	tests := []struct {
		name, reason string
		err          error
		advice       string
		transient    bool
	}{
		{name: "none", err: gone},
		{
			name: "advised", reason: "wrapping keeps the advice",
			err:    fmt.Errorf("start: %w", fault.Advise(gone, "install")),
			advice: "install",
		},
		{
			name: "advised twice", reason: "who is closer to the user knows more",
			err: fault.Advise(fault.Advise(gone, "a"), "b"), advice: "b",
		},
		{
			name: "transient", reason: "wrapping keeps the mark", err: errors.Join(gone, fault.Transient(gone)),
			transient: true,
		},
		{name: "both", err: fault.Transient(fault.Advise(gone, "wait")), advice: "wait", transient: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.advice, fault.Advice(tt.err), tt.reason)
			require.Equal(t, tt.transient, fault.IsTransient(tt.err), tt.reason)
			require.ErrorIs(t, tt.err, gone)
			require.ErrorContains(t, tt.err, "gone", "people read the error as it was")
		})
	}
	require.Empty(t, fault.Advice(nil))
	require.False(t, fault.IsTransient(nil))
}
