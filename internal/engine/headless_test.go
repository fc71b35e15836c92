package engine_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// headlessPlaybook returns a playbook whose agent is testdata/claude.sh, with further lines, and of the agent further
// keys.
func headlessPlaybook(t *testing.T, agent, more string, prompts ...string) string {
	t.Helper()
	program, err := filepath.Abs("testdata/claude.sh")
	require.NoError(t, err)
	return fmt.Sprintf(`name: bench
cases: [{id: a, prompts: [%s]}]
variants: {cli: {agent: {kind: claude-cli, preset: p, command: %s%s}}}
workflow: {jobs: {eval: {strategy: {matrix: {variant: [cli]}}, steps: [{uses: "builtin:sdd-eval/acp.prompt"}]}}}
%s
`, `"`+strings.Join(prompts, `", "`)+`"`, program, agent, more)
}

// confinedBy configures a runner for a kind of sandbox, and an account.
func confinedBy(t *testing.T, kind confine.Kind) func(*engine.Config) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t,
		os.WriteFile(filepath.Join(dir, "claude-code.toml"), []byte("[groups.p]\nKEY = 'value of the key'\n"), 0o600))
	return func(c *engine.Config) { c.Sandbox, c.ConfigDir = string(kind), dir }
}

func messages(u result.Unit) string {
	var all []string
	for _, e := range u.Run.Events {
		if m, ok := e.Body.(trajectory.Message); ok {
			all = append(all, m.Text)
		}
	}
	return strings.Join(all, "\n")
}

