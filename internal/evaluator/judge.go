package evaluator

import (
	"context"
	"fmt"

	"github.com/sdd-eval/sdd-eval/internal/panics"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

// Judge asks one evaluator and holds its score to the threshold. A verdict that contradicts itself is an error. That of an
// evaluator which only reports decides nothing.
func Judge(ctx context.Context, e spec.Evaluator, in Input) Verdict {
	v := hold(ctx, e, in)
	if e.Advisory && (v.Outcome == result.Pass || v.Outcome == result.Fail) {
		v.Outcome = result.Reported
	}
	return v
}

func hold(ctx context.Context, e spec.Evaluator, in Input) Verdict {
	in.Threshold = e.Threshold
	var v Verdict
	err := panics.Catch(func() error {
		v = e.Config.(Evaluator).Evaluate(ctx, in)
		return nil
	})
	if err != nil {
		return Verdict{
			Outcome: result.Error, Detail: err.Error(), Reason: fmt.Sprintf("evaluator %s panicked", e.Name),
		}
	}
	if v.Outcome != result.Pass && v.Outcome != result.Fail {
		v.Score = nil
		return v
	}
	if v.Score == nil || !(*v.Score >= 0 && *v.Score <= 1) {
		return Verdict{
			Outcome: result.Error, Detail: v.Detail,
			Reason: fmt.Sprintf("evaluator %s said %q with a score that is not between 0 and 1", e.Name, v.Outcome),
		}
	}
	if v.Outcome == result.Fail && *v.Score == 1 {
		return Verdict{
			Outcome: result.Error, Detail: v.Detail, Reason: fmt.Sprintf("evaluator %s said \"fail\" with a full score", e.Name),
		}
	}
	if v.Outcome == result.Fail && v.Final {
		return v
	}
	v.Outcome = result.Fail
	if *v.Score >= e.Threshold {
		v.Outcome = result.Pass
	}
	return v
}
