package lint

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// What is read of a repository at most.
const (
	maxObjects = 200_000
	maxObject  = 4 << 20   // bytes of one object
	maxContent = 128 << 20 // bytes of all of them
	maxDeltas  = 100       // that an object in a pack builds on
)

// repository is a git repository in a workspace, as its files.
type repository struct {
	path  string            // of the directory with the objects, in the workspace
	files map[string][]byte // by path below it
	size  int64
	// cut says that not all files were read.
	cut bool
}

// gitFile matches what is read of a repository, behind the path of its directory: .git, or name.git where it is bare.
var gitFile = lazyregexp.New(`^((?:.*/)?[^/]*\.git)/(HEAD|packed-refs|config|objects/.+|refs/.+|logs/.+|[A-Z_]+HEAD)$`)

// inRepository splits the path of a file that belongs to a repository.
func inRepository(path string) (dir, name string, ok bool) {
	if m := gitFile.FindStringSubmatch(path); m != nil {
		return m[1], m[2], true
	}
	return "", "", false
}

// add reads a file of the repository.
func (r *repository) add(name string, read func(int64) ([]byte, int64, error)) error {
	if strings.HasPrefix(name, "objects/") && !strings.HasSuffix(name, ".pack") && !looseName.MatchString(name) {
		return nil // an index, or what another version of git keeps
	}
	data, size, err := read(maxHistory - r.size)
	if err != nil {
		return err
	}
	if int64(len(data)) < size {
		r.cut = true
		return nil
	}
	r.size += int64(len(data))
	r.files[name] = data
	return nil
}

var looseName = lazyregexp.New(`^objects/([0-9a-f]{2})/([0-9a-f]{38})$`)

// object is an object of a repository.
type object struct {
	kind string // commit, tree, blob or tag
	data []byte
}

// objects are those of a repository, by name in hexadecimal.
type objects struct {
	all  map[string]object
	size int64
	// skipped is how many bytes were read of objects that are too large.
	skipped int64
}

var errTooMuch = errors.New("lint reads at most 64 MiB of a repository's files, and of what they hold 128 MiB, " +
	"200,000 objects, and 4 MiB of one; give the agent a clone with less history, or search the rest yourself")

// put adds an object and returns its name.
func (o *objects) put(kind string, data []byte) (string, error) {
	if o.size += int64(len(data)); o.size > maxContent || len(o.all) >= maxObjects {
		return "", errTooMuch
	}
	h := sha1.New()
	fmt.Fprintf(h, "%s %d\x00", kind, len(data))
	h.Write(data)
	name := hex.EncodeToString(h.Sum(nil))
	o.all[name] = object{kind, data}
	return name, nil
}

// read returns the objects of a repository. What is damaged is left out, and the first error tells of it.
func (r *repository) read() (*objects, error) {
	o := &objects{all: make(map[string]object)}
	var problem error
	keep := func(name string, err error) {
		if err != nil && problem == nil {
			problem = fmt.Errorf("%s/%s: %w", r.path, name, err)
		}
	}
	if sha256Format.Match(r.files["config"]) {
		return o, fmt.Errorf("%s: its objects are named by SHA-256, which is not read", r.path)
	}
	for name, data := range r.files {
		if looseName.MatchString(name) {
			keep(name, o.loose(data))
		}
	}
	for name, data := range r.files {
		if strings.HasSuffix(name, ".pack") {
			keep(name, o.pack(data))
		}
	}
	if r.cut {
		keep("objects", errTooMuch)
	}
	return o, problem
}

var sha256Format = regexp.MustCompile(`(?i)objectformat\s*=\s*sha256`)

// inflate returns what a zlib stream at the beginning of data holds, nil if it is too large to be looked at, and how
// long the stream is.
func (o *objects) inflate(data []byte) (content []byte, length int, err error) {
	in := bytes.NewReader(data)
	z, err := zlib.NewReader(in)
	if err != nil {
		return nil, 0, err
	}
	content, err = io.ReadAll(io.LimitReader(z, maxObject+1))
	if err == nil && len(content) > maxObject {
		content = nil
		rest, copied := io.Copy(io.Discard, io.LimitReader(z, maxContent-o.skipped)) // to find its end
		o.skipped += rest
		err = copied
		if o.skipped >= maxContent {
			err = errTooMuch
		}
	}
	return content, len(data) - in.Len(), err
}

// loose adds an object in a file of its own.
func (o *objects) loose(data []byte) error {
	content, _, err := o.inflate(data)
	if err != nil || content == nil {
		return err
	}
	header, body, ok := bytes.Cut(content, []byte{0})
	kind, _, spaced := strings.Cut(string(header[:min(len(header), 32)]), " ")
	if !ok || !spaced {
		return errors.New("not an object")
	}
	_, err = o.put(kind, body)
	return err
}

// The types of objects in packs.
var packKinds = map[byte]string{1: "commit", 2: "tree", 3: "blob", 4: "tag"}

const (
	offsetDelta = 6
	nameDelta   = 7
)

