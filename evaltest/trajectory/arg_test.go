package trajectory_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// holds reports whether the matcher accepts actual as an argument.
func holds(t *testing.T, want trajectory.Arg, cwd string, actual any) bool {
	t.Helper()
	run := runOf(call("tool", args{"arg": actual}))
	run.Cwd = cwd
	r := trajectory.Superset(trajectory.Tool("tool").Args(args{"arg": want})).Match(run)
	require.NoError(t, r.Err)
	return r.Pass
}

func TestArgMatchers(t *testing.T) {
	const ws = "$WORKSPACE"
	tests := []struct {
		name   string
		want   trajectory.Arg
		actual any
		cwd    string // $WORKSPACE if empty
		holds  bool
	}{
		{name: "equals text", want: trajectory.Equals("a"), actual: "a", holds: true},
		{name: "equals other text", want: trajectory.Equals("a"), actual: "A"},
		{name: "equals 1 and 1.0", want: trajectory.Equals(1), actual: 1.0, holds: true},
		{name: "equals 1 and 1e0", want: trajectory.Equals(1), actual: json.Number("1e0"), holds: true},
		{name: "equals 100 and 1.00E+2", want: trajectory.Equals(100), actual: json.Number("1.00E+2"), holds: true},
		{name: "equals 0 and -0.0", want: trajectory.Equals(0), actual: json.Number("-0.0"), holds: true},
		{name: "equals 0.1", want: trajectory.Equals(0.1), actual: json.Number("0.10"), holds: true},
		{name: "equals 1 and -1", want: trajectory.Equals(1), actual: -1},
		{name: "equals 1 and its text", want: trajectory.Equals(1), actual: "1"},
		{name: "equals 1 and true", want: trajectory.Equals(1), actual: true},
		{
			name: "equals beyond 2^53", want: trajectory.Equals(int64(9007199254740993)),
			actual: json.Number("9007199254740993"), holds: true,
		},
		{
			name: "equals beyond 2^53, off by one", want: trajectory.Equals(int64(9007199254740993)),
			actual: json.Number("9007199254740992"),
		},
		{name: "equals null", want: trajectory.Equals(nil), actual: nil, holds: true},
		{name: "equals null and false", want: trajectory.Equals(nil), actual: false},
		{name: "equals false and null", want: trajectory.Equals(false), actual: nil},
		{name: "equals list", want: trajectory.Equals([]int{1, 2}), actual: []any{1.0, json.Number("2")}, holds: true},
		{name: "equals list in another order", want: trajectory.Equals([]int{1, 2}), actual: []any{2, 1}},
		{
			name: "equals object", want: trajectory.Equals(args{"a": 1, "b": nil}),
			actual: map[string]any{"b": nil, "a": 1.0}, holds: true,
		},
		{
			name: "equals object with one key more", want: trajectory.Equals(args{"a": 1}),
			actual: map[string]any{"a": 1, "b": 2},
		},
		{
			name: "equals object with null for absent", want: trajectory.Equals(args{"a": nil}),
			actual: map[string]any{"b": nil},
		},
		{
			name: "equals object with one key less", want: trajectory.Equals(args{"a": 1, "b": 2}),
			actual: map[string]any{"a": 1},
		},
		{
			name: "equals object with another inside", want: trajectory.Equals(args{"o": args{"a": "1"}}),
			actual: map[string]any{"o": map[string]any{"a": "2"}},
		},
		{name: "type number and a text", want: trajectory.Type("number"), actual: "a"},
		{name: "glob of a directory and the directory", want: trajectory.Glob("a/**"), actual: "a", holds: true},
		{name: "path below no root", want: trajectory.Path("/rel/a.go"), actual: "a.go", cwd: "rel"},
		{name: "path beside no root", want: trajectory.Path("rel/a.go"), actual: "a.go", cwd: "rel"},
		{
			name: "equals struct", want: trajectory.Equals(struct{ A int }{1}),
			actual: map[string]any{"A": 1}, holds: true,
		},
		{name: "contains", want: trajectory.Contains("TODO"), actual: "a TODO b", holds: true},
		{name: "contains another case", want: trajectory.Contains("todo"), actual: "a TODO b"},
		{name: "contains in a number", want: trajectory.Contains("1"), actual: 10},
		{
			name: "contains in a list of words", want: trajectory.Contains("go test"),
			actual: []any{"sh", "-c", "go test ./..."}, holds: true,
		},
		{name: "contains across words of a list", want: trajectory.Contains("go test"), actual: []any{"go", "test"}},
		{name: "contains_ci", want: trajectory.ContainsCI("tODo"), actual: "a TodO b", holds: true},
		{name: "contains_ci beyond ASCII", want: trajectory.ContainsCI("ÄRGER"), actual: "viel ärger", holds: true},
		{name: "ends_with", want: trajectory.EndsWith("/a.go"), actual: "src/a.go", holds: true},
		{name: "ends_with elsewhere", want: trajectory.EndsWith("/a.go"), actual: "src/a.go.bak"},
		{name: "regex anywhere", want: trajectory.Regex(`go (test|vet)`), actual: "cd x && go vet ./...", holds: true},
		{name: "regex anchored", want: trajectory.Regex(`^go test`), actual: "cd x && go test"},
		{name: "one_of", want: trajectory.OneOf("a", 1, nil), actual: 1.0, holds: true},
		{name: "one_of null", want: trajectory.OneOf("a", nil), actual: nil, holds: true},
		{name: "one_of none", want: trajectory.OneOf("a", "1"), actual: 1},
		{name: "gte equal", want: trajectory.GTE(40), actual: json.Number("40.0"), holds: true},
		{name: "gte less", want: trajectory.GTE(40), actual: 39.999},
		{name: "gte negative", want: trajectory.GTE(-2), actual: -1, holds: true},
		{name: "gte of more digits", want: trajectory.GTE(9), actual: 10, holds: true},
		{name: "gte text", want: trajectory.GTE(1), actual: "2"},
		{
			name: "gte beyond 2^53", want: trajectory.GTE(int64(9007199254740993)),
			actual: json.Number("9007199254740992"),
		},
		{name: "gte huge exponent", want: trajectory.GTE(1), actual: json.Number("1e999999"), holds: true},
		{name: "lte", want: trajectory.LTE(0), actual: -0.5, holds: true},
		{name: "lte more", want: trajectory.LTE(0), actual: json.Number("1e-300")},
		{name: "near at the edge", want: trajectory.Near(0.3, 0.1), actual: json.Number("0.4"), holds: true},
		{name: "near beyond the edge", want: trajectory.Near(0.3, 0.1), actual: json.Number("0.40000000000000001")},
		{name: "near below", want: trajectory.Near(10, 0), actual: 10.0, holds: true},
		{
			name: "near large integers", want: trajectory.Near(int64(9007199254740993), 0),
			actual: json.Number("9007199254740992"),
		},
		{name: "any null", want: trajectory.Any(), actual: nil, holds: true},
		{name: "absent but null", want: trajectory.Absent(), actual: nil},
		{name: "type string", want: trajectory.Type("string"), actual: "", holds: true},
		{name: "type number", want: trajectory.Type("number"), actual: 1, holds: true},
		{name: "type integer", want: trajectory.Type("integer"), actual: 1.0, holds: true},
		{name: "type integer of a fraction", want: trajectory.Type("integer"), actual: 1.5},
		{name: "type boolean", want: trajectory.Type("boolean"), actual: false, holds: true},
		{name: "type array", want: trajectory.Type("array"), actual: []any{}, holds: true},
		{name: "type object", want: trajectory.Type("object"), actual: map[string]any{}, holds: true},
		{name: "type null", want: trajectory.Type("null"), actual: nil, holds: true},
		{name: "type object of an array", want: trajectory.Type("object"), actual: []any{}},

		{name: "path itself", want: trajectory.Path("src/a.go"), actual: "src/a.go", holds: true},
		{name: "path in the workspace", want: trajectory.Path("src/a.go"), actual: ws + "/src/a.go", holds: true},
		{
			name: "path both in the workspace", want: trajectory.Path(ws + "/src/a.go"),
			actual: "./src/a.go", holds: true,
		},
		{name: "path not clean", want: trajectory.Path("src/../src//a.go"), actual: "./src/./a.go", holds: true},
		{name: "path another file with that end", want: trajectory.Path("a.go"), actual: "data.go"},
		{name: "path another directory", want: trajectory.Path("a.go"), actual: "src/a.go"},
		{name: "path end of a component", want: trajectory.Path("src/a.go"), actual: "xsrc/a.go"},
		{name: "path of a directory and below", want: trajectory.Path("src"), actual: "src/a.go"},
		{name: "path outside", want: trajectory.Path("a.go"), actual: "/etc/a.go"},
		{name: "path up and out", want: trajectory.Path("../a.go"), actual: ws + "/../a.go", holds: true},
		{name: "path in home", want: trajectory.Path("$HOME/a.go"), actual: "$HOME/./a.go", holds: true},
		{name: "path in home by tilde", want: trajectory.Path("~/a.go"), actual: "$HOME/a.go", holds: true},
		{name: "path in home is not in the workspace", want: trajectory.Path(ws + "/$HOME/a.go"), actual: "$HOME/a.go"},
		{
			name: "path in home is none of a real directory", want: trajectory.Path("$HOME/a.go"),
			actual: "/repo/$HOME/a.go", cwd: "/repo",
		},
		{
			name: "path in a file that begins like home", want: trajectory.Path("$HOMES/a.go"),
			actual: ws + "/$HOMES/a.go", holds: true,
		},
		{name: "path out of home", want: trajectory.Path("a.go"), actual: "$HOME/../a.go"},
		{name: "path out of home and of the workspace", want: trajectory.Path("../a.go"), actual: "$HOME/../a.go"},
		{
			name: "path out of home by the name of the workspace", want: trajectory.Path("a.go"),
			actual: "$HOME/../$WORKSPACE/a.go",
		},
		{
			name: "path out of the temporary directory", want: trajectory.Path("$HOME/a.go"),
			actual: "$TMPDIR/../$HOME/a.go",
		},
		{
			name: "path from a directory in home", want: trajectory.Path("a.go"), actual: "$HOME/p/a.go",
			cwd: "$HOME/p", holds: true,
		},
		{name: "glob and home", want: trajectory.Glob("**"), actual: "$HOME/.ssh/id_rsa"},
		{name: "glob and home by tilde", want: trajectory.Glob("**"), actual: "~/.ssh/id_rsa"},
		{name: "glob and the temporary directory", want: trajectory.Glob("**/*.go"), actual: "$TMPDIR/a.go"},
		{name: "glob of the workspace and home", want: trajectory.Glob(ws + "/**"), actual: "$HOME/a.go"},
		{name: "glob and above the workspace", want: trajectory.Glob("**"), actual: "../a.go"},
		{name: "glob of home", want: trajectory.Glob("$HOME/**"), actual: "~/.ssh/id_rsa", holds: true},
		{name: "glob of home by tilde", want: trajectory.Glob("~/.ssh/*"), actual: "$HOME/.ssh/id_rsa", holds: true},
		{name: "glob of home and the workspace", want: trajectory.Glob("$HOME/**"), actual: "a.go"},
		{name: "glob of home in a real directory", want: trajectory.Glob("**"), actual: "$HOME/a.go", cwd: "/repo"},
		{
			name: "glob of the temporary directory", want: trajectory.Glob("$TMPDIR/*.go"),
			actual: "$TMPDIR/a.go", holds: true,
		},
		{name: "path empty", want: trajectory.Path("."), actual: ""},
		{
			name: "path below a real directory", want: trajectory.Path("a.go"), actual: "/repo/a.go",
			cwd: "/repo", holds: true,
		},
		{
			name: "path by workspace in a real directory", want: trajectory.Path(ws + "/a.go"), actual: "a.go",
			cwd: "/repo/", holds: true,
		},
		{name: "path outside a real directory", want: trajectory.Path("a.go"), actual: "/repo2/a.go", cwd: "/repo"},
		{
			name: "path from a directory of the workspace", want: trajectory.Path("a.go"),
			actual: ws + "/sub/a.go", cwd: ws + "/sub", holds: true,
		},
		{
			name: "path of the workspace from a directory", want: trajectory.Path(ws + "/a.go"), actual: "a.go",
			cwd: ws + "/sub",
		},
		{name: "path that begins like the workspace", want: trajectory.Path("a.go"), actual: ws + "2/a.go"},
		{name: "path of a list", want: trajectory.Path("a.go"), actual: []any{"b.go", ws + "/a.go"}, holds: true},

		{name: "glob in a directory", want: trajectory.Glob("src/*.go"), actual: ws + "/src/a.go", holds: true},
		{name: "glob does not cross directories", want: trajectory.Glob("src/*.go"), actual: "src/x/a.go"},
		{name: "glob ** across directories", want: trajectory.Glob("src/**/*.go"), actual: "src/x/y/a.go", holds: true},
		{name: "glob ** across none", want: trajectory.Glob("src/**/*.go"), actual: "src/a.go", holds: true},
		{name: "glob ** at the end", want: trajectory.Glob("src/**"), actual: "src/a/b", holds: true},
		{name: "glob two **", want: trajectory.Glob("**/x/**/a.go"), actual: "x/y/x/z/a.go", holds: true},
		{name: "glob ** needs the rest", want: trajectory.Glob("**/x/**/b/a.go"), actual: "x/b/c/a.go"},
		{name: "glob whole components", want: trajectory.Glob("**/a.go"), actual: "src/data.go"},
		{name: "glob outside the workspace", want: trajectory.Glob("**/a.go"), actual: "/etc/a.go"},
		{name: "glob from the root", want: trajectory.Glob("/etc/*"), actual: "/etc/passwd", holds: true},
		{name: "glob from the workspace", want: trajectory.Glob(ws + "/*.go"), actual: "a.go", holds: true},
		{name: "glob without a slash", want: trajectory.Glob("*.ts"), actual: ws + "/src/x/a.ts", holds: true},
		{name: "glob without a slash, whole name", want: trajectory.Glob("a.ts"), actual: "src/data.ts"},
		{name: "glob without a slash, a directory", want: trajectory.Glob("src"), actual: "src/a.ts"},
		{name: "glob without a slash, outside", want: trajectory.Glob("*.ts"), actual: "/etc/a.ts"},
		{name: "glob without a slash, at home", want: trajectory.Glob("*.ts"), actual: "$HOME/a.ts"},
		{name: "glob of the directory itself", want: trajectory.Glob("./*.ts"), actual: "src/a.ts"},
		{name: "glob in the directory itself", want: trajectory.Glob("./*.ts"), actual: "a.ts", holds: true},
		{name: "glob with braces", want: trajectory.Glob("*.{ts,js}"), actual: "src/a.js", holds: true},
		{name: "glob with braces, neither", want: trajectory.Glob("*.{ts,js}"), actual: "src/a.go"},
		{
			name: "glob with braces within braces", want: trajectory.Glob("{src,lib/{a,b}}/*.{ts,js}"),
			actual: "lib/b/x.ts", holds: true,
		},
		{name: "glob with a slash in braces", want: trajectory.Glob("{*.ts,src/*.js}"), actual: "src/x/a.js"},
		{name: "glob with an empty alternative", want: trajectory.Glob("a{,.min}.js"), actual: "a.js", holds: true},
		{name: "glob of a brace", want: trajectory.Glob(`[{]\{a\,\}`), actual: "{{a,}", holds: true},
		{name: "glob class", want: trajectory.Glob("[ab].go"), actual: "b.go", holds: true},
		{name: "glob_like, ** across none", want: trajectory.GlobLike("src/**/*.ts"), actual: "src/*.ts", holds: true},
		{name: "glob_like, ** on the other side", want: trajectory.GlobLike("*.ts"), actual: "**/*.ts", holds: true},
		{
			name: "glob_like in the workspace", want: trajectory.GlobLike("src/*.ts"),
			actual: ws + "/src/*.ts", holds: true,
		},
		{name: "glob_like all below", want: trajectory.GlobLike("src/**"), actual: "src/**/*", holds: true},
		{name: "glob_like with braces", want: trajectory.GlobLike("**/*.{ts,js}"), actual: "*.{ts,js}", holds: true},
		{name: "glob_like another directory", want: trajectory.GlobLike("src/**/*.ts"), actual: "tests/**"},
		{name: "glob_like a directory less", want: trajectory.GlobLike("src/**/*.ts"), actual: "*.ts"},
		{name: "glob_like files of another kind", want: trajectory.GlobLike("src/**/*.ts"), actual: "src/**"},
		{name: "glob of a number", want: trajectory.Glob("*"), actual: 1},
	}
	names := make(map[string]bool)
	for _, test := range tests {
		assert.False(t, names[test.name], "%s: name used twice", test.name)
		names[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			if test.cwd == "" {
				test.cwd = ws
			}
			assert.Equal(t, test.holds, holds(t, test.want, test.cwd, test.actual))
		})
	}
}

