package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// maxInMemory is how many bytes of its files a template keeps in memory at most.
const maxInMemory = 64 << 20

// load reads all files, and keeps the contents of as many as there is room for.
func (t *Template) load(ctx context.Context) error {
	defer t.index()
	if t.src.Dir == "" {
		t.loaded, t.inMemory = true, true
		return nil
	}
	if t.committed != nil {
		return t.loadCommit(ctx)
	}
	tr, err := openTree(ctx, t.src.Dir)
	if err != nil {
		return err
	}
	defer tr.close()
	r := reader{now: time.Now()}
	r.room.Store(maxInMemory)
	err = eachFile(t.files, func() (do func(*sourceFile) error, end func()) {
		tr := tr.beside()
		return func(f *sourceFile) error { return t.readFile(tr, f, &r) }, tr.leave
	})
	if err != nil {
		return err
	}
	if t.src.Hide != nil || t.repository != nil {
		t.prune()
	}
	t.loaded = true
	t.inMemory = !slices.ContainsFunc(t.files, func(f sourceFile) bool { return !f.held && f.skipped == "" })
	return nil
}

// settles is how long before it is read a file must have been modified: then another change gives it another time.
const settles = 2 * time.Second

// reader is what goroutines share that read a template's files.
type reader struct {
	now  time.Time    // when they began
	room atomic.Int64 // how many bytes may still be kept
}

// readFile reads a file and keeps its content if there is room.
func (t *Template) readFile(tr *tree, f *sourceFile, r *reader) error {
	in, reason, err := t.open(tr, f.Path)
	if err != nil || reason != "" {
		f.skipped = reason
		return err
	}
	defer func() { _ = in.Close() }()
	if size := in.info.Size(); r.room.Add(-size) >= 0 {
		data := bytes.NewBuffer(make([]byte, 0, size))
		f.Entry, err = tr.entry(in, data)
		f.data, f.held = data.Bytes(), true
	} else {
		r.room.Add(size)
		f.Entry, err = tr.entry(in, io.Discard)
	}
	if f.searched = err == nil && t.src.Search != nil && int64(len(in.head)) == f.Size; f.searched {
		t.src.Search(in.head)
	}
	if modified := in.info.ModTime(); modified.Before(r.now.Add(-settles)) {
		f.settled = modified
	}
	return err
}

// open opens a file of the source, or returns the reason why it is not copied.
func (t *Template) open(tr *tree, p string) (f opened, reason string, err error) {
	f, err = tr.open(p)
	if errors.Is(err, errNotRegular) {
		return f, err.Error(), nil
	}
	if err == nil {
		if reason = t.refuses(p, f.head); reason != "" {
			err = f.Close()
		}
	}
	return f, reason, err
}

// refuses returns why a file that begins so is not copied; empty: it is.
func (t *Template) refuses(p string, head []byte) (reason string) {
	if secretContent(head) && !t.rules.names(p) {
		return "looks like a private key by its content"
	}
	if t.src.Hide != nil {
		return t.src.Hide(p, head)
	}
	return ""
}

// maxSearched is how large a file of a template may be to be searched as a whole, in bytes.
const maxSearched = 64 << 20

// Each calls f with each path of the template, the target of each link and the content of each file, except, unless all
// is set, those that Source.Search has seen. It leaves out files and returns false if a file is too large, or is no
// longer what it was.
func (t *Template) Each(ctx context.Context, all bool, f func(content []byte)) (complete bool) {
	for _, e := range t.fixed {
		f([]byte(e.Path))
		f([]byte(e.Target))
	}
	var tr *tree
	if !t.inMemory {
		var err error
		if tr, err = openTree(ctx, t.src.Dir); err != nil {
			return false
		}
		defer tr.close()
	}
	complete = true
	for _, file := range t.files {
		if file.skipped == "" {
			f([]byte(file.Path))
		}
		switch data, err := file.data, error(nil); {
		case file.skipped != "", file.searched && !all:
		case !t.loaded || file.Size > maxSearched:
			complete = false
		default:
			if !file.held {
				data, err = tr.readText(file.Entry)
			}
			if err != nil {
				complete = false
				continue
			}
			f(data)
		}
	}
	return complete
}

// File returns the content of a file of a loaded template; ok is false if it has none at that path.
func (t *Template) File(p string) (data []byte, ok bool, err error) {
	e, ok := t.base.Lookup(p)
	if !ok || e.Kind != File {
		return nil, false, nil
	}
	data, err = t.read(e)
	return data, true, err
}

// MaxSeeds is how many bytes may be laid over a workspace.
const MaxSeeds = 64 << 20

