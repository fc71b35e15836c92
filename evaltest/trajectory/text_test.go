package trajectory_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// TestFailureText compares all texts that people read with one golden file.
func TestFailureText(t *testing.T) {
	tool := trajectory.Tool
	long := strings.Repeat("all the same here, ", 20)
	many := func(n int, c trajectory.ToolCall) (calls []trajectory.ToolCall) {
		for range n {
			calls = append(calls, c)
		}
		return calls
	}
	expect := func(n int, c trajectory.Call) (calls []trajectory.Call) {
		for range n {
			calls = append(calls, c)
		}
		return calls
	}
	refund := []trajectory.Call{
		tool("read_file").Args(args{"path": "order.json"}),
		tool("issue_refund").Args(args{"amount": 40}),
	}
	shapes := []struct {
		name string
		want trajectory.Matcher
		run  *trajectory.Run
	}{
		{"one argument differs", trajectory.InOrder(refund...), runOf(
			call("read_file", args{"path": "order.json"}),
			call("issue_refund", args{"amount": 100, "reason": "late"}))},
		{"pass", trajectory.InOrder(refund...), runOf(
			call("read_file", args{"path": "order.json"}), call("issue_refund", args{"amount": 40.0}))},
		{"nothing called", trajectory.InOrder(refund...), runOf()},
		{"tool not called", trajectory.Superset(refund...), runOf(
			call("list_files", nil), call("read_file", args{"path": "order.json"}), call("list_files", nil))},
		{
			"tool not called again", trajectory.Superset(refund[1], refund[1]),
			runOf(call("issue_refund", args{"amount": 40})),
		},
		{
			"argument missing",
			trajectory.Superset(tool("Read").Args(args{"file_path": trajectory.Path("a.go"), "limit": 10})),
			runOf(call("Read", args{"file_path": "$WORKSPACE/a.go", "offset": 3})),
		},
		{
			"arguments too many", trajectory.Superset(tool("Read").Args(args{
				"file_path": "a.go",
				"limit":     trajectory.Absent(),
			}).Mode(trajectory.ExactArgs)),
			runOf(call("Read", args{"file_path": "a.go", "limit": 5, "offset": 3})),
		},
		{
			"arguments that are no object", trajectory.Superset(tool("exec").Mode(trajectory.ExactArgs)),
			runOf(trajectory.ToolCall{Name: "exec", Args: "ls -l"}),
		},
		{"every matcher of arguments", trajectory.Superset(tool("t").Args(args{
			"a": nil, "b": trajectory.Contains("needle here"), "c": trajectory.ContainsCI("x"),
			"d": trajectory.EndsWith("x"),
			"e": trajectory.Regex("^go (test|vet)"),
		}), tool("t").Args(args{
			"f": trajectory.Glob("src/**/*.go"), "g": trajectory.Path("src/a.go"),
			"h": trajectory.OneOf("a", 1, "1", nil),
			"i": trajectory.GTE(1), "j": trajectory.LTE(1.5), "k": trajectory.Near(40, 0.5), "l": trajectory.Any(),
			"m": trajectory.Type("string"), "n": trajectory.Absent(),
		})), runOf()},
		{
			"more differences than fit",
			trajectory.Superset(tool("t").Args(args{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1})),
			runOf(call("t", args{"a": 2, "b": 2, "c": 2, "d": 1, "e": 2, "f": 2})),
		},
		{
			"text for number", trajectory.Superset(tool("t").Args(args{"a": 1, "b": "true", "c": "x"})),
			runOf(call("t", args{"a": "1", "b": true, "c": "x y"})),
		},
		{
			"inside a value", trajectory.Superset(tool("edit").Args(args{"opts": args{
				"start": 1, "end": 3,
				"lines": []int{1, 2, 3}, "more": 0,
			}})),
			runOf(call("edit", args{"opts": args{"start": 1, "end": 2, "lines": []int{1, 3}, "less": nil}})),
		},
		{
			"value of another type", trajectory.Superset(tool("edit").Args(args{"opts": args{"start": 1}})),
			runOf(call("edit", args{"opts": []any{1}})),
		},
		{
			"long texts part late", trajectory.Superset(tool("Write").Args(args{"content": long + "one"})),
			runOf(call("Write", args{"content": long + "two\nand more"})),
		},
		{
			"long texts part early", trajectory.Superset(tool("Write").Args(args{"content": "x" + long})),
			runOf(call("Write", args{"content": "y" + long})),
		},
		{
			"long texts of the agent",
			trajectory.Superset(tool("Write").Args(args{"content": trajectory.Contains(long), "path": "a"})),
			runOf(call("Write", args{"content": "short", "path": long})),
		},
		{
			"control characters of the agent", trajectory.Superset(tool("Bash").Args(args{"command": "ls"})),
			runOf(call("Bash", args{"command": "\x1b[2J\u202e"}), call("\x1b[31mBash", args{"\x1b]0;": 1})),
		},
		{
			"control characters inside values",
			trajectory.Superset(tool("Bash").Args(args{"command": trajectory.Contains("ls")})),
			runOf(call("Bash", args{"command": []any{
				"\u009b31m", "a\u202eb", "\x7f", "\u00a0",
				"\U000e0001", "ä 😀",
			}})),
		},
		{
			"not done", trajectory.InOrder(trajectory.Does("read"), trajectory.Does("edit").By(trajectory.Main),
				trajectory.AnyOf(tool("rm"), trajectory.Does("delete")).MaxDuration(time.Second)),
			runOf(shell("sed -i s/a/b/ a.go; cat a.go"), shell("go test ./..."), ofKind("WebFetch", "fetch")),
		},
		{
			"a set of what is done", trajectory.Superset(trajectory.Does("delete"), tool("Bash")),
			runOf(shell("cat a.go && rm a.go")),
		},
		{
			"done though it must not be", trajectory.All(
				trajectory.NeverCall(tool("WebFetch"), trajectory.Does("delete"), trajectory.Does("edit").Args(args{
					"command": trajectory.Contains("a.go"),
				})),
				trajectory.BeforeCall(trajectory.Does("read"), trajectory.Does("edit"), trajectory.Kind("fetch"))),
			runOf(shell("sed -i s/a/b/ a.go; cat a.go"), shell("ls && rm -r b"), ofKind("WebFetch", "fetch")),
		},
		{
			"in another order", trajectory.InOrder(tool("get_weather"), tool("search")),
			runOf(call("search", args{"query": "weather Paris", "limit": 10}),
				call("get_weather", args{"location": "Paris"})),
		},
		{
			"too late", trajectory.InOrder(tool("a"), tool("b"), tool("c")),
			runOf(call("b", nil), call("c", nil), call("a", nil)),
		},
		{
			"other argument in another place", trajectory.InOrder(tool("a"), tool("b").Args(args{"x": 1})),
			runOf(call("b", args{"x": 2}), call("a", nil)),
		},
		{
			"nearest in the right place", trajectory.InOrder(tool("a"), tool("b").Args(args{"x": 1})),
			runOf(call("b", args{"x": 2}), call("a", nil), call("b", args{"x": 3})),
		},
		{
			"nearest to one only", trajectory.Superset(tool("b").Args(args{"x": 1}), tool("b").Args(args{"x": 2})),
			runOf(call("b", args{"x": 3})),
		},
		{
			"unexpected calls", trajectory.Exact(tool("b"), tool("d")),
			runOf(call("a", nil), call("b", nil), call("c", args{
				"k1": 1, "k2": "two", "k3": nil, "k4": []any{1}, "k5": 5,
			}), call("d", nil), call("e", nil)),
		},
		{"nothing expected", trajectory.Exact(), runOf(call("a", nil))},
		{"unexpected call is the nearest", trajectory.Exact(refund...), runOf(
			call("read_file", args{"path": "order.json"}), call("issue_refund", args{"amount": 100}),
			call("notify", nil))},
		{
			"too slow", trajectory.Superset(tool("search").MaxDuration(10 * time.Millisecond)),
			runOf(trajectory.ToolCall{Name: "search", Duration: 45 * time.Millisecond}),
		},
		{
			"never ended", trajectory.Superset(tool("search").MaxDuration(10 * time.Millisecond)),
			runOf(trajectory.ToolCall{Name: "search", Status: trajectory.Pending}),
		},
		{
			"too slow and another argument",
			trajectory.Superset(tool("search").Args(args{"q": 1}).MaxDuration(10 * time.Millisecond)),
			runOf(trajectory.ToolCall{Name: "search", Args: args{"q": 2}, Duration: 45 * time.Millisecond}),
		},
		{
			"kinds", trajectory.InOrder(trajectory.Kind("search"), trajectory.Kind("edit").Args(args{"path": "a.go"}),
				trajectory.Kind("execute")),
			runOf(trajectory.ToolCall{Name: "Grep", Kind: "search"},
				trajectory.ToolCall{Kind: "edit", Args: args{"path": "b.go"}}),
		},
		{
			"never", trajectory.Never("WebFetch", "Bash"),
			runOf(call("WebFetch", args{"url": "http://x.org/?a=b"}), call("Read", nil)),
		},
		{
			"several matchers", trajectory.All(trajectory.InOrder(refund...),
				trajectory.Never("rm"), trajectory.Exact()),
			runOf(call("read_file", args{"path": "order.json"}), call("rm", nil)),
		},
		{
			"long runs fold", trajectory.Exact(append(expect(30, tool("a")), tool("b"))...),
			runOf(append(many(30, call("a", nil)), many(12, call("c", nil))...)...),
		},
		{"many tools", trajectory.Superset(tool("z")), runOf(call("a", nil), call("b", nil),
			call("c", nil), call("d", nil),
			call("e", nil), call("f", nil), call("g", nil), call("h", nil), call("i", nil),
			call("j", nil), call("j", nil))},
		{
			"strict, not together", trajectory.Strict(trajectory.Group{tool("a"), tool("b")}),
			runOf(call("a", nil), call("b", nil)),
		},
		{
			"strict, not apart", trajectory.Strict(trajectory.Group{tool("a")}, trajectory.Group{tool("b")}),
			together(call("a", nil), call("b", nil)),
		},
		{
			"strict, groups in another order", trajectory.Strict(trajectory.Group{tool("a")},
				trajectory.Group{tool("b"), tool("c")}),
			runOf(call("b", nil), call("a", nil)),
		},
		{
			"unordered, one wrong and one too many", trajectory.Unordered(refund[1], refund[0]), runOf(
				call("read_file", args{"path": "order.json"}),
				call("issue_refund", args{"amount": 100}), call("notify", nil)),
		},
		{
			"subset, another argument", trajectory.Subset(append(refund, tool("notify"))...), runOf(
				call("read_file", args{"path": "order.json"}),
				call("issue_refund", args{"amount": 100}), call("rm", nil)),
		},
		{"subset, nothing called", trajectory.Subset(refund...), runOf()},
		{
			"any_order", trajectory.AnyOrder(trajectory.Counts{"search": 2, "get_weather": 1}),
			runOf(call("search", nil), call("get_weather", nil)),
		},
		{
			"at_least and at_most", trajectory.All(trajectory.AtLeast(trajectory.Counts{"a": 1, "b": 3}),
				trajectory.AtMost(trajectory.Counts{"b": 1, "c": 0})),
			runOf(call("a", nil), call("b", nil), call("b", nil)),
		},
		{
			"before", trajectory.Before("plan", "edit", "test", "push"),
			runOf(call("edit", args{"path": "a.go"}), call("plan", nil), call("test", nil), call("push", nil)),
		},
		{"before without", trajectory.Before("plan", "edit"), runOf(call("edit", args{"path": "a.go"}))},
		{
			"no_duplicates", trajectory.NoDuplicates(),
			runOf(call("Read", args{"path": "a.go"}), call("Read", args{"path": "b.go"}),
				call("Read", args{"path": "a.go"})),
		},
		{
			"no_duplicates of some tools", trajectory.NoDuplicates("Read", "Grep"),
			runOf(call("Read", args{"path": "a.go"}), call("Read", args{"path": "a.go"}),
				call("Bash", nil), call("Bash", nil)),
		},
		{
			"run too slow", trajectory.MaxDuration(time.Second),
			runOf(trajectory.ToolCall{Name: "search", Duration: 1500 * time.Millisecond}),
		},
		{
			"profile", trajectory.Superset(tool("Read").Args(args{"file_path": "src/a.go"}),
				tool("Glob").Args(args{"pattern": "src/**/*.go"})),
			runOf(call("Read", args{"file_path": "$WORKSPACE/a.go"}), call("Glob", args{"pattern": "**/*.go"})),
		},
		{
			"fields", trajectory.Superset(
				tool("t").Args(args{"opts": args{"start": 1, "end": 2}, "x": "y"}).Fields("opts.start", "opts.end",
					"z")),
			runOf(call("t", args{"opts": args{"start": 3, "end": 2}, "z": true, "w": 1})),
		},
		{
			"where", trajectory.Superset(
				tool("t").Args(args{"x": 1}).Where("succeeded",
					func(c trajectory.ToolCall) bool { return c.ExitCode != nil && *c.ExitCode == 0 })),
			runOf(call("t", args{"x": 1})),
		},
		{
			"where not called", trajectory.Superset(
				tool("t").Where("succeeded", func(trajectory.ToolCall) bool { return false })), runOf(),
		},
		{"several lines of malformed expectations", trajectory.All(trajectory.Superset(tool("a").Args(args{
			"x": trajectory.Regex("("), "y": trajectory.Type("text"),
		})), trajectory.Never()), runOf()},
	}
	var got strings.Builder
	for i, shape := range shapes {
		if i > 0 {
			got.WriteByte('\n')
		}
		fmt.Fprintf(&got, "-- %s --\n%s\n", shape.name, shape.want.Match(shape.run))
	}
	colored := trajectory.Format{Color: true}.Text(trajectory.All(trajectory.Exact(refund...),
		trajectory.Never("rm")).Match(
		runOf(call("read_file", args{"path": "order.json"}), call("issue_refund", args{"amount": 100}),
			call("notify", nil))))
	fmt.Fprintf(&got, "\n-- in colour, with \\e for escape --\n%s\n", strings.ReplaceAll(colored, "\x1b", `\e`))
	golden.Equal(t, "testdata/failures.golden", got.String())
}
