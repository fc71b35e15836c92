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

// lifeline is a supervisor as we see it. It ends when its control is closed, by us or by our end.
type lifeline struct {
	supervisor *exec.Cmd
	control    *os.File
	program    helper.Program
	// words is the supervisor's standard error until it works: what it writes there says why it does not. It is nil in
	// an enclosure, where the standard error is the child's.
	words *os.File
	// enclosed tells that the supervisor is the first process of a namespace.
	enclosed bool
	// locked tells that it locks down all of its children: with the first it gave up its own right to dump core.
	locked bool
	expiry *time.Timer // ends it if it is idle
}

// idleTime is how long a supervisor without a child is kept.
const idleTime = 5 * time.Second

// idle are supervisors whose child has ended with all of its descendants, kept for the next child: to start one costs
// several times as much as a small child does. They are no more than there are processors.
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
		Env:        []string{"GOMAXPROCS=1"}, // nothing of ours, and fewer threads to start: a quarter of the supervisor's cost
		ExtraFiles: []*os.File{theirs},
		// A session of its own: no terminal sends it signals, and no process of ours can be in a group of the tree's.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if l.enclosed {
		argv[0] = SupervisorPath
		l.supervisor.Path, l.supervisor.Args = c.Enclosure[0], slices.Concat(c.Enclosure, argv)
		// What makes the enclosure says there why it cannot.
		l.supervisor.Stdin, l.supervisor.Stdout, l.supervisor.Stderr = streams.files[0], streams.files[1], streams.files[2]
		err = group.start(l.supervisor)
	} else { // out of the group, the supervisor does not go down when the tree needs all that there is
		err = l.startHeard()
	}
	if err != nil {
		ours.Close()
		return nil, fmt.Errorf("supervisor: %w", err)
	}
	return l, nil
}

// startHeard starts the supervisor with a pipe for its words.
func (l *lifeline) startHeard() error {
	words, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer theirs.Close()
	l.supervisor.Stderr = theirs
	if err := l.supervisor.Start(); err != nil {
		words.Close()
		return l.program.Failed(err)
	}
	l.words = words
	return nil
}

// works is called when the supervisor has begun to work.
func (l *lifeline) works() {
	if l.words != nil {
		l.words.Close()
		l.words = nil
	}
}

// death says how a supervisor ended that did not begin to work.
func (l *lifeline) death(cause error) string {
	if errors.Is(cause, os.ErrDeadlineExceeded) { // we ended it
		return fmt.Sprintf("it did not answer in %v", startTimeout)
	}
	how := l.supervisor.ProcessState.String()
	if l.words == nil {
		return how
	}
	_ = l.words.SetReadDeadline(time.Now().Add(pipeDelay))
	said, _ := io.ReadAll(io.LimitReader(l.words, maxWords))
	l.works()
	if text := strings.TrimSpace(string(said)); text != "" {
		how += ": " + text
	}
	return how
}

// maxWords is how much of a supervisor's words is read, in bytes.
const maxWords = 4 << 10

// takeIdle returns an idle supervisor, nil if there is none.
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

// release gives up a supervisor without a child: it is kept for a while, or ends. That of an enclosure ends, with the
// enclosure.
func (l *lifeline) release() {
	if l.enclosed || !l.keep() {
		l.end()
	}
}

func (l *lifeline) keep() bool {
	idle.Lock()
	defer idle.Unlock()
	// It may have been told to kill its child, within some time.
	if len(idle.lifelines) >= runtime.GOMAXPROCS(0) || l.control.SetDeadline(time.Time{}) != nil {
		return false
	}
	idle.lifelines = append(idle.lifelines, l)
	l.expiry = time.AfterFunc(idleTime, func() { endIdle(func(other *lifeline) bool { return other == l }) })
	return true
}

// EndIdle ends the supervisors that are kept for later children. They would end soon, and with us in any case: it is for
// those who count processes and descriptors.
func EndIdle() { endIdle(func(*lifeline) bool { return true }) }

// endIdle ends the idle supervisors for which old is true.
func endIdle(old func(*lifeline) bool) {
	idle.Lock()
	var ending []*lifeline
	idle.lifelines = slices.DeleteFunc(idle.lifelines, func(l *lifeline) bool {
		if old(l) {
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
