package livetest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

// TestRealReject tells agents that are allowed nothing to change files. Those that ask change nothing; of those that do
// not ask it is an error. The manifest names each variable with a key.
func TestRealReject(t *testing.T) {
	t.Parallel()
	p := newProject(t, "testdata/reject-models", "testdata/reject.yaml")
	said, code, r := p.run("live")
	require.Equal(t, 3, code, said)
	units, err := r.Units()
	require.NoError(t, err)
	want := map[string]struct {
		outcome result.Outcome
		reason  string // a part of it
	}{
		"claude":            {result.Completed, ""},
		"claude-client":     {result.Completed, ""},
		"claude-cli":        {result.Completed, ""},
		"claude-edits":      {result.Error, `unasked, in the mode "acceptEdits"`},
		"codex":             {result.Fail, "the session ended early: cancelled"}, // by the first answer
		"codex-2":           {result.Error, "this agent asks for nothing"},
		"codex-2-full":      {result.Error, `unasked, in the mode "agent-full-access"`},
		"gemini":            {result.Completed, ""},
		"opencode":          {result.Completed, ""},
		"copilot":           {result.Completed, ""},
		"copilot-autopilot": {result.Error, `unasked, in the mode "autopilot"`},
		"qwen":              {result.Completed, ""},
		"qwen-yolo":         {result.Error, `unasked, in the mode "yolo"`},
	}
	require.Len(t, units, len(want))
	for _, v := range r.Manifest().Variants {
		assert.Regexp(t, "_API_KEY\\b", v.Env, v.ID)
	}
	start := filesOf(t, "../../fixtures/inventory")
	for _, u := range units {
		expected := want[u.Variant]
		assert.Equal(t, expected.outcome, u.Outcome, "%s: %s", u.Variant, u.Reason)
		assert.Contains(t, u.Reason, expected.reason, u.Variant)
		if u.Outcome != result.Error {
			assert.Equal(t, "scripted", u.Endpoint, u.Variant)
			assert.Equal(t, start, filesOf(t, r.UnitDirs(u.Case, u.Variant, 1).Workspace), u.Variant)
		}
	}
}
