package cassette

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/disk"
)

// Write writes a cassette at path in a tree, or, if it is larger than 1 MiB, compressed at path.gz. It creates the
// directory if needed. The file is replaced as a whole; on an error the old one stays. Times are kept in microseconds.
// Write sets the cassette's Sum.
func Write(tree disk.Tree, path string, c *Cassette) error {
	f, err := pack(path, c)
	if err != nil {
		return err
	}
	return f.write(tree)
}

// packed is the file of a cassette before it is written.
type packed struct {
	name  string
	other string // the name that the file must not have: the uncompressed one if it is compressed, or the reverse
	text  []byte // uncompressed
	data  []byte // as in the file
}

// pack returns the file of the cassette at path.
func pack(path string, c *Cassette) (packed, error) {
	text, err := encode(c)
	if err != nil {
		return packed{}, fmt.Errorf("write cassette %s: %w", path, err)
	}
	back, err := scan(bytes.NewReader(text), nothing, nil)
	if err != nil {
		return packed{}, fmt.Errorf("write cassette: it could not be read back: %w", explain(err, path))
	}
	c.Sum = back.Sum
	if len(text) <= maxPlain {
		return packed{path, Compressed(path), text, text}, nil
	}
	data, err := zip(text)
	if err != nil {
		return packed{}, fmt.Errorf("compress cassette %s: %w", path, err)
	}
	return packed{Compressed(path), path, text, data}, nil
}

func (f packed) write(tree disk.Tree) error {
	if err := tree.Replace(f.name, f.data, 0o644); err != nil {
		return fmt.Errorf("write cassette: %w", err)
	}
	// If we crash here, both files exist, which is an error until the cassette is recorded again.
	if err := tree.Remove(f.other); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the old cassette: %w", err)
	}
	return nil
}

// encode returns a cassette's bytes. The same cassette has the same bytes.
func encode(c *Cassette) ([]byte, error) {
	var b []byte
	err := eachLine(c, func(line []byte) { b = append(b, line...) })
	if err != nil {
		return nil, err
	}
	if b, err = appendJSON(b, timingsOf(c.Turns)); err != nil {
		return nil, err
	}
	l := checksums(b)
	l.Totals = totalsOf(c.Turns)
	b, err = appendJSON(b, l)
	if len(b) > maxFile {
		return nil, fmt.Errorf("the cassette has %d bytes, which exceeds the limit of %d", len(b), maxFile)
	}
	return b, err
}

// eachLine calls visit with each line of a cassette but its last two, the timings and the totals. The bytes are visit's
// until it returns.
func eachLine(c *Cassette, visit visitor) error {
	if c.deferred != nil {
		panic("cassette: the cassette was read by Open, which may leave out contents of files; use Read")
	}
	h := c.Header
	h.Version = Version
	if h.Origin == "" {
		h.Origin = OriginRecorded
	}
	b, err := appendJSON(nil, h)
	if err != nil {
		return fmt.Errorf("header: %w", err)
	}
	visit(b)
	for i, t := range c.Turns {
		if b, err = turnLines(b, i+1, t, visit); err != nil {
			return fmt.Errorf("turn %d: %w", i+1, err)
		}
	}
	return nil
}

// timingsOf returns the times in the turns.
func timingsOf(turns []Turn) timingsLine {
	l, known := timingsLine{Timings: []int64{}}, false
	for _, t := range turns {
		for _, e := range t.Events {
			l.Timings = append(l.Timings, e.At.Microseconds())
			if term, ok := e.Body.(trajectory.Terminal); ok {
				l.Terminals = append(l.Terminals, term.Duration.Microseconds())
				known = known || term.Duration > 0
			}
		}
	}
	if !known {
		l.Terminals = nil
	}
	return l
}

// turnLines is eachLine for a turn. It uses and returns b for its lines.
func turnLines(b []byte, n int, t Turn, visit visitor) ([]byte, error) {
	b, err := appendJSON(b[:0], turnLine{n})
	if err != nil {
		return nil, err
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	visit(b)
	for _, e := range t.Events {
		if e.Turn != n {
			return nil, fmt.Errorf("it contains an event of turn %d", e.Turn)
		}
		if b, err = appendEvent(b[:0], e.Body); err != nil {
			return nil, err
		}
		visit(b)
	}
	for _, change := range t.Delta.Changes {
		if b, err = appendJSON(b[:0], lineOf(change)); err != nil {
			return nil, fmt.Errorf("change of %s: %w", change.Path, err)
		}
		visit(b)
	}
	return b, nil
}

// Migrate rewrites the cassette of a unit at path in a tree as if its session were recorded today: as [Write] writes
// it, normalised by n, a new normaliser of the session. It reports whether the file changes; if dry, it leaves the file
// alone. Its errors are those of [Read], [Cassette.CheckUnit] and Write.
func Migrate(tree disk.Tree, path, unit string, n *Normaliser, dry bool) (changed bool, err error) {
	if err := check(tree, path); err != nil {
		return false, err
	}
	c, err := Read(path)
	if err != nil {
		return false, err
	}
	if err := c.CheckUnit(unit); err != nil {
		return false, err
	}
	n.numbered = true
	for i, t := range c.Turns {
		c.Turns[i].Events = n.Events(t.Events)
	}
	f, err := pack(path, c)
	if err != nil {
		return false, err
	}
	old, err := readText(path)
	if err != nil || f.name == File(path) && bytes.Equal(old, f.text) {
		return false, err
	}
	if dry {
		return true, nil
	}
	return true, f.write(tree)
}

// readText returns the text of the cassette at path, decompressed.
func readText(path string) ([]byte, error) {
	src, err := open(path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	text, err := io.ReadAll(io.LimitReader(src, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read cassette: %w", err)
	}
	return text, nil
}
