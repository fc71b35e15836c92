package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// step runs one step of a unit.
func (a *attempt) step(ctx context.Context, s playbook.Step) (result.Step, error) {
	return runStep(ctx, a.Runner, s, a.unit.Values(), func(ctx context.Context, s playbook.Step) (string, error) {
		switch s.Uses {
		case playbook.ActionPrepare:
			return "", a.prepare(ctx)
		case playbook.ActionPrompt:
			return "", a.prompt(ctx)
		case "":
			a.touched = true
			return a.command(ctx, s, a.dirs.workspace)
		}
		return "", fmt.Errorf("action %s is not known here", s.Uses)
	})
}

// runStep resolves a step, does it and says how it ended. The error is that of a step about which nothing can be said.
func runStep(ctx context.Context, r *Runner, s playbook.Step, values playbook.Values,
	do func(context.Context, playbook.Step) (output string, err error),
) (result.Step, error) {
	start := r.now()
	res := result.Step{Name: stepName(s), Position: s.Position.String(), Outcome: result.Pass}
	s, err := r.pb.Resolve(s, values)
	if err == nil {
		res.Output, err = do(ctx, s)
	}
	res.Duration = result.Duration(r.now().Sub(start))
	var failure *stepFailure
	switch {
	case errors.As(err, &failure):
		res.Outcome, res.Reason = result.Fail, failure.reason
		return res, nil
	case err != nil:
		res.Outcome, res.Reason = result.Error, err.Error()
	}
	return res, err
}

// stepName is the step's name, else its action without the common prefix, else its command.
func stepName(s playbook.Step) string {
	switch {
	case s.Name != "":
		return s.Name
	case s.Uses != "":
		return strings.TrimPrefix(s.Uses, "builtin:sdd-eval/")
	default:
		return s.Run
	}
}
