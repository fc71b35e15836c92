package files_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/files"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/testkit/evaluatortest"
)

// parse decodes an evaluator whose own keys are given, without indentation.
func parse(keys string) (evaluator.Evaluator, error) {
	return evaluatortest.Parse("files", files.Kind(), keys)
}

func evaluate(t *testing.T, keys, workspace string) evaluator.Verdict {
	t.Helper()
	e, err := parse(keys)
	require.NoError(t, err)
	assert.Equal(t, evaluator.NeedsWorkspace, e.Needs())
	return e.Evaluate(context.Background(), evaluator.Input{Run: &trajectory.Run{}, Workspace: workspace})
}

// workspace returns a directory with files, directories and links, and a secret beside it.
func workspace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	ws := filepath.Join(dir, "ws")
	require.NoError(t, os.MkdirAll(filepath.Join(ws, "src"), 0o755))
	for name, text := range map[string]string{
		"../secret":   "secret\n",
		"src/a.go":    "package a\n\n// TODO: b\nfunc A() {}\n",
		"long.txt":    "1\n2\n3\n4\n5\n6 " + strings.Repeat("x", 100) + "\n7\n",
		"empty":       "",
		"crlf":        "a\r\nb\r\n",
		"binary":      "\x00\xff\x1b[31m",
		"no-newline":  "a\nb",
		"control.txt": "\x1b[31mred\n",
		"data.json":   `{"scripts": {"test": "go test"}, "sizes": [1, 2.0], "none": null, "a.b": {}}`,
		"bad.json":    "{\"a\": 1} {\"a\": 2}\n",
		"twice.json":  `{"a": 1, "a": 2}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(ws, name), []byte(text), 0o644))
	}
	for name, target := range map[string]string{
		"inside": "src/a.go", "dangling": "nowhere", "outside": "../secret", "out": "..", "loop": "loop",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(ws, name)))
	}
	return ws
}

func TestVerdict(t *testing.T) {
	ws := workspace(t)
	tests := []struct {
		name   string
		expect string // one expectation
		detail string // the text of a failure begins with ✗
	}{
		{"exists", "{path: src/a.go, exists: true}", "✓ src/a.go exists"},
		{"path that is not clean", "{path: ./src//a.go, exists: true}", "✓ src/a.go exists"},
		{"directory exists", "{path: src, exists: true}", "✓ src exists"},
		{"link inside exists", "{path: inside, exists: true}", "✓ inside exists"},
		{"exists not", "{path: b.go, exists: true}", "✗ b.go exists: it does not exist"},
		{"below a file", "{path: src/a.go/b, exists: true}", "✗ src/a.go/b exists: it does not exist"},
		{"dangling link", "{path: dangling, exists: true}", "✗ dangling exists: it is a dangling link"},
		{"link without end", "{path: loop, exists: true}", "✗ loop exists: it is a link that leads to itself"},
		{"link to the outside", "{path: outside, exists: true}", "✗ outside exists: it leads out of the workspace"},
		{
			"by a link to the outside", "{path: out/secret, contains: secret}",
			`✗ out/secret contains "secret": it leads out of the workspace`,
		},

		{"absent", "{path: b.go, absent: true}", "✓ b.go is absent"},
		{"exists false", "{path: src/a.go/b, exists: false}", "✓ src/a.go/b is absent"},
		{
			"absent but there", "{path: src/a.go, absent: true}",
			"✗ src/a.go is absent: it exists: a file of 34 bytes",
		},
		{"absent but a directory", "{path: src, exists: false}", "✗ src is absent: it exists: a directory"},
		{
			"absent but a dangling link", "{path: dangling, absent: true}",
			"✗ dangling is absent: it exists: a link",
		},
		{
			"absent by a link to the outside", "{path: out/nothing, absent: true}",
			"✗ out/nothing is absent: it leads out of the workspace",
		},

		{"contains", "{path: inside, contains: func A}", `✓ inside contains "func A"`},
		{"contains not", "{path: src/a.go, contains: func B}", `✗ src/a.go contains "func B": not found
    the file is
    "package a"
    ""
    "// TODO: b"
    "func A() {}"`},
		{"contains not, long", "{path: long.txt, contains: nothing}", `✗ long.txt contains "nothing": not found
    the file begins with
    "1"
    "2"
    "3"
    "4"
    "5"`},
		{
			"contains not, empty", "{path: empty, contains: x}",
			"✗ empty contains \"x\": not found\n    the file is empty",
		},
		{
			"contains not, binary", "{path: binary, contains: x}",
			"✗ binary contains \"x\": not found\n    the file is not text, 7 bytes",
		},
		{"contains in a directory", "{path: src, contains: x}", `✗ src contains "x": it is a directory`},
		{"contains in no file", "{path: b.go, contains: x}", `✗ b.go contains "x": it does not exist`},

		{"not_contains", "{path: src/a.go, not_contains: FIXME}", `✓ src/a.go does not contain "FIXME"`},
		{
			"not_contains in no file", "{path: b.go, not_contains: x}",
			`✗ b.go does not contain "x": it does not exist`,
		},
		{
			"not_contains but it does", "{path: src/a.go, not_contains: TODO}",
			"✗ src/a.go does not contain \"TODO\": found on line 3\n    \"// TODO: b\"",
		},
		{
			"not_contains, control characters", "{path: control.txt, not_contains: red}",
			"✗ control.txt does not contain \"red\": found on line 1\n    \"\\x1b[31mred\"",
		},

		{"matches", `{path: src/a.go, matches: '(?m)^func \w+\('}`, `✓ src/a.go matches "(?m)^func \\w+\\("`},
		{
			"matches not", "{path: no-newline, matches: '^b'}",
			"✗ no-newline matches \"^b\": no match\n    the file is\n    \"a\"\n    \"b\"",
		},

		{
			"json", `{path: data.json, json_path: [{at: scripts.test, equals: go test}]}`,
			`✓ data.json has scripts.test = "go test"`,
		},
		{
			"json number", `{path: data.json, json_path: [{at: 'sizes[1]', equals: 2}]}`,
			`✓ data.json has sizes[1] = 2`,
		},
		{"json null", `{path: data.json, json_path: [{at: none, equals: null}]}`, `✓ data.json has none = null`},
		{
			"json object", `{path: data.json, json_path: [{at: '["a.b"]', equals: {}}]}`,
			`✓ data.json has ["a.b"] = {}`,
		},
		{
			"json of another type", `{path: data.json, json_path: [{at: 'sizes[0]', equals: "1"}]}`,
			`✗ data.json has sizes[0] = "1": it is 1`,
		},
		{
			"json in another order", `{path: data.json, json_path: [{at: sizes, equals: [2, 1]}]}`,
			`✗ data.json has sizes = [2,1]: it is [1,2.0]`,
		},
		{
			"json null, but it is missing", `{path: data.json, json_path: [{at: scripts.lint, equals: null}]}`,
			`✗ data.json has scripts.lint = null: scripts has no key "lint"`,
		},
		{"json exists", `{path: data.json, json_path: [{at: none, exists: true}]}`, `✓ data.json has none`},
		{
			"json exists not", `{path: data.json, json_path: [{at: 'sizes[2]', exists: true}]}`,
			`✗ data.json has sizes[2]: sizes has no element 2, its length is 2`,
		},
		{
			"json absent", `{path: data.json, json_path: [{at: scripts.lint, exists: false}]}`,
			`✓ data.json has no scripts.lint`,
		},
		{
			"json absent but there", `{path: data.json, json_path: [{at: none, exists: false}]}`,
			`✗ data.json has no none: it is null`,
		},
		{
			"duplicate key", `{path: twice.json, json_path: [{at: a, equals: 2}]}`,
			"✗ twice.json has a = 2: the file is not JSON: duplicate key \"a\"\n    the file is\n    \"{\\\"a\\\": " +
				"1, \\\"a\\\": 2}\"",
		},
		{
			"no json", `{path: bad.json, json_path: [{at: b, exists: false}]}`,
			"✗ bad.json has no b: the file is not JSON: text after the JSON value\n    the file is\n" +
				"    \"{\\\"a\\\": 1} {\\\"a\\\": 2}\"",
		},
		{
			"json in no file", `{path: b.json, json_path: [{at: b, exists: false}]}`,
			`✗ b.json has no b: it does not exist`,
		},

		{"equals", `{path: no-newline, equals: "a\nb"}`, `✓ no-newline equals "a\nb"`},
		{"equals empty", `{path: empty, equals: ""}`, `✓ empty equals ""`},
		{
			"equals but for the end", `{path: no-newline, equals: "a\nb\n\n"}`,
			"✗ no-newline equals \"a\\nb\\n\\n\": it ends with no newline, want 2 newlines",
		},
		{
			"equals not", `{path: no-newline, equals: "a\nc\n"}`,
			"✗ no-newline equals \"a\\nc\\n\": they differ on line 2\n    -want \"c\\n\"\n    +got  \"b\"",
		},
		{
			"equals less", `{path: no-newline, equals: "a\n"}`,
			"✗ no-newline equals \"a\\n\": they differ on line 2\n    -want the end\n    +got  \"b\"",
		},
		{
			"equals more", `{path: no-newline, equals: "a\nb\nc\n"}`,
			"✗ no-newline equals \"a\\nb\\nc\\n\": they differ on line 2\n    -want \"b\\n\"\n    +got  \"b\"",
		},
		{
			"equals but for the newline", `{path: no-newline, equals: "a\nb\n"}`,
			`✗ no-newline equals "a\nb\n": it ends with no newline, want one newline`,
		},
		{
			"equals but for line ends", `{path: crlf, equals: "a\nb\n"}`,
			`✗ crlf equals "a\nb\n": lines end with CRLF on one side and with LF on the other`,
		},
		{
			"equals long", "{path: long.txt, equals: " + strings.Repeat("y", 90) + "}",
			`✗ long.txt equals "` + strings.Repeat("y", 80) + "\"…: they differ on line 1\n    -want \"" +
				strings.Repeat("y", 80) + "\"…\n    +got  \"1\\n\"",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := evaluate(t, "expect: ["+test.expect+"]", ws)
			assert.Equal(t, test.detail, v.Detail)
			require.NotNil(t, v.Score)
			if strings.HasPrefix(test.detail, "✓") {
				assert.Equal(t, result.Pass, v.Outcome)
				assert.Equal(t, 1.0, *v.Score)
				assert.Empty(t, v.Reason)
				return
			}
			assert.Equal(t, result.Fail, v.Outcome)
			assert.Equal(t, 0.0, *v.Score)
			first, _, _ := strings.Cut(strings.TrimPrefix(test.detail, "✗ "), "\n")
			assert.Equal(t, first, v.Reason)
		})
	}
}

