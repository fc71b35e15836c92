//go:build unix

package engine_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/convert"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/testkit/mcpagent"
	"github.com/sdd-eval/sdd-eval/internal/testkit/mutatedata"
)

// levelSample is how many mutants run with an agent's process, which takes a hundred times as long as a replay does.
func levelSample(n int) int {
	if all() {
		return 40 * n
	}
	return n
}

// TestMutantsOfClient mutates a recording that answers an agent which runs: what its client did is judged by what the
// agent makes of it.
func TestMutantsOfClient(t *testing.T) {
	t.Parallel()
	text := mutantsHead + "cassette: {level: client}\nlimits: {timeout: 5s}\n" + greenEvaluators
	root, path := recordedBy(t, text, sessionScript)
	s := subject{
		file: path, seal: mutatedata.Cassette, run: replayed(t, root, text), sample: levelSample(12), agent: true,
		survives: clientSurvivors,
	}
	requireJudged(t, "green", s.run())
	s.hunt(t)
}

// clientSurvivors are those of a recording that answers an agent: of the agent it is judged what it does now, and not
// what was recorded of it.
var clientSurvivors = []survivor{
	{zipped, "", "a large recording is kept so"},
	{values, "cassette: agent*", "the agent runs"},
	{values, "cassette: client_version", "shown, not judged"},
	{values, "cassette: protocol_version", "shown, not judged"},
	{values, "cassette: sandbox", "shown, not judged"},
	{values, "cassette: recorded_at", "only its age counts"},
	{values, "cassette: fingerprints*", "what the agent is given now counts"},
	{lines, "event *", "what the agent does counts"},
	{values, "event prompt: *", "another prompt may be sent to the same tools"},
	{anyJSON, "event tool_call*", "what the agent does counts"},
	{elements, "event tool_call*", "what the agent does counts"},
	{anyJSON, "event tool_result*", "what the agent does counts"},
	{elements, "event tool_result*", "what the agent does counts"},
	{values, "event message*", "what the agent does counts"},
	{values, "event thought*", "what the agent does counts"},
	{values, "event plan*", "what the agent does counts"},
	{elements, "event plan*", "what the agent does counts"},
	{values, "event state*", "what the agent does counts"},
	{values, "event stop*", "what the agent does counts"},
	{values, "event file_read: text", "an answer that nothing is expected of"},
	{values, "event terminal: output", "an answer that nothing is expected of"},
	{values, "timings: *", "what the agent does counts"},
	{values, "change added: text", "space around JSON"},
	{values, "event permission: options[]*", "options of which only the kinds count"},
	{values, "event terminal: id", "the agent's terminals count"},
	{anyJSON, "event mcp initialize: params*", "how the agent introduced itself"},
	{anyJSON, "event mcp initialize: result*", "what a server says of itself; the agent may refuse it"},
	{[]string{mutatedata.Twin}, "event mcp tools/call: result*", "a further key, which agents ignore"},
	{anyJSON, "event mcp tools/list: *", "what a server says of itself; the agent may refuse it"},
}

const mcpText = `name: bench
task: {prompt: 'stock count {"sku": "tea"}'}
cassette: {level: mcp}
limits: {timeout: 5s}
variants: {fake: {agent: {kind: acp, command: mcp-agent}}}
mcp: [{name: stock, command: [mcp-stock]}]
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [fake]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]
evaluators:
  - {name: judge, type: llm_judge, model: judge-1}
`

// TestMutantsOfMCP mutates a recording of what an MCP server answered. A recorded judgement is of that answer alone.
func TestMutantsOfMCP(t *testing.T) {
	bin := t.TempDir()
	require.NoError(t, mcpagent.Install(bin))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	root, path := recordedBy(t, mcpText, "{}", asked(asker(func(llm.Request) string { return `{"score":1}` })))
	s := subject{
		file: path, seal: mutatedata.Cassette, run: replayed(t, root, mcpText), sample: levelSample(12), agent: true,
		survives: clientSurvivors,
	}
	requireJudged(t, "green", s.run())
	s.hunt(t)
}

const importedText = `name: bench
task: {prompt: Fix it.}
variants: {fake: {agent: {kind: claude-code-acp, preset: mine}}}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [fake]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]
`

const (
	importedGreen = `evaluators:
  - {name: calls, type: tool_trajectory, mode: exact, expected: [{tool: Bash, args: {command: ls}}, {tool: Read}]}
  - {name: spends, type: metrics, max_tokens: 30, max_calls: {Bash: 1}, max_duration_ms: 6000}
  - {name: says, type: field_accuracy, fields: [{path: done, equals: true}]}
`
	importedRed = `evaluators:
  - {name: calls, type: tool_trajectory, never: [Bash]}
  - {name: most, type: metrics, max_tool_calls: 1}
  - {name: tokens, type: metrics, max_tokens: 29}
  - {name: says, type: field_accuracy, fields: [{path: done, equals: false}]}
`
)

// TestMutantsOfImports mutates a session that was imported from another tool's log.
func TestMutantsOfImports(t *testing.T) {
	t.Parallel()
	for name, evaluators := range map[string]string{"green": importedGreen, "red": importedRed} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			log := filepath.Join(root, "log.jsonl")
			require.NoError(t, os.WriteFile(log, []byte(claudeLog), 0o644))
			runner, unit := newRunner(t, root, importedText+evaluators, engine.Replay, unconfined)
			session, err := convert.Read(convert.Claude, log, convert.Options{})
			require.NoError(t, err)
			c, _, err := session.Cassette(convert.Unit{ID: unit.ID(), Kind: unit.Variant.Agent.Kind})
			require.NoError(t, err)
			now, err := runner.Fingerprints(t.Context(), unit)
			require.NoError(t, err)
			c.Header.Fingerprints = now.OfImport()
			path := runner.CassettePath(unit)
			require.NoError(t, cassette.Write(disk.Tree(filepath.Dir(path)), path, c))
			s := subject{
				file: path, seal: mutatedata.Cassette, run: replayed(t, root, importedText+evaluators), sample: 80,
				survives: importSurvivors[name],
			}
			requireJudged(t, name, s.run())
			s.hunt(t)
		})
	}
}

var importSurvivors = map[string][]survivor{
	"green": {
		{zipped, "", "a large recording is kept so"},
		{[]string{mutatedata.Reordered}, "*", "the order of keys means nothing"},
		{values, "cassette: agent.model", "shown, not judged"},
		{values, "cassette: agent.name", "shown, not judged"},
		{values, "cassette: agent.version", "shown, not judged"},
		{values, "cassette: client_version", "shown, not judged"},
		{values, "cassette: origin", "imported from another version, which is shown"},
		{values, "cassette: protocol_version", "shown, not judged"},
		{lines, "event *", "an event less, or at another time, is another session"},
		{values, "event message: text", "space around JSON"},
		{values, "event stop: usage.*", "other tokens below the bound"},
		{anyJSON, "event tool_call: input*", "arguments that nothing is expected of"},
		{values, "event tool_call: kind", "the name tells the tool"},
		{values, "event tool_call: title", "shown, not judged"},
		{values, "event tool_call: locations*", "not judged"},
		{elements, "event tool_call: locations[]", "not judged"},
		{values, "event tool_result: exit_code", "not judged"},
		{values, "event tool_result: printed", "not judged"},
		{anyJSON, "event tool_result: output", "not judged"},
		{values, "timings: *", "other times below the bound"},
	},
	"red": {
		{values, "event stop: usage.total", "other tokens"},
		{values, "event tool_call: name", "another tool"},
	},
}
