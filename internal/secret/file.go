package secret

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

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
	if err := disk.Put(path, data, perm); err != nil {
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
