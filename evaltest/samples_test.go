package evaltest_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// block is a fenced block of a page in Markdown.
type block struct {
	language, text string
	line           int // of the text
}

func blocks(page string) (all []block) {
	for _, at := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```").FindAllStringSubmatchIndex(page, -1) {
		all = append(all, block{page[at[2]:at[3]], page[at[4]:at[5]], strings.Count(page[:at[4]], "\n") + 1})
	}
	return all
}

// TestSamples compiles all Go of the documentation in a user's module. Where a sample is less than a file, the imports
// that it needs are put before it.
func TestSamples(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	pages, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	samples := 0
	for _, page := range append(pages, "../README.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, b := range blocks(string(text)) {
			if b.language != "go" {
				continue
			}
			samples++
			head := ""
			if !strings.HasPrefix(b.text, "package ") {
				head = "package sample\n\n" + imports(b.text)
			}
			m.write(fmt.Sprintf("samples/%d/sample_test.go", samples),
				fmt.Sprintf("%s//line %s:%d\n%s", head, page[len("../"):], b.line, b.text))
		}
	}
	require.NotZero(t, samples)
	out, code := m.run(nil, "go", "vet", "./samples/...")
	require.Zero(t, code, out)
}

// imports returns the imports of a file with that text, as far as documentation uses packages.
func imports(text string) string {
	const ours = "github.com/sdd-eval/sdd-eval"
	var b strings.Builder
	for _, p := range []string{
		"context", "fmt", "os", "path/filepath", "strings", "testing", "time", "github.com/stretchr/testify/require",
		ours + "/evaltest", ours + "/evaltest/capture", ours + "/evaltest/clitest", ours + "/evaltest/trajectory",
		ours + "/playbook",
	} {
		if regexp.MustCompile(`\b` + path.Base(p) + `\.[A-Z]`).MatchString(text) {
			fmt.Fprintf(&b, "import %q\n", p)
		}
	}
	return b.String()
}
