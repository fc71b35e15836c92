package clitest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// TestFailures compares what people see when a tool fails, in a real `go test`, with a golden file.
func TestFailures(t *testing.T) {
	t.Parallel()
	out, code := goTest(t, "./testdata/failing")
	require.Equal(t, 1, code)
	golden.Equal(t, "testdata/failing.golden", out)
	require.NotContains(t, out, "hunter2-of-the-shop")
}

// TestNearDeadline: the test says what hung while it can, before go test's deadline ends all of it without a word.
func TestNearDeadline(t *testing.T) {
	t.Parallel()
	out, code := goTest(t, "-timeout=2s", "-run=TestNearDeadline", "./testdata/failing")
	require.Equal(t, 1, code)
	require.Contains(t, out, "fail TestNearDeadline\n")
	require.Regexp(t,
		`sh was killed after \$TIME because go test's deadline is near: give the test more time with -timeout`, out)
	require.NotContains(t, out, "panic: test timed out")
}

// goTest runs go test on packages below and returns what each test said, and the exit code.
func goTest(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	if testing.Short() {
		t.Skip("go test is a process of its own")
	}
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if name != "CI" && name != "LANG" && name != "TZ" && !strings.HasPrefix(name, "LC_") &&
			!strings.Contains(strings.ToUpper(name), "TOKEN") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		require.IsType(t, new(exec.ExitError), err)
	}
	require.Empty(t, stderr.String())
	return stable(t, reported(t, stdout)), cmd.ProcessState.ExitCode()
}

// reported returns how each test ended and what it printed, in the order in which they ended.
func reported(t *testing.T, events []byte) string {
	t.Helper()
	said := make(map[string]string)
	var b strings.Builder
	for line := range bytes.Lines(events) {
		var e struct{ Action, Test, Output string }
		require.NoError(t, json.Unmarshal(line, &e), "%s", line)
		switch e.Action {
		case "output":
			if text := strings.TrimLeft(e.Output, " "); !strings.HasPrefix(text, "=== ") &&
				!strings.HasPrefix(text, "--- ") {
				said[e.Test] += e.Output
			}
		case "pass", "fail", "skip":
			if e.Test != "" {
				fmt.Fprintf(&b, "%s %s\n%s", e.Action, e.Test, said[e.Test])
			}
		}
	}
	return b.String()
}

var times = regexp.MustCompile(`(after|within) [0-9.]+(ms|s)\b`)

// stable removes from a text what differs from run to run, and from machine to machine.
func stable(t *testing.T, out string) string {
	t.Helper()
	dir, err := filepath.Abs("testdata/failing")
	require.NoError(t, err)
	shell, err := exec.LookPath("sh")
	require.NoError(t, err)
	path := os.Getenv("PATH")
	goPath, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	bin := filepath.Join(strings.TrimSpace(string(goPath)), "bin")
	out = strings.NewReplacer(dir, "$DIR", bin+string(filepath.ListSeparator)+path, "$PATH", path, "$PATH", shell+" -c",
		"$SH -c").Replace(out)
	return times.ReplaceAllString(out, "$1 $$TIME")
}
