package trajectory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// shell returns a call of a shell with this command line.
func shell(line string) trajectory.ToolCall {
	return trajectory.ToolCall{Name: "Bash", Kind: "execute", Args: map[string]any{"command": line}}
}

func ofKind(name, kind string) trajectory.ToolCall {
	return trajectory.ToolCall{Name: name, Kind: kind}
}

func TestDoes(t *testing.T) {
	list := func(words ...any) map[string]any { return map[string]any{"command": words} }
	for _, test := range []struct {
		name  string
		call  trajectory.ToolCall
		deeds string
	}{
		{"a tool of its own", ofKind("Edit", "edit"), "edit"},
		{"Claude, Copilot, OpenCode, Qwen", shell("cat a.go && rm b.go"), "read delete"},
		{"Codex", trajectory.ToolCall{Kind: "execute", Args: list("/bin/bash", "-lc", "sed -i s/a/b/ a.go")}, "edit"},
		{
			"Codex, which says what it does",
			trajectory.ToolCall{Kind: "search", Args: list("/bin/bash", "-c", "grep -rn x . | sort")},
			"search",
		},
		{
			"Codex, which says less than it does",
			trajectory.ToolCall{Kind: "read", Args: list("/bin/bash", "-c", "ls && rm a")},
			"search delete",
		},
		{"Codex, which says more", trajectory.ToolCall{Kind: "read", Args: list("bash", "-c", "true")}, "read"},
		{
			"codex-acp 2, which says less than it knows",
			trajectory.ToolCall{Name: "exec_command", Kind: "read", Title: "List files in 'report'"},
			"search",
		},
		{"codex-acp 2", trajectory.ToolCall{Name: "exec_command", Kind: "execute", Title: "rm a"}, "delete"},
		{
			"Gemini",
			trajectory.ToolCall{Name: "run_shell_command", Kind: "execute", Title: "cat a | sort > b"},
			"read edit",
		},
		{"a title in backquotes", trajectory.ToolCall{Kind: "execute", Title: "`rm a`"}, "delete"},
		{
			"no arguments in an object",
			trajectory.ToolCall{Kind: "execute", Title: "rm a", Args: map[string]any{}},
			"delete",
		},
		{"a title beside a command", trajectory.ToolCall{Kind: "execute", Title: "rm a", Args: list("ls")}, "search"},
		{
			"a title beside other arguments",
			trajectory.ToolCall{Kind: "execute", Title: "cat", Args: map[string]any{"shell_id": 1}},
			"execute",
		},
		{"cmd", trajectory.ToolCall{Kind: "execute", Args: map[string]any{"cmd": "rm a"}}, "delete"},
		{
			"a program and its arguments",
			trajectory.ToolCall{Kind: "execute", Args: map[string]any{"command": "rm", "args": []any{"a;b"}}},
			"delete",
		},
		{
			"a line and no arguments",
			trajectory.ToolCall{Kind: "execute", Args: map[string]any{"command": "rm a", "args": []any{}}},
			"delete",
		},
		{"no words", trajectory.ToolCall{Kind: "execute", Args: list()}, "execute"},
		{
			"a shell and its line",
			trajectory.ToolCall{Kind: "execute", Args: map[string]any{"command": "sh", "args": []any{"-c", "rm a"}}},
			"delete",
		},
		{
			"cmd beside a command of no texts",
			trajectory.ToolCall{Kind: "execute", Args: map[string]any{"command": []any{1}, "cmd": "rm a"}},
			"delete",
		},
		{"a text", trajectory.ToolCall{Kind: "execute", Args: "rm a"}, "delete"},
		{"no texts", trajectory.ToolCall{Kind: "execute", Args: list("rm", 1)}, "execute"},
		{"no command", trajectory.ToolCall{Kind: "execute", Args: map[string]any{"command": 1}}, "execute"},
		{"no JSON", trajectory.ToolCall{Kind: "execute", Args: func() {}}, "execute"},
		{"an editor's command", trajectory.ToolCall{Kind: "edit", Args: map[string]any{"command": "rm"}}, "edit"},
		{"Copilot's searches", ofKind("grep", "read"), "search"},
		{"a fetch", ofKind("WebFetch", "fetch"), "fetch"},
		{"another kind", ofKind("Task", "think"), ""},
		{"no kind", trajectory.ToolCall{Name: "Bash", Args: list("rm", "a")}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.deeds, strings.Join(test.call.Does(), " "))
		})
	}
	assert.Equal(t, "read search edit delete move fetch execute", strings.Join(trajectory.Deeds(), " "))
}

