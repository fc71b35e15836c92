package cassette

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

// maxInMemory is how many bytes of changed files [Open] keeps in memory.
const maxInMemory = 8 << 20

// Read reads a cassette, compressed or not, and makes sure that it is whole and unchanged. Its errors are
// [*MissingError] and [*CorruptError], or come from the file system.
func Read(path string) (*Cassette, error) { return read(path, maxFile, nil) }

// Open is [Read] for a cassette that is to be played: where the contents of changed files are larger than 8 MiB, they
// stay in the file until a [Player] needs them. Such a cassette can neither be written nor compared. The cassette is in
// a tree.
func Open(tree disk.Tree, path string) (*Cassette, error) {
	if err := check(tree, path); err != nil {
		return nil, err
	}
	return read(path, maxInMemory, nil)
}

// nothing is the room of a cassette that is only looked at: neither contents nor events are kept.
const nothing = -1

// visitor is called with a line of a cassette. The bytes are its own until it returns.
type visitor func(line []byte)

// read reads a cassette. It keeps the contents of changed files, or none of them if they have more than room bytes; see
// also [nothing]. If visit is not nil, it is called with the lines of the cassette's behaviour as [Cassette.behaviour]
// writes them, also where an error follows.
func read(path string, room int, visit visitor) (*Cassette, error) {
	src, err := open(path)
	if err != nil {
		return nil, err
	}
	c, err := scan(src, room, visit)
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

// scan is read for a cassette's text. An error in the text is a [*CorruptError] without a path.
func scan(text io.Reader, room int, visit visitor) (*Cassette, error) {
	lines := newLineReader(text)
	defer lines.release()
	r := reading{
		Cassette: new(Cassette), decoder: newDecoder(), sums: newSums(), room: room, forget: room == nothing,
		visit: visit, calls: make(calls),
	}
	end := 0 // the line of the totals, if other lines follow it
	for {
		line, err := lines.next()
		switch {
		case errors.Is(err, io.EOF) && lines.number == 0:
			return nil, corruptf(1, "the cassette is empty")
		case errors.Is(err, io.EOF) && end > 0:
			extra := excerpt.Count(lines.number-end, "extra line")
			return nil, corruptf(end+1, "the cassette was edited: it has %s after its totals", extra)
		case errors.Is(err, io.EOF):
			return nil, corruptf(lines.number, truncated)
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
				r.bad = corruptf(lines.number, "%v", err)
			}
		}
	}
}

const truncated = "the cassette is truncated: it does not end with its totals line"

// end makes sure that what was read is what the totals line says was recorded.
func (r *reading) end(number int, line []byte) (*Cassette, error) {
	if !bytes.HasSuffix(line, []byte("}\n")) {
		return nil, corruptf(number, truncated)
	}
	want := r.sums.totals()
	var recorded totalsLine
	if err := newDecoder().decode(line, &recorded); err != nil {
		return nil, corruptf(number, "the cassette was edited: its totals line is malformed: %v", err)
	}
	if line, reason := want.compare(recorded); line > 0 {
		return nil, &CorruptError{Line: line, Reason: reason}
	}
	if r.bad != nil {
		return nil, r.bad
	}
	if !r.timed {
		return nil, corruptf(number-1, "the timings are missing")
	}
	for i, t := range r.Turns {
		if err := t.check(); err != nil {
			return nil, corruptf(0, "turn %d is malformed: %v", i+1, err)
		}
	}
	want.Totals, r.Sum = totalsOf(r.Turns), want.SHA256
	if exact, err := appendJSON(nil, want); err != nil || !bytes.Equal(exact, line) {
		return nil, corruptf(number, "the cassette was edited: its totals do not match its content")
	}
	if r.deferred != nil {
		r.deferred.sums = want.Lines
	}
	return r.Cassette, nil
}

// checkVersion returns an error if, by its first line, a file is not a cassette or has another version, or if git has
// converted the ends of its lines.
func checkVersion(line []byte) *CorruptError {
	if len(bytes.TrimSpace(line)) == 0 {
		return corruptf(1, "not a cassette: the first line is empty")
	}
	rest, ok := bytes.CutPrefix(line, []byte(`{"`+headerKey+`":`))
	if !ok {
		return corruptf(1, "not a cassette: there is no header")
	}
	if number, _, _ := bytes.Cut(rest, []byte(",")); string(number) != strconv.Itoa(Version) {
		return corruptf(1, "the cassette has format version %.20s, but this program reads version %d", number, Version)
	}
	if bytes.HasSuffix(line, []byte("\r\n")) {
		return corruptf(1, "the lines end with CRLF, probably converted by git: write `cassettes/** -text` in "+
			".gitattributes, remove the file and check it out again")
	}
	return nil
}

// reading is a cassette that is being read.
type reading struct {
	*Cassette
	decoder *decoder
	sums    *sums
	bad     *CorruptError // the first line that cannot be decoded; it may be one that was edited
	timed   bool          // the timings were read; only the totals may follow
	calls   calls
	room    int // how many more bytes of changed files may be kept
	forget  bool
	visit   visitor // nil: nobody looks
	shown   []byte  // the line that visit gets
}

// show lets the visitor look at v as a line.
func (r *reading) show(v any) (err error) {
	if r.visit == nil {
		return nil
	}
	if body, ok := v.(trajectory.Body); ok {
		r.shown, err = appendEvent(r.shown[:0], body)
	} else {
		r.shown, err = appendJSON(r.shown[:0], v)
	}
	if err == nil {
		r.visit(r.shown)
	}
	return err
}

