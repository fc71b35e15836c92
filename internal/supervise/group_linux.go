package supervise

import (
	"bytes"
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
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// controlGroup is a control group (cgroups(7)) that limits what a tree uses and, in an enclosure, its supervisor. Root
// often has the rights to make one, others seldom do. The methods of a nil group do nothing.
type controlGroup struct {
	// dirs are its directories: the one of version 2, or one in each hierarchy of version 1 that limits something.
	dirs    []string
	unified bool // version 2
}

// groupsMade numbers our groups.
var groupsMade atomic.Int64

// groupPrefix begins the names of our groups. The id of the process that made the group follows.
const groupPrefix = "sdd-eval-"

// groupName returns the name of this process's nth group. It ends with the process's PID namespace: processes of
// several containers may have the same groups in sight, and know nothing of each other's ids.
func groupName(n int64) string {
	return fmt.Sprintf("%s%d-%d-%s", groupPrefix, os.Getpid(), n, pidNamespace())
}

// pidNamespace names our PID namespace as no other one that exists is named; empty: nobody knows.
func pidNamespace() string {
	link, _ := os.Readlink("/proc/self/ns/pid")
	return strings.Trim(strings.TrimPrefix(link, "pid:"), "[]")
}

// controller is a part of the kernel that limits the groups that use it.
type controller struct {
	name     string
	settings []setting
}

// setting is a file of a group, and what is to be written to it. Not every kernel has those that are optional.
type setting struct {
	file, text string
	optional   bool
}

// controllers returns the controllers that limits need.
func controllers(l Limits, unified bool) (all []controller) {
	add := func(name string, settings ...setting) { all = append(all, controller{name, settings}) }
	if l.Threads > 0 {
		add("pids", setting{file: "pids.max", text: strconv.Itoa(hardLimit(l.Threads))})
	}
	if memory := strconv.FormatInt(l.Memory, 10); l.Memory > 0 && unified {
		add("memory", setting{file: "memory.max", text: memory}, setting{"memory.swap.max", "0", true},
			setting{"memory.oom.group", "1", true})
	} else if l.Memory > 0 {
		add("memory", setting{file: "memory.limit_in_bytes", text: memory},
			setting{"memory.memsw.limit_in_bytes", memory, true}, setting{"memory.swappiness", "0", true})
	}
	const period = 20_000 // microseconds; the shorter, the less a process stutters
	if quota := strconv.Itoa(max(1000, int(l.CPUs*period))); l.CPUs > 0 && unified {
		add("cpu", setting{file: "cpu.max", text: quota + " " + strconv.Itoa(period)})
	} else if l.CPUs > 0 {
		add("cpu", setting{file: "cpu.cfs_period_us", text: strconv.Itoa(period)},
			setting{file: "cpu.cfs_quota_us", text: quota})
	}
	return all
}

// newControlGroup returns a group that has those of the limits that can be had, or nil if none can.
func newControlGroup(l Limits) *controlGroup {
	parents := groupParents()
	g := &controlGroup{unified: parents.unified}
	name := groupName(groupsMade.Add(1))
	for _, c := range controllers(l, parents.unified) {
		parent := parents.of(c.name)
		if parent == "" {
			continue
		}
		dir := filepath.Join(parent, name)
		ours := slices.Contains(g.dirs, dir) // of version 2, or of controllers that share a hierarchy
		if !ours && os.Mkdir(dir, 0o755) != nil {
			continue
		}
		if err := c.limit(dir); err == nil && !ours {
			g.dirs = append(g.dirs, dir)
		} else if err != nil && !ours { // we may not use the controller
			_ = os.Remove(dir)
		}
	}
	if len(g.dirs) == 0 {
		return nil
	}
	return g
}

func (c controller) limit(dir string) error {
	for _, s := range c.settings {
		if err := os.WriteFile(filepath.Join(dir, s.file), []byte(s.text), 0); err != nil && !s.optional {
			return err
		}
	}
	return nil
}

// parents are the directories below which groups can limit something.
type parents struct {
	unified bool
	dirs    map[string]string // by controller; in version 2 by ""
}

func (p parents) of(controller string) string {
	if p.unified {
		controller = ""
	}
	return p.dirs[controller]
}

// groupParents finds the directories for our groups. It removes the groups there that belong to processes of our PID
// namespace that are gone.
var groupParents = sync.OnceValue(func() parents {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return parents{}
	}
	p := parentsOf(string(data))
	for _, dir := range p.dirs {
		removeLeftGroups(dir)
	}
	return p
})

// parentsOf returns the parents that a process can use which is in these groups, as /proc/self/cgroup has them.
func parentsOf(groups string) parents {
	const root = "/sys/fs/cgroup"
	p := parents{unified: true, dirs: make(map[string]string)}
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		if parts[1] == "" {
			// In version 2 a group that has processes has no groups with controllers below it, but it may have
			// siblings.
			p.dirs[""] = filepath.Join(root, filepath.Dir(parts[2]))
		}
		for name := range strings.SplitSeq(parts[1], ",") {
			if slices.Contains([]string{"pids", "memory", "cpu"}, name) {
				p.dirs[name], p.unified = filepath.Join(root, name, parts[2]), false
			}
		}
	}
	if !p.unified {
		delete(p.dirs, "")
	}
	return p
}

