package supervise

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/lockdown"
)

// Main is the program [helper.Supervisor]. It does not return.
func Main([]string) int {
	runtime.LockOSThread()
	(&supervisor{control: os.NewFile(controlFD, "control"), specs: make(chan *spec)}).run()
	return 0
}

// supervisor is the process between us and a child, and then perhaps another. It runs on one thread that never ends: the
// child's parent-death signal is bound to it.
type supervisor struct {
	control *os.File
	specs   chan *spec

	mu     sync.Mutex
	child  *child // nil: there is none to be signalled
	broken bool   // the lifeline is, so that no child may live
}

// run does the supervisor's whole life and ends the process, by the bare system call: what a binary does at its exit (a
// race or coverage report, say) is not for the supervisor.
func (s *supervisor) run() {
	closeOnExec()
	dropStreams()
	// The supervisor ends when its work does. The signals are caught, not ignored: the child would inherit that. What was
	// ignored already, as nohup does, the child is to inherit.
	for _, sig := range []os.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM} {
		if !signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		s.fail(runFailed, err)
	}
	go s.listen()
	for spec := range s.specs {
		s.supervise(spec)
	}
	syscall.Exit(0)
}

// supervise sees one child through to its end, and that of all its descendants.
func (s *supervisor) supervise(spec *spec) {
	if err := spec.enter(); err != nil {
		s.fail(dirFailed, err)
	}
	c := &child{pid: s.startBounded(spec), gone: make(chan struct{})}
	spec.leave()
	s.adopt(c)
	s.tell(report{started, uint32(c.pid)})
	if spec.maxThreads > 0 {
		go s.bound(c, spec.maxThreads)
	}
	status := c.await()
	s.adopt(nil)
	n := sweep()
	if err := (report{exited, uint32(status)}).send(s.control); err != nil && spec.scratch != "" { // our end has gone, and cleans nothing up
		_ = disk.RemoveAll(spec.scratch)
	}
	s.tell(report{left, uint32(n)})
	if n > 0 || os.Getpid() == 1 { // an enclosure is for one child
		syscall.Exit(0)
	}
}

// adopt makes c the child that is signalled, nil for none. With the lifeline broken, it is killed.
func (s *supervisor) adopt(c *child) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.child = c
	if s.broken {
		s.signal(unix.SIGKILL)
	}
}

// signal signals the child, if there is one. s.mu is held.
func (s *supervisor) signal(sig syscall.Signal) {
	if s.child != nil {
		s.child.signal(sig)
	}
}

// closeOnExec keeps the child from getting the supervisor's descriptors, and those that some ancestor of ours left open,
// as make does with its job server.
func closeOnExec() {
	if unix.CloseRange(controlFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) != nil { // Linux before 5.11
		unix.CloseOnExec(controlFD)
	}
}

// tell reports to our end. If that is gone, the report is dropped.
func (s *supervisor) tell(r report) { _ = r.send(s.control) }

func (s *supervisor) fail(kind reportKind, err error) {
	errno, _ := errors.AsType[syscall.Errno](err)
	s.tell(report{kind, uint32(errno)})
	syscall.Exit(1)
}

// lockFailed tells that the child could not be locked down.
func (s *supervisor) lockFailed(err error) {
	text := err.Error()
	s.tell(report{lockFailed, uint32(len(text))})
	_, _ = s.control.WriteString(text)
	syscall.Exit(1)
}

// start starts the child and returns its process id.
func (s *supervisor) start(spec *spec) int {
	attr := &syscall.ProcAttr{Env: spec.env, Files: make([]uintptr, streamFiles), Sys: &syscall.SysProcAttr{Setpgid: true}}
	for i := range attr.Files {
		attr.Files[i] = uintptr(spec.files[i])
	}
	if spec.rules == nil && spec.group == nil {
		attr.Sys.Pdeathsig = syscall.SIGKILL
		return s.forkExec(spec, attr)
	}
	// A thread that is locked down starts the child, which inherits that, and ends with its goroutine: with it around, the
	// child could kill all of the supervisor through its one thread in the same Landlock domain. There is no parent-death
	// signal then, which would come at the end of the thread.
	started := make(chan int)
	go func() {
		runtime.LockOSThread()
		leave := func() error { return nil }
		if spec.group != nil {
			var err error
			if leave, err = spec.group.enter(attr.Sys); err != nil {
				s.lockFailed(fmt.Errorf("enter the control group: %w", err))
			}
		}
		if spec.rules != nil {
			if err := lockdown.Thread(*spec.rules); err != nil {
				s.lockFailed(err)
			}
		}
		pid := s.forkExec(spec, attr)
		_ = leave() // a thread that is locked down leaves a group by its end
		started <- pid
	}()
	return <-started
}

func (s *supervisor) forkExec(spec *spec, attr *syscall.ProcAttr) int {
	pid, err := syscall.ForkExec(spec.path, spec.args, attr)
	if err != nil {
		s.fail(runFailed, err)
	}
	return pid
}

// enter goes to the child's working directory.
func (s *spec) enter() error {
	if s.dir != "" {
		return unix.Chdir(s.dir)
	}
	return unix.Fchdir(s.files[streamFiles])
}

