package workspace

import (
	"io/fs"
	"path"
	"unicode/utf8"

	"github.com/sdd-eval/sdd-eval/internal/git"
)

// planner decides which paths of a source its template copies. It does so before anything is copied, since the source
// may contain the workspace.
type planner struct {
	*Template
	tree interface {
		list(dir string) ([]fs.DirEntry, error) // sorted by name
		readlink(p string) (string, error)
	}
	source *tree           // the directory; nil: it is a commit
	dirs   map[string]bool // directories in fixed
}

// plan decides about the entries of dir.
func (t *planner) plan(dir string, in within) error {
	entries, err := t.tree.list(dir)
	if err != nil {
		return err
	}
	t.bare[dir] = len(entries) == 0
	if t.repository != nil {
		var hidden string
		if in, hidden, err = t.repository.enter(t, dir, entries, in); err != nil {
			return err
		}
		if hidden != "" && !t.rules.asks(dir) {
			t.note(dir, hidden)
			return nil
		}
	}
	for _, d := range entries {
		p := join(dir, d.Name())
		if t.rules.excluded(p) {
			continue
		}
		if !utf8.ValidString(p) {
			return &nameError{Path: p}
		}
		if d.IsDir() {
			err = t.planDir(p, in)
		} else {
			err = t.planFile(p, d.Type(), in)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *planner) planDir(p string, in within) error {
	hidden, asked := "not copied by default", t.rules.opens(p, true)
	if !SkippedDir(path.Base(p)) {
		var err error
		if hidden, in.ignored, err = t.hides(p, true, in); err != nil {
			return err
		}
		asked = t.rules.asks(p)
	}
	if hidden != "" && !asked {
		t.note(p, hidden)
		return nil
	}
	in.partial = in.partial || hidden != ""
	if !in.partial || t.rules.covers(p) {
		t.addDir(p)
	} else if !t.rules.opens(p, false) {
		return nil
	}
	return t.plan(p, in)
}

func (t *planner) planFile(p string, mode fs.FileMode, in within) error {
	reason := ""
	switch {
	case in.partial && !t.rules.covers(p):
		return nil
	case path.Base(p) == ".git" && !t.rules.names(p):
		reason = "file .git that points to another directory"
	case IsSecret(p) && !t.rules.names(p):
		reason = "looks like a secret by its name"
	case t.committed != nil && t.committed.files[p].Kind == git.Submodule:
		reason = "submodule, whose files are not in the commit"
	case mode&fs.ModeSymlink == 0 && !mode.IsRegular():
		reason = errNotRegular.Error()
	case !t.rules.asks(p):
		var err error
		if reason, _, err = t.hides(p, false, in); err != nil {
			return err
		}
	}
	switch {
	case reason != "":
		t.note(p, reason)
	case mode&fs.ModeSymlink != 0:
		return t.planLink(p)
	default:
		t.addDir(path.Dir(p))
		t.files = append(t.files, sourceFile{Entry: Entry{Path: p}})
	}
	return nil
}

// hides is [repository.hides] where that has a say.
func (t *planner) hides(p string, isDir bool, in within) (reason string, ignored bool, err error) {
	if t.repository == nil || in.partial {
		return "", false, nil
	}
	return t.repository.hides(p, isDir, in)
}

func (t *planner) planLink(p string) error {
	target, err := t.tree.readlink(p)
	if err != nil {
		return err
	}
	if !leadsInside(p, target) {
		t.note(p, "symbolic link that may lead outside: "+target)
		return nil
	}
	t.addDir(path.Dir(p))
	t.fixed = append(t.fixed, Entry{Path: p, Kind: Symlink, Target: target})
	return nil
}

// addDir adds a directory and those above it, once.
func (t *planner) addDir(p string) {
	if !t.dirs[p] {
		t.dirs[p] = true
		t.addDir(path.Dir(p))
		t.fixed = append(t.fixed, Entry{Path: p, Kind: Dir})
	}
}

func (t *planner) note(p, reason string) { t.notes = append(t.notes, Note{Path: p, Reason: reason}) }
