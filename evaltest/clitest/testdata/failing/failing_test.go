// Package failing has tests of tools that go wrong. What they say is compared with ../failing.golden.
package failing

import (
	"testing"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/clitest"
)

// sh is a tool that does what a script says.
func sh(t *testing.T, script string, args ...string) *clitest.Cmd {
	return clitest.Command(t, "sh", append([]string{"-c", script, "tool"}, args...)...)
}

func TestExitCode(t *testing.T) {
	cmd := sh(t, `echo "looking for $1"; echo "no such item: $1" >&2; exit 3`, "it's tea")
	cmd.Stdin = "tea\n"
	cmd.Env = []string{"SHOP=corner shop", "SHOP_TOKEN=sk-" + "test-0123456789abcdef"}
	cmd.Run()
}

func TestExpectedExitCode(t *testing.T) {
	cmd := sh(t, "true")
	cmd.ExitCode = 2
	cmd.Run()
}

func TestHangs(t *testing.T) {
	cmd := sh(t, `trap '' TERM; echo waiting for nobody; while :; do sleep 60; done`)
	cmd.Timeout = 2 * time.Second
	cmd.Run()
}

func TestSignal(t *testing.T) { sh(t, `kill -SEGV $$`).Run() }

func TestTooMuch(t *testing.T) {
	cmd := sh(t, `yes tea | head -n 1000000; echo "all is said" >&2`)
	cmd.MaxOutput = 1000
	cmd.ExitCode = clitest.AnyEnd // says nothing of output
	cmd.Run()
}

func TestNoProgram(t *testing.T) {
	cmd := clitest.Command(t, "no-such-program")
	cmd.Env = []string{"PATH=/nowhere"}
	cmd.Run()
}

func TestNoDirectory(t *testing.T) {
	cmd := sh(t, "true")
	cmd.Dir = "nowhere"
	cmd.Run()
}

func TestLater(t *testing.T) {
	r := sh(t, `printf 'tea\t3\033[0m\nno newline at the end'`).Run()
	if r.Stdout != "coffee" {
		t.Errorf("the stock is %q", r.Stdout)
	}
}

func TestSecret(t *testing.T) {
	cmd := sh(t, `echo "your token is $SHOP_TOKEN"; exit 1`)
	cmd.Env = []string{"SHOP_TOKEN=hunter2-of-the-shop"}
	cmd.Run()
}

func TestJSON(t *testing.T) {
	tests := []struct{ name, script string }{
		{"text", `echo "Loading..."; echo '{"name": "tea"}'`},
		{"trailing", `echo '{"name": "tea", "count": 3}'; echo done`},
		{"cut", `printf '{"name": "te'`},
		{"nothing", `echo 'no items' >&2`},
		{"unknown-field", `echo '{"name": "tea", "cuont": 3}'`},
		{"another-type", `printf '{\n  "name": "tea",\n  "count": "three"\n}\n'`},
		{"two-values", `echo '{"name": "tea"}'; echo '{"name": "milk"}'`},
		{"duplicate-key", `echo '{"name": "tea", "name": "milk"}'`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var item struct {
				Name  string `json:"name"`
				Count int    `json:"count"`
			}
			sh(t, tt.script).Run().JSON(&item)
		})
	}
}

func TestRequire(t *testing.T) {
	t.Run("absent", func(t *testing.T) {
		t.Setenv("PATH", "/nowhere")
		clitest.Require(t, "no-such-program", []string{"--version"}, time.Second)
	})
	t.Run("absent-in-ci", func(t *testing.T) {
		t.Setenv("PATH", "/nowhere")
		t.Setenv("CI", "true")
		clitest.Require(t, "no-such-program", []string{"--version"}, time.Second)
	})
	t.Run("does-not-answer", func(t *testing.T) {
		clitest.Require(t, "sh", []string{"-c", "sleep 60"}, 200*time.Millisecond)
	})
	t.Run("does-not-answer-in-ci", func(t *testing.T) {
		t.Setenv("CI", "1")
		clitest.Require(t, "sh", []string{"-c", "echo please log in >&2; exit 1"}, time.Minute)
	})
	t.Run("there", func(t *testing.T) {
		t.Setenv("CI", "true")
		clitest.Require(t, "sh", []string{"-c", "true"}, time.Minute)
	})
}

func TestMinimalPath(t *testing.T) {
	t.Setenv("PATH", "/nowhere")
	clitest.MinimalPath(t, "/bin/sh", "no-such-program", "nor-this")
}

func TestBuild(t *testing.T) {
	t.Run("broken", func(t *testing.T) { clitest.Build(t, "./broken") })
	t.Run("library", func(t *testing.T) { clitest.Build(t, "./library") })
}

// TestNearDeadline is run by itself, with a deadline that is near.
func TestNearDeadline(t *testing.T) {
	if deadline, _ := t.Deadline(); time.Until(deadline) > time.Minute {
		t.Skip("the deadline is not near")
	}
	cmd := sh(t, "sleep 600")
	cmd.ExitCode = clitest.AnyEnd // is no leave to say nothing
	cmd.Run()
}
