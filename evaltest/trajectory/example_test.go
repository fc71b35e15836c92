package trajectory_test

import (
	"fmt"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// The run of an agent that refunded too much.
var refunded = &trajectory.Run{Cwd: "$WORKSPACE", Events: []trajectory.Event{
	{Turn: 1, Body: trajectory.ToolStart{ID: "1", Name: "read_file", Kind: "read", Args: map[string]any{"path": "order.json"}}},
	{Turn: 1, Body: trajectory.ToolEnd{ID: "1", Status: trajectory.Completed}},
	{Turn: 1, Body: trajectory.ToolStart{ID: "2", Name: "issue_refund", Kind: "other", Args: map[string]any{"amount": 100}}},
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
