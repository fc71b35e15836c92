package tooltrajectory

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory/chat"
	"github.com/sdd-eval/sdd-eval/internal/convert/agentevals"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/expect"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// agentEvals judges as AgentEvals does. It implements [evaluator.Evaluator].
type agentEvals struct{ c agentevals.Case }

func (a agentEvals) Needs() evaluator.Needs { return 0 }

func (a agentEvals) Evaluate(_ context.Context, in evaluator.Input) evaluator.Verdict {
	res, err := a.judge(in.Run)
	if err != nil {
		return evaluator.Verdict{Outcome: result.Error, Reason: "error: " + err.Error()}
	}
	v := evaluator.Verdict{Outcome: result.Pass, Score: res.Value}
	if *res.Score {
		return v
	}
	v.Outcome = result.Fail
	v.Reason = fmt.Sprintf("%s (AgentEvals): %d missing, %d extra", a.c.Mode, len(res.Missing), len(res.Extra))
	if len(res.Missing)+len(res.Extra) == 0 {
		v.Reason = a.c.Mode + " (AgentEvals): the messages differ"
	}
	var lines []string
	for _, c := range res.Missing {
		lines = append(lines, "missing "+trajectory.Tool(c.Name).Args(argsOf(c)).Profile(nil).String())
	}
	for _, c := range res.Extra {
		lines = append(lines, "extra "+trajectory.Tool(c.Name).Args(argsOf(c)).Profile(nil).String())
	}
	v.Detail = strings.Join(lines, "\n")
	return v
}

func argsOf(c agentevals.Call) trajectory.Args {
	args, _ := c.Args.(map[string]any)
	return args
}

func (a agentEvals) judge(run *trajectory.Run) (agentevals.Result, error) {
	messages, err := chat.Messages(run)
	if err != nil {
		return agentevals.Result{}, err
	}
	// Only calls are expected, so only calls are compared, even in mode strict.
	messages = slices.DeleteFunc(messages, func(m chat.Message) bool { return len(m.ToolCalls) == 0 })
	c := a.c
	if c.Outputs, err = json.Marshal(messages); err != nil {
		return agentevals.Result{}, err
	}
	return c.Judge(agentevals.Options{Compat: true})
}

// agentEvals decodes an evaluator with compat: agentevals.
func (d *decoder) agentEvals() agentEvals {
	n, k := d.node, &d.keys
	a := agentEvals{agentevals.Case{Mode: k.Mode, Args: k.Args, Overrides: make(map[string]any)}}
	if slices.Contains([]string{"any_order", "exact", "in_order"}, k.Mode) {
		n.Errorf("mode", "AgentEvals has no mode %s: must be one of strict, subset, superset, unordered", k.Mode)
	}
	expect.Meaningless(n, "with `compat: agentevals`", append([]string{"profiles", "minimums"}, constraintKeys...)...)
	if n.Get("expected") == nil {
		n.Errorf("", "needs `expected`, the calls that the agent should make")
	}
	for _, e := range n.Get("overrides").Entries() {
		a.c.Overrides[e.Key] = e.Value.Value()
		switch v := e.Value.Value().(type) {
		case string: // a mode; AgentEvals treats an unknown one as ignore
		case []any:
			if len(v) > 0 {
				fields(e.Value)
			}
		default:
			e.Value.Errorf("", "must be an argument mode or a list of dotted paths with `compat: agentevals`")
		}
	}
	messages := []chat.Message{}
	items := n.Get("expected").Items()
	for i, s := range k.Expected {
		call := chat.ToolCall{Type: "function", Function: chat.Function{Name: s.Tool, Arguments: "{}"}}
		expect.Meaningless(items[i], "with `compat: agentevals`", "kind", "does", "any", "by", "outcome",
			"max_duration_ms", "args_match")
		if s.Tool == "" {
			items[i].Errorf("", "needs `tool`")
		}
		if s.Args != nil {
			text, err := json.Marshal(s.Args.Value())
			if _, ok := s.Args.Value().(map[string]any); !ok || err != nil {
				s.Args.Errorf("", "must be a mapping of arguments to values with `compat: agentevals`")
			}
			call.Function.Arguments = string(text)
		}
		if s.Together && k.Mode == "strict" && i > 0 {
			last := &messages[len(messages)-1]
			last.ToolCalls = append(last.ToolCalls, call)
		} else {
			messages = append(messages, chat.Message{Role: "assistant", ToolCalls: []chat.ToolCall{call}})
		}
	}
	text, err := json.Marshal(messages)
	if err != nil {
		n.Errorf("expected", "%v", err)
	}
	a.c.Reference = text
	return a
}