func TestHeadless(t *testing.T) {
	tests := []struct {
		name, reason string
		prompts      []string
		agent, more  string
		stop         string   // of the last turn
		says, not    []string // what the agent said has and has not
		err          string   // in the unit's reason
		statuses     []trajectory.Status
	}{
		{
			name: "arguments", prompts: []string{"args"}, agent: ", model: opus",
			more: "mcp: [{name: x, command: [srv, '1']}]\nlimits: {max_tool_calls: 3, max_cost_usd: 2}",
			stop: "end_turn", says: []string{
				"-p --output-format stream-json --verbose --settings ",
				"/mcp.json --strict-mcp-config --model opus --allowed-tools Bash,Edit,", ",mcp__x ",
				"--max-turns 4 --max-budget-usd 2", "--settings $HOOKS/settings.json",
			},
			not:    []string{"--resume", "skip-permissions", "--disallowed-tools"},
			reason: "what is not confined is told what it may use",
		},
		{
			name: "arguments of the user", prompts: []string{"args"}, agent: ", args: [-p, --verbose], mode: plan",
			stop: "end_turn", says: []string{"-p --verbose --settings", "--permission-mode plan"},
			not: []string{"stream-json", "--max-turns"},
		},
		{
			name: "next prompt", reason: "it goes on with the session, and calls count on",
			prompts: []string{"call", "args"}, more: "limits: {max_tool_calls: 3}",
			stop: "end_turn", says: []string{"--resume s1", "--max-turns 3"},
			statuses: []trajectory.Status{trajectory.Completed},
		},
		{name: "environment", prompts: []string{"environment"}, stop: "end_turn", says: []string{"true $WORKSPACE ."}},
		{name: "account", prompts: []string{"key"}, stop: "end_turn", says: []string{"[REDACTED:KEY]"}},
		{
			name: "reject", prompts: []string{"args"},
			more: "permissions: {default: allow, " +
				"rules: [{tool: WebFetch, decide: reject}, {tool: WebFetch, decide: allow}]}",
			stop: "end_turn", says: []string{"--disallowed-tools WebFetch"}, not: []string{"WebFetch,"},
			reason: "the first rule decides",
		},
		{
			name: "allow", prompts: []string{"args"},
			more: "permissions: {default: reject, " +
				"rules: [{tool: Bash, decide: allow}, {tool: mcp__a__b, decide: allow}]}",
			stop: "end_turn", says: []string{"--strict-mcp-config --allowed-tools Bash,mcp__a__b"},
			not: []string{"Edit"},
		},
		{
			name: "denied", prompts: []string{"denied"}, more: "permissions: {default: reject}", stop: "end_turn",
			statuses: []trajectory.Status{trajectory.Completed},
		},
		{
			name: "asked", prompts: []string{"denied"}, more: "permissions: {default: error}",
			err: "the agent asked for permission, which `permissions` of the playbook treat as an error: Bash",
		},
		{
			name: "asked for one tool", prompts: []string{"denied"},
			more: "permissions: {default: allow, rules: [{tool: Bash, decide: error}]}",
			err:  "the agent asked for permission, which `permissions` of the playbook treat as an error: Bash",
		},
		{
			name: "path", prompts: []string{"args"},
			more: "permissions: {rules: [{tool: Edit, path: src/**, decide: reject}]}",
			err: "bench.yaml: permissions.rules[0]: " +
				"agents of kind claude-cli take rules for tools, not for paths",
		},
		{
			name: "pattern", prompts: []string{"args"},
			more: "permissions: {rules: [{tool: Ba*, decide: reject}]}",
			err:  `"Ba*" cannot be the name of a tool`,
		},
		{
			name: "unasked", prompts: []string{"args"}, agent: ", mode: bypassPermissions",
			err: "variants.cli.agent.mode: in the mode bypassPermissions the agent asks for nothing",
		},
		{
			name: "level", prompts: []string{"args"}, more: "cassette: {level: client}",
			err: "cassette.level: client: agents of kind claude-cli work in their own process",
		},
		{
			name: "unseen", reason: "no hook ran", prompts: []string{"unseen"},
			err: "the agent reported 1 call (Bash), but its hooks captured nothing",
		},
		{
			name: "half unseen", reason: "one did", prompts: []string{"half"},
			err: "the agent reported 2 calls, but its hooks missed 1 call: Bash",
		},
		{
			name: "calls", prompts: []string{"many"}, more: "limits: {max_tool_calls: 3}", stop: result.StopToolCalls,
			statuses: []trajectory.Status{
				trajectory.Completed, trajectory.Completed, trajectory.Completed,
				trajectory.Cancelled,
			},
		},
		{
			name: "decided", prompts: []string{"opens", "args"}, stop: result.StopDecided,
			more:     "evaluators: [{type: activation, fires: [Bash]}]\nlimits: {until: decided}",
			statuses: []trajectory.Status{trajectory.Cancelled},
		},
		{name: "timeout", prompts: []string{"begin", "args"}, more: "limits: {timeout: 3s}", stop: result.StopTimeout},
		{
			name: "silence", reason: "its model does not answer", prompts: []string{"hang"},
			more: "limits: {timeout: 3s}", err: "nothing was heard of it from the first prompt",
		},
		{
			name: "tokens", prompts: []string{"args", "args"}, more: "limits: {max_tokens: 150}",
			stop: result.StopTokenLimit,
		},
		{
			name: "crash", prompts: []string{"crash"},
			err: "the agent ended without a result: exit code 3, and said: claude: started",
		},
		{
			name: "quit", prompts: []string{"quit"},
			err: "the agent ended without a result: exit code 4, and said: claude: started",
		},
		{name: "model", prompts: []string{"refused"}, err: "the model could not be asked: Bad request"},
		{name: "garbage", prompts: []string{"garbage"}, err: "read a line of the agent's output"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			runner, unit := newRunner(t, t.TempDir(), headlessPlaybook(t, tt.agent, tt.more, tt.prompts...),
				engine.Live, confinedBy(t, confine.None))
			u := runner.Unit(t.Context(), unit, io.Discard)
			if tt.err != "" {
				require.Equal(t, result.Error, u.Outcome, tt.reason)
				require.Contains(t, u.Reason, tt.err, tt.reason)
				return
			}
			want := result.Fail
			switch tt.stop {
			case result.StopEndTurn:
				want = result.Completed
			case result.StopDecided:
				want = result.Pass
			}
			require.Equal(t, want, u.Outcome, u.Reason)
			assert.Equal(t, tt.stop, u.Stop)
			said := messages(u)
			for _, s := range tt.says {
				assert.Contains(t, said, s, tt.reason)
			}
			for _, s := range tt.not {
				assert.NotContains(t, said, s, tt.reason)
			}
			var statuses []trajectory.Status
			for _, c := range u.Run.ToolCalls() {
				statuses = append(statuses, c.Status)
			}
			assert.Equal(t, tt.statuses, statuses)
			assert.Equal(t, trajectory.Agent{
				Kind: "claude-cli", Name: "claude-code", Version: "1.2.3",
				Model: unit.Variant.Agent.Model,
			}, u.Run.Agent)
		})
	}
}

