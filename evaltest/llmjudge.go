package evaltest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/judgment"
	"github.com/sdd-eval/sdd-eval/internal/project"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

// Judge says how a model judges, with the keys of a playbook's llm_judge.
type Judge struct {
	// Models are the models that judge, at least one; the median of their scores counts.
	Models []string `json:"judges"`
	// Prompt is a template of the question; empty: the built-in prompt.
	Prompt string `json:"prompt,omitempty"`
	// Samples is how often each model is asked; 0 means 1.
	Samples int `json:"samples,omitempty"`
	// Rubrics are judged one by one.
	Rubrics []Rubric `json:"rubrics,omitempty"`
}

// Rubric is one thing that a [Judge] looks for: it holds, or it does not.
type Rubric struct {
	// ID matches ^[a-zA-Z][a-zA-Z0-9_-]*$.
	ID   string `json:"id"`
	Text string `json:"text"`
	// Weight is its weight in the score; 0 means 1.
	Weight float64 `json:"weight,omitempty"`
	// Required makes the judge's score fail, whatever it is, if the rubric does not hold.
	Required bool `json:"required,omitempty"`
}

// LLMJudge returns a scorer that asks models about the output. They see what an agent said, called and changed, or the
// output of another task, as it is if it is text and otherwise as JSON, beside the row's input and what is expected.
//
// Models are asked only with EVAL_LLM_JUDGE=1. Their answers are recorded beside the row's cassette as in playbooks,
// and replayed if there is a recording; with neither, the scorer is skipped, which is an error where CI is set.
func LLMJudge(j Judge) Scorer {
	s := Scorer{name: "llm-judge", models: true, takes: func(types) error { return nil }}
	panel, err := j.evaluator()
	s.err = err
	s.judge = func(ctx context.Context, c scored) finding {
		in, err := evidence(c)
		if err != nil {
			return unknown(err)
		}
		file, err := c.row.openJudgments()
		if next := fault.Advice(err); next != "" {
			err = fmt.Errorf("%w\nnext: %s", err, next)
		}
		if err != nil {
			return unknown(err)
		}
		if file != nil {
			in.Models = file
		}
		v := panel.Evaluate(ctx, in)
		f := finding{outcome: v.Outcome, Score: Score{Reason: v.Reason, Details: v.Detail}, final: v.Final}
		if v.Score != nil {
			f.outcome, f.Value = result.Pass, *v.Score
		}
		return f
	}
	return s
}

// evaluator makes the evaluator that a playbook with the judge's keys would have.
func (j Judge) evaluator() (e evaluator.Evaluator, err error) {
	if len(j.Models) == 0 {
		return nil, errors.New("it names no models")
	}
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	d := doc.Parse("Judge", text)
	e = kinds.All()["llm_judge"].Decode(d.Root).(evaluator.Evaluator)
	return e, d.Err()
}

// evidence is what a judge looks at.
func evidence(c scored) (evaluator.Input, error) {
	input, err := textOf(c.input)
	if err != nil {
		return evaluator.Input{}, fmt.Errorf("the input: %w", err)
	}
	in := evaluator.Input{
		Unit: c.row.name(), Case: spec.Case{ID: c.row.id, Prompts: []string{input}}, Run: runOf(c.output),
		Changes: func(context.Context) (string, error) { return "", nil },
	}
	if calls, ok := c.expected.(Calls); ok {
		in.Case.ExpectedOutcome = callLines(calls)
	} else if in.Case.ReferenceAnswer, err = textOf(c.expected); err != nil {
		return evaluator.Input{}, fmt.Errorf("what is expected: %w", err)
	}
	if a, ok := c.output.(*AgentResult); ok && a != nil {
		in.Workspace = a.Workspace
		in.Changes = func(context.Context) (string, error) { return a.Changes, nil }
	}
	if in.Run == nil {
		answer, err := textOf(c.output)
		if err != nil {
			return evaluator.Input{}, fmt.Errorf("the output: %w", err)
		}
		in.Run = &trajectory.Run{Events: []trajectory.Event{
			{Turn: 1, Body: trajectory.Prompt{Text: input}}, {Turn: 1, Body: trajectory.Message{Text: answer}},
		}}
	}
	return in, nil
}

// callLines tells a judge which tool calls are expected.
func callLines(calls Calls) string {
	if len(calls) == 0 {
		return ""
	}
	lines := []string{"These tools are called:"}
	for _, call := range calls {
		lines = append(lines, "- "+call.String())
	}
	return strings.Join(lines, "\n")
}

// textOf is a value for a model to read: a text as it is, else JSON.
func textOf(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case fmt.Stringer:
		return v.String(), nil
	}
	text, err := json.MarshalIndent(v, "", "  ")
	return string(text), err
}

// models returns the client of the models that judge. It is one for the whole test process: it keeps the budget.
var models = engine.Models(os.Getenv)

// openJudgments opens the recording of what models say of the row, nil if none may be asked.
func (r *rowRun) openJudgments() (*judgment.File, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.judgments != nil {
		return r.judgments, nil
	}
	r.secrets.AddEnvironment(os.Environ())
	if r.environment.LLMJudge || r.environment.RecordJudges {
		if err := project.KeepOutOfCache(r.root); err != nil {
			return nil, err
		}
	}
	dir := r.cassettes
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(r.root, dir)
	}
	if !r.claimed {
		if err := claimRecording(r.t, r.stem(r.suiteRun.id)+"/"+r.id+"/judges"); err != nil {
			return nil, err
		}
		r.claimed = true
	}
	path := judgment.Path(cassette.Path(dir, r.stem(r.suiteRun.id), r.id, "task", 1))
	judges := engine.Judges{
		Path: path, Name: cmp.Or(filepath.ToSlash(r.fromRoot(path)), path), Decider: "an LLM judge of the suite",
		Advice:  "set EVAL_LLM_JUDGE=1, or commit the recording of what models said",
		Command: "EVALTEST_JUDGES=record " + command(r.harness, engine.Replay, r.t.Name()) + " -count=1", Mode: r.mode(),
		Record: r.environment.RecordJudges, Allowed: r.environment.LLMJudge, Secrets: r.secrets, Models: models, Getenv: os.Getenv,
	}
	var err error
	r.judgments, err = judges.Open()
	return r.judgments, err
}
