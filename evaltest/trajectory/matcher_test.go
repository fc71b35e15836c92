package trajectory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

func TestMatchers(t *testing.T) {
	tool := trajectory.Tool
	read := func(path string) trajectory.Call { return tool("Read").Args(args{"path": path}) }
	readCall := func(path string) trajectory.ToolCall { return call("Read", args{"path": path}) }
	took := func(name string, d time.Duration) trajectory.ToolCall {
		return trajectory.ToolCall{Name: name, Duration: d}
	}
	tests := []struct {
		name        string
		reason      string
		want        trajectory.Matcher
		run         *trajectory.Run
		held, total int
	}{
		{
			name: "exact same", want: trajectory.Exact(tool("a"), tool("b")),
			run: runOf(call("a", nil), call("b", nil)), held: 2, total: 2,
		},
		{
			name: "exact other order", want: trajectory.Exact(tool("a"), tool("b")),
			run: runOf(call("b", nil), call("a", nil)), held: 1, total: 2,
		},
		{
			name: "exact one more", reason: "judge table T3", want: trajectory.Exact(tool("search")),
			run: runOf(call("search", nil), call("get_weather", nil)), held: 1, total: 2,
		},
		{
			name: "exact one less", reason: "judge table T7: the missing call does not take report with it",
			want: trajectory.Exact(tool("search"), tool("analyze"), tool("report")),
			run:  runOf(call("search", nil), call("report", nil)), held: 2, total: 3,
		},
		{name: "exact nothing and nothing called", reason: "0/0 is 1", want: trajectory.Exact(), run: runOf()},
		{
			name: "exact nothing and something called", want: trajectory.Exact(),
			run: runOf(call("a", nil)), total: 1,
		},
		{
			name: "exact limits", reason: "judge table T4: limits count beside the calls",
			want: trajectory.Exact(tool("search").MaxDuration(10*time.Millisecond),
				tool("get_weather").MaxDuration(10*time.Millisecond)),
			run: runOf(took("search", 45*time.Millisecond), took("get_weather", 120*time.Millisecond)), held: 2,
			total: 4,
		},
		{
			name: "exact with another object inside", want: trajectory.Exact(tool("a").Args(args{"o": args{"a": "1"}})),
			run: runOf(call("a", args{"o": args{"a": "2"}})), total: 1,
		},
		{
			name: "in_order others between", want: trajectory.InOrder(tool("a"), tool("b")),
			run: runOf(call("x", nil), call("a", nil), call("x", nil), call("b", nil), call("x", nil)), held: 2,
			total: 2,
		},
		{
			name: "in_order other order", reason: "judge table T5",
			want: trajectory.InOrder(tool("get_weather"), tool("search")),
			run:  runOf(call("search", nil), call("get_weather", nil)), held: 1, total: 2,
		},
		{
			name: "in_order one missing", reason: "best alignment, not first fit",
			want: trajectory.InOrder(tool("a"), tool("b"), tool("c"), tool("d")),
			run:  runOf(call("b", nil), call("c", nil), call("d", nil), call("a", nil)), held: 3, total: 4,
		},
		{
			name: "in_order second of a kind", reason: "the first Read is not the one that was meant",
			want: trajectory.InOrder(read("b")), run: runOf(readCall("a"), readCall("b")), held: 1, total: 1,
		},
		{
			name: "in_order prefers calls in time", reason: "either Read would do but for its duration",
			want: trajectory.InOrder(tool("a").MaxDuration(time.Second)),
			run:  runOf(took("a", 2*time.Second), took("a", time.Second)), held: 2, total: 2,
		},
		{
			name: "superset prefers calls in time, with all arguments",
			want: trajectory.Superset(
				tool("a").Args(args{"x": 1}).Mode(trajectory.ExactArgs).MaxDuration(time.Second),
				tool("a").Args(args{"x": 1}).Mode(trajectory.ExactArgs),
			),
			run: runOf(
				trajectory.ToolCall{Name: "a", Args: args{"x": 1}, Duration: 2 * time.Second},
				trajectory.ToolCall{Name: "a", Args: args{"x": 1}, Duration: time.Second},
			), held: 3, total: 3,
		},
		{
			name: "superset any order", want: trajectory.Superset(tool("b"), tool("a")),
			run: runOf(call("a", nil), call("x", nil), call("b", nil)), held: 2, total: 2,
		},
		{
			name: "superset each its own", want: trajectory.Superset(tool("a"), tool("a")),
			run: runOf(call("a", nil)), held: 1, total: 2,
		},
		{
			name: "superset not first fit", reason: "the general expectation must leave Read(b) to the other",
			want: trajectory.Superset(tool("Read"), read("b")),
			run:  runOf(readCall("b"), readCall("a")), held: 2, total: 2,
		},
		{
			name: "superset and nothing called", reason: "a run in which nothing happened is a failure, not an error",
			want: trajectory.Superset(tool("a")), run: runOf(), total: 1,
		},
		{
			name:   "superset prefers calls in time",
			reason: "first fit would give the quick call to the expectation without limit",
			want:   trajectory.Superset(tool("a"), tool("a").MaxDuration(time.Second)),
			run:    runOf(took("a", time.Second), took("a", 2*time.Second)), held: 3, total: 3,
		},
		{
			name: "superset slow call still a call", want: trajectory.Superset(tool("a").MaxDuration(time.Second)),
			run: runOf(took("a", 2*time.Second)), held: 1, total: 2,
		},
		{
			name: "call that never ended is over its limit",
			want: trajectory.Superset(tool("a").MaxDuration(time.Hour)),
			run:  runOf(trajectory.ToolCall{Name: "a", Status: trajectory.Pending}), held: 1, total: 2,
		},
		{
			name: "tool by exact name", want: trajectory.Superset(tool("read")),
			run: runOf(call("Read", nil)), total: 1,
		},
		{
			name: "kind of any tool", want: trajectory.Superset(trajectory.Kind("execute")),
			run: runOf(trajectory.ToolCall{Name: "go test", Kind: "execute"}), held: 1, total: 1,
		},
		{
			name: "kind is no name", want: trajectory.Superset(trajectory.Kind("execute")),
			run: runOf(call("execute", nil)), total: 1,
		},
		{
			name: "never and nothing called", reason: "by definition", want: trajectory.Never("a"), run: runOf(),
			held: 1, total: 1,
		},
		{
			name: "never but called", want: trajectory.Never("a", "b"),
			run: runOf(call("b", nil), call("b", nil)), held: 1, total: 2,
		},
		{
			name: "strict same", want: trajectory.Strict(trajectory.Group{tool("a")}, trajectory.Group{tool("b")}),
			run: runOf(call("a", nil), call("b", nil)), held: 2, total: 2,
		},
		{
			name: "strict other order in a group", want: trajectory.Strict(trajectory.Group{tool("b"), tool("a")}),
			run: together(call("a", nil), call("b", nil)), held: 2, total: 2,
		},
		{
			name: "strict grouped otherwise", reason: "the same calls, but not made together",
			want: trajectory.Strict(trajectory.Group{tool("a"), tool("b")}),
			run:  runOf(call("a", nil), call("b", nil)), held: 1, total: 2,
		},
		{
			name: "strict made together", want: trajectory.Strict(trajectory.Group{tool("a")},
				trajectory.Group{tool("b")}),
			run: together(call("a", nil), call("b", nil)), held: 1, total: 2,
		},
		{
			name: "strict other order", want: trajectory.Strict(trajectory.Group{tool("a")},
				trajectory.Group{tool("b")}),
			run: runOf(call("b", nil), call("a", nil)), held: 1, total: 2,
		},
		{
			name: "strict not first fit", reason: "the general expectation must leave Read(b) to the other",
			want: trajectory.Strict(trajectory.Group{tool("Read"), read("b")}),
			run:  together(readCall("b"), readCall("a")), held: 2, total: 2,
		},
		{
			name: "strict one group missing", reason: "a missing group does not take those after it along",
			want: trajectory.Strict(trajectory.Group{tool("a")}, trajectory.Group{tool("b")},
				trajectory.Group{tool("c")}),
			run: runOf(call("b", nil), call("c", nil)), held: 2, total: 3,
		},
		{name: "strict nothing", reason: "0/0 is 1", want: trajectory.Strict(), run: runOf()},
		{name: "strict nothing and something called", want: trajectory.Strict(), run: runOf(call("a", nil)), total: 1},
		{
			name: "unordered any order", want: trajectory.Unordered(tool("b"), tool("a")),
			run: runOf(call("a", nil), call("b", nil)), held: 2, total: 2,
		},
		{
			name: "unordered one more", want: trajectory.Unordered(tool("a")),
			run: runOf(call("x", nil), call("a", nil)), held: 1, total: 2,
		},
		{
			name: "unordered one less", want: trajectory.Unordered(tool("a"), tool("b"), tool("c")),
			run: runOf(call("c", nil), call("a", nil)), held: 2, total: 3,
		},
		{
			name: "unordered not first fit", want: trajectory.Unordered(tool("Read"), read("b")),
			run: runOf(readCall("b"), readCall("a")), held: 2, total: 2,
		},
		{
			name: "unordered nothing and something called", want: trajectory.Unordered(),
			run: runOf(call("a", nil)), total: 1,
		},
		{
			name: "subset", want: trajectory.Subset(tool("a"), tool("b")),
			run: runOf(call("b", nil)), held: 1, total: 1,
		},
		{
			name: "subset each its own", want: trajectory.Subset(tool("a"), tool("b")),
			run: runOf(call("b", nil), call("b", nil)), held: 1, total: 2,
		},
		{
			name: "subset and nothing called", reason: "doing nothing passes",
			want: trajectory.Subset(tool("a")), run: runOf(),
		},
		{name: "subset of nothing", want: trajectory.Subset(), run: runOf(call("a", nil)), total: 1},
		{
			name: "subset limit of a call that was made", want: trajectory.Subset(tool("a").MaxDuration(time.Second)),
			run: runOf(took("a", 2*time.Second)), held: 1, total: 2,
		},
		{
			name: "subset limit of a call that was not made",
			want: trajectory.Subset(tool("a"), tool("b").MaxDuration(time.Second)),
			run:  runOf(call("a", nil)), held: 1, total: 1,
		},
		{
			name: "any_order", reason: "judge table T1: each tool is one expectation",
			want: trajectory.AnyOrder(trajectory.Counts{"search": 2, "get_weather": 1}),
			run:  runOf(call("search", nil), call("get_weather", nil)), held: 1, total: 2,
		},
		{
			name: "at_least", want: trajectory.AtLeast(trajectory.Counts{"a": 2}),
			run: runOf(call("a", nil), call("a", nil), call("a", nil)), held: 1, total: 1,
		},
		{
			name: "at_most", want: trajectory.AtMost(trajectory.Counts{"a": 1, "b": 0, "c": 1}),
			run: runOf(call("a", nil), call("a", nil)), held: 2, total: 3,
		},
		{
			name: "before", want: trajectory.Before("a", "b", "c"),
			run: runOf(call("a", nil), call("b", nil), call("c", nil), call("a", nil)), held: 2, total: 2,
		},
		{
			name: "before but after", reason: "the first b decides",
			want: trajectory.Before("a", "b"), run: runOf(call("b", nil), call("a", nil), call("b", nil)), total: 1,
		},
		{
			name: "before, the first of three too late", want: trajectory.Before("a", "b", "c"),
			run: runOf(call("c", nil), call("a", nil), call("b", nil)), held: 1, total: 2,
		},
		{
			name: "before, all in a wrong order but the first", want: trajectory.Before("a", "b", "c", "d"),
			run: runOf(call("d", nil), call("a", nil), call("c", nil), call("b", nil)), held: 1, total: 3,
		},
		{name: "before but without", want: trajectory.Before("a", "b"), run: runOf(call("b", nil)), total: 1},
		{
			name: "before and neither called", reason: "nothing is out of order",
			want: trajectory.Before("a", "b"), run: runOf(), held: 1, total: 1,
		},
		{
			name: "no_duplicates", reason: "1 is 1.0, another argument is another call",
			want: trajectory.NoDuplicates(), run: runOf(call("a", args{"x": 1}), call("a", args{"x": 1.5}),
				call("b", args{"x": 1})), held: 1, total: 1,
		},
		{
			name: "no_duplicates but one", want: trajectory.NoDuplicates(),
			run: runOf(call("a", args{"x": 1, "y": 2}), call("b", nil), call("a", args{"y": 2, "x": 1.0})), total: 1,
		},
		{
			name: "no_duplicates of some tools", want: trajectory.NoDuplicates("a", "b"),
			run: runOf(call("a", nil), call("c", nil), call("c", nil), call("b", nil), call("b", nil)), held: 1,
			total: 2,
		},
		{
			name: "no_duplicates of arguments that are no object", want: trajectory.NoDuplicates(),
			run: runOf(trajectory.ToolCall{Name: "a", Args: "x"}, trajectory.ToolCall{Name: "a", Args: "y"}), held: 1,
			total: 1,
		},
		{
			name: "limit of the run", want: trajectory.MaxDuration(3 * time.Second),
			run: runOf(took("a", time.Second), took("a", 2*time.Second)), held: 1, total: 1,
		},
		{
			name: "limit of a run that does not begin at 0", want: trajectory.MaxDuration(time.Second),
			run: &trajectory.Run{Events: []trajectory.Event{
				{At: 5 * time.Second, Body: trajectory.Prompt{}}, {At: 6 * time.Second, Body: trajectory.Stop{}},
			}}, held: 1, total: 1,
		},
		{
			name: "limit of the run exceeded", want: trajectory.MaxDuration(3*time.Second - 1),
			run: runOf(took("a", time.Second), took("a", 2*time.Second)), total: 1,
		},
		{name: "limit of an empty run", want: trajectory.MaxDuration(1), run: runOf(), held: 1, total: 1},
		{
			name: "where", want: trajectory.Superset(tool("a").Where("in the first turn",
				func(c trajectory.ToolCall) bool { return c.Turn == 1 })),
			run: runOf(call("a", nil)), held: 1, total: 1,
		},
		{
			name: "where not", want: trajectory.Superset(tool("a").Mode(trajectory.IgnoreArgs).Where("failed",
				func(c trajectory.ToolCall) bool { return c.Status == trajectory.Failed })),
			run: runOf(call("a", args{"x": 1})), total: 1,
		},
		{
			name: "all counts together", want: trajectory.All(trajectory.InOrder(tool("a"), tool("b")),
				trajectory.Never("x")),
			run: runOf(call("b", nil)), held: 2, total: 3,
		},
		{
			name: "all of all", want: trajectory.All(trajectory.All(trajectory.Superset(tool("a")),
				trajectory.Never("x")), trajectory.Exact(tool("a"))),
			run: runOf(call("a", nil)), held: 3, total: 3,
		},
	}
	names := make(map[string]bool)
	for _, test := range tests {
		assert.False(t, names[test.name], "%s: name used twice", test.name)
		names[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			r := test.want.Match(test.run)
			require.NoError(t, r.Err)
			assert.Equal(t, test.held, r.Held, "held: %s\n%s", test.reason, r)
			assert.Equal(t, test.total, r.Total, "total: %s\n%s", test.reason, r)
			assert.Equal(t, test.held == test.total, r.Pass, test.reason)
			assert.Equal(t, r.Pass, r.Reason() == "", "a reason is given exactly for a failure")
		})
	}
}

