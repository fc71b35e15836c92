package plan_test

import (
	"fmt"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/activation"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

// kinds are evaluators for tests. "fake" looks like a matcher of tool calls, "tool_trajectory" and "files" take any
// keys.
var kinds = plan.Kinds{
	"fake":            {Decode: decodeFake, Keys: fake{}},
	"tool_trajectory": {Decode: func(n *doc.Node) any { return n.Value() }},
	"activation":      activation.Kind(),
	"files":           {Decode: func(n *doc.Node) any { return n.Value() }},
}

type fake struct {
	Mode     string `yaml:"mode" enum:"exact,in_order" default:"exact"`
	Expected []call `yaml:"expected"`
}

type call struct {
	Tool     string       `yaml:"tool,required"`
	Args     *doc.Node    `yaml:"args"`
	Position doc.Position `yaml:",position"`
}

// decodeFake refuses the matcher "bad" in the arguments of calls.
func decodeFake(n *doc.Node) any {
	var f fake
	if !n.Decode(&f) {
		return nil
	}
	for i, c := range f.Expected {
		for _, arg := range c.Args.Entries() {
			if arg.Value.Get("bad") != nil {
				n.Errorf(fmt.Sprintf("expected[%d].args.%s", i, arg.Key), "no matcher %q", "bad")
			}
		}
	}
	return f
}
