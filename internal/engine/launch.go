package engine

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/sandbox"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/toolcache"
)

// agentEnviron is the environment of what is started for the unit's agent: without its account.
func (a *attempt) agentEnviron() []string {
	env := sandbox.Environment(sandbox.EnvironmentSpec{
		Environ: a.cfg.Environ, Home: a.dirs.home, Tmp: a.dirs.tmp, Workspace: a.dirs.workspace, Pass: a.pb.Env.Pass,
	})
	env = append(env, toolcache.Find(a.cfg.Environ).Variables(a.dirs.home, false)...)
	return slices.Clip(env)
}

// startAgent starts an agent's process in the workspace, with its account in its environment.
func (a *attempt) startAgent(ctx context.Context, launch agent.Launch, c supervise.Command, p confine.Policy) (*supervise.Process, error) {
	for _, name := range slices.Sorted(maps.Keys(launch.Env)) {
		c.Env = append(c.Env, name+"="+launch.Env[name])
	}
	c.Dir, c.Scratch = a.dirs.workspace, a.dirs.base
	process, err := a.Runner.start(ctx, c, p)
	if err == nil || Advice(err) != "" {
		return process, err
	}
	return nil, advised{err, fmt.Sprintf("install %s, or name another program under variants.%s.agent.command", launch.Command, a.unit.Variant.ID)}
}

// writeFiles writes what an agent wants to find into a directory, such as its home.
func writeFiles(dir string, files []agent.File) error {
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			return err
		}
	}
	return nil
}
