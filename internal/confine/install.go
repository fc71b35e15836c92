package confine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// installs returns the paths that programs, and those in the PATH of env, have to read in order to run: their
// directories and the rest of their installations. It returns no directory that holds more than an installation, such
// as a user's home or one of private.
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

// named returns the paths that arguments name, see [Policy.Arguments].
func named(arguments, private []string) (paths []string) {
	i := install{more: slices.Concat(homes(), private)}
	for _, path := range arguments {
		if !filepath.IsAbs(path) {
			continue
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		info, err := os.Stat(real)
		switch {
		case err != nil:
		case info.Mode().IsRegular():
			paths = append(append(paths, path, real), hops(path)...)
			if modules := outermost(filepath.Dir(real), "node_modules"); modules != "" {
				paths = append(paths, modules)
			}
		case info.IsDir() && filepath.Dir(real) != "/" && !i.isMore(real):
			paths = append(paths, path)
		}
	}
	return paths
}

type install struct {
	more  []string // directories that hold more than an installation
	paths []string
	done  map[string]bool // directories that were added: many links lead to the same one
}

// homes returns directories that always hold more than an installation.
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

// add adds the installation of a program: its file, the targets of its links, and the files around these.
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

// hops returns the target of a link, the target's own target if that is a link, too, and so on. To follow a link, a
// process must see all of them, not only the file at the end.
func hops(link string) []string {
	var paths []string
	for range 40 { // Linux follows no more
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

// addBin adds a directory of programs and the installation that it belongs to.
func (i *install) addBin(dir string) {
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		if !isSystem(dir) && !i.isMore(real) {
			i.paths = append(i.paths, dir) // programs are looked up by this path
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
	case name == "shims", // start one of several versions that are installed beside them, as in pyenv and asdf
		name == "bin" && isDistribution(prefix):
		i.paths = append(i.paths, prefix)
	case name == "bin", name == "sbin":
		for _, name := range []string{"lib", "lib64", "libexec", "include"} {
			i.paths = append(i.paths, filepath.Join(prefix, name))
		}
	}
}

// addLinks adds the targets of links in a directory of programs. It adds the files around a target only if they are
// known to be an installation, because a link may lead anywhere.
func (i *install) addLinks(dir string) {
	if isSystem(dir) {
		return
	}
	entries, _ := os.ReadDir(dir) // a missing directory has none
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

// isSystem reports whether a path is one that every program may read; see system.
func isSystem(path string) bool {
	return slices.ContainsFunc(system, func(s string) bool { return path == s || isBelow(path, s) })
}

// isMore reports whether a directory holds more than an installation.
func (i *install) isMore(dir string) bool {
	return slices.ContainsFunc(i.more, func(m string) bool { return m == dir || isBelow(m, dir) })
}

// isDistribution reports whether a directory as a whole is one installation: of Go, or a virtual environment of Python.
func isDistribution(dir string) bool {
	for _, mark := range []string{"go.env", "pyvenv.cfg"} {
		if info, err := os.Lstat(filepath.Join(dir, mark)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// outermost returns the part of a path up to its first component with a name, or "" if there is none.
func outermost(path, name string) string {
	before, _, ok := strings.Cut(path+"/", "/"+name+"/")
	if !ok {
		return ""
	}
	return before + "/" + name
}
