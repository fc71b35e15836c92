package lint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/style"
)

// idlePasses finds cases that an agent passes that says nothing and does nothing. It has the evaluators judge the
// workspace as it is prepared. Where one of them starts a program or asks a model, or where a step does, what it finds
// is open.
func idlePasses(ctx context.Context, s *suite, found func(Finding)) error {
	for i := range s.cases {
		c := &s.cases[i]
		deciding := slices.Clone(c.unit.Evaluators)
		deciding = slices.DeleteFunc(deciding, func(e plan.Evaluator) bool { return e.Advisory })
		if len(deciding) == 0 {
			continue
		}
		open := slices.ContainsFunc(deciding, unknown) ||
			slices.ContainsFunc(c.unit.Steps, func(step plan.Step) bool { return step.Run != "" })
		if !open {
			passes, err := s.idle(ctx, c, deciding)
			if err != nil {
				return fmt.Errorf("case %s: %w", c.ID, err)
			}
			if !passes {
				continue
			}
		}
		at := deciding[0]
		names := make([]string, len(deciding))
		for i, e := range deciding {
			names[i] = e.Name
			if e.Type == "files" && at.Type != "files" {
				at = e
			}
		}
		found(Finding{
			Position: at.Position, Where: c.ID, open: open,
			What: fmt.Sprintf("an agent that does nothing passes case %s: what is expected holds from the start, by %s",
				c.ID, strings.Join(names, ", ")),
		})
	}
	return nil
}

// unknown reports whether an evaluator starts something, or asks somebody.
func unknown(e plan.Evaluator) bool {
	needs := e.Config.(evaluator.Evaluator).Needs()
	return needs.Asks() || needs&evaluator.StartsChild != 0
}

// idle reports whether the evaluators pass an agent that does nothing in the case's workspace, which is only made if
// those pass that need none.
func (s *suite) idle(ctx context.Context, c *testCase, evaluators []plan.Evaluator) (passes bool, err error) {
	in := evaluator.Input{Unit: c.unit.ID(), Case: c.Case, Run: idleRun(len(c.Prompts))}
	in.Metrics = &result.Metrics{Version: 1, Iterations: len(c.Prompts), ToolCalls: map[string]int{}}
	in.Changes = func(context.Context) (string, error) { return "", nil }
	var ofFiles []plan.Evaluator
	for _, e := range evaluators {
		if e.Config.(evaluator.Evaluator).Needs()&evaluator.NeedsWorkspace != 0 {
			ofFiles = append(ofFiles, e)
		} else if !passed(ctx, e, in) {
			return false, ctx.Err()
		}
	}
	if len(ofFiles) == 0 {
		return true, ctx.Err()
	}
	if s.copied += s.bytes; s.copied > maxCopied {
		s.notef("whether an agent that does nothing passes case %s is not known: its workspace is too large", c.ID)
		return false, nil
	}
	base, err := disk.MkdirTemp(s.cfg.TempDir)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, disk.RemoveAll(base)) }()
	in.Workspace = filepath.Join(base, "workspace")
	if err := s.prepare(ctx, c, in.Workspace); err != nil {
		return false, err
	}
	for _, e := range ofFiles {
		if !passed(ctx, e, in) {
			return false, ctx.Err()
		}
	}
	return true, ctx.Err()
}

// maxCopied is how many bytes are copied to look at the workspaces of all cases.
const maxCopied = 1 << 30

// passed reports whether an evaluator passes an idle agent, which keeps all bounds of metrics.
func passed(ctx context.Context, e plan.Evaluator, in evaluator.Input) bool {
	return e.Type == "metrics" || judge(ctx, e, in).Outcome == result.Pass
}

// prepare makes the workspace of a case.
func (s *suite) prepare(ctx context.Context, c *testCase, dir string) error {
	if !prepares(c.unit) || s.template == nil {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	} else {
		given, err := engine.GivenFiles(ctx, c.Case, s.besidePlaybook)
		if err == nil {
			_, _, err = s.template.Prepare(ctx, dir, given)
		}
		if err != nil {
			return err
		}
	}
	name := writesStyle(c.unit)
	if name == "" {
		return nil
	}
	written, err := style.Load(name, s.styleDir(name))
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	_, err = written.Write(root)
	return err
}

// idleRun is the session of an agent that ends each turn at once.
func idleRun(turns int) *trajectory.Run {
	run := &trajectory.Run{Cwd: "$WORKSPACE"}
	for turn := range turns {
		run.Events = append(run.Events, trajectory.Event{
			Turn: turn + 1, Body: trajectory.Stop{Reason: "end_turn"},
		})
	}
	return run
}
