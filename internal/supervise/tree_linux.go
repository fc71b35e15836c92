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
	// startTimeout bounds the supervisor's start, a matter of milliseconds.
	startTimeout = 30 * time.Second
	// killTimeout is how long a supervisor that was told to kill its tree may take before it is killed itself. It is
	// longer than sweepTimeout, so that a supervisor that works has the time to report.
	killTimeout = sweepTimeout + 5*time.Second
)

// tree is a child and its descendants, seen from our side of the socket.
type tree struct {
	*lifeline
	streams *streams
	pid     int // of the child; in an enclosure it counts there
	grown   int // to how many threads the tree grew, if that is why it was killed
	group   *controlGroup

	mu   sync.Mutex
	over bool // the supervisor may have another child
}

// startTree runs the command below a supervisor. The streams of cmd are those of the child.
func startTree(cmd *exec.Cmd, path string, c *Command) (*tree, error) {
	streams, err := openStreams(cmd)
	if err != nil {
		return nil, err
	}
	t := &tree{streams: streams}
	err = t.start(path, c)
	streams.handedOver()
	streams.copy()
	if err != nil {
		return nil, errors.Join(err, t.group.remove(0), streams.wait(pipeDelay)) // with what an enclosure said
	}
	return t, nil
}

// start starts the child. If it cannot, there is no supervisor left either.
func (t *tree) start(path string, c *Command) (err error) {
	s := &spec{path: path, scratch: c.Scratch, rules: c.Rules, maxThreads: c.MaxThreads, args: c.argv(), env: c.Env}
	files := t.streams.files[:]
	if c.MaxThreads > 0 {
		t.group = newControlGroup(hardLimit(c.MaxThreads))
	}
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
			t.works()
			return nil
		}
		_ = t.supervisor.Process.Kill()
		t.end()
		silent, ok := errors.AsType[silence](err)
		if !ok {
			t.works()
			return err
		}
		// A kept one may have been ended by somebody. Then it has not read what it was to run, or the child would run twice.
		if !kept || !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ECONNRESET) {
			return t.explain(silent)
		}
	}
}

// attach finds the tree a supervisor, which may be one that was kept.
func (t *tree) attach(c *Command) (kept bool, err error) {
	if len(c.Enclosure) == 0 {
		if t.lifeline = takeIdle(c.Rules != nil); t.lifeline != nil {
			return true, nil
		}
	}
	t.lifeline, err = startLifeline(c, t.streams, t.group)
	return false, err
}

// dirName returns the working directory's name: a directory that was opened outside would be a way out of an enclosure, and
// the name means only what it means inside.
func (c *Command) dirName() (string, error) {
	if c.DirFile != nil {
		return os.Readlink(fmt.Sprintf("/proc/self/fd/%d", c.DirFile.Fd()))
	}
	return cmp.Or(c.Dir, "."), nil
}

// openDir opens the working directory, which means what it means to us: a supervisor may have been started in another.
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

// handshake tells the supervisor what to run and learns whether it runs.
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

// silence is the error of a supervisor that does not listen or answer.
type silence struct{ error }

func (s silence) Unwrap() error { return s.error }

// explain says why a supervisor that has ended was silent.
func (t *tree) explain(s silence) error {
	if refused := t.refused(); refused != nil { // a fork bomb may be faster than its supervisor
		return refused
	}
	how := t.death(s)
	if t.enclosed {
		return fmt.Errorf("%s did not start the supervisor (%s); what it has to say is in the command's standard error",
			filepath.Base(t.supervisor.Path), how)
	}
	return t.program.Failed(fmt.Errorf("the supervisor %s ended before it began to work: %s", t.program.Path, how))
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
		_ = t.control.SetReadDeadline(time.Now().Add(killTimeout)) // fails if there is no supervisor any more
	}
}

// ask cannot fail in a way that matters: a supervisor that does not listen is gone, and wait sees that. t.mu is held.
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
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	if err == nil {
		t.release()
	} else {
		_ = t.supervisor.Process.Kill() // it may be stopped, or have gone already
		if !t.enclosed {
			_ = unix.Kill(-t.pid, unix.SIGKILL)
		}
		t.end()
	}
	if refused := t.refused(); refused != nil && t.grown == 0 {
		err = refused
	}
	if groupErr := t.group.remove(t.supervisor.Process.Pid); err == nil {
		err = groupErr
	}
	if streamsErr := t.streams.wait(pipeDelay); streamsErr != nil && err == nil {
		err = fmt.Errorf("streams: %w", streamsErr)
	}
	return exit, err
}

// refused is the error of a tree that was kept from growing further, nil if nothing kept it. That may have been the end of
// an enclosed supervisor, too, which has no threads left for itself then.
func (t *tree) refused() error {
	if n := t.group.refused(); n > 0 {
		return fmt.Errorf("it wanted more threads than it may have, and was refused %d times", n)
	}
	return nil
}

// outcome reads the supervisor's last reports.
func (t *tree) outcome() (Exit, error) {
	m, err := receive(t.control)
	if err == nil && m.Kind == grew {
		t.grown = int(m.Value)
		m, err = receive(t.control)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return Exit{Code: -1}, fmt.Errorf("supervisor did not end process %d in %v", t.pid, killTimeout)
	}
	if err != nil || m.Kind != exited {
		return Exit{Code: -1}, errors.New("supervisor ended before its child: was it killed?")
	}
	exit := exitOf(syscall.WaitStatus(m.Value))
	switch m, err = receive(t.control); {
	case err != nil || m.Kind != left:
		return exit, errors.New("supervisor ended before it was through with what its child left behind: was it killed?")
	case m.Value > 0:
		return exit, fmt.Errorf("%d processes that the child left behind could not be killed", m.Value)
	}
	if t.grown > 0 {
		return exit, fmt.Errorf("killed: it grew to %d threads, which is more than it may have", t.grown)
	}
	return exit, nil
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

// socketPair returns the two ends of a stream. Ours has deadlines.
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
