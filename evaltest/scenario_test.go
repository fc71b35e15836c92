package evaltest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

const shopCassette = "cassettes/evals/greet/hello/fake.1.jsonl"

type scenario struct {
	name   string
	reason string
	breaks func(m module)
	env    []string
	green  bool
	args   []string
	// testsOnly says why `sdd-eval run` judges it otherwise, if it does.
	testsOnly string
}

// scenarios are a user's suite as it is, and with one thing wrong at a time.
var scenarios = []scenario{
	{name: "replay", reason: "the recording replays", green: true, args: []string{"-test.v"}},
	{
		name: "cassette-edited", reason: "an argument that nobody's agent ever gave",
		breaks: func(m module) { m.replace(shopCassette, "Hello, shop!", "Hello, ship!") },
	},
	{
		name: "cassette-missing", reason: "nothing to replay is not a pass",
		breaks: func(m module) { m.remove(shopCassette) },
	},
	{
		name: "cassette-cut", reason: "a recording without its end is no recording",
		breaks: func(m module) {
			text := strings.TrimSuffix(m.read(shopCassette), "\n")
			m.write(shopCassette, text[:strings.LastIndex(text, "\n")+1])
		},
	},
	{
		name: "cassette-empty", reason: "a file of no bytes is cut, not missing",
		breaks: func(m module) { m.write(shopCassette, "") },
	},
	{
		name: "cassette-of-another-unit", reason: "a recording answers for the unit it was made of",
		breaks: func(m module) {
			m.replace("evals/greet.yaml", "id: hello", "id: goodbye")
			m.write("cassettes/evals/greet/goodbye/fake.1.jsonl", m.read(shopCassette))
		},
	},
	{
		name: "prompt-changed", reason: "the agent was never asked that",
		breaks: func(m module) { m.replace("evals/greet.yaml", "Write a greeting.", "Write a kind greeting.") },
	},
	{
		name: "prompt-added", reason: "nobody knows what the agent would have answered",
		breaks: func(m module) {
			m.replace("evals/greet.yaml", "did you write?\n", "did you write?\n      - Thanks.\n")
		},
	},
	{
		name: "fixture-changed", reason: "the agent never saw these files",
		breaks: func(m module) { m.replace("fixtures/shop/stock.txt", "tea 3", "tea 4") },
	},
	{
		name: "agent-changed", reason: "another agent would have done something else",
		breaks: func(m module) { m.replace("evals/greet.yaml", "greet.json]", "greet.json, ../scripts/greet.json]") },
	},
	{
		name: "stale-allowed", reason: "EVALTEST_STALE=warn lets it pass, and says so", green: true,
		env: []string{"EVALTEST_STALE=warn"}, args: []string{"-test.v"},
		breaks: func(m module) { m.replace("fixtures/shop/stock.txt", "tea 3", "tea 4") },
	},
	{
		name: "expectation-fails", reason: "the agent did something else",
		breaks: func(m module) { m.replace("evals/greet.yaml", "{path: greeting.txt}}}", "{path: welcome.txt}}}") },
	},
	{
		name: "reference-fails", reason: "what is there to be compared with decides nothing, and does not look green",
		green: true, env: []string{"EVALTEST_MODE=live"}, args: []string{"-test.v"},
		breaks: func(m module) { m.without(`{"repeat": true, "turns": [{"actions": [{"say": {"text": "No."}}]}]}`) },
	},
	{
		name: "reference-errors", reason: "nothing is known of what it was to be compared with",
		env: []string{"EVALTEST_MODE=live"}, breaks: func(m module) { m.without(`{"faults": {"exit": 3}}`) },
	},
	{
		name: "reference-alone", reason: "nothing could fail",
		breaks: func(m module) { m.replace("evals/greet.yaml", "agent: {", "reference: true\n    agent: {") },
	},
	{
		name: "file-expectation-fails", reason: "the workspace holds something else",
		breaks: func(m module) { m.replace("evals/greet.yaml", "contains: Hello", "contains: Goodbye") },
	},
	{
		name: "mode-misspelt", reason: "a mode that is ignored would replay", env: []string{"EVALTEST_MODE=relpay"},
	},
	{
		name: "variable-misspelt", reason: "a variable that is ignored would replay",
		env: []string{"EVALTEST_MOD=record"},
	},
	{
		name: "untrusted", reason: "a stranger's playbook is not given what it asks for",
		env: []string{"EVALTEST_UNTRUSTED=1"},
		breaks: func(m module) {
			m.replace("evals/greet.yaml", "workspace:", "sandbox: {network: all}\nenv: {pass: [SHOP_KEY]}\nworkspace:")
		},
	},
	{
		name: "untrusted-plain", reason: "what it does not ask for it may do without", green: true,
		env: []string{"EVALTEST_UNTRUSTED=1"},
	},
	{
		name: "record-in-ci", reason: "nobody reads what CI records", env: []string{"EVALTEST_MODE=record", "CI=true"},
	},
	{
		name: "no-playbook", reason: "a pattern that matches nothing tests nothing",
		breaks: func(m module) { m.remove("evals/greet.yaml") },
	},
	{
		name: "playbook-typo", reason: "an evaluator that is not there passes everything",
		breaks: func(m module) { m.replace("evals/greet.yaml", "type: files", "type: flies") },
	},
	{
		name: "activation-misspelt", reason: "what nobody has is always silent",
		breaks: func(m module) { m.replace("evals/greet.yaml", "id: hello", "id: hello\n    silent: [greetings]") },
	},
	{
		name: "no-evaluators", reason: "a suite without expectations tests nothing",
		testsOnly: "a run that people score has no evaluators: it is completed, and says so",
		breaks: func(m module) {
			before, _, _ := strings.Cut(m.read("evals/greet.yaml"), "evaluators:")
			m.write("evals/greet.yaml", before)
		},
	},
	{
		name: "no-source", reason: "the command would copy the whole project, the test nothing",
		testsOnly: "the command copies the whole project, of which a test knows nothing",
		breaks:    func(m module) { m.replace("evals/greet.yaml", "workspace: {from: ../fixtures/shop}\n", "") },
	},
	{
		name: "report-step", reason: "a test has no run directory to report on, and says so",
		testsOnly: "the command makes reports, a test has none",
		breaks: func(m module) {
			m.replace("evals/greet.yaml", "evaluators:\n  - name: reads", `
    report: {needs: [eval], steps: [{uses: builtin:sdd-eval/report.generate}]}
evaluators:
  - name: reads`)
		},
		green: true, args: []string{"-test.v"},
	},
	{
		name: "no-unit", reason: "a playbook that starts no agent tests nothing",
		testsOnly: "a run of jobs alone is one that people asked for by name",
		breaks: func(m module) {
			m.write("evals/greet.yaml", `name: greet
task: {prompt: Hello.}
variants: {fake: {agent: {kind: fake-acp}}}
workflow: {jobs: {version: {steps: [{run: go version}]}}}
`)
		},
	},
	{
		name: "setup-fails", reason: "nothing is known of an agent that was not started",
		breaks: func(m module) {
			m.replace("evals/greet.yaml", "        - uses: builtin:sdd-eval/acp.prompt\n",
				"        - {name: setup, run: go no-such-command}\n        - uses: builtin:sdd-eval/acp.prompt\n")
		},
	},
	{
		name: "retries", reason: "each attempt is shown", env: []string{"EVALTEST_MODE=live"},
		breaks: func(m module) {
			m.write("scripts/greet.json", `{"faults": {"exit": 3}}`)
			m.write("evals/greet.yaml", m.read("evals/greet.yaml")+"retries: 1\n")
		},
	},
	{
		name: "deadline", reason: "go test's deadline is an error with a cause, not a panic that loses everything",
		testsOnly: "the command has none",
		env:       []string{"EVALTEST_MODE=live"}, args: []string{"-test.timeout=4s"},
		breaks: func(m module) {
			m.write("scripts/greet.json", `{
				"faults": {"ignore_eof": true, "ignore_sigterm": true},
				"turns": [{"actions": [{"silence": true}], "ignore_cancel": true}]
			}`)
		},
	},
	{
		name: "program-not-installed", reason: "the error says what to install",
		env: []string{"EVALTEST_MODE=live", "PATH=/usr/bin:/bin"},
		breaks: func(m module) {
			m.replace("evals/greet.yaml", "{kind: fake-acp, args: [../scripts/greet.json]}",
				"{kind: gemini-acp}")
		},
	},
	{
		name: "preset-missing", reason: "the error has a preset to paste",
		env: []string{"EVALTEST_MODE=live", "LLMAN_CONFIG_DIR=/nowhere"},
		breaks: func(m module) {
			m.replace("evals/greet.yaml", "{kind: fake-acp, args: [../scripts/greet.json]}",
				"{kind: claude-code-acp, preset: production}")
		},
	},
	{
		name: "run-step-fails", reason: "a command that fails is the agent's failure",
		breaks: func(m module) {
			m.replace("evals/greet.yaml", "acp.prompt\n", "acp.prompt\n        - {name: build, run: go build ./...}\n")
		},
	},
	{
		name: "program-missing", reason: "on a laptop a suite that cannot run is skipped, visibly", green: true,
		testsOnly: "a skip is green in go test, all the way up, and an error of the command: nothing is known",
		args:      []string{"-test.v"},
		breaks: func(m module) {
			m.write("evals/greet.yaml", m.read("evals/greet.yaml")+"requires: [no-such-program]\n")
		},
	},
	{
		name: "program-missing-in-ci", reason: "in CI nobody would notice the skip", env: []string{"CI=1"},
		breaks: func(m module) {
			m.write("evals/greet.yaml", m.read("evals/greet.yaml")+"requires: [no-such-program]\n")
		},
	},
	{
		name: "agent-exits", reason: "an agent that dies has not passed", env: []string{"EVALTEST_MODE=live"},
		breaks: func(m module) { m.write("scripts/greet.json", `{"faults": {"exit": 3}}`) },
	},
	{
		name: "agent-breaks-off", reason: "an agent that dies in its turn has not passed",
		env:    []string{"EVALTEST_MODE=record"},
		breaks: func(m module) { m.write("scripts/greet.json", `{"turns": [{"actions": [{"exit": {"code": 4}}]}]}`) },
	},
	{
		name: "agent-never-ends", reason: "a limit ends it", env: []string{"EVALTEST_MODE=live"},
		breaks: func(m module) {
			m.write("scripts/greet.json", `{"turns": [{"actions": [{"say": {"text": "Hm."}}, {"sleep": "1h"}]}]}`)
			m.write("evals/greet.yaml", m.read("evals/greet.yaml")+"limits: {timeout: 2s}\n")
		},
	},
	{
		name: "tool-limit", reason: "a limit that is reached ends the turn", env: []string{"EVALTEST_MODE=live"},
		breaks: func(m module) {
			m.write("scripts/greet.json", `{"turns": [{"actions": [
				{"tool": {"name": "Read", "title": "Read README.md", "input": {"path": "README.md"}}},
				{"tool": {"name": "Read", "title": "Read stock.txt", "input": {"path": "stock.txt"}}},
				{"sleep": "1h"}
			]}]}`)
			m.write("evals/greet.yaml", m.read("evals/greet.yaml")+"limits: {max_tool_calls: 1}\n")
		},
	},
	{
		name: "permission-is-an-error", reason: "the playbook says that the agent never asks",
		env: []string{"EVALTEST_MODE=live"},
		breaks: func(m module) {
			m.write("evals/greet.yaml", m.read("evals/greet.yaml")+"permissions: {default: error}\n")
		},
	},
}

