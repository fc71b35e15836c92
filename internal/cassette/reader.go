package cassette

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// maxFile is the largest cassette that is read, in bytes.
const maxFile = 512 << 20

// Exists reports whether there is something at path, be it readable or not: what is broken is not missing.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// Read reads a cassette and makes sure that it is whole and unchanged. Its errors are [*MissingError] and
// [*CorruptError], or come from the file system.
func Read(path string) (*Cassette, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &MissingError{path}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, &CorruptError{path, 0, fmt.Sprintf("the file has %d bytes, more than the %d that a cassette may have", info.Size(), maxFile)}
	}
	data := make([]byte, 0, info.Size()+1)
	buf := bytes.NewBuffer(data)
	if _, err := buf.ReadFrom(io.LimitReader(f, maxFile)); err != nil {
		return nil, fmt.Errorf("read cassette %s: %w", path, err)
	}
	c, bad := Decode(buf.Bytes())
	if bad != nil {
		bad.Path = path
		return nil, bad
	}
	return c, nil
}

// Decode reads a cassette from its bytes, which it may change.
func Decode(data []byte) (*Cassette, *CorruptError) {
	if bad := checkVersion(data); bad != nil {
		return nil, bad
	}
	last := bytes.LastIndexByte(bytes.TrimSuffix(data, []byte("\n")), '\n') + 1
	before, end := data[:last], data[last:]
	count := bytes.Count(before, []byte("\n"))
	if key(end) != totalsKey || !bytes.HasSuffix(end, []byte("}\n")) {
		return nil, &CorruptError{Line: count + 1, Reason: "the cassette is cut: it ends without its totals"}
	}
	want := checksums(before) // before decoding, which changes the bytes
	c, timings, line, err := decodeLines(before)
	if bad := compareTotals(want, end, count, c); bad != nil {
		return nil, bad
	}
	if err != nil {
		return nil, &CorruptError{Line: line, Reason: err.Error()}
	}
	if err := c.setTimes(timings); err != nil {
		return nil, &CorruptError{Line: count, Reason: err.Error()}
	}
	return c, nil
}

// checkVersion tells files that are no cassettes, and those of another version, from those that were changed.
func checkVersion(data []byte) *CorruptError {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	if len(bytes.TrimSpace(data)) == 0 {
		return &CorruptError{Line: 1, Reason: "the cassette is cut: it is empty"}
	}
	rest, ok := bytes.CutPrefix(line, []byte(`{"`+headerKey+`":`))
	if !ok {
		return &CorruptError{Line: 1, Reason: "this is not a cassette: it has no header"}
	}
	number, _, _ := bytes.Cut(rest, []byte(","))
	if v := string(number); v != fmt.Sprint(Version) {
		return &CorruptError{Line: 1, Reason: fmt.Sprintf("the cassette has format version %.20s, and this program reads version %d", v, Version)}
	}
	return nil
}

// compareTotals holds the last line to what it should be and names the first line that was changed.
func compareTotals(want totalsLine, end []byte, count int, c *Cassette) *CorruptError {
	var got totalsLine
	if err := decodeStrict(end, &got); err != nil {
		return &CorruptError{Line: count + 1, Reason: "the cassette was edited: its totals are broken: " + err.Error()}
	}
	if got.Lines != want.Lines {
		for i := range count {
			if len(got.Lines) < 8*(i+1) || got.Lines[8*i:8*(i+1)] != want.Lines[8*i:8*(i+1)] {
				return &CorruptError{Line: i + 1, Reason: "the cassette was edited: this line is not the one that was recorded"}
			}
		}
		return &CorruptError{Line: count + 1, Reason: "the cassette was edited: lines are missing before this one"}
	}
	if c != nil {
		want.Totals = totalsOf(nil, c.Turns).Totals
	}
	if exact, err := appendJSON(nil, want); err != nil || c != nil && !bytes.Equal(exact, end) {
		return &CorruptError{Line: count + 1, Reason: "the cassette was edited: its totals are not those of its content"}
	}
	return nil
}

// decodeLines decodes everything but the totals. On an error it returns its line, and no cassette.
func decodeLines(data []byte) (c *Cassette, timings []int64, number int, err error) {
	c = new(Cassette)
	for line := range bytes.Lines(data) {
		number++
		if timings != nil {
			return nil, nil, number, errors.New("a line after the timings")
		}
		switch k := key(line); {
		case number == 1:
			err = decodeStrict(line, &c.Header)
		case k == turnKey:
			var t turnLine
			if err = decodeStrict(line, &t); err == nil && t.Turn != len(c.Turns)+1 {
				err = fmt.Errorf("turn %d where turn %d should begin", t.Turn, len(c.Turns)+1)
			}
			c.Turns = append(c.Turns, Turn{})
		case k == timingsKey:
			var t timingsLine
			err = decodeStrict(line, &t)
			timings = t.Timings
		case len(c.Turns) == 0:
			err = errors.New("a line before the first turn")
		case k == eventKey:
			err = c.decodeEvent(line)
		case k == changeKey:
			err = c.decodeChange(line)
		default:
			err = errors.New("a line of an unknown kind")
		}
		if err != nil {
			return nil, nil, number, err
		}
	}
	if timings == nil {
		return nil, nil, number, errors.New("the timings are missing")
	}
	return c, timings, number, nil
}

func (c *Cassette) decodeEvent(line []byte) error {
	turn := &c.Turns[len(c.Turns)-1]
	if len(turn.Delta.Changes) > 0 {
		return errors.New("an event after the turn's changes")
	}
	body, err := decodeEvent(line)
	turn.Events = append(turn.Events, trajectory.Event{Turn: len(c.Turns), Body: body})
	return err
}

func (c *Cassette) decodeChange(line []byte) error {
	var l changeLine
	if err := decodeStrict(line, &l); err != nil {
		return err
	}
	change, err := l.change()
	turn := &c.Turns[len(c.Turns)-1]
	turn.Delta.Changes = append(turn.Delta.Changes, change)
	return err
}

// setTimes gives the events their times.
func (c *Cassette) setTimes(timings []int64) error {
	i := 0
	for t := range c.Turns {
		events := c.Turns[t].Events
		for e := range events {
			if i == len(timings) {
				return errors.New("there are fewer timings than events")
			}
			events[e].At = time.Duration(timings[i]) * time.Microsecond
			i++
		}
	}
	if i != len(timings) {
		return errors.New("there are more timings than events")
	}
	return nil
}
