package llmjudge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/expect"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/payload"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// agentJudge implements [evaluator.Evaluator]: an agent judges each rubric on its own.
type agentJudge struct {
	panel
	agent   playbook.Agent
	timeout time.Duration
}

// whole is what is judged where there are no rubrics.
var whole = rubric{
	id: "work", weight: 1,
	text: "The work is what the question asks for and, as far as they are given, what is expected.",
}

// compileAgent returns the judge that a playbook's keys describe. It reports errors on n.
func compileAgent(n *doc.Node, k keys, rubrics []rubric) agentJudge {
	if n.Get("model") != nil || n.Get("judges") != nil {
		n.Errorf("", "exactly one of `model`, `judges` and `agent` is required: write `agent: {model: ...}`")
	}
	expect.Meaningless(n, "with `agent`", "prompt", "config", "samples", "network", "compat")
	for _, item := range n.Get("rubrics").Items() {
		expect.Meaningless(item, "with `agent`, which says of each rubric whether it holds", "score_ranges")
	}
	if n.Get("agent").Get("mode") != nil {
		n.Errorf("agent.mode", "has no effect: an agent that judges may use no tools")
	}
	j := agentJudge{panel: panel{rubrics: rubrics}, agent: k.Agent, timeout: k.Timeout}
	j.models = []string{j.request().Judge()}
	return j
}

// Needs implements [evaluator.Evaluator].
func (j agentJudge) Needs() evaluator.Needs { return evaluator.NeedsWorkspace | evaluator.AsksAgent }

// Agents is what [evaluator.Agents] returns.
func (j agentJudge) Agents() []playbook.Agent { return []playbook.Agent{j.agent} }

// Evaluate implements [evaluator.Evaluator]. The rubrics that ask how the work was done are asked in a turn of their
// own: what is shown for them, the others' judge must not see.
func (j agentJudge) Evaluate(ctx context.Context, in evaluator.Input) evaluator.Verdict {
	if in.Models == nil {
		return in.NotAsked()
	}
	if in.Changes == nil {
		return failed(errors.New("no workspace"))
	}
	p, err := payload.Of(ctx, in, nil)
	if err != nil {
		return failed(err)
	}
	judged := j.rubrics
	if judged == nil {
		judged = []rubric{whole}
	}
	verdicts := make(map[string]llm.Verdict)
	for _, withCalls := range []bool{false, true} {
		r := j.request()
		r.User = asked(p) + "\n" + fenced(p, withCalls)
		for _, rubric := range judged {
			if rubric.calls == withCalls {
				r.Checks = append(r.Checks, llm.Check{ID: rubric.id, Text: rubric.text})
			}
		}
		if r.Checks == nil {
			continue
		}
		reply, err := in.Models.Complete(ctx, r)
		if next := fault.Advice(err); next != "" {
			err = fmt.Errorf("%w; %s", err, next)
		}
		if err != nil {
			return failed(err)
		}
		for i, v := range reply.Verdicts {
			verdicts[r.Checks[i].ID] = v
		}
	}
	return j.verdict([][]opinion{{j.opinion(judged, verdicts)}})
}

// request is what is the same in all that the judge is asked.
func (j agentJudge) request() llm.Request {
	return llm.Request{
		Agent: &llm.Agent{
			Kind: j.agent.Kind, Preset: j.agent.Preset, Command: j.agent.Command, Args: j.agent.Args,
			Timeout: j.timeout,
		},
		Model: j.agent.Model, System: role + llm.AgentForm,
	}
}

// opinion puts verdicts on rubrics together.
func (j agentJudge) opinion(judged []rubric, verdicts map[string]llm.Verdict) opinion {
	var o opinion
	var by []string
	for _, r := range judged {
		v := verdicts[r.id]
		c := check{reason: v.Evidence}
		if v.Passed {
			c.score = maxScore
		}
		if r.calls {
			c.reason = notBlind + c.reason
		}
		o.checks = append(o.checks, c)
		if name := answerer(v); !slices.Contains(by, name) {
			by = append(by, name)
		}
	}
	o.score, o.by = mean(judged, o.checks), strings.Join(by, "; ")
	if j.rubrics == nil {
		o.reason, o.checks = o.checks[0].reason, nil
	}
	return o
}

// notBlind begins the reason of a verdict whose judge was shown the tool calls.
const notBlind = "(not blind: it was shown the tool calls) "

// answerer names who gave a verdict.
func answerer(v llm.Verdict) string {
	if v.Model == "" {
		return v.Program
	}
	return strings.TrimSpace(fmt.Sprintf("%s with %s", v.Program, v.Model))
}
