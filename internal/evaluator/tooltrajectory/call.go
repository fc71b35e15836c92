package tooltrajectory

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/expect"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/toolname"
)

// Calls decodes a list of expected calls, such as the value of `expected`. It reports errors on the node.
func Calls(n *doc.Node) []trajectory.Call {
	d := decoder{node: n, keys: keys{Args: string(trajectory.SupersetArgs), Profiles: "standard"}}
	if !n.Decode(&d.keys.Expected) {
		return nil
	}
	items := n.Items()
	for i, s := range d.keys.Expected {
		if s.Together {
			items[i].Errorf("together", "has no effect without `mode: strict`")
		}
	}
	return d.calls(items)
}

// calls decodes the expected calls, with the overrides of their tools.
func (d *decoder) calls(items []*doc.Node) []trajectory.Call {
	overrides := d.overrides()
	calls := make([]trajectory.Call, len(d.keys.Expected))
	for i := range d.keys.Expected {
		calls[i] = d.call(&d.keys.Expected[i], items[i], overrides)
	}
	return calls
}

// call returns the expected call that item stands for.
func (d *decoder) call(s *step, item *doc.Node, overrides map[string]override) trajectory.Call {
	oneOf(item, "tool", "kind", "does", "any")
	var c trajectory.Call
	if item.Get("any") == nil {
		c = d.alternative(alternative{s.Tool, s.Kind, s.Does, s.Args, s.ArgsMatch}, item, overrides)
	} else {
		expect.Meaningless(item, "beside `any`: each alternative has its own", "args", "args_match")
		alternatives := make([]trajectory.Call, len(s.Any))
		for i, a := range s.Any {
			n := item.Get("any").Items()[i]
			oneOf(n, "tool", "kind", "does")
			alternatives[i] = d.alternative(a, n, overrides)
		}
		c = trajectory.AnyOf(alternatives...)
	}
	if s.By != "" {
		c = c.By(trajectory.Actor(s.By))
	}
	if s.Outcome != "" {
		c = c.Where("outcome "+s.Outcome, func(call trajectory.ToolCall) bool {
			return string(call.Outcome()) == s.Outcome
		})
	}
	if s.MaxDuration > 0 {
		c = c.MaxDuration(time.Duration(s.MaxDuration) * time.Millisecond)
	}
	return c
}

// constrainedCalls decodes the calls of a constraint: each a tool's name, or what an expected call has. Their arguments
// are compared in the default way, whatever the list of expected calls has. It returns false if it reported an error.
func (d *decoder) constrainedCalls(items []*doc.Node) (calls []trajectory.Call, valid bool) {
	calls, valid = make([]trajectory.Call, len(items)), true
	in := decoder{node: d.node, keys: keys{Args: string(trajectory.SupersetArgs), Profiles: "standard"}}
	for i, item := range items {
		var s step
		switch name := item.Value().(type) {
		case string:
			calls[i] = trajectory.Tool(name)
			valid = plan.CheckTool(item, name) && valid
		case map[string]any:
			if item.Decode(&s) {
				expect.Meaningless(item, "in a constraint", "together", "max_duration_ms")
				s.MaxDuration = 0
				calls[i] = in.call(&s, item, nil)
				valid = checkTools(&s, item) && valid
			}
		default:
			item.Errorf("", "must be the name of a tool or a call, such as {does: delete}")
		}
		valid = valid && calls[i].Check() == nil
	}
	return calls, valid
}

// checkTools reports the tools of a call in a constraint that no agent has.
func checkTools(s *step, item *doc.Node) bool {
	valid := s.Tool == "" || plan.CheckTool(item.Get("tool"), s.Tool)
	for i, a := range s.Any {
		if a.Tool != "" {
			valid = plan.CheckTool(item.Get("any").Items()[i].Get("tool"), a.Tool) && valid
		}
	}
	return valid
}

// oneOf reports a mapping that has none of the keys, or more than one.
func oneOf(n *doc.Node, keys ...string) {
	if _, isMapping := n.Value().(map[string]any); !isMapping {
		return // reported
	}
	given := 0
	for _, key := range keys {
		if n.Get(key) != nil {
			given++
		}
	}
	if given != 1 {
		last := len(keys) - 1
		n.Errorf("", "needs exactly one of `%s` and `%s`", strings.Join(keys[:last], "`, `"), keys[last])
	}
}

