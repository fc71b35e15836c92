// Package metrics is the evaluator kind metrics: upper bounds on a session's duration, cost, tokens and tool calls. The
// metrics are counted by package result, not here.
package metrics

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/expect"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/wildcard"
)

// bounds implement [evaluator.Evaluator].
type bounds []bound

func (bounds) Needs() evaluator.Needs { return 0 }

// Evaluate compares each metric with its bound. A metric that is unknown is an error, never a pass.
func (b bounds) Evaluate(_ context.Context, in evaluator.Input) evaluator.Verdict {
	if in.Metrics == nil {
		return evaluator.Verdict{Outcome: result.Error, Reason: "no metrics were recorded"}
	}
	var t expect.Tally
	for _, bound := range b {
		value, kept, err := bound.measure(in)
		switch {
		case err != nil:
			return evaluator.Verdict{Outcome: result.Error, Reason: bound.what + ": " + err.Error()}
		case kept:
			t.Hold(1, bound.what+": it is "+value)
		default:
			t.Miss(1, bound.what, "it is "+value)
		}
	}
	return t.Verdict()
}

// keys are the evaluator's own keys in a playbook. Each number is a bound.
type keys struct {
	MaxDuration *int `yaml:"max_duration_ms" min:"1" max:"1000000000" doc:"Time from the first to the last event."`

	MaxCost         *float64       `yaml:"max_cost_usd" min:"0" doc:"Cost of the session in US dollars."`
	MaxTokens       *int64         `yaml:"max_tokens" min:"0" doc:"All tokens of the session."`
	MaxInputTokens  *int64         `yaml:"max_input_tokens" min:"0" doc:"Input tokens of the session."`
	MaxOutputTokens *int64         `yaml:"max_output_tokens" min:"0" doc:"Output tokens of the session."`
	MaxToolCalls    *int64         `yaml:"max_tool_calls" min:"0" doc:"Tool calls of the agent."`
	MaxCalls        map[string]int `yaml:"max_calls" min:"1" doc:"Calls of single tools, by name."`
	MaxIterations   *int64         `yaml:"max_iterations" min:"1" doc:"Prompts that were sent."`
}

// Kind returns the kind of evaluator.
func Kind() plan.Kind { return plan.Kind{Decode: decode, Keys: keys{}, NoFiles: true} }

func decode(n *doc.Node) any {
	var k keys
	n.Decode(&k)
	var b bounds
	if k.MaxDuration != nil {
		b = append(b, duration(time.Duration(*k.MaxDuration)*time.Millisecond))
	}
	if k.MaxCost != nil {
		b = append(b, cost(*k.MaxCost))
	}
	for _, c := range []struct {
		most *int64
		counter
	}{
		{k.MaxTokens, total},
		{k.MaxInputTokens, input},
		{k.MaxOutputTokens, output},
		{k.MaxToolCalls, toolCalls},
		{k.MaxIterations, iterations},
	} {
		if c.most != nil {
			b = append(b, c.atMost(*c.most))
		}
	}
	for _, e := range n.Get("max_calls").Entries() {
		most := int64(k.MaxCalls[e.Key])
		if most < 0 {
			e.Value.Errorf("", "must be at least 0, not %d", most)
		}
		plan.CheckTool(e.Value, e.Key, trajectory.Kinds()...) // calls without a name count under their kind
		b = append(b, callsOf(e.Key).atMost(most))
	}
	if len(n.Entries()) == 0 {
		n.Errorf("", "needs a bound, such as `max_tool_calls`")
	}
	return b
}

// bound is the most that one metric may be.
type bound struct {
	// what it bounds and by how much, e.g. "cost at most 0.04 USD".
	what string
	// measure returns the metric for people and whether it keeps to the bound. An error says that the metric is
	// unknown.
	measure func(evaluator.Input) (value string, kept bool, err error)
}

// duration bounds the time from the first event to the last, as they were recorded.
func duration(most time.Duration) bound {
	return bound{"duration at most " + most.String(), func(in evaluator.Input) (string, bool, error) {
		n := len(in.Run.Events)
		if n == 0 {
			return "", false, errors.New("the duration is unknown: the run has no events")
		}
		took := in.Run.Events[n-1].At - in.Run.Events[0].At
		if took <= 0 {
			return "", false, errors.New("the duration is unknown: the run's events have no times")
		}
		return took.String(), took <= most, nil
	}}
}