// leave gives up what the child has now: its streams, so that others see them end when the child's processes close them,
// and its directory.
func (s *spec) leave() {
	for _, fd := range s.files {
		_ = unix.Close(fd)
	}
	_ = unix.Chdir("/")
}

// listen does what it is asked until the lifeline breaks, and then kills the child.
func (s *supervisor) listen() {
	for {
		what, text, files, err := receiveOrder(s.control)
		if err == nil && what == askRun {
			var next *spec
			if next, err = decodeSpec(text, files); err == nil {
				s.specs <- next
			}
		}
		s.mu.Lock()
		switch {
		case err != nil:
			s.broken = true
			s.signal(unix.SIGKILL)
		case what == askKill:
			s.signal(unix.SIGKILL)
		case what == askTerminate:
			s.signal(unix.SIGTERM)
		}
		s.mu.Unlock()
		if err != nil {
			close(s.specs)
			return
		}
	}
}

// dropStreams gives up the streams that the supervisor was started with.
func dropStreams() {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	for fd := range 3 {
		if err == nil {
			err = unix.Dup3(null, fd, 0)
		}
		if err != nil {
			_ = unix.Close(fd)
		}
	}
	_ = unix.Close(null)
}

// child is the supervisor's direct child.
type child struct {
	pid  int
	gone chan struct{} // closed when it has ended

	mu    sync.Mutex
	ended bool // the process id may be another's
}

// signal sends sig to the child's process group, and to the child itself in case it has left that.
func (c *child) signal(sig syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	if pgid, err := unix.Getpgid(c.pid); err != nil || pgid != c.pid {
		_ = unix.Kill(c.pid, sig)
	}
	_ = unix.Kill(-c.pid, sig) // nothing is in the group if the child left it alone
}

// await returns the child's wait status when it has ended. Orphans that end before are reaped.
func (c *child) await() syscall.WaitStatus {
	for {
		pid := nextZombie()
		if pid == c.pid {
			break
		}
		_, _ = unix.Wait4(pid, nil, 0, nil)
	}
	// As long as the child is a zombie, the number of its group is nobody else's. Killing the group is one act, which no
	// process in it can escape by forking; sweep has to run after each process.
	c.signal(unix.SIGKILL)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	close(c.gone)
	var status syscall.WaitStatus
	_, _ = syscall.Wait4(c.pid, &status, 0, nil)
	return status
}

// nextZombie waits until a child of ours has ended, and leaves it a zombie.
func nextZombie() (pid int) {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if err == nil {
			break
		}
		if err != unix.EINTR { // cannot be: there is a child. Our end takes over.
			syscall.Exit(1)
		}
	}
	// The process id is in what x/sys declares as padding: after three ints, aligned as a pointer is.
	const align = unsafe.Sizeof(uintptr(0))
	const offset = (3*4 + align - 1) &^ (align - 1)
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), offset)))
}

// sweepTimeout bounds the end of the descendants: only one that we may not kill (it became another user's) or that hangs
// in the kernel lasts that long.
const sweepTimeout = 5 * time.Second

// sweepInterval is the time that a killed process has to end before sweep looks again. Short: one that forks is chased.
const sweepInterval = 200 * time.Microsecond

// sweep kills and reaps all children until there are none, and returns how many it could not kill. The children of those
// it kills become its children, so that it gets hold of every descendant; and as only we can reap our children, no process
// id in hand can have become that of a stranger.
func sweep() (left int) {
	deadline := time.Now().Add(sweepTimeout)
	for {
		if reap() {
			return 0
		}
		pids := children()
		if time.Now().After(deadline) {
			return max(len(pids), 1)
		}
		if os.Getpid() == 1 { // of a namespace: this reaches all others in it at once
			_ = unix.Kill(-1, unix.SIGKILL)
		}
		for _, pid := range pids {
			_ = unix.Kill(-pid, unix.SIGKILL) // the group it leads, if it does: see child.await
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		time.Sleep(sweepInterval)
	}
}

// reap buries the dead and reports whether there are no children left.
func reap() (none bool) {
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return true
		case pid == 0:
			return false
		}
	}
}

// children returns the process ids of our children, as far as the kernel tells: it may pass over some while others end.
func children() []int {
	pids := childrenOf(os.Getpid())
	if len(pids) == 0 { // a kernel without CONFIG_PROC_CHILDREN has no such files
		return childrenByStat()
	}
	return pids
}

// childrenOf returns the process ids of the children of a process, as far as the kernel tells.
func childrenOf(pid int) []int {
	var pids []int
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		data, err := os.ReadFile(task)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		for field := range bytes.FieldsSeq(data) {
			if pid, err := strconv.Atoi(string(field)); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// childrenByStat looks at every process there is.
func childrenByStat() []int {
	var pids []int
	self := strconv.Itoa(os.Getpid())
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		data, err := os.ReadFile(stat)
		if err != nil {
			continue // it has gone
		}
		// pid (name) state ppid: the name may contain anything.
		fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
		if len(fields) < 2 || fields[1] != self {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(stat))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
