package evaltest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// TestOverrideClient has an agent that runs see an answer which is written in Go, while it is recorded and in replay.
func TestOverrideClient(t *testing.T) {
	t.Setenv("EVALTEST_SANDBOX", "none")
	t.Setenv("EVALTEST_RECORD_IN_CI", "1")
	cassettes := t.TempDir()
	for _, mode := range []string{"record", "replay"} {
		t.Run(mode, func(t *testing.T) {
			t.Setenv("EVALTEST_MODE", mode)
			evaltest.Describe(t, "testdata/levels/client.yaml", evaltest.Cassettes(cassettes),
				evaltest.Override(playbook.Override{Tool: "fs/write_text_file", Error: "disk full"}),
				evaltest.Check("write failed", func(t *evaltest.T, u evaltest.Unit) {
					calls := u.Run.ToolCalls()
					require.Equal(t, trajectory.Failed, calls[len(calls)-1].Status)
				}))
		})
	}
}
