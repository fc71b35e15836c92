package trajectory

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/toolname"
	"github.com/sdd-eval/sdd-eval/internal/wildcard"
)

// Args are the arguments that an expected call should have: for each name an argument matcher such as [Path], or a
// plain value, which stands for [Equals] of it.
type Args map[string]any

// ArgMode says how the arguments of a call are compared with the expected ones, by top-level name.
type ArgMode string

// The argument modes. The zero value is SupersetArgs.
const (
	ExactArgs    ArgMode = "exact"    // the same names, each matching
	IgnoreArgs   ArgMode = "ignore"   // not looked at
	SubsetArgs   ArgMode = "subset"   // actual within expected: no other names, each matching, some may be missing
	SupersetArgs ArgMode = "superset" // expected within actual: every expected name, each matching; others may be there
)

// ArgModes returns the argument modes, sorted.
func ArgModes() []ArgMode { return []ArgMode{ExactArgs, IgnoreArgs, SubsetArgs, SupersetArgs} }

// Call is one expected tool call. It is a value: each method returns a changed copy.
type Call struct {
	tool, kind string
	deed       string     // of [Does]
	any        []Call     // of [AnyOf]
	isAny      bool       // made by AnyOf
	by         Actor      // empty: anybody
	args       []namedArg // sorted by name
	mode       ArgMode
	fields     []string // dotted paths; none: all arguments, by mode
	profile    Profile
	ownProfile bool // profile replaces the tool's
	rules      []rule
	limit      time.Duration   // 0: none
	tools      map[string]Call // of a kind: how the arguments of calls of these tools are compared
	err        error
}

type namedArg struct {
	name string
	path []string // of a field; nil: the name is that of an argument
	Arg
	plain bool // given as a value, not as a matcher
}

// of returns the value that the call has for the argument, and whether it has one. To a call that is expected by its
// kind or by what it does, the title of a command line without arguments is its argument "command".
func (a *namedArg) of(o *observed, c *Call) (any, bool) {
	if a.path == nil {
		v, ok := o.args[a.name]
		if !ok && c.tool == "" && a.name == "command" {
			return o.titleLine()
		}
		return v, ok
	}
	v := lookup(any(o.args), a.path)
	return v, v != nil
}

// rule is a condition on a call beyond its arguments.
type rule struct {
	name  string
	holds func(ToolCall) bool
}

// ask reports whether the call satisfies the rule. If the rule panics, it returns an error.
func (r rule) ask(o *observed) (holds bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the rule panicked at %s: %v", o.summary(), p)
		}
	}()
	return r.holds(*o.ToolCall), nil
}

// fault is the panic value that ends matching when a rule has panicked; [Matcher.Match] returns it as an error.
type fault struct{ error }

// Tool expects a call of the tool with this name, [ToolCall.Name], in which * stands for any number of characters and
// everything else for itself: "mcp__stock__*".
func Tool(name string) Call {
	c := Call{tool: name}
	if name == "" {
		c.err = errors.New("a tool needs a name")
	}
	return c
}

