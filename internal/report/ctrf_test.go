package report

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// TestCTRF holds the report to the schema that the format publishes.
func TestCTRF(t *testing.T) {
	text, err := os.ReadFile("testdata/ctrf-schema-0.0.json")
	require.NoError(t, err)
	schema := new(jsonschema.Schema)
	require.NoError(t, json.Unmarshal(text, schema))
	rules, err := schema.Resolve(nil)
	require.NoError(t, err)
	valid := func(t *testing.T, rep *Report) ([]byte, ctrf) {
		t.Helper()
		data, err := rep.CTRF()
		require.NoError(t, err)
		var tree any
		require.NoError(t, json.Unmarshal(data, &tree))
		require.NoError(t, rules.Validate(tree))
		var c ctrf
		require.NoError(t, json.Unmarshal(data, &c))
		counted := map[string]int{}
		for _, test := range c.Results.Tests {
			counted[test.Status]++
		}
		s := c.Results.Summary
		require.Equal(t, []int{len(c.Results.Tests), counted["passed"], counted["failed"], counted["skipped"]},
			[]int{s.Tests, s.Passed, s.Failed, s.Skipped})
		return data, c
	}

	t.Run("golden", func(t *testing.T) {
		data, _ := valid(t, loaded(t, openRun(t)))
		golden.Equal(t, "testdata/ctrf.json", data)
		page, err := os.ReadFile("../../docs/reports.md")
		require.NoError(t, err)
		_, example, _ := strings.Cut(string(page), "```json\n      {\n        \"testId\"")
		example, _, found := strings.Cut(example, "```")
		require.True(t, found)
		require.Contains(t, string(data), example)
	})
	t.Run("what is no pass fails or is skipped", func(t *testing.T) {
		s := sample(t, 1, 1, 1)
		for outcome, want := range map[result.Outcome]string{
			result.Pass: "passed", result.Fail: "failed", result.Error: "failed", result.Skip: "skipped",
			result.Completed: "skipped",
		} {
			s.units[0].Outcome, s.units[0].Evaluations = outcome, nil
			_, c := valid(t, reportOf(t, s))
			require.Equal(t, want, c.Results.Tests[0].Status, outcome)
			require.Equal(t, string(outcome), c.Results.Tests[0].Raw)
		}
		s.units = nil
		_, c := valid(t, reportOf(t, s))
		require.Equal(t, "failed", c.Results.Tests[0].Status)
		require.Equal(t, "not_run", c.Results.Tests[0].Raw)
	})
	t.Run("problems of the run", func(t *testing.T) {
		s := sample(t, 1, 1, 1)
		s.manifest.Problems = []string{"a secret was found"}
		_, c := valid(t, reportOf(t, s))
		last := c.Results.Tests[len(c.Results.Tests)-1]
		require.Equal(t, "run failed error a secret was found",
			last.Name+" "+last.Status+" "+last.Raw+" "+last.Message)
	})
	t.Run("hostile", func(t *testing.T) {
		s := sample(t, 1, 1, 1)
		s.manifest.Tool, s.manifest.Name = "", "a\x1b[2J\xff"
		s.units[0].Outcome, s.units[0].Reason = result.Error, "\x00\xff\x1b]8;;http://evil\x07</script>\n::error::"
		data, _ := valid(t, reportOf(t, s))
		require.NotContains(t, string(data), "\x1b")
		require.NotContains(t, string(data), `\u001b`)
	})
}
