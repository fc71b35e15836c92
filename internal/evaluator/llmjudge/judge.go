package llmjudge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// panel implements [evaluator.Evaluator].
type panel struct {
	prompt  prompt
	models  []string
	samples int
	rubrics []rubric
	form    form
}

func (p panel) Needs() evaluator.Needs { return p.prompt.needs() | evaluator.AsksModel }

func (p panel) Evaluate(ctx context.Context, in evaluator.Input) evaluator.Verdict {
	if in.Models == nil {
		return evaluator.Verdict{Outcome: result.Skip, Reason: "needs EVAL_LLM_JUDGE=1 or --llm-judge, or a recording"}
	}
	if p.Needs()&evaluator.NeedsWorkspace != 0 && in.Changes == nil {
		return failed(errors.New("no workspace"))
	}
	text, err := p.prompt.render(ctx, in)
	if err != nil {
		return failed(err)
	}
	opinions, err := p.ask(ctx, in.Models, text)
	if err != nil {
		return failed(err)
	}
	return p.verdict(opinions)
}

// failed is the verdict when nothing is known about the agent.
func failed(err error) evaluator.Verdict {
	return evaluator.Verdict{Outcome: result.Error, Reason: strings.ReplaceAll(err.Error(), "\n", " ")}
}

// parallel is how many questions of one judge are asked at a time.
const parallel = 4

// ask returns the opinions of each model, by sample. One that gives none leaves nothing known: the others cannot make up
// for it.
func (p panel) ask(ctx context.Context, models llm.Asker, prompt string) ([][]opinion, error) {
	all := make([][]opinion, len(p.models))
	errs := make([]error, len(p.models)*p.samples)
	var g errgroup.Group
	g.SetLimit(parallel)
	for m, model := range p.models {
		all[m] = make([]opinion, p.samples)
		for sample := range p.samples {
			g.Go(func() error {
				all[m][sample], errs[m*p.samples+sample] = p.one(ctx, models, llm.Request{
					Model: model, System: p.form.instructions, User: prompt, Schema: p.form.schema, SchemaName: "judgement", Sample: sample,
				})
				return nil
			})
		}
	}
	_ = g.Wait() // the goroutines return nil
	for _, err := range errs {
		if err != nil {
			return nil, err // always the same one of several
		}
	}
	return all, nil
}

func (p panel) one(ctx context.Context, models llm.Asker, r llm.Request) (opinion, error) {
	reply, err := models.Complete(ctx, r)
	if err != nil {
		return opinion{}, err
	}
	o, err := parse(reply.Text, p.rubrics)
	if err != nil {
		return opinion{}, fmt.Errorf("judge %s: %w; the reply was %s", r.Model, err, excerpt.Quote(reply.Text, maxQuoted))
	}
	return o, nil
}

// maxQuoted is how many characters of a reply an error shows.
const maxQuoted = 2_000
