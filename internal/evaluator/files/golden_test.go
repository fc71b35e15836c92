package files_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/files"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

const accept = "\n    to accept it, copy the file from the unit's workspace over %s; " +
	"`sdd-eval run` and EVALTEST_RUN_DIR keep workspaces"

// load decodes an evaluator in a playbook beside which, and above which, stand golden files.
func load(t *testing.T, keys string, golden map[string]string) (evaluator.Evaluator, error) {
	t.Helper()
	root := t.TempDir()
	for name, text := range golden {
		path := filepath.Join(root, "evals", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(root, "evals", "x"), 0o755))
	text := `task: {title: t, prompt: p}
variants: {v: {style: sdd, agent: {kind: acp, command: agent}}}
workflow: {jobs: {j: {strategy: {matrix: {variant: [v]}}, steps: [{uses: builtin:sdd-eval/acp.prompt}]}}}
evaluators:
  - {type: files, ` + keys + "}\n"
	pb, err := plan.Read(plan.Source{
		Path: filepath.Join(root, "evals", "x", "p.yaml"), Name: "evals/x/p.yaml", Root: root, Data: []byte(text),
	}, plan.Kinds{"files": files.Kind()})
	if err != nil {
		return nil, err
	}
	return pb.Evaluators[0].Config.(evaluator.Evaluator), nil
}

func TestGolden(t *testing.T) {
	many := strings.Repeat("x\n", 60)
	wide := strings.Repeat("w", 300) + "\n"
	tests := []struct{ name, want, got, detail string }{
		{"same", "a\nb\n", "a\nb\n", "✓ a.txt equals golden.txt"},
		{"both empty", "", "", "✓ a.txt equals golden.txt"},
		{"another line", "a\nb\nc\n", "a\nB\nc\n", "they differ\n--- want\n+++ got\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c"},
		{"empty", "a\n", "", "they differ\n--- want\n+++ got\n@@ -1 +0,0 @@\n-a"},
		{
			"without the last newline", "a\n", "a",
			"they differ\n--- want\n+++ got\n@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file",
		},
		{
			"control characters", "a\n", "\x1b[31ma\u202e\n",
			"they differ\n--- want\n+++ got\n@@ -1 +1 @@\n-a\n+\\x1b[31ma\\u202e",
		},
		{"other line ends", "a\nb\n", "a\r\nb\r\n", "lines end with CRLF on one side and with LF on the other"},
		{"binary", "a\x00b", "a\x00cd", "they differ from byte 2: 4 bytes, want 3"},
		{"binary at the start", "\x00b", "\x00cd", "they differ from byte 1: 3 bytes, want 2"},
		{"binary that goes on", "a\x00", "a\x00b", "they differ from byte 2: 3 bytes, want 2"},
		{"binary and text", "a\n", "a\x00", "they differ from byte 1: 2 bytes, want 2"},
		{
			"as many lines as are shown", "", strings.Repeat("x\n", 37),
			"they differ\n--- want\n+++ got\n@@ -0,0 +1,37 @@" + strings.Repeat("\n+x", 37),
		},
		{
			"many lines", "", many,
			"they differ\n--- want\n+++ got\n@@ -0,0 +1,60 @@\n" + strings.Repeat("+x\n", 37) + "… 23 more lines",
		},
		{"wide line", "", wide, "they differ\n--- want\n+++ got\n@@ -0,0 +1 @@\n+" + strings.Repeat("w", 199) + "…"},
		{
			"large", strings.Repeat("x\n", 300_000), strings.Repeat("x\n", 300_000) + "y\n",
			"they differ on line 300001\n-want the end\n+got  \"y\\n\"",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := load(t, "expect: [{path: a.txt, golden: golden.txt}]", map[string]string{"x/golden.txt": tt.want})
			require.NoError(t, err)
			ws := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(ws, "a.txt"), []byte(tt.got), 0o644))
			v := e.Evaluate(context.Background(), evaluator.Input{Workspace: ws})
			if strings.HasPrefix(tt.detail, "✓") {
				assert.Equal(t, result.Pass, v.Outcome)
				assert.Equal(t, tt.detail, v.Detail)
				return
			}
			assert.Equal(t, result.Fail, v.Outcome)
			want := "✗ a.txt equals golden.txt: " + strings.ReplaceAll(tt.detail, "\n", "\n    ") +
				strings.ReplaceAll(accept, "%s", "evals/x/golden.txt")
			assert.Equal(t, want, v.Detail)
		})
	}
}

// A golden file may stand above the playbook; the hint says where.
func TestGoldenAbove(t *testing.T) {
	e, err := load(t, "expect: [{path: a.txt, golden: golden/a.txt}]", map[string]string{"golden/a.txt": "a\n"})
	require.NoError(t, err)
	v := e.Evaluate(context.Background(), evaluator.Input{Workspace: t.TempDir()})
	assert.Equal(t, "✗ a.txt equals golden/a.txt: it does not exist", v.Detail)

	ws := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(ws, "a.txt"), []byte("b\n"), 0o644))
	v = e.Evaluate(context.Background(), evaluator.Input{Workspace: ws})
	assert.Contains(t, v.Detail, "over evals/golden/a.txt;")
}

// A golden file that is named by its absolute path is shown by it.
func TestGoldenElsewhere(t *testing.T) {
	name := filepath.Join(t.TempDir(), "golden.txt")
	require.NoError(t, os.WriteFile(name, []byte("a\n"), 0o644))
	e, err := load(t, "expect: [{path: a.txt, golden: "+name+"}]", nil)
	require.NoError(t, err)
	ws := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(ws, "a.txt"), []byte("b\n"), 0o644))
	v := e.Evaluate(context.Background(), evaluator.Input{Workspace: ws})
	assert.Contains(t, v.Detail, "workspace over "+name+";")
}

func TestGoldenTooLarge(t *testing.T) {
	name := filepath.Join(t.TempDir(), "golden.txt")
	require.NoError(t, os.WriteFile(name, nil, 0o644))
	require.NoError(t, os.Truncate(name, 16<<20))
	_, err := load(t, "expect: [{path: a.txt, golden: "+name+"}]", nil)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(name, 16<<20+1))
	_, err = load(t, "expect: [{path: a.txt, golden: "+name+"}]", nil)
	assert.ErrorContains(t, err, name+" exceeds the 16 MiB limit")
}

func TestGoldenMissing(t *testing.T) {
	_, err := load(t, "expect: [{path: a.txt, golden: none.txt}]", nil)
	require.ErrorContains(t, err, "evals/x/p.yaml:5:50: evaluators[0].expect[0].golden: ")
	assert.ErrorContains(t, err, "none.txt: no such file or directory")

	_, err = load(t, "expect: [{path: a.txt, golden: dir}]", map[string]string{"x/dir/a": ""})
	assert.ErrorContains(t, err, "dir is not a regular file")
}
