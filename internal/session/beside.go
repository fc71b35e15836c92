package session

import (
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/shell"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// beside looks at what the client did for an agent: files that it wrote, and commands that it ran. A call may be the
// reason for it. What was refused needs a call that is for the very same file or command and is not refused itself.
type beside struct {
	*audit
	calls  map[string]*reason
	denied map[string]bool // files and command lines of calls that were refused, until they are allowed
}

// reason is a call that may be the reason for what the client is asked.
type reason struct {
	call trajectory.ToolCall
	told bool // it was allowed, or it is reported itself
	open bool
}

// event takes the events in order.
func (b *beside) event(body trajectory.Body) {
	switch e := body.(type) {
	case trajectory.ToolStart:
		if r := b.calls[e.ID]; r != nil {
			r.open = true
		}
	case trajectory.ToolEnd:
		if r := b.calls[e.ID]; r != nil {
			r.open = false
		}
	case trajectory.Permission:
		if r := b.calls[e.ID]; r != nil {
			for _, subject := range subjects(r.call) {
				b.denied[subject] = !allows(e)
			}
		}
	case trajectory.FileWrite:
		if e.Error == "" {
			b.wrote(e.Path)
		}
	case trajectory.Terminal:
		if e.Error == "" {
			b.ran(append([]string{e.Command}, e.Args...))
		}
	}
}

// subjects are the files that a call changes, or the line of its command.
func subjects(c trajectory.ToolCall) []string {
	switch c.Kind {
	case "execute":
		if line := commandLine(c.Command()); line != "" {
			return []string{line}
		}
		return nil
	case "read", "search", "fetch":
		return nil
	}
	return filesOf(c)
}

// commandLine returns a command as one line, without the shell around it.
func commandLine(line string, argv []string) string {
	if argv != nil {
		line = shell.Join(argv)
	}
	return strings.TrimSpace(line)
}

// isFor reports whether an open call is for this file or command line, and neither refused nor forbidden without being
// reported.
func (b *beside) isFor(subject string) bool {
	return b.some(func(r *reason) bool {
		return slices.Contains(subjects(r.call), subject) &&
			(r.told || !b.refused[r.call.ID] && !b.forbids(r.call, true))
	})
}

// explained reports whether an open call may be the reason for anything of this kind: one that says which files it
// changes is the reason for no others.
func (b *beside) explained(file bool) bool {
	return b.some(func(r *reason) bool {
		return r.told && !(file && r.call.Kind != "execute" && len(filesOf(r.call)) > 0)
	})
}

func (b *beside) some(accept func(*reason) bool) bool {
	for _, r := range b.calls {
		if r.open && accept(r) {
			return true
		}
	}
	return false
}

// wrote looks at a file that the client wrote.
func (b *beside) wrote(written string) {
	file := recordedFile(written)
	b.permitted[file] = true // else it is reported here
	switch {
	case b.isFor(file):
	case b.denied[file]:
		b.report("wrote %s (although it was refused)", written)
	case b.explained(true), b.playbook.Decide("", []string{file}) == playbook.DecideAllow:
	default:
		b.report("wrote %s", written)
	}
}

// ran looks at a command that the client ran.
func (b *beside) ran(argv []string) {
	line := commandLine("", argv)
	switch {
	case len(argv) == 1 && shell.Harmless(argv[0]), shell.HarmlessWords(argv), b.isFor(line):
	case b.denied[line]:
		b.report("ran %s (although it was refused)", strings.Join(argv, " "))
	case b.explained(false):
	case b.playbook.Decide("", nil) == playbook.DecideAllow:
		b.anyFile = true
	default:
		b.report("ran %s", strings.Join(argv, " "))
	}
}
