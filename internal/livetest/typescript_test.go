package livetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/testkit/modelserver"
)

// TestRealTypeScript checks the types of the files in TypeScript and runs the suite beside the command under bun. What
// the page shows is what they are.
func TestRealTypeScript(t *testing.T) {
	findRuntimes(t)
	const dir = "../../fixtures/typescript"
	t.Run("types", func(t *testing.T) {
		out, err := exec.CommandContext(t.Context(), "tsc", "-p", dir).CombinedOutput()
		require.NoError(t, err, "%s", out)
	})
	t.Run("types that are wrong", func(t *testing.T) {
		judge, err := filepath.Abs(dir + "/judge.ts")
		require.NoError(t, err)
		wrong := t.TempDir() + "/wrong.ts"
		require.NoError(t, os.WriteFile(wrong, []byte(`import { defineCodeJudge } from "`+judge+`";
defineCodeJudge((input) => ({ score: input.candidateAnswer.length }));
defineCodeJudge((input) => ({ score: input.candidate_answer.length }), { camelCase: true });
defineCodeJudge((input) => ({ points: input.trace_summary?.event_count }));
`), 0o600))
		options := "--noEmit --strict --lib esnext --target esnext --module esnext --moduleResolution bundler " +
			"--allowImportingTsExtensions"
		out, err := exec.CommandContext(t.Context(), "tsc", append(strings.Fields(options), wrong)...).CombinedOutput()
		require.Error(t, err)
		for _, at := range []string{"wrong.ts(2,", "wrong.ts(3,", "wrong.ts(4,"} {
			assert.Contains(t, string(out), at)
		}
	})
	t.Run("suite", func(t *testing.T) {
		suite := exec.CommandContext(t.Context(), "bun", "test")
		suite.Dir = dir
		suite.Env = append(os.Environ(), "SDD_EVAL="+buildCommand(t))
		out, err := suite.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), " 3 pass")
	})
	for _, runtime := range []string{"bun run", "deno run --no-prompt --allow-env", "tsx"} {
		t.Run("judge "+runtime, func(t *testing.T) {
			judge := exec.CommandContext(t.Context(), "sh", "-c", "exec "+runtime+" precision.ts")
			judge.Dir = dir
			judge.Stdin = strings.NewReader(`{"question": "q", "candidate_answer": "a",
"config": {"command": "go_test"},
"trace_summary": {"event_count": 1}, "output_messages": [{"role": "assistant", "content": "",
"tool_calls": [{"tool": "Bash", "input": {"a_b": "go_test"}}]}]}`)
			out, err := judge.Output()
			require.NoError(t, err)
			want := `{"pass": true, "checks": [{"id": "tests", "pass": true, "reason": "1 calls"}]}`
			require.JSONEq(t, want, string(out))
		})
	}
	for _, runtime := range []string{"bun, run", "deno, run, --no-prompt, --allow-env, --allow-net", "tsx"} {
		t.Run("model "+runtime, func(t *testing.T) { judgeAsksModel(t, runtime) })
	}
	t.Run("page", func(t *testing.T) {
		page, err := os.ReadFile("../../docs/typescript.md")
		require.NoError(t, err)
		var files strings.Builder
		for _, name := range []string{"sidecar.ts", "sidecar.test.ts", "precision.ts"} {
			text, err := os.ReadFile(dir + "/" + name)
			require.NoError(t, err)
			files.Write(text)
		}
		blocks := regexp.MustCompile("(?s)```ts\n(.+?)```").FindAllStringSubmatch(string(page), -1)
		require.Len(t, blocks, 3)
		for _, block := range blocks {
			assert.Contains(t, files.String(), block[1])
		}
	})
}

// judgeAsksModel runs the page's judge with a target, as a user does: it asks the model through the proxy, and a replay
// has its answer from the recording.
func judgeAsksModel(t *testing.T, runtime string) {
	root, program, models := t.TempDir(), buildCommand(t), t.TempDir()
	write := func(file, text string) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	write(models+"/judge.yaml", "prompt: ^Does this say what was wrong\njudges: {scripted: {saw: hello, say: 'yes'}}\n")
	environ := append(os.Environ(), modelserver.Environ(serve(t, models, 0))...)
	command := func(args ...string) string {
		t.Helper()
		ran := exec.CommandContext(t.Context(), program, args...)
		ran.Dir, ran.Env = root, append(environ, "EVALTEST_RECORD_IN_CI=1")
		out, err := ran.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	write(root+"/go.mod", "module example.com/shop\n")
	write(root+"/ts.yaml", `name: ts
task: {prompt: Do it.}
variants: {a: {agent: {kind: fake-acp}}}
evaluators:
  - type: code_judge
    script: [`+runtime+`, precision.ts]
    config: {command: ""}
    target: {max_calls: 1, model: scripted}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [a]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]
`)
	judge, err := os.ReadFile("../../fixtures/typescript/precision.ts")
	require.NoError(t, err)
	write(root+"/precision.ts", string(judge))
	command("init", "--judge", "ts")
	command("run", "--playbook", "ts.yaml", "--mode", "record", "--llm-judge")
	environ = os.Environ()
	command("run", "--playbook", "ts.yaml", "--mode", "replay")
}
