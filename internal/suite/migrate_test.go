package suite_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/suite"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// The tables of docs/migrate.md are those that the readers go by. Each is between two marks, within prose.
func TestMigratePage(t *testing.T) {
	const file = "../../docs/migrate.md"
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	page := string(data)
	for _, name := range []string{"agentv", "promptfoo", "waza"} {
		tables, amiss := suite.MigrateTables(name)
		assert.Empty(t, amiss, "each type of %s must be in one row", name)
		begin := "<!-- The tables of " + name + " are generated: UPDATE_GOLDEN=1 go test ./internal/suite -->\n"
		const end = "<!-- The end of the tables. -->\n"
		before, rest, ok := strings.Cut(page, begin)
		require.True(t, ok, name)
		_, after, ok := strings.Cut(rest, end)
		require.True(t, ok, name)
		page = before + begin + tables + end + after
	}
	golden.Equal(t, file, page)
	for _, f := range suite.Formats() {
		assert.Contains(t, page, "sdd-eval convert --from "+f.Name+" ", "a person who comes from there begins with it")
	}
}
