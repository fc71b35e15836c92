package engine_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/fault"
)

// TestGoVersion holds that a program built with a Go whose os.Root has defects replays with a warning, and starts no
// agent.
func TestGoVersion(t *testing.T) {
	const warning = "warning: this program was built with "
	tests := []struct {
		version string
		unsafe  bool
	}{
		{version: "go1.26", unsafe: true},
		{version: "go1.26.0", unsafe: true},
		{version: "go1.26.4", unsafe: true},
		{version: "go1.26.4 X:jsonv2", unsafe: true},
		{version: "go1.25.12", unsafe: true},
		{version: "go1.26rc2", unsafe: true},
		{version: "devel +abc Mon Jan 2", unsafe: true},
		{version: "unknown", unsafe: true},
		{version: "go1.26.5"},
		{version: "go1.26.5 X:jsonv2"},
		{version: "go1.26.10"},
		{version: "go1.26.5-vendor"},
		{version: "go1.27rc1"},
		{version: "devel go1.28-0123abcdef Mon Jan 2 15:04:05 2026 +0000"},
		{version: "go2.0"},
		{version: runtime.Version()},
		{},
	}
	root := recorded(t, 1)
	for _, tt := range tests {
		t.Run(tt.version, func(t *testing.T) {
			change := func(c *engine.Config) { c.GoVersion = tt.version }
			runner, _ := newRunner(t, root, benchPlaybook, engine.Replay, change)
			replayed := new(sink)
			_, err := runner.Run(t.Context(), replayed)
			require.NoError(t, err)
			require.Len(t, replayed.units, 1)
			require.Equal(t, "pass", string(replayed.units[0].Outcome))
			if tt.unsafe {
				require.Len(t, replayed.notes, 1)
				require.Contains(t, replayed.notes[0], warning+tt.version+": ")
			} else {
				require.Empty(t, replayed.notes)
			}

			if !tt.unsafe {
				return
			}
			for _, mode := range []engine.Mode{engine.Live, engine.Record} {
				runner, _ = newRunner(t, t.TempDir(), benchPlaybook, mode, change)
				live := new(sink)
				_, err = runner.Run(t.Context(), live)
				require.ErrorContains(t, err,
					"no agent is started: this program was built with "+tt.version+": before go1.26.5")
				require.ErrorAs(t, err, new(*engine.InputError))
				require.Contains(t, fault.Advice(err), "`go get toolchain@go1.26.5`")
				require.Empty(t, live.units)
			}
		})
	}
}
