//go:build unix

package human

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

const greetDiff = `diff --git a/main.go b/main.go
index 1111111..2222222 100644
--- a/main.go
+++ b/main.go
@@ -1,7 +1,14 @@
 package main

-import "fmt"
+import (
+	"fmt"
+	"os"
+)

 func main() {
-	fmt.Println("hello")
+	name := "world"
+	if len(os.Args) > 1 {
+		name = os.Args[1]
+	}
+	fmt.Println("hello,", name)
 }
diff --git a/notes.html b/notes.html
new file mode 100644
--- /dev/null
+++ b/notes.html
@@ -0,0 +1,2 @@
+</script><img src=x onerror="document.title='broken'">
+<script>document.title='broken'</script>
`

// greetings is a run that the page is tested with.
func greetings(t *testing.T, cases ...string) (*rundir.Run, string) {
	t.Helper()
	zero, one := 0, 1
	r := newRun(t, []string{"sdd-cc", "sdd-codex", "legacy-gemini"}, cases, func(variant, _ string) work {
		w := work{
			answer: "Done: the program greets whoever is named.\nI am " + variant + ".", diff: greetDiff,
			commands: []result.Command{
				{Command: "go test ./...", ExitCode: &zero, Output: "ok  \tdemo\t0.004s\n"},
				{
					Command: "go vet ./... && echo <b>fine</b>", ExitCode: &one,
					Output: "main.go:9:2: <i>declared</i> and not used\n", Cut: true,
				},
				{Command: "git status"},
			},
		}
		if variant == "sdd-codex" {
			w = work{answer: "", diff: ""}
		}
		return w
	})
	require.NoError(t, Write(r))
	return r, filepath.Join(r.Dir(), PageFile)
}

func TestPage(t *testing.T) {
	t.Parallel()
	r, page := greetings(t, "task")
	b := openBrowser(t)
	downloads := t.TempDir()
	b.call("Browser.setDownloadBehavior",
		map[string]any{"behavior": "allow", "downloadPath": downloads, "eventsEnabled": true}, nil)
	b.open(page)
	order := shuffled(r.ID(), r.Manifest().Variants)

	require.Equal(t, "0 of 3 scored", b.text("#progress"))
	require.Equal(t, "Greet by name (task)", b.text("#title"))
	b.shoot("start")
	for i := range order {
		b.eval("document.querySelectorAll('#variants button')["+string(rune('0'+i))+"].click(); "+
			"document.querySelectorAll('details').forEach((d) => { d.open = true; })", nil)
		all := strings.ToLower(b.text("body"))
		for _, name := range []string{"sdd-cc", "sdd-codex", "legacy-gemini", "claude", "codex", "gemini", "pass"} {
			require.NotContains(t, all, name, "the page is blind")
		}
		work := b.text("#work")
		if order[i] == "sdd-codex" {
			require.Contains(t, work, "No file was changed.")
			require.Contains(t, work, "The agent said nothing at the end.")
			continue
		}
		require.Contains(t, work, "I am [hidden].")
		require.Contains(t, work, "notes.html (new)")
	}
	var markup int
	b.eval("return document.querySelectorAll('#work img, #work script, #work b, #work i').length", &markup)
	require.Zero(t, markup, "what agents write is text")
	var title string
	b.eval("return document.title", &title)
	require.Equal(t, "Score demo", title)

	// Nothing is saved before everything is scored.
	b.click("#save")
	require.Equal(t, "Not saved: A, B, C have no score yet.", b.text("#message"))
	b.shoot("missing")

	// By keyboard alone: the first button of the scale has the focus.
	b.press("ArrowRight", 39)
	require.Equal(t, "1 of 3 scored", b.text("#progress"))
	b.eval("document.querySelector('#notes').focus()", nil)
	b.write("fine, \"mostly\"")
	b.click("#next")
	b.eval("document.querySelector('#exact').focus()", nil)
	b.write("7.5")
	b.click("#next")
	b.click("#scoring input[value='10']")
	b.click("#work input[name=solved]")
	b.eval("document.querySelector('#rater').focus()", nil)
	b.write("Anna")
	require.Equal(t, "3 of 3 scored", b.text("#progress"))
	b.shoot("scored")

	// A reload warns, and brings everything back.
	b.call("Page.reload", nil, nil)
	b.await("Page.javascriptDialogOpening")
	b.call("Page.handleJavaScriptDialog", map[string]any{"accept": true}, nil)
	b.await("Page.loadEventFired")
	// A page may load before Chromium has stored what the page before it wrote a moment ago.
	stored := func() {
		t.Helper()
		for i := 0; i < 10 && b.text("#progress") != "3 of 3 scored"; i++ {
			b.call("Page.reload", nil, nil)
			b.await("Page.loadEventFired")
		}
		require.Equal(t, "3 of 3 scored", b.text("#progress"))
	}
	stored()

	b.click("#save")
	require.Equal(t,
		"Saved to your downloads. To add it to the run: sdd-eval import-human --run "+r.ID()+" --file scores.json",
		b.text("#message"))
	for state := ""; state != "completed"; {
		var progress struct{ State string }
		require.NoError(t, json.Unmarshal(b.await("Browser.downloadProgress"), &progress))
		state = progress.State
	}
	scores, err := Import(r, filepath.Join(downloads, "scores.json"))
	require.NoError(t, err)
	require.Equal(t, Scores{Rater: "Anna", Variants: map[string]Rating{
		order[0]: {1, `fine, "mostly"`}, order[1]: {7.5, ""}, order[2]: {10, ""},
	}, Units: map[string]Label{"task/" + order[2] + "/1": {Solved: true}}}, scores)

	b.open(page) // no dialog: all is saved
	stored()
	for _, m := range b.events {
		require.NotEqual(t, "Log.entryAdded", m.Method, "the browser complains: %s", m.Params)
		require.NotEqual(t, "Runtime.exceptionThrown", m.Method, "the script fails: %s", m.Params)
		require.NotEqual(t, "Page.javascriptDialogOpening", m.Method)
	}
}

func TestPageOfSeveralCases(t *testing.T) {
	t.Parallel()
	_, page := greetings(t, "hello", "goodbye")
	b := openBrowser(t)
	b.call("Emulation.setEmulatedMedia", map[string]any{
		"features": []any{map[string]any{"name": "prefers-color-scheme", "value": "dark"}},
	}, nil)
	b.open(page)
	require.Equal(t, "2 tasks", b.text("#title"))
	require.Equal(t, "hello\ngoodbye", strings.TrimSpace(strings.ReplaceAll(b.text(".units"), "\n\n", "\n")))
	b.eval("document.querySelectorAll('.units button')[1].click()", nil)
	var current string
	b.eval("return document.querySelector('.units [aria-current=true]').textContent", &current)
	require.Equal(t, "goodbye", current)
	b.eval("document.querySelector('#task').open = false", nil)
	b.shoot("dark")
	b.call("Emulation.setDeviceMetricsOverride",
		map[string]any{"width": 420, "height": 900, "deviceScaleFactor": 1, "mobile": true}, nil)
	b.shoot("narrow")
	var overflow bool
	b.eval("return document.documentElement.scrollWidth > document.documentElement.clientWidth", &overflow)
	require.False(t, overflow, "a narrow window does not scroll sideways")
}

func TestPageRefusesForgottenForm(t *testing.T) {
	t.Parallel()
	_, page := greetings(t, "task")
	b := openBrowser(t)
	b.open(page)
	for range 3 {
		b.click("#scoring input[value='0']")
		b.click("#next")
	}
	require.Contains(t, b.text("#message"), "Not saved: every score is 0 and there are no notes")
}
