package engine

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/localtools"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

func TestMeasure(t *testing.T) {
	n := func(i int64) *int64 { return &i }
	code := func(i int) *int { return &i }
	denied := &localtools.Denied{Op: "read", Path: "/etc/passwd", Reason: "it is outside the workspace"}
	allow := []trajectory.PermissionOption{{ID: "y", Kind: "allow_once"}, {ID: "n", Kind: "reject_once"}}
	var events []trajectory.Event
	at := time.Duration(0)
	add := func(bodies ...trajectory.Body) {
		for _, b := range bodies {
			events = append(events, trajectory.Event{Turn: 1, At: at, Body: b})
			at += time.Millisecond
		}
	}
	add(
		trajectory.Prompt{Text: "p"},
		trajectory.ToolStart{ID: "1", Name: "Read", Kind: "read", Locations: []trajectory.Location{{Path: "a.go"}}},
		trajectory.ToolEnd{ID: "1", Status: trajectory.Completed},
		trajectory.ToolStart{
			ID: "2", Name: "Edit", Kind: "edit", Title: "Edit a.go",
			Locations: []trajectory.Location{{Path: "a.go"}},
		},
		trajectory.Permission{ID: "2", Options: allow, Decision: "n"},
		trajectory.Permission{ID: "of no call", Options: allow, Decision: "y"},
		trajectory.ToolEnd{ID: "2", Status: trajectory.Failed},
		trajectory.ToolStart{ID: "3", Name: "Bash", Kind: "execute", Args: map[string]any{"command": "go test ./..."}},
		trajectory.ToolEnd{ID: "3", Status: trajectory.Failed, Printed: "FAIL", ExitCode: code(1)},
		trajectory.ToolStart{ID: "4", Kind: "execute", Title: "ls", Args: map[string]any{"command": []any{"ls", "-l"}}},
		trajectory.ToolEnd{ID: "4", Status: trajectory.Completed, Output: "a.go", ExitCode: code(0)},
		trajectory.ToolStart{ID: "5", Name: "Shell", Kind: "execute", Args: map[string]any{"command": "go vet"}},
		trajectory.Terminal{Command: "go", Args: []string{"vet"}, Cwd: "sub", Output: "ok", ExitCode: code(0)},
		trajectory.ToolEnd{ID: "5", Status: trajectory.Completed},
		trajectory.FileRead{Path: "b.go", Text: "package b"}, trajectory.FileRead{Path: "b.go", Text: "package b"},
		trajectory.FileRead{Path: "/etc/passwd", Error: denied.Error()},
		trajectory.FileRead{Path: "none.go", Error: "file does not exist"},
		trajectory.FileWrite{Path: "c.go", Text: "package c"},
		trajectory.ToolStart{ID: "6", Name: "Read", Kind: "read", Locations: []trajectory.Location{{Path: "d.go"}}},
		trajectory.ToolStart{ID: "7", Name: "Edit", Kind: "edit", Locations: []trajectory.Location{{Path: "d.go"}}},
		trajectory.FileRead{Path: "d.go", Text: "package d"},
		trajectory.ToolEnd{ID: "6", Status: trajectory.Completed},
		trajectory.FileWrite{Path: "d.go", Text: "package d"},
		trajectory.ToolEnd{ID: "7", Status: trajectory.Completed},
		trajectory.ToolStart{ID: "8", Name: "Mv", Kind: "move", Locations: []trajectory.Location{{Path: "d.go"}}},
		trajectory.ToolEnd{ID: "8", Status: trajectory.Completed},
		trajectory.ToolStart{ID: "9", Name: "Rm", Kind: "delete", Locations: []trajectory.Location{{Path: "a.go"}}},
		trajectory.ToolEnd{ID: "9", Status: trajectory.Completed},
		trajectory.Terminal{Command: "yes", Output: "y", Truncated: true, Signal: "killed", Duration: time.Second},
		trajectory.Terminal{Command: "cat", Error: "no such file"},
		trajectory.State{Cost: &trajectory.Cost{Amount: 0.25, Currency: "USD"}},
		trajectory.Stop{Reason: "end_turn", Usage: &trajectory.Usage{Input: n(100), Output: n(20), Total: n(120)}},
		trajectory.Prompt{Text: "q"},
		trajectory.Stop{Reason: "max_tokens", Usage: &trajectory.Usage{
			Input: n(5), CacheRead: n(3), CacheWrite: n(2), Thought: n(1),
		}},
	)
	took := result.Duration(2 * time.Second)
	unit := result.Unit{
		Run: &trajectory.Run{Events: events},
		Steps: []result.Step{
			{Name: "prepare"},
			{Command: &result.Command{
				Source: result.FromStep, Command: "go test", ExitCode: code(0),
				Duration: &took,
			}},
		},
	}
	got, err := json.MarshalIndent(measure(unit), "", "  ")
	require.NoError(t, err)
	golden.Equal(t, "testdata/metrics.json", string(got)+"\n")
}

// TestMeasureNothing: what is unknown is null and never 0.
func TestMeasureNothing(t *testing.T) {
	m := measure(result.Unit{})
	require.Nil(t, m.Tokens)
	require.Nil(t, m.Cost)
	require.Nil(t, m.Changes)
	require.Zero(t, m.Iterations)
}
