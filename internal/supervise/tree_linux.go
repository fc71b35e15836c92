package supervise

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// startTimeout bounds the supervisor's start, which takes milliseconds.
	startTimeout = 30 * time.Second
	// killTimeout is how long a supervisor may take to kill its tree before it is killed itself. It is longer than
	// sweepTimeout, so that a working supervisor has the time to report.
	killTimeout = sweepTimeout + 5*time.Second
)

// tree is a child and its descendants, seen from our side of the socket.
type tree struct {
	*lifeline
	streams *streams
	pid     int // the child's, as it is seen inside an enclosure
	limits  Limits
	met     error // the limit for which the supervisor killed the tree, or nil
	used    Usage
	group   *controlGroup
	gone    chan struct{} // closed when nothing has to be watched any more

	mu   sync.Mutex
	over bool // the supervisor may have another child
}

// startTree runs the command below a supervisor. The streams of cmd are those of the child.
func startTree(cmd *exec.Cmd, path string, c *Command) (*tree, error) {
	streams, err := openStreams(cmd)
	if err != nil {
		return nil, err
	}
	t := &tree{streams: streams, limits: c.Limits, gone: make(chan struct{})}
	err = t.start(path, c)
	streams.handedOver()
	streams.copy()
	if err != nil {
		return nil, errors.Join(err, t.group.remove(0), streams.wait(pipeDelay)) // waits for the enclosure's messages
	}
	return t, nil
}

// start starts the child. If it cannot, there is no supervisor left either.
func (t *tree) start(path string, c *Command) (err error) {
	s := &spec{path: path, scratch: c.Scratch, rules: c.Rules, limits: c.Limits, args: c.argv(), env: c.Env}
	files := t.streams.files[:]
	t.group = newControlGroup(c.Limits)
	if len(c.Enclosure) > 0 {
		if s.dir, err = c.dirName(); err != nil {
			return err
		}
	} else {
		dir, err := c.openDir()
		if err != nil {
			return err
		}
		defer dir.Close()
		files, s.group = append(files, dir), t.group
	}
	for {
		kept, err := t.attach(c)
		if err != nil {
			return err
		}
		err = t.handshake(s, c, files)
		if err == nil {
			t.closeStderr()
			if t.group != nil && c.Limits.Memory > 0 {
				go t.watchMemory()
			}
			return nil
		}
		_ = t.supervisor.Process.Kill()
		t.end()
		silent, ok := errors.AsType[silence](err)
		if !ok {
			t.closeStderr()
			return err
		}
		// Somebody may have killed a kept supervisor. Try again only if it has not read the spec: the child must not
		// run twice.
		if !kept || !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ECONNRESET) {
			return t.explain(silent)
		}
	}
}

// attach gives the tree a supervisor, and reports whether it is one that was kept.
func (t *tree) attach(c *Command) (kept bool, err error) {
	if len(c.Enclosure) == 0 {
		if t.lifeline = takeIdle(c.Rules != nil); t.lifeline != nil {
			return true, nil
		}
	}
	t.lifeline, err = startLifeline(c, t.streams, t.group)
	return false, err
}

// dirName returns the name of the working directory for a child in an enclosure. A directory that was opened outside
// would be a way out; a name is looked up inside.
func (c *Command) dirName() (string, error) {
	if c.DirFile != nil {
		return os.Readlink(fmt.Sprintf("/proc/self/fd/%d", c.DirFile.Fd()))
	}
	return cmp.Or(c.Dir, "."), nil
}