// packed is an object of a pack that builds on another.
type packed struct {
	offset int
	base   int    // the offset of the other
	name   string // or its name
	delta  []byte
}

// pack adds the objects of a pack.
func (o *objects) pack(data []byte) error {
	const head = 12
	if len(data) < head+sha1.Size || string(data[:4]) != "PACK" {
		return errors.New("not a pack")
	}
	if version := binary.BigEndian.Uint32(data[4:]); version != 2 && version != 3 {
		return fmt.Errorf("packs of version %d are not known", version)
	}
	count := int(binary.BigEndian.Uint32(data[8:]))
	names := make(map[int]string) // by offset
	var waiting []packed
	at := head
	for range min(count, maxObjects) {
		begin := at
		kind, next, err := packHeader(data, at)
		if err != nil {
			return err
		}
		p := packed{offset: begin}
		switch kind {
		case offsetDelta:
			var back int
			if back, next, err = packOffset(data, next); err != nil {
				return err
			}
			p.base = begin - back
		case nameDelta:
			if next+sha1.Size > len(data) {
				return io.ErrUnexpectedEOF
			}
			p.name, next = hex.EncodeToString(data[next:next+sha1.Size]), next+sha1.Size
		}
		content, length, err := o.inflate(data[next:])
		if err != nil {
			return err
		}
		at = next + length
		switch name := packKinds[kind]; {
		case content == nil: // too large
		case name != "":
			if names[begin], err = o.put(name, content); err != nil {
				return err
			}
		case kind == offsetDelta || kind == nameDelta:
			p.delta = content
			waiting = append(waiting, p)
		default:
			return fmt.Errorf("objects of type %d are not known", kind)
		}
	}
	return o.resolve(waiting, names)
}

// resolve adds the objects that build on others, in as many rounds as it takes.
func (o *objects) resolve(waiting []packed, names map[int]string) error {
	for range maxDeltas {
		var later []packed
		for _, p := range waiting {
			name := p.name
			if name == "" {
				name = names[p.base]
			}
			base, ok := o.all[name]
			if !ok {
				later = append(later, p)
				continue
			}
			content, err := applyDelta(base.data, p.delta)
			if err != nil {
				return err
			}
			if names[p.offset], err = o.put(base.kind, content); err != nil {
				return err
			}
		}
		if len(later) == 0 || len(later) == len(waiting) {
			return nil
		}
		waiting = later
	}
	return nil
}

// packHeader returns the type of the object at an offset, and where its content begins.
func packHeader(data []byte, at int) (kind byte, next int, err error) {
	if at >= len(data) {
		return 0, 0, io.ErrUnexpectedEOF
	}
	kind = data[at] >> 4 & 7
	for data[at]&0x80 != 0 {
		if at++; at >= len(data) {
			return 0, 0, io.ErrUnexpectedEOF
		}
	}
	return kind, at + 1, nil
}

// packOffset reads how far back the object is that another builds on.
func packOffset(data []byte, at int) (back, next int, err error) {
	for first := true; ; first = false {
		if at >= len(data) || back > len(data) {
			return 0, 0, io.ErrUnexpectedEOF
		}
		if !first {
			back++
		}
		back = back<<7 | int(data[at]&0x7f)
		if data[at]&0x80 == 0 {
			return back, at + 1, nil
		}
		at++
	}
}

var errDelta = errors.New("a delta that does not fit what it builds on")

// applyDelta returns the object that a delta makes of another.
func applyDelta(base, delta []byte) ([]byte, error) {
	_, delta = deltaSize(delta) // of the base
	size, delta := deltaSize(delta)
	if size > maxObject {
		return nil, errTooMuch
	}
	out := make([]byte, 0, size)
	for len(delta) > 0 {
		op := delta[0]
		delta = delta[1:]
		if op&0x80 == 0 {
			n := int(op)
			if n == 0 || n > len(delta) {
				return nil, errDelta
			}
			out, delta = append(out, delta[:n]...), delta[n:]
			continue
		}
		var numbers [7]byte
		for i := range numbers {
			if op&(1<<i) != 0 {
				if len(delta) == 0 {
					return nil, errDelta
				}
				numbers[i], delta = delta[0], delta[1:]
			}
		}
		from := int(binary.LittleEndian.Uint32(numbers[:4]))
		n := int(numbers[4]) | int(numbers[5])<<8 | int(numbers[6])<<16
		if n == 0 {
			n = 0x10000
		}
		if from > len(base) || n > len(base)-from || len(out)+n > maxObject {
			return nil, errDelta
		}
		out = append(out, base[from:from+n]...)
	}
	if len(out) != size {
		return nil, errDelta
	}
	return out, nil
}

// deltaSize reads a size at the beginning of a delta, and returns the rest. One that is cut is larger than any object.
func deltaSize(delta []byte) (size int, rest []byte) {
	for i, b := range delta {
		if i > 4 {
			break
		}
		size |= int(b&0x7f) << (7 * i)
		if b&0x80 == 0 {
			return size, delta[i+1:]
		}
	}
	return maxObject + 1, nil
}
