package engine

import (
	"context"
	"fmt"
	"os"

	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/sandbox"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// baselineTime dates the first commit of a workspace, so that it has the same name each time.
const baselineTime = "2000-01-01T00:00:00Z"

// makeRepository makes a git repository of the workspace, with what was prepared as its first commit.
func (a *attempt) makeRepository(ctx context.Context) error {
	env := sandbox.Environment(sandbox.EnvironmentSpec{Environ: a.cfg.Environ, Workspace: a.dirs.workspace})
	env = append(env, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_AUTHOR_DATE="+baselineTime, "GIT_COMMITTER_DATE="+baselineTime)
	for _, args := range [][]string{
		{"git", "init", "--quiet", "--initial-branch=main"},
		{"git", "add", "--all", "--force"},
		{"git", "-c", "user.name=sdd-eval", "-c", "user.email=sdd-eval@localhost", "commit", "--quiet", "--allow-empty", "--no-verify", "--message=baseline"},
	} {
		if err := a.git(ctx, args, env); err != nil {
			return fmt.Errorf("workspace.git: %w", err)
		}
	}
	return nil
}

func (a *attempt) git(ctx context.Context, args, env []string) error {
	out := &sandbox.Tail{Limit: shownOutput}
	p, err := supervise.Start(ctx, supervise.Command{
		Path: args[0], Args: args, Dir: a.dirs.workspace, Env: env, Stdout: out, Stderr: out,
	})
	if err != nil {
		return fault.Advise(err, "install git")
	}
	exit, err := p.Wait()
	if err == nil && exit != (supervise.Exit{}) {
		text, _ := lastLines(out)
		err = fmt.Errorf("%s: %s", exit, text)
	}
	return err
}
