package cassette

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// Write writes a cassette, its directory too if need be. The file appears whole or not at all: on an error the one that
// was there stays.
func Write(path string, c *Cassette) error {
	data, err := Encode(c)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails once it is renamed
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes a rename last. Where directories cannot be synced there is nothing to be done.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync()
	return d.Close()
}

// Encode returns a cassette's bytes. The same cassette has the same bytes.
func Encode(c *Cassette) ([]byte, error) {
	h := c.Header
	h.Version = Version
	b, err := appendJSON(nil, h)
	if err != nil {
		return nil, fmt.Errorf("encode the header: %w", err)
	}
	timings := timingsLine{Timings: []int64{}}
	for i, t := range c.Turns {
		if b, err = appendTurn(b, i+1, t); err != nil {
			return nil, fmt.Errorf("turn %d: %w", i+1, err)
		}
		for _, e := range t.Events {
			timings.Timings = append(timings.Timings, e.At.Microseconds())
		}
	}
	if b, err = appendJSON(b, timings); err != nil {
		return nil, err
	}
	return appendJSON(b, totalsOf(b, c.Turns))
}

func appendTurn(b []byte, n int, t Turn) ([]byte, error) {
	b, err := appendJSON(b, turnLine{n})
	if err != nil {
		return nil, err
	}
	for _, e := range t.Events {
		if b, err = appendEvent(b, e.Body); err != nil {
			return nil, err
		}
	}
	for _, change := range t.Delta.Changes {
		if b, err = appendJSON(b, lineOf(change)); err != nil {
			return nil, fmt.Errorf("change of %s: %w", change.Path, err)
		}
	}
	return b, nil
}

// totalsLine ends a cassette. A file without it was cut.
type totalsLine struct {
	Totals totals `json:"totals"`
	// Lines has a CRC-32 of each line before, 8 hexadecimal digits each: by it an edited line is named.
	Lines string `json:"lines"`
	// SHA256 is that of everything before.
	SHA256 string `json:"sha256"`
}

type totals struct {
	Turns     int `json:"turns"`
	Events    int `json:"events"`
	ToolCalls int `json:"tool_calls"`
}

func totalsOf(before []byte, turns []Turn) totalsLine {
	l := checksums(before)
	l.Totals.Turns = len(turns)
	for _, t := range turns {
		l.Totals.Events += len(t.Events)
		for _, e := range t.Events {
			if _, ok := e.Body.(trajectory.ToolStart); ok {
				l.Totals.ToolCalls++
			}
		}
	}
	return l
}

// checksums returns the totals line of these bytes, without the counts.
func checksums(before []byte) totalsLine {
	sums := make([]byte, 0, 8*bytes.Count(before, []byte("\n")))
	for line := range bytes.Lines(before) {
		sums = fmt.Appendf(sums, "%08x", crc32.ChecksumIEEE(line))
	}
	sum := sha256.Sum256(before)
	return totalsLine{Lines: string(sums), SHA256: hex.EncodeToString(sum[:])}
}
