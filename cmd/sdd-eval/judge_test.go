package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

const judgedPlaybook = `name: judged
task: {title: Greet, prompt: Write a greeting.}
variants:
  claude-opus-fast: {agent: {kind: fake-acp}}
report: {ai_judge: {enabled: true, model: gpt-test}}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [claude-opus-fast]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]
    report: {needs: [eval], steps: [{uses: builtin:sdd-eval/report.generate}]}
`

// TestAIJudge has a model score a run: once, blind, again only when asked to, and never for want of a person's scores.
func TestAIJudge(t *testing.T) {
	var asked atomic.Int64
	var request atomic.Value
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		request.Store(string(body))
		asked.Add(1)
		reply, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{
			"message":       map[string]any{"role": "assistant", "content": `{"score": 7, "reason": "a plain greeting"}`},
			"finish_reason": "stop",
		}}})
		w.Header().Set("Content-Type", "application/json")
		w.Write(reply)
	}))
	defer model.Close()
	dir := project(t, judgedPlaybook)
	run := func(args ...string) string {
		t.Helper()
		c := command(dir, args...)
		c.Env = append(c.Env, "OPENAI_API_KEY=sk-"+"test-judge-key-0000", "OPENAI_BASE_URL="+model.URL)
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.NotContains(t, string(out), "judge-key")
		return string(out)
	}

	run("run", "--playbook", "p.yaml")
	require.EqualValues(t, 1, asked.Load(), "the report is made twice, the model asked once")
	require.Contains(t, request.Load(), "Write a greeting.")
	require.Contains(t, request.Load(), "hello.txt", "the diff")
	require.NotContains(t, request.Load(), "claude-opus-fast", "the judge does not know whose work it is")
	dirs := runs(t, dir)
	require.Len(t, dirs, 1)
	scores, err := os.ReadFile(filepath.Join(dirs[0], "ai-scores.json"))
	require.NoError(t, err)
	require.Contains(t, string(scores), "a plain greeting")
	page, err := os.ReadFile(filepath.Join(dirs[0], "report.json"))
	require.NoError(t, err)
	require.Contains(t, string(page), "a plain greeting")

	run("report", "--run", "latest")
	require.EqualValues(t, 1, asked.Load(), "no score is missing")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "scores.json"),
		[]byte(`{"variants": {"claude-opus-fast": {"score": 4, "notes": "meh"}}}`), 0o644))
	run("import-human", "--run", "latest", "--file", "scores.json")
	require.EqualValues(t, 1, asked.Load(), "a person's scores are no reason to ask a model")
	run("report", "--run", "latest", "--rejudge")
	require.EqualValues(t, 2, asked.Load())

	leaks, err := filepath.Glob(filepath.Join(dirs[0], "*"))
	require.NoError(t, err)
	for _, file := range leaks {
		if data, err := os.ReadFile(file); err == nil {
			require.False(t, strings.Contains(string(data), "judge-key"), file)
		}
	}
}
