package fieldaccuracy

import (
	"context"
	"fmt"

	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/jsonpath"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/tally"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/tree"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// accuracy implements [evaluator.Evaluator].
type accuracy struct {
	file   string // clean, below the workspace; empty: the answer is the document
	fields []field
}

func (a accuracy) Needs() evaluator.Needs {
	if a.file == "" {
		return 0
	}
	return evaluator.NeedsWorkspace
}

// Evaluate compares the fields. An agent that was to leave a JSON document and did not has failed; a file that we cannot
// read is an error.
func (a accuracy) Evaluate(_ context.Context, in evaluator.Input) evaluator.Verdict {
	document, problem, err := a.document(in)
	switch {
	case err != nil:
		return evaluator.Verdict{Outcome: result.Error, Reason: err.Error()}
	case problem != "":
		none := 0.0
		return evaluator.Verdict{Outcome: result.Fail, Score: &none, Reason: problem}
	}
	var t tally.Tally
	required := ""
	for _, f := range a.fields {
		problem := f.problem(document)
		if problem == "" {
			t.Hold(f.weight, f.String())
			continue
		}
		t.Miss(f.weight, f.String(), problem)
		if f.required && required == "" {
			required = f.String() + ": " + problem
		}
	}
	v := t.Verdict()
	if required != "" {
		v.Detail += fmt.Sprintf("\na required field is wrong: the score is 0 instead of %.4g", *v.Score)
		v.Outcome, *v.Score, v.Reason = result.Fail, 0, required
	}
	return v
}

// document returns the document, or why the agent left none.
func (a accuracy) document(in evaluator.Input) (document any, problem string, err error) {
	if a.file == "" {
		answer := in.Run.Answer()
		object, err := llm.ParseObject(answer)
		if err == nil {
			err = jsonvalue.DecodeStrict(object, &document, 0)
		}
		if err != nil {
			return nil, fmt.Sprintf("the answer %s is no JSON document: %v", jsonpath.Show(answer), err), nil
		}
		return document, "", nil
	}
	left, err := tree.Open(in.Workspace)
	if err != nil {
		return nil, "", err
	}
	defer left.Close()
	data, missing, err := left.Read(a.file)
	switch {
	case err != nil:
		return nil, "", err
	case missing != "":
		return nil, a.file + ": " + missing, nil
	}
	if err := jsonvalue.DecodeStrict(data, &document, 0); err != nil {
		return nil, fmt.Sprintf("%s is no JSON document: %v", a.file, err), nil
	}
	return document, "", nil
}
