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
	"github.com/sdd-eval/sdd-eval/playbook"
)

// judgeScorer returns a scorer that asks models about the output.
func judgeScorer(j playbook.LLMJudge) scorer {
	s := scorer{name: cmp.Or(j.Name, "llm-judge")}
	if j.Threshold != 0 {
		s.threshold = &j.Threshold
	}
	panel, err := judgeOf(j)
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

// judgeOf makes the evaluator that a playbook with the judge's keys would have.
func judgeOf(j playbook.LLMJudge) (e evaluator.Evaluator, err error) {
	if len(j.Models) == 0 {
		return nil, errors.New("it names no models")
	}
	d := doc.Of(j)
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
		Unit: c.row.name(), Case: spec.Case{ID: c.row.id, Prompts: []string{input}},
		Changes: func(context.Context) (string, error) { return "", nil },
	}
	if calls, ok := c.expected.(Calls); ok {
		in.Case.ExpectedOutcome = callLines(calls)
	} else if in.Case.ReferenceAnswer, err = textOf(c.expected); err != nil {
		return evaluator.Input{}, fmt.Errorf("what is expected: %w", err)
	}
	if a, ok := c.output.(*AgentResult); ok && a != nil {
		in.Run, in.Workspace = a.Run, a.Workspace
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
	dir := r.dirs.Cassettes
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
