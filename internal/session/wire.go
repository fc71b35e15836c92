package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// exitWait is how long an agent that closed its output has to exit before it is ended.
const exitWait = time.Second

var (
	// ours are the reasons for which we end a connection: the agent's process ends because of them.
	ours = []error{acp.ErrLineTooLong, acp.ErrBacklog, acp.ErrStalled}
	// gone are errors of a connection that say no more than that the other end is gone.
	gone = []error{acp.ErrEnded, io.ErrClosedPipe, os.ErrClosed, syscall.EPIPE}
)

// isOne reports whether an error is one of these.
func isOne(err error, of []error) bool {
	return slices.ContainsFunc(of, func(target error) bool { return errors.Is(err, target) })
}

// notStarted marks an error of the handshake as one that another attempt may not meet, unless the agent is one that
// cannot be spoken with.
func (s *live) notStarted(err error) error {
	if _, ok := errors.AsType[*acp.VersionError](err); ok {
		return fault.Advise(err, fmt.Sprintf("install a version of %s that speaks version %d of the protocol, "+
			"or name another program under %s.command",
			s.Launch.Command, acp.ProtocolVersion, s.Unit.Variant.AgentAt()))
	}
	err = s.exited(err)
	if metLimit(err) { // another attempt would, too
		return err
	}
	return fault.Transient(err)
}

// exited explains an error of the connection by the end of the agent's process. What the agent itself answers, the end
// of a context, and what we ended the connection for need no such explanation.
func (s *live) exited(err error) error {
	_, answered := errors.AsType[*acp.Error](err)
	if answered || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		isOne(err, ours) {
		return err
	}
	select {
	case <-s.child.Done():
	case <-time.After(exitWait):
		if errors.Is(err, acp.ErrEnded) {
			err = fmt.Errorf("%w, and goes on running", err)
		}
		return err
	}
	exit, waitErr := s.child.Wait()
	if metLimit(waitErr) {
		s.limitTold = true
		return fmt.Errorf("the agent: %w", waitErr)
	}
	ended := s.stderr.explain(fmt.Errorf("the agent ended by itself: %s", exit))
	if !isOne(err, gone) {
		ended = fmt.Errorf("%w: %w", err, ended)
	}
	return errors.Join(ended, waitErr)
}

// metLimit reports whether a process was ended because it met a limit of the machine.
func metLimit(err error) bool {
	_, ok := errors.AsType[*supervise.LimitError](err)
	return ok
}

// noise is what an agent wrote that is no message.
type noise struct {
	lines int
	first string // of them
}

// take counts a frame. It is called for one frame at a time.
func (n *noise) take(f acp.Frame) {
	if f.Err == nil || errors.Is(f.Err, acp.ErrBlank) {
		return
	}
	if n.lines++; n.lines == 1 {
		n.first = toText(f.Raw)
	}
}

// warnings implements [conversation]. What the agent did wrong without consequences may be what others stumble over.
func (s *live) warnings() []string {
	var lines []string
	if n := s.noise; n.lines > 0 {
		const text = "the agent wrote %s to its output, which is for the protocol alone: the first is %s"
		lines = append(lines, fmt.Sprintf(text,
			excerpt.Plural(n.lines, "line that is no message", "lines that are no messages"),
			excerpt.Quote(s.Secrets.String(n.first), maxShownLine)))
	}
	if s.client == nil {
		return lines
	}
	if n := s.client.Stats().Unmatched; n > 0 {
		const text = "the agent sent %s to requests that were not open: it answered twice, or what it was not asked"
		lines = append(lines, fmt.Sprintf(text, excerpt.Count(n, "answer")))
	}
	return lines
}

// maxShownLine is how many characters of a line are shown that is no message.
const maxShownLine = 120