func removeLeftGroups(parent string) {
	namespace := pidNamespace()
	if namespace == "" {
		return
	}
	left, _ := filepath.Glob(filepath.Join(parent, groupPrefix+"*-"+namespace))
	for _, dir := range left {
		id, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), groupPrefix), "-")
		if pid, err := strconv.Atoi(id); err == nil && unix.Kill(pid, 0) == unix.ESRCH {
			_ = removeGroup(dir) // fails while a process is in it
		}
	}
}

// removeGroup removes a group, with the groups below it that an sdd-eval which ran in it has left behind.
func removeGroup(dir string) error {
	below, _ := filepath.Glob(filepath.Join(dir, groupPrefix+"*"))
	for _, b := range below {
		if err := removeGroup(b); err != nil {
			return err
		}
	}
	return os.Remove(dir)
}

// start starts a command in the group.
func (g *controlGroup) start(cmd *exec.Cmd) error {
	if g == nil {
		return cmd.Start()
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		leave, err := g.enter(cmd.SysProcAttr)
		if err == nil {
			err = cmd.Start()
			if leave() == nil {
				runtime.UnlockOSThread() // otherwise the thread ends with its goroutine
			}
		}
		started <- err
	}()
	return <-started
}

// enter makes a process that the calling thread starts with attr a member of the group. The caller must call leave when
// it has started the process.
func (g *controlGroup) enter(attr *syscall.SysProcAttr) (leave func() error, err error) {
	if g.unified {
		dir, err := os.Open(g.dirs[0])
		if err != nil {
			return nil, err
		}
		attr.UseCgroupFD, attr.CgroupFD = true, int(dir.Fd())
		return dir.Close, nil
	}
	// In version 1 single threads can be in a group.
	thread := []byte(strconv.Itoa(unix.Gettid()))
	put := func(in func(dir string) string) error {
		for _, dir := range g.dirs {
			if err := os.WriteFile(filepath.Join(in(dir), "tasks"), thread, 0); err != nil {
				return err
			}
		}
		return nil
	}
	if err := put(func(dir string) string { return dir }); err != nil {
		return func() error { return err }, err
	}
	return func() error { return put(filepath.Dir) }, nil
}

// join makes the process that the calling thread starts next, with attr, a member of the group, even if the thread is
// locked down meanwhile. Join is called when the process has started. In version 2 it is stopped until then: a process
// cannot be started in a group by a thread without clone3, and would be quicker than somebody who puts it there.
func (g *controlGroup) join(attr *syscall.SysProcAttr) (joined func(pid int) error, err error) {
	if g == nil {
		return func(int) error { return nil }, nil
	}
	if !g.unified {
		_, err := g.enter(attr) // the thread ends in the group
		return func(int) error { return nil }, err
	}
	members, err := os.OpenFile(filepath.Join(g.dirs[0], "cgroup.procs"), os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	attr.Ptrace = true // it stops before its first instruction
	return func(pid int) error {
		defer members.Close()
		const end = unix.WSTOPPED | unix.WEXITED | unix.WNOWAIT
		for unix.Waitid(unix.P_PID, pid, nil, end, nil) == unix.EINTR {
		}
		if _, err := members.WriteString(strconv.Itoa(pid)); err != nil {
			return err
		}
		return unix.PtraceDetach(pid)
	}, nil
}

// event returns how often something happened in the group: the number after a word in one of these files.
func (g *controlGroup) event(word string, files ...string) int {
	if g == nil {
		return 0
	}
	for _, dir := range g.dirs {
		for _, file := range files {
			data, _ := os.ReadFile(filepath.Join(dir, file))
			for line := range strings.Lines(string(data)) {
				if count, ok := strings.CutPrefix(line, word+" "); ok {
					n, _ := strconv.Atoi(strings.TrimSpace(count))
					return n
				}
			}
		}
	}
	return 0
}

// met returns the limit at which the kernel stopped the group's members: it let them start no more threads, or killed
// one for want of memory. It returns nil if it did not.
func (g *controlGroup) met(l Limits) error {
	switch {
	case g.outOfMemory():
		return &LimitError{Resource: Memory, Limit: l.Memory}
	case g.event("max", "pids.events") > 0:
		return &LimitError{Resource: Processes, Limit: int64(l.Threads)}
	}
	return nil
}

func (g *controlGroup) outOfMemory() bool {
	return g.event("oom_kill", "memory.oom_control", "memory.events") > 0
}

func (g *controlGroup) throttled() bool { return g.event("nr_throttled", "cpu.stat") > 0 }

// remove kills the processes in the group and removes it. It does not kill the supervisor, of which a thread may still
// be in the group in version 1.
func (g *controlGroup) remove(supervisor int) error {
	if g == nil {
		return nil
	}
	var errs []error
	for _, dir := range g.dirs {
		errs = append(errs, removeMembers(dir, supervisor))
	}
	return errors.Join(errs...)
}

func removeMembers(dir string, supervisor int) error {
	for deadline := time.Now().Add(sweepTimeout); ; time.Sleep(sweepInterval) {
		err := removeGroup(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		members, readErr := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if readErr != nil || time.Now().After(deadline) {
			return fmt.Errorf("remove the control group: %w", err)
		}
		for field := range bytes.FieldsSeq(members) {
			// Our own process is a member while one of its threads is.
			pid, err := strconv.Atoi(string(field))
			if err == nil && pid > 0 && pid != os.Getpid() && pid != supervisor {
				_ = unix.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}
