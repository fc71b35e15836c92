package cassette

import (
	"bytes"
	"fmt"
	"time"
)

// Difference is a line in which two cassettes differ.
type Difference struct {
	Line int // of the first cassette; 1-based
	A, B string
}

func (d Difference) String() string { return fmt.Sprintf("line %d:\n  - %s\n  + %s", d.Line, d.A, d.B) }

// Compare returns the lines in which two cassettes differ, apart from what differs between any two recordings of the same
// behaviour: when they were made, and how long everything took.
func Compare(a, b *Cassette) ([]Difference, error) {
	x, err := comparable(a)
	if err != nil {
		return nil, err
	}
	y, err := comparable(b)
	if err != nil {
		return nil, err
	}
	var diffs []Difference
	for i := range max(len(x), len(y)) {
		d := Difference{Line: i + 1}
		if i < len(x) {
			d.A = x[i]
		}
		if i < len(y) {
			d.B = y[i]
		}
		if d.A != d.B {
			diffs = append(diffs, d)
		}
	}
	return diffs, nil
}

// comparable returns the lines of a cassette without its times and checksums.
func comparable(c *Cassette) ([]string, error) {
	timeless := *c
	timeless.Header.RecordedAt = time.Time{}
	data, err := Encode(&timeless)
	if err != nil {
		return nil, err
	}
	var lines []string
	for line := range bytes.Lines(data) {
		if k := key(line); k != timingsKey && k != totalsKey {
			lines = append(lines, string(bytes.TrimSuffix(line, []byte("\n"))))
		}
	}
	return lines, nil
}
