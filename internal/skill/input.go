package skill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// maxInputFiles is how many files a directory among the inputs of a case may have.
const maxInputFiles = 10_000

// inputs finds the files of all cases.
func (r *reader) inputs() error {
	for i := range r.Cases {
		c := &r.Cases[i]
		before := len(r.Findings)
		list := r.files[i]
		items := list.Items()
		switch list.Kind() {
		case doc.List, doc.Null, doc.Invalid:
		default:
			items = []*doc.Node{list}
		}
		for _, n := range items {
			in, ok, err := r.input(n, c.ID)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			if j := slices.IndexFunc(c.Inputs, func(other Input) bool { return other.To == in.To }); j < 0 {
				c.Inputs = append(c.Inputs, in)
			} else if c.Inputs[j].From != in.From {
				r.add(Error, "duplicate", n.Position(), c.ID, fmt.Sprintf("%s and %s would lie at the same path, %s",
					c.Inputs[j].From, in.From, in.To), "")
			}
			r.ofSkill(in, n, c.ID)
		}
		c.Broken = c.Broken || r.failed(before)
	}
	return nil
}

// input finds one file of a case.
func (r *reader) input(n *doc.Node, where string) (in Input, ok bool, err error) {
	name := n
	if n.Kind() == doc.Map {
		r.unknown("file of a case", n, "path")
		if name = n.Get("path"); name == nil {
			r.bad(n, where, "a file must be a path, or a mapping with one")
			return in, false, nil
		}
	}
	said := strings.TrimSpace(r.text(name, where))
	if said == "" {
		if name.Kind() == doc.String || name.Kind() == doc.Null {
			r.bad(name, where, "the path is empty")
		}
		return in, false, nil
	}
	clean := path.Clean(strings.ReplaceAll(said, `\`, "/"))
	outside := func(why string) (Input, bool, error) {
		r.add(Error, "outside-file", name.Position(), where, fmt.Sprintf("%q %s", said, why),
			"put the file into "+r.dir+"/files")
		return in, false, nil
	}
	if path.IsAbs(clean) || strings.HasPrefix(clean, "~") || filepath.VolumeName(clean) != "" {
		return outside("is on one machine only: a path must be below the repository")
	}
	var looked []string
	for _, base := range r.bases() {
		p := path.Join(base, clean)
		if p == ".." || strings.HasPrefix(p, "../") || slices.Contains(looked, p) {
			continue
		}
		looked = append(looked, p)
		real, err := disk.Tree(r.Root).Follow(r.File(p))
		if err != nil {
			return outside("cannot be reached: " + err.Error())
		}
		info, err := os.Lstat(real)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return outside("cannot be read: " + err.Error())
		case !info.IsDir() && !info.Mode().IsRegular():
			return outside("is neither a file nor a directory")
		}
		in = Input{From: p, To: inside(clean), Dir: info.IsDir(), Files: []string{"."}}
		size := info.Size()
		if in.Dir {
			in.Files, size, err = r.below(p)
		}
		if err == nil && size > workspace.MaxSeeds {
			err = &disk.SizeError{Size: size, Limit: workspace.MaxSeeds}
		}
		if err != nil {
			return outside("cannot be laid into a workspace: " + err.Error())
		}
		if in.Dir {
			if len(in.Files) == 0 {
				what := fmt.Sprintf("%q is a directory without files", said)
				r.add(Note, "empty-directory", name.Position(), where, what, "")
			}
		}
		return in, true, nil
	}
	if looked == nil {
		return outside("leads out of the repository")
	}
	r.add(Error, "missing-file", name.Position(), where, fmt.Sprintf("%q is not there: looked for %s", said,
		strings.Join(looked, ", ")), "add the file, or remove it from the case")
	return in, false, nil
}

// bases are the directories below the root that paths are relative to, in this order.
func (r *reader) bases() []string {
	bases := []string{r.base, r.dir, path.Join(r.dir, "files"), "."}
	if r.Dir != "" {
		bases = slices.Insert(bases, 0, r.Dir)
	}
	if r.nested {
		bases = slices.Insert(bases, len(bases)-1, path.Join(r.base, evalsDir), path.Join(r.base, evalsDir, "files"))
	}
	return bases
}

// inside returns a path without the ".." that it begins with.
func inside(p string) string {
	for strings.HasPrefix(p, "../") {
		p = p[len("../"):]
	}
	if p == ".." {
		p = "."
	}
	return p
}

// below returns the files of a directory, by their paths in it, and how many bytes they have. Links in it are followed
// nowhere.
func (r *reader) below(dir string) (all []string, size int64, err error) {
	root, err := os.OpenRoot(r.File(dir))
	if err != nil {
		return nil, 0, err
	}
	defer root.Close()
	err = (&finder{root: root}).walk(".", 0, func(d string, files []string) (skip bool, err error) {
		for _, f := range files {
			info, err := root.Lstat(filepath.FromSlash(path.Join(d, f)))
			if err != nil {
				return true, err
			}
			all, size = append(all, path.Join(d, f)), size+info.Size()
		}
		if len(all) > maxInputFiles {
			return true, fmt.Errorf("more than %d files", maxInputFiles)
		}
		return false, nil
	})
	return all, size, err
}

// ofSkill finds files of a case that are the skill: the agent without the skill would get it, too.
func (r *reader) ofSkill(in Input, n *doc.Node, where string) {
	if r.Dir == "" {
		return
	}
	part := ""
	for _, f := range in.Files {
		from := path.Join(in.From, f)
		rel, below := strings.CutPrefix(from, r.Dir+"/")
		if r.Dir == "." {
			rel, below = from, true
		}
		_, installed := r.Installed.Files[rel]
		installed = installed && below
		switch {
		case installed && r.isPart(rel), (!in.Dir || path.Base(f) == plan.SkillFile) && r.isSkill(from):
			what := from + " is of the skill: who works without the skill gets it, too, and no difference can be told"
			r.add(Warning, "skill-as-file", n.Position(), where, what, "give the case another file")
			return
		case installed:
			part = from
		}
	}
	if part != "" {
		what := part + " is installed with the skill, and who works without the skill gets it, too"
		r.add(Note, "skill-as-file", n.Position(), where, what, "")
	}
}

// isPart reports whether an installed file is what agents are to read or run: the SKILL.md, what that names, and what
// is in the directories that skills have for this.
func (r *reader) isPart(file string) bool {
	text := string(r.Installed.Files[plan.SkillFile].Data)
	return file == plan.SkillFile || strings.HasPrefix(file, "references/") || strings.HasPrefix(file, "scripts/") ||
		strings.Contains(text, file)
}

// isSkill reports whether a file holds what the SKILL.md of the skill does.
func (r *reader) isSkill(file string) bool {
	data, err := disk.Tree(r.Root).ReadRegular(r.File(file), doc.MaxSize)
	return err == nil && string(data) == string(r.Installed.Files[plan.SkillFile].Data)
}
