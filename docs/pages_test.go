// Package docs tests the pages in this directory.
package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
)

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(data)
}

// TestSymptoms looks for the texts of troubleshooting.md in the code: a table's first column quotes what people see,
// with "…" for what differs.
func TestSymptoms(t *testing.T) {
	texts := literals(t)
	quoted := regexp.MustCompile("(?m)^\\| (?:`` (.+?) ``|`(.+?)`)")
	symptoms := quoted.FindAllStringSubmatch(read(t, "troubleshooting.md"), -1)
	require.Greater(t, len(symptoms), 15)
	for _, s := range symptoms {
		var parts []string
		for part := range strings.SplitSeq(s[1]+s[2], "…") {
			parts = append(parts, regexp.QuoteMeta(part))
		}
		found := regexp.MustCompile(strings.Join(parts, ".*")).MatchString(texts)
		require.True(t, found, "troubleshooting.md has %q, and no text of the code is like this any more", s[1]+s[2])
	}
}

// literals returns all texts of the code that are not in tests, one a line, without line breaks. Constants that are
// added stand together, whatever is added between them.
func literals(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	add := func(text string) { all.WriteString(strings.ReplaceAll(text, "\n", " ") + "\n") }
	for _, top := range []string{"../internal", "../evaltest", "../cmd"} {
		require.NoError(t, filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") ||
				strings.Contains(filepath.ToSlash(name), "/testdata/") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				e, ok := n.(ast.Expr)
				if !ok {
					return true
				}
				text, known := constant(e)
				if known {
					add(text)
				}
				return !known
			})
			return nil
		}))
	}
	return all.String()
}

// constant returns the text of a literal, or of what is added to one.
func constant(e ast.Expr) (text string, known bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		x, knownX := constant(e.X)
		y, knownY := constant(e.Y)
		return x + y, e.Op == token.ADD && (knownX || knownY)
	}
	return "", false
}

// TestScripts reads the script that fake-acp.md shows, and looks for all keys of scripts on the page.
func TestScripts(t *testing.T) {
	page := read(t, "fake-acp.md")
	sample := regexp.MustCompile("(?ms)^```json\n(.*?)^```").FindStringSubmatch(page)
	require.NotNil(t, sample)
	_, err := scripted.Parse("fake-acp.md", []byte(sample[1]))
	require.NoError(t, err)
	for _, of := range []any{
		scripted.Script{}, scripted.Faults{}, scripted.Turn{}, scripted.Action{}, scripted.Tool{},
	} {
		for field := range reflect.TypeOf(of).Fields() {
			key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if key != "id" { // which nobody has to set
				require.Contains(t, page, "`"+key, "the page lacks a key of %T", of)
			}
		}
	}
}

// TestOwnAgent gives the agent that a page shows the messages of a client.
func TestOwnAgent(t *testing.T) {
	_, program, _ := strings.Cut(read(t, "agents.md"), "```python\n")
	program, _, _ = strings.Cut(program, "```\n")
	agent := exec.Command("python3", "-c", program)
	agent.Stdin = strings.NewReader(`{"id": 0, "method": "initialize", "params": {"protocolVersion": 1}}
{"id": 1, "method": "session/new", "params": {"cwd": "/shop", "mcpServers": []}}
{"method": "session/cancel", "params": {"sessionId": "1"}}
{"id": 2, "method": "session/prompt", "params": {"sessionId": "1", "prompt": [{"type": "text", "text": "Mend it."}]}}
{"id": "fs/read_text_file", "result": {"content": "if n > 10 {"}}
{"id": "fs/write_text_file", "result": null}
`)
	agent.Stderr = os.Stderr
	out, err := agent.Output()
	require.NoError(t, err)
	for _, want := range []string{
		`"name": "mine"`, `"path": "/shop/price.go", "content": "if n >= 10 {"`, `"stopReason": "end_turn"`,
	} {
		require.Contains(t, string(out), want)
	}
}

// TestLinks follows the links of all pages to other files of ours, and to places in pages.
func TestLinks(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	pages = append(pages, "../README.md", "../CONTRIBUTING.md", "../CHANGELOG.md")
	links := 0
	for _, page := range pages {
		for _, m := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(read(t, page), -1) {
			name, place, _ := strings.Cut(m[1], "#")
			if strings.Contains(name, "://") {
				continue
			}
			links++
			name = filepath.Join(filepath.Dir(page), name)
			if m[1][0] == '#' {
				name = page
			}
			_, err := os.Stat(name)
			require.NoError(t, err, "%s links to %s", page, m[1])
			if place != "" {
				assert.True(t, slices.Contains(places(read(t, name)), place), "%s links to %s", page, m[1])
			}
		}
	}
	require.Greater(t, links, 100)
}

// places returns the anchors that GitHub gives to the headings of a page.
func places(page string) (all []string) {
	seen := make(map[string]int)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		place := strings.ReplaceAll(strings.ToLower(m[1]), " ", "-")
		place = regexp.MustCompile(`[^\p{L}\p{N}_-]`).ReplaceAllString(place, "")
		if n := seen[place]; n > 0 {
			all = append(all, place+"-"+strconv.Itoa(n))
		} else {
			all = append(all, place)
		}
		seen[place]++
	}
	return all
}