func TestArgModes(t *testing.T) {
	type verdicts map[trajectory.ArgMode]bool
	const (
		exact    = trajectory.ExactArgs
		ignore   = trajectory.IgnoreArgs
		subset   = trajectory.SubsetArgs
		superset = trajectory.SupersetArgs
	)
	tests := []struct {
		name   string
		want   args
		actual any
		pass   verdicts // false where not listed
	}{
		{
			"same",
			args{"a": 1, "b": 2},
			map[string]any{"b": 2, "a": 1},
			verdicts{exact: true, ignore: true, subset: true, superset: true},
		},
		{"one more", args{"a": 1}, map[string]any{"a": 1, "b": 2}, verdicts{ignore: true, superset: true}},
		{"one less", args{"a": 1, "b": 2}, map[string]any{"a": 1}, verdicts{ignore: true, subset: true}},
		{"another value", args{"a": 1}, map[string]any{"a": 2}, verdicts{ignore: true}},
		{
			"values are compared to the bottom",
			args{"a": map[string]any{"x": 1}},
			map[string]any{"a": map[string]any{"x": 1, "y": 2}},
			verdicts{ignore: true},
		},
		{"null is not absent", args{"a": nil}, map[string]any{}, verdicts{ignore: true, subset: true}},
		{
			"absent",
			args{"a": trajectory.Absent()},
			map[string]any{},
			verdicts{exact: true, ignore: true, subset: true, superset: true},
		},
		{"another for one less", args{"a": 1, "b": 2}, map[string]any{"a": 1, "c": 2}, verdicts{ignore: true}},
		{
			"another for absent",
			args{"a": 1, "b": trajectory.Absent()},
			map[string]any{"a": 1, "c": 2},
			verdicts{ignore: true, superset: true},
		},
		{"absent but there", args{"a": trajectory.Absent()}, map[string]any{"a": nil}, verdicts{ignore: true}},
		{"none and none", nil, nil, verdicts{exact: true, ignore: true, subset: true, superset: true}},
		{
			"none and an empty object", nil,
			map[string]any{},
			verdicts{exact: true, ignore: true, subset: true, superset: true},
		},
		{"none and some", nil, map[string]any{"a": 1}, verdicts{ignore: true, superset: true}},
		{"some and none", args{"a": 1}, nil, verdicts{ignore: true, subset: true}},
		{"none and a text", nil, "ls -l", verdicts{ignore: true, superset: true}},
		{"some and a text", args{"command": "ls -l"}, "ls -l", verdicts{ignore: true}},
	}
	for _, test := range tests {
		for _, mode := range append(trajectory.ArgModes(), "") {
			t.Run(test.name+"/"+string(mode), func(t *testing.T) {
				expected := trajectory.Tool("tool").Args(test.want)
				pass := test.pass[superset] // the default
				if mode != "" {
					expected, pass = expected.Mode(mode), test.pass[mode]
				}
				r := trajectory.Superset(expected).Match(runOf(trajectory.ToolCall{Name: "tool", Args: test.actual}))
				require.NoError(t, r.Err)
				assert.Equal(t, pass, r.Pass, r)
			})
		}
	}
}

