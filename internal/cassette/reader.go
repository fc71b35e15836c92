package cassette

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// maxHeld is how many bytes of changed files [Open] keeps in memory.
const maxHeld = 8 << 20

// Read reads a cassette, compressed or not, and makes sure that it is whole and unchanged. Its errors are [*MissingError]
// and [*CorruptError], or come from the file system.
func Read(path string) (*Cassette, error) { return read(path, maxFile) }

// Open is [Read] for a cassette that is to be played: where the contents of changed files are larger than 8 MiB, they stay
// in the file until a [Player] needs them. Such a cassette can neither be written nor compared.
func Open(path string) (*Cassette, error) { return read(path, maxHeld) }

// read reads a cassette. Of the contents of changed files it keeps all, or nothing if there is not room enough.
func read(path string, room int) (*Cassette, error) {
	src, err := open(path)
	if err != nil {
		return nil, err
	}
	c, err := scan(src, room)
	name := src.file.Name()
	if err := errors.Join(explain(err, name), src.Close()); err != nil {
		return nil, err
	}
	c.Path = name
	if c.deferred != nil {
		c.deferred.file = name
	}
	return c, nil
}

// scan reads a cassette's text. An error in the text is a [*CorruptError] without a path.
func scan(text io.Reader, room int) (*Cassette, error) {
	lines := newLineReader(text)
	defer lines.release()
	r := reading{Cassette: new(Cassette), decoder: newDecoder(), sums: newSums(), room: room}
	end := 0 // the line of the totals, where there is more behind them
	for {
		line, err := lines.next()
		switch {
		case errors.Is(err, io.EOF) && lines.number == 0:
			return nil, &CorruptError{Line: 1, Reason: "the cassette is cut: it is empty"}
		case errors.Is(err, io.EOF) && end > 0:
			reason := fmt.Sprintf("the cassette was edited: it has %s too many, behind its totals", count(lines.number-end, "line", "lines"))
			return nil, &CorruptError{Line: end + 1, Reason: reason}
		case errors.Is(err, io.EOF):
			return nil, &CorruptError{Line: lines.number, Reason: "the cassette is cut: it ends without its totals"}
		case err != nil:
			return nil, err
		}
		if lines.number == 1 {
			if bad := checkVersion(line); bad != nil {
				return nil, bad
			}
		}
		if key(line) == totalsKey {
			line = bytes.Clone(line)
			if lines.last() {
				return r.end(lines.number, line)
			}
			end = lines.number
		}
		r.sums.add(line) // before decoding, which changes the bytes
		if r.bad == nil {
			if err := r.line(lines.number, line); err != nil {
				r.bad = &CorruptError{Line: lines.number, Reason: err.Error()}
			}
		}
	}
}

// end makes sure by its totals line that what was read is what was recorded.
func (r *reading) end(number int, line []byte) (*Cassette, error) {
	if !bytes.HasSuffix(line, []byte("}\n")) {
		return nil, &CorruptError{Line: number, Reason: "the cassette is cut: it ends without its totals"}
	}
	want := r.sums.totals()
	var recorded totalsLine
	if err := newDecoder().decode(line, &recorded); err != nil {
		return nil, &CorruptError{Line: number, Reason: "the cassette was edited: its totals are broken: " + err.Error()}
	}
	if line, reason := want.compare(recorded); line > 0 {
		return nil, &CorruptError{Line: line, Reason: reason}
	}
	if r.bad != nil {
		return nil, r.bad
	}
	if !r.timed {
		return nil, &CorruptError{Line: number - 1, Reason: "the timings are missing"}
	}
	for i, t := range r.Turns {
		if err := t.check(); err != nil {
			return nil, &CorruptError{Reason: fmt.Sprintf("turn %d is not one that was recorded: %v", i+1, err)}
		}
	}
	want.Totals = totalsOf(r.Turns)
	if exact, err := appendJSON(nil, want); err != nil || !bytes.Equal(exact, line) {
		return nil, &CorruptError{Line: number, Reason: "the cassette was edited: its totals are not those of its content"}
	}
	if r.deferred != nil {
		r.deferred.sums = want.Lines
	}
	return r.Cassette, nil
}

