package confine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/lockdown"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// bwrap confines by namespaces that bubblewrap makes. The supervisor lives in them, too, as their first process: when it
// ends, the kernel ends all others.
type bwrap struct{}

// tmpSize bounds what can be written to /tmp, which is memory, in bytes.
const tmpSize = 1 << 30

func (bwrap) version(ctx context.Context) (string, error) {
	if runtime.GOOS != "linux" {
		return "", errNotLinux
	}
	path, err := bwrapPath()
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", path, err)
	}
	return strings.TrimPrefix(strings.TrimSpace(string(out)), "bubblewrap "), nil
}

// bwrapPath returns where bubblewrap is, in the PATH of our own.
func bwrapPath() (string, error) {
	path, err := supervise.LookPath("bwrap", os.Getenv("PATH"))
	if err != nil {
		return "", errors.New("bwrap is not in PATH")
	}
	return path, nil
}

func (bwrap) confine(c *supervise.Command, v view) error {
	path, err := bwrapPath()
	if err != nil {
		return err
	}
	p, err := helper.Find()
	if err != nil {
		return err
	}
	// The supervisor is told when we end, so --die-with-parent is not needed; it would take the end of one of our threads for
	// ours. The session without a terminal is the supervisor's, and the environment the child's alone.
	args := []string{path, "--unshare-all", "--as-pid-1", "--cap-drop", "ALL"}
	if v.network {
		args = append(args, "--share-net")
	}
	args = append(args, "--size", fmt.Sprint(tmpSize), "--tmpfs", "/tmp")
	args = append(append(args, mounts(v)...), "--proc", "/proc")
	for _, path := range []string{"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"} {
		args = append(args, "--ro-bind-try", path, path) // root may write the kernel's settings without any capability
	}
	args = append(args, "--ro-bind", p.Path, supervise.SupervisorPath, "--remount-ro", "/")
	c.Enclosure = append(args, "--")
	c.Rules = &lockdown.Rules{}
	return nil
}

// mounts returns the options that show a view's files where they are.
func mounts(v view) []string {
	var args []string
	const dev = "/dev" // is made anew
	shown := slices.Concat(v.read, v.write, []string{dev})
	slices.Sort(shown) // a directory before what is in it, such as a workspace in /dev/shm
	var mounted []string
	for _, path := range slices.Compact(shown) {
		if path == dev {
			args = append(args, "--dev", dev)
			continue
		}
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		option := "--ro-bind"
		if slices.Contains(v.write, path) {
			option = "--bind"
		}
		args = append(args, option, path, path)
		mounted = append(mounted, path)
	}
	there := func(path string) bool {
		return slices.ContainsFunc(mounted, func(m string) bool { return m == path || isBelow(path, m) })
	}
	for _, link := range v.links { // one before those that are reached through it
		if !there(link.path) {
			args = append(args, "--symlink", link.target, link.path)
			mounted = append(mounted, link.path)
		}
	}
	for _, path := range v.hide {
		if !there(path) {
			continue
		}
		info, err := os.Lstat(path)
		switch {
		case err != nil || info.Mode()&os.ModeSymlink != 0:
		case info.IsDir():
			args = append(args, "--perms", "0000", "--tmpfs", path, "--remount-ro", path)
		default:
			args = append(args, "--ro-bind", os.DevNull, path)
		}
	}
	return args
}

// isBelow reports whether a path is below a directory, both clean and absolute.
func isBelow(path, dir string) bool {
	return dir == string(filepath.Separator) || strings.HasPrefix(path, dir+string(filepath.Separator))
}
