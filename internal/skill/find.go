package skill

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/git"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// evalsFile is the file with cases, and triggerFiles are those with queries, in a directory evalsDir, or one in that.
const (
	evalsDir  = "evals"
	evalsFile = "evals.json"
)

var triggerFiles = []string{
	"eval_queries.json", "routing.json", "trigger-eval.json", "trigger-evals.json", "trigger-queries.json",
	"trigger_eval.json", "trigger_evals.json", "trigger_queries.json", "triggers.json",
}

const (
	maxDirs    = 20_000 // that are looked into
	maxEntries = 10_000 // of a directory
	maxDepth   = 64     // of directories below each other
)

// Place is a directory with evals.
type Place struct {
	Root string // the top of the git repository, or the directory that was searched
	Dir  string // below Root, with slashes
}

// Find returns the places with evals in a directory: in its directory evals and those in that or, if there are none, in
// all such directories below it. All looks below it in any case. Others are directories evals that were looked into and
// have no file that is read. Symbolic links are not followed.
func Find(dir string, all bool) (found []Place, others []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	top := git.Top(dir)
	if top == "" {
		top = dir
	}
	base, err := filepath.Rel(top, dir)
	if err != nil {
		return nil, nil, err
	}
	f := finder{root: root}
	look := func(p string) error {
		dirs, files, err := f.list(p)
		if err != nil {
			return err
		}
		before := len(found)
		if slices.ContainsFunc(files, hasEvals) {
			found = append(found, Place{top, path.Join(filepath.ToSlash(base), p)})
		}
		for _, d := range dirs {
			_, files, err := f.list(path.Join(p, d))
			if err != nil {
				return err
			}
			if slices.ContainsFunc(files, hasEvals) {
				found = append(found, Place{top, path.Join(filepath.ToSlash(base), p, d)})
			}
		}
		if len(found) == before && len(dirs)+len(files) > 0 {
			others = append(others, filepath.Join(dir, filepath.FromSlash(p)))
		}
		return nil
	}
	if filepath.Base(dir) == evalsDir {
		err = look(".")
	} else if info, statErr := root.Lstat(evalsDir); statErr == nil && info.IsDir() {
		err = look(evalsDir)
	}
	if err != nil || len(found) > 0 && !all {
		return found, others, err
	}
	found, others = nil, nil
	err = f.walk(".", 0, func(p string, _ []string) (skip bool, err error) {
		if p != "." && path.Base(p) != evalsDir || p == "." && filepath.Base(dir) != evalsDir {
			return false, nil
		}
		return true, look(p)
	})
	return found, others, err
}

func hasEvals(name string) bool { return name == evalsFile || slices.Contains(triggerFiles, name) }

// finder looks into directories, only so many.
type finder struct {
	root *os.Root
	dirs int
}

// list returns the names of the directories and the regular files in a directory, sorted.
func (f *finder) list(dir string) (dirs, files []string, err error) {
	if f.dirs++; f.dirs > maxDirs {
		return nil, nil, fmt.Errorf("more than %d directories: name the skill's", maxDirs)
	}
	entries, err := disk.List(f.root, filepath.FromSlash(dir), maxEntries+1)
	if err != nil && !errors.Is(err, io.EOF) { // the directory is empty
		return nil, nil, err
	}
	if len(entries) > maxEntries {
		return nil, nil, fmt.Errorf("%s has more than %d entries", dir, maxEntries)
	}
	for _, e := range entries {
		switch {
		case e.IsDir():
			dirs = append(dirs, e.Name())
		case e.Type().IsRegular() || e.Type()&fs.ModeSymlink != 0:
			files = append(files, e.Name())
		}
	}
	slices.Sort(dirs)
	slices.Sort(files)
	return dirs, files, nil
}

// walk calls visit with a directory and each one below it, but those of git and of installed packages, and the names of
// its files. Visit may have it skip what is in the directory.
func (f *finder) walk(dir string, depth int, visit func(dir string, files []string) (skip bool, err error)) error {
	dirs, files, err := f.list(dir)
	if err != nil {
		return err
	}
	if skip, err := visit(dir, files); skip || err != nil {
		return err
	}
	for _, d := range dirs {
		if d == ".git" || d == "node_modules" {
			continue
		}
		if depth == maxDepth {
			return fmt.Errorf("directories are more than %d levels deep: name the skill's", maxDepth)
		}
		if err := f.walk(path.Join(dir, d), depth+1, visit); err != nil {
			return err
		}
	}
	return nil
}

// Load reads the evals of a place, and finds the skill that they are about. An error means that nothing could be read;
// what is wrong with the evals are findings.
func Load(ctx context.Context, p Place) (*Suite, error) {
	s := &Suite{Root: p.Root}
	r := reader{
		Suite: s, dir: p.Dir, base: path.Dir(p.Dir), seen: make(map[string]doc.Position), keys: make(map[[2]string]int),
	}
	if path.Base(p.Dir) != evalsDir {
		r.base, r.nested = path.Dir(path.Dir(p.Dir)), true
	}
	r.evals()
	r.loadTriggers()
	if err := r.findSkill(); err != nil {
		return nil, err
	}
	r.triggers()
	if err := r.rivals(); err != nil {
		return nil, err
	}
	if err := r.otherFiles(); err != nil {
		return nil, err
	}
	if s.Dir != "" {
		var err error
		s.Installed, err = Install(ctx, workspace.Source{Dir: s.File(s.Dir)}, plan.SkillFile)
		if ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			s.add(Error, "skill", doc.Position{}, s.Dir, "the skill cannot be installed: "+err.Error(), "")
		}
	}
	if err := r.inputs(); err != nil {
		return nil, err
	}
	r.named()
	s.answers()
	s.idle()
	s.sort()
	return s, nil
}

