package tooltrajectory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/tooltrajectory"
)

// Each mode and each constraint in YAML is one exported function of package trajectory.
func TestForms(t *testing.T) {
	tool := trajectory.Tool
	read, search := tool("Read"), tool("search").Args(trajectory.Args{"query": "weather"})
	forms := []struct {
		yaml string
		want trajectory.Matcher
	}{
		{
			"mode: strict\nexpected: [{tool: Read}, {tool: search, together: true, args: {query: weather}}]",
			trajectory.Strict(trajectory.Group{read, search}),
		},
		{
			"mode: strict\nexpected: [{tool: Read}, {tool: search, args: {query: weather}}]",
			trajectory.Strict(trajectory.Group{read}, trajectory.Group{search}),
		},
		{"mode: strict\nexpected: []", trajectory.Strict()},
		{
			"mode: exact\nexpected: [{tool: Read}, {tool: search, args: {query: weather}}]",
			trajectory.Exact(read, search),
		},
		{"mode: exact\nexpected: []", trajectory.Exact()},
		{
			"mode: in_order\nexpected: [{tool: Read}, {tool: search, args: {query: weather}}]",
			trajectory.InOrder(read, search),
		},
		{
			"mode: unordered\nexpected: [{tool: Read}, {tool: search, args: {query: weather}}]",
			trajectory.Unordered(read, search),
		},
		{"mode: unordered\nexpected: []", trajectory.Unordered()},
		{
			"mode: superset\nexpected: [{tool: Read}, {tool: search, args: {query: weather}}]",
			trajectory.Superset(read, search),
		},
		{"expected: [{tool: Read}]", trajectory.Superset(read)},
		{
			"mode: subset\nexpected: [{tool: Read}, {tool: search, args: {query: weather}}]",
			trajectory.Subset(read, search),
		},
		{"mode: subset\nexpected: []", trajectory.Subset()},
		{
			"mode: any_order\nminimums: {search: 2, Read: 1}",
			trajectory.AnyOrder(trajectory.Counts{"search": 2, "Read": 1}),
		},
		{"never: [search, x]", trajectory.Never("search", "x")},
		{"at_least: {search: 2}", trajectory.AtLeast(trajectory.Counts{"search": 2})},
		{"at_most: {search: 0, Read: 1}", trajectory.AtMost(trajectory.Counts{"search": 0, "Read": 1})},
		{"before: [search, Read, x]", trajectory.Before("search", "Read", "x")},
		{"no_duplicates: true", trajectory.NoDuplicates()},
		{"no_duplicates: [search, Read]", trajectory.NoDuplicates("search", "Read")},
		{"max_duration_ms: 5", trajectory.MaxDuration(5 * time.Millisecond)},
		{"expected: [{tool: Read, max_duration_ms: 5}]", trajectory.Superset(read.MaxDuration(5 * time.Millisecond))},
		{"expected: [{kind: search}]", trajectory.Superset(trajectory.Kind("search"))},
		{"args: exact\nexpected: [{tool: Read}]", trajectory.Superset(read.Mode(trajectory.ExactArgs))},
		{"args: subset\nexpected: [{tool: Read, args: ignore}]", trajectory.Superset(read.Mode(trajectory.IgnoreArgs))},
		{
			"args: subset\nexpected: [{tool: Read, args: {file_path: a.go}}]",
			trajectory.Superset(read.Args(trajectory.Args{"file_path": "a.go"}).Mode(trajectory.SubsetArgs)),
		},
		{
			"profiles: none\nexpected: [{tool: Read, args: {file_path: a.go}}]",
			trajectory.Superset(read.Args(trajectory.Args{"file_path": "a.go"}).Profile(nil)),
		},
		{
			"expected: [{tool: Read, args: {file_path: a.go, n: 1}}]\noverrides: {Read: [file_path]}",
			trajectory.Superset(read.Args(trajectory.Args{"file_path": "a.go"}).Fields("file_path")),
		},
		{
			"expected: [{tool: Read, args: {file_path: A.go}}]\noverrides: {Read: {file_path: contains_ci}}",
			trajectory.Superset(read.Args(trajectory.Args{"file_path": "A.go"}).Profile(trajectory.Profile{
				"file_path": "contains_ci",
			})),
		},
		{
			"args: exact\nexpected: [{tool: Read, args: {file_path: A.GO}}]\n" +
				"overrides: {Read: {file_path: contains_ci}}",
			trajectory.Superset(read.Args(trajectory.Args{
				"file_path": trajectory.ContainsCI("A.GO"),
			}).Mode(trajectory.ExactArgs)),
		},
		{
			"expected: [{tool: Read, args: {file_path: a.go}}]\noverrides: {Read: {limit: {lte: 5}}}",
			trajectory.Superset(read.Args(trajectory.Args{"file_path": "a.go", "limit": trajectory.LTE(5)})),
		},
		{
			"mode: in_order\nmax_duration_ms: 5\nno_duplicates: true\nbefore: [a, b]\nat_most: {a: 1}\n" +
				"at_least: {a: 1}\nnever: [x]\nexpected: [{tool: Read}]",
			trajectory.All(
				trajectory.InOrder(read), trajectory.Never("x"), trajectory.AtLeast(trajectory.Counts{"a": 1}),
				trajectory.AtMost(trajectory.Counts{"a": 1}), trajectory.Before("a", "b"), trajectory.NoDuplicates(),
				trajectory.MaxDuration(5*time.Millisecond),
			),
		},
	}
	runs := []*trajectory.Run{{}, refunded()}
	var all []trajectory.Event
	for i, c := range []trajectory.ToolStart{
		{Name: "search", Args: args{"query": "weather"}},
		{Name: "Read", Args: args{"file_path": "$WORKSPACE/a.go", "limit": 5}},
		{Name: "Read", Args: args{"file_path": "a.go"}},
		{Name: "search", Args: args{"query": "weather"}},
		{Name: "fetch", Kind: "search"},
	} {
		c.ID = string(rune('a' + i))
		all = append(all, trajectory.Event{Turn: 1, At: time.Duration(i) * 2 * time.Millisecond, Body: c})
		if i%2 == 1 {
			all = append(all, trajectory.Event{
				Turn: 1, At: time.Duration(i) * 3 * time.Millisecond,
				Body: trajectory.ToolEnd{ID: c.ID, Status: trajectory.Completed},
			})
		}
		runs = append(runs, &trajectory.Run{Cwd: "$WORKSPACE", Events: all[:len(all):len(all)]})
	}
	for _, form := range forms {
		t.Run(form.yaml, func(t *testing.T) {
			require.NoError(t, form.want.Check())
			for i, run := range runs {
				want, got := form.want.Match(run), evaluate(t, form.yaml, run)
				assert.Equal(t, want.Score, *got.Score, "run %d", i)
				assert.Equal(t, want.Reason(), got.Reason, "run %d", i)
				assert.Contains(t, got.Detail, want.Table(), "run %d", i)
			}
		})
	}
}

