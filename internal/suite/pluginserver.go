package suite

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/environ"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/mcpname"
)

const (
	serversFile = ".mcp.json"
	// pluginRoot stands for the plugin's directory in what starts its servers.
	pluginRoot = "${CLAUDE_PLUGIN_ROOT}"
)

var (
	notTool = lazyregexp.New(`[^a-zA-Z0-9_-]`)
	envName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// server is an MCP server of a plugin, as a playbook has it.
type server struct {
	name    string // as Claude Code calls it in the names of tools
	command []string
}

// serverKeys are those of a server that a playbook can start.
type serverKeys struct {
	Type    string            `yaml:"type"`
	Command string            `yaml:"command,required" min:"1"`
	Args    []string          `yaml:"args"`
	Env     map[string]string `yaml:"env"`
}

// unknownParts are keys of a manifest that name what agents of other kinds are not given.
var unknownParts = []string{
	"agents", "channels", "hooks", "lspServers", "monitors", "outputStyles", "settings", "themes", "userConfig",
	"workflows",
}

// takeApart makes the plugins what agents are given that are not told of plugins, and the prompt what it stands for.
func (c *pluginCase) takeApart(r *pluginReader) {
	for _, dir := range c.plugins {
		entries, err := r.list(dir)
		if err != nil {
			c.cannot("plugins", "%v", err)
		}
		for _, e := range entries {
			switch e.Name() {
			case "agents", "bin", "hooks", "monitors", "output-styles", "settings.json", "themes",
				"workflows", ".lsp.json":
				c.cannot("plugins", "agents of the kind %s get the skills, commands and MCP servers of a plugin, not "+
					"its %s", r.Agent, e.Name())
			}
		}
		for _, name := range r.skillsOf(dir) {
			c.skills = append(c.skills, path.Join(dir, "skills", name))
		}
		r.readParts(c, dir)
	}
	has := func(dir string) bool { return r.exists(path.Join(dir, commandsDir)) }
	if call := commandCall.FindStringSubmatch(c.execution.Prompt); call != nil && !c.command {
		c.cannot("prompt", "/%s is no command of a plugin", call[1])
	} else if !c.command && slices.ContainsFunc(c.plugins, has) && !c.ignored(r, "commands") {
		c.cannot("commands", "a model of Claude Code may call the commands of the plugin by itself, other agents get "+
			"those that prompts begin with: accept it with --ignore commands")
	}
	c.plugins = nil
	if c.unserved && !c.arms() {
		c.cannot("plugins", "nothing of the plugin is left for agents of the kind %s without its MCP servers, which "+
			"have no mocks: read what they run, then say --allow-real-servers", r.Agent)
	}
	c.checkServed()
}

// arms reports whether there are two: with something, and without it. A session that is continued has the plugin in
// what was said before.
func (c *pluginCase) arms() bool {
	if c.history != "" {
		return false
	}
	return len(c.plugins)+len(c.skills)+len(c.servers) > 0 || c.command || slices.ContainsFunc(c.mocks, played.shadows)
}

// readParts reads what the manifest of a plugin in dir says that agents of other kinds than Claude Code get, and the
// plugin's MCP servers.
func (r *pluginReader) readParts(c *pluginCase, dir string) {
	d := r.loadJSON(c, path.Join(dir, manifest))
	if d == nil {
		return
	}
	for _, key := range unknownParts {
		if n := d.Root.Get(key); n != nil {
			n.Errorf("", "agents of the kind %s get the skills, commands and MCP servers of a plugin, not its %s",
				r.Agent, key)
		}
	}
	for _, key := range []string{"skills", "commands"} {
		n := d.Root.Get(key)
		for _, item := range listOf(n) {
			if path.Clean(item.Text()) != key {
				item.Errorf("", "agents of the kind %s get the %s below %s/ alone", r.Agent, key, key)
			}
		}
	}
	name := cmp.Or(d.Root.Get("name").Text(), path.Base(r.path(dir)))
	c.command = c.command || r.callCommand(c, dir, name)
	r.readPluginServers(c, dir, name, d)
	c.take(d)
}

// readPluginServers reads the MCP servers of a plugin in dir of this name, whose manifest is d.
func (r *pluginReader) readPluginServers(c *pluginCase, dir, name string, d *doc.Document) {
	prefix := "plugin_" + notTool.ReplaceAllString(name, "_") + "_"
	if file := path.Join(dir, serversFile); r.exists(file) {
		r.readServers(c, dir, prefix, r.loadJSON(c, file))
	}
	for _, item := range listOf(d.Root.Get("mcpServers")) {
		if item.Kind() == doc.Map {
			r.addServers(c, dir, prefix, item)
			continue
		}
		file := path.Join(dir, item.Text())
		if item.Kind() != doc.String || path.Ext(file) != ".json" || !r.has(file) {
			item.Errorf("", "must be servers or a file of the plugin that lists them in JSON")
		} else if file != path.Join(dir, serversFile) {
			r.readServers(c, dir, prefix, r.loadJSON(c, file))
		}
	}
}

// listOf returns the elements of a list, or what stands there alone.
func listOf(n *doc.Node) []*doc.Node {
	if n == nil || n.Kind() == doc.List {
		return n.Items()
	}
	return []*doc.Node{n}
}

// loadJSON reads a file; nil: it cannot be read, which is a problem.
func (r *pluginReader) loadJSON(c *pluginCase, file string) *doc.Document {
	data, err := r.tree.ReadRegular(r.path(file), doc.MaxSize)
	if err != nil {
		c.problem(r.place(file), "", err.Error())
		return nil
	}
	d := doc.ParseJSON(r.path(file), data)
	if d.Err() != nil {
		c.take(d)
		return nil
	}
	return d
}

// readServers reads a file with servers, nil: none, by their names or as its mcpServers.
func (r *pluginReader) readServers(c *pluginCase, dir, prefix string, d *doc.Document) {
	if d == nil {
		return
	}
	n := d.Root
	if inner := n.Get("mcpServers"); inner != nil {
		n = inner
	}
	r.addServers(c, dir, prefix, n)
	c.take(d)
}

// addServers reads servers by their names. A later one takes the place of one of the same name.
func (r *pluginReader) addServers(c *pluginCase, dir, prefix string, n *doc.Node) {
	if n.Kind() != doc.Map {
		n.Errorf("", "must be a mapping from names to servers")
	}
	for _, e := range n.Entries() {
		s := server{name: prefix + notTool.ReplaceAllString(e.Key, "_")}
		if c.shadow(s.name, notTool.ReplaceAllString(e.Key, "_")) {
			continue
		}
		if !r.Servers {
			c.unserved = true
			r.Notes = append(r.Notes, Problem{
				At: e.Position, Case: c.Name, Key: e.Key,
				What: "the server has no mock, and is not started, as `claude plugin eval` does not: read what it " +
					"runs, then say --allow-real-servers",
			})
			continue
		}
		var ok bool
		if s.command, ok = r.serverCommand(dir, e.Value); !ok {
			continue
		}
		c.servers = slices.DeleteFunc(c.servers, func(other server) bool { return other.name == s.name })
		c.servers = append(c.servers, s)
	}
}

// serverCommand returns the words that start a server of the plugin in dir.
func (r *pluginReader) serverCommand(dir string, n *doc.Node) (words []string, ok bool) {
	if kind := cmp.Or(n.Get("type").Text(), "stdio"); kind != "stdio" || n.Get("url") != nil {
		n.Errorf("", "agents of the kind %s are given servers on stdin and stdout, not by a URL", r.Agent)
		return nil, false
	}
	var k serverKeys
	if !n.Decode(&k) {
		return nil, false
	}
	ok = true
	refuse := func(at, what string, args ...any) {
		ok = false
		n.Errorf(at, what, args...)
	}
	word := func(at, text string) string {
		file, below := strings.CutPrefix(text, pluginRoot+"/")
		switch {
		case below && !strings.Contains(file, "${"):
			file = path.Join(dir, file)
			data, err := r.tree.ReadRegular(r.path(file), maxProgram)
			switch {
			case !r.has(file):
				refuse(at, "%q is no file of the plugin", text)
			case err == nil && strings.Contains(string(data), "CLAUDE_PLUGIN_ROOT"):
				refuse(at, "%s looks for files by CLAUDE_PLUGIN_ROOT, which agents of the kind %s do not set", file,
					r.Agent)
			}
			if file = r.out(file); !strings.Contains(file, "/") {
				file = "./" + file
			}
			return file
		case strings.Contains(text, "${"):
			refuse(at, "%q: only a word that is a file of the plugin, %s/FILE, can be given to agents of the kind %s",
				text, pluginRoot, r.Agent)
		}
		return text
	}
	for _, name := range slices.Sorted(maps.Keys(k.Env)) {
		value := k.Env[name]
		switch {
		case !envName.MatchString(name) || strings.Contains(value, "${"):
			refuse("env", "%s: only variables with a value of their own can be given to agents of the kind %s", name,
				r.Agent)
		case environ.IsCredential(name, value):
			refuse("env", "%s looks like a credential, which would be in recordings", name)
		}
		words = append(words, name+"="+value)
	}
	if len(words) > 0 {
		words = append([]string{"env"}, words...)
	}
	if strings.Contains(k.Command, "/") && !strings.HasPrefix(k.Command, "/") && !strings.HasPrefix(k.Command, "$") {
		refuse("command", "%q is relative to where the agent works: write %s/FILE", k.Command, pluginRoot)
	}
	words = append(words, word("command", k.Command))
	for _, arg := range k.Args {
		words = append(words, word("args", arg))
	}
	return words, ok
}

// maxProgram is how many bytes of a server's file are looked at.
const maxProgram = 4 << 20

// served reports whether a tool is one of an MCP server, which all kinds of agents can have.
func served(tool string) bool { return strings.HasPrefix(tool, mcpname.Prefix) }

// checkServed finds graders of tools that no server has which the case's plugins start.
func (c *pluginCase) checkServed() {
	for _, g := range c.graders {
		for _, tool := range g.served {
			has := func(name string) bool { return strings.HasPrefix(tool, mcpname.InServer(name)) }
			if !slices.ContainsFunc(c.servers, func(s server) bool { return has(s.name) }) &&
				!slices.ContainsFunc(c.mocks, func(p played) bool { return has(p.name) }) {
				what := "tool: no MCP server of the plugin has the tool " + tool
				if c.unserved {
					what += ": a server that has no mock needs --allow-real-servers"
				}
				c.problem(g.at, g.Name, what)
			}
		}
	}
}

// serverPairs are the servers as a variant lists them.
func serverPairs(servers []server) []doc.Pairs {
	var all []doc.Pairs
	for _, s := range servers {
		all = append(all, doc.Pairs{{Key: "name", Value: s.name}, {Key: "command", Value: s.command}})
	}
	return all
}