func TestSeveralExpectations(t *testing.T) {
	v := evaluate(t, `
expect:
  - path: src/a.go
    exists: true
    contains: package a
    not_contains: TODO
    matches: ^package
  - {path: b.go, exists: true}`, workspace(t))
	assert.Equal(t, result.Fail, v.Outcome)
	assert.Equal(t, 3.0/5, *v.Score)
	assert.Equal(t, `src/a.go does not contain "TODO": found on line 3 (and 1 more)`, v.Reason)
	assert.Equal(t, `✓ src/a.go exists
✓ src/a.go contains "package a"
✗ src/a.go does not contain "TODO": found on line 3
    "// TODO: b"
✓ src/a.go matches "^package"
✗ b.go exists: it does not exist`, v.Detail)
}

func TestNothingKnown(t *testing.T) {
	ws := t.TempDir()
	big, err := os.Create(filepath.Join(ws, "big"))
	require.NoError(t, err)
	require.NoError(t, big.Truncate(16<<20+1))
	require.NoError(t, big.Close())

	v := evaluate(t, "expect: [{path: big, contains: x}]", ws)
	assert.Equal(t,
		evaluator.Verdict{Outcome: result.Error, Reason: "big exceeds the 16 MiB limit"}, v)
	v = evaluate(t, "expect: [{path: big, exists: true}]", ws)
	assert.Equal(t, result.Pass, v.Outcome, "it need not be read")

	v = evaluate(t, "expect: [{path: a, absent: true}]", "")
	assert.Equal(t, evaluator.Verdict{Outcome: result.Error, Reason: "no workspace"}, v)
	v = evaluate(t, "expect: [{path: a, absent: true}]", filepath.Join(ws, "nowhere"))
	assert.Equal(t, result.Error, v.Outcome, "a workspace that is not there is not one without files")

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	e, err := parse("expect: [{path: a, absent: true}]")
	require.NoError(t, err)
	assert.Equal(t, result.Error, e.Evaluate(ctx, evaluator.Input{Workspace: ws}).Outcome)
}

