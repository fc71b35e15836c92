package cassette

import (
	"errors"
	"fmt"
	"io"

	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// deferred is where the contents of changed files are that [Open] has not kept: in a file, whose lines have these
// checksums.
type deferred struct{ file, sums string }

// deferredReader reads the changes of a cassette's turns, in order, whose contents [Open] has left in the file.
type deferredReader struct {
	source
	lines   *lineReader
	decoder *decoder
	sums    string // of the lines as they were when the cassette was opened
	path    string
	turn    int // the one whose lines come next
}

// openDeferred opens the file of a cassette once more.
func openDeferred(c *Cassette) (*deferredReader, error) {
	src, err := open(c.deferred.file)
	if err != nil {
		return nil, err
	}
	return &deferredReader{source: src, lines: newLineReader(src), decoder: newDecoder(), sums: c.deferred.sums, path: c.Path}, nil
}

// delta returns what a turn changed. Turns have to be asked for in order.
func (r *deferredReader) delta(turn int) (workspace.Delta, error) {
	var d workspace.Delta
	for {
		line, err := r.next()
		if err != nil {
			return workspace.Delta{}, err
		}
		switch k := key(line); {
		case k == turnKey:
			r.turn++
		case k == changeKey && r.turn == turn:
			var l changeLine
			if err := r.decoder.decode(line, &l); err != nil {
				return workspace.Delta{}, err
			}
			change, err := l.change()
			if err != nil {
				return workspace.Delta{}, err
			}
			d.Changes = append(d.Changes, change)
		}
		if r.turn > turn || key(line) == timingsKey {
			return d, nil
		}
	}
}

// next returns the next line, which has to be the one that was there when the cassette was opened.
func (r *deferredReader) next() ([]byte, error) {
	line, err := r.lines.next()
	from := (r.lines.number - 1) * sumSize
	switch {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, explain(err, r.path)
	case from+sumSize <= len(r.sums) && string(appendSum(nil, line)) == r.sums[from:from+sumSize]:
		return line, nil
	}
	return nil, fmt.Errorf("%s: the cassette was written anew while it was played", r.path)
}