// usd is the currency of costs.
const usd = "USD"

func cost(most float64) bound {
	return bound{"cost at most " + dollars(most), func(in evaluator.Input) (string, bool, error) {
		switch c := in.Metrics.Cost; {
		case c == nil:
			return "", false, errors.New("the cost is unknown: the agent does not report it")
		case c.Currency != usd:
			return "", false, fmt.Errorf("the cost in USD is unknown: the agent reports it in %q", c.Currency)
		case !(c.Amount >= 0):
			return "", false, fmt.Errorf("the cost is unknown: the agent reports %s", dollars(c.Amount))
		default:
			return dollars(c.Amount), c.Amount <= most, nil
		}
	}}
}

func dollars(amount float64) string { return strconv.FormatFloat(amount, 'f', -1, 64) + " " + usd }

// counter is a metric that counts.
type counter struct {
	// name is in the plural, e.g. "tool calls".
	name string
	// count returns nil if the count is unknown.
	count func(*result.Metrics) *int64
	// reported reports whether a turn's usage has the count, for counts that agents report turn by turn; else nil.
	reported func(*trajectory.Usage) bool
	// known returns an error if the run does not show the count; nil: every run does.
	known func(*trajectory.Run) error
}

var (
	total = counter{
		name: "tokens", count: tokens(func(t *result.Tokens) *int64 { return t.Total }),
		reported: func(u *trajectory.Usage) bool { return *u != trajectory.Usage{} },
	}
	input = counter{
		name: "input tokens", count: tokens(func(t *result.Tokens) *int64 { return t.Input }),
		reported: func(u *trajectory.Usage) bool { return u.Input != nil },
	}
	output = counter{
		name: "output tokens", count: tokens(func(t *result.Tokens) *int64 { return t.Output }),
		reported: func(u *trajectory.Usage) bool { return u.Output != nil },
	}
	toolCalls = counter{name: "tool calls", known: evaluator.Unseen, count: func(m *result.Metrics) *int64 {
		var n int64
		for _, calls := range m.ToolCalls {
			n += int64(calls)
		}
		return &n
	}}
	iterations = counter{name: "iterations", count: func(m *result.Metrics) *int64 {
		n := int64(m.Iterations)
		return &n
	}}
)

func tokens(count func(*result.Tokens) *int64) func(*result.Metrics) *int64 {
	return func(m *result.Metrics) *int64 {
		if m.Tokens == nil {
			return nil
		}
		return count(m.Tokens)
	}
}

func callsOf(tool string) counter {
	return counter{name: "calls of " + tool, known: evaluator.Unseen, count: func(m *result.Metrics) *int64 {
		var n int64
		for name, calls := range m.ToolCalls {
			if wildcard.Match(tool, name) {
				n += int64(calls)
			}
		}
		return &n
	}}
}

func (c counter) atMost(most int64) bound {
	return bound{fmt.Sprintf("%s at most %d", c.name, most), func(in evaluator.Input) (string, bool, error) {
		n := c.count(in.Metrics)
		switch {
		case n == nil:
			return "", false, fmt.Errorf("the number of %s is unknown: the agent does not report it", c.name)
		case *n < 0:
			return "", false, fmt.Errorf("the number of %s is unknown: the agent reports %d", c.name, *n)
		case *n > most:
			return strconv.FormatInt(*n, 10), false, nil // more would change nothing
		}
		if c.known != nil {
			if err := c.known(in.Run); err != nil {
				return "", false, fmt.Errorf("the number of %s is unknown: %w", c.name, err)
			}
		}
		if turn, missing := c.unreported(in.Run); missing {
			return "", false, fmt.Errorf("the number of %s is unknown: the agent does not report it for turn %d",
				c.name, turn)
		}
		return strconv.FormatInt(*n, 10), true, nil
	}}
}

// unreported returns the first turn that ended without reporting the count: the sum of the others is too small.
func (c counter) unreported(run *trajectory.Run) (turn int, missing bool) {
	if c.reported == nil {
		return 0, false
	}
	for _, e := range run.Events {
		if s, ok := e.Body.(trajectory.Stop); ok && (s.Usage == nil || !c.reported(s.Usage)) {
			return e.Turn, true
		}
	}
	return 0, false
}
