package queue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/bundle"
)

// File is a file in the queue. Its pieces are keys of a bucket: JetStream's object store makes a consumer for each file
// that is read, which thousands of archives are too many for.
type File struct {
	// Key is the beginning of its pieces' keys.
	Key    string `json:"key"`
	Digest string `json:"digest"` // sha256:, then hexadecimal digits
	Size   int    `json:"size"`
	Pieces int    `json:"pieces"`
}

const (
	piece = 512 << 10 // bytes; servers take a megabyte by default
	// MaxFile is the largest size of a file in the queue, in bytes.
	MaxFile = bundle.MaxPacked
)

// Digest returns the digest of data, as in [File].
func Digest(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

// describe returns what a file with such a name, which is unique in its run, is in the queue.
func describe(run, name string, data []byte) File {
	return File{Key: run + "." + name, Digest: Digest(data), Size: len(data), Pieces: pieces(len(data))}
}

func pieces(size int) int { return max(1, (size+piece-1)/piece) }

// store puts a file into the queue, each piece by what does it.
func (q *Queue) store(f File, data []byte, do func(func(context.Context) error) error) error {
	if f.Size > MaxFile {
		return fmt.Errorf("%s has %d bytes: want at most %d", f.Key, f.Size, MaxFile)
	}
	for i := range f.Pieces {
		err := do(func(ctx context.Context) error {
			_, err := q.files.Put(ctx, fmt.Sprintf("%s.%d", f.Key, i), data[i*piece:min(len(data), (i+1)*piece)])
			return err
		})
		if err != nil {
			return fmt.Errorf("store %s: %w", f.Key, err)
		}
	}
	return nil
}

// ErrContent means that a file in the queue is not what it should be. Asked again, the queue has no other.
var ErrContent = errors.New("not the file that it should be")

// Load returns a file's content. One that is not what its digest says is an [ErrContent].
func (q *Queue) Load(ctx context.Context, f File) ([]byte, error) {
	if f.Size < 0 || f.Size > MaxFile || f.Pieces != pieces(f.Size) {
		return nil, fmt.Errorf("%s: %d bytes in %d pieces is %w", f.Key, f.Size, f.Pieces, ErrContent)
	}
	var data bytes.Buffer
	for i := range f.Pieces {
		entry, err := q.files.Get(ctx, fmt.Sprintf("%s.%d", f.Key, i))
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return nil, fmt.Errorf("%s: piece %d of %d is missing: %w", f.Key, i+1, f.Pieces, ErrContent)
		}
		if err != nil {
			return nil, fmt.Errorf("load %s: %w", f.Key, err)
		}
		data.Write(entry.Value())
		if data.Len() > f.Size {
			break
		}
	}
	if got := Digest(data.Bytes()); data.Len() != f.Size || got != f.Digest {
		return nil, fmt.Errorf("%s: its content has the digest %s, and should have %s: %w", f.Key, got, f.Digest,
			ErrContent)
	}
	return data.Bytes(), nil
}
