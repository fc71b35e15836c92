//go:build unix

package skill_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestHostileFiles holds that nothing outside of the repository is read, that nothing waits, and that all is told.
func TestHostileFiles(t *testing.T) {
	evals := `[{"id": 1, "prompt": "\u001b[31mx", "files": ["%s"], "expectations": ["a"]}]`
	for _, c := range []struct {
		name string
		make func(t *testing.T, dir string)
		want string
	}{
		{"link out", func(t *testing.T, dir string) {
			require.NoError(t, os.Symlink("/etc", filepath.Join(dir, "evals/x")))
		}, `error: outside-file [eval-1]: "x" cannot be reached`},
		{"FIFO", func(t *testing.T, dir string) {
			require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "evals/x"), 0o600))
		}, `error: outside-file [eval-1]: "x" is neither a file nor a directory`},
		{"dangling link", func(t *testing.T, dir string) {
			require.NoError(t, os.Symlink("nothing", filepath.Join(dir, "evals/x")))
		}, `error: missing-file [eval-1]: "x" is not there`},
		{"link inside", func(t *testing.T, dir string) {
			require.NoError(t, os.Symlink("../SKILL.md", filepath.Join(dir, "evals/x")))
		}, "skill-as-file [eval-1]"},
		{"evals are a link out", func(t *testing.T, dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, "evals/evals.json")))
			require.NoError(t, os.Symlink("/etc/hostname", filepath.Join(dir, "evals/evals.json")))
		}, "evals/evals.json:1: error: file"},
		{"evals are a FIFO", func(t *testing.T, dir string) {
			require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "evals/trigger-eval.json"), 0o600))
		}, "not a regular file"},
		{"the skill is a link out", func(t *testing.T, dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, "SKILL.md")))
			require.NoError(t, os.Symlink("/etc/hostname", filepath.Join(dir, "SKILL.md")))
		}, "error: front-matter [SKILL.md]"},
		{"not UTF-8", func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "evals/evals.json"), []byte("[\xff]"), 0o600))
		}, "not UTF-8: byte 0xff"},
		{"names of several lines", func(t *testing.T, dir string) {
			text := `[{"id": 1, "prompt": "p", "a\nerror: \u001b[31m": 1, "files": ["x\ny\u001b[31m"], ` +
				`"expectations": ["a"]}]`
			require.NoError(t, os.WriteFile(filepath.Join(dir, "evals/evals.json"), []byte(text), 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "a\nb\x1b[31m"), []byte("p"), 0o600))
			head := "---\nname: \"a\\nb\\e[31m\"\n---\n"
			require.NoError(t, os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(head), 0o600))
			assert.NotRegexp(t, `(?m)\x1b|^(b|y)|^error: \W`, strings.Split(check(t, dir), "\ninstalls")[0])
		}, "skill      a b\uFFFD[31m\n"},
		{"many checks", func(t *testing.T, dir string) {
			var checks strings.Builder
			checks.WriteString(strings.Repeat(`"a",`, 20_000) + `"b"`)
			for i := range 600 {
				fmt.Fprintf(&checks, `,"%d"`, i)
			}
			text := `[{"id": 1, "prompt": "p", "expectations": [` + checks.String() + "]}]"
			require.NoError(t, os.WriteFile(filepath.Join(dir, "evals/evals.json"), []byte(text), 0o600))
		}, "there are more than 500 checks"},
		{"many cases", func(t *testing.T, dir string) {
			text := "[" + strings.Repeat(`{"prompt": "p", "expectations": ["a"]},`, 3000) + "1]"
			require.NoError(t, os.WriteFile(filepath.Join(dir, "evals/evals.json"), []byte(text), 0o600))
		}, "there are more than 2000 cases"},
		{"large", func(t *testing.T, dir string) {
			require.NoError(t, os.Truncate(filepath.Join(dir, "evals/evals.json"), 1<<40))
		}, "bytes exceed the limit of 1048576"},
		{"deep", func(t *testing.T, dir string) {
			deep := strings.Repeat("[", 1000) + strings.Repeat("]", 1000)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "evals/evals.json"), []byte(deep), 0o600))
		}, "nested deeper than 64 levels"},
		{"large input", func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "evals/x"), nil, 0o600))
			require.NoError(t, os.Truncate(filepath.Join(dir, "evals/x"), 1<<40))
		}, "bytes exceed the limit"},
		{"a file of the skill that is not searched", func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "large"), nil, 0o600))
			require.NoError(t, os.Truncate(filepath.Join(dir, "large"), 2<<20))
		}, "large:1: note: not-searched [large]"},
		{"a key with a typing error", func(t *testing.T, dir string) {
			text := `[{"id": 1, "prompt": "p", "expectatons": ["b"], "expectations": ["a"]}]`
			require.NoError(t, os.WriteFile(filepath.Join(dir, "evals/evals.json"), []byte(text), 0o600))
		}, `note: unknown-key: the key "expectatons" means nothing here, did you mean "expectations"?`},
		{"evals far below", func(t *testing.T, dir string) {
			deep := filepath.Join(dir, strings.Repeat("d/", 30), "evals")
			require.NoError(t, os.MkdirAll(deep, 0o755))
			require.NoError(t, os.Rename(filepath.Join(dir, "evals/evals.json"), filepath.Join(deep, "evals.json")))
		}, "d/d/d/evals/evals.json"},
		{"large file of the skill", func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "large"), nil, 0o600))
			require.NoError(t, os.Truncate(filepath.Join(dir, "large"), 65<<20))
		}, "error: skill [.]: the skill cannot be installed: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.Mkdir(filepath.Join(dir, "evals"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("---\nname: h\n---\n"), 0o600))
			text := strings.Replace(evals, "%s", "x", 1)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "evals/evals.json"), []byte(text), 0o600))
			c.make(t, dir)
			assert.Contains(t, check(t, dir), c.want)
		})
	}
}
