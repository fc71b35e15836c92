package trajectory_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

func tool(name string, a args) trajectory.Call { return trajectory.Tool(name).Args(trajectory.Args(a)) }

// An asterisk stands for any characters in every name of a tool that is meant.
func TestNamePattern(t *testing.T) {
	all := trajectory.Counts{"mcp__stock__*": 2}
	made := runOf(
		call("mcp__stock__count", args{"a": 1}), call("Read", nil),
		call("mcp__stock__sell", args{"a": 1}), call("mcp__stock__sell", args{"a": 1}),
	)
	many := runOf()
	for range 200 {
		many.Events = append(many.Events, made.Events...)
	}
	for _, tt := range []struct {
		name  string
		want  trajectory.Matcher
		pass  bool
		other bool // for a run in which none of these tools was called
	}{
		{"never", trajectory.Never("mcp__stock__*"), false, true},
		{"never, another server", trajectory.Never("mcp__stack__*"), true, true},
		{"never anything", trajectory.Never("*"), false, false},
		{"at_most", trajectory.AtMost(all), false, true},
		{"at_least", trajectory.AtLeast(all), true, false},
		{"no_duplicates", trajectory.NoDuplicates("mcp__stock__*"), false, true},
		{"no_duplicates, another tool", trajectory.NoDuplicates("mcp__*__count", "R*"), true, true},
		{"before", trajectory.Before("R*", "mcp__*"), false, true},
		{"before, kept", trajectory.Before("mcp__*__count", "mcp__*__sell"), true, true},
		{"superset", trajectory.Superset(tool("mcp__*", args{"a": 1}), tool("*__sell", nil)), true, false},
		{
			"unordered", trajectory.Unordered(tool("R*", nil), tool("m*", nil), tool("m*", nil), tool("*", nil)), true,
			false,
		},
		{"subset", trajectory.Subset(tool("R*", nil), tool("mcp__*", nil)), false, true},
		{
			"exact arguments",
			trajectory.Superset(tool("mcp__*", args{"a": 1}).Mode(trajectory.ExactArgs)), true, false,
		},
		{"does not begin so", trajectory.Superset(tool("cp__*", nil)), false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := tt.want.Match(made)
			require.NoError(t, r.Err)
			assert.Equal(t, tt.pass, r.Pass, r)
			assert.Equal(t, tt.other, tt.want.Match(runOf(call("Read", nil))).Pass)
		})
	}
	assert.True(t, trajectory.Superset(tool("mcp__*__sell", args{"a": 1})).Match(many).Pass)
	assert.False(t, trajectory.Superset(tool("mcp__*__buy", args{"a": 1})).Match(many).Pass)
}

// A name that no tool has would never fail, so it is an error.
func TestMalformedNames(t *testing.T) {
	var b strings.Builder
	for _, m := range []trajectory.Matcher{
		trajectory.Never("Bash|Edit"), trajectory.Never("mcp__.*"), trajectory.Never("Bash "),
		trajectory.Never("R\u200bead"),
		trajectory.NeverCall(trajectory.AnyOf(tool("^Bash$", nil))), trajectory.Before("Read", "Edit,Write"),
		trajectory.AtMost(trajectory.Counts{"Bash(rm *)": 1}), trajectory.AtLeast(trajectory.Counts{"Run tests": 1}),
		trajectory.NoDuplicates("Read", "[A-Z]*"), trajectory.NeverCall(trajectory.Kind("exec")),
		trajectory.Superset(trajectory.Kind("Edit")),
		trajectory.Superset(trajectory.Kind("edit").ForTool("mcp__*", tool("a", nil))),
	} {
		err := m.Check()
		require.Error(t, err)
		assert.Equal(t, err, m.Match(runOf()).Err)
		b.WriteString(err.Error() + "\n")
	}
	golden.Equal(t, "testdata/names.golden", b.String())
}

// Whether a call without a name was one of a tool is unknown.
func TestNamelessCalls(t *testing.T) {
	run := runOf(call("Read", nil), call("", args{"command": "rm a"}))
	for _, m := range []trajectory.Matcher{
		trajectory.Never("Bash"), trajectory.Never("mcp__*"), trajectory.NeverCall(tool("Bash", args{"command": "ls"})),
		trajectory.AtMost(trajectory.Counts{"Read": 1}), trajectory.NoDuplicates("Read"),
		trajectory.Before("Read", "Edit"),
		trajectory.All(trajectory.Superset(tool("Read", nil)), trajectory.Never("Bash")),
	} {
		assert.ErrorContains(t, m.Match(run).Err, "call 2 of the run has no name, so whether it was ")
	}
	for _, m := range []trajectory.Matcher{
		trajectory.Never("*"), trajectory.Never("Read", "Bash"), trajectory.AtMost(trajectory.Counts{"Read": 0}),
		trajectory.Before("Bash", "Read"),
	} {
		r := m.Match(run)
		require.NoError(t, r.Err, "it fails whatever the call was")
		assert.False(t, r.Pass)
	}
	for _, m := range []trajectory.Matcher{
		trajectory.NeverCall(trajectory.Kind("edit")), trajectory.NeverCall(trajectory.Does("edit")),
		trajectory.AtLeast(trajectory.Counts{"Read": 1}), trajectory.NoDuplicates(),
	} {
		r := m.Match(run)
		require.NoError(t, r.Err)
		assert.True(t, r.Pass)
	}
}
