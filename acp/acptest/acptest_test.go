package acptest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
)

// agentName is the name under which the test binary is an agent.
const agentName = "fake-acp"

func init() {
	if os.Args[0] == agentName {
		os.Exit(scripted.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
}

// goodScript is an agent that keeps all rules and does everything that the rules are about. A scripted agent does not
// understand prompts: whether the first one is the long one depends on the rule that is checked.
func goodScript(rule string) scripted.Script {
	turns := scripted.Default().Turns
	if slices.Contains([]string{"cancel", "reads-during-turn", "end"}, rule) {
		turns = slices.Insert(turns, 0, scripted.Turn{Actions: []scripted.Action{
			{Say: &scripted.Say{Text: "One, two,"}},
			{Sleep: scripted.Sleep(time.Hour)},
		}})
	}
	choices := []scripted.Choice{{ID: "a"}, {ID: "b"}}
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

// TestProcess checks agents that are processes of their own, with the real testing.T.
func TestProcess(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	Run(t, func(t *testing.T) Agent {
		script, err := json.Marshal(goodScript(path.Base(t.Name())))
		require.NoError(t, err)
		file := filepath.Join(t.TempDir(), "script.json")
		require.NoError(t, os.WriteFile(file, script, 0o600))
		a := Start(t, &exec.Cmd{Path: self, Args: []string{agentName, file}})
		a.AuthMethod, a.LongPrompt = "key", "Count to infinity."
		return a
	})
}
