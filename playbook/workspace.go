package playbook

import (
	"github.com/bmatcuk/doublestar/v4"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// Workspace is the directory that a unit's agent works in.
type Workspace struct {
	// From is the directory that is copied, relative to the playbook's directory.
	From string `yaml:"from" min:"1" doc:"Directory to copy, relative to the playbook's directory."`

	// Include has globs of files that are copied although they are skipped by default: .git, node_modules, secret-like
	// files and so on. ** matches any number of directories.
	Include []string `yaml:"include" doc:"Globs of files to copy although they would be skipped."`

	// Exclude has globs of further files that are not copied.
	Exclude []string `yaml:"exclude" doc:"Globs of further files not to copy."`

	// Git makes the workspace a git repository with one commit, of the files that the agent starts with.
	Git bool `yaml:"git" doc:"Whether to make the workspace a git repository with a first commit; default: false."`

	// Position is where the workspace's key stands.
	Position Position `yaml:",position"`
}

func (w *Workspace) decode(n *doc.Node) {
	n.Decode(w)
	checkGlobs(n.Get("include"))
	checkGlobs(n.Get("exclude"))
}

func checkGlobs(list *doc.Node) {
	for _, item := range list.Items() {
		if item.Kind() == doc.String && !doublestar.ValidatePattern(item.Text()) {
			item.Errorf("", "malformed glob %q", item.Text())
		}
	}
}
