package trajectory_test

import (
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
			"read search delete",
		},
		{"Codex, which says more", trajectory.ToolCall{Kind: "read", Args: list("bash", "-c", "true")}, "read"},
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
		{"a text", trajectory.ToolCall{Kind: "execute", Args: "rm a"}, "delete"},
		{"no texts", trajectory.ToolCall{Kind: "execute", Args: list("rm", 1)}, "execute"},
		{"no command", trajectory.ToolCall{Kind: "execute", Args: map[string]any{"command": 1}}, "execute"},
		{"no JSON", trajectory.ToolCall{Kind: "execute", Args: func() {}}, "execute"},
		{"an editor's command", trajectory.ToolCall{Kind: "edit", Args: map[string]any{"command": "rm"}}, "edit"},
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

func TestDeedsMalformed(t *testing.T) {
	for _, test := range []struct {
		call trajectory.Call
		want string
	}{
		{trajectory.Does("remove"), `nothing does "remove": want one of read, search, edit, delete, move, fetch, exec`},
		{trajectory.AnyOf(), "needs at least one alternative"},
		{trajectory.AnyOf(trajectory.Does("x")), `alternative 1, does x: nothing does "x"`},
		{trajectory.AnyOf(trajectory.AnyOf(trajectory.Tool("a"))), "alternative 1 must not have alternatives itself"},
		{trajectory.AnyOf(trajectory.Tool("a").MaxDuration(time.Second)), "alternative 1 has a limit"},
		{trajectory.AnyOf(trajectory.Tool("a")).Args(args{"b": 1}), "has no arguments of its own"},
		{trajectory.AnyOf(trajectory.Tool("a")).Mode(trajectory.ExactArgs), "has no arguments of its own"},
	} {
		assert.ErrorContains(t, test.call.Check(), test.want)
	}
}
