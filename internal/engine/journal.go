package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/sandbox"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// journal is a unit's session log: every frame in the order of the wire, what the agent wrote to stderr, what it was
// denied, and notes of ours; a line of JSON each, without secrets. A journal without a file passes on notes alone.
type journal struct {
	secrets *secret.Set
	unit    string
	notes   io.Writer // is told of everything but frames
	now     func() time.Time

	mu     sync.Mutex
	file   *os.File
	framed bool // it has frames of this attempt
	err    error
}

// journalLine is one line of the log.
type journalLine struct {
	At        time.Time       `json:"at"`
	Kind      string          `json:"kind"` // frame, stderr, denied, note
	Direction acp.Direction   `json:"direction,omitempty"`
	Frame     json.RawMessage `json:"frame,omitempty"`
	Text      string          `json:"text,omitempty"`
}

// open begins to write to the log in dir; a further attempt goes on where the one before ended.
func (j *journal) open(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, rundir.SessionLog), os.O_WRONLY|os.O_CREATE|os.O_APPEND|disk.Nonblock, 0o644)
	if err != nil {
		return fmt.Errorf("write the session log: %w", err)
	}
	j.file = f
	return nil
}

// Close ends the log, whose directory has to be the one that it was opened in. It returns the first error of writing: a
// log with holes is none.
func (j *journal) Close(dirs pins) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return nil
	}
	path := j.file.Name()
	err := errors.Join(j.err, j.file.Close())
	j.file = nil
	if err == nil && j.framed && dirs.check() == nil { // else the unit has failed for it
		err = j.seal(path)
	}
	if err != nil {
		return fmt.Errorf("write the session log: %w", err)
	}
	return nil
}

// frame takes a frame as [acp.ClientConfig.Tap] gives it.
func (j *journal) frame(f acp.Frame) {
	line := journalLine{At: f.Time, Kind: "frame", Direction: f.Direction}
	if f.Err == nil {
		line.Frame = f.Raw
	} else {
		line.Text = fmt.Sprintf("(%v) %s", f.Err, toText(f.Raw))
	}
	j.write(line)
}

func (j *journal) denied(d error) { j.tell("denied", d.Error()) }

func (j *journal) notef(format string, args ...any) { j.tell("note", fmt.Sprintf(format, args...)) }

func (j *journal) tell(kind, text string) {
	text = j.secrets.String(text)
	fmt.Fprintf(j.notes, "%s: %s\n", j.unit, text)
	j.write(journalLine{At: j.now(), Kind: kind, Text: text})
}

func (j *journal) write(line journalLine) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil || j.err != nil {
		return
	}
	j.framed = j.framed || line.Kind == "frame"
	data, err := json.Marshal(line)
	if err == nil {
		_, err = j.file.Write(append(j.secrets.JSON(data), '\n'))
	}
	j.err = err
}

// stderr returns what takes the agent's standard error, to be closed at its end.
func (j *journal) stderr() *stderrWriter {
	lines := &stderrLines{journal: j, left: maxStderr}
	return &stderrWriter{masked: j.secrets.Writer(lines), lines: lines, last: sandbox.Tail{Limit: maxStderrLine}}
}

// stderrWriter takes secrets out of what is written to it before it looks for lines.
type stderrWriter struct {
	masked *secret.Writer
	lines  *stderrLines
	last   sandbox.Tail
}

func (w *stderrWriter) Write(p []byte) (int, error) {
	_, _ = w.last.Write(p) // it never fails
	return w.masked.Write(p)
}

// lastWords returns the end of what was written, without secrets: often the reason why a process ended.
func (w *stderrWriter) lastWords() string {
	text, _ := w.last.Text(true)
	// Masked before it is cut, or it could begin with the rest of a secret.
	words := sandbox.Tail{Limit: lastWordsSize}
	_, _ = words.Write([]byte(w.lines.secrets.String(text)))
	text, _ = words.Text(true)
	return strings.TrimSpace(text)
}

// Close logs what is still held back.
func (w *stderrWriter) Close() error {
	err := w.masked.Close()
	if len(w.lines.part) > 0 {
		w.lines.flush()
	}
	return err
}

// maxStderr is how much of what an agent writes to stderr is logged, in bytes.
const maxStderr = 1 << 20

// lastWordsSize is how much of the end of it goes into the error of an agent that ended by itself, in bytes.
const lastWordsSize = 1 << 10

// maxStderrLine is how long a line of it may be before it is broken.
const maxStderrLine = 64 << 10

// stderrLines passes on the beginning of what is written to it, by lines.
type stderrLines struct {
	*journal
	left int
	part []byte
}

func (s *stderrLines) Write(p []byte) (int, error) {
	n := len(p)
	if s.left == 0 {
		return n, nil
	}
	p = p[:min(n, s.left)]
	s.left -= len(p)
	if _, err := s.notes.Write(p); err != nil {
		return 0, err
	}
	for len(p) > 0 {
		line, rest, ok := bytes.Cut(p, []byte("\n"))
		s.part = append(s.part, line...)
		if ok || len(s.part) > maxStderrLine {
			s.flush()
		}
		p = rest
	}
	if s.left == 0 {
		s.flush()
		s.notef("the agent wrote more to stderr, which is not kept")
	}
	return n, nil
}

func (s *stderrLines) flush() {
	s.write(journalLine{At: s.now(), Kind: "stderr", Text: toText(s.part)})
	s.part = nil
}

// toText makes text of what may be none.
func toText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string(bytes.ToValidUTF8(b, []byte("\uFFFD")))
}
