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

// supervisor is the process between us and a child, and later perhaps between us and another one. It runs on one thread
// that never ends, since the child's parent-death signal is bound to that thread.
type supervisor struct {
	control *os.File
	specs   chan *spec

	mu     sync.Mutex
	child  *child // the child to signal, or nil
	broken bool   // the lifeline is broken, so that no child may live
}

// run supervises one child after the other and then ends the process by the bare system call, because the supervisor
// must not do what its binary does at exit, such as write a race or coverage report.
func (s *supervisor) run() {
	closeOnExec()
	dropStreams()
	// No signal may end the supervisor. Signals are caught and not ignored, because the child would inherit that. It
	// does inherit signals that were ignored already, as nohup does.
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

// supervise starts a child and returns when it and all its descendants have ended.
func (s *supervisor) supervise(spec *spec) {
	if err := spec.enter(); err != nil {
		s.fail(dirFailed, err)
	}
	g := newGauge(spec.limits)
	c := &child{pid: s.startBounded(spec), gone: make(chan struct{})}
	spec.leave()
	s.adopt(c)
	s.tell(report{Kind: started, Value: uint64(c.pid)})
	var watching sync.WaitGroup
	watching.Go(func() { s.watch(c, g) })
	status := c.await(g)
	s.adopt(nil)
	n := sweep(g)
	watching.Wait()
	if met := g.lookAtDisk(nil); met.Kind != 0 {
		s.tell(met)
	}
	exit := report{exited, uint64(status), max(g.seen, g.largest), int64(g.cpu), g.disk.most}
	if err := exit.send(s.control); err != nil && spec.scratch != "" {
		_ = disk.RemoveAll(spec.scratch) // the process that would have removed it is gone
	}
	s.tell(report{Kind: left, Value: uint64(n)})
	if n > 0 || os.Getpid() == 1 { // an enclosure is for one child
		syscall.Exit(0)
	}
}

// adopt makes c, which may be nil, the child that is signalled. If the lifeline is broken, the child is killed.
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

// closeOnExec keeps the child from inheriting the supervisor's descriptors, and those that one of our ancestors left
// open, as make does for its job server.
func closeOnExec() {
	if unix.CloseRange(controlFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) != nil { // Linux before 5.11
		unix.CloseOnExec(controlFD)
	}
}

// tell sends a report. If nobody can receive it, it is dropped.
func (s *supervisor) tell(r report) { _ = r.send(s.control) }

func (s *supervisor) fail(kind reportKind, err error) {
	errno, _ := errors.AsType[syscall.Errno](err)
	s.tell(report{Kind: kind, Value: uint64(errno)})
	syscall.Exit(1)
}

// lockFailed reports that the child could not be locked down.
func (s *supervisor) lockFailed(err error) {
	text := err.Error()
	s.tell(report{Kind: lockFailed, Value: uint64(len(text))})
	_, _ = s.control.WriteString(text)
	syscall.Exit(1)
}

// start starts the child and returns its process id.
func (s *supervisor) start(spec *spec) int {
	attr := &syscall.ProcAttr{
		Env: spec.env, Files: make([]uintptr, streamFiles), Sys: &syscall.SysProcAttr{Setpgid: true},
	}
	for i := range attr.Files {
		attr.Files[i] = uintptr(spec.files[i])
	}
	if spec.rules == nil && spec.group == nil {
		attr.Sys.Pdeathsig = syscall.SIGKILL
		return s.forkExec(spec, attr)
	}
	// A thread that is locked down starts the child, which inherits the restrictions. The thread then ends with its
	// goroutine: through one thread in its own Landlock domain, the child could kill the whole supervisor. There is no
	// parent-death signal, because it would be sent at the end of the thread.
	started := make(chan int)
	go func() {
		runtime.LockOSThread()
		join, err := spec.group.join(attr.Sys)
		if err != nil {
			s.lockFailed(fmt.Errorf("enter the control group: %w", err))
		}
		if spec.rules != nil {
			if err := lockdown.Thread(*spec.rules); err != nil {
				s.lockFailed(err)
			}
		}
		pid := s.forkExec(spec, attr)
		if err := join(pid); err != nil {
			_ = unix.Kill(pid, unix.SIGKILL)
			s.lockFailed(fmt.Errorf("enter the control group: %w", err))
		}
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

// enter changes to the child's working directory.
func (s *spec) enter() error {
	if s.dir != "" {
		return unix.Chdir(s.dir)
	}
	return unix.Fchdir(s.files[streamFiles])
}

// leave gives up what the child has now: its streams, so that they end when the child's processes close them, and its
// directory.
func (s *spec) leave() {
	for _, fd := range s.files {
		_ = unix.Close(fd)
	}
	_ = unix.Chdir("/")
}

// listen carries out orders until the lifeline breaks, and then kills the child.
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
	gone chan struct{} // closed when the child has ended

	mu    sync.Mutex
	ended bool // the process id may belong to another process
}

// signal sends sig to the child's process group, and to the child itself if it has left the group.
func (c *child) signal(sig syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	if pgid, err := unix.Getpgid(c.pid); err != nil || pgid != c.pid {
		_ = unix.Kill(c.pid, sig)
	}
	_ = unix.Kill(-c.pid, sig) // fails if the child has left the group and nobody else is in it
}

// await returns the child's wait status when it has ended. Until then it reaps orphans that end.
func (c *child) await(g *gauge) syscall.WaitStatus {
	var used unix.Rusage
	for {
		pid := nextZombie()
		if pid == c.pid {
			break
		}
		if _, err := unix.Wait4(pid, nil, 0, &used); err == nil {
			g.account(&used)
		}
	}
	// While the child is a zombie, no other group can have its number. Killing the group is one operation, which no
	// process in the group can escape by forking; sweep has to kill processes one by one.
	c.signal(unix.SIGKILL)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	close(c.gone)
	var status unix.WaitStatus
	if _, err := unix.Wait4(c.pid, &status, 0, &used); err == nil {
		g.account(&used)
	}
	return syscall.WaitStatus(status)
}

// nextZombie waits until a child of ours has ended, and leaves it a zombie.
func nextZombie() (pid int) {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if err == nil {
			break
		}
		if err != unix.EINTR { // cannot happen: there is a child. The other end of the lifeline takes over.
			syscall.Exit(1)
		}
	}
	// The process id is in a field that x/sys declares as padding: after three ints, aligned like a pointer.
	const align = unsafe.Sizeof(uintptr(0))
	const offset = (3*4 + align - 1) &^ (align - 1)
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), offset)))
}

