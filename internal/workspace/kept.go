package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// A run keeps workspaces that it has not written as the list of their template, once, and what each has made of it:
// [Template.List], [Overlay.Keep] and [Rebuild].

// listVersion is the version of both files.
const listVersion = 1

// listHead is the first line of a template's list. Each further one is an [Entry].
type listHead struct {
	Version int    `json:"version"`
	Digest  string `json:"template"`
	Dir     string `json:"dir"` // from the project's root, or absolute; empty: there are no files
	Commit  string `json:"commit,omitempty"`
}

// keptFile is how one workspace differs from its template.
type keptFile struct {
	Version int          `json:"version"`
	Digest  string       `json:"template"`
	Changes []keptChange `json:"changes"`
}

type keptChange struct {
	Op       Op      `json:"change"`
	Path     string  `json:"path"`
	Kind     Kind    `json:"kind"`
	Exec     bool    `json:"exec,omitempty"`
	ModeOnly bool    `json:"mode_only,omitempty"`
	Target   string  `json:"target,omitempty"`
	Digest   string  `json:"sha256,omitempty"`
	Text     *string `json:"text,omitempty"`
	Base64   []byte  `json:"base64,omitempty"`
}

// List returns the list of a loaded template's files as lines of JSON. Dir is what it calls their directory.
func (t *Template) List(dir string) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err := enc.Encode(listHead{listVersion, t.baseDigest(), dir, t.src.Commit})
	for _, e := range t.base.Entries {
		err = errors.Join(err, enc.Encode(e))
	}
	return text.Bytes(), err
}

// TemplateDigest names the list of the overlay's template.
func (o *Overlay) TemplateDigest() string { return o.template.baseDigest() }

// Keep returns as JSON how the overlay differs from its template.
func (o *Overlay) Keep() ([]byte, error) {
	d, err := o.Delta()
	if err != nil {
		return nil, err
	}
	kept := keptFile{listVersion, o.TemplateDigest(), []keptChange{}}
	for _, c := range d.Changes {
		k := keptChange{Op: c.Op, Path: c.Path, Kind: c.Kind, Exec: c.Exec, ModeOnly: c.ModeOnly, Target: c.Target}
		if c.Writes() {
			k.Digest = digest(c.Data)
			if utf8.Valid(c.Data) {
				k.Text = new(string(c.Data))
			} else {
				k.Base64 = c.Data
			}
		}
		kept.Changes = append(kept.Changes, k)
	}
	text, err := json.MarshalIndent(kept, "", " ")
	return append(text, '\n'), err
}

// KeptTemplate returns the digest of the template in what [Overlay.Keep] returned.
func KeptTemplate(kept []byte) (string, error) {
	k, err := decodeKept(kept)
	return k.Digest, err
}

func decodeKept(text []byte) (k keptFile, err error) {
	if err := jsonvalue.DecodeStrict(text, &k, 0); err != nil {
		return k, err
	}
	if k.Version != listVersion {
		return k, fmt.Errorf("version %d: want %d", k.Version, listVersion)
	}
	if strings.Trim(k.Digest, "0123456789abcdef") != "" || len(k.Digest) != len(digest(nil)) {
		return k, fmt.Errorf("the template's digest %q is none", k.Digest)
	}
	return k, nil
}

// Rebuild writes a workspace into dst, which is empty or does not exist, from what [Overlay.Keep] returned and the list
// of its template, whose files are below root. What is no longer what it was is an error that names it: then dst is as
// before.
func Rebuild(ctx context.Context, root string, list, kept []byte, dst string) (err error) {
	head, entries, err := decodeList(list)
	if err != nil {
		return fmt.Errorf("the list of the template: %w", err)
	}
	k, err := decodeKept(kept)
	if err == nil && k.Digest != head.Digest {
		err = fmt.Errorf("it is of the template %s, not of %s", k.Digest, head.Digest)
	}
	var d Delta
	for i := 0; i < len(k.Changes) && err == nil; i++ {
		var c Change
		c, err = k.Changes[i].change()
		d.Changes = append(d.Changes, c)
	}
	if err != nil {
		return fmt.Errorf("the changes: %w", err)
	}
	_, before := os.Lstat(dst)
	if err := makeEmptyDir(dst); err != nil {
		return err
	}
	defer func() {
		switch {
		case err == nil:
		case errors.Is(before, os.ErrNotExist):
			err = errors.Join(err, disk.RemoveAll(dst))
		default:
			err = errors.Join(err, emptyDir(dst))
		}
	}()
	if head.Dir != "" && !filepath.IsAbs(head.Dir) {
		head.Dir = filepath.Join(root, filepath.FromSlash(head.Dir))
	}
	if err := copyListed(ctx, head, entries, dst); err != nil {
		return err
	}
	if err := d.Apply(dst); err != nil {
		return err
	}
	return Disarm(ctx, dst)
}

