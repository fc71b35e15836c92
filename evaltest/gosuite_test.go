package evaltest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// traces are the lines of a panic's trace, which name goroutines and addresses.
var traces = regexp.MustCompile(`(?ms)^ +goroutine \d+ \[running\]:.*?^( +(reproduce|session):)`)

// TestGoSuites runs suites in Go: what passes should, and nothing that should not does.
func TestGoSuites(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	suites := m.compileHere("./suites")

	t.Run("green", func(t *testing.T) {
		t.Parallel()
		out, code := suites.in(t).test(nil, "-test.run=^TestGreen$", "-test.v")
		require.Zero(t, code, out)
		golden.Equal(t, "testdata/suites/green.txt", out)
	})

	t.Run("red", func(t *testing.T) {
		t.Parallel()
		events, code := suites.in(t).json("TestRed", "CI=1")
		require.Equal(t, 1, code)
		// What passes beside what does not, and what is skipped.
		allowed := map[string]bool{
			"TestRed/scorers-averaged/words/two/exact":    true,
			"TestRed/optional-errors/words/two/exact":     true,
			"TestRed/judge-missing-in-ci/words/two/exact": true,
		}
		reds := 0
		for _, e := range events {
			require.NotEqual(t, "skip", e.Action, e.Test)
			if e.Action == "pass" {
				require.True(t, allowed[e.Test], "%s passes", e.Test)
			}
			if e.Action == "fail" && strings.Count(e.Test, "/") == 1 {
				reds++
			}
		}
		files, err := os.ReadDir("testdata/module/suites/testdata/red")
		require.NoError(t, err)
		require.Greater(t, reds, len(files)+30, "each of them")
		text := shownLines(events)
		require.Regexp(t, `panic: no idea\n\s*\n(.*\n)+?.*suites_test\.go:\d+`, text, "the trace names the place")
		golden.Equal(t, "testdata/suites/red.txt",
			traces.ReplaceAllString(strings.ReplaceAll(text, m.dir, "$COMPILED"), "        (a trace)\n$1"))
	})

	t.Run("agents", func(t *testing.T) {
		t.Parallel()
		s := suites.in(t)
		out, code := s.test([]string{"EVALTEST_MODE=record"}, "-test.run=^TestAgents$")
		require.Zero(t, code, out)
		require.FileExists(t, s.path("cassettes/suites/agents.go/greet/fake-acp.1.jsonl"))
		require.FileExists(t, s.path("cassettes/suites/shop.go/run/fake-acp.1.jsonl"))
		require.FileExists(t, s.path("cassettes/suites/fails.go/run/fake-acp.1.jsonl"),
			"what the agent did is recorded, whatever it did")
		runs := t.TempDir()
		out, code = s.test([]string{"EVALTEST_RUN_DIR=" + runs}, "-test.run=^TestAgents$", "-test.v")
		require.Zero(t, code, out)
		out = regexp.MustCompile(regexp.QuoteMeta(runs)+`\S+`).ReplaceAllString(out, "$$RUN")
		out = regexp.MustCompile(`\w+\.go:\d+: run directory`).ReplaceAllString(out,
			"run directory") // the place is ours
		golden.Equal(t, "testdata/suites/agents.txt", out)
		kept, err := filepath.Glob(filepath.Join(runs, ".llman", "sdd-eval", "runs", "*", "variants", "fake-acp",
			"artifacts", "workspace.diff"))
		require.NoError(t, err)
		require.Len(t, kept, 4)

		s.replace("fixtures/shop/stock.txt", "tea 3", "tea 4")
		s.remove("scripts/greet.json")
		out, code = s.test(nil, "-test.run=^TestAgents$")
		require.NotZero(t, code)
		require.Contains(t, out, "file of the agent ../scripts/greet.json: was ")
		require.Contains(t, out, "stale cassette cassettes/suites/agents.go/greet/fake-acp.1.jsonl")
		require.Contains(t, out, "next: EVALTEST_MODE=record go test ./suites -run '^TestAgents$/^once$' -count=1")
	})

	t.Run("mutants", func(t *testing.T) {
		t.Parallel()
		s := suites.in(t)
		record := []string{"EVALTEST_MODE=record"}
		out, code := s.test(record, "-test.run=^TestRecorded$")
		require.Zero(t, code, out)

		out, code = s.test(nil, "-test.run=^(TestNotice|TestWordsNotice|TestMutants|TestAccepted)$", "-test.v")
		require.Zero(t, code, out)
		golden.Equal(t, "testdata/suites/mutants.txt", strings.ReplaceAll(out, m.dir, "$COMPILED"))
		page, err := os.ReadFile("../docs/mutate.md")
		require.NoError(t, err)
		blocks := regexp.MustCompile("(?s)\n```go\n(.*?)```").FindAllSubmatch(page, -1)
		require.Len(t, blocks, 2)
		for _, b := range blocks {
			require.Contains(t, s.read("suites/mutants_test.go"), string(b[1]), "docs/mutate.md shows what runs here")
		}

		events, code := s.json("TestRedMutants")
		require.Equal(t, 1, code)
		for _, e := range events {
			require.NotContains(t, []string{"pass", "skip"}, e.Action, e.Test)
		}
		text := strings.ReplaceAll(shownLines(events), m.dir, "$COMPILED")
		golden.Equal(t, "testdata/suites/red-mutants.txt", traces.ReplaceAllString(text, "        (a trace)\n$1"))

		out, code = s.test(record, "-test.run=^TestMutants$/^agent$", "-test.v")
		require.Zero(t, code, out)
		require.Contains(t, out, "EVALTEST_MODE is record, and mutants are made of recordings")
		require.Contains(t, out, "--- SKIP: TestMutants/agent")
	})

	t.Run("red-agents", func(t *testing.T) {
		t.Parallel()
		events, code := suites.in(t).json("TestRedAgents", "EVALTEST_MODE=live")
		require.Equal(t, 1, code)
		for _, e := range events {
			if e.Action == "pass" {
				require.Equal(t, "TestRedAgents/suite/agents/greet/excluded-tools", e.Test)
			}
		}
		golden.Equal(t, "testdata/suites/red-agents.txt", shownLines(events))
	})

	t.Run("not-installed", func(t *testing.T) {
		t.Parallel()
		out, code := suites.in(t).test([]string{"EVALTEST_MODE=live"}, "-test.run=^TestNotInstalled$")
		require.NotZero(t, code, out)
		require.Contains(t, out, "next: install no-such-agent, or name another program under Agent.command\n")
	})

	t.Run("judge", func(t *testing.T) {
		t.Parallel()
		model := newJudgeModel(t)
		model.score.Store(`{"score": 0.9, "reason": "Two words.", "hits": [], "misses": []}`)
		s := suites.in(t)
		key := "OPENAI_API_KEY=sk-" + "test-key"
		out, code := s.test([]string{"EVAL_LLM_JUDGE=1", "EVALTEST_MODE=record", "OPENAI_BASE_URL=" + model.url, key},
			"-test.run=^TestGreen$/^judge-skipped$", "-test.v")
		require.Zero(t, code, out)
		require.Contains(t, out, "words/two/llm-judge: PASS 0.9, need 0.8")
		require.EqualValues(t, 1, model.asked.Load())
		const recording = "cassettes/suites/words.go/two/task.1.judges.jsonl"
		require.FileExists(t, s.path(recording))

		out, code = s.test([]string{"CI=1"}, "-test.run=^TestGreen$/^judge-skipped$", "-test.v")
		require.Zero(t, code, out)
		require.Contains(t, out, "words/two/llm-judge: PASS 0.9, need 0.8")
		require.EqualValues(t, 1, model.asked.Load(), "the recording answers")

		s.replace(recording, "0.9", "1.0")
		out, code = s.test(nil, "-test.run=^TestGreen$/^judge-skipped$")
		require.NotZero(t, code, out)
		require.Contains(t, out, "the recording was edited")
		s.remove(recording)

		model.score.Store(scoresLow)
		out, code = s.test([]string{"EVAL_LLM_JUDGE=1", "OPENAI_BASE_URL=" + model.url, key},
			"-test.run=^TestGreen$/^judge-skipped$")
		require.NotZero(t, code, out)
		require.Contains(t, out, "words/two/llm-judge: FAIL 0.1, need 0.8")
		require.NoFileExists(t, s.path(recording), "a replay records nothing")

		out, code = s.test([]string{"CI=1", "EVALTEST_MODE=live"}, "-test.run=^TestGreen$/^judge-skipped$")
		require.NotZero(t, code, out)
		require.Contains(t, out,
			"an LLM judge needs a model, but model calls are disabled; CI is set, so this is an error")
		require.Contains(t, out, "next: set EVAL_LLM_JUDGE=1")
	})
}

// json runs a test of the package as `go test -json` does.
func (b suiteBinary) json(test string, env ...string) (events []event, code int) {
	b.t.Helper()
	return module{b.t, b.path(b.pkg)}.testJSON(b.bin, env, "-test.run=^"+test+"$")
}