// An argument that is not there matches nothing but Absent.
func TestMissingArgument(t *testing.T) {
	run := runOf(call("tool", args{"other": 1}))
	for _, arg := range everyArg() {
		name, _ := arg.Form()
		r := trajectory.Superset(trajectory.Tool("tool").Args(args{"arg": arg})).Match(run)
		require.NoError(t, r.Err)
		assert.Equal(t, name == "absent", r.Pass, name)
	}
}

// everyArg returns one matcher of each exported function.
func everyArg() []trajectory.Arg {
	return []trajectory.Arg{
		trajectory.Equals(map[string]any{"a": []any{1, "x", nil}}),
		trajectory.Contains("x"),
		trajectory.ContainsCI("x"),
		trajectory.EndsWith("x"),
		trajectory.Regex("x|$"),
		trajectory.Glob("**"),
		trajectory.GlobLike("src/**/*.ts"),
		trajectory.Path("x"),
		trajectory.OneOf(nil, "x", 1),
		trajectory.GTE(0),
		trajectory.LTE(0),
		trajectory.Near(0, 1),
		trajectory.Any(),
		trajectory.Absent(),
		trajectory.Type("null"),
	}
}

// Each name of YAML is one function of Go and back.
func TestArgForms(t *testing.T) {
	seen := make(map[string]bool)
	for _, arg := range everyArg() {
		name, param := arg.Form()
		assert.False(t, seen[name], "%s: two functions", name)
		seen[name] = true
		again, err := trajectory.NewArg(name, param)
		require.NoError(t, err, name)
		assert.Equal(t, arg.String(), again.String())
		_, param2 := again.Form()
		assert.Equal(t, param, param2, name)
	}
	for _, name := range trajectory.ArgNames() {
		assert.True(t, seen[name], "%s: no function", name)
	}
}