// CopyKept copies a workspace that a run keeps as it is into dst, which is empty or does not exist.
func CopyKept(ctx context.Context, from, dst string) error {
	if _, err := os.Lstat(from); err != nil {
		return fmt.Errorf("the run does not keep the workspace: %w", err)
	}
	if err := makeEmptyDir(dst); err != nil {
		return err
	}
	if err := os.Remove(dst); err != nil {
		return err
	}
	return disk.Copy(ctx, from, dst)
}

// emptyDir empties a directory.
func emptyDir(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, disk.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// copyListed copies the files of a template, which must be what the list says, into an empty directory.
func copyListed(ctx context.Context, head listHead, entries []Entry, dst string) error {
	to, err := os.OpenRoot(dst)
	if err != nil {
		return err
	}
	defer to.Close()
	committed, err := committedFiles(ctx, head, entries)
	if err != nil {
		return fmt.Errorf("the template is gone: %w", err)
	}
	e := editor{root: directory{to}, dirs: map[string]bool{".": true}}
	var from *tree
	for _, entry := range entries {
		c := entry.change(Added)
		if entry.Kind == File && committed != nil {
			c.Data = committed[entry.Path]
		} else if entry.Kind == File {
			if from == nil {
				if from, err = openTree(ctx, head.Dir); err != nil {
					return fmt.Errorf("the template is gone: %w", err)
				}
				defer from.close()
			}
			c.Data, err = from.readText(entry)
			if _, unstable := errors.AsType[*unstableError](err); unstable {
				err = errors.New("it has changed since the run")
			}
			if err != nil {
				return fmt.Errorf("%s: %w", filepath.Join(head.Dir, filepath.FromSlash(entry.Path)), err)
			}
		}
		if err := e.put(c); err != nil {
			return fmt.Errorf("write %s: %w", entry.Path, err)
		}
	}
	return nil
}

// change returns the change of a line.
func (k keptChange) change() (Change, error) {
	c := Change{Op: k.Op, Path: k.Path, Kind: k.Kind, Exec: k.Exec, ModeOnly: k.ModeOnly, Target: k.Target}
	if !c.Writes() {
		return c, nil
	}
	if c.Data = k.Base64; k.Text != nil {
		c.Data = []byte(*k.Text)
	}
	if digest(c.Data) != k.Digest {
		return c, fmt.Errorf("%s is not what was kept: its digest is another", k.Path)
	}
	return c, nil
}

// decodeList reads a template's list.
func decodeList(text []byte) (head listHead, entries []Entry, err error) {
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	if err := jsonvalue.DecodeStrict(first, &head, 0); err != nil {
		return head, nil, fmt.Errorf("line 1: %w", err)
	}
	if head.Version != listVersion {
		return head, nil, fmt.Errorf("line 1: version %d: want %d", head.Version, listVersion)
	}
	number := 1
	for line := range bytes.Lines(rest) {
		number++
		var l Entry
		err := jsonvalue.DecodeStrict(line, &l, 0)
		if err == nil {
			err = checkPath(l.Path)
		}
		switch {
		case err != nil:
		case len(entries) > 0 && l.Path <= entries[len(entries)-1].Path:
			err = errors.New("the paths are not sorted")
		case !slices.Contains([]Kind{File, Dir, Symlink}, l.Kind):
			err = fmt.Errorf("unknown kind %q", l.Kind)
		case l.Kind == Symlink && !leadsInside(l.Path, l.Target):
			err = fmt.Errorf("symbolic link to %q may lead outside", l.Target)
		}
		if err != nil {
			return head, nil, fmt.Errorf("line %d: %w", number, err)
		}
		entries = append(entries, l)
	}
	if got := (Manifest{Entries: entries}).Digest(); got != head.Digest {
		return head, nil, fmt.Errorf("its digest is %s, not %s: the file has changed", got, head.Digest)
	}
	return head, entries, nil
}
