package session

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/observe"
	"github.com/sdd-eval/sdd-eval/internal/panics"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// Log is a unit's session log: every frame in the order of the wire, what the agent wrote to stderr, what it was
// denied, and sdd-eval's notes; a line of JSON each, without secrets. A log without a file passes on notes alone.
type Log struct {
	secrets *secret.Set
	unit    string
	notes   io.Writer // gets everything but frames
	now     func() time.Time

	mu     sync.Mutex
	place  func() (dir string, err error) // nil: it has no file
	file   *os.File                       // nil: not opened, or closed
	size   int                            // bytes that were written
	known  int                            // how many secrets there were when it was opened
	framed bool                           // it has frames of this attempt
	err    error
}

// logLine is one line of the log.
type logLine struct {
	At        time.Time       `json:"at"`
	Kind      string          `json:"kind"` // frame, stderr, denied, note
	Direction acp.Direction   `json:"direction,omitempty"`
	Frame     json.RawMessage `json:"frame,omitempty"`
	Text      string          `json:"text,omitempty"`
}

// NewLog returns the log of a unit. What is in it, frames excepted, is also written to notes.
func NewLog(secrets *secret.Set, unit string, notes io.Writer, now func() time.Time) *Log {
	return &Log{secrets: secrets, unit: unit, notes: notes, now: now}
}

// Notes receives what [Log.Notef] would write beside the log.
func (l *Log) Notes() io.Writer { return l.notes }

// Keep gives the log a file in the directory that place makes. It is there from [Log.Open] or the first line on; a
// further attempt goes on where the one before ended.
func (l *Log) Keep(place func() (dir string, err error)) { l.place = place }

// Open opens the log's file if it has one: before something runs that could put another in its place.
func (l *Log) Open() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.open(); err != nil {
		return fmt.Errorf("write the session log: %w", err)
	}
	return nil
}

func (l *Log) open() error {
	if l.place == nil || l.file != nil {
		return nil
	}
	dir, err := l.place()
	if err == nil {
		l.file, err = os.OpenFile(filepath.Join(dir, rundir.SessionLog),
			os.O_WRONLY|os.O_CREATE|os.O_APPEND|disk.Nonblock, 0o644)
	}
	l.known = l.secrets.Len()
	return err
}

// Close ends the log. It returns the first error of writing: a log with holes is none. With an error of check, somebody
// has put something else in the place of the log's directory, and the file is left as it is.
func (l *Log) Close(check func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.err
	if l.file != nil {
		path := l.file.Name()
		err = errors.Join(err, l.file.Close())
		if check() == nil { // else the unit has failed for it
			err = errors.Join(err, l.seal(path))
		}
	}
	l.place, l.file, l.err = nil, nil, nil
	if err != nil {
		return fmt.Errorf("write the session log: %w", err)
	}
	return nil
}

// frame takes a frame as [acp.ClientConfig.Tap] gives it.
func (l *Log) frame(f acp.Frame) {
	line := logLine{At: f.Time, Kind: "frame", Direction: f.Direction}
	if f.Err == nil {
		line.Frame = f.Raw
	} else {
		line.Text = fmt.Sprintf("(%v) %s", f.Err, toText(f.Raw))
	}
	l.write(line)
}

func (l *Log) denied(d error) { l.tell("denied", d.Error()) }

// Notef adds a note.
func (l *Log) Notef(format string, args ...any) { l.tell("note", fmt.Sprintf(format, args...)) }

func (l *Log) tell(kind, text string) {
	text = l.secrets.Guess(text)
	fmt.Fprintf(l.notes, "%s: %s\n", l.unit, text)
	l.write(logLine{At: l.now(), Kind: kind, Text: text})
}

func (l *Log) write(line logLine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = l.open()
	}
	if l.file == nil || l.err != nil {
		return
	}
	l.framed = l.framed || line.Kind == "frame"
	data, err := json.Marshal(line)
	if err == nil {
		data = append(l.secrets.GuessJSON(data), '\n')
		if l.size += len(data); l.size > maxLog {
			l.err = fmt.Errorf("the agent has sent more than %d MiB", maxLog>>20)
			return
		}
		_, err = l.file.Write(data)
	}
	l.err = err
}

// maxLog is how much a log may have, in bytes: twice what a session may collect, for what does not count there, such as
// what an agent replaces.
const maxLog = 2 * observe.MaxSession

// stderr returns what takes the agent's standard error, to be closed at its end.
func (l *Log) stderr() *stderrWriter {
	lines := &stderrLines{Log: l, left: maxStderr, last: excerpt.Tail{Limit: lastWordsSize}}
	return &stderrWriter{masked: l.secrets.Writer(lines), lines: lines}
}

// stderrWriter takes secrets out of what is written to it before it looks for lines.
type stderrWriter struct {
	masked *secret.Writer
	lines  *stderrLines
}