// The rows of the judges' case table about trajectories.
func TestJudgeTable(t *testing.T) {
	weather := &trajectory.Run{Events: []trajectory.Event{
		{
			Turn: 1,
			Body: trajectory.ToolStart{ID: "1", Name: "search", Args: args{"query": "weather Paris", "limit": 10}},
		},
		{Turn: 1, At: 45 * time.Millisecond, Body: trajectory.ToolEnd{ID: "1", Status: trajectory.Completed}},
		{
			Turn: 1, At: 45 * time.Millisecond,
			Body: trajectory.ToolStart{
				ID: "2", Name: "get_weather", Args: args{"location": "Paris", "unitSystem": "metric"},
			},
		},
		{Turn: 1, At: 165 * time.Millisecond, Body: trajectory.ToolEnd{ID: "2", Status: trajectory.Completed}},
	}}
	reported := &trajectory.Run{Events: []trajectory.Event{
		{Turn: 1, Body: trajectory.ToolStart{ID: "1", Name: "search"}},
		{Turn: 1, Body: trajectory.ToolStart{ID: "2", Name: "report"}},
	}}
	tests := []struct {
		name, keys string
		run        *trajectory.Run
		score      float64
		reason     string
	}{
		{
			"T1", "mode: any_order\nminimums: {search: 2, get_weather: 1}", weather, 0.5,
			"any_order: search called 1 time, want at least 2",
		},
		{
			"T2 superset", "mode: in_order\nargs: superset\nexpected: [{tool: search, args: {query: weather Paris}}]",
			weather, 1, "",
		},
		{
			"T2 exact", "mode: in_order\nargs: exact\nexpected: [{tool: search, args: {query: weather Paris}}]",
			weather, 0, `in_order: step 1 not matched: search query="weather Paris"`,
		},
		{"T3", "mode: exact\nexpected: [{tool: search}]", weather, 0.5, "exact: call 2 not expected: get_weather"},
		{
			"T4",
			"mode: exact\nexpected: [{tool: search, max_duration_ms: 10}, {tool: get_weather, max_duration_ms: 10}]",
			weather, 0.5,
			"exact: step 1 exceeds its limit: search took 45ms, want at most 10ms (and 1 more)",
		},
		{
			"T5", "mode: in_order\nexpected: [{tool: get_weather}, {tool: search}]", weather, 0.5,
			"in_order: step 2 not matched: search",
		},
		{
			"T7", "mode: exact\nexpected: [{tool: search}, {tool: analyze}, {tool: report}]", reported, 2.0 / 3,
			"exact: step 2 not matched: analyze",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := evaluate(t, test.keys, test.run)
			assert.Equal(t, test.score, *v.Score)
			assert.Equal(t, test.score == 1, v.Outcome == "pass")
			assert.Equal(t, test.reason, v.Reason)
		})
	}
	t.Run("T6", func(t *testing.T) {
		_, err := parse("mode: inorder\nexpected: [{tool: a}]")
		assert.ErrorContains(t, err, `did you mean "in_order"?`)
		assert.NotNil(t, tooltrajectory.Kind().Decode, "the kind's own name is the playbook's to check")
	})
}

