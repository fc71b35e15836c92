package clitest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/testrun"
)

// Require skips the test, with the reason, unless there is a program called name in PATH, or at that path, which ends with
// exit code 0 within timeout when it is run with these arguments, as a [Cmd] is run. It returns the program's path.
//
// Where the environment variable CI is set, and neither 0 nor false, the test fails instead of being skipped: a suite
// that CI silently skips looks like one that passes. The `requires` of playbooks follow the same rule. To skip a test
// in CI too, call t.Skip.
//
//	gemini := clitest.Require(t, "gemini", []string{"--version"}, 10*time.Second)
func Require(t testing.TB, name string, args []string, timeout time.Duration) string {
	t.Helper()
	c := Command(t, name, args...)
	c.Timeout, c.ExitCode = timeout, AnyEnd
	path, err := exec.LookPath(name)
	if err != nil {
		if err := keepOutOfCache(); err != nil { // it may be installed the next time
			t.Fatalf("clitest: %v", err)
		}
		unavailable(t, fmt.Sprintf("%v (PATH=%s)\nnext: install %s", err, os.Getenv("PATH"), name))
	}
	if path, err = filepath.Abs(path); err != nil {
		t.Fatalf("clitest: %v", err)
	}
	r, err := c.run()
	if err != nil {
		unavailable(t, err.Error())
	}
	if problem := r.problem(0); problem != "" {
		unavailable(t, fmt.Sprintf("%s %s\n%s", name, problem, r))
	}
	return path
}

// unavailable ends the test.
func unavailable(t testing.TB, reason string) {
	t.Helper()
	if testrun.InCI(os.Getenv) {
		t.Fatalf("clitest.Require: CI is set, so this is an error: %s", reason)
	}
	t.Skipf("clitest.Require: %s", reason)
}
