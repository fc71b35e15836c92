package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/tally"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/script"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// evaluation implements [evaluator.Evaluator].
type evaluation struct {
	args           []string
	cwd            string // clean, below the workspace
	timeout        time.Duration
	network        bool
	exitCode       int
	stdout, stderr []check
}

func (evaluation) Needs() evaluator.Needs { return evaluator.NeedsWorkspace | evaluator.StartsChild }

func (e evaluation) Evaluate(ctx context.Context, in evaluator.Input) evaluator.Verdict {
	out, err := e.run(ctx, in)
	if err != nil {
		v := evaluator.Verdict{Outcome: result.Error, Reason: err.Error()}
		if s, ok := errors.AsType[*script.Error](err); ok {
			v.Detail = s.Stderr
		}
		return v
	}
	return e.judge(out)
}

// run runs the command in a copy of the workspace.
func (e evaluation) run(ctx context.Context, in evaluator.Input) (out script.Output, err error) {
	switch {
	case in.Scripts == nil:
		return out, errors.New("there is nothing to run the command with")
	case in.Workspace == "":
		return out, errors.New("no workspace")
	}
	dir, err := copyOf(ctx, in.Workspace, in.Scripts.TempDir)
	if err != nil {
		return out, fmt.Errorf("copy the workspace: %w", err)
	}
	defer func() { err = errors.Join(err, disk.RemoveAll(filepath.Dir(dir))) }()
	cwd := filepath.Join(dir, filepath.FromSlash(e.cwd))
	if info, err := os.Stat(cwd); err != nil || !info.IsDir() {
		return out, fmt.Errorf("cwd: the workspace has no directory %s", e.cwd)
	}
	return in.Scripts.Exec(ctx, script.Script{
		Argv: e.args, Cwd: cwd, Write: []string{dir}, Timeout: e.timeout, Network: e.network, Apart: true,
	}, nil, dir)
}

// everything is a glob that names whatever has a name, what a workspace is not made of too: the agent may have installed
// its modules, and committed its work.
const everything = "**/?*"

// copyOf returns the path of a copy of the workspace, the only thing in its directory. Links that lead out of it are not
// copied, for behind them nothing could be read.
func copyOf(ctx context.Context, dir, parent string) (copied string, err error) {
	base, err := os.MkdirTemp(parent, "sdd-eval-command-")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, disk.RemoveAll(base))
		}
	}()
	if base, err = filepath.EvalSymlinks(base); err != nil {
		return "", err
	}
	copied = filepath.Join(base, "workspace")
	_, _, err = workspace.Prepare(ctx, workspace.Source{Dir: dir, Include: []string{everything}}, copied)
	return copied, err
}

// judge compares the command's result with what was expected.
func (e evaluation) judge(out script.Output) evaluator.Verdict {
	if out.StderrCut && len(e.stderr) > 0 {
		return evaluator.Verdict{
			Outcome: result.Error, Reason: strings.Join(e.args, " ") + " wrote more to its standard error than can be looked at",
		}
	}
	var t tally.Tally
	what := fmt.Sprintf("%s ends with exit code %d", strings.Join(e.args, " "), e.exitCode)
	if out.Exit == (supervise.Exit{Code: e.exitCode}) {
		t.Hold(1, what)
	} else {
		t.Miss(1, what, fmt.Sprintf("%s\n%s\n%s", out.Exit, shown("stdout", string(out.Stdout)), shown("stderr", out.Stderr)))
	}
	for _, stream := range []struct {
		name, text string
		checks     []check
	}{{"stdout", string(out.Stdout), e.stdout}, {"stderr", out.Stderr, e.stderr}} {
		for _, c := range stream.checks {
			if c.holds(stream.text) {
				t.Hold(1, stream.name+" "+c.what)
			} else {
				t.Miss(1, stream.name+" "+c.what, "it does not\n"+shown(stream.name, stream.text))
			}
		}
	}
	return t.Verdict()
}
