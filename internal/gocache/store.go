package gocache

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// store is a build cache in several directories, each with the layout of the go command's cache.
type store struct {
	write string
	read  []string // never changed
}

// entry is what a cache knows about an action.
type entry struct {
	output []byte
	size   int64
	time   time.Time
}

// idSize is the size of an id, in bytes.
const idSize = 32

// The size of an entry's file: "v1 <id> <output> <size> <time>\n".
const entrySize = 3 + 2*idSize + 1 + 2*idSize + 1 + 20 + 1 + 20 + 1

// get returns the entry of an action and the file with its output.
func (s store) get(action []byte) (entry, string, bool) {
	if len(action) != idSize {
		return entry{}, "", false
	}
	for _, dir := range slices.Concat([]string{s.write}, s.read) {
		e, err := readEntry(fileName(dir, action, "a"), action)
		if err != nil {
			continue
		}
		path := fileName(dir, e.output, "d")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() == e.size {
			return e, path, true
		}
	}
	return entry{}, "", false
}

// put stores the output of an action and returns its file.
func (s store) put(action, output []byte, body io.Reader, size int64) (string, error) {
	if len(action) != idSize || len(output) != idSize {
		return "", errors.New("invalid id")
	}
	path := fileName(s.write, output, "d")
	if err := writeFile(path, body, size); err != nil {
		return "", err
	}
	text := fmt.Sprintf("v1 %x %x %20d %20d\n", action, output, size, time.Now().UnixNano())
	return path, writeFile(fileName(s.write, action, "a"), strings.NewReader(text), int64(len(text)))
}

// fileName returns the file of an action (key "a") or an output (key "d").
func fileName(dir string, id []byte, key string) string {
	name := hex.EncodeToString(id)
	return filepath.Join(dir, name[:2], name+"-"+key)
}

// writeFile writes a file whole, or not at all.
func writeFile(path string, content io.Reader, size int64) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails if it was renamed
	n, err := io.Copy(f, content)
	if err == nil && n != size {
		err = fmt.Errorf("got %d bytes, want %d", n, size)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// readEntry reads the file of an action.
func readEntry(path string, action []byte) (entry, error) {
	f, err := os.Open(path)
	if err != nil {
		return entry{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, entrySize+1))
	if err != nil {
		return entry{}, err
	}
	return parseEntry(string(data), action)
}

func parseEntry(text string, action []byte) (entry, error) {
	fields := strings.Fields(text)
	if len(text) != entrySize || len(fields) != 5 || fields[0] != "v1" || fields[1] != hex.EncodeToString(action) {
		return entry{}, errors.New("not an entry of the action")
	}
	output, err := hex.DecodeString(fields[2])
	if err != nil || len(output) != idSize {
		return entry{}, errors.New("entry has an invalid output")
	}
	size, err := strconv.ParseInt(fields[3], 10, 64)
	if err != nil || size < 0 {
		return entry{}, errors.New("entry has an invalid size")
	}
	nanos, err := strconv.ParseInt(fields[4], 10, 64)
	if err != nil || nanos < 0 {
		return entry{}, errors.New("entry has an invalid time")
	}
	return entry{output, size, time.Unix(0, nanos)}, nil
}
