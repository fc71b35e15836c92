package evaltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// The examples replay sessions of the scripted agent, which were recorded with
// EVALTEST_MODE=record go test ./evaltest -run '^Example'.
var (
	greeter = playbook.Agent{Kind: "fake-acp", Args: []string{"testdata/examples/script.json"}}
	dirs    = evaltest.Dirs{Cassettes: "evaltest/testdata/examples/cassettes"}
)

// A playbook becomes subtests. The options add expectations that are written in Go.
func ExampleDescribe() {
	runTest(func(t *testing.T) {
		evaltest.Describe(t, "testdata/examples/*.yaml", dirs,
			evaltest.Check("greets", func(t *evaltest.T, u evaltest.Unit) {
				text, err := os.ReadFile(filepath.Join(u.Workspace, "greeting.txt"))
				if err != nil || !strings.HasPrefix(string(text), "Hello") {
					t.Errorf("greeting.txt: %q, %v", text, err)
				}
			}))
	})
	// Output: passed: true
}

// Whether a playbook would notice a bad agent is a test of its own. What should survive, the playbook accepts.
func ExampleMutate() {
	runTest(func(t *testing.T) {
		all := evaltest.Check("no more and no less", func(t *evaltest.T, u evaltest.Unit) {
			files, err := filepath.Glob(filepath.Join(u.Workspace, "*"))
			if err != nil || len(files) != 3 || len(u.Run.ToolCalls()) != 2 {
				t.Errorf("files %v, %v, calls %v", files, err, u.Run.ToolCalls())
			}
			if text, err := os.ReadFile(filepath.Join(u.Workspace, "greeting.txt")); string(text) != "Hello, shop!\n" {
				t.Errorf("greeting.txt: %q, %v", text, err)
			}
			if u.Run.Answer() != "I will look at the shop first." {
				t.Errorf("answer: %q", u.Run.Answer())
			}
		})
		evaltest.Mutate(t, "testdata/examples/*.yaml", evaltest.Mutation{MinKilled: 0.8}, dirs, all)
	})
	// Output: passed: true
}

// The sessions of an [evaltest.AgentSuite] are made worse by themselves; for any other task, the suite says how.
func ExampleMutation() {
	count := func(_ context.Context, text string) (int, error) { return len(strings.Fields(text)), nil }
	enough := evaltest.NewScorer("enough", func(_ context.Context, _ string, got, want int) (evaltest.Score, error) {
		if got < want {
			return evaltest.Score{Reason: fmt.Sprintf("got %d, want at least %d", got, want)}, nil
		}
		return evaltest.Score{Value: 1}, nil
	})
	runTest(func(t *testing.T) {
		evaltest.Suite[string, int, int]{
			ID:   "words",
			Data: []evaltest.Row[string, int]{{ID: "two", Input: "hello world", Expected: 2}},
			Task: count,
			Mutants: func(_ context.Context, _ evaltest.Row[string, int], n int) (map[string]int, error) {
				return map[string]int{"one more": n + 1, "none": 0}, nil
			},
			Scorers: []evaltest.Scorer[string, int, int]{enough},
		}.Mutate(t, evaltest.Mutation{MinKilled: 1, Accept: []evaltest.Survivor{
			{Operator: "output", Where: "*one more", Why: "hyphens are counted as they come"},
		}})
	})
	// Output: passed: true
}

// A skill's own evals become subtests, too: each case with the skill, and without it for comparison.
func ExampleSkill() {
	runTest(func(t *testing.T) { evaltest.Skill(t, "../fixtures/skills/release-notes") })
	// Output: passed: true
}

// So do the evals of a plugin of Claude Code, recorded by `sdd-eval run --from` with the same flags.
func ExamplePlugin() {
	runTest(func(t *testing.T) { evaltest.Plugin(t, "testdata/examples/plugin", evaltest.From{Trials: 2}) })
	// Output: passed: true
}

// A check is one more evaluator of each unit. It looks at what the agent did and at what it left.
func ExampleCheck() {
	says := evaltest.Check("says what it does", func(t *evaltest.T, u evaltest.Unit) {
		fmt.Println(u.ID, "said", u.Run.Answer())
		if u.Run.Answer() == "" {
			t.Error("no answer")
		}
	})
	runTest(func(t *testing.T) { evaltest.Describe(t, "testdata/examples/greet.yaml", dirs, says) })
	// Output:
	// greet/task/scripted/1 said I will look at the shop first.
	// passed: true
}

