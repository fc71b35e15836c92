package tooltrajectory_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

func TestArgsMatch(t *testing.T) {
	run := &trajectory.Run{Cwd: "$WORKSPACE", Events: []trajectory.Event{
		{Turn: 1, Body: trajectory.ToolStart{ID: "1", Name: "Read", Args: args{"limit": 5, "file_path": "<a>.go"}}},
		{Turn: 1, Body: trajectory.ToolStart{ID: "2", Name: "Read"}},
		{Turn: 1, Body: trajectory.ToolStart{ID: "3", Name: "Write", Args: args{"file_path": "b.go"}}},
	}}
	for keys, want := range map[string]result.Outcome{
		`expected: [{tool: Read, args_match: '^\{"file_path":"<a>\.go","limit":5\}$'}]`:         result.Pass,
		`expected: [{tool: Read, args_match: b}]`:                                               result.Fail,
		`expected: [{tool: Read, args_match: a, args: {limit: 5}}]`:                             result.Pass,
		`expected: [{tool: Read, args_match: a, args: {limit: 6}}]`:                             result.Fail,
		`expected: [{tool: Read, args_match: a}, {tool: Read, args_match: a}]`:                  result.Fail,
		`expected: [{any: [{tool: Read, args_match: b}, {tool: Write, args_match: b}]}]`:        result.Pass,
		`never: [{tool: Write, args_match: '<a>'}]`:                                             result.Pass,
		`never: [{tool: Write, args_match: b}]`:                                                 result.Fail,
		`before: [{tool: Read, args_match: a}, {tool: Write, args_match: b}]`:                   result.Pass,
		`before: [{tool: Write, args_match: b}, {tool: Read, args_match: a}]`:                   result.Fail,
		"expected: [{kind: other, args_match: b}, {tool: Read, args_match: a, by: main}]":       result.Fail,
		"args: ignore\nexpected: [{tool: Read, args_match: b}]":                                 result.Fail,
		"mode: in_order\nexpected: [{tool: Read, args_match: a}, {tool: Write, args_match: b}]": result.Pass,
	} {
		assert.Equal(t, want, evaluate(t, keys, run).Outcome, keys)
	}
	for keys, want := range map[string]string{
		"expected: [{tool: Read, args_match: '('}]":                "args_match: error parsing regexp",
		"expected: [{tool: Read, args_match: 'x*'}]":               "args_match: matches every text",
		"expected: [{any: [{tool: Read}], args_match: a}]":         "args_match: has no effect beside `any`",
		"compat: agentevals\nexpected: [{tool: a, args_match: b}]": "args_match: has no effect with `compat: agentev",
	} {
		_, err := parse(keys)
		assert.ErrorContains(t, err, want, keys)
	}
}

func TestOutcome(t *testing.T) {
	one := 1
	run := &trajectory.Run{Cwd: "$WORKSPACE", Events: []trajectory.Event{
		{Turn: 1, Body: trajectory.ToolStart{ID: "1", Name: "Read"}},
		{Turn: 1, Body: trajectory.ToolEnd{ID: "1", Status: trajectory.Completed}},
		{Turn: 1, Body: trajectory.ToolStart{ID: "2", Name: "Edit"}},
		{Turn: 1, Body: trajectory.ToolEnd{ID: "2", Status: trajectory.Failed}},
		{Turn: 1, Body: trajectory.ToolStart{ID: "3", Name: "Bash"}},
		{Turn: 1, Body: trajectory.ToolEnd{ID: "3", Status: trajectory.Completed, ExitCode: &one}},
		{Turn: 1, Body: trajectory.ToolStart{ID: "4", Name: "Grep"}},
	}}
	for keys, want := range map[string]result.Outcome{
		"expected: [{tool: Read, outcome: ok}]":                     result.Pass,
		"expected: [{tool: Read, outcome: error}]":                  result.Fail,
		"expected: [{tool: Edit, outcome: ok}]":                     result.Fail,
		"expected: [{tool: Edit}]":                                  result.Pass,
		"expected: [{tool: Bash, outcome: ok}]":                     result.Fail,
		"expected: [{tool: Bash, outcome: error}]":                  result.Pass,
		"expected: [{tool: Grep, outcome: pending}]":                result.Pass,
		"expected: [{any: [{tool: Edit}, {tool: X}], outcome: ok}]": result.Fail,
		"never: [{tool: '*', outcome: error}]":                      result.Fail,
		"never: [{tool: Read, outcome: error}]":                     result.Pass,
	} {
		assert.Equal(t, want, evaluate(t, keys, run).Outcome, keys)
	}
	for keys, want := range map[string]string{
		"expected: [{tool: Read, outcome: failed}]":              "outcome: must be one of ok, error, pending",
		"compat: agentevals\nexpected: [{tool: a, outcome: ok}]": "outcome: has no effect with `compat: agentevals`",
	} {
		_, err := parse(keys)
		assert.ErrorContains(t, err, want, keys)
	}
}
