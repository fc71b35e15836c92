package workspace

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// skippedDirs are not copied unless Source.Include names them, and their contents are not kept as changes: they are
// built from other files or belong to tools.
var skippedDirs = []string{
	".git", ".llman", "target", "node_modules", ".venv", "dist", "build",
	"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".tox", ".gradle", ".next",
}

// SkippedDir reports whether a directory, by its name, is left out by default.
func SkippedDir(name string) bool { return slices.Contains(skippedDirs, name) }

// Exclusion says which of the files that an agent made are left out of what it changed. The zero value leaves out the
// directories that are not copied by default; a nil Exclusion leaves out nothing.
type Exclusion struct{ rules rules }

// NewExclusion returns an exclusion of what the globs in exclude match, with everything below it, and of the
// directories that are not copied by default, unless a glob in include names them.
func NewExclusion(include, exclude []string) (*Exclusion, error) {
	r, err := newRules(include, exclude)
	if err != nil {
		return nil, err
	}
	return &Exclusion{r}, nil
}

// CheckPattern returns what is wrong with a glob for paths in a workspace.
func CheckPattern(pattern string) error {
	_, err := cleanPatterns([]string{pattern})
	return err
}

// matches returns the glob that leaves out p, empty if none does. What was prepared is left out, too.
func (x *Exclusion) matches(p string) string {
	if x == nil {
		return ""
	}
	i := slices.IndexFunc(x.rules.exclude, func(pattern string) bool { return covered(pattern, p) })
	if i < 0 {
		return ""
	}
	return x.rules.exclude[i]
}

// skips reports whether a directory that was not prepared is left out by default.
func (x *Exclusion) skips(dir string) bool {
	return x != nil && SkippedDir(path.Base(dir)) && !x.rules.opens(dir, true)
}

// Without returns the entries that no glob leaves out.
func (x *Exclusion) Without(m Manifest) Manifest {
	if x == nil || len(x.rules.exclude) == 0 {
		return m
	}
	m.Entries = slices.DeleteFunc(slices.Clone(m.Entries), func(e Entry) bool { return x.matches(e.Path) != "" })
	return m
}

// LeftOut has globs of what is not kept of a workspace, sorted.
type LeftOut []string

// maxSameName is how many directories of the same name are listed one by one.
const maxSameName = 10

// leftOut returns globs of directories, which are listed by name if there are many, and the given globs.
func leftOut(dirs, globs map[string]bool) LeftOut {
	byName := make(map[string][]string)
	for dir := range dirs {
		name, glob := path.Base(dir), globMeta.ReplaceAllString(dir, `\$0`)
		byName[name] = append(byName[name], strings.ToValidUTF8(glob, "*")) // which matches it
	}
	all := slices.Collect(maps.Keys(globs))
	for name, paths := range byName {
		if len(paths) > maxSameName {
			paths = []string{"**/" + name}
		}
		all = append(all, paths...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// globMeta matches what means something else in a glob.
var globMeta = lazyregexp.New(`[*?\[\]{}\\]`)

// Add returns what is left out by either.
func (l LeftOut) Add(other LeftOut) LeftOut {
	all := slices.Concat(l, other)
	slices.Sort(all)
	return slices.Compact(all)
}

// Check returns an error if a path with slashes, or a directory above it, is left out.
func (l LeftOut) Check(p string) error {
	for _, glob := range l {
		if covered(glob, p) {
			return fmt.Errorf("%s: the cassette does not keep %s", p, excerpt.Visible(glob, maxShown))
		}
	}
	return nil
}

// maxShown is how many characters of a path are shown, and maxListed how many paths.
const (
	maxShown  = 200
	maxListed = 10
)

// String lists the first globs on one line for people, whatever their names are.
func (l LeftOut) String() string {
	shown := make([]string, 0, maxListed+1)
	for i, glob := range l {
		if i == maxListed {
			shown = append(shown, fmt.Sprintf("and %d more", len(l)-i))
			break
		}
		shown = append(shown, excerpt.Visible(glob, maxShown))
	}
	return strings.Join(shown, ", ")
}

// Valid reports whether all globs can be matched.
func (l LeftOut) Valid() bool {
	return !slices.ContainsFunc(l, func(glob string) bool { return glob == "" || !doublestar.ValidatePattern(glob) })
}

// LeavesOut returns what leaves out a path, if nothing was prepared there: a glob, or the path of a directory that is
// left out by default; empty: nothing does.
func (x *Exclusion) LeavesOut(p string) string {
	if glob := x.matches(p); glob != "" {
		return glob
	}
	dir := ""
	for name := range strings.SplitSeq(p, "/") {
		if dir = path.Join(dir, name); x.skips(dir) {
			return dir
		}
	}
	return ""
}
