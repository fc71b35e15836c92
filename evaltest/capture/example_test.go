package capture_test

import (
	"fmt"

	"github.com/sdd-eval/sdd-eval/evaltest/capture"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

func Example() {
	calls, err := capture.Read("testdata/tool-calls.jsonl")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(calls.Tools())
	for _, c := range calls.Calls {
		fmt.Printf("%s %s %v %q\n", c.Tool, c.State, c.Duration, c.Error)
	}
	run := calls.Run()
	result := trajectory.InOrder(
		trajectory.Tool("Grep").Args(trajectory.Args{"pattern": trajectory.ContainsCI("todo")}),
		trajectory.Tool("Read").Args(trajectory.Args{"file_path": trajectory.Path("src/a.go")}),
	).Match(&run)
	fmt.Println(result.Pass)
	// Output:
	// [Grep Bash Read]
	// Grep ok 18ms ""
	// Bash error 2.391s "Exit code 1"
	// Read pending 0s ""
	// true
}

// The agent reported a call, and nothing was captured: its hooks did not run.
func ExampleCheck() {
	_, err := capture.Check("testdata/none.jsonl", []string{"Read"})
	fmt.Println(err)
	// Output:
	// the agent reported 1 call (Read), but its hooks captured nothing: are they installed, and can the agent run them?
	// read capture: lstat testdata/none.jsonl: no such file or directory
}
