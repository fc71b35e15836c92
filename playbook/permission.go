package playbook

import (
	"github.com/bmatcuk/doublestar/v4"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// Decision is the answer to an agent that asks for permission.
type Decision string

const (
	// DecideAllow lets the agent do it, this once.
	DecideAllow Decision = "allow"
	// DecideReject forbids it; the agent may go on in another way.
	DecideReject Decision = "reject"
	// DecideError ends the unit as an error: the playbook expects that the agent never asks.
	DecideError Decision = "error"
)

// Permissions answer an agent's requests for permission. The first rule that matches decides.
type Permissions struct {
	Default Decision         `yaml:"default" enum:"allow,reject,error" default:"allow" doc:"The answer when no rule matches."`
	Rules   []PermissionRule `yaml:"rules" doc:"The first that matches decides."`
}

// PermissionRule decides on some requests. It has a tool, a path or both.
type PermissionRule struct {
	// Tool is the tool's name, e.g. "Bash"; empty: any tool.
	Tool string `yaml:"tool" min:"1" doc:"Name of the tool, e.g. Bash; default: any."`

	// Path is a glob of files relative to the workspace, with ** for any number of directories; empty: any files, and
	// none. A rule that allows matches if all files that the request names match; others if one does.
	Path string `yaml:"path" min:"1" doc:"Glob of files, relative to the workspace, e.g. internal/**; default: any."`

	Decide Decision `yaml:"decide,required" enum:"allow,reject,error" doc:"The answer."`
}

// Decide returns the answer to a request of a tool that touches files, given relative to the workspace, with slashes.
func (p Permissions) Decide(tool string, files []string) Decision {
	for _, r := range p.Rules {
		if r.matches(tool, files) {
			return r.Decide
		}
	}
	if p.Default == "" {
		return DecideAllow
	}
	return p.Default
}

func (r PermissionRule) matches(tool string, files []string) bool {
	if r.Tool != "" && r.Tool != tool {
		return false
	}
	if r.Path == "" {
		return true
	}
	matched := 0
	for _, f := range files {
		if doublestar.MatchUnvalidated(r.Path, f) {
			matched++
		}
	}
	if r.Decide == DecideAllow {
		return matched > 0 && matched == len(files)
	}
	return matched > 0
}

func (r *PermissionRule) decode(n *doc.Node) {
	if !n.Decode(r) {
		return
	}
	if r.Tool == "" && r.Path == "" {
		n.Errorf("", "a rule needs `tool` or `path`; for everything there is `default`")
	}
	if r.Path != "" && !doublestar.ValidatePattern(r.Path) {
		n.Errorf("path", "malformed glob %q", r.Path)
	}
}