func TestMalformedExpectations(t *testing.T) {
	tool := func(arg any) trajectory.Matcher {
		return trajectory.Exact(trajectory.Tool("Grep").Args(args{"pattern": arg}))
	}
	cyclic := map[string]any{}
	cyclic["self"] = cyclic
	tests := []struct {
		name string
		m    trajectory.Matcher
		want string
	}{
		{
			"bad regex", tool(trajectory.Regex("a(")),
			"exact: step 1, Grep: pattern: regex: error parsing regexp: missing closing ): `a(`",
		},
		{
			"bad glob", tool(trajectory.Glob("a[")),
			"exact: step 1, Grep: pattern: glob: pattern a[: syntax error in pattern",
		},
		{
			"glob with an open brace", tool(trajectory.Glob("*.{go,mod")),
			"exact: step 1, Grep: pattern: glob: pattern *.{go,mod: a brace is not closed; write [{] for the character",
		},
		{
			"glob with a closing brace", tool(trajectory.Glob("*.go}")),
			"exact: step 1, Grep: pattern: glob: pattern *.go}: a brace is closed that was not opened; " +
				"write [}] for the character",
		},
		{
			"glob with many braces", tool(trajectory.Glob(strings.Repeat("{", 21))),
			"exact: step 1, Grep: pattern: glob: pattern {{{{{{{{{{{{{{{{{{{{{: more than 20 braces",
		},
		{
			"glob of many patterns", tool(trajectory.Glob(strings.Repeat("{a,b}", 10))),
			"exact: step 1, Grep: pattern: glob: pattern " + strings.Repeat("{a,b}", 10) +
				": its braces stand for more than 1000 patterns",
		},
		{
			"glob going up", tool(trajectory.Glob("../*")),
			"exact: step 1, Grep: pattern: glob: '..' is not allowed in a pattern",
		},
		{
			"glob of nothing", tool(trajectory.Glob("./")),
			"exact: step 1, Grep: pattern: glob: pattern ./ names no file",
		},
		{
			"unknown type", tool(trajectory.Type("int")),
			`exact: step 1, Grep: pattern: type: unknown type "int": want one of string, number, ` +
				"integer, boolean, array, object, null",
		},
		{
			"empty text", tool(trajectory.Contains("")),
			"exact: step 1, Grep: pattern: contains: needs a string that is not empty",
		},
		{
			"no choice", tool(trajectory.OneOf()),
			"exact: step 1, Grep: pattern: one_of: needs a list of values that is not empty, not [] (array)",
		},
		{
			"bound is no number", tool(trajectory.GTE("1")),
			`exact: step 1, Grep: pattern: gte: needs a number, not "1" (string)`,
		},
		{
			"bound is not finite", tool(trajectory.LTE(math.NaN())),
			"exact: step 1, Grep: pattern: lte: json: unsupported value: NaN",
		},
		{
			"negative distance", tool(trajectory.Near(1, -1)),
			`exact: step 1, Grep: pattern: near: needs a value and a distance, such as {value: 40, within: 0.5}, ` +
				`not {"value":1,"within":-1} (object)`,
		},
		{
			"distance out of range", tool(trajectory.Near(json.Number("1e500"), 1)),
			"exact: step 1, Grep: pattern: near: number 1e500 is out of range",
		},
		{
			"value that is not JSON", tool(func() {}),
			"exact: step 1, Grep: pattern: equals: json: unsupported type: func()",
		},
		{"value without end", tool(cyclic), "exact: step 1, Grep: pattern: equals: nested too deeply"},
		{
			"number that is none", tool(json.Number("0x1")),
			`exact: step 1, Grep: pattern: equals: "0x1" is not a number`,
		},
		{
			"matcher within a value", tool(args{"x": trajectory.Any()}),
			"exact: step 1, Grep: pattern: equals: x: an argument matcher must be a whole argument, not a part of one",
		},
		{
			"zero matcher of arguments", tool(trajectory.Arg{}),
			"exact: step 1, Grep: pattern: a zero Arg matches nothing: use a function that returns an Arg",
		},
		{
			"unknown mode", trajectory.InOrder(trajectory.Tool("a"), trajectory.Tool("b").Mode("exakt")),
			`in_order: step 2, b: unknown argument mode "exakt": want one of ["exact" "ignore" "subset" "superset"]`,
		},
		{
			"no limit", trajectory.Superset(trajectory.Kind("edit").MaxDuration(0)),
			"superset: step 1, kind edit: limit 0s must be positive",
		},
		{"no tool", trajectory.Superset(trajectory.Tool("")), "superset: step 1, kind \"\": a tool needs a name"},
		{"no kind", trajectory.Superset(trajectory.Kind("")), "superset: step 1, kind \"\": a kind needs a name"},
		{
			"no field", trajectory.Superset(trajectory.Tool("a").Fields()),
			"superset: step 1, a: no fields to compare: name some, or use IgnoreArgs (mode ignore)",
		},
		{
			"field without a name", trajectory.Superset(trajectory.Tool("a").Fields("x..y")),
			`superset: step 1, a: field "x..y": want names separated by dots`,
		},
		{
			"field of a matcher",
			trajectory.Superset(trajectory.Tool("a").Args(args{"x": trajectory.Any()}).Fields("x.y")),
			"superset: step 1, a: field x.y: cannot look into x, which is a matcher",
		},
		{
			"unknown matcher in a profile",
			trajectory.Superset(trajectory.Tool("a").Profile(trajectory.Profile{"x": "pth"})),
			`superset: step 1, a: x: unknown argument matcher "pth": want one of absent, any, contains, ` +
				`contains_ci, ends_with, equals, glob, glob_like, gte, lte, near, one_of, path, regex, type`,
		},
		{
			"value that a profile has no use for",
			trajectory.Superset(trajectory.Tool("a").Args(args{"x": 1}).Profile(trajectory.Profile{"x": "path"})),
			"superset: step 1, a: x: path: needs a string, not 1 (integer)",
		},
		{
			"no rule", trajectory.Superset(trajectory.Tool("a").Where("so", nil)),
			"superset: step 1, a: where so: no function",
		},
		{"empty group", trajectory.Strict(trajectory.Group{}), "strict: a group needs at least one call"},
		{"no counts", trajectory.AtMost(nil), "at_most: needs at least one tool"},
		{
			"count that binds nothing", trajectory.AnyOrder(trajectory.Counts{"a": 0}),
			"any_order: a: bound 0 can never fail",
		},
		{"count of a blank", trajectory.AnyOrder(trajectory.Counts{"": 1}), "any_order: a tool needs a name"},
		{
			"negative count", trajectory.AtMost(trajectory.Counts{"a": -1}),
			"at_most: a: bound -1 can never pass",
		},
		{"before nothing", trajectory.Before("a"), "before: needs at least two tools"},
		{"before itself", trajectory.Before("a", "a"), `before: duplicate tool "a"`},
		{"before a blank", trajectory.Before("a", ""), "before: a tool needs a name"},
		{"duplicates of a blank", trajectory.NoDuplicates(""), "no_duplicates: a tool needs a name"},
		{"no time", trajectory.MaxDuration(0), "max_duration_ms: limit 0s must be positive"},
		{
			"zero call", trajectory.Superset(trajectory.Call{}),
			"superset: step 1, kind \"\": a zero Call expects nothing: use Tool, Kind, Does or AnyOf",
		},
		{"zero matcher", trajectory.Matcher{}, "the Matcher expects nothing: use a function such as Superset"},
		{"all of none", trajectory.All(), "the Matcher expects nothing: use a function such as Superset"},
		{
			"all of a zero matcher", trajectory.All(trajectory.Exact(), trajectory.Matcher{}),
			"the Matcher expects nothing: use a function such as Superset",
		},
		{"never nothing", trajectory.Never(), "never: needs at least one tool"},
		{"never a tool without name", trajectory.Never("a", ""), "never: a tool needs a name"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := test.m.Match(runOf())
			require.ErrorContains(t, r.Err, test.want)
			assert.False(t, r.Pass)
			assert.Contains(t, r.String(), test.want)
		})
	}
}

func TestUnknownArgMatcher(t *testing.T) {
	_, err := trajectory.NewArg("contians", "x")
	assert.EqualError(t, err,
		`unknown argument matcher "contians": want one of absent, any, contains, contains_ci, ends_with, `+
			`equals, glob, glob_like, gte, lte, near, one_of, path, regex, type`)
	_, err = trajectory.NewArg("any", false)
	assert.EqualError(t, err, "any: the parameter must be true, not false (boolean)")
	_, err = trajectory.NewArg("regex", nil)
	assert.EqualError(t, err, "regex: needs a string, not null")
}

func TestRunThatCannotBeMatched(t *testing.T) {
	r := trajectory.Exact().Match(nil)
	require.EqualError(t, r.Err, "no run to match")
	r = trajectory.Exact().Match(runOf(trajectory.ToolCall{Name: "Read", Args: map[string]any{"c": make(chan int)}}))
	require.EqualError(t, r.Err, "call 1 of the run, Read: arguments: c: json: unsupported type: chan int")
	assert.False(t, r.Pass)
}
