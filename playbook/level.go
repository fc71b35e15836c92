package playbook

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/answer"
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

// mcpPrefix begins the names of what an agent can ask of MCP servers: mcp__SERVER__TOOL.
const mcpPrefix = "mcp__"

// checkTool returns what is wrong with a tool's name at the playbook's level, nil if nothing is. At [LevelRun] a tool has
// the name that the agent gives it.
func (p *Playbook) checkTool(name string) error {
	level := p.Cassette.Level
	if name == "" {
		return errors.New("a tool needs a name")
	}
	if !level.RunsAgent() {
		if slices.Contains(answer.Tools, name) {
			return fmt.Errorf("%s is asked of the client: with `level: run` name the agent's own tool, or use `level: client`", name)
		}
		return nil
	}
	var known []string
	if level.Client() {
		known = append(known, answer.Tools...)
	}
	if level.MCP() {
		for _, s := range p.MCP {
			server := mcpPrefix + s.Name + "__"
			if tool, ok := strings.CutPrefix(name, server); ok && tool != "" {
				return nil
			}
			known = append(known, server+"TOOL")
		}
	}
	if slices.Contains(known, name) {
		return nil
	}
	return fmt.Errorf("with `level: %s` there is no tool %q, but %s%s", level, name, strings.Join(known, ", "), doc.DidYouMean(name, known))
}

// checkCassette checks what a cassette's keys say of the rest of the playbook.
func (p *Playbook) checkCassette(n *doc.Node) {
	for i, o := range p.Cassette.Overrides {
		if o.Tool == "" {
			continue // reported
		}
		if key, err := p.checkOverride(o); err != nil {
			n.Errorf(fmt.Sprintf("overrides[%d].%s", i, key), "%v", err)
		}
	}
	if n.Get("allow_unused") != nil && !p.Cassette.Level.RunsAgent() {
		n.Errorf("allow_unused", "means nothing with `level: run`: the whole session is replayed")
		return
	}
	for i, name := range p.Cassette.AllowUnused {
		if strings.Contains(name, "*") {
			continue
		}
		if err := p.checkTool(name); err != nil {
			n.Errorf(fmt.Sprintf("allow_unused[%d]", i), "%v", err)
		}
	}
}