// checkVersion tells by their first line files that are no cassettes, and those of another version, from those that were
// changed.
func checkVersion(line []byte) *CorruptError {
	if len(bytes.TrimSpace(line)) == 0 {
		return &CorruptError{Line: 1, Reason: "the cassette is cut: its first line is empty"}
	}
	rest, ok := bytes.CutPrefix(line, []byte(`{"`+headerKey+`":`))
	if !ok {
		return &CorruptError{Line: 1, Reason: "this is not a cassette: it has no header"}
	}
	if number, _, _ := bytes.Cut(rest, []byte(",")); string(number) != strconv.Itoa(Version) {
		reason := fmt.Sprintf("the cassette has format version %.20s, and this program reads version %d", number, Version)
		return &CorruptError{Line: 1, Reason: reason}
	}
	if bytes.HasSuffix(line, []byte("\r\n")) {
		return &CorruptError{Line: 1, Reason: "the lines end with CRLF, as git may make them: write `cassettes/** -text` in " +
			".gitattributes, remove the file and check it out again"}
	}
	return nil
}

// reading is a cassette that is being read.
type reading struct {
	*Cassette
	decoder *decoder
	sums    *sums
	bad     *CorruptError // the first line that cannot be decoded; it may be one that was edited
	timed   bool          // the times were read, which is the end
	room    int           // bytes that the contents of changed files may still have
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
	if !slices.Contains(levels, r.Header.Level) {
		return fmt.Errorf("the cassette is of level %q, and this program reads levels %s", r.Header.Level, strings.Join(levels, ", "))
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
	r.room -= len(change.Data)
	if r.room < 0 && r.deferred == nil {
		r.deferContents()
	}
	if r.deferred != nil {
		change.Data = nil
	}
	*changes = append(*changes, change)
	return err
}

// deferContents drops the contents of changed files: there is not room enough for all.
func (r *reading) deferContents() {
	r.deferred = new(deferred)
	for _, t := range r.Turns {
		for i := range t.Delta.Changes {
			t.Delta.Changes[i].Data = nil
		}
	}
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

// The largest cassette that is read or written, and the longest line in it, in bytes before they are compressed, and how
// many lines it may have.
const (
	maxFile  = 512 << 20
	maxLine  = 128 << 20
	maxCount = 4 << 20
)

// lineReader reads the lines of a cassette.
type lineReader struct {
	in     *bufio.Reader
	long   []byte // the line, if it is longer than the buffer of in
	number int    // of the last line
	read   int64  // bytes of all lines so far
}

// maxBuffer is how much of a file is read at a time.
const maxBuffer = 64 << 10

// buffers are those of readers that were released.
var buffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, maxBuffer) }}

// newLineReader returns a reader of the lines of a file.
func newLineReader(r io.Reader) *lineReader {
	in := buffers.Get().(*bufio.Reader)
	in.Reset(r)
	return &lineReader{in: in}
}

// release gives the buffer, and with it the last line, to others.
func (l *lineReader) release() {
	l.in.Reset(nil)
	buffers.Put(l.in)
	l.in = nil
}

// next returns the next line with its line break, if it has one; the caller may change it until the next call. After the
// last line the error is io.EOF.
func (l *lineReader) next() ([]byte, error) {
	line, err := l.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.long = l.long[:0]
		for errors.Is(err, bufio.ErrBufferFull) && len(l.long) <= maxLine {
			l.long = append(l.long, line...)
			line, err = l.in.ReadSlice('\n')
		}
		l.long = append(l.long, line...)
		line = l.long
	}
	if len(line) == 0 {
		return nil, err
	}
	l.number++
	l.read += int64(len(line))
	switch {
	case len(line) > maxLine:
		return nil, &CorruptError{Line: l.number, Reason: fmt.Sprintf("the line has more than the %d bytes that one may have", maxLine)}
	case l.read > maxFile:
		return nil, &CorruptError{Line: l.number, Reason: fmt.Sprintf("the cassette has more than the %d bytes that one may have", maxFile)}
	case l.number > maxCount:
		return nil, &CorruptError{Line: l.number, Reason: fmt.Sprintf("the cassette has more than the %d lines that one may have", maxCount)}
	case errors.Is(err, io.EOF):
		return line, nil
	}
	return line, err
}

// last tells whether there is nothing behind the last line. It may write over that line.
func (l *lineReader) last() bool {
	_, err := l.in.Peek(1)
	return errors.Is(err, io.EOF)
}