// Kinds returns the kinds of calls that the Agent Client Protocol has.
func Kinds() []string {
	return []string{"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}
}

// Kind expects a call of this kind, one of [Kinds] and [ToolCall.Kind], whatever its tool. It is for agents that give
// tools no names, or several names for one thing. A shell that runs grep is of kind execute: see [Does]. Where an agent
// reports no arguments of a command line, the title stands for the expected argument "command".
func Kind(kind string) Call {
	c := Call{kind: kind}
	switch {
	case kind == "":
		c.err = errors.New("a kind needs a name")
	case !slices.Contains(Kinds(), kind):
		c.err = fmt.Errorf("there is no kind %q: want one of %s", kind, strings.Join(Kinds(), ", "))
	}
	return c
}

// Args returns the call with these expected arguments in place of those it had.
func (c Call) Args(args Args) Call {
	c.args = make([]namedArg, 0, len(args))
	for _, name := range slices.Sorted(maps.Keys(args)) {
		arg, ok := args[name].(Arg)
		if !ok {
			arg = Equals(args[name]) // or as the profile has it
		}
		if arg.err == nil && arg.holds == nil {
			arg.err = errors.New("a zero Arg matches nothing: use a function that returns an Arg")
		}
		if arg.err != nil {
			c.err = errors.Join(c.err, fmt.Errorf("%s: %w", name, arg.err))
		}
		c.args = append(c.args, namedArg{name: name, Arg: arg, plain: !ok})
	}
	return c
}

// Mode returns the call with its arguments compared in mode m. Without expected arguments [ExactArgs] and
// [SubsetArgs] want a call that has none.
func (c Call) Mode(m ArgMode) Call {
	c.mode = m
	if !slices.Contains(ArgModes(), m) {
		c.err = errors.Join(c.err, fmt.Errorf("unknown argument mode %q: want one of %q", m, ArgModes()))
	}
	return c
}

// Where returns the call with an additional rule: holds must return true. It is called with calls that are otherwise as
// expected, possibly more than once with each, and must not change their arguments. If it panics, matching returns an
// error. Failure texts show what as the name of the rule.
func (c Call) Where(what string, holds func(ToolCall) bool) Call {
	c.rules = append(slices.Clip(c.rules), rule{what, holds})
	if holds == nil {
		c.err = errors.Join(c.err, fmt.Errorf("where %s: no function", label(what)))
	}
	return c
}

// ForTool returns the call, which must be made by [Kind] or [Does], with the arguments of calls of this tool compared
// as own compares them. Nothing else of own is used.
func (c Call) ForTool(tool string, own Call) Call {
	c.tools = maps.Clone(c.tools)
	if c.tools == nil {
		c.tools = make(map[string]Call)
	}
	c.tools[tool] = own
	if c.kind+c.deed == "" || tool == "" || toolname.IsPattern(tool) {
		c.err = errors.Join(c.err,
			fmt.Errorf("for tool %q: needs the name of one tool and a call made by Kind or Does", tool))
	}
	return c
}

// MaxDuration returns the call limited to d, which must be positive. The limit counts as one more expectation: a slower
// call still matches. A call that never ended, or was cancelled, exceeds any limit.
func (c Call) MaxDuration(d time.Duration) Call {
	c.limit = d
	if d <= 0 {
		c.err = errors.Join(c.err, fmt.Errorf("limit %v must be positive", d))
	}
	return c
}

// String returns the call as failure texts show it, e.g. "issue_refund amount=40".
func (c Call) String() string {
	var b strings.Builder
	if !c.isAny {
		b.WriteString(c.name())
	}
	for i, alternative := range c.any {
		if i > 0 {
			b.WriteString(" or ")
		}
		b.WriteString(alternative.String())
	}
	for _, arg := range c.args {
		b.WriteString(" " + assign(arg.name, arg.String()))
	}
	for _, r := range c.rules {
		b.WriteString(" where " + label(r.name))
	}
	if c.by != "" {
		b.WriteString(" by " + string(c.by))
	}
	if c.limit > 0 {
		fmt.Fprintf(&b, " within %v", c.limit)
	}
	return b.String()
}

func (c Call) name() string {
	switch {
	case c.isAny:
		if len(c.any) == 0 {
			return "any of none"
		}
		names := make([]string, len(c.any))
		for i, alternative := range c.any {
			names[i] = alternative.name()
		}
		return strings.Join(names, " or ")
	case c.tool != "":
		return label(c.tool)
	case c.deed != "":
		return "does " + label(c.deed)
	}
	return "kind " + label(c.kind)
}

// Check returns an error if the call is malformed. Matching returns it, too.
func (c Call) Check() error {
	_, err := c.ready()
	return err
}

// ready returns the call with its profile or its fields applied, or an error if the call is malformed.
func (c Call) ready() (Call, error) {
	switch {
	case c.err != nil:
		return c, c.err
	case c.isAny:
		return c.readyAny()
	case c.tool+c.kind+c.deed == "":
		return c, errors.New("a zero Call expects nothing: use Tool, Kind, Does or AnyOf")
	}
	var err error
	switch {
	case len(c.fields) > 0:
		c.args, err = c.fielded()
		c.mode = SupersetArgs
	case c.mode != ExactArgs || c.ownProfile:
		c.args, err = c.profiled()
	}
	tools := c.tools
	c.tools = maps.Clone(tools)
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		own, ownErr := tools[name].ready()
		if ownErr != nil {
			err = errors.Join(err, fmt.Errorf("for tool %s: %w", label(name), ownErr))
		}
		c.tools[name] = own
	}
	return c, err
}

