package acptest_test

import (
	"os/exec"
	"testing"

	"github.com/sdd-eval/sdd-eval/acp/acptest"
)

func ExampleRun() {
	_ = func(t *testing.T) { // TestAgent, in a test file
		acptest.Run(t, func(t *testing.T) acptest.Agent {
			a := acptest.Start(t, exec.Command("my-agent", "--acp"))
			a.Prompt = "Add a line to README.md."
			a.LongPrompt = "Count to a million."
			return a
		})
	}
}
