package cassette

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Migrate makes the cassette at path, which is of a unit, what it would be if its session were recorded today with n, a new
// normaliser: as [Write] writes it, with what n removes removed. It reports whether that changes the file; with dry it
// does not change it. Its errors are as those of [Read] and [Cassette.CheckUnit].
func Migrate(path, unit string, n *Normaliser, dry bool) (changed bool, err error) {
	c, err := Read(path)
	if err != nil {
		return false, err
	}
	if err := c.CheckUnit(unit); err != nil {
		return false, err
	}
	n.Session("s1") // what it is called in every cassette
	for i, t := range c.Turns {
		c.Turns[i].Events = n.Events(t.Events)
	}
	f, err := pack(path, c)
	if err != nil {
		return false, err
	}
	old, err := os.ReadFile(f.name)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, fmt.Errorf("read cassette: %w", err)
	case err == nil && bytes.Equal(old, f.data):
		return false, nil
	case dry:
		return true, nil
	}
	return true, f.write()
}
