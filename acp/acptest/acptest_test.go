package acptest

import (
	"os"
	"os/exec"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
)

func init() {
	if os.Args[0] == "fake-acp" {
		os.Exit(scripted.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
}

// goodScript is an agent that keeps all rules and does everything that the rules are about. A scripted agent does not
// understand prompts: what the long one should do depends on the rule that is being checked.
func goodScript(rule string) scripted.Script {
	choices := []scripted.Choice{{ID: "a"}, {ID: "b"}}
	turns := scripted.Default().Turns
	if slices.Contains([]string{"cancel", "reads-during-turn", "end"}, rule) {
		long := scripted.Turn{Actions: []scripted.Action{{Say: &scripted.Say{Text: "Well…"}}, {Sleep: scripted.Sleep(time.Hour)}}}
		turns = append([]scripted.Turn{long}, turns...)
	}
	return scripted.Script{
		Auth: []string{"key"},
		Session: scripted.Session{
			Modes:  &scripted.Offer{Current: "a", Choices: choices},
			Models: &scripted.Offer{Current: "b", Choices: choices},
			Before: []scripted.Action{{Usage: &scripted.Usage{Size: 10}}},
		},
		Turns:  turns,
		Repeat: true,
	}
}

// TestScriptedAgentKeepsTheRules also shows that none of the rules is skipped when an agent does what they are about.
func TestScriptedAgentKeepsTheRules(t *testing.T) {
	checked := 0
	Run(t, func(t *testing.T) Agent {
		checked++
		t.Cleanup(func() {
			if t.Skipped() {
				t.Error("skipped")
			}
		})
		a := scripted.Start(t.Context(), goodScript(path.Base(t.Name())))
		return Agent{Stdin: a.Stdin, Stdout: a.Stdout, AuthMethod: "key", LongPrompt: "Count to infinity."}
	})
	require.NotZero(t, checked)
}

func TestScriptedProcessKeepsTheRules(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	Run(t, func(t *testing.T) Agent {
		return Start(t, &exec.Cmd{Path: self, Args: []string{"fake-acp"}})
	})
}