// An override shows graders another answer than the recorded one: here a check that has to notice a full disk.
func ExampleOverride() {
	options := []evaltest.Option{
		dirs,
		evaltest.Override(playbook.Override{Tool: "Write", Error: "disk full"}),
		evaltest.Check("sees the error", func(t *evaltest.T, u evaltest.Unit) {
			for _, call := range u.Run.ToolCalls() {
				fmt.Println(call.Name, call.Outcome())
			}
		}),
	}
	runTest(func(t *testing.T) { evaltest.Describe(t, "testdata/examples/greet.yaml", options...) })
	// Output:
	// Read ok
	// Write error
	// passed: true
}

func ExampleRunAgent() {
	runTest(func(t *testing.T) {
		res := evaltest.RunAgent(t, evaltest.AgentRun{
			ID: "greet-the-shop", Agent: greeter, Dirs: dirs,
			Prompt:    "Write a greeting.",
			Workspace: "testdata/examples/shop",
			Tools:     []string{"Read", "Write"},
			Limits:    playbook.Limits{MaxToolCalls: 5},
		})
		fmt.Print(res.Changes)
	})
	// Output:
	// diff --git a/greeting.txt b/greeting.txt
	// new file mode 100644
	// --- /dev/null
	// +++ b/greeting.txt
	// @@ -0,0 +1 @@
	// +Hello, shop!
	// passed: true
}

// The keys of a playbook that concern one agent are fields: what it may do, what ends it, what it gets.
func ExampleAgentRun() {
	run := evaltest.AgentRun{
		ID: "careful", Agent: greeter, Dirs: dirs,
		Prompt:    "Write a greeting.",
		Workspace: "testdata/examples/shop",
		Permissions: playbook.Permissions{
			Default: playbook.DecideReject,
			Rules:   []playbook.PermissionRule{{Tool: "Write", Path: "*.txt", Decide: playbook.DecideAllow}},
		},
		Limits:  playbook.Limits{Timeout: time.Minute, MaxToolCalls: 5},
		Env:     playbook.Env{Pass: []string{"LANG"}},
		Sandbox: playbook.Sandbox{Network: "none", Require: []string{"files read"}}, // in replay nothing is confined
	}
	runTest(func(t *testing.T) { fmt.Println(evaltest.RunAgent(t, run).Answer()) })
	// Output:
	// I will look at the shop first.
	// passed: true
}

// What a run is about as a whole, such as a limit that ended it, fails the test unless MayFail leaves that to the test.
func ExampleAgentResult() {
	runTest(func(t *testing.T) {
		res := evaltest.RunAgent(t, evaltest.AgentRun{
			ID: "limited", Agent: greeter, Dirs: dirs, Prompt: "Write a greeting.", Workspace: "testdata/examples/shop",
			Tools: []string{"Write"}, MayFail: true,
		})
		fmt.Println(len(res.ToolCalls()), "tool calls, session:", filepath.ToSlash(res.Session))
		for _, problem := range res.Errors {
			fmt.Println(problem)
		}
	})
	// Output:
	// 2 tool calls, session: evaltest/testdata/examples/cassettes/evaltest/limited.go/run/fake-acp.1.jsonl
	// turn 1: the agent used Read, and may use Write
	// passed: true
}

func ExampleSuite() {
	count := func(_ context.Context, text string) (int, error) { return len(strings.Fields(text)), nil }
	exact := evaltest.NewScorer("exact", func(_ context.Context, _ string, got, want int) (evaltest.Score, error) {
		if got != want {
			return evaltest.Score{Reason: fmt.Sprintf("got %d, want %d", got, want)}, nil
		}
		return evaltest.Score{Value: 1}, nil
	})
	runTest(func(t *testing.T) {
		evaltest.Suite[string, int, int]{
			ID: "words",
			Data: []evaltest.Row[string, int]{
				{ID: "none", Input: "", Expected: 0},
				{ID: "two", Input: "hello world", Expected: 2},
			},
			Task:    count,
			Scorers: []evaltest.Scorer[string, int, int]{exact},
		}.Run(t)
	})
	// Output: passed: true
}

// An agent as a suite's task: the input is the prompt, and tool calls are expected.
func ExampleAgentTask() {
	runTest(func(t *testing.T) {
		evaltest.AgentSuite{
			ID: "greetings", Dirs: dirs,
			Task: evaltest.AgentTask(evaltest.AgentRun{Agent: greeter, Workspace: "testdata/examples/shop"}),
			Data: []evaltest.AgentRow{{
				ID: "shop", Input: "Write a greeting.", ExpectedFile: "testdata/examples/calls.json",
			}},
			Scorers: []evaltest.AgentScorer{
				evaltest.ToolSequence(trajectory.Superset).Threshold(1),
				evaltest.ExcludedTools("Bash"),
			},
		}.Run(t)
	})
	// Output: passed: true
}