func TestLoadErrors(t *testing.T) {
	tests := []struct {
		name string
		keys string
		want []string // position, path and reason
	}{
		{"no expectations", "weight: 1", []string{"5:5: evaluators[0]: `evaluators[0].expect` is required"}},
		{"empty list", "expect: []", []string{"6:5: evaluators[0].expect: must not be empty"}},
		{"unknown key", "expect: [{path: a, exist: true}]", []string{
			`6:24: evaluators[0].expect[0].exist: unknown key, did you mean "exists"?`,
		}},
		{"no path", "expect: [{exists: true}]", []string{
			"6:14: evaluators[0].expect[0]: `evaluators[0].expect[0].path` is required",
		}},
		{
			"paths outside", "expect: [{path: ../a, exists: true}, {path: /a, exists: true}, {path: ., exists: true}]",
			[]string{
				`6:21: evaluators[0].expect[0].path: "../a" is not a path below the workspace`,
				`6:49: evaluators[0].expect[1].path: "/a" is not a path below the workspace`,
				`6:75: evaluators[0].expect[2].path: "." is not a path below the workspace`,
			},
		},
		{"patterns", "expect: [{path: '*.tmp', absent: true}, {path: 'a?', exists: false}]", []string{
			`6:21: evaluators[0].expect[0].path: "*.tmp" looks like a pattern: a path names one file`,
			`6:52: evaluators[0].expect[1].path: "a?" looks like a pattern: a path names one file`,
		}},
		{"blanks around paths", "expect: [{path: 'a.txt ', absent: true}, {path: \"a\\n\", exists: true}]", []string{
			`6:21: evaluators[0].expect[0].path: "a.txt " begins or ends with white space: remove it`,
			`6:53: evaluators[0].expect[1].path: "a\n" begins or ends with white space: remove it`,
		}},
		{"nothing expected", "expect: [{path: a}]", []string{
			"6:14: evaluators[0].expect[0]: expects nothing of a: write `exists: true`, `contains`, or another check",
		}},
		{
			"contradiction", "expect: [{path: a, absent: true, contains: x}, {path: a, exists: true, absent: true}]",
			[]string{
				"6:14: evaluators[0].expect[0]: expects something of a file that must not exist",
				"6:52: evaluators[0].expect[1]: expects something of a file that must not exist",
			},
		},
		{"absent: false", "expect: [{path: a, absent: false}]", []string{
			"6:32: evaluators[0].expect[0].absent: must be true: write `exists: true` instead",
		}},
		{"empty text", "expect: [{path: a, contains: ''}]", []string{
			"6:34: evaluators[0].expect[0].contains: must not be empty",
		}},
		{
			"json without expectation", "expect: [{path: a, json_path: [{at: a}, {at: b, equals: 1, exists: true}]}]",
			[]string{
				"6:36: evaluators[0].expect[0].json_path[0]: exactly one of `equals` and `exists` is required",
				"6:45: evaluators[0].expect[0].json_path[1]: exactly one of `equals` and `exists` is required",
			},
		},
		{"json without values", "expect: [{path: a, json_path: []}]", []string{
			"6:24: evaluators[0].expect[0].json_path: must not be empty",
		}},
		{"bad json path", "expect: [{path: a, json_path: [{at: 'a[*]', exists: true}]}]", []string{
			`6:41: evaluators[0].expect[0].json_path[0].at: [*] is neither an index like [0] nor a key like ["a.b"]`,
		}},
		{"golden of a text", "expect: [{path: a, golden: a.txt}]", []string{
			"6:32: evaluators[0].expect[0].golden: a.txt: a playbook that was not read from a file cannot name files",
		}},
		{"golden of nothing", "expect: [{path: a, absent: true, golden: a.txt}]", []string{
			"6:14: evaluators[0].expect[0]: expects something of a file that must not exist",
			"6:46: evaluators[0].expect[0].golden: a.txt: a playbook that was not read from a file cannot name files",
		}},
		{"regular expression of anything", "expect: [{path: a, matches: 'x*'}]", []string{
			"6:33: evaluators[0].expect[0].matches: matches every text, even an empty one: " +
				"write `.+` instead of `.*`, or the text to find",
		}},
		{"bad regular expression", "expect: [{path: a, matches: 'a('}]", []string{
			"6:33: evaluators[0].expect[0].matches: error parsing regexp: missing closing ): `a(`",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := parse(test.keys)
			require.EqualError(t, err, "p.yaml:"+strings.Join(test.want, "\np.yaml:"))
		})
	}
}

