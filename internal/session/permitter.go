package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// permitter answers an agent's permission requests as the playbook says.
type permitter struct {
	permissions playbook.Permissions
	// tool names the tool of a call, and the paths it touches, relative to the workspace. The error is that of a call of
	// which nothing is known.
	tool func(acp.ToolCallUpdate) (name string, paths []string, err error)
	// broken is called for each request that the playbook treats as an error.
	broken func(error)
}

// errPermission ends a unit whose agent asked for what the playbook expects it never to ask for.
var errPermission = errors.New("the agent asked for permission where the playbook says `error`")

// decide is the client's permission handler.
func (p permitter) decide(_ context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	name, paths, err := p.tool(r.ToolCall)
	if err != nil {
		p.broken(err)
		return acp.Cancelled(), nil
	}
	d := p.permissions.Decide(name, paths)
	if d == playbook.DecideError {
		p.broken(fmt.Errorf("%w: %s", errPermission, name))
		return acp.Cancelled(), nil
	}
	if id, ok := choose(r.Options, kindsFor(d)); ok {
		return acp.Selected(id), nil
	}
	return acp.Cancelled(), nil
}

// kindsFor returns the kinds of options that carry a decision out, the narrowest first: what is allowed once leaves the
// next question to the policy.
func kindsFor(d playbook.Decision) []acp.PermissionOptionKind {
	if d == playbook.DecideReject {
		return []acp.PermissionOptionKind{acp.RejectOnce, acp.RejectAlways}
	}
	return []acp.PermissionOptionKind{acp.AllowOnce, acp.AllowAlways}
}

func choose(options []acp.PermissionOption, kinds []acp.PermissionOptionKind) (id string, ok bool) {
	for _, k := range kinds {
		for _, o := range options {
			if o.Kind == k {
				return o.OptionID, true
			}
		}
	}
	return "", false
}

// toolOf names the tool of a call and the files that it touches, relative to the workspace.
func (s *live) toolOf(u acp.ToolCallUpdate) (name string, files []string, err error) {
	call, ok := s.observer.Call(u.ToolCallID) // the observer has seen the request before the permitter is asked
	if !ok {
		return "", nil, cmp.Or(s.observer.Err(), fmt.Errorf("the agent asks for permission for %q, a call that nothing is known of", u.ToolCallID))
	}
	for _, l := range call.Locations {
		files = append(files, filepath.ToSlash(relative(s.Dirs.Workspace, l.Path)))
	}
	return call.Name, files, nil
}

// relative returns path relative to root if it is below it, else as it is.
func relative(root, path string) string {
	if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
