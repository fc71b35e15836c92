package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
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
	holds := []confine.Property{confine.FilesWritten, confine.FileModes, confine.Sockets}
	info, err := os.Stat("turns_test.go")
	require.NoError(t, err)
	for _, tt := range []struct {
		name                  string
		replays               bool // the unit starts nothing
		meanwhile, then       bool // another starts children beside the unit, after it
		secrets               int  // known at the end; 1 when it was searched
		forgotten             bool // another attempt began
		unchanged, inConfined bool
	}{
		{name: "alone", secrets: 1, unchanged: true, inConfined: true},
		{name: "beside another", meanwhile: true, secrets: 1, inConfined: true},
		{name: "before another", then: true, secrets: 1, inConfined: true},
		{name: "a replay", replays: true, secrets: 1, unchanged: true, inConfined: true},
		{name: "a replay beside another", replays: true, meanwhile: true, secrets: 1, inConfined: true},
		{name: "for other secrets", secrets: 2},
		{name: "in an attempt before", forgotten: true, secrets: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s starters
			if tt.meanwhile {
				defer s.begin()()
			}
			end := func() {}
			if !tt.replays {
				end = s.begin()
			}
			was := searched{secrets: 1, begun: s.alone(!tt.replays)}
			s.leave("/run/a/workspace", &was)
			require.Equal(t, was, s.left["/run/a/workspace"])
			was.seen.Add("a.txt", info, nil)
			s.leave("/run/a/workspace", &was)
			require.Zero(t, s.left["/run/a/workspace"].seen, "the names of all files are not kept until the run ends")
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
			linux := runtime.GOOS == "linux" // elsewhere children may survive their supervision
			for held, is := range map[*confine.Properties]bool{
				{Kind: confine.Bwrap, Holds: holds}:        tt.inConfined,
				{Kind: confine.Bwrap, Holds: holds[:2]}:    tt.unchanged && linux,
				{Kind: confine.None}:                       tt.unchanged && linux,
				{Kind: confine.Landlock, Holds: holds[:1]}: tt.unchanged && linux,
				{Kind: confine.Wrapper, Holds: holds}:      false, // it may give more than what it is tried with
				{Kind: confine.Wrapper, Holds: nil}:        false,
			} {
				require.Equal(t, want(is), s.unchanged("/run", tt.secrets, *held), held)
			}
		})
	}
}
