package tooltrajectory_test

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/tooltrajectory"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/testkit/evaluatortest"
)

// parse decodes an evaluator whose own keys are given, without indentation.
func parse(keys string) (evaluator.Evaluator, error) {
	return evaluatortest.Parse("tool_trajectory", tooltrajectory.Kind(), keys)
}

func evaluate(t *testing.T, keys string, run *trajectory.Run) evaluator.Verdict {
	t.Helper()
	e, err := parse(keys)
	require.NoError(t, err)
	assert.Zero(t, e.Needs())
	return e.Evaluate(context.Background(), evaluator.Input{Run: run})
}

type args = map[string]any

// refunded is a run of two calls, 45 and 120 ms long.
func refunded() *trajectory.Run {
	return &trajectory.Run{Cwd: "$WORKSPACE", Events: []trajectory.Event{
		{
			Turn: 1,
			Body: trajectory.ToolStart{
				ID: "1", Name: "read_file", Kind: "read", Args: args{"path": "$WORKSPACE/order.json"},
			},
		},
		{Turn: 1, At: 45 * time.Millisecond, Body: trajectory.ToolEnd{ID: "1", Status: trajectory.Completed}},
		{
			Turn: 1, At: 50 * time.Millisecond,
			Body: trajectory.ToolStart{ID: "2", Name: "issue_refund", Args: args{"amount": 100}},
		},
		{Turn: 1, At: 170 * time.Millisecond, Body: trajectory.ToolEnd{ID: "2", Status: trajectory.Completed}},
	}}
}

// oneLine is a run of one call, in which a shell does three things.
func oneLine() *trajectory.Run {
	return &trajectory.Run{Cwd: "$WORKSPACE", Events: []trajectory.Event{
		{Turn: 1, Body: trajectory.ToolStart{
			ID: "1", Name: "Bash", Kind: "execute", Args: args{"command": "cat a.go && sed -i s/a/b/ a.go && go test"},
		}},
		{Turn: 1, Body: trajectory.ToolEnd{ID: "1", Status: trajectory.Completed}},
	}}
}

