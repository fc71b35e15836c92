// Package metrics is the evaluator kind metrics: bounds on what a session took, cost and used.
package metrics

import (
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

// keys are the evaluator's own keys in a playbook. Each number is a bound.
type keys struct {
	MaxDuration     *int           `yaml:"max_duration_ms" min:"1" max:"1000000000" doc:"The longest that the session may take, from its first event to its last."`
	MaxCost         *float64       `yaml:"max_cost_usd" min:"0" doc:"Cost of the session in US dollars."`
	MaxTokens       *int64         `yaml:"max_tokens" min:"0" doc:"All tokens of the session."`
	MaxInputTokens  *int64         `yaml:"max_input_tokens" min:"0" doc:"Input tokens of the session."`
	MaxOutputTokens *int64         `yaml:"max_output_tokens" min:"0" doc:"Output tokens of the session."`
	MaxToolCalls    *int64         `yaml:"max_tool_calls" min:"0" doc:"Tool calls of the agent."`
	MaxCalls        map[string]int `yaml:"max_calls" min:"1" doc:"Calls of single tools, by name."`
	MaxIterations   *int64         `yaml:"max_iterations" min:"1" doc:"Prompts that were sent."`
}

// Kind returns the kind of evaluator.
func Kind() spec.Kind { return spec.Kind{Decode: decode, Keys: keys{}} }

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
		if strings.TrimSpace(e.Key) == "" {
			e.Value.Errorf("", "a tool needs a name")
		}
		b = append(b, callsOf(e.Key).atMost(most))
	}
	if len(n.Entries()) == 0 {
		n.Errorf("", "needs a bound, such as `max_tool_calls`")
	}
	return b
}
