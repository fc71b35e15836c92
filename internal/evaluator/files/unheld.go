package files

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// unheld returns why nothing is ever seen at a path of the workspace, so that it would always seem absent; nil if
// something may be there. Files has what is expected of others, and n is a node of the playbook.
func unheld(n *doc.Node, p string, files []file) error {
	var root *doc.Node
	if d := n.Document(); d != nil {
		root = d.Root
	}
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if i := slices.IndexFunc(files, func(f file) bool { return f.path == dir && len(f.checks) > 0 }); i >= 0 {
			return fmt.Errorf("nothing can be below %s, of whose text something is expected", dir)
		}
		if isPrepared(n, root, dir) {
			return fmt.Errorf("nothing can be below %s, which is a file of the workspace", dir)
		}
	}
	return leftOut(root, p)
}

// isPrepared reports whether a path is a regular file of the directory that is copied.
func isPrepared(n, root *doc.Node, p string) bool {
	from := root.Get("workspace").Get("from").Text()
	if plan.Dir(n) == "" || from == "" || root.Get("workspace").Get("exclude") != nil {
		return false
	}
	if from = filepath.FromSlash(from); !filepath.IsAbs(from) {
		from = filepath.Join(plan.Dir(n), from)
	}
	info, err := os.Lstat(filepath.Join(from, filepath.FromSlash(p)))
	return err == nil && info.Mode().IsRegular()
}

// leftOut returns an error for a path that is left out of what the agent changed, unless something may be prepared
// there.
func leftOut(root *doc.Node, p string) error {
	exclude := texts(root.Get("cassette").Get("exclude"))
	x, err := workspace.NewExclusion(texts(root.Get("workspace").Get("include")), exclude)
	if err != nil {
		return nil // reported
	}
	glob := x.LeavesOut(p)
	switch {
	case glob == "":
		return nil
	case slices.ContainsFunc(exclude, func(e string) bool { return path.Clean(e) == glob }):
		return fmt.Errorf("nothing is ever seen there: `cassette.exclude` leaves out %s", glob)
	case mayPrepare(root, glob):
		return nil
	}
	return fmt.Errorf("nothing is ever seen there: recordings leave out %s; name it under `workspace.include`", glob)
}

// mayPrepare reports whether something other than the agent may write into a directory: a case's files, a step, or the
// steps that write the workflow style and the git repository.
func mayPrepare(root *doc.Node, dir string) bool {
	w := root.Get("workspace")
	if dir == ".git" && (w.Get("repository").Value() == true || w.Get("git").Value() == true) {
		return true
	}
	for _, list := range []string{"cases", "evalcases"} {
		for _, c := range root.Get(list).Items() {
			for _, f := range c.Get("files").Entries() {
				if strings.HasPrefix(path.Clean(f.Key), dir+"/") {
					return true
				}
			}
		}
	}
	for _, job := range root.Get("workflow").Get("jobs").Entries() {
		for _, step := range job.Value.Get("steps").Items() {
			if step.Get("run") != nil || dir == ".llman" {
				return true
			}
		}
	}
	return false
}

func texts(list *doc.Node) []string {
	var all []string
	for _, item := range list.Items() {
		all = append(all, item.Text())
	}
	return all
}
