package playbook

import (
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// MCPServer is a tool server that the agent is told to start, over stdin and stdout.
type MCPServer struct {
	Name string `yaml:"name,required" pattern:"^[a-zA-Z][a-zA-Z0-9_-]*$" doc:"Unique in the playbook; agents make it part of the names of tools."`

	// Command is the program with its arguments; it has at least one element.
	Command []string `yaml:"command,required" min:"1" doc:"The program and its arguments."`

	Position Position `yaml:",position"`
}

func (m *MCPServer) decode(n *doc.Node) {
	if n.Decode(m) && strings.TrimSpace(m.Command[0]) == "" {
		n.Errorf("command[0]", "must not be empty")
	}
}

// mcp checks that no two servers have the same name, and that there is one to replay if the playbook wants that.
func (c checker) mcp() {
	if c.p.Cassette.Level.MCP() && len(c.p.MCP) == 0 {
		c.root.Errorf("cassette.level", "%s replays MCP servers, and the playbook lists none under `mcp`", c.p.Cassette.Level)
	}
	seen := make(map[string]Position)
	for i, m := range c.p.MCP {
		if first, duplicate := seen[m.Name]; duplicate && m.Name != "" {
			c.root.Errorf(fmt.Sprintf("mcp[%d].name", i), "duplicate server name %q, first on line %d", m.Name, first.Line)
			continue
		}
		seen[m.Name] = m.Position
	}
}
