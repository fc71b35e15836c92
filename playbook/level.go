package playbook

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// Level is what a cassette replays.
type Level string

const (
	// LevelRun replays the whole session: no agent runs. It is the default.
	LevelRun Level = "run"
	// LevelClient runs the agent, and answers what it asks of its client: files, terminals, permissions.
	LevelClient Level = "client"
	// LevelMCP runs the agent, and answers what it asks of the playbook's MCP servers.
	LevelMCP Level = "mcp"
	// LevelClientMCP does both.
	LevelClientMCP Level = "client+mcp"
)

// Client reports whether what the agent asks of its client is replayed.
func (l Level) Client() bool { return l == LevelClient || l == LevelClientMCP }

// MCP reports whether what the agent asks of MCP servers is replayed.
func (l Level) MCP() bool { return l == LevelMCP || l == LevelClientMCP }

// RunsAgent reports whether the agent runs in replay, too.
func (l Level) RunsAgent() bool { return l.Client() || l.MCP() }

// clientTools are the names of what an agent can ask of its client.
var clientTools = []string{"fs/read_text_file", "fs/write_text_file", "session/request_permission", "terminal/create"}

// mcpPrefix begins the names of what an agent can ask of MCP servers: mcp__SERVER__TOOL.
const mcpPrefix = "mcp__"

// checkTool returns what is wrong with a tool's name at the level, nil if nothing is. At [LevelRun] a tool has the name
// that the agent gives it.
func (l Level) checkTool(name string) error {
	if name == "" {
		return errors.New("a tool needs a name")
	}
	if !l.RunsAgent() {
		if slices.Contains(clientTools, name) {
			return fmt.Errorf("%s is asked of the client: with `level: run` name the agent's own tool, or use `level: client`", name)
		}
		return nil
	}
	var known []string
	if l.Client() {
		known = clientTools
	}
	if l.MCP() {
		known = append(slices.Clip(known), mcpPrefix+"SERVER__TOOL")
	}
	if slices.Contains(known, name) || l.MCP() && strings.HasPrefix(name, mcpPrefix) {
		return nil
	}
	return fmt.Errorf("with `level: %s` there is no tool %q, but %s%s", l, name, strings.Join(known, ", "), doc.DidYouMean(name, known))
}

// checkTools checks the names of tools, which depend on the level.
func (c *Cassette) checkTools(n *doc.Node) {
	for i, o := range c.Overrides {
		if o.Tool == "" {
			continue // reported
		}
		if err := c.Level.checkTool(o.Tool); err != nil {
			n.Errorf(fmt.Sprintf("overrides[%d].tool", i), "%v", err)
		}
	}
	if n.Get("allow_unused") != nil && !c.Level.RunsAgent() {
		n.Errorf("allow_unused", "means nothing with `level: run`: the whole session is replayed")
		return
	}
	for i, name := range c.AllowUnused {
		if strings.Contains(name, "*") {
			continue
		}
		if err := c.Level.checkTool(name); err != nil {
			n.Errorf(fmt.Sprintf("allow_unused[%d]", i), "%v", err)
		}
	}
}
