package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/environ"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/toolcache"
)

// agentEnviron is the environment of the unit's agent and its servers, without its account, and without what the agent
// would prefer to it.
func (c *Config) agentEnviron() []string {
	return slices.DeleteFunc(c.environ(c.Playbook.Sandbox.Network == plan.NetworkNone), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(c.Launch.Withheld, name)
	})
}

// environ is the environment of what is started for the unit's agent. A process without network finds caches that
// others do not, see [toolcache.Caches.Variables].
func (c *Config) environ(offline bool) []string {
	env := environ.ForChild(environ.Spec{
		Environ: c.Environ, Home: c.Dirs.Home, Tmp: c.Dirs.Tmp, Workspace: c.Dirs.Workspace,
		Pass: c.Playbook.Env.Pass, Set: c.Playbook.Env.Set,
	})
	caches := toolcache.Find(c.Environ, c.Caches...)
	return slices.Clip(append(caches.Without(env), caches.Variables(c.Dirs.Home, offline)...))
}

// startAgent starts an agent's process in the workspace, with its account in its environment.
func (c *Config) startAgent(ctx context.Context, program supervise.Command, p confine.Policy) (child, error) {
	for _, name := range slices.Sorted(maps.Keys(c.Launch.Env)) {
		program.Env = append(program.Env, name+"="+c.Launch.Env[name])
	}
	program.Dir, program.Scratch = c.Dirs.Workspace, c.Dirs.Base
	start := c.startChild
	if start == nil {
		start = c.startProcess
	}
	started, err := start(ctx, program, p)
	if err == nil || fault.Advice(err) != "" || !isUnstartable(err) {
		return started, err
	}
	return child{}, fault.Advise(err, fmt.Sprintf("%s, or name another program under %s.command",
		c.Profile.Install(c.Launch.Command), c.Unit.Variant.AgentAt()))
}

// isUnstartable reports whether an error is about the program that was to be started.
func isUnstartable(err error) bool {
	if _, ok := errors.AsType[*helper.Error](err); ok {
		return false
	}
	kinds := []error{exec.ErrNotFound, fs.ErrNotExist, fs.ErrPermission, syscall.ENOEXEC}
	return slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
}

// child is an agent's process, as [supervise.Process] is one.
type child struct {
	process
	stdin  io.WriteCloser
	stdout io.Reader
}

type process interface {
	Done() <-chan struct{}
	Wait() (supervise.Exit, error)
	Kill() (supervise.Exit, error)
	Stop(context.Context) (supervise.Exit, error)
}

func (c *Config) startProcess(ctx context.Context, program supervise.Command, p confine.Policy) (child, error) {
	started, err := c.Start(ctx, program, p)
	if err != nil {
		return child{}, err
	}
	return child{started, started.Stdin, started.Stdout}, nil
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

// agentPolicy is what the unit's agent may touch.
func (c *Config) agentPolicy() confine.Policy {
	p := confine.Policy{
		// The base as a whole: if we are gone before the agent, the supervisor removes what is in it.
		Write:     []string{c.Dirs.Base, c.Dirs.Workspace},
		Workspace: c.Dirs.Workspace,
		Network:   c.Playbook.Sandbox.Network != plan.NetworkNone,
	}
	_, own := c.proxied() // for the others it starts what stands for them
	p.Programs, p.Arguments = programsOf(own)
	// What the playbook's author names is the agent's to read: with `command: node` it is a script.
	p.Arguments = slices.Concat(p.Arguments, c.Launch.Args, c.Beside)
	return p
}

// serverPolicy is what an MCP server may touch that the agent does not start itself.
func (c *Config) serverPolicy() confine.Policy {
	programs, arguments := programsOf(c.Playbook.MCP)
	return confine.Policy{
		Write:     []string{c.Dirs.Workspace, c.Dirs.Home, c.Dirs.Tmp},
		Workspace: c.Dirs.Workspace,
		Programs:  programs,
		Arguments: append(arguments, c.Beside...),
		Network:   c.Playbook.Sandbox.Network != plan.NetworkNone,
	}
}

// programsOf are MCP servers that are not played, and their arguments, of which some are scripts.
func programsOf(servers []plan.MCPServer) (programs, arguments []string) {
	for _, s := range servers {
		if len(s.Mock) == 0 {
			programs, arguments = append(programs, s.Command[0]), append(arguments, s.Command[1:]...)
		}
	}
	return programs, arguments
}

// commandPolicy is what commands in terminals may touch.
func (c *Config) commandPolicy() confine.Policy {
	return confine.Policy{
		Write:     []string{c.Dirs.Workspace, c.Dirs.Home, c.Dirs.Tmp},
		Workspace: c.Dirs.Workspace,
		Network:   c.Playbook.Sandbox.Network == plan.NetworkAll,
	}
}

// fakeKind is the agent kind that the helper plays, so that a first run needs no agent installed.
const fakeKind = helper.Agent

// fakeCommand returns how to start the scripted agent with the scripts that are its arguments.
func fakeCommand(scripts []string) (path string, args []string, err error) {
	p, err := helper.Find()
	if err != nil {
		return "", nil, err
	}
	return p.Path, append(p.Command(helper.Agent), scripts...), nil
}