// Expected calls may come from JSON.
func ExampleCalls() {
	var calls evaltest.Calls
	err := json.Unmarshal([]byte(`[{"tool": "Grep", "args": {"pattern": {"contains_ci": "todo"}}}]`), &calls)
	fmt.Println(calls[0], err)
	err = json.Unmarshal([]byte(`[{"tool": "Grep", "argz": {}}]`), &calls)
	fmt.Println(err)
	// Output:
	// Grep pattern=contains_ci(todo) <nil>
	// [0].argz: unknown key, did you mean "args"?
}

// searched is what an agent did that was to look for a text, and read a file.
var searched = &evaltest.AgentResult{Run: &trajectory.Run{Events: []trajectory.Event{
	{Turn: 1, Body: trajectory.Prompt{Text: "Find the TODOs."}},
	{Turn: 1, Body: trajectory.ToolStart{ID: "1", Name: "Read", Args: map[string]any{"path": "main.go"}}},
	{Turn: 1, Body: trajectory.ToolEnd{ID: "1", Status: trajectory.Completed}},
	{Turn: 1, Body: trajectory.ToolStart{ID: "2", Name: "Grep", Args: map[string]any{"pattern": "TODO"}}},
	{Turn: 1, Body: trajectory.ToolEnd{ID: "2", Status: trajectory.Completed}},
	{Turn: 1, Body: trajectory.Stop{Reason: "end_turn"}},
}}}

// expected are the calls of a search.
var expected = evaltest.Calls{trajectory.Tool("Grep"), trajectory.Tool("Read")}

func ExampleToolSequence() {
	for _, matcher := range []func(...trajectory.Call) trajectory.Matcher{trajectory.Superset, trajectory.InOrder} {
		score, err := evaltest.ToolSequence(matcher).Score(context.Background(), "Find the TODOs.", searched, expected)
		fmt.Println(score.Value, err)
	}
	// Output:
	// 1 <nil>
	// 0.5 <nil>
}

func ExampleToolOrder() {
	score, err := evaltest.ToolOrder().Score(context.Background(), "Find the TODOs.", searched, expected)
	fmt.Println(score.Value, err)
	// Output: 0.5 <nil>
}

func ExampleExcludedTools() {
	score, err := evaltest.ExcludedTools("Bash", "Read").Score(context.Background(), "", searched, nil)
	fmt.Println(score.Value, err)
	// Output: 0 <nil>
}

func ExampleCompletion() {
	score, err := evaltest.Completion().Score(context.Background(), "", searched, nil)
	fmt.Println(score.Value, score.Reason, err)
	// Output: 0 turn 1: it ended without a final message <nil>
}

func ExampleWeighted() {
	search := evaltest.Weighted("search",
		evaltest.ToolSequence(trajectory.Superset).Weight(3),
		evaltest.ToolOrder().Named("order"),
	)
	score, err := search.Score(context.Background(), "Find the TODOs.", searched, expected)
	fmt.Println(score.Value, err)
	// Output: 0.875 <nil>
}

// The head may lose what is by chance; a margin above 0 would have the test show that no more was lost.
func ExampleCompare() {
	runTest(func(t *testing.T) {
		evaltest.Compare(t, "testdata/examples/baselines/main.json", "testdata/examples/baselines/slow.json", 0)
	})
	// Output: passed: true
}

// A scorer that decides nothing, for a limit that each row gives in its metadata.
func ExampleScorer_Optional() {
	short := evaltest.NewScorer("short", func(ctx context.Context, _, answer, _ string) (evaltest.Score, error) {
		limit, ok := evaltest.Metadata(ctx)["limit"].(float64)
		if !ok {
			return evaltest.Score{}, errors.New("the row has no limit")
		}
		return evaltest.Score{Value: min(1, limit/float64(len(answer)))}, nil
	}).Optional()
	_, err := short.Score(context.Background(), "Name a tea.", "Assam, or perhaps Darjeeling", "")
	fmt.Println(err)
	// Output: the row has no limit
}

func ExampleNewScorer() {
	short := evaltest.NewScorer("short", func(_ context.Context, _, answer string, limit int) (evaltest.Score, error) {
		if len(answer) > limit {
			return evaltest.Score{Reason: fmt.Sprintf("%d bytes, and the limit is %d", len(answer), limit)}, nil
		}
		return evaltest.Score{Value: 1}, nil
	})
	score, err := short.Score(context.Background(), "Name a tea.", "Assam, or perhaps Darjeeling", 10)
	fmt.Println(score.Value, score.Reason, err)
	// Output: 0 28 bytes, and the limit is 10 <nil>
}
