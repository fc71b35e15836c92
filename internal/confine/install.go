package confine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// installs returns what has to be read for programs and those in the PATH of env to run: their directories, and what
// belongs to them. Directories that are more than an installation, such as a user's home and those in private, are not
// among them.
func installs(programs, env, private []string) []string {
	i := install{more: slices.Concat(homes(), private), done: make(map[string]bool)}
	for _, program := range programs {
		i.add(program)
	}
	var listed []string
	for _, kv := range env {
		if list, ok := strings.CutPrefix(kv, "PATH="); ok {
			listed = append(listed, filepath.SplitList(list)...)
		}
	}
	slices.Sort(listed)
	for _, dir := range slices.Compact(listed) {
		if filepath.IsAbs(dir) {
			i.addBin(dir)
			i.addLinks(dir)
		}
	}
	slices.Sort(i.paths)
	return slices.Compact(i.paths)
}

type install struct {
	more  []string // directories that are more than an installation
	paths []string
	done  map[string]bool // directories of programs that were added: many links lead to one place
}

// homes are directories that are never an installation as a whole.
func homes() []string {
	dirs := []string{"/", "/home", "/root", "/tmp", "/var/tmp"}
	if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, filepath.Clean(home))
		if real, err := filepath.EvalSymlinks(home); err == nil {
			dirs = append(dirs, real)
		}
	}
	return dirs
}

// add adds the installation of a program: its file, where a link leads, and what stands around that.
func (i *install) add(program string) {
	i.paths = append(i.paths, program)
	i.paths = append(i.paths, hops(program)...)
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return
	}
	i.paths = append(i.paths, real)
	if real != program {
		i.addBin(filepath.Dir(real))
	}
	i.addBin(filepath.Dir(program))
}

// hops returns where a link leads, and where that leads if it is a link too, and so on. Who follows the first link in a
// directory needs all of them, not only the file at the end.
func hops(link string) []string {
	var paths []string
	for range 40 { // as many as Linux follows
		target, err := os.Readlink(link)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(link))
			if err != nil {
				break
			}
			target = filepath.Join(dir, target)
		}
		paths = append(paths, target)
		link = target
	}
	return paths
}

// addBin adds a directory of programs and what belongs to it.
func (i *install) addBin(dir string) {
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		if !isSystem(dir) && !i.isMore(real) {
			i.paths = append(i.paths, dir) // by which it is looked for
		}
		dir = real
	}
	if isSystem(dir) || i.done[dir] {
		return
	}
	i.done[dir] = true
	if modules := outermost(dir, "node_modules"); modules != "" {
		i.paths = append(i.paths, modules)
		return
	}
	if !i.isMore(dir) {
		i.paths = append(i.paths, dir)
	}
	prefix := filepath.Dir(dir)
	if i.isMore(prefix) {
		return
	}
	switch name := filepath.Base(dir); {
	case name == "shims", // which start one of several versions beside it, as pyenv and asdf have them
		name == "bin" && isDistribution(prefix):
		i.paths = append(i.paths, prefix)
	case name == "bin", name == "sbin":
		for _, name := range []string{"lib", "lib64", "libexec", "include"} {
			i.paths = append(i.paths, filepath.Join(prefix, name))
		}
	}
}

// addLinks adds the programs to which links in a directory of programs lead. Around them it adds only what is known to be
// an installation: a link may lead into anything.
func (i *install) addLinks(dir string) {
	if isSystem(dir) {
		return
	}
	entries, _ := os.ReadDir(dir) // one that is not there has none
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 {
			continue
		}
		real, err := filepath.EvalSymlinks(filepath.Join(dir, e.Name()))
		if err != nil || isSystem(real) {
			continue
		}
		if info, err := os.Stat(real); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		i.paths = append(i.paths, real)
		i.paths = append(i.paths, hops(filepath.Join(dir, e.Name()))...)
		if bin := filepath.Dir(real); filepath.Base(bin) == "bin" || outermost(bin, "node_modules") != "" {
			i.addBin(bin)
		}
	}
}

// isSystem reports whether every program may read a path, see system.
func isSystem(path string) bool {
	return slices.ContainsFunc(system, func(s string) bool { return path == s || isBelow(path, s) })
}

// isMore reports whether a directory is more than an installation, or holds what is.
func (i *install) isMore(dir string) bool {
	return slices.ContainsFunc(i.more, func(m string) bool { return m == dir || isBelow(m, dir) })
}

// isDistribution reports whether a directory as a whole is one installation: of Go, or a virtual environment of Python's.
func isDistribution(dir string) bool {
	for _, mark := range []string{"go.env", "pyvenv.cfg"} {
		if info, err := os.Lstat(filepath.Join(dir, mark)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// outermost returns the part of a path up to its first component with a name, "" if it has none.
func outermost(path, name string) string {
	before, _, ok := strings.Cut(path+"/", "/"+name+"/")
	if !ok {
		return ""
	}
	return before + "/" + name
}
