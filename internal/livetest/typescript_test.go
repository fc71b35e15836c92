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
