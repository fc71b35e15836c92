package confine

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// Policy says what a process and its descendants may touch, besides what every program needs: the system's programs and
// libraries, and devices such as /dev/null. Paths are absolute. Paths that do not exist are ignored.
type Policy struct {
	// Write lists files and directories that may be read and changed, with everything below them.
	Write []string
	// Read lists files and directories that may be read, with everything below them.
	Read []string
	// Programs lists programs that the process may start besides those of the system and of its PATH, as absolute paths
	// or as names in PATH; anything else in the list is ignored. Files that are installed with them may be read.
	Programs []string
	// Arguments lists arguments of programs. Of an absolute path the file may be read, and nothing beside it unless it
	// is in node_modules; or the directory with everything below it, unless it holds more than is meant, such as a
	// home. A name in PATH is as in Programs; anything else in the list is ignored.
	Arguments []string
	// Hide lists files and directories below those of Read that may not be read.
	Hide []string
	// Private lists directories that are never shown as a whole, even if a program is installed in them, such as a
	// project's root. Users' homes are always private.
	Private []string
	// Connect lists directories of Write below which the process may connect to our unix sockets.
	Connect []string
	// Workspace is a directory of Write that the process finds at [WorkspacePath], too, where the kind can do that: see
	// [Properties.Seen]. Its working directory is then there, if it would be below Workspace. Empty: none is.
	Workspace string
	// Network lets the process reach the network as we can. Without it there is at most a loopback of its own.
	Network bool
}

// paths returns the paths of the programs that exist.
func (p Policy) paths(env []string) []string {
	names := p.Programs
	for _, name := range p.Arguments {
		if !filepath.IsAbs(name) {
			names = append(slices.Clip(names), name)
		}
	}
	var paths []string
	for _, name := range names {
		if strings.Contains(name, "/") && !filepath.IsAbs(name) {
			continue
		}
		c := supervise.Command{Path: name, Env: env}
		path, err := c.Program()
		if err != nil {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			paths = append(paths, path)
		}
	}
	return paths
}

// view is the files that a confined process sees: those of a policy and those that every program needs. Paths are
// absolute, clean and without symbolic links.
type view struct {
	read, write, hide []string
	connect           []string // also in write
	devices           []string
	links             []link // other ways to paths in read and write
	workspace         string // in write; empty: none is
	network           bool
}

// link is a symbolic link.
type link struct{ path, target string }

// newView returns the view that programs with the environment env need under a policy.
func newView(p Policy, programs, env []string) (view, error) {
	v := view{network: p.Network, devices: devices}
	read := slices.Concat(system, installs(programs, env, p.Private), named(p.Arguments, p.Private), p.Read)
	for _, list := range []struct {
		paths []string
		to    *[]string
	}{{read, &v.read}, {p.Write, &v.write}, {p.Hide, &v.hide}, {p.Connect, &v.connect}} {
		for _, path := range list.paths {
			if !filepath.IsAbs(path) {
				return view{}, fmt.Errorf("policy: %q is not an absolute path", path)
			}
			v.show(filepath.Clean(path), list.to)
		}
	}
	if p.Workspace != "" {
		if !slices.Contains(p.Write, p.Workspace) {
			return view{}, fmt.Errorf("policy: the workspace %s is not one of the directories to write", p.Workspace)
		}
		var err error
		if v.workspace, err = filepath.EvalSymlinks(p.Workspace); err != nil {
			return view{}, fmt.Errorf("policy: %w", err)
		}
	}
	v.hide = append(v.hide, private()...)
	for _, list := range []*[]string{&v.read, &v.write, &v.hide} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	slices.SortFunc(v.links, func(a, b link) int { return strings.Compare(a.path, b.path) })
	v.write = withoutCovered(v.write, v.write)
	v.read = withoutCovered(v.read, slices.Concat(v.read, v.write))
	return v, nil
}

// withoutCovered returns paths without those that are below a path in by, or that are in by twice: a path in both read
// and write is dropped from read, since files that may be written may be read.
func withoutCovered(paths, by []string) []string {
	count := make(map[string]int)
	for _, path := range by {
		count[path]++
	}
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		if count[path] > 1 {
			return true
		}
		for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
			if dir != path && count[dir] > 0 {
				return true
			}
			if dir == filepath.Dir(dir) {
				return false
			}
		}
	})
}

// show adds a path, if it exists, to a list with its links resolved.
func (v *view) show(path string, to *[]string) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return
	}
	*to = append(*to, real)
	if real != path && to != &v.hide {
		v.links = append(v.links, link{path, real})
	}
}

// system lists the paths of the system that programs need and that every user may read.
var system = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store", "/gnu/store", "/snap",
	// the targets of links in /etc
	"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf", "/run/current-system",
	"/var/lib/ca-certificates",
}

// devices lists the devices that every program may use. The directory of pseudo-terminals has those of others, too, and
// Landlock cannot tell those apart that do not exist yet; but agents such as Gemini and Qwen run commands in them.
var devices = []string{
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts",
}

// private returns the files and directories in /etc that not every user may read. We may be able to: as root, or as a
// member of a trusted group.
var private = sync.OnceValue(func() []string {
	var found []string
	_ = filepath.WalkDir("/etc", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return nil // what we cannot read need not be hidden
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		if d.IsDir() && info.Mode()&0o005 != 0o005 {
			found = append(found, path)
			return fs.SkipDir
		}
		if !d.IsDir() && info.Mode()&0o004 == 0 {
			found = append(found, path)
		}
		return nil
	})
	return found
})
