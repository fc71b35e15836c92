package observe

import (
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/mcpname"
)

// mcpForms are the forms in which agents write the name of a tool of an MCP server: what stands before the server, and
// what stands between it and the tool.
var mcpForms = []struct {
	before, between string
	// bare says that a name of this form may just as well be that of a tool of the agent's own.
	bare bool
}{
	{before: mcpname.Prefix, between: "__"}, // Claude Code, Qwen
	{before: "mcp.", between: "."},          // Codex, by @agentclientprotocol/codex-acp
	{before: "mcp_", between: "_"},          // Gemini
	{before: "Tool: ", between: "/"},        // Codex, by @zed-industries/codex-acp
	{between: "__", bare: true},             // Goose
	{between: "_", bare: true},              // OpenCode
	{between: "-", bare: true},              // Copilot
}

// toolName matches the names that servers can give to tools.
var toolName = lazyregexp.New(`^[A-Za-z0-9_./-]+$`)

// canonical returns the one name and the input of a tool of an MCP server that the agent was given; ok is false for any
// other tool. Name is what the agent calls the tool, input what it sent.
func (n namer) canonical(name, kind string, input any) (canonical string, own any, ok bool) {
	if len(n.servers) == 0 {
		return "", nil, false
	}
	fields, _ := input.(map[string]any)
	if server, tool, ok := n.wrapped(fields); ok {
		return mcpname.Of(server, tool), fields["arguments"], true
	}
	// Qwen calls tools that it has not loaded yet by one of its own.
	if inner, _ := fields["name"].(string); name == "tool_call" && inner != "" {
		if server, tool, ok := n.split(inner, false); ok {
			return mcpname.Of(server, tool), fields["arguments"], true
		}
	}
	bare := kind == "other" || kind == "" || n.agent == copilot // to which a tool that changes nothing reads
	server, tool, ok := n.split(name, bare && kinds[name] == "")
	if !ok {
		return "", nil, false
	}
	return mcpname.Of(server, tool), input, true
}

// wrapped returns the server and the tool that an input names, beside the tool's arguments, as Codex writes it.
func (n namer) wrapped(input map[string]any) (server, tool string, ok bool) {
	for field := range input {
		if field != "server" && field != "tool" && field != "arguments" {
			return "", "", false
		}
	}
	name, _ := input["server"].(string)
	tool, _ = input["tool"].(string)
	for _, s := range n.servers {
		if rest, ok := cutServer(name, s); ok && rest == "" && toolName.MatchString(tool) {
			return s, tool, true
		}
	}
	return "", "", false
}

// split returns the server and the tool that a name consists of. Of several servers that fit, the one with the longest
// name is meant.
func (n namer) split(name string, bare bool) (server, tool string, ok bool) {
	for _, form := range mcpForms {
		rest, ok := strings.CutPrefix(name, form.before)
		if !ok || form.bare && !bare {
			continue
		}
		for _, s := range n.servers {
			after, ok := cutServer(rest, s)
			if !ok {
				continue
			}
			if t, ok := strings.CutPrefix(after, form.between); ok && toolName.MatchString(t) && len(s) > len(server) {
				server, tool = s, t
			}
		}
		if server != "" {
			return server, tool, true
		}
	}
	return "", "", false
}

// cutServer returns name without the server's name at its beginning. Agents write "_" for some other characters.
func cutServer(name, server string) (rest string, ok bool) {
	if len(name) < len(server) {
		return "", false
	}
	for i := range len(server) {
		if name[i] != server[i] && !(name[i] == '_' && strings.IndexByte("-. ", server[i]) >= 0) {
			return "", false
		}
	}
	return name[len(server):], true
}

// copilot is what Copilot calls itself.
const copilot = "Copilot"

// names returns what is known of the agent for the names of its tools.
func (o *Observer) names() namer { return namer{o.agent, o.Servers} }

// starter returns the call that started a sub-agent of Copilot, which has made a call and does not say who started it:
// the first call for a sub-agent that is open and has none yet. If there is none, it returns the sub-agent's own id.
func (o *Observer) starter(agent string, made *call) string {
	if known, ok := o.agents[agent]; ok {
		return known
	}
	started := agent
	taken := make(map[string]bool)
	for _, call := range o.agents {
		taken[call] = true
	}
	for _, c := range o.open() {
		if c != made && c.start.Name == "task" && !taken[c.id] {
			started = c.id
			break
		}
	}
	o.agents[agent] = started
	return started
}
