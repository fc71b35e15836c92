package mutate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/mutate"
)

// TestThorough: what becomes of a mutant is the same whether everything judges it or not, although fewer processes
// start then; and what did not judge it is told.
func TestThorough(t *testing.T) {
	for _, tt := range []struct {
		name, evaluators string
		quick, runs      int // how many mutants not all judge, and how often the step runs for 18 mutants
	}{
		{"weak", "  - {name: said, type: text, checks: [{id: a, contains: [total]}]}\n", 2, 10},
		{"strong", strings.TrimPrefix(example(t, "yaml strong"), "evaluators:\n"), 18, 1},
		{"after steps", "  - {name: made, type: files, after: steps, expect: [{path: made.txt, exists: true}]}\n" +
			"  - {name: said, type: text, checks: [{id: a, contains: [total]}]}\n", 2, 17},
		{"a judge", "  - {name: program, type: command, run: grep -q total receipt.txt}\n" +
			"  - {name: said, type: text, checks: [{id: a, contains: [total]}]}\n", 2, 10},
		{"what decides nothing fails", "  - {type: metrics, max_tool_calls: 0, required: false}\n" +
			"  - {name: said, type: text, checks: [{id: a, contains: [total]}]}\n", 2, 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			counted := filepath.Join(t.TempDir(), "count")
			judge := func(thorough bool) (mutate.UnitReport, int) {
				require.NoError(t, os.WriteFile(counted, nil, 0o644))
				r, p := record(t, head+fmt.Sprintf(`        - name: total
          run: sh -c 'echo x >> "%s"; echo x > made.txt; grep -q total receipt.txt'
sandbox: {allow_commands: [sh, grep]}
evaluators:
`, counted)+tt.evaluators, files, receipt())
				report, err := mutate.Run(t.Context(), r, p, mutate.Config{Thorough: thorough})
				require.NoError(t, err)
				data, err := os.ReadFile(counted)
				require.NoError(t, err)
				return report.Units[0], strings.Count(string(data), "x")
			}
			whole, _ := judge(true)
			quick, ran := judge(false)
			unasked := 0
			require.Len(t, quick.Findings, len(whole.Findings))
			require.Len(t, quick.Findings, 18)
			for i, f := range quick.Findings {
				w := whole.Findings[i]
				assert.Equal(t, w.Status, f.Status, "%s %s", f.Operator, f.Where)
				assert.Subset(t, w.By, f.By, "%s %s", f.Operator, f.Where)
				assert.False(t, w.Quick)
				if f.Quick {
					unasked++
				} else {
					assert.Equal(t, w.By, f.By, "%s %s", f.Operator, f.Where)
				}
			}
			assert.Equal(t, tt.quick, unasked)
			for _, k := range mutate.ByEvaluator([]mutate.UnitReport{quick}) {
				if k.Name == "step total" {
					assert.Equal(t, unasked, k.Unasked)
				}
			}
			assert.Equal(t, tt.runs, ran)
		})
	}
}
