//go:build unix

package clitest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/clitest"
)

func TestCommand(t *testing.T) {
	cmd := clitest.Command(t, "sh", "-c", `cat; echo "$1" >&2; pwd; exit 7`, "tool", "it's * $HOME\n")
	cmd.Dir, cmd.Stdin, cmd.ExitCode = "testdata", "some input\n", 7
	r := cmd.Run()
	dir, err := filepath.Abs("testdata")
	require.NoError(t, err)
	require.Equal(t, "some input\n"+dir+"\n", r.Stdout)
	require.Equal(t, "it's * $HOME\n\n", r.Stderr)
	require.Equal(t, 7, r.ExitCode)
	require.Empty(t, r.Signal)
	require.False(t, r.TimedOut)
	require.Positive(t, r.Duration)

	cmd = clitest.Command(t, "sh", "-c", "kill -TERM $$")
	cmd.ExitCode = clitest.AnyEnd
	r = cmd.Run()
	require.Equal(t, -1, r.ExitCode)
	require.Equal(t, "SIGTERM", r.Signal)

	require.Panics(t, func() { clitest.Command(t, "") })
	require.Panics(t, func() { clitest.Command(t, "echo", "{}").Run().JSON(struct{}{}) })
}

// TestByHand runs the line that is shown for people.
func TestByHand(t *testing.T) {
	for _, stdin := range []string{"", "some 'input'\n"} {
		cmd := clitest.Command(t, "sh", "-c", `cat; pwd; printf '%s|' "$@" "$SHOP"; [ -d "$HOME" ]`, "tool", "it's",
			"", "a\nb", "$HOME", `\`)
		cmd.Dir, cmd.Stdin, cmd.Env = t.TempDir(), stdin, []string{"SHOP=the corner's"}
		r := cmd.Run()
		_, line, found := strings.Cut(r.String(), "by hand:   ")
		require.True(t, found)
		out, err := exec.Command("sh", "-c", line).CombinedOutput()
		require.NoError(t, err, "%s\n%s", line, out)
		require.Equal(t, r.Stdout, string(out), line)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("EDITOR", "ours")
	t.Setenv("SHOP", "ours")
	t.Setenv("LC_TIME", "C")
	const show = `echo "$EDITOR,$SHOP,$LC_TIME"; cat "$HOME/left"; echo once >"$HOME/left"; ls "$TMPDIR"; echo "$HOME"`
	run := func(t *testing.T) []string {
		cmd := clitest.Command(t, "sh", "-c", show)
		cmd.Env = []string{"SHOP=first", "SHOP=the test's"}
		return strings.Split(strings.TrimSpace(cmd.Run().Stdout), "\n")
	}
	first, second := run(t), run(t)
	require.Len(t, first, 2)
	require.Equal(t, ",the test's,C", first[0])
	require.NotEqual(t, os.Getenv("HOME"), first[1])
	require.Equal(t, []string{first[0], "once", first[1]}, second, "a test's tools have one home")
	t.Run("another test", func(t *testing.T) {
		other := run(t)
		require.Len(t, other, 2)
		require.NotEqual(t, first[1], other[1])
	})
}

// TestEachVariableOnce: programs do not agree on which of several of a name counts.
func TestEachVariableOnce(t *testing.T) {
	cmd := clitest.Command(t, "env")
	cmd.Env = []string{"PATH=" + clitest.MinimalPath(t, "env"), "SHOP=first", "HOME=/nowhere", "SHOP=last"}
	var names []string
	for line := range strings.Lines(cmd.Run().Stdout) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		names = append(names, name)
		switch name {
		case "SHOP":
			require.Equal(t, "last", value)
		case "HOME":
			require.Equal(t, "/nowhere", value)
		}
	}
	slices.Sort(names)
	require.Equal(t, slices.Compact(slices.Clone(names)), names)
	require.Contains(t, names, "SHOP")
}

func TestMinimalPath(t *testing.T) {
	path := clitest.MinimalPath(t, "sh", "/bin/cat")
	cmd := clitest.Command(t, "sh", "-c", `echo text | cat; command -v ls || echo "no ls"`)
	cmd.Env = []string{"PATH=" + path}
	require.Equal(t, "text\nno ls\n", cmd.Run().Stdout)
}

func TestBuild(t *testing.T) {
	tool := clitest.Build(t, "./testdata/passing/stock")
	require.True(t, filepath.IsAbs(tool))
	require.Equal(t, tool, clitest.Build(t, "./testdata/passing/stock"))
	var items []any
	clitest.Command(t, tool).Run().JSON(&items)
	require.Len(t, items, 1)
}

// TestNeverCached: what depends on a tool is run each time, since the go command does not know whether the tool is the
// same.
func TestNeverCached(t *testing.T) {
	t.Parallel()
	for range 2 {
		out, err := exec.Command("go", "test", "./testdata/passing").CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.NotContains(t, string(out), "(cached)")
	}
}

func TestRequire(t *testing.T) {
	t.Setenv("CI", "true")
	path := clitest.Require(t, "sh", []string{"-c", "exit 0"}, time.Minute)
	require.True(t, filepath.IsAbs(path))

	t.Setenv("CI", "false")
	skipped := &skipper{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		clitest.Require(skipped, "no-such-program", nil, time.Minute)
	}()
	<-done
	require.Contains(t, skipped.why, "no-such-program")
}

// skipper notes that a test would be skipped: nothing is, in CI.
type skipper struct {
	testing.TB
	why string
}

func (s *skipper) Skipf(format string, args ...any) {
	s.why = fmt.Sprintf(format, args...)
	runtime.Goexit()
}
