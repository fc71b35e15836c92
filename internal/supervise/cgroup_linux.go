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

// controlGroup is a control group of the kernel's (cgroups(7)) in which a supervisor and its tree have no more threads
// than they may. Making one takes rights that root often has and others seldom. A nil group does nothing.
type controlGroup struct {
	dir string
	// unified tells that it is of version 2.
	unified bool
}

// groupsMade numbers our groups.
var groupsMade atomic.Int64

// groupPrefix begins the names of groups; the id of the process that made it follows.
const groupPrefix = "sdd-eval-"

// newControlGroup returns a group for at most limit threads, nil if there cannot be one.
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
	if g.write("pids.max", strconv.Itoa(limit)) != nil { // the controller is not for us
		_ = os.Remove(g.dir)
		return nil
	}
	return g
}

func (g *controlGroup) write(file, text string) error {
	return os.WriteFile(filepath.Join(g.dir, file), []byte(text), 0)
}

// groupParent returns the directory below which groups can bound threads, "" if there is none. What was left there by
// processes that are gone is removed.
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
			// A group of version 2 that has processes has no groups with controllers below it. Beside it there may be.
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
			_ = removeGroup(dir) // which fails while something lives in it
		}
	}
}

// removeGroup removes a group, and those below it that a process in it made which is one of ours and is gone.
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
				runtime.UnlockOSThread() // else the thread ends with its goroutine
			}
		}
		started <- err
	}()
	return <-started
}

// enter sees to it that a process which the calling thread starts with attr is in the group. Leave ends that.
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

// remove kills what is in the group, which cannot grow any more, and removes it. The supervisor is not killed: in version 1 a
// thread of it may not have ended yet.
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
			// Our own process is a member as long as one of its threads is.
			if pid, err := strconv.Atoi(string(field)); err == nil && pid != os.Getpid() && pid != supervisor && pid > 0 {
				_ = unix.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}
