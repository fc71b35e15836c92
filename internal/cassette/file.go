package cassette

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
)

// gzipExt is what the name of a cassette ends in that was compressed, behind its own extension.
const gzipExt = ".gz"

// maxPlain is up to how many bytes a cassette is written as it is. Nobody reads the diff of a larger one, and git keeps
// one that is compressed no worse.
const maxPlain = 1 << 20

// File returns the file that the cassette at path is in: path itself, or path with .gz behind it if it was compressed.
// Where there is neither it is path.
func File(path string) string {
	if gz := Compressed(path); !there(path) && there(gz) {
		return gz
	}
	return path
}

// Compressed returns where the cassette at path is if it was compressed.
func Compressed(path string) string { return path + gzipExt }

// Exists reports whether there is a cassette at path, be it readable or not: what is broken is not missing.
func Exists(path string) bool { return there(path) || there(Compressed(path)) }

func there(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// source is the text of a cassette's file.
type source struct {
	io.Reader
	file *os.File
}

func (s source) Close() error { return s.file.Close() }

// open opens the file of the cassette at path. Its errors are as those of [Read].
func open(path string) (source, error) {
	name := strings.TrimSuffix(path, gzipExt)
	if gz := Compressed(name); there(gz) {
		if there(name) {
			return source{}, &CorruptError{Path: name, Reason: fmt.Sprintf("there is %s, too: one of them is old, and which one cannot be known", filepath.Base(gz))}
		}
		name = gz
	}
	f, err := os.OpenFile(name, os.O_RDONLY|disk.Nonblock, 0) // or opening a FIFO would wait for a writer
	if errors.Is(err, fs.ErrNotExist) {
		return source{}, &MissingError{path}
	}
	if err != nil {
		return source{}, fmt.Errorf("read cassette: %w", err)
	}
	s, err := newSource(f)
	if err != nil {
		return source{}, errors.Join(err, f.Close())
	}
	return s, nil
}

func newSource(f *os.File) (source, error) {
	info, err := f.Stat()
	if err != nil {
		return source{}, fmt.Errorf("read cassette: %w", err)
	}
	if !info.Mode().IsRegular() {
		return source{}, &CorruptError{Path: f.Name(), Reason: "this is not a cassette: it is not a regular file"}
	}
	if info.Size() > maxFile {
		reason := fmt.Sprintf("the cassette has %d bytes, more than the %d that one may have", info.Size(), maxFile)
		return source{}, &CorruptError{Path: f.Name(), Reason: reason}
	}
	s := source{f, f}
	if strings.HasSuffix(f.Name(), gzipExt) {
		s.Reader, err = unzip(f)
	}
	return s, explain(err, f.Name())
}

// explain tells errors of the file system from those of a file that was changed.
func explain(err error, name string) error {
	corrupt, isCorrupt := errors.AsType[*CorruptError](err)
	_, isPath := errors.AsType[*fs.PathError](err)
	switch {
	case err == nil:
		return nil
	case isCorrupt:
		corrupt.Path = name
		return corrupt
	case isPath:
		return fmt.Errorf("read cassette: %w", err)
	}
	return &CorruptError{Path: name, Reason: "the cassette is cut or was edited: it cannot be decompressed: " + err.Error()}
}

// gzipHeader is how all compressed cassettes begin (RFC 1952): deflate, no name, no time, no system.
var gzipHeader = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}

// zip compresses the bytes of a cassette.
func zip(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err := w.Close()
	return b.Bytes(), err
}

// unzip reads what zip returned, and nothing else that means the same.
func unzip(r io.Reader) (io.Reader, error) {
	in := bufio.NewReader(r)
	header, err := in.Peek(len(gzipHeader))
	if err == nil && !bytes.Equal(header, gzipHeader) {
		err = gzip.ErrHeader
		if bytes.HasPrefix(header, gzipHeader[:3]) {
			err = &CorruptError{Reason: "another program compressed the cassette, in another way: decompress it, with gunzip"}
		}
	}
	if err != nil {
		return nil, err
	}
	u := &unzipped{in: in}
	if u.text, err = gzip.NewReader(in); err != nil {
		return nil, err
	}
	u.text.Multistream(false)
	return u, nil
}

type unzipped struct {
	text *gzip.Reader
	in   *bufio.Reader
}

// Read implements [io.Reader]. Something behind the end of what was compressed is an error.
func (u *unzipped) Read(p []byte) (int, error) {
	n, err := u.text.Read(p)
	if errors.Is(err, io.EOF) {
		if _, behind := u.in.Peek(1); !errors.Is(behind, io.EOF) {
			err = errors.Join(errors.New("there is something behind its end"), behind)
		}
	}
	return n, err
}

// GoExt is the extension of what stands for a playbook's path where the recordings are of a test in Go. Nothing here knows
// which of those recordings are still wanted: [List] and [Playbooks] leave them out.
const GoExt = ".go"

// Path returns where a unit's cassette is: dir/playbook/case/variant.trial.jsonl. Playbook is the playbook's path below
// the module root, without extension, with slashes. A path that leads elsewhere is a mistake of the caller.
func Path(dir, playbook, caseID, variant string, trial int) string {
	below := filepath.Join(filepath.FromSlash(playbook), caseID, variant+"."+strconv.Itoa(trial)+".jsonl")
	if !filepath.IsLocal(filepath.FromSlash(playbook)) || !filepath.IsLocal(below) {
		panic(fmt.Sprintf("cassette.Path: %q is not the path of a playbook below the module root", playbook))
	}
	return filepath.Join(dir, below)
}

// List returns the recordings of a playbook, sorted, be they whole or not: cassettes, what judges said, and what a
// recording that was cut short has left. It is empty if there are none.
func List(dir, playbook string) ([]string, error) {
	if path.Ext(playbook) == GoExt {
		return nil, nil
	}
	base := filepath.Join(dir, filepath.FromSlash(playbook))
	cases, err := os.ReadDir(base)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list cassettes: %w", err)
	}
	var files []string
	for _, c := range cases {
		if !c.IsDir() {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(base, c.Name()))
		if err != nil {
			return nil, fmt.Errorf("list cassettes: %w", err)
		}
		for _, e := range entries {
			if !e.IsDir() && isRecording(e.Name()) {
				files = append(files, filepath.Join(base, c.Name(), e.Name()))
			}
		}
	}
	return files, nil
}

// Playbooks returns the paths, as [Path] takes them, of all playbooks that have recordings in dir, sorted.
func Playbooks(dir string) ([]string, error) {
	found := make(map[string]bool)
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		playbook := path.Dir(path.Dir(name))
		if err == nil && !e.IsDir() && playbook != "." && path.Ext(playbook) != GoExt && isRecording(e.Name()) {
			found[playbook] = true
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list cassettes: %w", err)
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// isRecording tells by its name whether a file is a recording, or was to become one.
func isRecording(name string) bool {
	name, hidden := strings.CutPrefix(name, ".")
	if hidden {
		return strings.Contains(name, ".jsonl.")
	}
	return strings.HasSuffix(strings.TrimSuffix(name, gzipExt), ".jsonl")
}