func TestVerdict(t *testing.T) {
	tests := []struct {
		name    string
		keys    string
		run     *trajectory.Run
		outcome result.Outcome
		score   float64
		reason  string
		detail  string
	}{
		{
			name: "pass",
			keys: `
mode: in_order
expected:
  - {tool: read_file, args: {path: {path: order.json}}, max_duration_ms: 45}
  - {tool: issue_refund, args: {amount: {gte: 40}}}
never: [WebFetch]`,
			run: refunded(), outcome: result.Pass, score: 1,
			detail: `in_order: 3 of 3
  1 ✓ read_file path=$WORKSPACE/order.json
  2 ✓ issue_refund amount=100
never: 1 of 1
  ✓ never WebFetch`,
		},
		{
			name: "fail",
			keys: `
mode: in_order
expected:
  - {tool: read_file, args: {path: {path: order.json}}}
  - {tool: issue_refund, args: {amount: 40}}`,
			run: refunded(), outcome: result.Fail, score: 0.5,
			reason: "in_order: step 2 not matched: issue_refund amount=40",
			detail: "1 ✓ read_file path=$WORKSPACE/order.json\n2 ✗ issue_refund amount=100   want amount=40",
		},
		{
			name: "superset is the default", keys: "expected: [{tool: issue_refund}, {kind: read}]",
			run: refunded(), outcome: result.Pass, score: 1,
			detail: "1 ✓ issue_refund amount=100\n2 ✓ read_file path=$WORKSPACE/order.json",
		},
		{
			name: "precision and recall", keys: "expected: [{tool: read_file}, {tool: x}, {tool: y}]",
			run: refunded(), outcome: result.Fail, score: 1.0 / 3,
			reason: "superset: step 2 not matched: x (and 1 more)",
			detail: `1 ✓ read_file path=$WORKSPACE/order.json
2 ✗ (not called)   want x
3 ✗ (not called)   want y
called: read_file 1, issue_refund 1
precision 0.50, recall 0.33, F1 0.40`,
		},
		{
			name: "override by a mode", run: refunded(), outcome: result.Pass, score: 1,
			keys:   "expected: [{tool: issue_refund, args: {amount: 40}}]\noverrides: {issue_refund: ignore}",
			detail: "1 ✓ issue_refund amount=100\nprecision 0.50, recall 1.00, F1 0.67",
		},
		{
			name: "override by a matcher of what no call says", run: refunded(), outcome: result.Fail, score: 0,
			keys:   "expected: [{tool: issue_refund}]\noverrides: {issue_refund: {amount: {gte: 500}}}",
			reason: "superset: step 1 not matched: issue_refund amount=gte(500)",
			detail: "1 ✗ issue_refund amount=100   want amount=gte(500)",
		},
		{
			name: "a mode of its own", run: refunded(), outcome: result.Fail, score: 0,
			keys:   "expected: [{tool: issue_refund, args: exact}]",
			reason: "superset: step 1 not matched: issue_refund",
			detail: "1 ✗ issue_refund amount=100   want no amount",
		},
		{
			name: "override of a tool that a kind meets", run: refunded(), outcome: result.Fail, score: 0.5,
			keys: `
expected: [{kind: read, args: {path: order, n: 1}}, {kind: read, args: {path: ORDER}}]
overrides: {read_file: {path: contains_ci}, Bash: ignore}`,
			reason: "superset: step 1 not matched: kind read n=1 path=order",
			detail: `1 ✗ (not called again)   want kind read n=1 path=order
2 ✓ read_file path=$WORKSPACE/order.json
called: read_file 1, issue_refund 1`,
		},
		{
			name: "override of another tool than a kind meets", run: refunded(), outcome: result.Fail, score: 0,
			keys: `
expected: [{kind: read, args: {path: ORDER}}]
overrides: {Read: {path: contains_ci}}`,
			reason: "superset: step 1 not matched: kind read path=ORDER",
			detail: "1 ✗ read_file path=$WORKSPACE/order.json   want path=ORDER",
		},
		{
			name: "override by a path of a tool that a kind meets", run: refunded(), outcome: result.Fail, score: 0,
			keys: `
expected: [{kind: read, args: {path: x, n: 1}}]
overrides: {read_file: [path]}`,
			reason: "superset: step 1 not matched: kind read n=1 path=x",
			detail: "1 ✗ read_file path=$WORKSPACE/order.json   want path=x",
		},
		{
			name: "what is done", run: oneLine(), outcome: result.Pass, score: 1,
			keys: "mode: in_order\nexpected: [{does: read}, {any: [{kind: edit}, {does: edit}]}, {does: execute}]",
			detail: `1 ✓ Bash command="cat a.go && sed -i s/a/b/ a.go && go test"
2 ✓ Bash command="cat a.go && sed -i s/a/b/ a.go && go test"
3 ✓ Bash command="cat a.go && sed -i s/a/b/ a.go && go test"`,
		},
		{
			name: "what is not done", run: oneLine(), outcome: result.Fail, score: 1.0 / 3,
			keys:   "mode: in_order\nexpected: [{does: edit}, {does: read}, {any: [{tool: rm}, {does: delete}]}]",
			reason: "in_order: step 2 not matched: does read (and 1 more)",
			detail: `1 ✓ Bash command="cat a.go && sed -i s/a/b/ a.go && go test"
2 ✗ (not called again)   want does read
3 ✗ (not called)         want rm or does delete
called: Bash 1; done: read 1, edit 1, execute 1
precision 1.00, recall 0.33, F1 0.50`,
		},
		{
			name: "arguments of what is done", run: oneLine(), outcome: result.Fail, score: 0,
			keys:   "expected: [{any: [{does: delete}, {does: edit, args: {command: {contains: b.go}}}]}]",
			reason: `superset: step 1 not matched: does delete or does edit command=contains(b.go)`,
			detail: `1 ✗ Bash command="cat a.go && sed -i s/a/b/ a.go && go test"   want command=contains(b.go)`,
		},
		{
			name: "override of a tool that does it", run: oneLine(), outcome: result.Pass, score: 1,
			keys: `
expected: [{any: [{does: edit, args: {command: SED -I}}]}]
overrides: {Bash: {command: contains_ci}}`,
			detail: `1 ✓ Bash command="cat a.go && sed -i s/a/b/ a.go && go test"`,
		},
		{
			name: "constraints of calls", run: oneLine(), outcome: result.Fail, score: 0.4,
			keys: `
expected: [{does: edit, by: main}]
args: exact
never: [Read, {does: delete}, {does: edit, args: {command: {contains: sed}}}]
before: [{does: edit}, {does: read}]`,
			reason: "superset: step 1 not matched: does edit by main; never: call 1 does edit command=contains(sed); " +
				"before: call 1 does read before does edit",
			detail: `superset: 0 of 1
  1 ✗ Bash command="cat a.go && sed -i s/a/b/ a.go && go test"   want no command
never: 2 of 3
  ✓ never Read
  ✓ never does delete
  ✗ Bash command="cat a.go && sed -i s/a/b/ a.go && go test"   want never does edit command=contains(sed)
before: 0 of 1
  ✗ Bash command="cat a.go && sed -i s/a/b/ a.go && go test"   want after does edit`,
		},
		{
			name: "precision of what passed", keys: "expected: [{tool: read_file}]",
			run: refunded(), outcome: result.Pass, score: 1,
			detail: "1 ✓ read_file path=$WORKSPACE/order.json\nprecision 0.50, recall 1.00, F1 0.67",
		},
		{
			name: "exact nothing", keys: "mode: exact\nexpected: []",
			run: refunded(), outcome: result.Fail,
			reason: "exact: call 1 not expected: read_file (and 1 more)",
			detail: "+ read_file path=$WORKSPACE/order.json   not expected\n+ issue_refund amount=100                " +
				"not expected",
		},
		{
			name: "argument mode for all",
			keys: "args: exact\nexpected: [{tool: issue_refund, args: {}}, {tool: read_file, args: ignore}]",
			run:  refunded(), outcome: result.Fail, score: 0.5,
			reason: "superset: step 1 not matched: issue_refund",
			detail: "1 ✗ issue_refund amount=100   want no amount\n2 ✓ read_file path=$WORKSPACE/order.json",
		},
		{
			name: "limits",
			keys: "mode: exact\nexpected: [{tool: read_file, max_duration_ms: 10}, {tool: issue_refund, " +
				"max_duration_ms: 10}]",
			run: refunded(), outcome: result.Fail, score: 0.5,
			reason: "exact: step 1 exceeds its limit: read_file took 45ms, want at most 10ms (and 1 more)",
			detail: "1 ✗ read_file path=$WORKSPACE/order.json   took 45ms, want at most 10ms\n" +
				"2 ✗ issue_refund amount=100                took 120ms, want at most 10ms",
		},
		{
			name: "empty run", keys: "expected: [{tool: read_file}]",
			run: &trajectory.Run{}, outcome: result.Fail,
			reason: "superset: step 1 not matched: read_file",
			detail: "1 ✗ (not called)   want read_file\nno tool was called",
		},
		{
			name: "empty run and never alone", keys: "never: [read_file]",
			run: &trajectory.Run{}, outcome: result.Pass, score: 1, detail: "✓ never read_file",
		},
		{
			name: "never", keys: "never: [issue_refund]",
			run: refunded(), outcome: result.Fail,
			reason: "never: issue_refund was called (call 2)", detail: "✗ issue_refund amount=100   want never",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := evaluate(t, test.keys, test.run)
			assert.Equal(t, test.outcome, v.Outcome)
			require.NotNil(t, v.Score)
			assert.Equal(t, test.score, *v.Score)
			assert.Equal(t, test.reason, v.Reason)
			assert.Equal(t, test.detail, v.Detail)
		})
	}
}

