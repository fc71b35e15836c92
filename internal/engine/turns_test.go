package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// endsLate is a context that ends while somebody waits, and not before.
type endsLate struct{ context.Context }

func (endsLate) Err() error { return nil }

// TestTakeTurn: where processes can reach each other's files, who starts any waits for who does, and nobody else waits.
func TestTakeTurn(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	waits := endsLate{ended}
	r := &run{
		Runner:     new(Runner),
		properties: confine.Properties{Kind: confine.Landlock, Open: []confine.Property{confine.FileModes}},
	}
	end := r.takeTurn(t.Context(), true)
	require.NotNil(t, end)
	require.Nil(t, r.takeTurn(waits, true), "another unit starts processes")
	require.NotNil(t, r.takeTurn(waits, false))
	closed := &run{Runner: new(Runner), properties: confine.Properties{Kind: confine.Bwrap}}
	require.NotNil(t, closed.takeTurn(waits, true))
	require.Nil(t, closed.takeTurn(ended, false))
	end()
	end = r.takeTurn(t.Context(), true)
	require.NotNil(t, end)
	end()
}

// TestFailsBy: a limit of the machine is the agent's failure if the playbook says so, and nothing else has happened.
func TestFailsBy(t *testing.T) {
	disk, other := error(&supervise.LimitError{Resource: supervise.Disk}), errors.New("other")
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{other, false},
		{disk, true},
		{fmt.Errorf("the agent: %w", disk), true},
		{fmt.Errorf("the agent: %w", other), false},
		{errors.Join(disk, fmt.Errorf("a step: %w", disk)), true},
		{errors.Join(disk, other), false},
		{&supervise.LimitError{Resource: supervise.Disk, Used: 1, Limit: 2}, false},
	} {
		pb := new(plan.Playbook)
		require.False(t, (&Runner{pb: pb}).failsBy(tt.err))
		pb.Limits.Exceeded = string(result.Fail)
		require.Equal(t, tt.want, (&Runner{pb: pb}).failsBy(tt.err), tt.err)
	}
}
