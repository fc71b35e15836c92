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
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The threads of a tree are counted soon at first, since a fork bomb is fast, and then less and less often.
const (
	firstCount = 5 * time.Millisecond
	lastCount  = 100 * time.Millisecond
)

// hardLimit is the kernel's limit for a tree allowed maxThreads: a little more, so that we see the tree exceed it.
func hardLimit(maxThreads int) int { return maxThreads + maxThreads/8 + 16 }

// bound kills the child once there are more than limit threads below the supervisor, and reports that.
func (s *supervisor) bound(c *child, limit int) {
	for pause := firstCount; ; pause = min(2*pause, lastCount) {
		select {
		case <-c.gone:
			return
		case <-time.After(pause):
		}
		if n := threadsBelow(os.Getpid(), limit); n > limit {
			c.mu.Lock()
			if !c.ended { // else the threads may be those of the next child
				s.tell(report{grew, uint32(n)})
			}
			c.mu.Unlock()
			c.signal(unix.SIGKILL)
			return
		}
	}
}

// threadsBelow counts the threads of a process's descendants. It stops counting soon after limit.
func threadsBelow(pid, limit int) int {
	n := 0
	var count func(pid int)
	count = func(pid int) {
		for _, child := range childrenOf(pid) {
			if n > limit {
				return
			}
			tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", child))
			n += max(len(tasks), 1)
			count(child)
		}
	}
	count(pid)
	return n
}

// startBounded starts the child with the kernel's limit on the threads of its user.
func (s *supervisor) startBounded(spec *spec) (pid int) {
	if spec.maxThreads == 0 {
		return s.start(spec)
	}
	limit := userLimit(spec.maxThreads)
	raise := inheritLimit(limit)
	pid = s.start(spec)
	raise()
	// The child could raise the soft limit that it inherited.
	_ = unix.Prlimit(pid, unix.RLIMIT_NPROC, &unix.Rlimit{Cur: limit, Max: limit}, nil) // fails if it is lower already
	return pid
}

// userLimit is the number of threads to which the kernel limits the child's user, unless that is root. It counts all
// threads of the user. How many there are already is not known, so the limit allows for all threads of the system.
func userLimit(maxThreads int) uint64 {
	limit := hardLimit(maxThreads)
	if os.Getpid() != 1 { // in a namespace of our own nobody else is counted
		limit += threadsOfAll()
	}
	return uint64(limit)
}

// inheritLimit lowers our own limit, so that the child has it from the beginning: processes that a fork bomb starts
// before it is limited would never be. The caller must call raise, since a supervisor needs threads itself.
func inheritLimit(limit uint64) (raise func()) {
	var own unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &own) != nil || own.Cur <= limit {
		return func() {}
	}
	_ = unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: limit, Max: own.Max}) // lowering cannot fail
	return func() { _ = unix.Setrlimit(unix.RLIMIT_NPROC, &own) }
}

// threadsOfAll returns the number of threads on the system.
func threadsOfAll() int {
	data, err := os.ReadFile("/proc/loadavg") // 0.00 0.01 0.05 1/234 5678
	if err != nil {
		return 0
	}
	var running, all int
	fields := strings.Fields(string(data))
	if len(fields) < 4 {
		return 0
	}
	_, _ = fmt.Sscanf(fields[3], "%d/%d", &running, &all)
	return all
}

// controlGroup is a control group (cgroups(7)) that limits the threads of a tree and, in an enclosure, of its
// supervisor. Root often has the rights to make one, others seldom do. The methods of a nil group do nothing.
type controlGroup struct {
	dir     string
	unified bool // version 2
}

// groupsMade numbers our groups.
var groupsMade atomic.Int64

// groupPrefix begins the names of our groups. The id of the process that made the group follows.
const groupPrefix = "sdd-eval-"

// newControlGroup returns a group for at most limit threads, or nil if none can be made.
func newControlGroup(limit int) *controlGroup {
	parent, unified := groupParent()
	if parent == "" {
		return nil
	}
	g := &controlGroup{
		dir:     filepath.Join(parent, fmt.Sprintf("%s%d-%d", groupPrefix, os.Getpid(), groupsMade.Add(1))),
		unified: unified,
	}
	if os.Mkdir(g.dir, 0o755) != nil {
		return nil
	}
	if g.write("pids.max", strconv.Itoa(limit)) != nil { // we may not use the controller
		_ = os.Remove(g.dir)
		return nil
	}
	return g
}

func (g *controlGroup) write(file, text string) error {
	return os.WriteFile(filepath.Join(g.dir, file), []byte(text), 0)
}

// groupParent returns the directory below which groups can limit threads, or "" if there is none. It removes the groups
// there that belong to processes that are gone.
var groupParent = sync.OnceValues(func() (dir string, unified bool) {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", false
	}
	const root = "/sys/fs/cgroup"
	for line := range strings.Lines(string(data)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		switch {
		case parts[1] == "pids":
			dir, unified = filepath.Join(root, "pids", parts[2]), false
		case parts[1] == "" && dir == "":
			// In version 2 a group that has processes has no groups with controllers below it, but it may have
			// siblings.
			dir, unified = filepath.Join(root, filepath.Dir(parts[2])), true
		}
	}
	removeLeftGroups(dir)
	return dir, unified
})

func removeLeftGroups(parent string) {
	left, _ := filepath.Glob(filepath.Join(parent, groupPrefix+"*"))
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
		dir, err := os.Open(g.dir)
		if err != nil {
			return nil, err
		}
		attr.UseCgroupFD, attr.CgroupFD = true, int(dir.Fd())
		return dir.Close, nil
	}
	// In version 1 single threads can be in a group.
	thread := []byte(strconv.Itoa(unix.Gettid()))
	if err := os.WriteFile(filepath.Join(g.dir, "tasks"), thread, 0); err != nil {
		return nil, err
	}
	return func() error { return os.WriteFile(filepath.Join(filepath.Dir(g.dir), "tasks"), thread, 0) }, nil
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
	members, err := os.OpenFile(filepath.Join(g.dir, "cgroup.procs"), os.O_WRONLY, 0)
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

// refused returns how often the group kept its members from starting a thread.
func (g *controlGroup) refused() int {
	if g == nil {
		return 0
	}
	data, err := os.ReadFile(filepath.Join(g.dir, "pids.events"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if count, ok := strings.CutPrefix(line, "max "); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(count))
			return n
		}
	}
	return 0
}

// remove kills the processes in the group and removes it. It does not kill the supervisor, of which a thread may still
// be in the group in version 1.
func (g *controlGroup) remove(supervisor int) error {
	if g == nil {
		return nil
	}
	for deadline := time.Now().Add(sweepTimeout); ; time.Sleep(sweepInterval) {
		err := removeGroup(g.dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		members, readErr := os.ReadFile(filepath.Join(g.dir, "cgroup.procs"))
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