// A verdict names the calls that were not as expected: those that came nearest, and those that should not have been.
func TestCallsOfVerdict(t *testing.T) {
	for keys, want := range map[string][]result.Call{
		"mode: exact\nexpected: [{tool: read_file}]": {{Number: 2, Want: "not expected"}},
		"expected: [{tool: x}]":                      nil,
		"expected: [{tool: read_file}]":              nil,
		"expected: [{tool: read_file}, {tool: issue_refund, args: {amount: 40}}]\nnever: [read_file]": {
			{Number: 2, Want: "step 2: want amount=40"}, {Number: 1, Want: "want never"},
		},
		"mode: in_order\nexpected: [{tool: issue_refund}, {tool: read_file}]": {
			{Number: 1, Want: "step 2: want after step 1"},
		},
		"expected: [{tool: issue_refund, max_duration_ms: 10}]": {
			{Number: 2, Want: "step 1: took 120ms, want at most 10ms"},
		},
		"before: [issue_refund, read_file]": {{Number: 1, Want: "want after issue_refund"}},
	} {
		assert.Equal(t, want, evaluate(t, keys, refunded()).Calls, keys)
	}
	again := refunded()
	again.Events = slices.Concat(again.Events, again.Events)
	assert.Equal(t, []result.Call{
		{Number: 3, Want: "want no duplicate of call 1"}, {Number: 4, Want: "want no duplicate of call 2"},
	}, evaluate(t, "no_duplicates: true", again).Calls)
	again.Events = slices.Repeat(again.Events, 20)
	assert.Len(t, evaluate(t, "no_duplicates: true", again).Calls, 20, "the first")
}

// An agent that writes files and reports no calls is unknown, and neither right nor wrong.
func TestUnseenCalls(t *testing.T) {
	run := &trajectory.Run{Events: []trajectory.Event{{Turn: 1, Body: trajectory.FileWrite{Path: "a"}}}}
	v := evaluate(t, "never: [Bash]", run)
	assert.Equal(t, result.Error, v.Outcome)
	assert.Nil(t, v.Score)
	assert.Contains(t, v.Reason, "write a")
}

// Calls are what the rows of a suite in Go expect: a list of calls without a mode.
func TestCalls(t *testing.T) {
	read := func(text string) ([]trajectory.Call, error) {
		d := doc.Parse("calls.json", []byte(text))
		return tooltrajectory.Calls(d.Root), d.Err()
	}
	calls, err := read(`[{"tool": "read_file", "args": {"path": {"path": "order.json"}}}, {"kind": "read"}]`)
	require.NoError(t, err)
	require.Len(t, calls, 2)
	r := trajectory.Superset(calls...).Match(refunded())
	require.NoError(t, r.Err)
	assert.Equal(t, 1, r.Held)
	assert.Equal(t, 2, r.Total)
	for text, want := range map[string]string{
		`{"tool": "a"}`:                     "must be a list",
		`[{"tool": "a", "togehter": true}]`: "unknown key",
		`[{"tool": "a", "together": true}]`: "[0].together: has no effect without `mode: strict`",
		`[{}]`:                              "needs exactly one of `tool`, `kind`, `does` and `any`",
	} {
		_, err := read(text)
		assert.ErrorContains(t, err, want, text)
	}
}