// alternative returns the call that a says, whose keys are those of item.
func (d *decoder) alternative(a alternative, item *doc.Node, overrides map[string]override) trajectory.Call {
	c := trajectory.Kind(a.Kind)
	switch {
	case a.Tool != "":
		c = trajectory.Tool(a.Tool)
	case a.Does != "":
		c = trajectory.Does(a.Does)
	}
	c = argsMatch(c, a.ArgsMatch, item)
	if d.keys.Profiles == "none" {
		c = c.Profile(nil)
	}
	c = c.Mode(trajectory.ArgMode(d.keys.Args))
	var args trajectory.Args
	valid := true
	if a.Args != nil {
		switch own := a.Args.Value().(type) {
		case map[string]any:
			args, valid = arguments(a.Args)
		case string:
			if mode, ok := argMode(a.Args, own, "must be a mapping of arguments or one of"); ok {
				c = c.Mode(mode)
			}
			return c
		default:
			a.Args.Errorf("", "must be a mapping of arguments or one of %s", strings.Join(argModes(), ", "))
			return c
		}
	}
	base := c
	c = overrides[a.Tool].apply(base, args)
	if a.Tool == "" && a.Kind+a.Does != "" {
		for _, tool := range slices.Sorted(maps.Keys(overrides)) {
			c = c.ForTool(tool, overrides[tool].apply(base, args))
		}
	}
	if a.Tool+a.Kind+a.Does == "" || !valid {
		return c // reported
	}
	if err := c.Check(); err != nil {
		item.Errorf("args", "%v", err)
	}
	return c
}

// argsMatch returns the call in whose arguments, as JSON on one line with sorted keys, the regular expression is found.
func argsMatch(c trajectory.Call, expression string, item *doc.Node) trajectory.Call {
	if expression == "" {
		return c
	}
	re, err := expect.CompilePattern(expression)
	if err != nil {
		item.Errorf("args_match", "%v", err)
		return c
	}
	return c.Where("args_match "+expression, func(call trajectory.ToolCall) bool {
		text, err := jsonvalue.Marshal(call.Args)
		return err == nil && call.Args != nil && re.Match(text)
	})
}

// argMode returns the argument mode with that name. If there is none, it reports an error that begins with must.
func argMode(n *doc.Node, name, must string) (trajectory.ArgMode, bool) {
	if slices.Contains(argModes(), name) {
		return trajectory.ArgMode(name), true
	}
	n.Errorf("", "%s %s, not %q%s", must, strings.Join(argModes(), ", "), name, doc.DidYouMean(name, argModes()))
	return "", false
}

func argModes() []string {
	var names []string
	for _, m := range trajectory.ArgModes() {
		names = append(names, string(m))
	}
	return names
}

// arguments decodes what is expected of each argument. It returns false if it reported an error.
func arguments(n *doc.Node) (trajectory.Args, bool) {
	args, valid := make(trajectory.Args), true
	for _, e := range n.Entries() {
		if _, ok := e.Value.Value().(map[string]any); !ok {
			args[e.Key] = e.Value.Value()
			continue
		}
		arg, ok := matcher(e.Value)
		args[e.Key], valid = arg, valid && ok
	}
	return args, valid
}

// matcher decodes {name: parameter}. It returns false if it reported an error.
func matcher(n *doc.Node) (trajectory.Arg, bool) {
	entries := n.Entries()
	if len(entries) != 1 {
		n.Errorf("", "a matcher has one key, not %d: for a value that is a mapping write {equals: {...}}", len(entries))
		return trajectory.Arg{}, false
	}
	name, param := entries[0].Key, entries[0].Value
	if names := trajectory.ArgNames(); !slices.Contains(names, name) {
		hint := doc.DidYouMean(name, names)
		if hint == "" {
			hint = ": for a value that is a mapping write {equals: {...}}"
		}
		n.Errorf("", "unknown matcher %q%s", name, hint)
		return trajectory.Arg{}, false
	}
	arg, err := trajectory.NewArg(name, param.Value())
	if text, ok := param.Value().(string); err == nil && ok && name == "regex" {
		_, err = expect.CompilePattern(text)
	}
	if err != nil {
		param.Errorf("", "%v", err)
	}
	return arg, err == nil
}

// override says how the arguments of a tool's calls are compared. The zero value changes nothing.
type override struct {
	mode    trajectory.ArgMode
	fields  []string
	profile trajectory.Profile // nil: not given
	args    trajectory.Args    // matchers
}

// apply returns the call with these expected arguments, compared as the override says.
func (o override) apply(c trajectory.Call, args trajectory.Args) trajectory.Call {
	if args != nil && o.fields != nil {
		c = c.Fields(o.fields...)
	}
	if o.mode != "" {
		c = c.Mode(o.mode)
	}
	if o.profile != nil {
		c = c.Profile(o.profile)
	}
	all := maps.Clone(args)
	for name, arg := range o.args {
		if _, own := args[name].(trajectory.Arg); own {
			continue
		}
		if all == nil {
			all = make(trajectory.Args)
		}
		all[name] = arg
	}
	if all == nil {
		return c
	}
	return c.Args(all)
}

// alternatives returns what the expected calls say, those with alternatives as often as they have some.
func (d *decoder) alternatives() []alternative {
	var all []alternative
	for _, s := range d.keys.Expected {
		if all = append(all, s.Any...); s.Any == nil {
			all = append(all, alternative{s.Tool, s.Kind, s.Does, s.Args, s.ArgsMatch})
		}
	}
	return all
}