// A matcher is not changed by what its caller does with the lists it was made of.
func TestMatcherKeepsItsExpectations(t *testing.T) {
	calls := []trajectory.Call{trajectory.Tool("a")}
	expected := args{"x": 1}
	withArgs := calls[0].Args(expected)
	m := trajectory.All(trajectory.Superset(calls...), trajectory.Superset(withArgs))
	calls[0] = trajectory.Tool("b")
	expected["x"] = 2
	assert.True(t, m.Match(runOf(call("a", nil), call("a", args{"x": 1}))).Pass)
}

// What would be ignored in silence is an error.
func TestMatcherInsideValue(t *testing.T) {
	arg := trajectory.Path("a")
	for name, value := range map[string]any{
		"a list of matchers": []trajectory.Arg{arg}, "a pointer": &arg,
		"a map of matchers": map[string]trajectory.Arg{"x": arg},
		"a struct":          struct{ P trajectory.Arg }{arg},
	} {
		err := trajectory.Superset(trajectory.Tool("t").Args(args{"p": value})).Check()
		assert.ErrorContains(t, err, "an argument matcher must be a whole argument", name)
	}
}

type odd struct{}

func (odd) EventName() string { return "tool_call" }

func TestUnknownBodies(t *testing.T) {
	for _, body := range []trajectory.Body{
		nil,
		odd{},
		&trajectory.ToolStart{ID: "1", Name: "rm"},
		(*trajectory.ToolEnd)(nil),
	} {
		run := &trajectory.Run{Events: []trajectory.Event{{Body: trajectory.Prompt{}}, {Body: body}}}
		r := trajectory.Never("rm").Match(run)
		assert.False(t, r.Pass)
		assert.EqualError(t, r.Err,
			fmt.Sprintf("event 2 of the run: unknown type of body %T", body))
	}
	var all []trajectory.Event
	for _, body := range []trajectory.Body{
		trajectory.Prompt{},
		trajectory.Message{},
		trajectory.Thought{},
		trajectory.Plan{},
		trajectory.ToolStart{Name: "ls"},
		trajectory.ToolEnd{},
		trajectory.MCPCall{},
		trajectory.FileRead{},
		trajectory.FileWrite{},
		trajectory.Terminal{},
		trajectory.Permission{},
		trajectory.Notice{},
		trajectory.State{},
		trajectory.Stop{},
	} {
		all = append(all, trajectory.Event{Body: body})
	}
	assert.NoError(t, trajectory.Never("rm").Match(&trajectory.Run{Events: all}).Err)
}

