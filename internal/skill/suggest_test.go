package skill_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/skill"
)

// TestSuggest: what is suggested can be read as a check in code, and keeps the id of what it stands for.
func TestSuggest(t *testing.T) {
	tests := []struct {
		text, typ, value, file string // no type: nothing is suggested
		by                     skill.By
	}{
		{text: "The answer mentions \"npm ci\"", typ: "content_contains", value: "npm ci", by: skill.Text},
		{text: "It does not contain `TODO`", typ: "content_not_contains", value: "TODO", by: skill.Text},
		{
			text: "`out/a.md` contains \"# Title\"", typ: "content_contains", value: "# Title", file: "out/a.md",
			by: skill.File,
		},
		{text: "It names `package.json`", typ: "content_contains", value: "package.json", by: skill.Text},
		{text: "The agent uses the Read tool", typ: "tool_use", value: "Read", by: skill.Calls},
		{text: "It calls the tool mcp__a__b first", typ: "tool_use", value: "mcp__a__b", by: skill.Calls},
		{text: "It never uses the Bash tool"},
		{text: "The tone is friendly"},
		{text: "It says \"a\" and \"b\""},
		{text: "Is \"good\""},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			before := loadCheck(t, fmt.Sprintf("%q", tt.text))
			all := before.Suggest()
			if tt.typ == "" {
				require.Empty(t, all)
				return
			}
			require.Len(t, all, 1)
			want := fmt.Sprintf(`{"text": %q, "type": %q, "value": %q`, tt.text, tt.typ, tt.value)
			if tt.file != "" {
				want += fmt.Sprintf(`, "file": %q`, tt.file)
			}
			want += "}"
			assert.JSONEq(t, want, all[0].Check)
			after := loadCheck(t, all[0].Check).Cases[0].Checks[0]
			assert.Equal(t, tt.by, after.By)
			assert.Equal(t, before.Cases[0].Checks[0].ID, after.ID)
		})
	}
}

// loadCheck reads a skill with a case that has one check.
func loadCheck(t *testing.T, check string) *skill.Suite {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "evals"), 0o700))
	text := `[{"id": 1, "prompt": "p", "expectations": [` + check + `]}]`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "evals", "evals.json"), []byte(text), 0o600))
	places, _, err := skill.Find(dir, false)
	require.NoError(t, err)
	s, err := skill.Load(t.Context(), places[0])
	require.NoError(t, err)
	return s
}
