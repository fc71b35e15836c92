package plan_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/playbook"
)

func TestOverridesOf(t *testing.T) {
	plan := planOf(t, "testdata/valid/everything.yaml")
	count := make(map[string]int)
	for _, u := range plan.Units {
		count[u.ID()] = len(plan.Playbook.Cassette.OverridesOf(u))
	}
	assert.Equal(t, map[string]int{
		"demo/refund/ant/1": 2, "demo/refund/ant/2": 2, "demo/refund/ant/3": 2,
		"demo/refund/zebra/1": 1, "demo/refund/zebra/2": 1, "demo/refund/zebra/3": 1,
		"demo/dialogue/ant/1": 1, "demo/dialogue/ant/2": 1, "demo/dialogue/ant/3": 1,
		"demo/dialogue/zebra/1": 1, "demo/dialogue/zebra/2": 1, "demo/dialogue/zebra/3": 1,
	}, count)
}

// TestOverrideInGo holds that an override that is written in Go is checked as those of playbooks are.
func TestOverrideInGo(t *testing.T) {
	tests := []struct {
		name     string
		override playbook.Override
		want     string // the error; empty: none
		args     map[string]any
	}{
		{
			"of some arguments",
			playbook.Override{Tool: "mcp__docs__search", Args: map[string]any{"n": 1}, Error: "gone"},
			"",
			map[string]any{"n": json.Number("1")},
		},
		{
			"of a case",
			playbook.Override{Tool: "mcp__docs__search", Case: "refund", Output: struct{ Hits int }{3}},
			"", nil,
		},
		{"nothing", playbook.Override{Tool: "terminal/create"}, "an override needs either an output or an error", nil},
		{
			"before the first",
			playbook.Override{Tool: "terminal/create", Nth: -1, Error: "gone"},
			"no call has the number -1: calls are counted from 1", nil,
		},
		{
			"no JSON",
			playbook.Override{Tool: "mcp__docs__search", Output: func() {}},
			"an override of mcp__docs__search: json: unsupported type: func()", nil,
		},
		{
			"another case",
			playbook.Override{Tool: "terminal/create", Case: "refnud", Error: "gone"},
			`case: unknown case "refnud", did you mean "refund"?`, nil,
		},
		{
			"another variant",
			playbook.Override{Tool: "terminal/create", Variant: "Ant", Error: "gone"},
			`variant: unknown variant "Ant", did you mean "ant"?`, nil,
		},
		{
			"no unit",
			playbook.Override{Tool: "terminal/create", Variant: "unused", Error: "gone"},
			`variant: variant "unused" has no unit that it could apply to`, nil,
		},
		{
			"another output",
			playbook.Override{Tool: "fs/read_text_file", Output: 9},
			"output: must be the file's text, not 9", nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pb, err := plan.Load("testdata/valid/everything.yaml", kinds)
			require.NoError(t, err)
			err = pb.Override(plan.Override{Override: tt.override})
			if tt.want == "" {
				require.NoError(t, err)
				require.Len(t, pb.Cassette.Overrides, 3)
				assert.Equal(t, tt.args, pb.Cassette.Overrides[2].Args)
				return
			}
			require.EqualError(t, err, tt.want)
			assert.Len(t, pb.Cassette.Overrides, 2)
		})
	}
}
