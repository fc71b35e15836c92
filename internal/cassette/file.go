package cassette

import (
	"bufio"
	"bytes"
	"cmp"
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

// GoExt is the extension of the path that a test in Go has in place of a playbook's. [List] and [Playbooks] leave out
// the recordings of such tests: only the test knows which of them are still needed.
const GoExt = ".go"

// Path returns the path of a unit's cassette: dir/playbook/case/variant.trial.jsonl. Playbook is the playbook's path
// below the module root, without extension, with slashes. Path panics if it leads out of the module root.
func Path(dir, playbook, caseID, variant string, trial int) string {
	below := filepath.Join(filepath.FromSlash(playbook), caseID, variant+"."+strconv.Itoa(trial)+".jsonl")
	if !filepath.IsLocal(filepath.FromSlash(playbook)) || !filepath.IsLocal(below) {
		panic(fmt.Sprintf("cassette.Path: %q is not the path of a playbook below the module root", playbook))
	}
	return filepath.Join(dir, below)
}

// List returns the recordings of a playbook in a tree, sorted, complete or not: cassettes, answers of judges, and
// temporary files that an interrupted recording has left.
func List(tree disk.Tree, dir, playbook string) ([]string, error) {
	if path.Ext(playbook) == GoExt {
		return nil, nil
	}
	base := filepath.Join(dir, filepath.FromSlash(playbook))
	if err := tree.Check(base); err != nil {
		return nil, fmt.Errorf("list cassettes: %w", err)
	}
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

// Playbooks returns the paths, as [Path] takes them, of all playbooks that have recordings in the directory of a tree,
// sorted.
func Playbooks(tree disk.Tree, dir string) ([]string, error) {
	if err := tree.Check(dir); err != nil {
		return nil, fmt.Errorf("list cassettes: %w", err)
	}
	found := make(map[string]bool)
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		playbook := path.Dir(path.Dir(name))
		if err == nil && !e.IsDir() && playbook != "." && path.Ext(playbook) != GoExt && isRecording(e.Name()) {
			found[playbook] = true
		}
		if err == nil && e.Type()&fs.ModeSymlink != 0 {
			err = tree.Check(filepath.Join(dir, filepath.FromSlash(name)))
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list cassettes: %w", err)
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// isRecording reports whether, by its name, a file is a recording or the temporary file of one.
func isRecording(name string) bool {
	name, hidden := strings.CutPrefix(name, ".")
	if hidden {
		return strings.Contains(name, ".jsonl.")
	}
	return strings.HasSuffix(strings.TrimSuffix(name, gzipExt), ".jsonl")
}

// gzipExt follows the extension of a cassette that was compressed.
const gzipExt = ".gz"

// maxPlain is the size in bytes above which a cassette is compressed. Nobody reads the diff of a larger one, and git
// stores it compressed anyway.
const maxPlain = 1 << 20

// File returns the file of the cassette at path: path.gz if only that exists, else path.
func File(path string) string {
	if gz := Compressed(path); !isFile(path) && isFile(gz) {
		return gz
	}
	return path
}

// Compressed returns the name of the file of the cassette at path if it is compressed.
func Compressed(path string) string { return path + gzipExt }

// check returns an error if a link leads from the cassette at path out of its tree.
func check(tree disk.Tree, path string) error {
	if err := cmp.Or(tree.Check(path), tree.Check(Compressed(path))); err != nil {
		return fmt.Errorf("read cassette: %w", err)
	}
	return nil
}

// Exists reports whether there is a cassette at path, even one that cannot be read.
func Exists(path string) bool { return isFile(path) || isFile(Compressed(path)) }

func isFile(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// source reads the text of a cassette's file.
type source struct {
	io.Reader
	file *os.File
}

func (s source) Close() error { return s.file.Close() }

// open opens the file of the cassette at path. Its errors are those of [Read].
func open(path string) (source, error) {
	name := strings.TrimSuffix(path, gzipExt)
	if gz := Compressed(name); isFile(gz) {
		if isFile(name) {
			reason := filepath.Base(gz) + " exists, too: delete the outdated one of the two"
			return source{}, &CorruptError{Path: name, Reason: reason}
		}
		name = gz
	}
	// without Nonblock, opening a FIFO would wait for a writer
	f, err := os.OpenFile(name, os.O_RDONLY|disk.Nonblock, 0)
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
		return source{}, &CorruptError{Path: f.Name(), Reason: "not a cassette: this is not a regular file"}
	}
	if info.Size() > maxFile {
		reason := fmt.Sprintf("the cassette has %d bytes, which exceeds the limit of %d", info.Size(), maxFile)
		return source{}, &CorruptError{Path: f.Name(), Reason: reason}
	}
	s := source{f, f}
	if strings.HasSuffix(f.Name(), gzipExt) {
		s.Reader, err = unzip(f)
	}
	return s, explain(err, f.Name())
}

// explain returns err, met while reading the file name, as a [*CorruptError] unless it comes from the file system.
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
	reason := "the cassette was truncated or edited: cannot decompress it: " + err.Error()
	return &CorruptError{Path: name, Reason: reason}
}

// gzipHeader begins all compressed cassettes (RFC 1952): deflate, no name, no time, no system.
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

// unzip decompresses what zip returned. It rejects the output of other compressors, so that a cassette has one form.
func unzip(r io.Reader) (io.Reader, error) {
	in := bufio.NewReader(r)
	header, err := in.Peek(len(gzipHeader))
	if err == nil && !bytes.Equal(header, gzipHeader) {
		err = gzip.ErrHeader
		if bytes.HasPrefix(header, gzipHeader[:3]) {
			err = &CorruptError{Reason: "another program compressed the cassette: decompress it with gunzip"}
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

// Read implements [io.Reader]. Data after the end of the compressed text is an error.
func (u *unzipped) Read(p []byte) (int, error) {
	n, err := u.text.Read(p)
	if errors.Is(err, io.EOF) {
		if _, after := u.in.Peek(1); !errors.Is(after, io.EOF) {
			err = errors.Join(errors.New("there is data after its end"), after)
		}
	}
	return n, err
}
