package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
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

// TestStarters: a workspace is searched again when the run ends, unless nothing can have changed it.
func TestStarters(t *testing.T) {
	confined := confine.Properties{Holds: []confine.Property{confine.FilesWritten, confine.FileModes}}
	modes := confine.Properties{Holds: []confine.Property{confine.FilesWritten}}
	for _, tt := range []struct {
		name                  string
		meanwhile, then       bool // another starts children beside the unit, after it
		secrets               int  // known at the end; 1 when it was searched
		forgotten             bool // another attempt began
		unchanged, inConfined bool
	}{
		{name: "alone", secrets: 1, unchanged: true, inConfined: true},
		{name: "beside another", meanwhile: true, secrets: 1, inConfined: true},
		{name: "before another", then: true, secrets: 1, inConfined: true},
		{name: "for other secrets", secrets: 2},
		{name: "in an attempt before", forgotten: true, secrets: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s starters
			if tt.meanwhile {
				defer s.begin()()
			}
			end := s.begin()
			s.leave("/run/a/workspace", &searched{secrets: 1, begun: s.alone()})
			end()
			if tt.then {
				s.begin()()
			}
			if tt.forgotten {
				s.leave("/run/a/workspace", nil)
			}
			want := func(is bool) map[string]bool {
				if is {
					return map[string]bool{"a/workspace": true}
				}
				return map[string]bool{}
			}
			if runtime.GOOS == "linux" { // elsewhere children may survive their supervision
				require.Equal(t, want(tt.unchanged), s.unchanged("/run", tt.secrets, confine.Properties{}))
				require.Equal(t, want(tt.unchanged), s.unchanged("/run", tt.secrets, modes))
			}
			require.Equal(t, want(tt.inConfined), s.unchanged("/run", tt.secrets, confined))
		})
	}
}
