package evaltest_test

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
)

// TestPlugin replays evals of plugins that were recorded by the command: green, and red at the grader where one does
// not hold or at the recording where something has changed since.
func TestPlugin(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	for name, archive := range map[string]string{"plugin": "mock-answer", "bad/plugin": "weights"} {
		a, err := txtar.ParseFile("../internal/cli/testdata/oracle/" + archive + ".txtar")
		require.NoError(t, err)
		for _, f := range a.Files {
			if file, ok := strings.CutPrefix(f.Name, "plugin/"); ok {
				m.write(name+"/"+file, string(f.Data))
			}
		}
	}
	require.NoError(t, os.Mkdir(m.path("plugins"), 0o755))
	m.write("plugins/plugins_test.go", `package plugins

import (
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest"
)

func TestGood(t *testing.T) { evaltest.Plugin(t, "../plugin") }

func TestBad(t *testing.T) { evaltest.Plugin(t, "../bad/plugin") }

func TestOther(t *testing.T) { evaltest.Plugin(t, "../bad/plugin", evaltest.From{Trials: 2}) }

func TestEnough(t *testing.T) { evaltest.Plugin(t, "../bad/plugin", evaltest.From{Threshold: 0.5}) }

func TestWrong(t *testing.T) { evaltest.Plugin(t, "../bad/plugin", evaltest.From{Threshold: 2}) }

func TestNone(t *testing.T) { evaltest.Plugin(t, "../evals") }
`)
	out, code := m.goTest(nil, "./plugins", "-run", "TestGood", "-v")
	require.Zero(t, code, out)
	require.Contains(t, out, "--- PASS: TestGood/shop/c/with/used")
	require.Contains(t, out, "shop/c/without/used: REFERENCE FAIL")

	out, code = m.goTest(nil, "./plugins", "-run", "TestBad|TestOther|TestNone|TestWrong")
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "--- FAIL: TestBad/shop/c/with/light")
	require.Contains(t, out, "bad/plugin/evals/c/graders/light.md:2: the last message matches \"cup\"")
	require.NotContains(t, out, "--- FAIL: TestBad/shop/c/without")
	require.Contains(t, out, "with.2.jsonl: there is no such cassette")
	require.Contains(t, out, "next: sdd-eval run --from bad/plugin --trials 2 --mode record")
	require.Regexp(t, "score: .*2", out)
	require.Contains(t, out, "evaltest.Plugin: ../evals: it has no evals of a plugin")

	out, code = m.goTest(nil, "./plugins", "-run", "TestEnough", "-v")
	require.Zero(t, code, out)
	require.Regexp(t, `shop/c/with: PASS 0/1 trials, need a score of 0\.5`, out)
	require.Contains(t, out, "shop/c/with/light: REPORTED")

	out, code = m.goTest([]string{"EVALTEST_MODE=record"}, "./plugins", "-run", "TestGood")
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "next: sdd-eval run --from plugin --mode record")
	m.replace("plugin/evals/mocks/desk/order.md", "Sold", "Gave")
	out, code = m.goTest(nil, "./plugins", "-run", "TestGood")
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "stale cassette plugin/evals/.sdd-eval/cassettes/shop/c/with.1.jsonl")

	m.replace("bad/plugin/evals/c/prompt.md", "runs: 1", "max_turns: 300")
	require.NoError(t, os.RemoveAll(m.path("plugin/evals/.sdd-eval")))
	out, code = m.goTest(nil, "./plugins", "-run", "TestGood|TestBad")
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "there are no recordings in plugin/evals/.sdd-eval/cassettes")
	require.Regexp(t, `bad/plugin/evals/c/prompt\.md:2: c: max_turns: `, out)
}
