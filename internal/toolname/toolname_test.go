package toolname_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
	"github.com/sdd-eval/sdd-eval/internal/toolname"
	"github.com/sdd-eval/sdd-eval/internal/wildcard"
)

func TestCheck(t *testing.T) {
	for _, name := range []string{
		"Bash", "mcp__stock__count", "mcp__*", "*", "*_file", "fs/read_text_file", "mcp.stock.count", "a-b:c@d#e",
		"täg",
	} {
		require.NoError(t, toolname.Check(name))
	}
	var b strings.Builder
	for _, name := range []string{
		"", " \t", " Bash", "Bash\n", "Ba\u200bsh", "Bash\u00ad", "\ufeffBash", "Bash\x00", "Ba\xffsh", "Read\ufe0f",
		"Bash Edit", "Edit go.mod", "Bash\u00a0Edit",
		"Bash|Edit", "Bash,Edit", "Bash, Edit", "mcp__.*", "mcp__.+", "^Bash$", "Bash$", "mcp__(a|b)__.*",
		"Bash(rm:*)", "[BE]*", "Bas?", "mcp__{a}", `Bash\b`, `"Bash"`, "'Bash'", "Bash+",
	} {
		err := toolname.Check(name)
		require.Error(t, err, "%q", name)
		b.WriteString(err.Error() + "\n")
	}
	golden.Equal(t, "testdata/check.golden", b.String())
}

func TestNear(t *testing.T) {
	known := []string{"Bash", "BashOutput", "Read", "WebFetch", "read_file", "LS", "Task", "TaskList"}
	for name, want := range map[string]string{
		"bash": "Bash", "BASH": "Bash", "Bsah": "Bash", "Bas": "Bash", "Bashh": "Bash", "Bush": "Bash",
		"B\u0430sh": "Bash", // a Cyrillic letter
		"readfile":  "read_file", "read-file": "read_file", "web_fetch": "WebFetch", "ls": "LS",
		"Lx": "", "Grep": "", "BashOut": "", "Shell": "", "": "", "Tasks": "Task",
	} {
		assert.Equal(t, want, toolname.Near(name, known), name)
	}
}

// FuzzCheck holds that a name that may be written means itself.
func FuzzCheck(f *testing.F) {
	f.Add("mcp__*")
	f.Add("Bash|Edit")
	f.Fuzz(func(t *testing.T, name string) {
		if toolname.Check(name) == nil {
			require.True(t, wildcard.Match(name, name))
			require.Equal(t, strings.TrimSpace(name), name)
		}
		require.Empty(t, toolname.Near(name, nil))
	})
}
