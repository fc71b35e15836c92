package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/mcpname"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// errPermission ends a unit whose agent asked for what the playbook expects it never to ask for.
var errPermission = errors.New("the agent asked for permission, which `permissions` of the playbook treat as an error")

// decide answers the agent's permission request as the playbook says.
func (s *live) decide(_ context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	name, paths, err := s.toolOf(r.ToolCall)
	if err != nil {
		s.interruptTurn(err)
		return acp.Cancelled(), nil
	}
	d := s.Playbook.Decide(name, paths)
	if d == playbook.DecideError {
		s.interruptTurn(fmt.Errorf("%w: %s", errPermission, excerpt.Line(s.Secrets.String(name), maxSubject)))
		return acp.Cancelled(), nil
	}
	return choose(r.Options, d), nil
}

// choose returns the option that carries a decision out, the narrowest that there is: what is allowed once leaves the
// next question to the policy. An id that also stands for another decision carries out none.
func choose(options []acp.PermissionOption, d playbook.Decision) acp.RequestPermissionResponse {
	kinds := []acp.PermissionOptionKind{acp.AllowOnce, acp.AllowAlways}
	if d == playbook.DecideReject {
		kinds = []acp.PermissionOptionKind{acp.RejectOnce, acp.RejectAlways}
	}
	for _, k := range kinds {
		for _, o := range options {
			opposite := func(other acp.PermissionOption) bool {
				return other.OptionID == o.OptionID && !slices.Contains(kinds, other.Kind)
			}
			if o.Kind == k && !slices.ContainsFunc(options, opposite) {
				return acp.Selected(o.OptionID)
			}
		}
	}
	return acp.Cancelled()
}

// allowsUnasked returns an error if the playbook forbids anything to an agent that is to work in a mode in which it
// asks for nothing.
func (s *live) allowsUnasked(mode string) error {
	if !s.Playbook.Forbids() {
		return nil
	}
	_, offered := s.session.Mode()
	v := s.Unit.Variant
	return fault.Advise(
		fmt.Errorf("%s: %s: `permissions` forbid something, and in the mode %q, "+
			"which it needs to work here, this agent asks for nothing", v.Position, v.AgentAt(), mode),
		fmt.Sprintf("name another mode under %s.mode (offered: %s) or another agent, or accept it with %s",
			v.AgentAt(), strings.Join(offered, ", "), v.AllowsUnasked()))
}

// toolOf names the tool of a call and the files that it touches, relative to the workspace. The error is that of a call
// of which nothing is known.
func (s *live) toolOf(u acp.ToolCallUpdate) (name string, files []string, err error) {
	call, ok := s.observer.Call(u.ToolCallID) // the observer sees the request before it is to be answered
	if !ok {
		unknown := fmt.Errorf("the agent asked for permission for the unknown tool call %q", u.ToolCallID)
		return "", nil, cmp.Or(s.observer.Err(), unknown)
	}
	for _, l := range call.Locations {
		files = append(files, filepath.ToSlash(relative(s.Dirs.Workspace, relative(s.Dirs.seen(), l.Path))))
	}
	return call.Name, files, nil
}

// addMode adds a mode that the agent has changed to.
func addMode(modes []string, mode string) []string {
	if mode == "" || len(modes) > 0 && modes[len(modes)-1] == mode {
		return modes
	}
	return append(modes, mode)
}

// relative returns path relative to root if it is below it, else as it is.
func relative(root, path string) string {
	if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// grants are the playbook's permissions for an agent that cannot ask while it works.
type grants struct {
	// unasked says that it is to ask for nothing.
	unasked bool
	// allow are the tools that it may use without asking, deny those that it does not have.
	allow, deny []string
}

// toolName matches names of tools. Anything else in an agent's list of tools would mean something of its own there.
var toolName = lazyregexp.New(`^[A-Za-z0-9_-]+$`)

// grant returns the permissions of the unit's agent. What cannot be told to it is an error: it would be no permission,
// and no limit.
func (c *Config) grant() (g grants, err error) {
	p, chosen, h := c.Playbook.Permissions, c.Unit.Variant.Agent, c.Profile.Headless
	watched := p.Default == playbook.DecideError // some question is to end the unit
	var ruled []string
	for i, r := range p.Rules {
		at := fmt.Sprintf("%s: permissions.rules[%d]", c.Playbook.File, i)
		switch {
		case r.Path != "":
			return g, fault.Advise(
				fmt.Errorf("%s: agents of kind %s take rules for tools, not for paths", at,
					chosen.Kind),
				"name a tool alone, or confine the agent",
			)
		case !toolName.MatchString(r.Tool):
			return g, fmt.Errorf("%s: %q cannot be the name of a tool of agents of kind %s", at, r.Tool, chosen.Kind)
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
	if chosen.Mode == h.UnaskedMode && (!c.Confined || watched) {
		return g, fmt.Errorf("%s: %s.mode: in the mode %s the agent asks for nothing, "+
			"which is for a sandbox and for permissions without `error`",
			c.Playbook.File, c.Unit.Variant.AgentAt(), chosen.Mode)
	}
	if c.Playbook.Decide("", nil) != playbook.DecideAllow {
		return g, nil
	}
	if g.unasked = c.Confined && !watched && chosen.Mode == ""; g.unasked {
		g.allow = nil
		return g, nil
	}
	for _, tool := range slices.Concat(h.Asking, serverTools(c.Playbook.MCP)) {
		if !slices.Contains(ruled, tool) {
			g.allow = append(g.allow, tool)
		}
	}
	return g, nil
}

// serverTools are the names that stand for all tools of each server.
func serverTools(servers []plan.MCPServer) []string {
	names := make([]string, len(servers))
	for i, s := range servers {
		names[i] = mcpname.Server(s.Name)
	}
	return names
}
