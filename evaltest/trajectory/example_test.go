package trajectory_test

import (
	"fmt"
	"os"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"

	"github.com/sdd-eval/sdd-eval/evaltest"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// The run of an agent that refunded too much.
var refunded = &trajectory.Run{Cwd: "$WORKSPACE", Events: []trajectory.Event{
	{Turn: 1, Body: trajectory.ToolStart{
		ID: "1", Name: "read_file", Kind: "read",
		Args: map[string]any{"path": "order.json"},
	}},
	{Turn: 1, Body: trajectory.ToolEnd{ID: "1", Status: trajectory.Completed}},
	{Turn: 1, Body: trajectory.ToolStart{
		ID: "2", Name: "issue_refund", Kind: "other",
		Args: map[string]any{"amount": 100},
	}},
	{Turn: 1, Body: trajectory.ToolEnd{ID: "2", Status: trajectory.Completed}},
	{Turn: 1, Body: trajectory.Stop{Reason: "end_turn"}},
}}

func Example() {
	want := trajectory.InOrder(
		trajectory.Tool("read_file").Args(trajectory.Args{"path": trajectory.Path("./order.json")}),
		trajectory.Tool("issue_refund").Args(trajectory.Args{"amount": 40}),
	)
	result := want.Match(refunded)
	fmt.Println(result.Pass, result.Score)
	fmt.Println(result)
	// Output:
	// false 0.5
	// in_order: step 2 not matched: issue_refund amount=40
	// 1 ✓ read_file path=order.json
	// 2 ✗ issue_refund amount=100   want amount=40
}

func ExampleAll() {
	want := trajectory.All(
		trajectory.Superset(trajectory.Kind("read")),
		trajectory.Never("issue_refund", "delete_order"),
	)
	fmt.Println(want.Match(refunded))
	// Output:
	// never: issue_refund was called (call 2)
	// superset: 1 of 1
	//   1 ✓ read_file path=order.json
	// never: 1 of 2
	//   ✗ issue_refund amount=100   want never
	//   ✓ never delete_order
}

func ExampleExact() {
	// No tool may be called at all.
	fmt.Println(trajectory.Exact().Match(refunded))
	// Output:
	// exact: call 1 not expected: read_file (and 1 more)
	// + read_file path=order.json   not expected
	// + issue_refund amount=100     not expected
}

func ExampleResult_malformed() {
	want := trajectory.Superset(trajectory.Tool("read_file").Args(trajectory.Args{"path": trajectory.Regex("order(")}))
	result := want.Match(refunded)
	fmt.Println(result.Pass, result.Err)
	// Output:
	// false superset: step 1, read_file: path: regex: error parsing regexp: missing closing ): `order(`
}

func ExampleInOrder() {
	run := &trajectory.Run{Cwd: "$WORKSPACE", Events: []trajectory.Event{
		{Turn: 1, Body: trajectory.ToolStart{ID: "1", Name: "Read", Args: map[string]any{"file_path": "a.go"}}},
		{Turn: 1, Body: trajectory.ToolEnd{ID: "1", Status: trajectory.Completed}},
		{Turn: 1, Body: trajectory.ToolStart{
			ID: "2", Name: "Read",
			Args: map[string]any{"file_path": "$WORKSPACE/b.go"},
		}},
		{Turn: 1, Body: trajectory.ToolEnd{ID: "2", Status: trajectory.Completed}},
	}}
	// The second call matches, whatever comes before it.
	fmt.Println(trajectory.InOrder(trajectory.Tool("Read").Args(trajectory.Args{"file_path": "b.go"})).Match(run).Pass)
	// Output: true
}

func ExampleSuperset() {
	// At least a read: the refund is one call more.
	result := trajectory.Superset(trajectory.Kind("read"), trajectory.Kind("edit")).Match(refunded)
	fmt.Printf("score %.2f, precision %.2f, recall %.2f, F1 %.2f\n", result.Score, result.Precision(),
		result.Recall(), result.F1())
	// Output: score 0.50, precision 0.50, recall 0.50, F1 0.50
}

func ExampleSubset() {
	want := trajectory.Subset(trajectory.Tool("read_file"), trajectory.Tool("list_files"))
	fmt.Println(want.Match(refunded))
	fmt.Println("doing nothing:", want.Match(&trajectory.Run{}).Pass)
	// Output:
	// subset: call 2 not expected: issue_refund
	// 1 ✓ read_file path=order.json
	//   + issue_refund amount=100   not expected
	// doing nothing: true
}

func ExampleStrict() {
	// The calls were not made together.
	want := trajectory.Strict(trajectory.Group{trajectory.Tool("read_file"), trajectory.Tool("issue_refund")})
	fmt.Println(want.Match(refunded))
	// Output:
	// strict: step 2 not matched: issue_refund (and 1 more)
	// 1 ✓ read_file path=order.json
	// 2 ✗ issue_refund amount=100   want together with step 1
}

func ExampleDoes() {
	// One agent has tools, the other a shell.
	tools := &trajectory.Run{Events: []trajectory.Event{
		{Turn: 1, Body: trajectory.ToolStart{ID: "1", Name: "Read", Kind: "read"}},
		{Turn: 1, Body: trajectory.ToolStart{ID: "2", Name: "Edit", Kind: "edit"}},
	}}
	shell := &trajectory.Run{Events: []trajectory.Event{
		{Turn: 1, Body: trajectory.ToolStart{
			ID: "1", Name: "Bash", Kind: "execute", Args: map[string]any{"command": "cat a.go && sed -i s/a/b/ a.go"},
		}},
	}}
	want := trajectory.InOrder(trajectory.Does("read"), trajectory.Does("edit"))
	fmt.Println(want.Match(tools).Pass, want.Match(shell).Pass)
	fmt.Println(trajectory.InOrder(trajectory.Does("edit"), trajectory.Does("execute")).Match(shell))
	// Output:
	// true true
	// in_order: step 2 not matched: does execute
	// 1 ✓ Bash command="cat a.go && sed -i s/a/b/ a.go"
	// 2 ✗ (not called)   want does execute
	// called: Bash 1; done: read 1, edit 1
}

func ExampleAnyOf() {
	want := trajectory.Superset(
		trajectory.AnyOf(trajectory.Tool("read_file").Args(trajectory.Args{"path": "a.go"}), trajectory.Kind("search")),
	)
	fmt.Println(want.Match(refunded))
	// Output:
	// superset: step 1 not matched: read_file path=a.go or kind search
	// 1 ✗ read_file path=order.json   want path=a.go
}

func ExampleAtMost() {
	want := trajectory.All(
		trajectory.AtLeast(trajectory.Counts{"read_file": 1}),
		trajectory.AtMost(trajectory.Counts{"issue_refund": 0}),
		trajectory.Before("read_file", "issue_refund"),
		trajectory.NoDuplicates(),
		trajectory.MaxDuration(time.Minute),
	)
	fmt.Println(want.Match(refunded))
	// Output:
	// at_most: issue_refund called 1 time, want at most 0
	// at_least: 1 of 1
	//   ✓ read_file called 1 time
	// at_most: 0 of 1
	//   ✗ issue_refund called 1 time   want at most 0
	// before: 1 of 1
	//   ✓ read_file before issue_refund
	// no_duplicates: 1 of 1
	//   ✓ no duplicates
	// max_duration_ms: 1 of 1
	//   ✓ the run took 0s
}

func ExampleCall_Where() {
	succeeded := func(c trajectory.ToolCall) bool { return c.ExitCode != nil && *c.ExitCode == 0 }
	want := trajectory.Superset(trajectory.Tool("issue_refund").Where("exit code 0", succeeded))
	fmt.Println(want.Match(refunded))
	// Output:
	// superset: step 1 not matched: issue_refund where exit code 0
	// 1 ✗ issue_refund amount=100   want exit code 0
}

func ExampleFormat() {
	result := trajectory.Never("issue_refund").Match(refunded)
	// Colour is for terminals, and for those who did not turn it off.
	stat, err := os.Stdout.Stat()
	terminal := err == nil && stat.Mode()&os.ModeCharDevice != 0 && os.Getenv("NO_COLOR") == ""
	fmt.Println(trajectory.Format{Color: terminal}.Table(result))
	// Output: ✗ issue_refund amount=100   want never
}

// A check of evaltest takes testify and go-cmp.
func Example_check() {
	refunds := func(t *evaltest.T, u evaltest.Unit) {
		result := trajectory.Superset(trajectory.Tool("issue_refund")).Match(u.Run)
		assert.True(t, result.Pass, "%v", result)
		for _, call := range u.Run.ToolCalls() {
			want := map[string]any{"amount": 40}
			if diff := cmp.Diff(want, call.Args); call.Name == "issue_refund" && diff != "" {
				t.Errorf("arguments of %s (-want +got):\n%s", call.Name, diff)
			}
		}
	}
	_ = evaltest.Check("refunds", refunds) // for evaltest.Describe, which calls it with every unit

	var t evaltest.T
	refunds(&t, evaltest.Unit{Run: refunded})
	fmt.Println("failed:", t.Failed())
	// Output: failed: true
}
