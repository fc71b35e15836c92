package convert

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// maxHead is how much of a file is looked at to tell its format, in bytes.
const maxHead = 64 << 10

// explain adds to the error of a reader what the file looks like, if that is another format.
func explain(f Format, path string, err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	other, found := looksLike(path)
	if !found || other.Name == f.Name {
		return err
	}
	return fmt.Errorf("%w; the file looks like %s, which --from %s reads", err, other.Holds, other.Name)
}

// looksLike returns the format that the beginning of a file looks like.
func looksLike(path string) (Format, bool) {
	file, err := open(path)
	if err != nil {
		return Format{}, false
	}
	defer file.Close()
	head, err := io.ReadAll(io.LimitReader(file, maxHead))
	if err != nil {
		return Format{}, false
	}
	for _, f := range Readable() {
		if f.mark.Match(head) {
			return f, true
		}
	}
	return Format{}, false
}