// Agents that read a file, edit it and run the tests, each in its way.
var workers = map[string][]trajectory.ToolCall{
	"tools":     {ofKind("Read", "read"), ofKind("Edit", "edit"), shell("go test ./...")},
	"shell":     {shell("sed -n 1,80p a.go"), shell("sed -i s/a/b/ a.go"), shell("cd sub && go test ./... | tail")},
	"one line":  {shell("cat a.go && sed -i s/a/b/ a.go && go test ./...")},
	"two lines": {shell("cat a.go; ls"), shell("apply_patch <<E\nE\ngo test ./...")},
}

func TestOneExpectationForEveryAgent(t *testing.T) {
	work := []trajectory.Call{trajectory.Does("read"), trajectory.Does("edit"), trajectory.Does("execute")}
	for name, calls := range workers {
		t.Run(name, func(t *testing.T) {
			run := runOf(calls...)
			for _, m := range []trajectory.Matcher{trajectory.InOrder(work...), trajectory.Superset(work...)} {
				r := m.Match(run)
				require.NoError(t, r.Err)
				assert.True(t, r.Pass, "%v", r)
				assert.Equal(t, 3, r.Matched)
				assert.LessOrEqual(t, r.Precision(), 1.0)
				assert.LessOrEqual(t, r.F1(), 1.0)
			}
			backwards := slices.Clone(work)
			slices.Reverse(backwards)
			assert.False(t, trajectory.InOrder(backwards...).Match(run).Pass)
			assert.False(t, trajectory.Superset(append(work, trajectory.Does("delete"))...).Match(run).Pass)
			if len(calls) > 1 {
				assert.Equal(t, len(calls) == 3, trajectory.Exact(work...).Match(run).Pass, "one call for each")
			}
		})
	}
}

func TestDoesInTheModes(t *testing.T) {
	does, kind, tool := trajectory.Does, trajectory.Kind, trajectory.Tool
	both := shell("cat a && rm a")
	for _, test := range []struct {
		name   string
		m      trajectory.Matcher
		calls  []trajectory.ToolCall
		reason string
	}{
		{
			"the line's order counts", trajectory.InOrder(does("delete"), does("read")),
			[]trajectory.ToolCall{both},
			"in_order: step 2 not matched: does read",
		},
		{
			"but not in a set", trajectory.Superset(does("delete"), does("read")), []trajectory.ToolCall{both}, "",
		},
		{
			"nothing is done twice", trajectory.Superset(does("read"), does("read")),
			[]trajectory.ToolCall{both},
			"superset: step 2 not matched: does read",
		},
		{
			"two reads of one line are two", trajectory.Superset(does("read"), does("read")),
			[]trajectory.ToolCall{shell("cat a; cat b")},
			"",
		},
		{
			"a tool takes a whole call", trajectory.Superset(tool("Bash"), tool("Bash")),
			[]trajectory.ToolCall{both},
			"superset: step 2 not matched: Bash",
		},
		{
			"also beside deeds", trajectory.InOrder(kind("execute"), kind("execute"), does("delete")),
			[]trajectory.ToolCall{both},
			"in_order: step 2 not matched: kind execute",
		},
		{
			"it takes the first thing that is done", trajectory.InOrder(kind("execute"), does("read")),
			[]trajectory.ToolCall{both},
			"in_order: step 2 not matched: does read",
		},
		{"and no other", trajectory.InOrder(kind("execute"), does("delete")), []trajectory.ToolCall{both}, ""},
		{
			"one call for each in exact", trajectory.Exact(does("read"), does("delete")),
			[]trajectory.ToolCall{both},
			"exact: step 2 not matched: does delete",
		},
		{"either of two in exact", trajectory.Exact(does("delete")), []trajectory.ToolCall{both}, ""},
		{
			"only what is allowed", trajectory.Subset(does("read"), does("search")),
			[]trajectory.ToolCall{shell("ls"), shell("rm a")},
			"subset: call 2 not expected: Bash",
		},
		{
			"arguments", trajectory.Superset(does("read").Args(args{"command": trajectory.Contains("b.go")})),
			[]trajectory.ToolCall{shell("cat a.go"), shell("cat b.go")},
			"",
		},
		{
			"arguments of who reports none", trajectory.InOrder(
				does("read").Args(args{"command": trajectory.Contains("a.go")}),
				does("execute").Args(args{"command": trajectory.Contains("go test")}),
				does("execute").Args(args{"command": "go vet"}).Mode(trajectory.ExactArgs),
			),
			[]trajectory.ToolCall{
				{Kind: "execute", Title: "ls"},
				{Kind: "execute", Title: "cat a.go"},
				{Kind: "execute", Title: "go build"},
				{Kind: "execute", Title: "`cd x && go test ./...`"},
				{Kind: "execute", Title: "go vet"},
			},
			"",
		},
		{
			"but no other arguments", trajectory.Superset(does("execute").Args(args{"cwd": "go vet"})),
			[]trajectory.ToolCall{{Kind: "execute", Title: "go vet"}},
			`superset: step 1 not matched: does execute cwd="go vet"`,
		},
		{
			"nor titles of other kinds", trajectory.Superset(does("read").Args(args{"command": "a.go"})),
			[]trajectory.ToolCall{{Kind: "read", Title: "a.go"}},
			"superset: step 1 not matched: does read command=a.go",
		},
		{
			"also for kinds",
			trajectory.NeverCall(kind("execute").Args(args{"command": trajectory.Contains("rm -rf")})),
			[]trajectory.ToolCall{{Kind: "execute", Title: "rm -rf a"}},
			`never: kind execute command=contains("rm -rf") was called (call 1)`,
		},
		{
			"any of", trajectory.Exact(
				trajectory.AnyOf(tool("Grep"), does("search").Args(args{"command": trajectory.Contains("x")})),
				trajectory.AnyOf(kind("edit"), does("delete")),
			),
			[]trajectory.ToolCall{shell("grep x ."), ofKind("Edit", "edit")},
			"",
		},
		{
			"none of", trajectory.Superset(trajectory.AnyOf(tool("Grep"), kind("search"))),
			[]trajectory.ToolCall{shell("grep x .")},
			"superset: step 1 not matched: Grep or kind search",
		},
		{
			"any of a line", trajectory.InOrder(trajectory.AnyOf(kind("read"), does("read")),
				trajectory.AnyOf(kind("delete"), does("delete"))),
			[]trajectory.ToolCall{both},
			"",
		},
		{
			"a rule of any", trajectory.Superset(
				trajectory.AnyOf(tool("Bash")).Where("never", func(trajectory.ToolCall) bool { return false }),
			),
			[]trajectory.ToolCall{both},
			"superset: step 1 not matched: Bash where never",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := test.m.Match(runOf(test.calls...))
			require.NoError(t, r.Err)
			assert.Equal(t, test.reason, r.Reason(), "%v", r)
			assert.Equal(t, test.reason == "", r.Pass)
			assert.NotEmpty(t, r.Table())
		})
	}
}

