package shell

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHarmless(t *testing.T) {
	for _, line := range []string{
		"git status", "git -C x log --oneline", "pwd", "echo hi", "which go", "date +%s",
		"ls -la && cat a.go | head -5", "cd src && grep -rn x . | sort | uniq -c", "sed -n 1,80p a.go",
		`bash -lc "rg -n 'x' | wc -l"`, "find . -name '*.go' -type f",
		"git diff HEAD~1 -- a.go", "git branch -a", "echo hi && cat a && id -u", "grep x a 2>/dev/null", "ls 2>&1",
		"if [ -f a ]; then cat a; fi", "for f in a b; do cat $f; done", "cat $(ls)",
	} {
		assert.True(t, Harmless(line), line)
	}
	for line, why := range map[string]string{
		"":                            "nothing",
		"rm a":                        "deletes",
		"ls; rm a":                    "one of them deletes",
		"ls > out":                    "writes a file",
		"go test ./...":               "runs a program",
		"mkdir x && ls":               "makes a directory",
		"chmod 777 . && ls":           "changes modes",
		". ./evil.sh && ls":           "runs a script",
		"source a; ls":                "runs a script",
		"trap 'rm x' EXIT; ls":        "runs a command later",
		"git branch -D main; ls":      "deletes a branch",
		"git branch new":              "makes a branch",
		"git config a b":              "changes the configuration",
		"git diff --output=x":         "writes a file",
		"git diff --outp=x":           "the beginning of the option will do",
		"git -c core.pager=x log":     "git runs what is configured",
		"ls ${x:-$(rm y)}":            "an expansion runs a command",
		"a=($(rm x)); ls":             "an expansion runs a command",
		"ls `rm x`":                   "an expansion runs a command",
		"env -S 'rm x'; ls":           "runs a command",
		"PATH=. ls":                   "another ls",
		"./ls":                        "another ls",
		"awk 'BEGIN{system(\"rm\")}'": "runs a command",
		"sed 's/a/b/w out' f":         "writes a file",
		"sed -n 1pw out":              "writes a file",
		"sed -i s/a/b/ f":             "edits",
		"uniq a b":                    "writes its second file",
		"xxd -r a":                    "writes",
		"tree -o out":                 "writes a file",
		"sort -ro out in":             "writes a file",
		"rg --pre ./x y":              "runs a program",
		"find . -delete":              "deletes",
		"find . -exec rm {} +":        "deletes",
		"date -s now":                 "sets the clock",
		"date 01010000":               "sets the clock",
		"cat 'open":                   "cannot be read",
		"cat <<E > a\nx\nE":           "writes a file",
		"xargs rm":                    "runs a program",
		"sudo ls":                     "as somebody else",
		"bash x.sh":                   "runs a script",
		"bash -c 'ls; rm a'":          "the script deletes",
		"f() { rm a; }; ls":           "defines a function",
		"while true; do rm a; done":   "deletes",
		"hostname evil":               "sets the name",
	} {
		assert.False(t, Harmless(line), "%s: %s", line, why)
	}
}

func FuzzHarmless(f *testing.F) {
	f.Add("cat a | head; ls $(pwd)")
	f.Fuzz(func(t *testing.T, line string) {
		if !Harmless(line) {
			return
		}
		for _, d := range Line(line) {
			assert.Contains(t, []Deed{Read, Search, Execute}, d, "%q", line)
		}
	})
}