// Seeds returns the files that a loaded template copies, as seeds for other workspaces. A symbolic link becomes what it
// leads to, which must be among them. It is an error if they have more than [MaxSeeds] bytes.
func (t *Template) Seeds(ctx context.Context) (map[string]Seed, error) {
	seeds := make(map[string]Seed)
	limit := int64(MaxSeeds)
	err := t.Read(ctx, func(p string, read func(limit int64) ([]byte, int64, error)) error {
		if inGit(p) {
			return nil
		}
		data, size, err := read(limit)
		if limit -= size; limit < 0 && err == nil {
			err = errTooMany
		}
		e, _ := t.base.Lookup(p)
		seeds[p] = Seed{bytes.Clone(data), e.Exec}
		return err
	})
	if err != nil {
		return nil, err
	}
	const most = 8 // links that lead to links
	for range most {
		linked, err := t.linked(seeds, &limit)
		switch {
		case limit < 0:
			return nil, errTooMany
		case len(linked) == 0 && err != nil:
			return nil, err
		case len(linked) == 0:
			return seeds, nil
		}
		maps.Copy(seeds, linked)
	}
	return nil, errors.New("symbolic links lead into each other, and only files can be laid over a workspace")
}

// linked returns what lies at symbolic links and is not among the seeds yet, and an error if a link leads to nothing.
func (t *Template) linked(seeds map[string]Seed, limit *int64) (linked map[string]Seed, err error) {
	linked = make(map[string]Seed)
	for _, e := range t.fixed {
		if e.Kind != Symlink || inGit(e.Path) {
			continue
		}
		to := t.follow(e)
		found := false
		for p, seed := range seeds {
			rest, below := strings.CutPrefix(p, to+"/")
			if !below && p != to {
				continue
			}
			found = true
			at := path.Join(e.Path, rest)
			if p == to {
				at = e.Path
			}
			if _, ok := seeds[at]; ok {
				continue
			}
			if *limit -= int64(len(seed.Data)); *limit < 0 {
				return nil, errTooMany
			}
			linked[at] = seed
		}
		if !found {
			err = fmt.Errorf("%s is a symbolic link to %q, which is none of the files that can be laid over a "+
				"workspace", e.Path, e.Target)
		}
	}
	return linked, err
}

var errTooMany = errors.New("there are too many bytes to be laid over a workspace")

// follow returns the path in the template that a symbolic link leads to, empty if it leads nowhere there.
func (t *Template) follow(e Entry) string {
	const most = 40
	for range most {
		if path.IsAbs(e.Target) {
			return ""
		}
		to := path.Join(path.Dir(e.Path), e.Target)
		next, ok := t.base.Lookup(to)
		if !ok || next.Kind != Symlink {
			return to
		}
		e = next
	}
	return ""
}

// Read calls f with each file of the template, those below .git included, and a function that reads at most limit bytes
// of it and tells its size. It stops at the first error.
func (t *Template) Read(
	ctx context.Context, f func(path string, read func(limit int64) (data []byte, size int64, err error)) error,
) error {
	tr := &tree{ctx: ctx}
	if !t.inMemory && len(t.files) > 0 {
		var err error
		if tr, err = openTree(ctx, t.src.Dir); err != nil {
			return err
		}
		defer tr.close()
	}
	for _, file := range t.files {
		if file.skipped != "" {
			continue
		}
		err := f(file.Path, func(limit int64) ([]byte, int64, error) {
			if file.held {
				size := int64(len(file.data))
				return file.data[:min(limit, size)], size, ctx.Err()
			}
			return t.readHead(tr, file.Path, limit)
		})
		if err != nil {
			return fmt.Errorf("read workspace source: %s: %w", file.Path, err)
		}
	}
	return nil
}

// readHead returns at most limit bytes of a file of the source, and its size. What is not copied is empty.
func (t *Template) readHead(tr *tree, p string, limit int64) (data []byte, size int64, err error) {
	in, reason, err := t.open(tr, p)
	if err != nil || reason != "" {
		return nil, 0, err
	}
	defer func() { _ = in.Close() }()
	data = bytes.Clone(in.head[:min(limit, int64(len(in.head)))])
	if rest := limit - int64(len(data)); rest > 0 && int64(len(data)) < in.info.Size() {
		more, err := io.ReadAll(io.LimitReader(in, rest))
		if err != nil {
			return nil, 0, err
		}
		data = append(data, more...)
	}
	return data, max(in.info.Size(), int64(len(data))), nil
}

// read returns the content of a file of the template.
func (t *Template) read(e Entry) ([]byte, error) {
	if t == nil {
		return nil, os.ErrNotExist
	}
	i, ok := t.byPath[e.Path]
	if !ok {
		return nil, os.ErrNotExist
	}
	if f := t.files[i]; f.held {
		return f.data, nil
	}
	tr, err := openTree(context.Background(), t.src.Dir)
	if err != nil {
		return nil, err
	}
	defer tr.close()
	return tr.readText(e)
}
