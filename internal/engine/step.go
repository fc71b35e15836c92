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
	return runStep(ctx, a.Runner, s, a.unit.Values(), func(ctx context.Context, s playbook.Step) (*result.Command, error) {
		switch s.Uses {
		case playbook.ActionPrepare:
			return nil, a.prepare(ctx)
		case playbook.ActionStyle:
			return nil, a.writeStyle(ctx)
		case playbook.ActionPrompt:
			return nil, a.ask(ctx, a.unit.Case.Prompts)
		case playbook.ActionLoop:
			return nil, a.loop(ctx)
		case "":
			a.touched = true
			return a.command(ctx, s, &a.dirs)
		}
		return nil, fmt.Errorf("action %s is not known here", s.Uses)
	})
}

// runStep resolves a step, does it and says how it ended. The error is not nil only if the step ended in error.
func runStep(ctx context.Context, r *Runner, s playbook.Step, values playbook.Values,
	do func(context.Context, playbook.Step) (*result.Command, error),
) (result.Step, error) {
	start := r.now()
	res := result.Step{Name: stepName(s), Position: s.Position.String(), Outcome: result.Pass}
	s, err := r.pb.Resolve(s, r.withRun(values))
	if err == nil {
		res.Command, err = do(ctx, s)
	}
	if res.Command != nil {
		res.Output = res.Command.Output
	}
	res.Duration = result.Duration(r.now().Sub(start))
	skip, skipped := errors.AsType[stepSkipped](err)
	failure, failed := errors.AsType[*stepFailure](err)
	switch {
	case skipped:
		res.Outcome, res.Reason = result.Skip, skip.Error()
		return res, nil
	case failed:
		res.Outcome, res.Reason = result.Fail, failure.reason
		return res, nil
	case err != nil:
		res.Outcome, res.Reason = result.Error, err.Error()
	}
	return res, err
}

// withRun adds what placeholders can say of the run, if there is one.
func (r *Runner) withRun(values playbook.Values) playbook.Values {
	if r.archive.RunID != "" {
		values["run.run_id"], values["run.run_dir"] = r.archive.RunID, r.archive.RunDir
	}
	return values
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
