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
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/observe"
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
		s.interruptTurn(fmt.Errorf("%w: %s", errPermission, name))
		return acp.Cancelled(), nil
	}
	return choose(r.Options, d), nil
}

// choose returns the option that carries a decision out, the narrowest that there is: what is allowed once leaves the
// next question to the policy.
func choose(options []acp.PermissionOption, d playbook.Decision) acp.RequestPermissionResponse {
	kinds := []acp.PermissionOptionKind{acp.AllowOnce, acp.AllowAlways}
	if d == playbook.DecideReject {
		kinds = []acp.PermissionOptionKind{acp.RejectOnce, acp.RejectAlways}
	}
	for _, k := range kinds {
		if i := slices.IndexFunc(options, func(o acp.PermissionOption) bool { return o.Kind == k }); i >= 0 {
			return acp.Selected(options[i].OptionID)
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
	return fault.Advise(
		fmt.Errorf("%s: variants.%s.agent: `permissions` forbid something, and in the mode %q, "+
			"which it needs to work here, this agent asks for nothing",
			s.Unit.Variant.Position, s.Unit.Variant.ID, mode),
		fmt.Sprintf("name another mode under variants.%s.agent.mode (offered: %s) or another agent, "+
			"or accept it with `permissions: {allow_unasked: true}`",
			s.Unit.Variant.ID, strings.Join(offered, ", ")))
}

// CheckPermissions returns an error if the agent did unasked what the playbook's permissions forbid. An agent that does
// not ask leaves them nothing to decide, so nothing is known of how it would have worked under them. Agents read and
// search without asking: that counts only if a rule names the tool.
func (s *Session) CheckPermissions() error {
	if !s.config.Playbook.Forbids() {
		return nil
	}
	run := s.run()
	asked := make(map[string]bool)
	for _, e := range run.Events {
		if question, ok := e.Body.(trajectory.Permission); ok {
			asked[question.ID] = true
		}
	}
	var unasked []string
	for _, c := range run.ToolCalls() {
		if asked[c.ID] || !ran(c) || !s.forbids(c) {
			continue
		}
		unasked = append(unasked, excerpt.Line(describe(c), maxSubject))
	}
	if len(unasked) == 0 {
		return nil
	}
	v := s.config.Unit.Variant
	text := fmt.Sprintf("%s: variants.%s.agent: %s that `permissions` forbid, without asking", v.Position, v.ID,
		made(len(unasked)))
	if modes := s.Identity().Agent.Modes; len(modes) > 0 {
		text += fmt.Sprintf(", in the mode %q", modes[len(modes)-1])
	}
	const shown = 5
	if more := len(unasked) - shown; more > 1 {
		unasked = append(unasked[:shown], fmt.Sprintf("and %d more", more))
	}
	profile, _ := agent.Lookup(v.Agent.Kind)
	next := "name a mode in which the agent asks"
	if modes := profile.AskingModes; len(modes) > 0 {
		next = fmt.Sprintf("write `mode: %s`", modes[0])
	}
	return fault.Advise(fmt.Errorf("%s:\n  %s", text, strings.Join(unasked, "\n  ")),
		fmt.Sprintf("%s under variants.%s.agent, or accept such calls with `permissions: {allow_unasked: true}`",
			next, v.ID))
}

// maxSubject bounds what an error shows of a call, in characters.
const maxSubject = 120

// made says how many calls an agent made.
func made(n int) string {
	if n == 1 {
		return "the agent made a call"
	}
	return fmt.Sprintf("the agent made %d calls", n)
}

// describe names a call by its tool and its title.
func describe(c trajectory.ToolCall) string {
	if strings.HasPrefix(c.Title, c.Name) {
		return cmp.Or(c.Title, c.Kind)
	}
	return c.Name + " " + c.Title
}

// ran reports whether a call has done something: one that failed has, if it was a command that exited.
func ran(c trajectory.ToolCall) bool {
	switch c.Status {
	case trajectory.Cancelled:
		return false
	case trajectory.Failed:
		return c.ExitCode != nil
	}
	return true
}

// forbids reports whether the playbook's permissions forbid a call that was made unasked.
func (s *Session) forbids(c trajectory.ToolCall) bool {
	named := slices.ContainsFunc(s.config.Playbook.Permissions.Rules, func(r playbook.PermissionRule) bool {
		return r.Tool == c.Name && r.Tool != ""
	})
	if !named && !changes(c) {
		return false
	}
	var files []string
	for _, l := range c.Locations {
		files = append(files, recordedFile(l.Path))
	}
	for _, d := range c.Diffs {
		files = append(files, recordedFile(d.Path))
	}
	return s.config.Playbook.Decide(c.Name, files) != playbook.DecideAllow
}

// changes reports whether a call may change something, by what it does: agents run commands that only read without
// asking, and say of some that change something that they search.
func changes(c trajectory.ToolCall) bool {
	if c.Kind == "" || c.Kind == "other" {
		c.Kind = observe.Kind(c.Name)
	}
	return slices.ContainsFunc(c.Does(), func(deed string) bool {
		switch deed {
		case "read", "search":
			return false
		case "fetch":
			return c.Kind == "execute"
		}
		return true
	})
}

// recordedFile returns a path of a recording as rules have it: relative to the workspace, or absolute.
func recordedFile(path string) string {
	if rel, ok := strings.CutPrefix(path, "$WORKSPACE/"); ok {
		return rel
	}
	if strings.HasPrefix(path, "$") { // the agent's home or temporary directory
		return "/" + path
	}
	return path
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
		return g, fmt.Errorf("%s: variants.%s.agent.mode: in the mode %s the agent asks for nothing, "+
			"which is for a sandbox and for permissions without `error`",
			c.Playbook.File, c.Unit.Variant.ID, chosen.Mode)
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
		names[i] = "mcp__" + s.Name
	}
	return names
}
