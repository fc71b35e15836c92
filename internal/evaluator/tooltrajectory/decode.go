package tooltrajectory

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// keys are the evaluator's own keys in a playbook.
type keys struct {
	Mode     string   `yaml:"mode" default:"superset" known:"exact,in_order,superset" doc:"exact, in_order, or superset: at least these."`
	Args     string   `yaml:"args" default:"superset" enum:"exact,ignore,subset,superset" doc:"How arguments are compared."`
	Expected []step   `yaml:"expected" doc:"The calls that the agent should make."`
	Never    []string `yaml:"never" min:"1" doc:"Tools that the agent should not call."`

	// What the format has besides, for a better reason than that it is unknown.
	Overrides    struct{} `yaml:"overrides,refused" reason:"not supported yet by this version"`
	Profiles     struct{} `yaml:"profiles,refused" reason:"not supported yet by this version"`
	Minimums     struct{} `yaml:"minimums,refused" reason:"not supported yet by this version"`
	AtMost       struct{} `yaml:"at_most,refused" reason:"not supported yet by this version"`
	AtLeast      struct{} `yaml:"at_least,refused" reason:"not supported yet by this version"`
	Before       struct{} `yaml:"before,refused" reason:"not supported yet by this version"`
	NoDuplicates struct{} `yaml:"no_duplicates,refused" reason:"not supported yet by this version"`
	Compat       struct{} `yaml:"compat,refused" reason:"not supported yet by this version"`
}

// step is one expected call.
type step struct {
	Tool        string         `yaml:"tool" min:"1" doc:"The tool's name, exactly as the agent gives it."`
	Kind        string         `yaml:"kind" min:"1" doc:"Instead of a tool, its kind, e.g. execute."`
	Args        *playbook.Node `yaml:"args" doc:"A value or a matcher for each argument; or a mode."`
	MaxDuration int            `yaml:"max_duration_ms" min:"1" max:"1000000000" doc:"The longest that the call may take."`
}

// modes are the ways to compare calls, by name.
var modes = map[string]func(...trajectory.Call) trajectory.Matcher{
	"exact":    trajectory.Exact,
	"in_order": trajectory.InOrder,
	"superset": trajectory.Superset,
}

// laterModes are those that the format has and this version does not.
var laterModes = []string{"strict", "unordered", "subset", "any_order"}

// Kind returns the kind of evaluator.
func Kind() playbook.Kind { return playbook.Kind{Decode: decode, Keys: keys{}} }

func decode(n *playbook.Node) any {
	var k keys
	n.Decode(&k)
	var parts []trajectory.Matcher
	if m, ok := k.calls(n); ok {
		parts = append(parts, m)
	}
	if len(k.Never) > 0 {
		for i, tool := range k.Never {
			if strings.TrimSpace(tool) == "" {
				n.Errorf(fmt.Sprintf("never[%d]", i), "must not be empty")
			}
		}
		parts = append(parts, trajectory.Never(k.Never...))
	}
	if len(parts) == 1 {
		return matching{parts[0]}
	}
	return matching{trajectory.All(parts...)}
}

// calls decodes the expected calls. It returns false if there is no such expectation.
func (k *keys) calls(n *playbook.Node) (trajectory.Matcher, bool) {
	of := k.mode(n)
	expected := n.Get("expected")
	switch {
	case expected != nil:
	case n.Get("never") == nil:
		n.Errorf("", "needs `expected`, the calls that the agent should make, or `never`, tools that it should not call")
		return trajectory.Matcher{}, false
	default:
		for _, key := range []string{"mode", "args"} {
			if n.Get(key) != nil {
				n.Errorf(key, "means nothing without `expected`")
			}
		}
		return trajectory.Matcher{}, false
	}
	if list, ok := expected.Value().([]any); ok && len(list) == 0 && k.Mode != "exact" {
		n.Errorf("expected", "an empty list expects nothing: in `mode: exact` it expects that no tool is called")
	}
	items := expected.Items()
	var calls []trajectory.Call
	for i, s := range k.Expected {
		calls = append(calls, s.call(items[i], trajectory.ArgMode(k.Args)))
	}
	return of(calls...), true
}

// mode returns what makes the matcher.
func (k *keys) mode(n *playbook.Node) func(...trajectory.Call) trajectory.Matcher {
	of, ok := modes[k.Mode]
	switch {
	case ok:
		return of
	case slices.Contains(laterModes, k.Mode):
		n.Errorf("mode", "%q is not supported yet by this version", k.Mode)
	default:
		known := []string{"exact", "in_order", "superset"}
		hint := doc.DidYouMean(k.Mode, append(known, laterModes...))
		n.Errorf("mode", "must be one of %s, not %q%s", strings.Join(known, ", "), k.Mode, hint)
	}
	return trajectory.Superset
}

// call returns the expected call that item stands for.
func (s step) call(item *playbook.Node, mode trajectory.ArgMode) trajectory.Call {
	_, isMapping := item.Value().(map[string]any)
	if isMapping && (item.Get("tool") == nil) == (item.Get("kind") == nil) {
		item.Errorf("", "needs exactly one of `tool` and `kind`")
	}
	c := trajectory.Kind(s.Kind)
	if s.Tool != "" {
		c = trajectory.Tool(s.Tool)
	}
	if s.MaxDuration > 0 {
		c = c.MaxDuration(time.Duration(s.MaxDuration) * time.Millisecond)
	}
	if s.Args == nil {
		return c.Mode(mode)
	}
	switch own := s.Args.Value().(type) {
	case map[string]any:
		return c.Args(arguments(s.Args)).Mode(mode)
	case string:
		mode = trajectory.ArgMode(own)
		if !slices.Contains(trajectory.ArgModes(), mode) {
			known := argModes()
			s.Args.Errorf("", "must be a mapping of arguments or one of %s, not %q%s",
				strings.Join(known, ", "), own, doc.DidYouMean(own, known))
		}
	default:
		s.Args.Errorf("", "must be a mapping of arguments or one of %s", strings.Join(argModes(), ", "))
	}
	return c.Mode(mode)
}

func argModes() []string {
	var names []string
	for _, m := range trajectory.ArgModes() {
		names = append(names, string(m))
	}
	return names
}

// arguments decodes what is expected of each argument.
func arguments(n *playbook.Node) trajectory.Args {
	args := make(trajectory.Args)
	for _, e := range n.Entries() {
		if _, ok := e.Value.Value().(map[string]any); ok {
			args[e.Key] = matcher(e.Value)
		} else {
			args[e.Key] = trajectory.Equals(e.Value.Value())
		}
	}
	return args
}

// matcher decodes {name: parameter}.
func matcher(n *playbook.Node) trajectory.Arg {
	entries := n.Entries()
	if len(entries) != 1 {
		n.Errorf("", "a matcher has one key, not %d: for a value that is a mapping write {equals: {...}}", len(entries))
		return trajectory.Arg{}
	}
	name, param := entries[0].Key, entries[0].Value
	if names := trajectory.ArgNames(); !slices.Contains(names, name) {
		hint := doc.DidYouMean(name, names)
		if hint == "" {
			hint = ": for a value that is a mapping write {equals: {...}}"
		}
		n.Errorf("", "unknown matcher %q%s", name, hint)
		return trajectory.Arg{}
	}
	arg, err := trajectory.NewArg(name, param.Value())
	if err != nil {
		param.Errorf("", "%v", err)
	}
	return arg
}
