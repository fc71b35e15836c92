package confine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/environ"
	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/lockdown"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// Kind is a kind of sandbox.
type Kind string

// The kinds of sandboxes.
const (
	// Auto is the strongest kind that works on this machine: [Bwrap], else [Landlock]. If neither works, it is an
	// error.
	Auto Kind = "auto"
	// None confines nothing.
	None Kind = "none"
	// Landlock is the kernel's own confinement of files (since Linux 5.19), with seccomp.
	Landlock Kind = "landlock"
	// Bwrap is bubblewrap: separate namespaces for files, processes and the network.
	Bwrap Kind = "bwrap"
	// Wrapper is a command of the user's that confines the command that follows it.
	Wrapper Kind = "command"
)

// ParseKind returns the kind with that name.
func ParseKind(name string) (Kind, error) {
	for _, k := range kinds() {
		if string(k) == name {
			return k, nil
		}
	}
	var names []string
	for _, k := range kinds() {
		names = append(names, string(k))
	}
	return "", fmt.Errorf("unknown kind of sandbox %q; available: %s", name, strings.Join(names, ", "))
}

// kinds returns all kinds.
func kinds() []Kind { return []Kind{Auto, Bwrap, Landlock, Wrapper, None} }

// bwrap confines by namespaces that bubblewrap makes. The supervisor is the first process in them: when it ends, the
// kernel kills all others.
type bwrap struct{ leave []Property }

// tmpSize is the size in bytes of /tmp and of /dev/shm, which are in memory, unless less memory is allowed.
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

// bwrapPath returns the path of bubblewrap, looked up in our own PATH.
func bwrapPath() (string, error) {
	path, err := environ.LookPath("bwrap", os.Getenv("PATH"))
	if err != nil {
		return "", errors.New("bwrap is not in PATH")
	}
	return path, nil
}

func (b bwrap) confine(c *supervise.Command, v view) error {
	path, err := bwrapPath()
	if err != nil {
		return err
	}
	p, err := helper.Find()
	if err != nil {
		return err
	}
	// --die-with-parent is not needed, since the supervisor learns when we end; and it would mistake the end of one of
	// our threads for ours. The supervisor makes the session without a terminal, and only the child gets an
	// environment.
	args := []string{path, "--unshare-all", "--as-pid-1", "--cap-drop", "ALL"}
	var fixed []string
	if os.Geteuid() == 0 { // the devices are the machine's own, and root's: a child could close them to all
		fixed = machineDevices
		for _, c := range []string{"CAP_SYS_ADMIN", "CAP_SETPCAP"} { // the second one lets it give up both for good
			args = append(args, "--cap-add", c)
		}
	}
	if v.network {
		args = append(args, "--share-net")
	}
	size := strconv.FormatInt(min(tmpSize, cmp.Or(c.Limits.Memory, tmpSize)), 10)
	args = append(args, "--size", size, "--tmpfs", "/tmp")
	args = append(args, mounts(v, size)...)
	if v.workspace != "" && relocates() {
		args = append(args, "--bind", v.workspace, WorkspacePath)
		if err := enter(c, v.workspace); err != nil {
			return err
		}
	}
	args = append(args, "--proc", "/proc")
	for _, path := range []string{"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"} {
		args = append(args, "--ro-bind-try", path, path) // root can change the kernel's settings without a capability
	}
	args = append(args, "--ro-bind", p.Path, supervise.SupervisorPath, "--remount-ro", "/dev", "--remount-ro", "/")
	c.Env = slices.Clone(c.Env)
	for i, kv := range c.Env { // an agent reads its environment
		if strings.HasPrefix(kv, "GOCACHEPROG=") {
			c.Env[i] = strings.ReplaceAll(kv, p.Path, supervise.SupervisorPath)
		}
	}
	c.Enclosure = append(args, "--")
	c.Rules = &lockdown.Rules{
		Namespaces: slices.Contains(b.leave, Namespaces), Fixed: fixed,
		// With the network goes its namespace, to which abstract sockets belong.
		Unconnected: v.network && lockdown.ABI() < lockdown.ScopeABI && !slices.Contains(b.leave, Sockets),
	}
	return nil
}

// machineDevices are the mounts that bwrap makes of the machine's devices. The supervisor makes them read-only, which
// forbids to change their modes and not to write to them.
var machineDevices = []string{
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/console",
}

// WorkspacePath is where [Bwrap] shows a [Policy.Workspace].
const WorkspacePath = "/workspace"

// relocates reports whether a workspace can be shown at WorkspacePath: nothing else is there that is to be shown.
var relocates = sync.OnceValue(func() bool {
	_, err := os.Lstat(WorkspacePath)
	return errors.Is(err, fs.ErrNotExist)
})

