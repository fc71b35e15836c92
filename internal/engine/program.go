package engine

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/mock/mockdir"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/script"
	"github.com/sdd-eval/sdd-eval/internal/session"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// programs are the programs that the playbook's author wrote: agents and MCP servers whose files are beside it.
type programs struct {
	digests sync.Map // by path; a run looks at a file once
}

// findPrograms makes the configuration of a session that starts an agent name the files of the playbook's programs.
func (r *Runner) findPrograms(c *session.Config) error {
	dir, found := r.besidePlaybook("."), *c.Playbook
	p, err := plan.AgentProgram(dir, c.Unit.Variant.Agent)
	if err != nil {
		return err
	}
	c.Beside = filesOf(p)
	found.MCP = slices.Clone(c.Playbook.MCP)
	for i, s := range found.MCP {
		if len(s.Mock) > 0 {
			continue
		}
		if p, err = plan.FindProgram(dir, s.Command); err != nil {
			return fmt.Errorf("%s: MCP server %s: %w", s.Position, s.Name, err)
		}
		found.MCP[i].Command = p.Words
		c.Beside = append(c.Beside, filesOf(p)...)
	}
	c.Playbook = &found
	c.Mocks, err = r.mocks(found.MCP)
	return err
}

// mocks are those of some servers that are played.
func (r *Runner) mocks(servers []plan.MCPServer) (mockdir.Set, error) {
	var all mockdir.Set
	for _, s := range servers {
		if len(s.Mock) == 0 {
			continue
		}
		played, _, err := plan.MockOf(r.besidePlaybook("."), s.MCPServer)
		if err != nil {
			return nil, fmt.Errorf("%s: MCP server %s: %w", s.Position, s.Name, err)
		}
		all = append(all, played)
	}
	return all, nil
}

// findAgent returns an agent of the playbook as it is started: with the paths of the files that it names.
func (r *Runner) findAgent(a playbook.Agent) (playbook.Agent, error) {
	p, err := plan.AgentProgram(r.besidePlaybook("."), a)
	if err != nil {
		return a, err
	}
	a.Command = p.Words[0]
	if a.Args != nil {
		a.Args = p.Words[1:]
	}
	return a, nil
}

// filesOf returns the files of a program, and what they import as far as their texts say so.
func filesOf(p plan.Program) []string {
	return script.WithImports(slices.Sorted(maps.Values(p.Files)))
}

// agentFiles returns the digests of the files that an agent is started from, by their paths from the playbook.
func (r *Runner) agentFiles(a playbook.Agent) map[string]string {
	p, _ := plan.AgentProgram(r.besidePlaybook("."), a) // without what was recorded of its files, a recording is stale
	return r.programDigests(filesOf(p))
}

// serverFiles returns the digests of the files that MCP servers are started from, by their paths from the playbook.
func (r *Runner) serverFiles(servers []plan.MCPServer) map[string]string {
	var files []string
	for _, s := range servers {
		if len(s.Mock) > 0 {
			_, played, _ := plan.MockOf(r.besidePlaybook("."), s.MCPServer) // without its files, a recording is stale
			files = append(files, played...)
		} else if p, err := plan.FindProgram(r.besidePlaybook("."), s.Command); err == nil {
			files = append(files, filesOf(p)...)
		}
	}
	return r.programDigests(files)
}

func (r *Runner) programDigests(files []string) map[string]string {
	all := make(map[string]string, len(files))
	for _, path := range files {
		digest, known := r.programs.digests.Load(path)
		if !known {
			sum, err := digestOf(path)
			if err != nil {
				sum = "unreadable"
			}
			digest, _ = r.programs.digests.LoadOrStore(path, sum)
		}
		name, err := filepath.Rel(r.besidePlaybook("."), path)
		if err != nil {
			name = path
		}
		all[filepath.ToSlash(name)] = digest.(string)
	}
	return all
}