// openDir opens the working directory. A relative name is relative to ours: the supervisor may be in another directory.
func (c *Command) openDir() (*os.File, error) {
	name := cmp.Or(c.Dir, ".")
	if c.DirFile != nil {
		name = fmt.Sprintf("/proc/self/fd/%d", c.DirFile.Fd())
	}
	fd, err := unix.Open(name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("chdir %s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// handshake sends the supervisor the spec and returns an error if the child does not run.
func (t *tree) handshake(s *spec, c *Command, files []*os.File) error {
	if err := t.control.SetDeadline(time.Now().Add(startTimeout)); err != nil {
		return err
	}
	var m report
	err := sendOrder(t.control, askRun, s.encode(), files...)
	if err == nil {
		m, err = receive(t.control)
	}
	if err != nil {
		return silence{err}
	}
	switch m.Kind {
	case started:
		t.pid = int(m.Value)
		return t.control.SetDeadline(time.Time{})
	case lockFailed:
		text, _ := io.ReadAll(io.LimitReader(t.control, int64(m.Value)))
		return fmt.Errorf("confine: %s", text)
	case dirFailed:
		return fmt.Errorf("chdir %s: %w", c.Dir, syscall.Errno(m.Value))
	default:
		return execError(s.path, syscall.Errno(m.Value))
	}
}

// silence is the error of a supervisor that does not accept the spec or does not answer.
type silence struct{ error }

func (s silence) Unwrap() error { return s.error }

// explain says why a supervisor that has ended was silent.
func (t *tree) explain(s silence) error {
	defer t.closeStderr()
	if met := t.group.met(t.limits); met != nil { // a fork bomb may be faster than its supervisor
		return met
	}
	how := t.death(s)
	if t.enclosed {
		return fmt.Errorf("%s did not start the supervisor (%s); see the command's standard error",
			filepath.Base(t.supervisor.Path), how)
	}
	return t.program.Failed(fmt.Errorf("the supervisor %s ended before it started a child: %s", t.program.Path, how))
}

func (t *tree) childID() int {
	if t.enclosed {
		return 0
	}
	return t.pid
}

// terminate asks the child's process group to end.
func (t *tree) terminate() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ask(askTerminate)
}

// kill ends the tree; wait returns soon.
func (t *tree) kill() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ask(askKill)
	if !t.over {
		_ = t.control.SetReadDeadline(time.Now().Add(killTimeout)) // fails if the supervisor is gone
	}
}

// ask sends the supervisor an order. It returns no error: if the supervisor is gone, wait finds out. t.mu is held.
func (t *tree) ask(what byte) {
	if t.over {
		return
	}
	_ = t.supervisor.Process.Signal(unix.SIGCONT) // the child may have stopped it
	_ = sendOrder(t.control, what, nil)
}

// wait returns when the tree is gone.
func (t *tree) wait() (Exit, error) {
	exit, err := t.outcome()
	close(t.gone)
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	if err == nil {
		t.release()
	} else {
		_ = t.supervisor.Process.Kill() // it may be stopped, or already gone
		if !t.enclosed {
			_ = unix.Kill(-t.pid, unix.SIGKILL)
		}
		t.end()
	}
	// It may also have ended an enclosed supervisor, which could have no thread or memory itself.
	if met := cmp.Or(t.met, t.group.met(t.limits)); met != nil {
		err = met
	}
	t.used.Throttled = t.group.throttled()
	if groupErr := t.group.remove(t.supervisor.Process.Pid); err == nil {
		err = groupErr
	}
	if streamsErr := t.streams.wait(pipeDelay); streamsErr != nil && err == nil {
		err = fmt.Errorf("streams: %w", streamsErr)
	}
	return exit, err
}

// watchMemory kills the tree once the kernel has killed one of its processes for want of memory: what the others do
// now is not what they would have done.
func (t *tree) watchMemory() {
	look := time.NewTicker(lastLook)
	defer look.Stop()
	for {
		select {
		case <-t.gone:
			return
		case <-look.C:
		}
		if t.group.outOfMemory() {
			t.kill()
			return
		}
	}
}

// outcome reads the supervisor's last reports.
func (t *tree) outcome() (Exit, error) {
	exit, of := Exit{Code: -1}, "child"
	for {
		m, err := receive(t.control)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return exit, fmt.Errorf("the supervisor did not end process %d in %v", t.pid, killTimeout)
		case err != nil:
			return exit, fmt.Errorf("the supervisor ended before its %s; it may have been killed", of)
		}
		switch m.Kind {
		case metThreads:
			t.met = &LimitError{Processes, int64(m.Value), int64(t.limits.Threads)}
		case metMemory:
			t.met = &LimitError{Memory, int64(m.Value), t.limits.Memory}
		case metDisk:
			t.met = &LimitError{Disk, int64(m.Value), t.limits.Disk}
		case exited:
			exit, of = exitOf(syscall.WaitStatus(m.Value)), "child's descendants"
			t.used = Usage{Memory: m.Memory, CPU: time.Duration(m.CPU), Disk: m.Disk}
		case left:
			if m.Value > 0 {
				return exit, fmt.Errorf("could not kill %d processes that the child left behind", m.Value)
			}
			return exit, nil
		}
	}
}

func exitOf(status syscall.WaitStatus) Exit {
	if !status.Signaled() {
		return Exit{Code: status.ExitStatus()}
	}
	name := unix.SignalName(status.Signal())
	if name == "" {
		name = fmt.Sprintf("signal %d", status.Signal())
	}
	return Exit{Code: -1, Signal: name}
}

// socketPair returns the two ends of a stream. Only ours has deadlines.
func socketPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		_ = unix.Close(fds[0])
		_ = unix.Close(fds[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fds[0]), "supervisor"), os.NewFile(uintptr(fds[1]), "lifeline"), nil
}
