package cassette

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// The largest cassette that is read or written, and the longest line in it, in bytes.
const (
	maxFile = 512 << 20
	maxLine = 128 << 20
)

// Exists reports whether there is something at path, be it readable or not: what is broken is not missing.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// Read reads a cassette and makes sure that it is whole and unchanged. Its errors are [*MissingError] and
// [*CorruptError], or come from the file system.
func Read(path string) (*Cassette, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	c, bad := decode(data)
	if bad != nil {
		bad.Path = path
		return nil, bad
	}
	c.Path = path
	return c, nil
}

// open opens a file without waiting for anything: opening a FIFO would wait for a writer.
func open(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, &CorruptError{Path: path, Reason: "this is not a cassette: it is not a regular file"}
	}
	return os.Open(path)
}

func readFile(path string) ([]byte, error) {
	f, err := open(path)
	var corrupt *CorruptError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &MissingError{path}
	case errors.As(err, &corrupt):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("read cassette: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read cassette: %w", err)
	}
	if info.Size() > maxFile {
		reason := fmt.Sprintf("the cassette has %d bytes, more than the %d that one may have", info.Size(), maxFile)
		return nil, &CorruptError{Path: path, Reason: reason}
	}
	data := make([]byte, info.Size())
	n, err := io.ReadFull(f, data)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("read cassette: %w", err)
	}
	return data[:n], nil
}

// decode reads a cassette from its bytes, which it changes.
func decode(data []byte) (*Cassette, *CorruptError) {
	if bad := checkVersion(data); bad != nil {
		return nil, bad
	}
	start := bytes.LastIndexByte(bytes.TrimSuffix(data, []byte("\n")), '\n') + 1
	body, end := data[:start], data[start:]
	last := bytes.Count(body, []byte("\n")) + 1
	if key(end) != totalsKey || !bytes.HasSuffix(end, []byte("}\n")) {
		return nil, &CorruptError{Line: last, Reason: "the cassette is cut: it ends without its totals"}
	}
	want := checksums(body) // before decoding, which changes the bytes
	var recorded totalsLine
	if err := newDecoder().decode(end, &recorded); err != nil {
		return nil, &CorruptError{Line: last, Reason: "the cassette was edited: its totals are broken: " + err.Error()}
	}
	if line, reason := want.compare(recorded); line > 0 {
		return nil, &CorruptError{Line: line, Reason: reason}
	}
	c, line, err := decodeLines(body)
	if err != nil {
		return nil, &CorruptError{Line: line, Reason: err.Error()}
	}
	for i, t := range c.Turns {
		if err := t.check(); err != nil {
			return nil, &CorruptError{Reason: fmt.Sprintf("turn %d is not one that was recorded: %v", i+1, err)}
		}
	}
	want.Totals = totalsOf(c.Turns)
	if exact, err := appendJSON(nil, want); err != nil || !bytes.Equal(exact, end) {
		return nil, &CorruptError{Line: last, Reason: "the cassette was edited: its totals are not those of its content"}
	}
	return c, nil
}

// checkVersion tells files that are no cassettes, and those of another version, from those that were changed.
func checkVersion(data []byte) *CorruptError {
	if len(bytes.TrimSpace(data)) == 0 {
		return &CorruptError{Line: 1, Reason: "the cassette is cut: it is empty"}
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	rest, ok := bytes.CutPrefix(line, []byte(`{"`+headerKey+`":`))
	if !ok {
		return &CorruptError{Line: 1, Reason: "this is not a cassette: it has no header"}
	}
	if number, _, _ := bytes.Cut(rest, []byte(",")); string(number) != strconv.Itoa(Version) {
		reason := fmt.Sprintf("the cassette has format version %.20s, and this program reads version %d", number, Version)
		return &CorruptError{Line: 1, Reason: reason}
	}
	return nil
}

// reading is a cassette that is being read.
type reading struct {
	*Cassette
	decoder *decoder
	timed   bool // the times were read, which is the end
}

// decodeLines decodes everything but the totals. On an error it returns its line.
func decodeLines(data []byte) (c *Cassette, number int, err error) {
	r := reading{new(Cassette), newDecoder(), false}
	for line := range bytes.Lines(data) {
		number++
		if len(line) > maxLine {
			return nil, number, fmt.Errorf("the line has %d bytes, more than the %d that one may have", len(line), maxLine)
		}
		if err := r.line(number, line); err != nil {
			return nil, number, err
		}
	}
	if !r.timed {
		return nil, number, errors.New("the timings are missing")
	}
	return r.Cassette, number, nil
}

func (r *reading) line(number int, line []byte) error {
	switch k := key(line); {
	case number == 1:
		return r.header(line)
	case r.timed:
		return errors.New("a line after the timings")
	case k == turnKey:
		return r.turn(line)
	case k == timingsKey:
		return r.timings(line)
	case len(r.Turns) == 0:
		return errors.New("a line before the first turn")
	case k == eventKey:
		return r.event(line)
	case k == changeKey:
		return r.change(line)
	}
	return errors.New("a line of an unknown kind")
}

func (r *reading) header(line []byte) error {
	if err := r.decoder.decode(line, &r.Header); err != nil {
		return err
	}
	if r.Header.Level != LevelRun {
		return fmt.Errorf("the cassette is of level %q, and this program reads level %q", r.Header.Level, LevelRun)
	}
	return nil
}

func (r *reading) turn(line []byte) error {
	var t turnLine
	if err := r.decoder.decode(line, &t); err != nil {
		return err
	}
	if t.Turn != len(r.Turns)+1 {
		return fmt.Errorf("turn %d where turn %d should begin", t.Turn, len(r.Turns)+1)
	}
	r.Turns = append(r.Turns, Turn{})
	return nil
}

func (r *reading) event(line []byte) error {
	turn := &r.Turns[len(r.Turns)-1]
	if len(turn.Delta.Changes) > 0 {
		return errors.New("an event after the turn's changes")
	}
	body, err := r.decoder.decodeEvent(line)
	turn.Events = append(turn.Events, trajectory.Event{Turn: len(r.Turns), Body: body})
	return err
}

func (r *reading) change(line []byte) error {
	var l changeLine
	if err := r.decoder.decode(line, &l); err != nil {
		return err
	}
	change, err := l.change()
	changes := &r.Turns[len(r.Turns)-1].Delta.Changes
	if n := len(*changes); err == nil && n > 0 && (*changes)[n-1].Path >= change.Path {
		err = errors.New("the turn's changes are not sorted by path")
	}
	*changes = append(*changes, change)
	return err
}

// timings gives the events their times.
func (r *reading) timings(line []byte) error {
	var l timingsLine
	if err := r.decoder.decode(line, &l); err != nil {
		return err
	}
	if events := totalsOf(r.Turns).Events; len(l.Timings) != events {
		return fmt.Errorf("there are %d timings for %d events", len(l.Timings), events)
	}
	i := 0
	for _, t := range r.Turns {
		for e := range t.Events {
			t.Events[e].At = time.Duration(l.Timings[i]) * time.Microsecond
			i++
		}
	}
	r.timed = true
	return nil
}