// Arguments find calls by an index if there are many.
func TestTitlesOfManyCalls(t *testing.T) {
	var calls []trajectory.ToolCall
	var want []trajectory.Call
	for i := range 40 {
		line := fmt.Sprintf("cat %d.go", i)
		calls = append(calls, trajectory.ToolCall{Kind: "execute", Title: line})
		want = append(want, trajectory.Does("read").Args(args{"command": line}))
	}
	assert.True(t, trajectory.InOrder(want...).Match(runOf(calls...)).Pass)
	assert.True(t, trajectory.Exact(want...).Match(runOf(calls...)).Pass)
}

func TestConstraintsOfCalls(t *testing.T) {
	does, kind, tool := trajectory.Does, trajectory.Kind, trajectory.Tool
	both := shell("cat a && rm a")
	for _, test := range []struct {
		name   string
		m      trajectory.Matcher
		calls  []trajectory.ToolCall
		reason string
	}{
		{
			"never done", trajectory.NeverCall(does("delete")),
			[]trajectory.ToolCall{shell("ls"), ofKind("x", "edit")},
			"",
		},
		{
			"done in a shell", trajectory.NeverCall(does("move"), does("delete")),
			[]trajectory.ToolCall{shell("ls"), both},
			"never: call 2 does delete",
		},
		{
			"done by a tool", trajectory.NeverCall(does("delete")),
			[]trajectory.ToolCall{ofKind("x", "delete")},
			"never: call 1 does delete",
		},
		{
			"arguments", trajectory.NeverCall(tool("Bash").Args(args{"command": trajectory.Contains("rm")})),
			[]trajectory.ToolCall{shell("ls"), both},
			"never: Bash command=contains(rm) was called (call 2)",
		},
		{
			"alternatives", trajectory.NeverCall(trajectory.AnyOf(kind("delete"), does("delete"))),
			[]trajectory.ToolCall{both},
			"never: call 1 kind delete or does delete",
		},
		{"before, in a line", trajectory.BeforeCall(does("read"), does("delete")), []trajectory.ToolCall{both}, ""},
		{
			"after, in a line", trajectory.BeforeCall(does("delete"), does("read")),
			[]trajectory.ToolCall{both},
			"before: call 1 does read before does delete",
		},
		{
			"without", trajectory.BeforeCall(does("edit"), kind("execute")),
			[]trajectory.ToolCall{shell("ls"), both},
			"before: kind execute was called (call 1) without does edit",
		},
		{
			"of several lines", trajectory.BeforeCall(does("edit"), does("delete")),
			[]trajectory.ToolCall{shell("cat a; cat b"), both, ofKind("Edit", "edit")},
			"before: call 2 does delete before does edit",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := test.m.Match(runOf(test.calls...))
			require.NoError(t, r.Err)
			assert.Equal(t, test.reason, r.Reason(), "%v", r)
			assert.Equal(t, test.reason == "", r.Pass)
			assert.NotEmpty(t, r.Table())
		})
	}
	panics := func(c trajectory.ToolCall) bool { return c.Args.(map[string]any)["command"] == "ls" || c.Title[5] == 0 }
	rule := tool("Bash").Where("rule", panics)
	assert.Error(t, trajectory.NeverCall(rule).Match(runOf(shell("ls"), both)).Err, "at a call after the first")
	assert.Error(t, trajectory.BeforeCall(rule, kind("x")).Match(runOf(shell("ls"), both)).Err)
	assert.ErrorContains(t, trajectory.NeverCall(tool("a").MaxDuration(1)).Check(), "never: a: a limit has no effect")
	assert.ErrorContains(t, trajectory.NeverCall(does("x")).Check(), `never: does x: nothing does "x"`)
	assert.ErrorContains(t, trajectory.BeforeCall(does("edit"), does("edit")).Check(), `duplicate tool "does edit"`)
}

