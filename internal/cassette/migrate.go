package cassette

import (
	"bytes"
	"fmt"
	"io"
)

// Migrate makes the cassette at path, which is of a unit, what it would be if its session were recorded today: written as
// [Write] writes it, and normalised by n, a new normaliser of the session. It reports whether that changes the file; with dry
// it does not change it. Its errors are those of [Read], [Cassette.CheckUnit] and Write.
func Migrate(path, unit string, n *Normaliser, dry bool) (changed bool, err error) {
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
	return true, f.write()
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
