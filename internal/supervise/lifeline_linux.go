package supervise

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/helper"
)

// lifeline is our side of a supervisor, which ends when control is closed: by us, or because we ended.
type lifeline struct {
	supervisor *exec.Cmd
	control    *os.File
	program    helper.Program
	// stderr is the supervisor's standard error until its first child has started: there it says why it cannot start
	// one. It is nil in an enclosure, where the standard error is the child's.
	stderr *os.File
	// enclosed means that the supervisor is the first process of a namespace.
	enclosed bool
	// locked means that the supervisor locks down all its children. With the first one it gave up its own right to dump
	// core.
	locked bool
	expiry *time.Timer // ends it if it is idle
}

// idleTime is how long a supervisor without a child is kept.
const idleTime = 5 * time.Second

// idle has the supervisors whose child has ended with all its descendants. They are kept for the next child, since
// starting a supervisor costs several times as much as a small child does. There are at most GOMAXPROCS of them.
var idle struct {
	sync.Mutex
	lifelines []*lifeline
}

// startLifeline starts a supervisor.
func startLifeline(c *Command, streams *streams, group *controlGroup) (*lifeline, error) {
	program, err := helper.Find()
	if err != nil {
		return nil, err
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	l := &lifeline{control: ours, program: program, enclosed: len(c.Enclosure) > 0, locked: c.Rules != nil}
	argv := program.Command(helper.Supervisor)
	l.supervisor = &exec.Cmd{
		Path: program.Path, Args: argv,
		// Nothing of our environment. One processor means fewer threads to start, which saves a quarter of the cost.
		Env:        []string{"GOMAXPROCS=1"},
		ExtraFiles: []*os.File{theirs},
		// A session of its own: no terminal sends it signals, and no process of ours can join a group of the tree.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if l.enclosed {
		argv[0] = SupervisorPath
		l.supervisor.Path, l.supervisor.Args = c.Enclosure[0], slices.Concat(c.Enclosure, argv)
		// The enclosure's command writes its errors to the child's standard error. It lives as long as the child, so
		// with the child's output, too, that would not end when the child closes it.
		l.supervisor.Stderr = streams.files[2]
		err = group.start(l.supervisor)
	} else { // outside the group, so that the supervisor does not fail when the tree takes all the threads
		err = l.startWithStderr()
	}
	if err != nil {
		ours.Close()
		return nil, fmt.Errorf("supervisor: %w", err)
	}
	return l, nil
}

// startWithStderr starts the supervisor with a pipe as its standard error.
func (l *lifeline) startWithStderr() error {
	stderr, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer theirs.Close()
	l.supervisor.Stderr = theirs
	if err := l.supervisor.Start(); err != nil {
		stderr.Close()
		return l.program.Failed(err)
	}
	l.stderr = stderr
	return nil
}

// closeStderr closes our end of the supervisor's standard error, if it is still open.
func (l *lifeline) closeStderr() {
	if l.stderr != nil {
		l.stderr.Close()
		l.stderr = nil
	}
}

// death says how a supervisor ended that did not start its child. It reads stderr to its end.
func (l *lifeline) death(cause error) string {
	if errors.Is(cause, os.ErrDeadlineExceeded) { // we killed it
		return fmt.Sprintf("it did not answer in %v", startTimeout)
	}
	how := l.supervisor.ProcessState.String()
	if l.stderr == nil {
		return how
	}
	_ = l.stderr.SetReadDeadline(time.Now().Add(pipeDelay))
	said, _ := io.ReadAll(io.LimitReader(l.stderr, maxStderr))
	if text := strings.TrimSpace(string(said)); text != "" {
		how += ": " + text
	}
	return how
}

// maxStderr is how many bytes of a supervisor's standard error are read.
const maxStderr = 4 << 10

// takeIdle returns an idle supervisor, or nil if there is none.
func takeIdle(locked bool) *lifeline {
	idle.Lock()
	defer idle.Unlock()
	for i, l := range slices.Backward(idle.lifelines) {
		if l.locked == locked {
			l.expiry.Stop()
			idle.lifelines = slices.Delete(idle.lifelines, i, i+1)
			return l
		}
	}
	return nil
}

// release keeps a supervisor whose child has ended for a while, or ends it. The supervisor of an enclosure always ends.
func (l *lifeline) release() {
	if l.enclosed || !l.keep() {
		l.end()
	}
}

func (l *lifeline) keep() bool {
	idle.Lock()
	defer idle.Unlock()
	// The deadline was set if the supervisor was asked to kill its child.
	if len(idle.lifelines) >= runtime.GOMAXPROCS(0) || l.control.SetDeadline(time.Time{}) != nil {
		return false
	}
	idle.lifelines = append(idle.lifelines, l)
	l.expiry = time.AfterFunc(idleTime, func() { endIdle(func(other *lifeline) bool { return other == l }) })
	return true
}

// EndIdle ends the supervisors that are kept for later children. They would end by themselves, soon or when we do: it
// is for tests that count processes and descriptors.
func EndIdle() { endIdle(func(*lifeline) bool { return true }) }

// endIdle ends the idle supervisors for which match is true.
func endIdle(match func(*lifeline) bool) {
	idle.Lock()
	var ending []*lifeline
	idle.lifelines = slices.DeleteFunc(idle.lifelines, func(l *lifeline) bool {
		if match(l) {
			ending = append(ending, l)
			return true
		}
		return false
	})
	idle.Unlock()
	for _, l := range ending {
		l.end()
	}
}

// end ends a supervisor without a child.
func (l *lifeline) end() {
	l.control.Close()
	if !l.enclosed {
		_ = l.supervisor.Process.Kill() // it may be stopped
	}
	_ = l.supervisor.Wait()
}
