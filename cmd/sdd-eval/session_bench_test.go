//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const longPlaybook = `name: long
cases: [{id: c, prompts: [%s]}]
variants: {a: {agent: {kind: fake-acp, args: [script.json]}}}
workspace: {from: src}
evaluators: [{type: files, expect: [{path: file.txt, contains: line}]}]
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [a]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]
`

// BenchmarkSession runs and replays a session of 39 MB, 20 turns of a thousand tool calls, compares two recordings of
// it, and does the same with a session of 20 calls: the difference of their peaks is what the session takes.
func BenchmarkSession(b *testing.B) {
	for _, calls := range []int{1, 1000} {
		b.Run(fmt.Sprintf("calls=%d", 20*calls), func(b *testing.B) {
			dir := b.TempDir()
			write := func(name, text string) {
				require.NoError(b, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
			}
			require.NoError(b, os.Mkdir(filepath.Join(dir, "src"), 0o755))
			write("go.mod", "module example.com/long\n\ngo 1.26.0\n")
			write("src/file.txt", "a line\n")
			write("script.json", longScript(b, calls))
			write("p.yaml", fmt.Sprintf(longPlaybook, strings.TrimSuffix(strings.Repeat("Do it.,", 20), ",")))
			run := func(mode string) func() *exec.Cmd {
				return func() *exec.Cmd { return command(dir, "run", "--playbook", "p.yaml", "--mode", mode) }
			}
			b.Run("live", func(b *testing.B) { measureProcess(b, 1, run("live")) })
			b.Run("record", func(b *testing.B) { measureProcess(b, 1, run("record")) })
			b.Run("replay", func(b *testing.B) { measureProcess(b, 1, run("replay")) })
			b.Run("diff", func(b *testing.B) {
				recorded, err := filepath.Glob(filepath.Join(dir, "cassettes/p/c/a.1.jsonl*"))
				require.NoError(b, err)
				require.Len(b, recorded, 1)
				measureProcess(b, 1, func() *exec.Cmd {
					return command(dir, "cassette", "diff", recorded[0], recorded[0])
				})
			})
		})
	}
}

// longScript returns the script of an agent that writes so many files in each turn.
func longScript(b *testing.B, calls int) string {
	var actions []any
	for i := range calls {
		path := fmt.Sprintf("out%d.txt", i)
		actions = append(actions, map[string]any{"tool": map[string]any{
			"name": "Write", "kind": "edit", "title": "Write " + path,
			"input": map[string]any{"path": path, "content": strings.Repeat("a line of what was written\n", 60)},
		}})
	}
	data, err := json.Marshal(map[string]any{"repeat": true, "turns": []any{map[string]any{"actions": actions}}})
	require.NoError(b, err)
	return string(data)
}