// TestHeadlessCost holds what a unit costs that ended in error.
func TestHeadlessCost(t *testing.T) {
	for _, tt := range []struct {
		name, reason string
		prompts      []string
		cost         *trajectory.Cost // nil: nobody knows
		asked        int
	}{
		{name: "crash", reason: "it may have asked its model", prompts: []string{"quit"}, asked: 1},
		{
			name: "later crash", reason: "what it said before counts", prompts: []string{"args", "quit"}, asked: 2,
			cost: &trajectory.Cost{Amount: .5, Currency: "USD"},
		},
		{name: "server", reason: "it asked no model", prompts: []string{"lacks"}},
		{
			name: "overloaded", reason: "its model did nothing", prompts: []string{"overloaded"}, asked: 1,
			cost: &trajectory.Cost{Currency: "USD"},
		},
		{
			name: "later overloaded", prompts: []string{"args", "overloaded"}, asked: 2,
			cost: &trajectory.Cost{Amount: .5, Currency: "USD"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			runner, unit := newRunner(t, t.TempDir(), headlessPlaybook(t, "", "", tt.prompts...),
				engine.Live, confinedBy(t, confine.None))
			u := runner.Unit(t.Context(), unit, io.Discard)
			require.Equal(t, result.Error, u.Outcome)
			require.Equal(t, tt.asked, u.Metrics.Iterations, tt.reason)
			require.Equal(t, tt.cost, u.Metrics.Cost, tt.reason)
		})
	}
}

// TestHeadlessRetries expects another attempt where the model was overloaded or the program did not begin, and none
// where it failed later.
func TestHeadlessRetries(t *testing.T) {
	for prompt, attempts := range map[string]int{"overloaded": 1, "crash": 1, "quit": 0, "refused": 0} {
		t.Run(prompt, func(t *testing.T) {
			t.Parallel()
			runner, unit := newRunner(t, t.TempDir(), headlessPlaybook(t, "", "retries: 1", prompt), engine.Live,
				confinedBy(t, confine.None))
			u := runner.Unit(t.Context(), unit, io.Discard)
			require.Equal(t, result.Error, u.Outcome)
			require.Len(t, u.Attempts, attempts, u.Reason)
		})
	}
}

// TestHeadlessConfined records under a sandbox, in which hooks have to reach our binary and their file, and replays.
func TestHeadlessConfined(t *testing.T) {
	configure := confinedBy(t, confine.Auto)
	temp, root := t.TempDir(), t.TempDir()
	text := headlessPlaybook(t, "", "permissions: {default: allow}", "call", "args", "environment")
	var recorded result.Unit
	for _, mode := range []engine.Mode{engine.Record, engine.Replay} {
		runner, unit := newRunner(t, root, text, mode, configure, func(c *engine.Config) { c.TempDir = temp })
		u := runner.Unit(t.Context(), unit, io.Discard)
		if mode == engine.Record && strings.Contains(u.Reason, "no sandbox") && os.Getenv("CI") == "" {
			t.Skip(u.Reason)
		}
		require.Equal(t, result.Completed, u.Outcome, u.Reason)
		require.Contains(t, messages(u), "--strict-mcp-config --resume s1 --dangerously-skip-permissions\n",
			"nobody has to be asked")
		require.Contains(t, messages(u), "true $WORKSPACE 1.", "as root, too")
		if mode == engine.Record {
			recorded = u
			continue
		}
		require.True(t, u.Replayed)
		require.Equal(t, recorded.Run, u.Run)
	}
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, left, "nothing is left of what the agent was given")
}