// forCall returns the call with which the arguments of o are compared: c, the one that [Call.ForTool] set, or one of
// [AnyOf].
func (c *Call) forCall(o *observed, cwd string) *Call {
	if c.isAny {
		return c.alternative(o, cwd)
	}
	if _, ok := c.tools[o.Name]; !ok {
		return c
	}
	own := c.tools[o.Name] // which is allocated
	own.rules, own.by = c.rules, c.by
	return &own
}

// key returns a text that is the same only for calls that accept the same calls, apart from their rules.
func (c *Call) key() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q %q %q %q %s %v", c.tool, c.kind, c.deed, c.by, c.mode, c.limit)
	for i := range c.args {
		a := &c.args[i]
		// As Go syntax, in which no two values are the same; JSON replaces what is not UTF-8.
		fmt.Fprintf(&b, " %q %t %s(%#v)", a.name, a.path != nil, a.Arg.name, a.param)
	}
	return b.String()
}

// calls reports whether o is a call of the expected tool or kind, or does what is expected.
func (c *Call) calls(o *observed) bool {
	switch {
	case c.isAny:
		return slices.ContainsFunc(c.any, func(a Call) bool { return a.calls(o) })
	case c.deed != "":
		return slices.Contains(o.does(), c.deed)
	case o.later:
		return false
	case c.tool != "":
		return wildcard.Match(c.tool, o.Name)
	}
	return c.kind == o.Kind
}

// expects reports whether there is an expected argument with this name.
func (c *Call) expects(name string) bool {
	_, ok := slices.BinarySearchFunc(c.args, name, func(a namedArg, name string) int {
		return strings.Compare(a.name, name)
	})
	return ok
}

// accepts reports whether o is the expected call, apart from its duration.
func (c *Call) accepts(o *observed, cwd string) bool {
	if !c.calls(o) || !c.by.made(o) {
		return false
	}
	if c.isAny {
		if !slices.ContainsFunc(c.any, func(a Call) bool { return a.accepts(o, cwd) }) {
			return false
		}
	} else {
		for range c.forCall(o, cwd).differences(o, cwd) {
			return false
		}
	}
	for _, r := range c.rules {
		holds, err := r.ask(o)
		if err != nil {
			panic(fault{fmt.Errorf("%v: %w", c, err)})
		}
		if !holds {
			return false
		}
	}
	return true
}

// inTime reports whether o is within the limit of the call.
func (c *Call) inTime(o *observed) bool {
	return c.limit == 0 || o.ended() && o.Duration <= c.limit
}

// difference is one argument that is not as expected.
type difference struct {
	name string // empty: the arguments as a whole, which are not an object
	want *Arg   // nil: the argument should not be there
	got  any    // decoded JSON
	has  bool   // the argument is there
}

// differences yields the differences between the arguments of o and the expected ones, by name.
func (c *Call) differences(o *observed, cwd string) iter.Seq[difference] {
	return func(yield func(difference) bool) {
		if c.mode == IgnoreArgs {
			return
		}
		wanted := 0 // actual arguments that are expected
		for i := range c.args {
			arg := &c.args[i]
			got, has := arg.of(o, c)
			d := difference{name: arg.name, want: &arg.Arg, got: got, has: has}
			switch {
			case arg.absent():
				if !has {
					continue
				}
				wanted++
				d.want = nil
			case !has:
				if c.mode == SubsetArgs {
					continue
				}
			default:
				wanted++
				if arg.holds(got, cwd) {
					continue
				}
			}
			if !yield(d) {
				return
			}
		}
		if c.mode != ExactArgs && c.mode != SubsetArgs {
			return
		}
		if o.whole != nil && !yield(difference{got: o.whole, has: true}) || wanted == len(o.args) {
			return
		}
		for _, name := range o.names() {
			if !c.expects(name) && !yield(difference{name: name, got: o.args[name], has: true}) {
				return
			}
		}
	}
}