// overrides decodes the overrides, by tool.
func (d *decoder) overrides() map[string]override {
	called := make(map[string]bool)
	var tools []string
	kinds := false
	for _, s := range d.alternatives() {
		kinds = kinds || s.Tool == ""
		if s.Tool != "" && !called[s.Tool] {
			called[s.Tool] = true
			tools = append(tools, s.Tool)
		}
	}
	all := make(map[string]override)
	for _, e := range d.node.Get("overrides").Entries() {
		hint := doc.DidYouMean(e.Key, tools)
		// A call that is expected by its kind, or by what it does, may be a call of any tool.
		if !called[e.Key] && (!kinds || hint != "") {
			e.Value.Errorf("", "no call of %q is expected%s", e.Key, hint)
		}
		if !called[e.Key] && kinds && toolname.IsPattern(e.Key) {
			e.Value.Errorf("", "%q may be several tools: an override is for one", e.Key)
		} else if !called[e.Key] && kinds && hint == "" {
			plan.CheckOneTool(e.Value, e.Key)
		}
		all[e.Key] = d.override(e.Key, e.Value)
		if all[e.Key].fields != nil && (called[e.Key] || kinds) {
			d.found(e.Key, e.Value)
		}
	}
	return all
}

// found reports the paths of a tool's override that no expected call of the tool has. They are misspelt, most likely,
// and comparing them would always pass: neither the expected nor the actual call has them.
func (d *decoder) found(tool string, paths *doc.Node) {
	var args []map[string]any
	var known []string
	for _, s := range d.alternatives() {
		if s.Tool != tool && s.Tool != "" || s.Args == nil {
			continue
		}
		if own, ok := s.Args.Value().(map[string]any); ok {
			args = append(args, own)
			known = slices.AppendSeq(known, maps.Keys(own))
		}
	}
	if len(args) == 0 && !slices.ContainsFunc(d.alternatives(), func(a alternative) bool { return a.Tool == tool }) {
		return // no call of the tool is expected by its name, and none says what its arguments are
	}
	slices.Sort(known)
	for _, item := range paths.Items() {
		path, ok := item.Value().(string)
		parts := strings.Split(path, ".")
		if !ok || slices.Contains(parts, "") {
			continue // reported
		}
		if !slices.ContainsFunc(args, func(own map[string]any) bool { return hasPath(own, parts) }) {
			item.Errorf("", "no expected call of %q has %q%s", tool, path, doc.DidYouMean(path, known))
		}
	}
}

// hasPath reports whether expected arguments have a value at a path. Of the matchers, only equals has known parts; the
// others may have any.
func hasPath(args map[string]any, path []string) bool {
	v, ok := args[path[0]]
	if matcher, is := v.(map[string]any); is {
		if v, is = matcher["equals"]; !is {
			return true
		}
	}
	for _, name := range path[1:] {
		switch at := v.(type) {
		case map[string]any:
			v, ok = at[name]
		case []any:
			i, err := strconv.Atoi(name)
			if ok = err == nil && 0 <= i && i < len(at); ok {
				v = at[i]
			}
		default:
			return false
		}
		if !ok {
			return false
		}
	}
	return ok
}

func (d *decoder) override(tool string, n *doc.Node) override {
	const must = "must be a list of dotted paths, a mapping of arguments to matchers, or one of"
	var o override
	switch v := n.Value().(type) {
	case string:
		o.mode, _ = argMode(n, v, must)
	case []any:
		o.fields = fields(n)
	case map[string]any:
		d.overrideEach(&o, tool, n)
	default:
		n.Errorf("", "%s %s", must, strings.Join(argModes(), ", "))
	}
	return o
}

func fields(n *doc.Node) []string {
	paths := []string{}
	for _, item := range n.Items() {
		path, ok := item.Value().(string)
		if !ok || slices.Contains(strings.Split(path, "."), "") {
			item.Errorf("", "must be the path of an argument or of a part of one, with dots")
			continue
		}
		paths = append(paths, path)
	}
	if len(n.Items()) == 0 {
		n.Errorf("", "an empty list compares nothing: write `ignore`")
	}
	return paths
}

// overrideEach decodes a mapping of arguments to matchers, or to the names of matchers that take the expected value as
// their parameter.
func (d *decoder) overrideEach(o *override, tool string, n *doc.Node) {
	o.args = make(trajectory.Args)
	if d.keys.Profiles != "none" && d.keys.Args != "exact" {
		o.profile = trajectory.ToolProfile(tool)
	}
	if o.profile == nil {
		o.profile = make(trajectory.Profile)
	}
	for _, e := range n.Entries() {
		switch v := e.Value.Value().(type) {
		case map[string]any:
			if arg, ok := matcher(e.Value); ok {
				o.args[e.Key] = arg
			}
		case string:
			if names := trajectory.ArgNames(); !slices.Contains(names, v) {
				e.Value.Errorf("", "unknown matcher %q%s", v, doc.DidYouMean(v, names))
				continue
			}
			o.profile[e.Key] = v
		default:
			e.Value.Errorf("", "must be a matcher, such as {lte: 5}, or the name of one")
		}
	}
	if len(n.Entries()) == 0 {
		n.Errorf("", "must not be empty")
	}
}
