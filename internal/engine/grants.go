package engine

import (
	"fmt"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// grants are the playbook's permissions for an agent that cannot ask while it works.
type grants struct {
	// unasked says that it is to ask for nothing.
	unasked bool
	// allow are the tools that it may use without asking, deny those that it does not have.
	allow, deny []string
}

// toolName matches names of tools. Anything else in an agent's list of tools would mean something of its own there.
var toolName = lazyregexp.New(`^[A-Za-z0-9_-]+$`)

// grant returns the permissions of the unit's agent. What cannot be told to it is an error: it would be no permission, and
// no limit.
func (a *attempt) grant(h *agent.Headless, confined bool) (g grants, err error) {
	p, mode := a.pb.Permissions, a.unit.Variant.Agent.Mode
	watched := p.Default == playbook.DecideError // some question is to end the unit
	var ruled []string
	for i, r := range p.Rules {
		at := fmt.Sprintf("%s: permissions.rules[%d]", a.pb.File, i)
		switch {
		case r.Path != "":
			return g, advised{
				fmt.Errorf("%s: agents of kind %s are told which tools they may use, not on which files", at, a.unit.Variant.Agent.Kind),
				"name a tool alone, or confine the agent",
			}
		case !toolName.MatchString(r.Tool):
			return g, fmt.Errorf("%s: %q cannot be the name of a tool of agents of kind %s", at, r.Tool, a.unit.Variant.Agent.Kind)
		case slices.Contains(ruled, r.Tool): // the first rule decides
			continue
		}
		ruled = append(ruled, r.Tool)
		switch r.Decide {
		case playbook.DecideAllow:
			g.allow = append(g.allow, r.Tool)
		case playbook.DecideReject:
			g.deny = append(g.deny, r.Tool)
		case playbook.DecideError:
			watched = true
		}
	}
	if mode == h.UnaskedMode && (!confined || watched) {
		return g, fmt.Errorf("%s: variants.%s.agent.mode: in the mode %s the agent asks for nothing, which is for a sandbox and for permissions without `error`",
			a.pb.File, a.unit.Variant.ID, mode)
	}
	if p.Decide("", nil) != playbook.DecideAllow {
		return g, nil
	}
	if g.unasked = confined && !watched && mode == ""; g.unasked {
		g.allow = nil
		return g, nil
	}
	for _, tool := range slices.Concat(h.Asking, serverTools(a.pb.MCP)) {
		if !slices.Contains(ruled, tool) {
			g.allow = append(g.allow, tool)
		}
	}
	return g, nil
}

// serverTools are the names that stand for all tools of each server.
func serverTools(servers []playbook.MCPServer) []string {
	names := make([]string, len(servers))
	for i, s := range servers {
		names[i] = "mcp__" + s.Name
	}
	return names
}
