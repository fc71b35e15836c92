package codejudge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/judge"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/codejudge/proxy"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/payload"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/script"
)

// codeJudge implements [evaluator.Evaluator].
type codeJudge struct {
	script script.Script
	config any // as the playbook has it; nil: none
	target *target
	compat string
}

func (c codeJudge) Needs() evaluator.Needs {
	needs := evaluator.NeedsWorkspace | evaluator.StartsChild
	if c.target != nil {
		needs |= evaluator.AsksModel
	}
	return needs
}

func (c codeJudge) Evaluate(ctx context.Context, in evaluator.Input) evaluator.Verdict {
	if c.target != nil && in.Models == nil {
		return evaluator.Verdict{Outcome: result.Skip, Reason: "its `target` asks a model: needs EVAL_LLM_JUDGE=1 or --llm-judge, or a recording"}
	}
	reply, err := c.ask(ctx, in)
	if err != nil {
		return failed(err)
	}
	r, err := judge.ParseResult(reply)
	if err != nil {
		return evaluator.Verdict{Outcome: result.Error, Reason: err.Error(), Detail: raw(reply)}
	}
	v := verdict(r, in.Threshold)
	if v.Outcome == result.Error {
		v.Detail = raw(reply)
	}
	return v
}

// maxRaw is how many characters of an invalid reply are shown.
const maxRaw = 4000

// raw returns what a judge wrote, as text.
func raw(reply []byte) string {
	return excerpt.Head(strings.TrimRight(strings.ToValidUTF8(string(reply), "\uFFFD"), "\n"), maxRaw)
}

// ask runs the judge and returns what it wrote.
func (c codeJudge) ask(ctx context.Context, in evaluator.Input) ([]byte, error) {
	if in.Scripts == nil {
		return nil, errors.New("there is nothing to run the judge with")
	}
	j, err := payload.Of(ctx, in, c.config)
	if err != nil {
		return nil, err
	}
	stdin, err := payload.Encode(j, c.compat)
	if err != nil {
		return nil, fmt.Errorf("write the judge's input: %w", err)
	}
	if c.target == nil {
		return in.Scripts.Run(ctx, c.script, stdin, in.Workspace)
	}
	p, err := proxy.Start(ctx, proxy.Config{Models: in.Models, Model: c.target.Model, MaxCalls: c.target.MaxCalls})
	if err != nil {
		return nil, fmt.Errorf("judge's proxy: %w", err)
	}
	s := c.script
	s.Env = p.Environ(c.compat == payload.AgentV)
	reply, err := in.Scripts.Run(ctx, s, stdin, in.Workspace)
	if failed := p.Close(); failed != nil { // whatever the judge made of it
		return nil, failed
	}
	return reply, err
}

// failed is the verdict when nothing is known about the agent.
func failed(err error) evaluator.Verdict {
	v := evaluator.Verdict{Outcome: result.Error, Reason: err.Error()}
	if e, ok := errors.AsType[*script.Error](err); ok {
		v.Detail = e.Stderr
	}
	return v
}
