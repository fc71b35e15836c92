package answer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/internal/answer"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

func TestTools(t *testing.T) {
	assert.Equal(t, []string{
		acp.MethodReadTextFile, acp.MethodWriteTextFile, acp.MethodRequestPermission, acp.MethodCreateTerminal,
	}, answer.Tools)
}

// TestCheck compares what is said of outputs that a tool cannot have.
func TestCheck(t *testing.T) {
	outputs := []any{
		"text", "", "allow_once", "cancelled", 3, nil,
		[]any{"a"},
		map[string]any{"output": "x"},
		map[string]any{"exit_code": 1.5},
		map[string]any{"code": 1},
	}
	var got strings.Builder
	for _, tool := range append(answer.Tools, "mcp__a__b") {
		for _, output := range outputs {
			if err := answer.Check(tool, output); err != nil {
				fmt.Fprintf(&got, "%s: %v\n", tool, err)
			}
		}
	}
	golden.Equal(t, "testdata/outputs.golden", got.String())
}

func TestTerminal(t *testing.T) {
	for _, tt := range []struct {
		name   string
		output any
		want   answer.Printed
	}{
		{"a text", "done", answer.Printed{Output: "done"}},
		{"an exit code", map[string]any{"output": "no", "exit_code": 3}, answer.Printed{Output: "no", ExitCode: 3}},
		{"nothing printed", map[string]any{"exit_code": 1}, answer.Printed{ExitCode: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := answer.Terminal(tt.output)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}