// What panics is a fault of the rule, so nothing is known of the run.
func TestRulePanics(t *testing.T) {
	rule := func(c trajectory.ToolCall) bool { return *c.ExitCode == 0 }
	want := trajectory.Superset(trajectory.Tool("ls"),
		trajectory.Tool("Bash").Args(args{"command": "ls"}).Where("exit code 0", rule))
	r := want.Match(runOf(call("ls", nil), call("Bash", args{"command": "ls"})))
	assert.False(t, r.Pass)
	assert.EqualError(t, r.Err, "Bash command=ls where exit code 0: the rule panicked at Bash command=ls: "+
		"runtime error: invalid memory address or nil pointer dereference")
	asked := 0
	later := trajectory.Exact(trajectory.Tool("Bash").Where("calm", func(trajectory.ToolCall) bool {
		if asked++; asked > 1 {
			panic("again")
		}
		return false
	})).Match(runOf(call("Bash", nil)))
	require.NoError(t, later.Err)
	assert.Contains(t, later.String(), "want calm (panicked)")
}

// A matcher that expects nothing would match any run.
func TestMatchersWithoutCalls(t *testing.T) {
	for name, test := range map[string]struct {
		want trajectory.Matcher
		err  string
	}{
		"superset": {trajectory.Superset(), "superset: needs at least one call"},
		"in_order": {trajectory.InOrder(), "in_order: needs at least one call"},
		"beside a constraint": {
			trajectory.All(trajectory.Never("x"), trajectory.Superset()),
			"superset: needs at least one call",
		},
		"exact":     {trajectory.Exact(), ""},
		"strict":    {trajectory.Strict(), ""},
		"unordered": {trajectory.Unordered(), ""},
		"subset":    {trajectory.Subset(), ""},
	} {
		r := test.want.Match(runOf())
		if test.err == "" {
			assert.NoError(t, r.Err, name)
			assert.True(t, r.Pass, name)
			continue
		}
		assert.EqualError(t, r.Err, test.err, name)
		assert.False(t, r.Pass, name)
	}
}