// FuzzDecode holds that what loads can be judged, and that what cannot be loaded says where.
func FuzzDecode(f *testing.F) {
	f.Add("expect: [{path: a, exists: true, contains: x, not_contains: y, equals: x, matches: '^x'}]")
	f.Add("expect: [{path: ../a, absent: true}, {path: b, matches: '('}]")
	f.Add("expect: [{path: a, json_path: [{at: 'b[0][\"c\"]', equals: {d: [1]}}, {at: $, exists: true}]}]")
	ws := f.TempDir()
	if err := os.WriteFile(filepath.Join(ws, "a"), []byte("x\ny\n"), 0o600); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, keys string) {
		e, err := parse(keys)
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "p.yaml:"), err)
			return
		}
		v := e.Evaluate(context.Background(), evaluator.Input{Workspace: ws})
		require.NotEmpty(t, v.Outcome)
		require.Equal(t, v.Outcome == result.Error, v.Score == nil)
	})
}

// A path that no workspace has would always be absent.
func TestPathsOfNoWorkspace(t *testing.T) {
	for _, tt := range []struct{ path, want string }{
		{"$WORKSPACE/a", "begins with a variable, a home or a drive: write the path below the workspace alone"},
		{"${WORKSPACE}/a", "begins with a variable, a home or a drive: write the path below the workspace alone"},
		{"./$WORKSPACE/a", "begins with a variable, a home or a drive: write the path below the workspace alone"},
		{"$WORKSPACE", "begins with a variable, a home or a drive: write the path below the workspace alone"},
		{"~/a", "begins with a variable, a home or a drive: write the path below the workspace alone"},
		{"~", "begins with a variable, a home or a drive: write the path below the workspace alone"},
		{"~me", "begins with a variable, a home or a drive: write the path below the workspace alone"},
		{"~me/a", "begins with a variable, a home or a drive: write the path below the workspace alone"},
		{"C:/a", "begins with a variable, a home or a drive: write the path below the workspace alone"},
		{`src\\a.go`, "has a backslash: paths have slashes"},
		{`C:\\a`, "has a backslash: paths have slashes"},
		{`a\u200b.go`, "has a character that nobody sees: write the path anew"},
		{`a\u0000`, "has a character that nobody sees: write the path anew"},
	} {
		for _, check := range []string{"exists: false", "absent: true", "exists: true", "contains: x"} {
			_, err := parse(`expect: [{path: "` + tt.path + `", ` + check + "}]")
			require.ErrorContains(t, err, "p.yaml:6:21: evaluators[0].expect[0].path: \"", tt.path)
			require.ErrorContains(t, err, tt.want, tt.path)
		}
	}
	for _, path := range []string{"A$B.class", "a~", "~$x.docx", "a/$b", "täg", "a b", "$a/b"} {
		_, err := parse(`expect: [{path: "` + path + `", exists: false}]`)
		require.NoError(t, err, path)
	}
}

