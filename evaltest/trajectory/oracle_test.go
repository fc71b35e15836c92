package trajectory_test

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// testdata/superset.jsonl has verdicts of another implementation, with arguments as JSON text.
func TestSupersetAgreesWithOracle(t *testing.T) {
	type toolCall struct{ Name, Args string }
	file, err := os.Open("testdata/superset.jsonl")
	require.NoError(t, err)
	defer file.Close()
	cases := 0
	for lines := bufio.NewScanner(file); lines.Scan(); cases++ {
		var c struct {
			Name      string
			Args      trajectory.ArgMode
			Overrides map[string]trajectory.ArgMode
			Actual    []toolCall
			Expected  []toolCall
			Holds     bool
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
		decode := func(text string) (m map[string]any) {
			dec := json.NewDecoder(strings.NewReader(text))
			dec.UseNumber()
			require.NoError(t, dec.Decode(&m))
			return m
		}
		var expected []trajectory.Call
		for _, e := range c.Expected {
			mode := c.Args
			if m, ok := c.Overrides[e.Name]; ok {
				mode = m
			}
			expected = append(expected, trajectory.Tool(e.Name).Args(decode(e.Args)).Mode(mode))
		}
		var actual []trajectory.ToolCall
		for _, a := range c.Actual {
			actual = append(actual, call(a.Name, decode(a.Args)))
		}
		r := trajectory.Superset(expected...).Match(runOf(actual...))
		if len(expected) == 0 {
			assert.True(t, c.Holds)
			assert.ErrorContains(t, r.Err, "needs at least one call", "nothing looks green")
			continue
		}
		require.NoError(t, r.Err)
		assert.Equal(t, c.Holds, r.Pass, "%s\n%s", c.Name, r)
	}
	assert.Equal(t, 63, cases)
}
