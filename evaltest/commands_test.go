package evaltest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/internal/testkit/commandtest"
)

const commandsSuite = `package commands

import (
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest"
)

func TestCommands(t *testing.T) {
	evaltest.Describe(t, "commands.yaml",
		evaltest.Check("fails", func(t *evaltest.T, u evaltest.Unit) {
			t.Error(u.Run.Answer())
			t.Log(u.Run.ToolCalls()[0].Title)
		}),
		evaltest.Check("##vso[x]\x1b[2J", func(t *evaltest.T, u evaltest.Unit) { panic("\n" + u.Run.Answer()) }),
	)
}
`

const commandsPlaybook = `name: commands
cases: [{id: says, prompt: Talk.}]
variants: {fake: {agent: {kind: fake-acp, args: [SCRIPT]}}}
workspace: {from: ../fixtures/shop}
sandbox: {allow_commands: [cat]}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [fake]}}
      steps:
        - uses: builtin:sdd-eval/workspace.prepare
        - uses: builtin:sdd-eval/acp.prompt
        - {name: "::error::##[x]", run: cat notes.txt none}
evaluators:
  - {name: reads, type: tool_trajectory, expected: [{tool: Bash, args: {path: nowhere}}]}
`

// TestCommandsInTests has an agent say and write what CI systems and terminals obey: nothing that `go test -v` prints
// is.
func TestCommandsInTests(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	m.write("commands/commands_test.go", commandsSuite)
	text := "said\n" + strings.Join(commandtest.Texts, "\n")
	script, err := json.Marshal(scripted.Script{Repeat: true, Turns: []scripted.Turn{{Actions: []scripted.Action{
		{DiskWrite: &scripted.DiskWrite{Path: "notes.txt", Text: text}},
		{Tool: &scripted.Tool{Name: "Bash", Title: text, Input: map[string]any{"path": text}, Output: text}},
		{Say: &scripted.Say{Text: text}},
	}}}})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "script.json")
	require.NoError(t, os.WriteFile(file, script, 0o600))
	m.write("commands/commands.yaml", strings.ReplaceAll(commandsPlaybook, "SCRIPT", file))
	out, code := m.compile("./commands").test([]string{"EVALTEST_MODE=live"}, "-test.v")
	require.NotZero(t, code)
	require.Contains(t, out, `\::error::it was us`)
	require.Empty(t, commandtest.Find(strings.ReplaceAll(out, "\x16", "")), out)
}
