// Package tooltrajectory is the evaluator kind tool_trajectory: it compares the tool calls of a run with expected ones,
// by package trajectory. How calls are compared does not belong here, only how a playbook says it.
package tooltrajectory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/expect"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// matching implements [evaluator.Evaluator].
type matching struct{ matcher trajectory.Matcher }

func (m matching) Evaluate(_ context.Context, in evaluator.Input) evaluator.Verdict {
	if err := evaluator.Unseen(in.Run); err != nil {
		return evaluator.Verdict{Outcome: result.Error, Reason: err.Error()}
	}
	r := m.matcher.Match(in.Run)
	v := evaluator.Verdict{Outcome: result.Fail, Score: &r.Score, Reason: r.Reason(), Detail: detail(r)}
	switch {
	case r.Err != nil:
		v.Outcome, v.Score = result.Error, nil
	case r.Pass:
		v.Outcome = result.Pass
	default:
		flaws := r.Flaws()
		for _, f := range flaws[:min(len(flaws), maxCalls)] {
			v.Calls = append(v.Calls, result.Call{Number: f.Call + 1, Want: f.Want})
		}
	}
	return v
}

// maxCalls is how many calls a verdict names.
const maxCalls = 20

func (m matching) Needs() evaluator.Needs { return 0 }

// detail returns the table, with precision and recall where they say more than the score.
func detail(r trajectory.Result) string {
	if r.Matched == 0 || r.Expected == r.Actual || r.Pass && r.Matched == r.Actual {
		return r.Table()
	}
	return fmt.Sprintf("%s\nprecision %.2f, recall %.2f, F1 %.2f", r.Table(), r.Precision(), r.Recall(), r.F1())
}

// keys are the evaluator's own keys in a playbook.
type keys struct {
	Mode string `yaml:"mode" default:"superset" enum:"any_order,exact,in_order,strict,subset,superset,unordered"`
	Args string `yaml:"args" default:"superset" enum:"exact,ignore,subset,superset" doc:"How arguments are compared."`

	Profiles string `yaml:"profiles" default:"standard" enum:"none,standard"`

	Expected  []step               `yaml:"expected" doc:"The calls that the agent should make."`
	Overrides map[string]*doc.Node `yaml:"overrides" min:"1"`
	Minimums  map[string]int       `yaml:"minimums" min:"1" doc:"In mode any_order: the least calls by tool."`

	Never      []*doc.Node    `yaml:"never" min:"1" doc:"Tools, or calls, that the agent should not call."`
	AtLeast    map[string]int `yaml:"at_least" min:"1" doc:"How often each tool should be called at least."`
	AtMost     map[string]int `yaml:"at_most" min:"1" doc:"How often each tool may be called."`
	Before     []*doc.Node    `yaml:"before" min:"2" doc:"Tools, or calls, each to be called before the next."`
	Duplicates *doc.Node      `yaml:"no_duplicates" doc:"true, or tools not to be called twice with equal arguments."`

	MaxDuration int    `yaml:"max_duration_ms" min:"1" max:"1000000000" doc:"The longest that the run may take."`
	Compat      string `yaml:"compat" enum:"agentevals" doc:"Judge as AgentEvals 0.0.7 does."`
}

// step is one expected call.
type step struct {
	Tool string        `yaml:"tool" min:"1" doc:"The tool's name as the agent gives it; * for any characters."`
	Kind string        `yaml:"kind" enum:"read,edit,delete,move,search,execute,think,fetch,switch_mode,other"`
	Does string        `yaml:"does" enum:"read,search,edit,delete,move,fetch,execute" doc:"Instead, what it does."`
	Any  []alternative `yaml:"any" min:"1" doc:"Instead, alternatives, one of which the call is."`
	By   string        `yaml:"by" enum:"main,subagent" doc:"Who makes the call."`

	Outcome string `yaml:"outcome" enum:"ok,error,pending" doc:"How the call ends."`

	Args        *doc.Node `yaml:"args" doc:"A value or a matcher for each argument; or a mode."`
	ArgsMatch   string    `yaml:"args_match" min:"1" doc:"Go regular expression found in the arguments as JSON."`
	Together    bool      `yaml:"together" doc:"In mode strict: the call is made together with the one before."`
	MaxDuration int       `yaml:"max_duration_ms" min:"1" max:"1000000000" doc:"The longest that the call may take."`
}

// alternative is one of the calls that an expected call may be.
type alternative struct {
	Tool string    `yaml:"tool" min:"1"`
	Kind string    `yaml:"kind" enum:"read,edit,delete,move,search,execute,think,fetch,switch_mode,other"`
	Does string    `yaml:"does" enum:"read,search,edit,delete,move,fetch,execute"`
	Args *doc.Node `yaml:"args"`

	ArgsMatch string `yaml:"args_match" min:"1"`
}

// Kind returns the kind of evaluator.
func Kind() plan.Kind {
	return plan.Kind{Decode: decode, Keys: keys{}, NoFiles: true, Descriptions: descriptions}
}

// descriptions are those of keys that are too long for a tag.
var descriptions = map[string]string{
	"mode":      "How the calls are compared; superset: at least these.",
	"overrides": "For a tool: an argument mode, a list of dotted paths, or a matcher for each argument.",
	"profiles":  "Whether plain arguments of well-known tools are compared as paths and patterns.",
}

func decode(n *doc.Node) any {
	d := decoder{node: n}
	n.Decode(&d.keys)
	if d.keys.Compat != "" {
		return d.agentEvals()
	}
	parts := d.constraints()
	if m, ok := d.sequence(); ok {
		parts = slices.Insert(parts, 0, m)
	}
	if len(parts) == 1 {
		return matching{parts[0]}
	}
	return matching{trajectory.All(parts...)}
}