// sweepTimeout bounds the time in which the descendants must end. Only a process that we may not kill, because it
// became another user's, or that hangs in the kernel takes so long.
const sweepTimeout = 5 * time.Second

// sweepInterval is the time that killed processes have to end before sweep looks again. It is short so that sweep
// catches up with a process that forks.
const sweepInterval = 200 * time.Microsecond

// sweep kills and reaps all children until there are none, and returns how many it could not kill. It reaches every
// descendant, because the children of a killed process become ours. Since only we can reap our children, none of the
// process ids can have passed to a stranger.
func sweep(g *gauge) (left int) {
	deadline := time.Now().Add(sweepTimeout)
	for {
		if reap(g) {
			return 0
		}
		pids := children()
		if time.Now().After(deadline) {
			return max(len(pids), 1)
		}
		if os.Getpid() == 1 { // we are the first process of a namespace: this kills all others in it at once
			_ = unix.Kill(-1, unix.SIGKILL)
		}
		for _, pid := range pids {
			_ = unix.Kill(-pid, unix.SIGKILL) // the group, if it leads one: see child.await
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		time.Sleep(sweepInterval)
	}
}

// reap reaps the children that have ended and reports whether there are none left.
func reap(g *gauge) (none bool) {
	var used unix.Rusage
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, &used)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return true
		case pid == 0:
			return false
		default:
			g.account(&used)
		}
	}
}

// children returns the process ids of our children. The kernel may omit some of them while others end.
func children() []int {
	pids := childrenOf(os.Getpid())
	if len(pids) == 0 { // a kernel without CONFIG_PROC_CHILDREN has no such files
		return childrenByStat()
	}
	return pids
}

// childrenOf returns the process ids of a process's children. The kernel may omit some of them while others end.
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

// childrenByStat finds our children by looking at every process of the system.
func childrenByStat() []int {
	var pids []int
	self := strconv.Itoa(os.Getpid())
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		data, err := os.ReadFile(stat)
		if err != nil {
			continue // the process has gone
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
