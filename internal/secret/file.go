package secret

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/disk"
)

// WriteFile writes data, masked, in the place of what is at path, which survives a concurrent write or the end of the
// process as one or the other, see [disk.Put]. The file has exactly that mode. Files named .json and .jsonl are masked by
// [Set.JSON].
func (s *Set) WriteFile(path string, data []byte, perm fs.FileMode) error {
	switch filepath.Ext(path) {
	case ".json", ".jsonl":
		data = s.JSON(data)
	default:
		data = s.Bytes(data)
	}
	return s.put(path, perm, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteLines is [Set.WriteFile] for lines of JSON, masked as [Set.Lines] does, which write writes one after the other: what
// is large need never be in memory as a whole.
func (s *Set) WriteLines(path string, perm fs.FileMode, write func(io.Writer) error) error {
	return s.put(path, perm, func(w io.Writer) error {
		out := outs.Get().(*bufio.Writer)
		out.Reset(w)
		defer func() {
			out.Reset(nil)
			outs.Put(out)
		}()
		lines := s.Lines(out)
		return errors.Join(write(lines), lines.Close(), out.Flush())
	})
}

// outs are buffers for files.
var outs = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, pieceSize) }}

func (s *Set) put(path string, perm fs.FileMode, write func(io.Writer) error) error {
	if err := disk.Put(path, perm, write); err != nil {
		return fmt.Errorf("write %s: %w", s.String(path), bare(err))
	}
	return nil
}

// bare returns an error of the file system without its paths, which may hold a secret.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", e.Op, e.Err)
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return fmt.Errorf("%s: %w", e.Op, e.Err)
	}
	return err
}