func (r *reading) line(number int, line []byte) error {
	switch k := key(line); {
	case number == 1:
		return r.header(line)
	case r.timed:
		return errors.New("unexpected line after the timings")
	case k == turnKey:
		return r.turn(line)
	case k == timingsKey:
		return r.timings(line)
	case len(r.Turns) == 0:
		return errors.New("unexpected line before the first turn")
	case k == eventKey:
		return r.event(line)
	case k == changeKey:
		return r.change(line)
	}
	return errors.New("unknown kind of line")
}

func (r *reading) header(line []byte) error {
	if err := r.decoder.decode(line, &r.Header); err != nil {
		return err
	}
	if err := r.Header.check(); err != nil {
		return err
	}
	return r.show(r.Header.behaviour())
}

func (r *reading) turn(line []byte) error {
	var t turnLine
	if err := r.decoder.decode(line, &t); err != nil {
		return err
	}
	if t.Turn != len(r.Turns)+1 {
		return fmt.Errorf("found turn %d, want turn %d", t.Turn, len(r.Turns)+1)
	}
	r.Turns = append(r.Turns, Turn{})
	return r.show(t)
}

func (r *reading) event(line []byte) error {
	turn := &r.Turns[len(r.Turns)-1]
	if len(turn.Delta.Changes) > 0 {
		return errors.New("unexpected event after the turn's changes")
	}
	body, err := r.decoder.decodeEvent(line)
	kept := body
	if r.forget {
		kept = empty(body)
	}
	turn.Events = append(turn.Events, trajectory.Event{Turn: len(r.Turns), Body: kept})
	if err != nil {
		return err
	}
	if err := cmp.Or(checkEvent(body), r.calls.check(body)); err != nil {
		return err
	}
	return r.show(body)
}

// empty returns an event of nothing in the place of one that is forgotten. Those that are counted keep their kind.
func empty(body trajectory.Body) trajectory.Body {
	switch body.(type) {
	case trajectory.Prompt:
		return trajectory.Prompt{}
	case trajectory.Stop:
		return trajectory.Stop{}
	case trajectory.ToolStart:
		return trajectory.ToolStart{}
	case trajectory.Terminal:
		return trajectory.Terminal{}
	}
	return trajectory.Message{}
}

func (r *reading) change(line []byte) error {
	var l changeLine
	if err := r.decoder.decode(line, &l); err != nil {
		return err
	}
	change, err := l.change()
	if err == nil {
		err = r.show(lineOf(change))
	}
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

// deferContents drops the contents of all changed files, because there is not enough room for them.
func (r *reading) deferContents() {
	r.deferred = new(deferred)
	for _, t := range r.Turns {
		for i := range t.Delta.Changes {
			t.Delta.Changes[i].Data = nil
		}
	}
}

// timings sets the times of the events.
func (r *reading) timings(line []byte) error {
	var l timingsLine
	if err := r.decoder.decode(line, &l); err != nil {
		return err
	}
	if events := totalsOf(r.Turns).Events; len(l.Timings) != events {
		return fmt.Errorf("there are %d timings for %d events", len(l.Timings), events)
	}
	negative := func(us int64) bool { return us < 0 }
	if slices.ContainsFunc(l.Timings, negative) || slices.ContainsFunc(l.Terminals, negative) {
		return errors.New("a time is negative")
	}
	i, durations := 0, l.Terminals
	for _, t := range r.Turns {
		for e := range t.Events {
			t.Events[e].At = time.Duration(l.Timings[i]) * time.Microsecond
			i++
			if term, ok := t.Events[e].Body.(trajectory.Terminal); ok && len(durations) > 0 {
				term.Duration = time.Duration(durations[0]) * time.Microsecond
				t.Events[e].Body, durations = term, durations[1:]
			}
		}
	}
	if len(durations) > 0 {
		return fmt.Errorf("there are %d durations of terminals that are not there", len(durations))
	}
	r.timed = true
	return nil
}

// The largest cassette that is read or written, and the longest line in it, in bytes before they are compressed, and
// how many lines it may have.
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

// buffers has the buffers of released readers.
var buffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, maxBuffer) }}

// newLineReader returns a reader of the lines of a file.
func newLineReader(r io.Reader) *lineReader {
	in := buffers.Get().(*bufio.Reader)
	in.Reset(r)
	return &lineReader{in: in}
}

// release lets other readers use the buffer. The last line that next returned becomes invalid.
func (l *lineReader) release() {
	l.in.Reset(nil)
	buffers.Put(l.in)
	l.in = nil
}

// next returns the next line, with its line break if it has one. The caller may change it until the next call. After
// the last line the error is io.EOF.
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
		return nil, corruptf(l.number, "the line exceeds the limit of %d bytes", maxLine)
	case l.read > maxFile:
		return nil, corruptf(l.number, "the cassette exceeds the limit of %d bytes", maxFile)
	case l.number > maxCount:
		return nil, corruptf(l.number, "the cassette exceeds the limit of %d lines", maxCount)
	case errors.Is(err, io.EOF):
		return line, nil
	}
	return line, err
}

// last reports whether nothing follows the line that next returned. It may overwrite that line.
func (l *lineReader) last() bool {
	_, err := l.in.Peek(1)
	return errors.Is(err, io.EOF)
}