// TestScenarios runs each scenario through a compiled test binary. What a person then sees is golden.
func TestScenarios(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	suite := m.compile("./evals")
	out, code := suite.test([]string{"EVALTEST_MODE=record"})
	require.Zero(t, code, out)
	require.FileExists(t, m.path(shopCassette))

	seen := make(map[string]bool)
	for _, tt := range scenarios {
		require.False(t, seen[tt.name], tt.name)
		seen[tt.name] = true
		require.NotEmpty(t, tt.reason, tt.name)
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := suite.in(t)
			if tt.breaks != nil {
				tt.breaks(s.module)
			}
			before := s.cassettes()
			out, code := s.test(tt.env, tt.args...)
			require.Equal(t, tt.green, code == 0, "%s: exit code %d\n%s", tt.reason, code, out)
			golden.Equal(t, filepath.Join("testdata", "scenarios", tt.name+".txt"), "# "+tt.reason+"\n"+out)
			require.Equal(t, before, s.cassettes(), "a run that is red, or that replays, writes no cassette")
		})
	}
}

// without adds a variant to compare with, whose agent follows a script.
func (m module) without(script string) {
	m.write("scripts/without.json", script)
	m.replace("evals/greet.yaml", "[fake]", "[without, fake]")
	m.replace("evals/greet.yaml", "  fake:\n", "  without:\n    reference: true\n"+
		"    agent: {kind: fake-acp, args: [../scripts/without.json]}\n  fake:\n")
}

// cassettes returns the module's cassettes by path.
func (m module) cassettes() map[string]string {
	files := make(map[string]string)
	require.NoError(m.t, filepath.WalkDir(m.path("cassettes"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var data []byte
			data, err = os.ReadFile(path)
			files[path] = string(data)
		}
		return err
	}))
	return files
}
