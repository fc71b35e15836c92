package plan_test

import (
	"fmt"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

// maxCalls is an evaluator's configuration: how often tools may be called.
type maxCalls struct {
	Limit int `yaml:"limit,required" min:"0" doc:"The most tool calls that pass."`
}

var maxCallsKinds = plan.Kinds{"max_calls": {Decode: decodeMaxCalls, Keys: maxCalls{}}}

func decodeMaxCalls(n *doc.Node) any {
	var c maxCalls
	n.Decode(&c) // reports what is wrong
	return c
}

const text = `
task:
  prompt: The test of package shop fails. Find out why and fix it.
variants:
  careful: {agent: {kind: acp, command: my-agent, args: [--careful]}}
  quick: {agent: {kind: acp, command: my-agent}}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [quick, careful]}}
      steps:
        - uses: builtin:sdd-eval/workspace.prepare
        - uses: builtin:sdd-eval/acp.prompt
        - run: go test ./...
trials: {count: 2}
evaluators:
  - {type: max_calls, limit: 20}
`

func Example() {
	p, err := plan.Parse("shop.yaml", []byte(text), maxCallsKinds)
	if err != nil {
		fmt.Println(err)
		return
	}
	planned, err := p.Plan()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, u := range planned.Units {
		e := u.Evaluators[0]
		fmt.Println(u.ID(), len(u.Steps), "steps,", e.Position, e.Config.(maxCalls).Limit)
	}
	// Output:
	// shop/task/quick/1 3 steps, shop.yaml:17 20
	// shop/task/quick/2 3 steps, shop.yaml:17 20
	// shop/task/careful/1 3 steps, shop.yaml:17 20
	// shop/task/careful/2 3 steps, shop.yaml:17 20
}

func Example_errors() {
	const text = `
task: {prompt: Fix it.}
variants:
  claude: {agent: {kind: acp, comand: agent}}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [claude]}}
      steps: [{uses: builtin:sdd-eval/acp.prompt}]
evaluators:
  - {type: max_calls, limit: twenty}
`
	_, err := plan.Parse("shop.yaml", []byte(text), maxCallsKinds)
	fmt.Println(err)
	// Output:
	// shop.yaml:4:31: variants.claude.agent.comand: unknown key, did you mean "command"?
	// shop.yaml:11:30: evaluators[0].limit: must be an integer, not a string
}
