package metrics_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/metrics"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/testkit/evaluatortest"
)

// parse decodes an evaluator whose own keys are given, without indentation.
func parse(keys string) (evaluator.Evaluator, error) {
	return evaluatortest.Parse("metrics", metrics.Kind(), keys)
}

func evaluate(t *testing.T, keys string, in evaluator.Input) evaluator.Verdict {
	t.Helper()
	e, err := parse(keys)
	require.NoError(t, err)
	assert.Zero(t, e.Needs())
	return e.Evaluate(context.Background(), in)
}

// input is the unit of the conformance table: two tool calls, 1000 tokens in and 200 out, $0.05, 1500 ms.
func input() evaluator.Input {
	usage := &trajectory.Usage{Input: new(int64(1000)), Output: new(int64(200))}
	return evaluator.Input{
		Run: &trajectory.Run{Events: []trajectory.Event{
			{Turn: 1, At: 20 * time.Millisecond, Body: trajectory.Prompt{Text: "What is 2+2?"}},
			{Turn: 1, At: 1520 * time.Millisecond, Body: trajectory.Stop{Reason: "end_turn", Usage: usage}},
		}},
		Metrics: &result.Metrics{
			Iterations: 1, ToolCalls: map[string]int{"search": 1, "get_weather": 1},
			Tokens: &result.Tokens{Input: new(int64(1000)), Output: new(int64(200)), Total: new(int64(1200))},
			Cost:   &trajectory.Cost{Amount: 0.05, Currency: "USD"},
		},
	}
}

func TestM1(t *testing.T) {
	v := evaluate(t, "max_duration_ms: 1500\nmax_cost_usd: 0.04\nmax_tokens: 1200\nmax_output_tokens: 199", input())
	assert.Equal(t, result.Fail, v.Outcome)
	assert.Equal(t, 0.5, *v.Score)
	assert.Equal(t, "cost at most 0.04 USD: it is 0.05 USD (and 1 more)", v.Reason)
	assert.Equal(t, `✓ duration at most 1.5s: it is 1.5s
✗ cost at most 0.04 USD: it is 0.05 USD
✓ tokens at most 1200: it is 1200
✗ output tokens at most 199: it is 200`, v.Detail)
}

func TestBounds(t *testing.T) {
	tests := []struct{ name, keys, detail string }{
		{"duration kept", "max_duration_ms: 1500", "✓ duration at most 1.5s: it is 1.5s"},
		{"duration over", "max_duration_ms: 1499", "✗ duration at most 1.499s: it is 1.5s"},
		{"cost kept", "max_cost_usd: 0.05", "✓ cost at most 0.05 USD: it is 0.05 USD"},
		{"no cost", "max_cost_usd: 0", "✗ cost at most 0 USD: it is 0.05 USD"},
		{"tokens over", "max_tokens: 1199", "✗ tokens at most 1199: it is 1200"},
		{"input kept", "max_input_tokens: 1000", "✓ input tokens at most 1000: it is 1000"},
		{"input over", "max_input_tokens: 999", "✗ input tokens at most 999: it is 1000"},
		{"output kept", "max_output_tokens: 200", "✓ output tokens at most 200: it is 200"},
		{"tool calls kept", "max_tool_calls: 2", "✓ tool calls at most 2: it is 2"},
		{"tool calls over", "max_tool_calls: 1", "✗ tool calls at most 1: it is 2"},
		{"no tool calls", "max_tool_calls: 0", "✗ tool calls at most 0: it is 2"},
		{"calls of a tool", "max_calls: {search: 1}", "✓ calls of search at most 1: it is 1"},
		{"calls of a tool over", "max_calls: {search: 0}", "✗ calls of search at most 0: it is 1"},
		{"calls of tools", "max_calls: {'s*': 0}", "✗ calls of s* at most 0: it is 1"},
		{"calls of any tool", "max_calls: {'*': 2}", "✓ calls of * at most 2: it is 2"},
		{"calls of another tool", "max_calls: {Bash: 0}", "✓ calls of Bash at most 0: it is 0"},
		{"iterations", "max_iterations: 1", "✓ iterations at most 1: it is 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := evaluate(t, tt.keys, input())
			assert.Equal(t, tt.detail, v.Detail)
			want := result.Pass
			if strings.HasPrefix(tt.detail, "✗") {
				want = result.Fail
			}
			assert.Equal(t, want, v.Outcome)
		})
	}
}

