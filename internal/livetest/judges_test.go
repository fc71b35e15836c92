package livetest

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/script"
	"github.com/sdd-eval/sdd-eval/internal/testkit/modelserver"
)

// runtimes are the programs that scripts of the suites of judges run on.
var runtimes = []string{"bun", "deno", "go", "node", "python3", "sh", "tsx"}

// findRuntimes puts the runtimes into PATH. It skips the test where one is missing; in CI that is an error.
func findRuntimes(t *testing.T) {
	t.Helper()
	bin, err := filepath.Abs("../../fixtures/runtimes/node_modules/.bin")
	require.NoError(t, err)
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, name := range runtimes {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal(err)
			}
			t.Skipf("%v: `make runtimes` installs bun, deno and tsx with npm", err)
		}
	}
}

// TestRealJudges records the suites of judges under Landlock; what they replay under is the default. What the models
// were asked and said must be what is committed, to the byte.
func TestRealJudges(t *testing.T) {
	findRuntimes(t)
	newSandbox(t, confine.Landlock)
	for _, variable := range modelserver.Environ(serve(t, "../../fixtures/models", 0)) {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	t.Setenv("EVALTEST_MODE", "record")
	t.Setenv("EVALTEST_RECORD_IN_CI", "1")
	t.Setenv("EVAL_LLM_JUDGE", "1")
	t.Setenv("EVALTEST_SANDBOX", string(confine.Landlock))
	dir := t.TempDir()
	t.Run("record", func(t *testing.T) {
		evaltest.Describe(t, "../../evals/judges/*.yaml", evaltest.Dirs{Cassettes: dir})
	})
	t.Run("equal", func(t *testing.T) { sameJudgements(t, "../../cassettes", dir) })
}

// newSandbox returns a sandbox. It skips the test where the system has none of the kind; in CI that is an error.
func newSandbox(t *testing.T, kind confine.Kind, leave ...confine.Property) *confine.Sandbox {
	t.Helper()
	s, err := confine.New(kind, nil, leave...)
	if err == nil {
		_, err = s.Properties(t.Context())
	}
	if err != nil && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	require.NoError(t, err)
	return s
}

// sameJudgements compares all recordings of the suites of judges below two directories.
func sameJudgements(t *testing.T, a, b string) {
	t.Helper()
	list := func(dir string) []string {
		names, err := fs.Glob(os.DirFS(dir), "evals/judges/*/*/*.jsonl")
		require.NoError(t, err)
		return names
	}
	names := list(a)
	require.Len(t, names, 2*len(runtimes))
	require.Equal(t, names, list(b))
	for _, name := range names {
		if !strings.HasSuffix(name, ".judges.jsonl") {
			x, err := cassette.Read(filepath.Join(a, name))
			require.NoError(t, err)
			y, err := cassette.Read(filepath.Join(b, name))
			require.NoError(t, err)
			diffs, err := cassette.Compare(x, y)
			require.NoError(t, err)
			assert.Empty(t, diffs, name)
			continue
		}
		x, err := os.ReadFile(filepath.Join(a, name))
		require.NoError(t, err)
		y, err := os.ReadFile(filepath.Join(b, name))
		require.NoError(t, err)
		assert.Equal(t, string(x), string(y), name)
	}
}

// TestRealRuntimes starts each runtime confined as judges are: it reads what it is given, writes to its HOME, and
// cannot write to the workspace.
func TestRealRuntimes(t *testing.T) {
	findRuntimes(t)
	const node = `import { readFileSync, writeFileSync } from "node:fs";
let wrote = true;
try { writeFileSync(process.env.W + "/new", "x"); } catch { wrote = false; }
writeFileSync(process.env.HOME + "/new", "x");
process.stdout.write(readFileSync(0, "utf8") + wrote);`
	tests := []struct{ name, file, program string }{
		{"bun run", "a.ts", `let wrote = true;
try { await Bun.write(process.env.W + "/new", "x"); } catch { wrote = false; }
await Bun.write(process.env.HOME + "/new", "x");
await Bun.write(Bun.stdout, (await Bun.stdin.text()) + (wrote as boolean));`},
		{"deno run --no-prompt --allow-env --allow-write", "b.ts", `let wrote = true;
try { Deno.writeTextFileSync(Deno.env.get("W") + "/new", "x"); } catch { wrote = false; }
Deno.writeTextFileSync(Deno.env.get("HOME") + "/new", "x");
console.log((await new Response(Deno.stdin.readable).text()) + (wrote as boolean));`},
		{"go run", "c.go", `package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	err := os.WriteFile(os.Getenv("W")+"/new", nil, 0o600)
	if err := os.WriteFile(os.Getenv("HOME")+"/new", nil, 0o600); err != nil {
		panic(err)
	}
	in, _ := io.ReadAll(os.Stdin)
	fmt.Printf("%s%t", in, err == nil)
}`},
		{"node", "d.mjs", node},
		{"tsx", "e.mts", strings.Replace(node, "let wrote", "let wrote: boolean", 1)},
		{"python3", "f.py", `import os, sys
wrote = True
try:
    open(os.environ["W"] + "/new", "w")
except OSError:
    wrote = False
open(os.environ["HOME"] + "/new", "w")
print(sys.stdin.read() + str(wrote).lower())`},
		{"sh", "g.sh", `in=$(cat); wrote=true
touch "$W/new" || wrote=false
touch "$HOME/new"
echo "$in$wrote"`},
	}
	require.Len(t, tests, len(runtimes))
	for _, kind := range []confine.Kind{confine.Bwrap, confine.Landlock} {
		t.Run(string(kind), func(t *testing.T) {
			root, workspace := t.TempDir(), t.TempDir()
			for _, tt := range tests {
				t.Run(tt.name, func(t *testing.T) {
					var leave []confine.Property
					if tt.name == "tsx" {
						leave = append(leave, confine.Sockets) // it listens on one
					}
					runner := &script.Runner{
						Sandbox: newSandbox(t, kind, leave...), Environ: os.Environ(), Root: root, TempDir: t.TempDir(),
					}
					file := filepath.Join(root, tt.file)
					require.NoError(t, os.WriteFile(file, []byte(tt.program), 0o600))
					out, err := runner.Run(t.Context(), script.Script{
						Argv: append(strings.Fields(tt.name), file), Env: []string{"W=" + workspace},
					}, []byte("wrote: "), workspace)
					require.NoError(t, err)
					assert.Equal(t, "wrote: false", strings.TrimSpace(string(out)))
					assert.NoFileExists(t, filepath.Join(workspace, "new"))
				})
			}
		})
	}
}