// What the workspace cannot hold, or a recording does not keep, would always be absent.
func TestUnheld(t *testing.T) {
	const (
		prepare = "workflow: {jobs: {j: {strategy: {matrix: {variant: [v]}}, " +
			"steps: [{uses: builtin:sdd-eval/acp.prompt}]}}}\n"
		running = "workflow: {jobs: {j: {strategy: {matrix: {variant: [v]}}, " +
			"steps: [{run: go build}, {uses: builtin:sdd-eval/acp.prompt}]}}}\n"
		variants = "variants: {v: {agent: {kind: fake-acp}}}\n"
		task     = "task: {prompt: p}\n"
	)
	root := t.TempDir()
	for _, name := range []string{"evals/p.yaml", "ws/README.md", "ws/src/a.go"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), nil, 0o644))
	}
	for _, tt := range []struct{ name, head, expect, rest, want string }{
		{
			"left out", task + prepare, "{path: node_modules/a, exists: false}", "",
			"node_modules/a: nothing is ever seen there: recordings leave out node_modules; " +
				"name it under `workspace.include`",
		},
		{
			"left out deeper", task + prepare, "{path: web/dist/x/y, absent: true}", "",
			"web/dist/x/y: nothing is ever seen there: recordings leave out web/dist; " +
				"name it under `workspace.include`",
		},
		{
			"the directory itself", task + prepare, "{path: .venv, exists: false}", "",
			".venv: nothing is ever seen there: recordings leave out .venv; name it under `workspace.include`",
		},
		{
			"excluded", task + running, "{path: a/b.log, exists: false}", "cassette: {exclude: ['**/*.log']}",
			"a/b.log: nothing is ever seen there: `cassette.exclude` leaves out **/*.log",
		},
		{
			"below a file of the workspace", task + prepare, "{path: README.md/a, exists: false}",
			"workspace: {from: ../ws}", "README.md/a: nothing can be below README.md, which is a file of the workspace",
		},
		{
			"below a file that is expected", task + prepare,
			"{path: a/b/c, exists: false}, {path: a/b, contains: x}", "",
			"a/b/c: nothing can be below a/b, of whose text something is expected",
		},
		{"included", task + prepare, "{path: dist/a, exists: false}", "workspace: {from: ../ws, include: [dist]}", ""},
		{"a step may make it", task + running, "{path: node_modules/a, exists: false}", "", ""},
		{
			"a case has it", "cases: [{id: c, prompt: p, files: {build/x: y}}]\n" + prepare,
			"{path: build/x, exists: false}", "workspace: {from: ../ws}", "",
		},
		{"a style", task + prepare, "{path: .llman/x, exists: false}", "", ""},
		{"git", task + prepare, "{path: .git/x, exists: false}", "workspace: {from: ../ws, git: true}", ""},
		{"it exists", task + prepare, "{path: node_modules/a, exists: true}", "", ""},
		{"elsewhere", task + prepare, "{path: src/b, exists: false}", "workspace: {from: ../ws}", ""},
		{"another file", task + prepare, "{path: a/b, exists: false}, {path: a/bc, contains: x}", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := tt.head + variants + "evaluators: [{type: files, expect: [" + tt.expect + "]}]\n" + tt.rest
			_, err := plan.Read(plan.Source{
				Path: filepath.Join(root, "evals/p.yaml"), Name: "evals/p.yaml", Root: root, Data: []byte(text),
			}, plan.Kinds{"files": files.Kind()})
			if tt.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, ".path: "+tt.want)
			}
		})
	}
}