func TestBy(t *testing.T) {
	run := &trajectory.Run{Events: []trajectory.Event{
		{Turn: 1, Body: trajectory.ToolStart{ID: "1", Name: "Task", Kind: "think"}},
		{Turn: 1, Body: trajectory.ToolStart{ID: "2", Parent: "1", Name: "Read", Kind: "read"}},
	}}
	read := trajectory.Tool("Read")
	match := func(m trajectory.Matcher) string { return m.Match(run).String() }
	assert.Equal(t, "1 ✓ Read", match(trajectory.Superset(read)))
	assert.Equal(t, "1 ✓ Read", match(trajectory.Superset(read.By(trajectory.Subagent))))
	assert.Equal(t, "1 ✓ Read", match(trajectory.Superset(trajectory.AnyOf(read, read).By(trajectory.Subagent))))
	assert.Equal(t, "superset: step 1 not matched: Read by main\n1 ✗ Read   want by main",
		match(trajectory.Superset(read.By(trajectory.Main))))
	assert.Equal(t, "superset: step 1 not matched: Read or Grep by main\n1 ✗ Read   want by main",
		match(trajectory.Superset(trajectory.AnyOf(read, trajectory.Tool("Grep")).By(trajectory.Main))))
	assert.Equal(t, "never: Read by subagent was called (call 2)\n✗ Read   want never Read by subagent",
		match(trajectory.NeverCall(read.By(trajectory.Subagent))))
	assert.True(t, trajectory.NeverCall(trajectory.Does("read").By(trajectory.Main)).Match(run).Pass)
	assert.False(t, trajectory.Unordered(trajectory.Tool("Task"), read.By(trajectory.Main)).Match(run).Pass)
	exact := func(c trajectory.Call) trajectory.Call { return c.Mode(trajectory.ExactArgs) }
	plain := trajectory.Unordered(exact(trajectory.Tool("Task")), exact(read).By(trajectory.Main))
	assert.False(t, plain.Match(run).Pass)
	assert.ErrorContains(t, read.By("me").Check(), `unknown actor "me": want one of ["main" "subagent"]`)
}

func TestDeedsMalformed(t *testing.T) {
	for _, test := range []struct {
		call trajectory.Call
		want string
	}{
		{trajectory.Does("remove"), `nothing does "remove": want one of read, search, edit, delete, move, fetch, exec`},
		{trajectory.AnyOf(), "needs at least one alternative"},
		{trajectory.AnyOf(trajectory.Does("x")), `alternative 1, does x: nothing does "x"`},
		{trajectory.AnyOf(trajectory.AnyOf(trajectory.Tool("a"))), "alternative 1 must not have alternatives itself"},
		{trajectory.AnyOf(trajectory.Tool("a").MaxDuration(time.Second)), "alternative 1 has a limit or an actor"},
		{trajectory.AnyOf(trajectory.Tool("a").By(trajectory.Main)), "alternative 1 has a limit or an actor"},
		{trajectory.AnyOf(trajectory.Tool("a")).Args(args{"b": 1}), "has no arguments of its own"},
		{trajectory.AnyOf(trajectory.Tool("a")).Mode(trajectory.ExactArgs), "has no arguments of its own"},
	} {
		assert.ErrorContains(t, test.call.Check(), test.want)
	}
}
