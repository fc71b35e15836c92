package trajectory_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

func TestProfiles(t *testing.T) {
	tests := []struct {
		name           string
		tool           string
		want, actual   args
		standard, none bool // what holds with the tool's own profile, and with none
	}{
		{
			"path of a file", "Read",
			args{"file_path": "src/a.go"},
			args{"file_path": "$WORKSPACE/src/a.go"},
			true, false,
		},
		{"end of a path", "Read", args{"file_path": "a.go"}, args{"file_path": "data.go"}, false, false},
		{
			"matcher in place of the profile's", "Read",
			args{"file_path": trajectory.Equals("a.go")},
			args{"file_path": "./a.go"},
			false, false,
		},
		{"argument that is not in the profile", "Read", args{"offset": 1}, args{"offset": 1.0}, true, true},
		{"value that is no path", "Edit", args{"file_path": 1}, args{"file_path": 1.0}, true, true},
		{
			"path of Gemini", "read_file",
			args{"absolute_path": "a.go"},
			args{"absolute_path": "$WORKSPACE/a.go"},
			true, false,
		},
		{"path of Codex", "list_dir", args{"dir_path": "src/"}, args{"dir_path": "$WORKSPACE/src"}, true, false},
		{"pattern in another case", "Grep", args{"pattern": "todo"}, args{"pattern": "TODO|FIXME"}, true, false},
		{"pattern the other way round", "Grep", args{"pattern": "TODO|FIXME"}, args{"pattern": "todo"}, false, false},
		{"missing pattern", "Grep", args{"pattern": "todo"}, args{"path": "src"}, false, false},
		{"empty pattern", "Grep", args{"pattern": ""}, args{"pattern": "todo"}, false, false},
		{"equivalent glob", "Glob", args{"pattern": "src/**/*.ts"}, args{"pattern": "src/*.ts"}, true, false},
		{"another glob", "Glob", args{"pattern": "src/**/*.ts"}, args{"pattern": "tests/**"}, false, false},
		{"unknown tool", "read", args{"file_path": "a.go"}, args{"file_path": "./a.go"}, false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			expected, run := trajectory.Tool(test.tool).Args(test.want), runOf(call(test.tool, test.actual))
			matches := func(c trajectory.Call) bool {
				r := trajectory.Superset(c).Match(run)
				require.NoError(t, r.Err)
				return r.Pass
			}
			assert.Equal(t, test.standard, matches(expected))
			assert.Equal(t, test.none, matches(expected.Profile(nil)), "no profile")
			assert.Equal(t, test.none, matches(expected.Mode(trajectory.ExactArgs)), "exact")
		})
	}
	assert.Nil(t, trajectory.ToolProfile("Bash"))
	profile := trajectory.ToolProfile("Read")
	profile["file_path"] = "regex"
	assert.Equal(t, trajectory.Profile{"file_path": "path"}, trajectory.ToolProfile("Read"), "a copy")
}

func TestFields(t *testing.T) {
	tests := []struct {
		name         string
		fields       []string
		want, actual args
		pass         bool
	}{
		{
			"only what is named",
			[]string{"command"},
			args{"command": "ls", "timeout": 1},
			args{"command": "ls", "timeout": 2, "x": 3},
			true,
		},
		{"another value", []string{"command"}, args{"command": "ls"}, args{"command": "cd"}, false},
		{
			"part of an object",
			[]string{"opts.start"},
			args{"opts": args{"start": 1, "end": 2}},
			args{"opts": map[string]any{"start": 1.0, "end": 3}},
			true,
		},
		{
			"part that differs",
			[]string{"opts.end"},
			args{"opts": args{"start": 1, "end": 2}},
			args{"opts": map[string]any{"start": 1, "end": 3}},
			false,
		},
		{"element of a list", []string{"i.1"}, args{"i": []int{1, 2}}, args{"i": []any{1, 3}}, false},
		{"same element of a list", []string{"i.1"}, args{"i": []int{1, 2}}, args{"i": []any{0, 2}}, true},
		{"element beyond a list", []string{"i.2"}, args{"i": []int{1, 2, 3}}, args{"i": []any{1, 2}}, false},
		{"index with a zero before", []string{"i.01"}, args{"i": []int{1, 2}}, args{"i": []any{1, 3}}, true},
		{"on neither side", []string{"x.y"}, args{}, args{"z": 1}, true},
		{"missing expected key", []string{"x"}, args{}, args{"x": 1}, false},
		{"missing actual key", []string{"x"}, args{"x": 1}, args{}, false},
		{"null is missing", []string{"x"}, args{"x": nil}, args{}, true},
		{"missing is null", []string{"x"}, args{}, args{"x": nil}, true},
		{
			"part of what must be equal",
			[]string{"x.y"},
			args{"x": trajectory.Equals(args{"y": 1, "z": 2})},
			args{"x": args{"y": 1}},
			true,
		},
		{"matcher", []string{"x"}, args{"x": trajectory.Contains("b")}, args{"x": "abc"}, true},
		{"key with a dot", []string{"a.b"}, args{"a.b": 1}, args{"a.b": 2}, true},
		{"no profile", []string{"file_path"}, args{"file_path": "a.go"}, args{"file_path": "./a.go"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			// The mode does not matter, and fields may be named before the arguments.
			for _, mode := range trajectory.ArgModes() {
				c := trajectory.Tool("Read").Mode(mode).Fields(test.fields...).Args(test.want)
				r := trajectory.Superset(c).Match(runOf(call("Read", test.actual)))
				require.NoError(t, r.Err)
				assert.Equal(t, test.pass, r.Pass, "%s\n%s", mode, r)
			}
		})
	}
}

func TestGroups(t *testing.T) {
	start := func(id string) trajectory.Event {
		return trajectory.Event{Turn: 1, Body: trajectory.ToolStart{ID: id}}
	}
	end := func(id string) trajectory.Event { return trajectory.Event{Turn: 1, Body: trajectory.ToolEnd{ID: id}} }
	other := func(body trajectory.Body) trajectory.Event { return trajectory.Event{Turn: 1, Body: body} }
	run := trajectory.Run{Events: []trajectory.Event{
		start("1"), other(trajectory.Permission{ID: "1"}), start("2"), end("1"), start("3"), end("2"),
		start("4"), other(trajectory.Thought{}), start("5"), other(trajectory.Message{}), start("6"),
		other(trajectory.Stop{}),
		other(trajectory.Prompt{}), start("7"),
	}}
	var groups []int
	for _, c := range run.ToolCalls() {
		groups = append(groups, c.Group)
	}
	assert.Equal(t, []int{1, 1, 2, 3, 3, 4, 5}, groups)
}