func TestRunThatCannotBeMatched(t *testing.T) {
	run := &trajectory.Run{
		Events: []trajectory.Event{{Body: trajectory.ToolStart{ID: "1", Name: "t", Args: func() {}}}},
	}
	v := evaluate(t, "expected: [{tool: t}]", run)
	assert.Equal(t, result.Error, v.Outcome)
	assert.Nil(t, v.Score, "an error is never a score")
	assert.Equal(t, "error: call 1 of the run, t: arguments: json: unsupported type: func()", v.Reason)
}

// Each form of a matcher in YAML is one exported function of package trajectory, and each function is one form.
func TestMatcherForms(t *testing.T) {
	forms := []struct {
		yaml string
		want trajectory.Arg
	}{
		{`text`, trajectory.Equals("text")},
		{`9007199254740993`, trajectory.Equals(9007199254740993)},
		{`[1, {a: b}]`, trajectory.Equals([]any{1, args{"a": "b"}})},
		{`null`, trajectory.Equals(nil)},
		{`{equals: {a: {b: 1.5}}}`, trajectory.Equals(args{"a": args{"b": 1.5}})},
		{`{contains: a b}`, trajectory.Contains("a b")},
		{`{contains_ci: todo}`, trajectory.ContainsCI("todo")},
		{`{ends_with: .go}`, trajectory.EndsWith(".go")},
		{`{regex: '^go (test|vet)'}`, trajectory.Regex("^go (test|vet)")},
		{`{glob: 'src/**/*.go'}`, trajectory.Glob("src/**/*.go")},
		{`{path: src/a.go}`, trajectory.Path("src/a.go")},
		{`{glob_like: 'src/**/*.go'}`, trajectory.GlobLike("src/**/*.go")},
		{`{one_of: [a, 1, null]}`, trajectory.OneOf("a", 1, nil)},
		{`{gte: 1}`, trajectory.GTE(1)},
		{`{lte: 1.5}`, trajectory.LTE(1.5)},
		{`{near: {value: 40, within: 0.5}}`, trajectory.Near(40, 0.5)},
		{`{any: true}`, trajectory.Any()},
		{`{absent: true}`, trajectory.Absent()},
		{`{type: string}`, trajectory.Type("string")},
	}
	seen := make(map[string]bool)
	for _, form := range forms {
		t.Run(form.yaml, func(t *testing.T) {
			name, param := form.want.Form()
			seen[name] = true
			again, err := trajectory.NewArg(name, param)
			require.NoError(t, err)
			assert.Equal(t, form.want.String(), again.String())

			// The text of a call that is missing shows what was expected of it.
			v := evaluate(t, "expected: [{tool: t, args: {x: "+form.yaml+"}}]", &trajectory.Run{})
			want := trajectory.Tool("t").Args(trajectory.Args{"x": form.want})
			assert.Equal(t, "superset: step 1 not matched: "+want.String(), v.Reason)
		})
	}
	for _, name := range trajectory.ArgNames() {
		assert.True(t, seen[name], "%s has no form", name)
	}
}

// The very first example of an evaluator still loads.
func TestExample(t *testing.T) {
	_, err := parse(`
mode: in_order
args: superset                 # argument mode for all; per call or per tool below
expected:
  - {tool: Grep, args: {pattern: {contains_ci: todo}}}
  - {tool: Read, args: {file_path: {path: src/a.go}}, max_duration_ms: 500}
  - {kind: execute, args: ignore}          # by kind where an agent gives no name
overrides: {Bash: [command]}
never: [WebFetch]
at_most: {Bash: 5}`)
	require.NoError(t, err)
}