// Write runs on a goroutine of the agent's process. Neither there nor in Close may a panic of who gets the notes keep
// the agent from being ended.
func (w *stderrWriter) Write(p []byte) (n int, err error) {
	err = panics.Catch(func() error {
		n, err = w.masked.Write(p)
		return err
	})
	return n, err
}

// explain adds to how the process ended what it wrote last, without secrets: often that is why.
func (w *stderrWriter) explain(err error) error {
	_ = w.Close() // it says again what is wrong
	text, _ := w.lines.last.Text(true)
	if text = strings.TrimSpace(text); text != "" {
		err = fmt.Errorf("%w, and said: %s", err, text)
	}
	return err
}

// Close logs what is still held back.
func (w *stderrWriter) Close() error {
	return panics.Catch(func() error {
		err := w.masked.Close()
		if len(w.lines.part) > 0 {
			w.lines.flush()
		}
		return err
	})
}

// maxStderr is how much of what an agent writes to stderr is logged, in bytes.
const maxStderr = 1 << 20

// lastWordsSize is how much of the end of it goes into the error of an agent that ended by itself, in bytes.
const lastWordsSize = 1 << 10

// maxStderrLine is how long a line of it may be before it is broken.
const maxStderrLine = 64 << 10

// stderrLines passes on the beginning of what is written to it, by lines.
type stderrLines struct {
	*Log
	left int
	part []byte
	last excerpt.Tail
}

func (s *stderrLines) Write(p []byte) (int, error) {
	n := len(p)
	_, _ = s.last.Write(p) // it never fails
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
		s.Notef("the agent wrote more to stderr, which is not kept")
	}
	return n, nil
}

func (s *stderrLines) flush() {
	s.write(logLine{At: s.now(), Kind: "stderr", Text: toText(s.part)})
	s.part = nil
}

// toText makes text of what may be none.
func toText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string(bytes.ToValidUTF8(b, []byte("\uFFFD")))
}

// seal masks what a session log shows although each of its lines was masked when it was written: secrets that became
// known later, such as a token that the agent has renewed, and one that an agent says in several chunks. The text of
// all chunks of a kind is then joined in the first of them.
func (l *Log) seal(path string) error {
	texts := make(map[string][]byte) // by kind
	if l.framed {
		err := eachLine(path, func(line []byte) error {
			if kind, text := chunkOf(line); kind != "" {
				texts[kind] = append(texts[kind], text...)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("read it again: %w", err)
		}
	}
	maps.DeleteFunc(texts, func(_ string, text []byte) bool {
		_, found := l.secrets.Contains(text)
		return !found
	})
	if len(texts) == 0 && l.secrets.Len() == l.known {
		return nil
	}
	err := l.secrets.WriteLines(path, 0o644, func(sealed io.Writer) error {
		return eachLine(path, func(line []byte) error {
			kind, _ := chunkOf(line)
			if text, ok := texts[kind]; ok {
				line = append(withText(line, string(text)), '\n')
				texts[kind] = nil
			}
			_, err := sealed.Write(line)
			return err
		})
	})
	if err != nil {
		return fault.Advise(fmt.Errorf("mask it: %w", err),
			fmt.Sprintf("remove %s: it may show secrets that became known when the session ended", path))
	}
	return nil
}

// eachLine calls f with each line of a session log, which ends with a newline unless writing failed.
func eachLine(path string, f func([]byte) error) error {
	file, err := disk.OpenRegular(path)
	if err != nil {
		return err
	}
	defer file.Close()
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			if err := f(line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// chunkOf returns the kind of update and the text of a line that is a chunk of text, else no kind.
func chunkOf(line []byte) (kind, text string) {
	if !bytes.Contains(line, []byte(`_chunk"`)) {
		return "", ""
	}
	var l struct {
		Frame struct {
			Params struct {
				Update struct {
					Kind    string `json:"sessionUpdate"`
					Content struct {
						Text *string `json:"text"`
					} `json:"content"`
				} `json:"update"`
			} `json:"params"`
		} `json:"frame"`
	}
	if err := json.Unmarshal(line, &l); err != nil || l.Frame.Params.Update.Content.Text == nil {
		return "", "" // not of that form
	}
	return l.Frame.Params.Update.Kind, *l.Frame.Params.Update.Content.Text
}

// withText returns a chunk's line with another text.
func withText(line []byte, text string) []byte {
	var l map[string]any
	if err := jsonvalue.Decode(line, &l); err != nil {
		panic(fmt.Sprintf("session: a line that was read cannot be read: %v", err))
	}
	at := l
	for _, key := range []string{"frame", "params", "update", "content"} {
		at = at[key].(map[string]any)
	}
	at["text"] = text
	changed, err := json.Marshal(l)
	if err != nil {
		panic(fmt.Sprintf("session: a line that was read cannot be written: %v", err))
	}
	return changed
}
