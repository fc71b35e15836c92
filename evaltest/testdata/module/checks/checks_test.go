package checks

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/playbook"
)

func TestPass(t *testing.T) {
	evaltest.Describe(t, "../evals/greet.yaml",
		evaltest.Check("answers", func(t *evaltest.T, u evaltest.Unit) {
			require.Equal(t, "greeting.txt, and nothing else.", u.Run.Answer())
		}),
		evaltest.Check("writes", func(t *evaltest.T, u evaltest.Unit) {
			text, err := os.ReadFile(filepath.Join(u.Workspace, "greeting.txt"))
			require.NoError(t, err)
			if diff := cmp.Diff("Hello, shop!\n", string(text)); diff != "" {
				t.Errorf("greeting.txt (-want +got):\n%s", diff)
			}
		}),
	)
}

func TestFail(t *testing.T) {
	evaltest.Describe(t, "../evals/greet.yaml",
		evaltest.Check("calls", func(t *evaltest.T, u evaltest.Unit) {
			calls := u.Run.ToolCalls()
			if len(calls) != 3 {
				t.Fatalf("%d tool calls, want 3", len(calls))
			}
			t.Errorf("not reached")
		}),
		evaltest.Check("both", func(t *evaltest.T, u evaltest.Unit) {
			assert.Equal(t, 3, u.Run.Turns())
			t.Log("reached", t.Failed())
		}),
		evaltest.Check("plain", func(t *evaltest.T, u evaltest.Unit) {
			t.Error("one")
			t.Fail()
			t.Fatal("two")
		}),
	)
}

func TestPanic(t *testing.T) {
	evaltest.Describe(t, "../evals/greet.yaml",
		evaltest.Check("panics", func(t *evaltest.T, u evaltest.Unit) { panic("oh no") }))
}

func TestGoexit(t *testing.T) {
	evaltest.Describe(t, "../evals/**/*.yaml",
		evaltest.Check("leaves", func(t *evaltest.T, u evaltest.Unit) { runtime.Goexit() }))
}

func TestSameName(t *testing.T) {
	evaltest.Describe(t, "../evals/greet.yaml", evaltest.Check("greets", func(*evaltest.T, evaltest.Unit) {}))
}

func TestOverride(t *testing.T) {
	evaltest.Describe(t, "../evals/greet.yaml",
		evaltest.Override(playbook.Override{
			Tool: "Write", Args: map[string]any{"path": "greeting.txt"},
			Error: "disk full",
		}),
		evaltest.Check("write failed", func(t *evaltest.T, u evaltest.Unit) {
			calls := u.Run.ToolCalls()
			require.Equal(t, trajectory.Completed, calls[0].Status)
			require.Equal(t, trajectory.Failed, calls[1].Status)
			require.Equal(t, "disk full", calls[1].Output)
		}),
	)
}

func TestOverrideUnused(t *testing.T) {
	evaltest.Describe(t, "../evals/greet.yaml", evaltest.Override(playbook.Override{Tool: "Write", Nth: 2, Output: 5}))
}

func TestOverrideOfNothing(t *testing.T) {
	evaltest.Describe(t, "../evals/greet.yaml", evaltest.Override(playbook.Override{Tool: "Write"}))
}

func TestNoFunction(t *testing.T) {
	evaltest.Describe(t, "../evals/greet.yaml", evaltest.Check("empty", nil))
}

func TestNoName(t *testing.T) {
	evaltest.Describe(t, "../evals/greet.yaml", evaltest.Check("", func(*evaltest.T, evaltest.Unit) {}))
}

func TestLate(t *testing.T) {
	over, reported := make(chan bool), make(chan bool)
	evaltest.Describe(t, "../evals/greet.yaml", evaltest.Check("hasty", func(t *evaltest.T, u evaltest.Unit) {
		go func() {
			<-over
			t.Errorf("too late")
			close(reported)
		}()
	}))
	close(over)
	<-reported
}