func TestLoadErrors(t *testing.T) {
	tests := []struct {
		name string
		keys string
		want []string // position, path and reason
	}{
		{"nothing to check", "weight: 2", []string{
			"5:5: evaluators[0]: needs `expected`, the calls that the agent should make, " +
				"or a constraint such as `never`",
		}},
		{"misspelt mode", "mode: inorder\nexpected: [{tool: a}]", []string{
			`6:11: evaluators[0].mode: must be one of any_order, exact, in_order, strict, subset, superset, ` +
				`unordered, not "inorder", did you mean "in_order"?`,
		}},
		{"unknown mode", "mode: whatever\nexpected: [{tool: a}]", []string{
			`6:11: evaluators[0].mode: must be one of any_order, exact, in_order, strict, subset, superset, ` +
				`unordered, not "whatever"`,
		}},
		{"any_order without minimums", "mode: any_order\nexpected: [{tool: a}]", []string{
			"5:5: evaluators[0]: `mode: any_order` needs `minimums`, how often each tool should be called at least",
			"7:5: evaluators[0].expected: has no effect in `mode: any_order`, which takes `minimums`",
		}},
		{
			"any_order with keys of expected",
			"mode: any_order\nminimums: {a: 1}\nargs: exact\nprofiles: none\noverrides: {a: exact}",
			[]string{
				"8:11: evaluators[0].args: has no effect in `mode: any_order`, which takes `minimums`",
				"9:15: evaluators[0].profiles: has no effect in `mode: any_order`, which takes `minimums`",
				"10:5: evaluators[0].overrides: has no effect in `mode: any_order`, which takes `minimums`",
			},
		},
		{"a minimum of nothing", "mode: any_order\nminimums: {a: 0}", []string{
			"7:19: evaluators[0].minimums.a: must be at least 1, not 0",
		}},
		{"profiles without expected", "never: [a]\nprofiles: none", []string{
			"7:15: evaluators[0].profiles: has no effect without `expected`",
		}},
		{"a blank among duplicates", "no_duplicates: ['a', ' ']", []string{
			"6:26: evaluators[0].no_duplicates[1]: a tool needs a name",
		}},
		{"any_order with compat", "compat: agentevals\nmode: any_order\nexpected: [{tool: a}]", []string{
			"7:11: evaluators[0].mode: AgentEvals has no mode any_order: must be one of strict, " +
				"subset, superset, unordered",
		}},
		{
			"empty path with compat",
			"compat: agentevals\nmode: strict\nexpected: [{tool: a}]\noverrides: {a: ['x.']}",
			[]string{
				"9:21: evaluators[0].overrides.a[0]: must be the path of an argument or of a part of one, with dots",
			},
		},
		{"minimums without any_order", "minimums: {a: 1}\nexpected: [{tool: a}]", []string{
			"6:5: evaluators[0].minimums: has no effect without `mode: any_order`; beside other calls it is `at_least`",
		}},
		{"counts out of bounds", "at_least: {a: 0}\nat_most: {a: -1, b: 0}", []string{
			"6:19: evaluators[0].at_least.a: must be at least 1, not 0",
			"7:18: evaluators[0].at_most.a: must be at least 0, not -1",
		}},
		{"counts that are none", "at_most: {a: many}\nat_least: {}", []string{
			"6:18: evaluators[0].at_most.a: must be an integer, not a string",
			"7:5: evaluators[0].at_least: must not be empty",
		}},
		{"before with one tool", "before: [a]", []string{
			"6:5: evaluators[0].before: must have at least 2 elements, not 1",
		}},
		{"before with a tool twice", "before: [a, b, a]", []string{`6:5: evaluators[0].before: duplicate tool "a"`}},
		{"before a blank", "before: [a, ' ']", []string{"6:17: evaluators[0].before[1]: a tool needs a name"}},
		{"duplicates of what", "no_duplicates: false", []string{
			"6:20: evaluators[0].no_duplicates: must be true or a list of tools",
		}},
		{"duplicates of nothing", "no_duplicates: []", []string{"6:5: evaluators[0].no_duplicates: must not be empty"}},
		{"duplicates of a number", "no_duplicates: [1]", []string{
			"6:21: evaluators[0].no_duplicates[0]: must be the name of a tool",
		}},
		{
			"limit of the run", "max_duration_ms: 0",
			[]string{"6:22: evaluators[0].max_duration_ms: must be at least 1, not 0"},
		},
		{"together out of place", "mode: exact\nexpected: [{tool: a}, {tool: b, together: true}]", []string{
			"7:47: evaluators[0].expected[1].together: has no effect without `mode: strict`",
		}},
		{"unknown profiles", "profiles: off\nexpected: [{tool: a}]", []string{
			`6:15: evaluators[0].profiles: must be one of none, standard, not "off"`,
		}},
		{"override of a tool that is not expected", "expected: [{tool: Bash}]\noverrides: {bash: exact}", []string{
			`7:23: evaluators[0].overrides.bash: no call of "bash" is expected, did you mean "Bash"?`,
		}},
		{
			"override of a tool that is not expected, beside a kind",
			"expected: [{tool: Bash}, {kind: execute}]\noverrides: {bash: exact}",
			[]string{
				`7:23: evaluators[0].overrides.bash: no call of "bash" is expected, did you mean "Bash"?`,
			},
		},
		{
			"override by a path that no kind has",
			"expected: [{kind: execute, args: {command: x}}]\noverrides: {Bash: [comand]}",
			[]string{
				`7:24: evaluators[0].overrides.Bash[0]: no expected call of "Bash" has "comand", ` +
					`did you mean "command"?`,
			},
		},
		{"misspelt overrides", "expected: [{tool: a}]\noverrides: {a: supreset}", []string{
			`7:20: evaluators[0].overrides.a: must be a list of dotted paths, a mapping of arguments to matchers, ` +
				`or one of exact, ignore, subset, superset, not "supreset", did you mean "superset"?`,
		}},
		{"override that is a number", "expected: [{tool: a}]\noverrides: {a: 42}", []string{
			`7:20: evaluators[0].overrides.a: must be a list of dotted paths, a mapping of arguments to matchers, ` +
				`or one of exact, ignore, subset, superset`,
		}},
		{"override by no path", "expected: [{tool: a}]\noverrides: {a: []}", []string{
			"7:17: evaluators[0].overrides.a: an empty list compares nothing: write `ignore`",
		}},
		{"override by a bad path", "expected: [{tool: a}]\noverrides: {a: [x..y, 1]}", []string{
			"7:21: evaluators[0].overrides.a[0]: must be the path of an argument or of a part of one, with dots",
			"7:27: evaluators[0].overrides.a[1]: must be the path of an argument or of a part of one, with dots",
		}},
		{
			"override by a path that no call has",
			"expected: [{tool: Bash, args: {command: go test}}, {tool: Read, args: {comand: x}}]\noverrides: {Bash: " +
				"[comand]}",
			[]string{
				`7:24: evaluators[0].overrides.Bash[0]: no expected call of "Bash" has "comand", ` +
					`did you mean "command"?`,
			},
		},
		{
			"override by parts that no call has",
			"expected: [{tool: a, args: {x: {equals: {y: [1]}}, z: 1}}]\noverrides: {a: [x.y.0, x.y.1, x.w, z.y, w]}",
			[]string{
				`7:28: evaluators[0].overrides.a[1]: no expected call of "a" has "x.y.1"`,
				`7:35: evaluators[0].overrides.a[2]: no expected call of "a" has "x.w"`,
				`7:40: evaluators[0].overrides.a[3]: no expected call of "a" has "z.y"`,
				`7:45: evaluators[0].overrides.a[4]: no expected call of "a" has "w"`,
			},
		},
		{
			"override by a path of a call without arguments", "expected: [{tool: Bash}]\noverrides: {Bash: [command]}",
			[]string{
				`7:24: evaluators[0].overrides.Bash[0]: no expected call of "Bash" has "command"`,
			},
		},
		{
			"override by matchers",
			"expected: [{tool: a}]\noverrides: {a: {x: contians, y: {regexp: '('}, z: {regex: '('}, u: 5}}",
			[]string{
				`7:24: evaluators[0].overrides.a.x: unknown matcher "contians", did you mean "contains"?`,
				`7:34: evaluators[0].overrides.a.y: unknown matcher "regexp", did you mean "regex"?`,
				"7:63: evaluators[0].overrides.a.z.regex: regex: error parsing regexp: missing closing ): `(`",
				"7:72: evaluators[0].overrides.a.u: must be a matcher, such as {lte: 5}, or the name of one",
			},
		},
		{
			"override by a matcher that the value does not fit",
			"expected: [{tool: a, args: {x: 5}}]\noverrides: {a: {x: path}}",
			[]string{
				"6:26: evaluators[0].expected[0].args: x: path: needs a string, not 5 (integer)",
			},
		},
		{"part of a matcher", "expected: [{tool: a, args: {x: {any: true}}}]\noverrides: {a: [x.y]}", []string{
			"6:26: evaluators[0].expected[0].args: field x.y: cannot look into x, which is a matcher",
		}},
		{"unknown compatibility", "compat: agentevils\nexpected: [{tool: a}]", []string{
			`6:13: evaluators[0].compat: must be one of agentevals, not "agentevils", did you mean "agentevals"?`,
		}},
		{
			"what AgentEvals does not have",
			"compat: agentevals\nmode: exact\nat_most: {Bash: 5}\nexpected: [{kind: read}, {tool: a, args: ignore}]\n" +
				"overrides: {a: {x: path}}",
			[]string{
				"7:11: evaluators[0].mode: AgentEvals has no mode exact: must be one of strict, subset, superset, " +
					"unordered",
				"8:5: evaluators[0].at_most: has no effect with `compat: agentevals`",
				"9:16: evaluators[0].expected[0]: needs `tool`",
				"9:23: evaluators[0].expected[0].kind: has no effect with `compat: agentevals`",
				"9:46: evaluators[0].expected[1].args: must be a mapping of arguments to values with `compat: " +
					"agentevals`",
				"10:17: evaluators[0].overrides.a: must be an argument mode or a list of dotted paths with `compat: " +
					"agentevals`",
			},
		},
		{"unknown key", "expect: [{tool: a}]\nnever: [b]", []string{
			`6:5: evaluators[0].expect: unknown key, did you mean "expected"?`,
		}},
		{"unknown key of a call", "expected: [{tool: a, arg: {}}]", []string{
			`6:26: evaluators[0].expected[0].arg: unknown key, did you mean "args"?`,
		}},
		{"nothing expected", "expected: []", []string{
			"6:5: evaluators[0].expected: an empty list expects nothing: in `mode: exact` it expects that no tool is " +
				"called",
		}},
		{"no list", "expected:", []string{
			"6:14: evaluators[0].expected: must be a list, but there is no value",
		}},
		{"mode without calls", "mode: exact\nargs: exact\nnever: [a]", []string{
			"6:11: evaluators[0].mode: has no effect without `expected`",
			"7:11: evaluators[0].args: has no effect without `expected`",
		}},
		{"never nothing", "never: []", []string{
			"6:5: evaluators[0].never: must not be empty",
		}},
		{"never a blank", "never: [a, '']", []string{
			"6:16: evaluators[0].never[1]: a tool needs a name",
		}},
		{"neither tool nor kind", "expected: [{args: {a: 1}}, {}]", []string{
			"6:16: evaluators[0].expected[0]: needs exactly one of `tool`, `kind`, `does` and `any`",
			"6:32: evaluators[0].expected[1]: needs exactly one of `tool`, `kind`, `does` and `any`",
		}},
		{"both tool and kind", "expected: [{tool: a, kind: edit}]", []string{
			"6:16: evaluators[0].expected[0]: needs exactly one of `tool`, `kind`, `does` and `any`",
		}},
		{"two of tool, kind, does, any", "expected: [{tool: a, does: edit}, {kind: read, any: [{tool: a}]}]", []string{
			"6:16: evaluators[0].expected[0]: needs exactly one of `tool`, `kind`, `does` and `any`",
			"6:39: evaluators[0].expected[1]: needs exactly one of `tool`, `kind`, `does` and `any`",
		}},
		{"misspelt deed", "expected: [{does: serch}, {any: [{does: remove}]}]", []string{
			`6:23: evaluators[0].expected[0].does: must be one of read, search, edit, delete, move, fetch, execute, ` +
				`not "serch", did you mean "search"?`,
			`6:45: evaluators[0].expected[1].any[0].does: must be one of read, search, edit, delete, move, fetch, ` +
				`execute, not "remove"`,
		}},
		{"alternatives", "expected: [{any: []}, {any: [{}, {any: [{tool: a}]}]}, {any: [{}], args: a}]", []string{
			"6:17: evaluators[0].expected[0].any: must not be empty",
			"6:34: evaluators[0].expected[1].any[0]: needs exactly one of `tool`, `kind` and `does`",
			"6:38: evaluators[0].expected[1].any[1]: needs exactly one of `tool`, `kind` and `does`",
			"6:39: evaluators[0].expected[1].any[1].any: unknown key",
			"6:67: evaluators[0].expected[2].any[0]: needs exactly one of `tool`, `kind` and `does`",
			"6:78: evaluators[0].expected[2].args: has no effect beside `any`: each alternative has its own",
		}},
		{"alternative with a bad matcher", "expected: [{any: [{tool: a, args: {p: {regex: '('}}}]}]", []string{
			"6:51: evaluators[0].expected[0].any[0].args.p.regex: regex: error parsing regexp: missing closing ): `(`",
		}},
		{"deeds with AgentEvals", "compat: agentevals\nmode: superset\nexpected: [{does: edit}]", []string{
			"8:16: evaluators[0].expected[0]: needs `tool`",
			"8:23: evaluators[0].expected[0].does: has no effect with `compat: agentevals`",
		}},
		{"calls of constraints", "never: [{does: remove}, {}, 1, {tool: a, together: true}]", []string{
			`6:20: evaluators[0].never[0].does: must be one of read, search, edit, delete, move, fetch, execute, ` +
				`not "remove"`,
			"6:29: evaluators[0].never[1]: needs exactly one of `tool`, `kind`, `does` and `any`",
			"6:33: evaluators[0].never[2]: must be the name of a tool or a call, such as {does: delete}",
			"6:56: evaluators[0].never[3].together: has no effect in a constraint",
		}},
		{"calls of before", "before: [{kind: read, tool: a}, {does: x}, {any: [{tol: x}]}]", []string{
			"6:14: evaluators[0].before[0]: needs exactly one of `tool`, `kind`, `does` and `any`",
			`6:44: evaluators[0].before[1].does: must be one of read, search, edit, delete, move, fetch, execute, ` +
				`not "x"`,
			`6:56: evaluators[0].before[2].any[0].tol: unknown key, did you mean "tool"?`,
		}},
		{"the same call twice in before", "before: [{kind: read}, {kind: edit}, {kind: read}]", []string{
			`6:5: evaluators[0].before: duplicate tool "kind read"`,
		}},
		{"misspelt actor", "expected: [{tool: a, by: subagnet}]", []string{
			`6:30: evaluators[0].expected[0].by: must be one of main, subagent, not "subagnet", ` +
				`did you mean "subagent"?`,
		}},
		{"call that is no mapping", "expected: [Read]", []string{
			"6:16: evaluators[0].expected[0]: must be a mapping, not a string",
		}},
		{"misspelt argument mode", "args: supreset\nexpected: [{tool: a, args: ignored}]", []string{
			`6:11: evaluators[0].args: must be one of exact, ignore, subset, superset, not "supreset", ` +
				`did you mean "superset"?`,
			`7:32: evaluators[0].expected[0].args: must be a mapping of arguments or one of exact, ignore, subset, ` +
				`superset, not "ignored", did you mean "ignore"?`,
		}},
		{"arguments that are a list", "expected: [{tool: a, args: [b]}, {tool: a, args: }]", []string{
			"6:26: evaluators[0].expected[0].args: must be a mapping of arguments or one of exact, ignore, subset, " +
				"superset",
			"6:54: evaluators[0].expected[1].args: must be a mapping of arguments or one of exact, ignore, subset, " +
				"superset",
		}},
		{"limit below 1", "expected: [{tool: a, max_duration_ms: 0}]", []string{
			"6:43: evaluators[0].expected[0].max_duration_ms: must be at least 1, not 0",
		}},
		{"misspelt matcher", "expected: [{tool: a, args: {p: {contians: x}}}]", []string{
			`6:33: evaluators[0].expected[0].args.p: unknown matcher "contians", did you mean "contains"?`,
		}},
		{"value that is a mapping", "expected: [{tool: a, args: {p: {start: 1}}}]", []string{
			`6:33: evaluators[0].expected[0].args.p: unknown matcher "start": for a value that is a mapping write ` +
				`{equals: {...}}`,
		}},
		{"two keys in a matcher", "expected: [{tool: a, args: {p: {gte: 1, lte: 2}}}]", []string{
			"6:33: evaluators[0].expected[0].args.p: a matcher has one key, not 2: for a value that is a mapping " +
				"write {equals: {...}}",
		}},
		{"bad regex", "expected: [{tool: a, args: {p: {regex: 'a('}}}]", []string{
			"6:44: evaluators[0].expected[0].args.p.regex: regex: error parsing regexp: missing closing ): `a(`",
		}},
		{"bad parameter", "expected: [{tool: a, args: {p: {gte: '1'}, q: {any: yes}, r: {type: int}}}]", []string{
			`6:42: evaluators[0].expected[0].args.p.gte: gte: needs a number, not "1" (string)`,
			"6:57: evaluators[0].expected[0].args.q.any: any: the parameter must be true, not yes (string)",
			`6:73: evaluators[0].expected[0].args.r.type: type: unknown type "int": want one of string, number, ` +
				`integer, boolean, array, object, null`,
		}},
		{"regex of anything", "expected: [{tool: a, args: {p: {regex: '.*'}}}]", []string{
			"6:44: evaluators[0].expected[0].args.p.regex: matches every text, even an empty one: " +
				"write `.+` instead of `.*`, or the text to find",
		}},
		{"every error at once", "mode: exakt\nexpected: [{tool: a, args: {p: {regex: '('}}}, {}]", []string{
			`6:11: evaluators[0].mode: must be one of any_order, exact, in_order, strict, subset, superset, ` +
				`unordered, not "exakt", did you mean "exact"?`,
			"7:44: evaluators[0].expected[0].args.p.regex: regex: error parsing regexp: missing closing ): `(`",
			"7:52: evaluators[0].expected[1]: needs exactly one of `tool`, `kind`, `does` and `any`",
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
	f.Add("mode: in_order\nargs: exact\nexpected: [{tool: read_file, args: {path: {path: order.json}}, " +
		"max_duration_ms: 5}]")
	f.Add("expected: [{kind: read, args: ignore}, {tool: issue_refund, args: {amount: {near: {value: 1, within: " +
		"2}}}}]\nnever: [x]")
	f.Add("expected: [{tool: a, args: {p: {one_of: [1, {a: b}]}, q: {regex: '('}, r: [1], s: {glob: '[a]/**'}}}]")
	f.Add("mode: strict\nexpected: [{tool: read_file}, {tool: issue_refund, together: true}]\nat_most: {read_file: " +
		"1}\nbefore: [a, b]")
	f.Add("mode: any_order\nminimums: {read_file: 2}\nno_duplicates: [read_file]\nmax_duration_ms: 5\nat_least: {x: 1}")
	f.Add("mode: subset\nprofiles: none\nexpected: [{tool: read_file, args: {path: a}}]\noverrides: {read_file: " +
		"[path, opts.0.x]}")
	f.Add("expected: [{tool: read_file, args: {path: a}}]\noverrides: {read_file: {path: glob_like, n: {type: " +
		"integer}}}")
	f.Add("compat: agentevals\nmode: unordered\nexpected: [{tool: read_file, args: {path: [1.5, null]}}]\n" +
		"overrides: {read_file: odd}")
	f.Fuzz(func(t *testing.T, keys string) {
		e, err := parse(keys)
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "p.yaml:"), err)
			return
		}
		v := e.Evaluate(context.Background(), evaluator.Input{Run: refunded()})
		require.True(t, slices.Contains([]result.Outcome{result.Pass, result.Fail}, v.Outcome), fmt.Sprint(v))
	})
}

// TestDocs holds the page about trajectories to what is read: its YAML loads, and it has every key and every matcher.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile("../../../docs/trajectories.md")
	require.NoError(t, err)
	page := string(data)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page, -1)
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		keys := block[1]
		if _, list, ok := strings.Cut(keys, "type: tool_trajectory\n"); ok {
			keys = strings.ReplaceAll(list, "\n    ", "\n")
		}
		_, err := parse(keys)
		assert.NoError(t, err, block[1])
	}
	kind := reflect.TypeOf(tooltrajectory.Kind().Keys)
	for field := range kind.Fields() {
		key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		assert.Regexp(t, "`[^`]*\\b"+key+"\\b", page, "key %s", key)
	}
	for _, mode := range trajectory.ArgModes() {
		assert.Contains(t, page, "`"+string(mode)+"`")
	}
}