// candidate is a file SKILL.md.
type candidate struct {
	dir, name string
}

// findSkill finds the skill that the evals are about: beside the directory evals; else the one whose name the evals
// give; else the only one.
func (r *reader) findSkill() error {
	want := r.name
	if want == "" && r.nested {
		want = path.Base(r.dir)
	}
	beside := path.Join(r.base, plan.SkillFile)
	if _, err := os.Lstat(r.File(beside)); err == nil {
		if !r.nested || want == "" || r.frontMatter(beside, false) == want {
			r.choose(r.base, want)
			return nil
		}
	}
	var all []candidate
	for _, dir := range slices.Compact([]string{r.base, "."}) {
		var err error
		if all, err = r.skills(dir); err != nil {
			return err
		}
		named := slices.DeleteFunc(slices.Clone(all), func(c candidate) bool { return c.name != want })
		if len(named) > 0 {
			all = named
			break
		}
		if len(all) == 1 {
			break
		}
	}
	// Agents' own directories have copies of what stands elsewhere.
	open := slices.DeleteFunc(slices.Clone(all), func(c candidate) bool { return strings.HasPrefix(c.dir, ".") })
	if len(open) == 1 {
		all = open
	}
	switch {
	case len(all) == 1:
		r.choose(all[0].dir, want)
	case len(all) == 0:
		r.add(Error, "skill", doc.Position{}, r.dir, "there is no "+plan.SkillFile+": what is to be evaluated?", "")
	default:
		var dirs []string
		for _, c := range all[:min(len(all), 10)] {
			dirs = append(dirs, c.dir)
		}
		next := "write the name of one as skill_name"
		what := fmt.Sprintf("%d skills, and none is named by skill_name: %s", len(all), strings.Join(dirs, ", "))
		if want != "" {
			what, next = fmt.Sprintf("it is not clear which of %d skills is %q: %s", len(all), want,
				strings.Join(dirs, ", ")), "write the name that its "+plan.SkillFile+" has as skill_name"
		}
		r.add(Error, "skill", doc.Position{}, r.dir, what, next)
	}
	return nil
}

// choose takes the skill in a directory, which the evals call want, empty: they do not say.
func (r *reader) choose(dir, want string) {
	r.Dir = dir
	name := r.frontMatter(path.Join(dir, plan.SkillFile), true)
	if name != "" && want != "" && name != want && !r.nested {
		what := fmt.Sprintf("skill_name is %q, and the skill calls itself %q", want, name)
		r.add(Note, "name", r.nameAt, "", what, "")
	}
	for _, n := range []string{name, want, filepath.Base(r.File(dir))} {
		if r.Name == "" {
			r.Name = n
		}
	}
}

// skills returns the skills in a directory and below it, those in directories evals apart.
func (r *reader) skills(dir string) ([]candidate, error) {
	root, err := os.OpenRoot(r.File(dir))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var all []candidate
	err = (&finder{root: root}).walk(".", 0, func(p string, files []string) (skip bool, err error) {
		if path.Base(p) == evalsDir {
			return true, nil
		}
		if slices.Contains(files, plan.SkillFile) {
			at := path.Join(dir, p)
			all = append(all, candidate{at, r.frontMatter(path.Join(at, plan.SkillFile), false)})
		}
		return false, nil
	})
	return all, err
}

// frontMatter returns the name at the head of a SKILL.md, empty if it has none: see [plan.NameAtHead]. With tell, what
// is wrong with it is a finding.
func (r *reader) frontMatter(file string, tell bool) (name string) {
	found := func(level Level, line int, what string) {
		if tell {
			r.add(level, "front-matter", doc.Position{File: r.File(file), Line: line, Column: 1}, file, what,
				"begin it with the lines `---`, `name: ...`, `description: ...` and `---`")
		}
	}
	data, err := disk.Tree(r.Root).ReadRegular(r.File(file), doc.MaxSize)
	if err != nil {
		found(Error, 1, err.Error())
		return ""
	}
	name, problem := plan.NameAtHead(r.File(file), data)
	if problem != nil {
		found(Note, problem.Line, problem.Reason)
	}
	return name
}

// otherFiles finds files that look like evals and are not read.
func (r *reader) otherFiles() error {
	root, err := os.OpenRoot(r.File(r.dir))
	if err != nil {
		return err
	}
	defer root.Close()
	_, files, err := (&finder{root: root}).list(".")
	for _, name := range files {
		if !strings.HasSuffix(name, ".json") || hasEvals(name) {
			continue
		}
		file := path.Join(r.dir, name)
		data, err := disk.Tree(r.Root).ReadRegular(r.File(file), doc.MaxSize)
		if err != nil {
			continue
		}
		list := doc.ParseJSON(file, data).Root
		for _, key := range []string{"evals", "cases", "test_cases", "queries"} {
			if v := list.Get(key); v.Kind() == doc.List {
				list = v
			}
		}
		n := 0
		for _, item := range list.Items() {
			if item.Get("prompt").Kind() == doc.String || item.Get("query").Kind() == doc.String {
				n++
			}
		}
		if n > 0 {
			what := fmt.Sprintf("it looks like %s of evals, and is not read", excerpt.Count(n, "prompt"))
			r.add(Note, "not-read", doc.Position{File: r.File(file), Line: 1, Column: 1}, file, what,
				"only "+evalsFile+" and files of triggers are")
		}
	}
	return err
}