func TestCompat(t *testing.T) {
	steal := "mode: superset\nargs: superset\nexpected: [{tool: t, args: {a: 1}}, {tool: t, args: {a: 1, b: 2}}]"
	stolen := &trajectory.Run{Events: []trajectory.Event{
		{Turn: 1, Body: trajectory.ToolStart{ID: "1", Name: "t", Args: args{"a": 1, "b": 2}}},
		{Turn: 1, Body: trajectory.ToolEnd{ID: "1", Status: trajectory.Completed}},
		{Turn: 1, Body: trajectory.ToolStart{ID: "2", Name: "t", Args: args{"a": 1}}},
	}}
	v := evaluate(t, steal, stolen)
	assert.Equal(t, "pass", string(v.Outcome))
	v = evaluate(t, "compat: agentevals\n"+steal, stolen)
	assert.Equal(t, "fail", string(v.Outcome), "first fit")
	assert.Equal(t, "superset (AgentEvals): 1 missing, 1 extra", v.Reason)
	assert.Equal(t, "missing t a=1 b=2\nextra t a=1", v.Detail)

	sides := "args: superset\nmode: subset\nexpected: [{tool: t, args: {a: 1}}, {tool: t, args: {a: 1}}]"
	assert.Equal(t, "pass", string(evaluate(t, sides, stolen).Outcome))
	assert.Equal(t, "fail", string(evaluate(t, "compat: agentevals\n"+sides, stolen).Outcome), "sides are swapped")

	groups := "compat: agentevals\nmode: strict\nexpected: [{tool: t, args: {a: 1, b: 2}}, {tool: t, args: {a: " +
		"1}%s}]\noverrides: {t: ignored}"
	assert.Equal(t, "pass", string(evaluate(t, fmt.Sprintf(groups, ""), stolen).Outcome), "an unknown mode is ignore")
	v = evaluate(t, fmt.Sprintf(groups, ", together: true"), stolen)
	assert.Equal(t, "fail", string(v.Outcome))
	assert.Equal(t, "strict (AgentEvals): the messages differ", v.Reason)
}
