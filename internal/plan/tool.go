package plan

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/mcpname"
	"github.com/sdd-eval/sdd-eval/internal/toolname"
	"github.com/sdd-eval/sdd-eval/internal/wildcard"
)

// CheckTool reports at n a name of tools, in which * stands for any characters, that no agent of the playbook can have
// given to a tool: where a wrong name would go unnoticed, as in a list of what must not be called. A name that is only
// unknown is noted. The names in also are known, too. It returns false if it reported an error.
func CheckTool(n *doc.Node, meant string, also ...string) bool {
	return checkTool(n, meant, func(t *tools) { t.known = append(t.known, also...) })
}

// CheckOneTool is [CheckTool] for a name of an override of how calls are compared, which cannot be a pattern.
func CheckOneTool(n *doc.Node, meant string) bool {
	return checkTool(n, meant, func(t *tools) { t.single = true })
}

func checkTool(n *doc.Node, meant string, change func(*tools)) bool {
	err := toolname.Check(meant)
	note := ""
	if d := n.Document(); err == nil && d != nil {
		t := toolsAt(d.Root)
		change(&t)
		note, err = t.check(meant)
	}
	if err != nil {
		n.Errorf("", "%v", err)
	} else if note != "" {
		n.Notef("%s", note)
	}
	return err == nil
}

// tools are those of the agents of a playbook.
type tools struct {
	open    bool     // an agent may have any
	known   []string // the agents' own
	servers []string // of the playbook
	single  bool     // a pattern is refused
}

func toolsOf(kinds, servers []string) tools {
	t := tools{open: len(kinds) == 0, servers: servers}
	for _, kind := range kinds {
		profile, _ := agent.Lookup(kind)
		t.open = t.open || profile.Tools == nil
		t.known = append(t.known, profile.Tools...)
	}
	return t
}

// tools returns the tools of a decoded playbook.
func (p *Playbook) tools() tools {
	var kinds, servers []string
	for _, v := range p.Variants {
		kinds = append(kinds, v.Agent.Kind)
	}
	for _, s := range p.servers() {
		servers = append(servers, s.Name)
	}
	return toolsOf(kinds, servers)
}

// toolsAt returns the tools of a playbook, or of a [Run], that may not have been decoded yet.
func toolsAt(root *doc.Node) tools {
	var kinds, servers []string
	if kind := root.Get("agent").Get("kind").Text(); kind != "" {
		kinds = append(kinds, kind)
	}
	for _, v := range root.Get("variants").Entries() {
		if kind := v.Value.Get("agent").Get("kind").Text(); kind != "" {
			kinds = append(kinds, kind)
		}
		for _, s := range v.Value.Get("mcp").Items() {
			servers = append(servers, s.Get("name").Text())
		}
	}
	for _, s := range root.Get("mcp").Items() {
		servers = append(servers, s.Get("name").Text())
	}
	return toolsOf(kinds, servers)
}

// check returns why no tool has the name that is meant, or a note that none is known to have it.
func (t tools) check(meant string) (note string, err error) {
	if t.open {
		return "", nil
	}
	if rest, ok := strings.CutPrefix(meant, mcpname.Prefix); ok {
		return t.checkServer(rest)
	}
	note = fmt.Sprintf("no agent of this playbook is known to have a tool %q", meant)
	if slices.Contains(t.known, meant) {
		return "", nil
	}
	if server, tool := t.servedAs(meant); server != "" {
		return "", fmt.Errorf("a tool of the MCP server %q is called %s, whatever the agent calls it: write %q",
			server, mcpname.Of(server, "TOOL"), mcpname.Of(server, tool))
	}
	if toolname.IsPattern(meant) {
		matches := func(name string) bool { return wildcard.Match(meant, name) }
		folded := func(name string) bool { return wildcard.Match(strings.ToLower(meant), strings.ToLower(name)) }
		switch i := slices.IndexFunc(t.known, folded); {
		case slices.ContainsFunc(t.known, matches),
			slices.ContainsFunc(t.servers, func(s string) bool { return matches(mcpname.InServer(s)) }):
			return "", nil
		case i >= 0:
			return fmt.Sprintf("%s: in another case it would match %q", note, t.known[i]), nil
		}
		return note, nil
	}
	if near := toolname.Near(meant, t.known); near != "" {
		advice := fmt.Sprintf("write %q", meant+"*")
		if t.single {
			advice = fmt.Sprintf("expect its calls by name, too: {any: [..., {tool: %s}]}", meant)
		}
		return "", fmt.Errorf("no tool is known as %q, did you mean %q? If the agent has such a tool, %s", meant, near,
			advice)
	}
	return note, nil
}

// checkServer checks what follows mcp__.
func (t tools) checkServer(rest string) (note string, err error) {
	ofServer := func(s string) bool { return strings.HasPrefix(mcpname.Prefix+rest, mcpname.InServer(s)) }
	server, _, _ := strings.Cut(rest, "__")
	if toolname.IsPattern(server) || slices.ContainsFunc(t.servers, ofServer) {
		return "", nil
	}
	if slices.Contains(t.servers, rest) {
		return "", fmt.Errorf("%s is no tool, but the beginning of the names of all tools of the server: write %q",
			mcpname.Server(rest), mcpname.Of(rest, "*"))
	}
	if near := toolname.Near(server, t.servers); near != "" {
		return "", fmt.Errorf("the playbook has no MCP server %q, did you mean %q?", server, near)
	}
	if server, tool := t.servedAs(mcpname.Prefix + rest); server != "" {
		return "", fmt.Errorf("a tool of the MCP server %q is called %s: write %q", server, mcpname.Of(server, "TOOL"),
			mcpname.Of(server, tool))
	}
	return fmt.Sprintf("the playbook has no MCP server %q under `mcp`: only an agent with a server of its own calls "+
		"%s", server, mcpname.Prefix+rest), nil
}

// servedAs returns the MCP server and the tool of it that an agent calls by the name in its own way, or that was meant,
// such as stock/count, mcp_stock_count or MCP__stok__*.
func (t tools) servedAs(name string) (server, tool string) {
	words := func(s string) []string {
		return strings.FieldsFunc(s, func(r rune) bool { return !unicode.In(r, unicode.L, unicode.Nd) && r != '*' })
	}
	parts := words(name)
	prefixed := len(parts) > 0 && strings.EqualFold(parts[0], "mcp")
	if prefixed {
		parts = parts[1:]
	}
	for _, s := range t.servers {
		n := len(words(s))
		if n == 0 || len(parts) < n {
			continue
		}
		given, tool := strings.Join(parts[:n], "_"), strings.Join(parts[n:], "_")
		if tool == "" {
			given, tool = strings.TrimSuffix(given, "*"), "*"
		}
		switch own := strings.Join(words(s), "_"); {
		case !prefixed && (len(parts) == n || given != own):
		case strings.EqualFold(given, own), toolname.Near(given, []string{own}) != "":
			return s, tool
		}
	}
	return "", ""
}