// decoder makes matchers of the keys, and reports on the node what is wrong with them.
type decoder struct {
	node *doc.Node
	keys keys
}

// modes are the ways to compare a list of calls, by name; strict takes groups, and any_order takes numbers.
var modes = map[string]func(...trajectory.Call) trajectory.Matcher{
	"exact":     trajectory.Exact,
	"in_order":  trajectory.InOrder,
	"unordered": trajectory.Unordered,
	"superset":  trajectory.Superset,
	"subset":    trajectory.Subset,
}

// sequence decodes what depends on the mode. It returns false if nothing of it is expected.
func (d *decoder) sequence() (trajectory.Matcher, bool) {
	n, k := d.node, &d.keys
	if k.Mode == "any_order" {
		expect.Meaningless(d.node, "in `mode: any_order`, which takes `minimums`", "args", "profiles", "expected",
			"overrides")
		if n.Get("minimums") == nil {
			n.Errorf("", "`mode: any_order` needs `minimums`, how often each tool should be called at least")
		}
		return trajectory.AnyOrder(d.counts("minimums", k.Minimums, 1)), true
	}
	expect.Meaningless(d.node, "without `mode: any_order`; beside other calls it is `at_least`", "minimums")
	expected := n.Get("expected")
	if expected == nil {
		if !d.constrained() {
			n.Errorf("", "needs `expected`, the calls that the agent should make, or a constraint such as `never`")
			return trajectory.Matcher{}, false
		}
		expect.Meaningless(d.node, "without `expected`", "mode", "args", "profiles", "overrides")
		return trajectory.Matcher{}, false
	}
	list, ok := expected.Value().([]any)
	if ok && len(list) == 0 && (k.Mode == "superset" || k.Mode == "in_order") {
		n.Errorf("expected", "an empty list expects nothing: in `mode: exact` it expects that no tool is called")
	}
	calls := d.calls(expected.Items())
	if k.Mode == "strict" {
		var groups []trajectory.Group
		for i, c := range calls {
			if i > 0 && k.Expected[i].Together {
				groups[len(groups)-1] = append(groups[len(groups)-1], c)
			} else {
				groups = append(groups, trajectory.Group{c})
			}
		}
		return trajectory.Strict(groups...), true
	}
	for i, s := range k.Expected {
		if s.Together {
			expect.Meaningless(expected.Items()[i], "without `mode: strict`", "together")
		}
	}
	of, ok := modes[k.Mode]
	if !ok {
		return trajectory.Matcher{}, false // reported
	}
	return of(calls...), true
}

// constraintKeys are the keys of expectations besides the list of calls.
var constraintKeys = []string{"never", "at_least", "at_most", "before", "no_duplicates", "max_duration_ms"}

func (d *decoder) constrained() bool {
	return slices.ContainsFunc(constraintKeys, func(key string) bool { return d.node.Get(key) != nil })
}

// constraints decodes what is expected beside a list of calls.
func (d *decoder) constraints() []trajectory.Matcher {
	k := &d.keys
	var parts []trajectory.Matcher
	if len(k.Never) > 0 {
		calls, _ := d.constrainedCalls(k.Never)
		parts = append(parts, trajectory.NeverCall(calls...))
	}
	if len(k.AtLeast) > 0 {
		parts = append(parts, trajectory.AtLeast(d.counts("at_least", k.AtLeast, 1)))
	}
	if len(k.AtMost) > 0 {
		parts = append(parts, trajectory.AtMost(d.counts("at_most", k.AtMost, 0)))
	}
	if len(k.Before) > 1 {
		calls, valid := d.constrainedCalls(k.Before)
		m := trajectory.BeforeCall(calls...)
		if valid {
			d.checked("before", m.Check())
		}
		parts = append(parts, m)
	}
	if k.Duplicates != nil {
		parts = append(parts, trajectory.NoDuplicates(d.distinct()...))
	}
	if k.MaxDuration > 0 {
		parts = append(parts, trajectory.MaxDuration(time.Duration(k.MaxDuration)*time.Millisecond))
	}
	return parts
}

// checked reports the error of a matcher about its own parameters, if there is one.
func (d *decoder) checked(key string, err error) {
	if err != nil {
		d.node.Errorf(key, "%s", strings.TrimPrefix(err.Error(), key+": "))
	}
}

// counts returns bounds by tool, each of which must be at least least.
func (d *decoder) counts(key string, bounds map[string]int, least int) trajectory.Counts {
	for _, e := range d.node.Get(key).Entries() {
		if n, ok := bounds[e.Key]; ok && n < least {
			e.Value.Errorf("", "must be at least %d, not %d", least, n)
		}
		plan.CheckTool(e.Value, e.Key)
	}
	return bounds
}

// distinct decodes no_duplicates: the tools, none for all.
func (d *decoder) distinct() []string {
	n := d.keys.Duplicates
	switch v := n.Value().(type) {
	case bool:
		if v {
			return nil
		}
	case []any:
		if len(v) == 0 {
			n.Errorf("", "must not be empty")
		}
		var tools []string
		for _, item := range n.Items() {
			tool, ok := item.Value().(string)
			if !ok {
				item.Errorf("", "must be the name of a tool")
			} else {
				plan.CheckTool(item, tool)
			}
			tools = append(tools, tool)
		}
		return tools
	}
	n.Errorf("", "must be true or a list of tools")
	return nil
}
