package script_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/script"
)

// kinds runs a test without a sandbox, and with the default one where that works.
func kinds(t *testing.T, test func(t *testing.T, r *script.Runner)) {
	for _, kind := range []confine.Kind{confine.None, confine.Auto} {
		t.Run(string(kind), func(t *testing.T) { test(t, runner(t, kind)) })
	}
}

// auto is one sandbox for all tests, since measuring it takes time.
var auto = sync.OnceValues(func() (*confine.Sandbox, error) {
	s, err := confine.New(confine.Auto, nil)
	if err == nil {
		_, err = s.Properties(context.Background())
	}
	return s, err
})

func runner(tb testing.TB, kind confine.Kind) *script.Runner {
	sandbox, err := confine.New(confine.None, nil)
	if kind == confine.Auto {
		if sandbox, err = auto(); err != nil {
			tb.Skip(err)
		}
	}
	require.NoError(tb, err)
	root, err := filepath.EvalSymlinks(tb.TempDir())
	require.NoError(tb, err)
	return &script.Runner{Sandbox: sandbox, Environ: os.Environ(), Root: root, TempDir: tb.TempDir()}
}

// write writes a file below the runner's root and returns its path.
func write(tb testing.TB, r *script.Runner, name, text string) string {
	path := filepath.Join(r.Root, filepath.FromSlash(name))
	require.NoError(tb, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(tb, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func sh(program string) script.Script { return script.Script{Argv: []string{"sh", "-c", program}} }

func TestRun(t *testing.T) {
	kinds(t, func(t *testing.T, r *script.Runner) {
		out, err := r.Run(t.Context(), sh("cat; echo noise >&2"), []byte("in"), "")
		require.NoError(t, err)
		assert.Equal(t, "in", string(out))
		left, err := os.ReadDir(r.TempDir)
		require.NoError(t, err)
		assert.Empty(t, left, "HOME and TMPDIR are removed")
	})
}

// TestP2: the script is started by its absolute path, in its directory.
func TestP2(t *testing.T) {
	kinds(t, func(t *testing.T, r *script.Runner) {
		path := write(t, r, "prompts/cwd.sh", `printf '%s %s' "$PWD" "$0"`)
		out, err := r.Run(t.Context(), script.Script{Argv: []string{"sh", path}, Cwd: filepath.Dir(path)}, nil, "")
		require.NoError(t, err)
		assert.Equal(t, filepath.Dir(path)+" "+path, string(out))
	})
}

// TestP10: arguments are passed unchanged, and there is no shell.
func TestP10(t *testing.T) {
	kinds(t, func(t *testing.T, r *script.Runner) {
		path := write(t, r, "args.sh", `printf '<%s>' "$@"`)
		s := script.Script{Argv: []string{"sh", path, "--flag", "a b", "$HOME", "", "*"}}
		out, err := r.Run(t.Context(), s, nil, "")
		require.NoError(t, err)
		assert.Equal(t, "<--flag><a b><$HOME><><*>", string(out))
	})
}

func TestErrors(t *testing.T) {
	tests := []struct {
		name, program string
		want          []string
	}{
		{"P3 exit code and stderr", "echo boom >&2; exit 3", []string{"script sh -c", "exit code 3: boom"}},
		{"C3 an answer does not help", `echo '{"score":1}'; exit 1`, []string{"exit code 1"}},
		{"C4 SIGKILL", `echo '{"score":1}'; kill -KILL $$`, []string{"killed by SIGKILL"}},
		{"C4 SIGSEGV", `echo '{"score":1}'; kill -SEGV $$`, []string{"killed by SIGSEGV"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			kinds(t, func(t *testing.T, r *script.Runner) {
				out, err := r.Run(t.Context(), sh(tt.program), nil, "")
				require.Error(t, err)
				assert.Nil(t, out)
				var e *script.Error
				require.ErrorAs(t, err, &e)
				for _, want := range tt.want {
					assert.ErrorContains(t, err, want)
				}
			})
		})
	}
}

func TestStderrIsCut(t *testing.T) {
	r := runner(t, confine.None)
	const program = "i=0; while [ $i -lt 300 ]; do echo first line $i >&2; i=$((i+1)); done; echo last >&2; exit 1"
	_, err := r.Run(t.Context(), sh(program), nil, "")
	var e *script.Error
	require.ErrorAs(t, err, &e)
	assert.LessOrEqual(t, len(e.Stderr), 2000)
	assert.True(t, strings.HasSuffix(e.Stderr, "last\n"))
	assert.NotContains(t, err.Error(), "\n")
}

// TestC5: the error names a program that does not exist.
func TestC5(t *testing.T) {
	kinds(t, func(t *testing.T, r *script.Runner) {
		for _, program := range []string{"no-such-judge", "/no/such/judge"} {
			_, err := r.Run(t.Context(), script.Script{Argv: []string{program}}, nil, "")
			require.ErrorContains(t, err, program)
		}
	})
}

func TestNoScript(t *testing.T) {
	r := runner(t, confine.None)
	for _, s := range []script.Script{
		{},
		{Argv: []string{""}},
		{Argv: []string{"./judge"}},
		{Argv: []string{"sh"}, Cwd: "judges"},
	} {
		_, err := r.Run(t.Context(), s, nil, "")
		require.Error(t, err)
	}
	_, err := (&script.Runner{Root: t.TempDir()}).Run(t.Context(), sh("true"), nil, "")
	require.ErrorContains(t, err, "no sandbox")
}

// TestP6: at the timeout the script ends with all its descendants, whichever of them holds its output.
func TestP6(t *testing.T) {
	kinds(t, func(t *testing.T, r *script.Runner) {
		s := sh("(trap '' TERM; setsid sleep 98700) & trap '' TERM; sleep 98700")
		s.Timeout = time.Second
		_, err := r.Run(t.Context(), s, nil, "")
		require.ErrorContains(t, err, "did not end within its timeout of 1s")
		assert.Empty(t, processes(t, "sleep\x0098700\x00"), "nothing is left")
	})
}

func TestCancelled(t *testing.T) {
	r := runner(t, confine.None)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := r.Run(ctx, sh("sleep 86400"), nil, "")
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// TestC7: a script that does not read its input may still answer.
func TestC7(t *testing.T) {
	kinds(t, func(t *testing.T, r *script.Runner) {
		for _, program := range []string{"echo yes", "exec 0<&-; echo yes"} {
			out, err := r.Run(t.Context(), sh(program), make([]byte, 3<<20), "")
			require.NoError(t, err)
			assert.Equal(t, "yes\n", string(out))
		}
	})
}

// TestC8: output is read up to a limit, in bounded memory.
func TestC8(t *testing.T) {
	kinds(t, func(t *testing.T, r *script.Runner) {
		_, err := r.Run(t.Context(), sh("head -c 1000000000 /dev/zero"), nil, "")
		require.ErrorContains(t, err, "exceeds the 10 MiB limit")
		out, err := r.Run(t.Context(), sh("head -c 10485760 /dev/zero"), nil, "")
		require.NoError(t, err)
		assert.Len(t, out, 10<<20)
	})
}

func TestExec(t *testing.T) {
	r := runner(t, confine.None)
	out, err := r.Exec(t.Context(), sh("echo out; echo err >&2; exit 3"), nil, "")
	require.NoError(t, err)
	assert.Equal(t, "out\n", string(out.Stdout))
	assert.Equal(t, "err\n", out.Stderr)
	assert.Equal(t, 3, out.Exit.Code)
}

// processes returns the processes whose arguments end with args.
func processes(t *testing.T, args string) []string {
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	var found []string
	for _, path := range all {
		if text, err := os.ReadFile(path); err == nil && strings.HasSuffix(string(text), args) {
			found = append(found, path)
		}
	}
	return found
}
