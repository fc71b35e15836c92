package interaction_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/internal/interaction"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

func TestOverrides(t *testing.T) {
	calls := []request{
		{"x", `{"path":"a","line":1}`},
		{"y", `{"path":"a"}`},
		{"x", `{"path":"b","line":2}`},
		{"x", `{"path":"a","line":{"from":1,"to":2}}`},
		{"x", `null`},
	}
	const none = "-"
	tests := []struct {
		name, reason string
		overrides    []interaction.Override
		want         []string // answers by call, errors with a "!"
		unapplied    []int
	}{
		{name: "none", want: []string{none, none, none, none, none}},
		{
			name: "every call", overrides: []interaction.Override{{Tool: "x", Output: "o"}},
			want: []string{"o", none, "o", "o", "o"},
		},
		{
			name: "a pattern", overrides: []interaction.Override{{Tool: "*", Nth: 2, Output: "o"}},
			want: []string{none, "o", none, none, none},
		},
		{
			name: "an error", overrides: []interaction.Override{{Tool: "y", Error: "down"}},
			want: []string{none, "!down", none, none, none},
		},
		{
			name: "the second", overrides: []interaction.Override{{Tool: "x", Nth: 2, Output: "o"}},
			want: []string{none, none, "o", none, none},
		},
		{
			name:      "the second that matches",
			overrides: []interaction.Override{{Tool: "x", Args: map[string]any{"path": "a"}, Nth: 2, Output: "o"}},
			want:      []string{none, none, none, "o", none},
		},
		{
			name: "numbers", reason: "YAML's are of other types",
			overrides: []interaction.Override{{Tool: "x", Args: map[string]any{"line": 2.0}, Output: "o"}},
			want:      []string{none, none, "o", none, none},
		},
		{
			name: "inside", reason: "an object has to have what is named, at every depth",
			overrides: []interaction.Override{{
				Tool: "x", Args: map[string]any{"line": map[string]any{"from": 1}},
				Output: "o",
			}},
			want: []string{none, none, none, "o", none},
		},
		{
			name: "no arguments named", reason: "any will do",
			overrides: []interaction.Override{{Tool: "x", Args: map[string]any(nil), Output: "o"}},
			want:      []string{"o", none, "o", "o", "o"},
		},
		{
			name: "the first counts", reason: "but the calls of both are counted",
			overrides: []interaction.Override{
				{Tool: "x", Nth: 1, Output: "1"},
				{Tool: "x", Nth: 2, Output: "2"},
				{Tool: "x", Output: "o"},
			},
			want: []string{"1", none, "2", "o", "o"},
		},
		{
			name: "unapplied", reason: "no such tool, not that many calls, and one that another hides",
			overrides: []interaction.Override{
				{Tool: "z"},
				{Tool: "x", Nth: 5},
				{Tool: "y", Output: "o"},
				{Tool: "y", Nth: 1},
				{Tool: "y", Args: "a"},
			},
			want: []string{none, "o", none, none, none}, unapplied: []int{0, 1, 3, 4},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for i := range tt.overrides {
				tt.overrides[i].Position = fmt.Sprint(i)
			}
			o := interaction.NewOverrides(tt.overrides)
			var got []string
			for _, c := range calls {
				answer, err, ok := o.Apply(c.tool, c.decoded(t))
				switch {
				case !ok:
					got = append(got, none)
				case err != "":
					got = append(got, "!"+err)
				default:
					got = append(got, fmt.Sprint(answer))
				}
			}
			assert.Equal(t, tt.want, got, tt.reason)
			var unapplied []int
			for i, u := range tt.overrides {
				for _, o := range o.Unapplied() {
					if o.Position == u.Position {
						unapplied = append(unapplied, i)
					}
				}
			}
			assert.Equal(t, tt.unapplied, unapplied, tt.reason)
			assert.Len(t, o.All(), len(tt.overrides))
		})
	}
}

func TestNoOverrides(t *testing.T) {
	var o *interaction.Overrides
	_, _, ok := o.Apply("x", nil)
	assert.False(t, ok)
	assert.Empty(t, o.Unapplied())
	assert.Empty(t, o.All())
}

func TestArgumentsOfGo(t *testing.T) {
	o := interaction.NewOverrides([]interaction.Override{{Tool: "x", Args: map[string]any{"line": 2}, Output: "o"}})
	_, _, ok := o.Apply("x", map[string]any{"line": 2})
	assert.True(t, ok, "an int is a number")
	assert.Panics(t, func() { o.Apply("x", func() {}) })
}

func TestTools(t *testing.T) {
	assert.Equal(t, []string{
		acp.MethodReadTextFile, acp.MethodWriteTextFile, acp.MethodRequestPermission, acp.MethodCreateTerminal,
	}, interaction.ClientTools)
}

// TestCheck compares what is said of outputs that a tool cannot have.
func TestCheckOutput(t *testing.T) {
	outputs := []any{
		"text", "", "allow_once", "cancelled", 3, nil,
		[]any{"a"},
		map[string]any{"output": "x"},
		map[string]any{"exit_code": 1.5},
		map[string]any{"code": 1},
		map[string]any{"output": func() {}},
	}
	var got strings.Builder
	for _, tool := range append(interaction.ClientTools, "mcp__a__b") {
		for _, output := range outputs {
			if err := interaction.CheckOutput(tool, output); err != nil {
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
		want   interaction.Printed
	}{
		{"a text", "done", interaction.Printed{Output: "done"}},
		{
			"an exit code",
			map[string]any{"output": "no", "exit_code": 3},
			interaction.Printed{Output: "no", ExitCode: 3},
		},
		{"nothing printed", map[string]any{"exit_code": 1}, interaction.Printed{ExitCode: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := interaction.TerminalResult(tt.output)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}
