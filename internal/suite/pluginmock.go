package suite

import (
	"errors"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/mcpname"
	"github.com/sdd-eval/sdd-eval/internal/mock/mockdir"
)

// played is an MCP server that directories of the evals stand for.
type played struct {
	dir   string   // the name of its directories
	dirs  []string // below the plugin
	name  string   // as Claude Code calls it in the names of tools
	alone bool     // it stands for no server of a plugin, and is there without the plugin, too
	tools []string // in full
}

func (p played) shadows() bool { return !p.alone }

// readMocks finds the servers that directories called mocks, from the outermost to the case's own, stand for.
func (c *pluginCase) readMocks(r *pluginReader, mocks []string) {
	all := make(map[string][]string)
	for _, layer := range mocks {
		err := r.tree.Check(r.path(layer))
		if err == nil {
			err = c.readLayer(r, layer, all)
		}
		if err != nil {
			c.problem(r.place(layer), mocksDir, err.Error())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c.mocks = append(c.mocks, played{dir: name, dirs: all[name], name: name, alone: true})
	}
}

// readLayer adds the directories of servers in a directory, by their names.
func (c *pluginCase) readLayer(r *pluginReader, layer string, all map[string][]string) error {
	entries, err := r.list(layer)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, dir := e.Name(), path.Join(layer, e.Name())
		info, err := r.root.Stat(filepath.FromSlash(dir))
		switch {
		case strings.HasPrefix(name, "."):
		case err != nil:
			c.problem(r.place(dir), mocksDir, err.Error())
		case !info.IsDir():
		case notTool.MatchString(name) || strings.Contains(name, "__"):
			c.problem(r.place(dir), mocksDir, "a server's directory has its name: letters, digits, - and _, no __")
		default:
			files, err := r.list(dir)
			if err != nil {
				return err
			}
			answers := func(name string) bool { return strings.HasSuffix(name, ".md") || name == mockdir.ToolsFile }
			for _, f := range files {
				if answers(f.Name()) {
					all[name] = append(all[name], dir)
					break
				}
			}
			if len(all[name]) == 0 {
				r.Notes = append(r.Notes, Problem{
					At: r.place(dir), Case: c.Name, Key: mocksDir, What: "it has no file TOOL.md, so nothing is mocked",
				})
			}
		}
	}
	return nil
}

// shadow reports whether a server of a plugin, by its full name or the one that the plugin calls it by, is played. Then
// it is played by its full name.
func (c *pluginCase) shadow(full, bare string) bool {
	for i, p := range c.mocks {
		if p.dir == full || p.dir == bare {
			c.mocks[i].name, c.mocks[i].alone = full, false
			return true
		}
	}
	return false
}

// checkMocks finds which servers of the plugins are played, and what cannot be.
func (c *pluginCase) checkMocks(r *pluginReader) {
	if r.claude() && (len(c.mocks) > 0 || r.Servers) {
		for _, dir := range c.plugins {
			if d := r.loadJSON(c, path.Join(dir, manifest)); d != nil {
				name := d.Root.Get("name").Text()
				if name == "" {
					name = path.Base(r.path(dir))
				}
				r.readPluginServers(c, dir, name, d)
				c.take(d)
			}
		}
	}
	for i, p := range c.mocks {
		var dirs []string
		for _, dir := range p.dirs {
			dirs = append(dirs, r.path(dir))
		}
		server, _, err := mockdir.Read(p.name, dirs)
		if problems, ok := errors.AsType[doc.Problems](err); ok {
			for _, problem := range problems {
				c.problem(problem.Position, problem.Path, problem.Reason)
			}
			continue
		}
		if err != nil {
			c.problem(r.place(p.dirs[0]), mocksDir, err.Error())
			continue
		}
		for tool := range server.Tools {
			c.mocks[i].tools = append(c.mocks[i].tools, mcpname.Of(p.name, tool))
		}
		slices.Sort(c.mocks[i].tools)
	}
	alone := slices.ContainsFunc(c.mocks, func(p played) bool { return p.alone })
	for i, g := range c.graders {
		if g.mockCalls && len(c.mocks) == 0 {
			c.problem(g.at, g.Name, "mock_calls: no server is mocked for the case: write mocks/SERVER/TOOL.md")
		}
		c.graders[i].skill = g.skill || g.mockCalls && !alone
	}
}

// mockedTools are the tools that are played: agents may call them unasked.
func (c *pluginCase) mockedTools() []string {
	var all []string
	for _, p := range c.mocks {
		all = append(all, p.tools...)
	}
	return all
}

// mockPairs are the servers that are played, as a playbook lists them.
func (r *pluginReader) mockPairs(mocks []played, alone bool) []doc.Pairs {
	var all []doc.Pairs
	for _, p := range mocks {
		if p.alone == alone {
			all = append(all, doc.Pairs{{Key: "name", Value: p.name}, {Key: "mock", Value: r.outs(p.dirs)}})
		}
	}
	return all
}
