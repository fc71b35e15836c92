package plan

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// Workspace is the directory that a unit's agent works in.
type Workspace struct {
	// From is the directory that is copied, relative to the playbook's directory.
	From string `yaml:"from" min:"1" doc:"Directory to copy, relative to the playbook's directory."`

	// Empty begins with no files, and not with a copy of the project.
	Empty bool `yaml:"empty" doc:"Whether to copy nothing, not the project either; default: false."`

	// Commit names a commit of the repository that the playbook is in: what it has is copied, not what is on disk.
	Commit string `yaml:"commit" min:"1" doc:"Commit of the repository to copy from, in place of the working tree."`

	// Include has globs of files that are copied although they are skipped by default: .git, node_modules, secret-like
	// files and so on. ** matches any number of directories.
	Include []string `yaml:"include" doc:"Globs of files to copy although they would be skipped."`

	// Exclude has globs of further files that are not copied.
	Exclude []string `yaml:"exclude" doc:"Globs of further files not to copy."`

	// Git says which files are copied if the directory is in a git repository.
	Git Git `yaml:"git" default:"unignored" doc:"Which files of a git repository to copy."`

	// Repository makes the workspace a git repository with one commit, of the files that the agent starts with.
	Repository bool `yaml:"repository" doc:"Whether the workspace becomes a git repository; default: false."`

	// Position is where the workspace's key stands.
	Position doc.Position `yaml:",position"`
}

func (w *Workspace) decode(n *doc.Node) {
	n.Decode(w)
	switch git := n.Get("git"); {
	case git.Kind() == doc.Bool && n.Get("repository") != nil:
		git.Errorf("", "says the same as `repository`; remove it")
	case git.Kind() == doc.Bool:
		w.Repository = git.Text() == "true"
	case git != nil && w.Commit != "":
		git.Errorf("", "of a `commit` all that it has is copied; remove one of the two")
	}
	for _, key := range []string{"from", "commit", "include", "exclude"} {
		if n.Get(key) != nil && w.Empty {
			n.Errorf(key, "nothing is copied where `empty` is true: remove one of the two")
		}
	}
	checkGlobs(n.Get("include"))
	checkGlobs(n.Get("exclude"))
}

// Named reports whether it says what is copied, be it nothing.
func (w Workspace) Named() bool { return w.From != "" || w.Commit != "" || w.Empty }

func checkGlobs(list *doc.Node) {
	for _, item := range list.Items() {
		if item.Kind() == doc.String && !doublestar.ValidatePattern(item.Text()) {
			item.Errorf("", "malformed glob %q", item.Text())
		}
	}
}

// Git says which files of a git repository are copied: one of gitWords.
type Git string

// The words for which files are copied.
const (
	GitUnignored Git = "unignored" // but those that git ignores and does not track
	GitTracked   Git = "tracked"
	GitAll       Git = "all"
)

var gitWords = []string{string(GitUnignored), string(GitTracked), string(GitAll)}

// decode also takes true and false, which [Workspace.Repository] has been called.
func (g *Git) decode(n *doc.Node) {
	if n.Kind() == doc.Bool {
		*g = GitUnignored
	} else if n.Decode((*string)(g)) && !slices.Contains(gitWords, string(*g)) {
		n.Errorf("", "must be one of %s, not %q%s", strings.Join(gitWords, ", "), *g,
			doc.DidYouMean(string(*g), gitWords))
	}
}

func refineGit(s *doc.Schema) {
	of := *s
	*s = doc.Schema{AnyOf: []*doc.Schema{{Enum: gitWords}, {Type: "boolean"}}}
	s.Description, s.Default = of.Description, of.Default
}