// enter gives a command that would work in the workspace, or below it, the working directory by the path that it sees.
func enter(c *supervise.Command, workspace string) error {
	var dir string
	var err error
	if c.DirFile != nil {
		dir, err = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", c.DirFile.Fd()))
	} else {
		dir, err = filepath.EvalSymlinks(c.Dir)
	}
	if err != nil {
		return fmt.Errorf("chdir: %w", err)
	}
	if rel, err := filepath.Rel(workspace, dir); err == nil && filepath.IsLocal(rel) {
		c.Dir, c.DirFile = filepath.Join(WorkspacePath, rel), nil
	}
	return nil
}

// mounts returns the options that show the files of a view at their own paths. Size is that of /dev/shm.
func mounts(v view, size string) []string {
	var args []string
	const dev = "/dev" // bwrap makes a new one
	shown := slices.Concat(v.read, v.write, []string{dev})
	slices.Sort(shown) // a directory before its contents, such as /dev before a workspace in /dev/shm
	var mounted []string
	for _, path := range slices.Compact(shown) {
		if path == dev {
			args = append(args, "--dev", dev, "--size", size, "--tmpfs", dev+"/shm")
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
	isShown := func(path string) bool {
		return slices.ContainsFunc(mounted, func(m string) bool { return m == path || isBelow(path, m) })
	}
	for _, link := range v.links { // a link comes before those that are reached through it
		if !isShown(link.path) {
			args = append(args, "--symlink", link.target, link.path)
			mounted = append(mounted, link.path)
		}
	}
	for _, path := range v.hide {
		if !isShown(path) {
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

// landlock confines by rules that the supervisor puts on the child.
type landlock struct{ leave []Property }

func (landlock) version(context.Context) (string, error) {
	abi := lockdown.ABI()
	switch {
	case runtime.GOOS != "linux":
		return "", errNotLinux
	case abi == 0:
		return "", errors.New("the kernel does not have Landlock, or it is off")
	case abi < lockdown.MinABI:
		return "", fmt.Errorf("the kernel has Landlock ABI %d; want at least %d", abi, lockdown.MinABI)
	}
	return fmt.Sprintf("ABI %d", abi), nil
}

func (l landlock) confine(c *supervise.Command, v view) error {
	rules := &lockdown.Rules{
		Files: true, Offline: !v.network, Namespaces: slices.Contains(l.leave, Namespaces),
		Write: v.write, Devices: v.devices, Connect: v.connect,
	}
	switch {
	case slices.Contains(l.leave, Sockets):
		rules.Connect = []string{"/"}
	case lockdown.ABI() < lockdown.ConnectABI:
		rules.Unconnected = true
	}
	for _, path := range append(slices.Clone(v.read), "/proc", "/sys/devices/system", "/sys/fs/cgroup") {
		if err := allowRead(rules, path, v.hide); err != nil {
			return err
		}
	}
	c.Rules = rules
	return nil
}

// allowRead allows reading a path except the hidden files below it. Rules can only add rights, so every path beside the
// hidden ones gets a rule. The names of hidden files can still be listed.
func allowRead(r *lockdown.Rules, path string, hide []string) error {
	if slices.Contains(hide, path) {
		return nil
	}
	if !slices.ContainsFunc(hide, func(h string) bool { return isBelow(h, path) }) {
		r.Read = append(r.Read, path)
		return nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	r.List = append(r.List, path)
	for _, e := range entries {
		if e.Type()&os.ModeSymlink != 0 {
			continue // a rule would apply to the link's target
		}
		if err := allowRead(r, filepath.Join(path, e.Name()), hide); err != nil {
			return err
		}
	}
	return nil
}

// wrapper is a command of the user's that confines the command which follows it.
type wrapper []string

// The variables that pass the policy to a wrapper. Lists are written as in PATH.
const (
	variableWrite   = "EVALTEST_SANDBOX_WRITE"
	variableRead    = "EVALTEST_SANDBOX_READ"
	variableHide    = "EVALTEST_SANDBOX_HIDE"
	variableNetwork = "EVALTEST_SANDBOX_NETWORK" // yes or no
)

func (w wrapper) version(context.Context) (string, error) {
	if runtime.GOOS != "linux" {
		return "", errNotLinux // the prober does not run elsewhere
	}
	_, err := w.program()
	return "", err
}

func (w wrapper) program() (string, error) {
	c := supervise.Command{Path: w[0], Env: []string{"PATH=" + os.Getenv("PATH")}}
	return c.Program()
}

func (w wrapper) confine(c *supervise.Command, v view) error {
	program, err := w.program()
	if err != nil {
		return err
	}
	c.Args = append(append(append([]string{}, w...), c.Path), c.Args[1:]...)
	c.Path = program
	network := "no"
	if v.network {
		network = "yes"
	}
	list := func(paths []string) string { return strings.Join(paths, string(os.PathListSeparator)) }
	c.Env = append(c.Env[:len(c.Env):len(c.Env)],
		variableWrite+"="+list(v.write), variableRead+"="+list(v.read), variableHide+"="+list(v.hide),
		variableNetwork+"="+network)
	return nil
}