// An unknown metric is an error that names the bound, whatever the other bounds say.
func TestUnknown(t *testing.T) {
	const noOutput = "the number of output tokens is unknown: the agent does not report it"
	second := func(in *evaluator.Input, u *trajectory.Usage) {
		in.Run.Events = append(in.Run.Events, trajectory.Event{
			Turn: 2, At: time.Minute, Body: trajectory.Stop{Usage: u},
		})
	}
	tests := []struct {
		name, reason string
		keys         string
		change       func(*evaluator.Input)
		want         string
	}{
		{
			"no metrics", "", "max_tool_calls: 5", func(in *evaluator.Input) { in.Metrics = nil },
			"no metrics were recorded",
		},
		{
			"no cost", "", "max_cost_usd: 1", func(in *evaluator.Input) { in.Metrics.Cost = nil },
			"cost at most 1 USD: the cost is unknown: the agent does not report it",
		},
		{
			"another currency", "", "max_cost_usd: 1", func(in *evaluator.Input) { in.Metrics.Cost.Currency = "EUR" },
			`cost at most 1 USD: the cost in USD is unknown: the agent reports it in "EUR"`,
		},
		{
			"cost is not a number", "NaN is not more than anything", "max_cost_usd: 1",
			func(in *evaluator.Input) { in.Metrics.Cost.Amount = math.NaN() },
			"cost at most 1 USD: the cost is unknown: the agent reports NaN USD",
		},
		{
			"negative cost", "nobody is paid", "max_cost_usd: 1",
			func(in *evaluator.Input) { in.Metrics.Cost.Amount = -1 },
			"cost at most 1 USD: the cost is unknown: the agent reports -1 USD",
		},
		{
			"no tokens", "", "max_tokens: 1", func(in *evaluator.Input) { in.Metrics.Tokens = nil },
			"tokens at most 1: the number of tokens is unknown: the agent does not report it",
		},
		{
			"no output tokens", "", "max_output_tokens: 1",
			func(in *evaluator.Input) { in.Metrics.Tokens.Output = nil },
			"output tokens at most 1: " + noOutput,
		},
		{
			"negative tokens", "", "max_input_tokens: 1",
			func(in *evaluator.Input) { in.Metrics.Tokens.Input = new(int64(-5)) },
			"input tokens at most 1: the number of input tokens is unknown: the agent reports -5",
		},
		{
			"a turn without usage", "the sum is that of the other turns", "max_tokens: 9999",
			func(in *evaluator.Input) { second(in, nil) },
			"tokens at most 9999: the number of tokens is unknown: the agent does not report it for turn 2",
		},
		{
			"a turn without the count", "", "max_output_tokens: 9999",
			func(in *evaluator.Input) { second(in, &trajectory.Usage{Input: new(int64(1))}) },
			"output tokens at most 9999: " + noOutput + " for turn 2",
		},
		{
			"a turn with an empty usage", "", "max_tokens: 9999",
			func(in *evaluator.Input) { second(in, &trajectory.Usage{}) },
			"tokens at most 9999: the number of tokens is unknown: the agent does not report it for turn 2",
		},
		{
			"no events", "", "max_duration_ms: 1", func(in *evaluator.Input) { in.Run.Events = nil },
			"duration at most 1ms: the duration is unknown: the run has no events",
		},
		{
			"no times", "a run that somebody made has none", "max_duration_ms: 1",
			func(in *evaluator.Input) { in.Run.Events = in.Run.Events[:1] },
			"duration at most 1ms: the duration is unknown: the run's events have no times",
		},
		{
			"beside a bound that is broken", "", "max_tokens: 1\nmax_cost_usd: 1",
			func(in *evaluator.Input) { in.Metrics.Cost = nil },
			"cost at most 1 USD: the cost is unknown: the agent does not report it",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := input()
			tt.change(&in)
			assert.Equal(t, evaluator.Verdict{Outcome: result.Error, Reason: tt.want}, evaluate(t, tt.keys, in),
				tt.reason)
		})
	}
}

// A bound that is exceeded stays exceeded, whatever turns with unknown usage used.
func TestPartlyKnown(t *testing.T) {
	in := input()
	in.Run.Events = append(in.Run.Events, trajectory.Event{Turn: 2, At: time.Minute, Body: trajectory.Stop{}})
	v := evaluate(t, "max_tokens: 1199", in)
	assert.Equal(t, result.Fail, v.Outcome)
	assert.Equal(t, "tokens at most 1199: it is 1200", v.Reason)
}

func TestLoadErrors(t *testing.T) {
	tests := []struct{ name, keys, want string }{
		{"no bounds", "weight: 1", "5:5: evaluators[0]: needs a bound, such as `max_tool_calls`"},
		{"unknown key", "max_token: 1", `6:5: evaluators[0].max_token: unknown key, did you mean "max_tokens"?`},
		{"negative", "max_tokens: -1", "6:17: evaluators[0].max_tokens: must be at least 0, not -1"},
		{"not a number", "max_cost_usd: .nan", "6:19: evaluators[0].max_cost_usd: numbers must be finite"},
		{
			"text", `max_cost_usd: "1"`,
			"6:19: evaluators[0].max_cost_usd: must be a number, not a string: remove the quotes",
		},
		{"no time", "max_duration_ms: 0", "6:22: evaluators[0].max_duration_ms: must be at least 1, not 0"},
		{"no calls", "max_calls: {}", "6:5: evaluators[0].max_calls: must not be empty"},
		{"negative calls", "max_calls: {Bash: -1}", "6:23: evaluators[0].max_calls.Bash: must be at least 0, not -1"},
		{"several tools", "max_calls: {'Bash|Edit': 1}", `6:30: evaluators[0].max_calls.Bash|Edit: "Bash|Edit" ` +
			"matches no tool: write one name after the other, each as an entry of its own"},
		{"no tool", "max_calls: {'': 1}", `6:21: evaluators[0].max_calls[""]: a tool needs a name`},
		{"null", "max_calls:", "6:15: evaluators[0].max_calls: must be a mapping, but there is no value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse(tt.keys)
			assert.EqualError(t, err, "p.yaml:"+tt.want)
		})
	}
}
