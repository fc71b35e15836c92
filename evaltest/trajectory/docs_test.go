package trajectory

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The page about trajectories has every tool that has a profile, in a row with the arguments and how they are compared.
func TestDocsHaveProfiles(t *testing.T) {
	page, err := os.ReadFile("../../docs/trajectories.md")
	require.NoError(t, err)
	for tool, profile := range profiles {
		found := false
		for line := range strings.Lines(string(page)) {
			tools, rest, _ := strings.Cut(strings.TrimPrefix(line, "| "), "|")
			words := strings.FieldsFunc(tools, func(r rune) bool { return strings.ContainsRune(" ,;:|", r) })
			if len(words) == 0 || !strings.Contains("Claude Codex Gemini", words[0]) ||
				!strings.Contains(" "+strings.Join(words[1:], " ")+" ", " "+tool+" ") {
				continue
			}
			found = true
			for arg, form := range profile {
				assert.Contains(t, rest, "`"+arg+"`", tool)
				assert.Contains(t, rest, form, tool)
			}
		}
		assert.True(t, found, tool)
	}
}
