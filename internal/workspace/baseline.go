package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

const (
	// maxCompared is the size in bytes up to which files are compared line by line.
	maxCompared = 512 << 10
	// maxDiff bounds the text of a diff, in bytes.
	maxDiff = 8 << 20
	// maxWritten bounds the contents that [Baseline.Now] keeps, in bytes.
	maxWritten = 64 << 20
)

// Baseline is the prepared state of a workspace, for comparison with its later state. It does not copy contents that it
// can read from the template. The zero value is an empty workspace.
type Baseline struct {
	manifest Manifest
	template *Template
	written  map[string][]byte // contents of files that do not come from the template
	// exclusion leaves files out of comparisons.
	exclusion *Exclusion
	seen      *Seen
}

// Baseline returns the baseline of a workspace that [Template.Prepare] has made with these seed files.
func (t *Template) Baseline(m Manifest, seeds map[string]Seed) Baseline {
	b := Baseline{manifest: m, template: t, written: make(map[string][]byte, len(seeds))}
	for p, seed := range seeds {
		b.written[p] = seed.Data
	}
	return b
}

// With returns the baseline after files were written into the workspace, whose manifest is now m.
func (b Baseline) With(m Manifest, files map[string][]byte) Baseline {
	b.manifest, b.written = m, maps.Clone(b.written)
	if b.written == nil {
		b.written = make(map[string][]byte, len(files))
	}
	maps.Copy(b.written, files)
	return b
}

// Now returns the baseline and the manifest of the workspace dir as it is now, after something has changed it. Of what
// changed it keeps the contents of files, unless they are too large to be compared, or too many.
func (b Baseline) Now(ctx context.Context, dir string) (Baseline, Manifest, error) {
	m, err := b.Manifest(ctx, dir)
	if err != nil {
		return Baseline{}, Manifest{}, err
	}
	tr, err := openTree(ctx, dir)
	if err != nil {
		return Baseline{}, Manifest{}, fmt.Errorf("compare workspace: %w", err)
	}
	defer tr.close()
	files, total := make(map[string][]byte), int64(0)
	for _, c := range diff(b.exclusion.Without(b.manifest), m, nil).Changes {
		e, _ := m.Lookup(c.Path)
		if !c.Writes() || e.Size > maxCompared {
			continue
		}
		if total += e.Size; total > maxWritten {
			files[c.Path] = nil
			continue
		}
		data, err := tr.readText(e)
		if err != nil {
			return Baseline{}, Manifest{}, fmt.Errorf("compare workspace: %s: %w", c.Path, err)
		}
		files[c.Path] = append([]byte{}, data...)
	}
	return b.With(m, files), m, nil
}

// Manifest returns the manifest of the workspace dir, without what the baseline leaves out of comparisons.
func (b Baseline) Manifest(ctx context.Context, dir string) (Manifest, error) {
	s, err := takeSurvey(ctx, dir, survey{before: b.manifest, exclusion: b.exclusion, seen: b.seen})
	if err != nil {
		return Manifest{}, fmt.Errorf("compare workspace: %w", err)
	}
	return s.manifest(), nil
}

// Without returns the baseline for comparisons that leave out what the exclusion does.
func (b Baseline) Without(x *Exclusion) Baseline {
	b.exclusion = x
	return b
}

// Knowing returns the baseline for comparisons with a workspace of which that was seen, and has not changed; nil:
// nothing was.
func (b Baseline) Knowing(s *Seen) Baseline {
	b.seen = s
	return b
}

// Diff is how a workspace differs from its baseline.
type Diff struct {
	Files []FileDiff // sorted by path
	// Text is a unified diff as git writes it. Files that are binary, large or ignored by git are named without
	// content.
	Text []byte
}

// FileDiff is one path that differs.
type FileDiff struct {
	Path string
	Op   Op
	Kind Kind
	// Size is the file's length in bytes, before the deletion if it was deleted.
	Size int64
	// Added and Removed count lines. They are nil if the path was not compared line by line.
	Added, Removed *int
}

// Diff compares the workspace dir with its baseline.
func (b Baseline) Diff(ctx context.Context, dir string) (Diff, error) {
	m, err := b.Manifest(ctx, dir)
	if err != nil {
		return Diff{}, err
	}
	return b.Compare(ctx, dir, m)
}

// Compare is [Baseline.Diff] for a workspace whose manifest is known to be after. A changed file whose content does not
// match after is named without content.
func (b Baseline) Compare(ctx context.Context, dir string, after Manifest) (Diff, error) {
	tr, err := openTree(ctx, dir)
	if err != nil {
		return Diff{}, fmt.Errorf("compare workspace: %w", err)
	}
	defer tr.close()
	return b.compare(ctx, after, b.read, tr.readText)
}

// compare compares the baseline, whose files one function reads, with a workspace whose files another reads.
func (b Baseline) compare(
	ctx context.Context, after Manifest, readOld, readNew func(Entry) ([]byte, error),
) (Diff, error) {
	var d Diff
	var text bytes.Buffer
	for _, c := range diff(b.exclusion.Without(b.manifest), b.exclusion.Without(after), nil).Changes {
		if err := ctx.Err(); err != nil {
			return Diff{}, err
		}
		f := fileComparison{Change: c}
		f.was, _ = b.manifest.Lookup(c.Path)
		f.is, _ = after.Lookup(c.Path)
		d.Files = append(d.Files, f.write(&text, readOld, readNew))
	}
	d.Text = text.Bytes()
	return d, nil
}

// fileComparison compares the entry at one path before and now.
type fileComparison struct {
	Change
	was, is Entry
}

// write adds the comparison to a diff, unless that is full.
func (f fileComparison) write(text *bytes.Buffer, readOld, readNew func(Entry) ([]byte, error)) FileDiff {
	d := FileDiff{Path: f.Path, Op: f.Op, Kind: f.Kind, Size: f.is.Size}
	if f.Op == Deleted {
		d.Size = f.was.Size
	}
	f.writeHead(text)
	old, why := f.content(f.was, readOld)
	now, whyNow := f.content(f.is, readNew)
	switch {
	case f.ModeOnly:
	case why+whyNow != "":
		fmt.Fprintf(text, "(%s)\n", cmp.Or(whyNow, why))
	case text.Len() > maxDiff:
		fmt.Fprintln(text, "(omitted: the diff is too long)")
	default:
		d.Added, d.Removed = f.writeLines(text, old, now)
	}
	return d
}

// writeHead writes the lines that git writes before a file's changes.
func (f fileComparison) writeHead(text *bytes.Buffer) {
	fmt.Fprintf(text, "diff --git %s %s\n", name("a/", f.Path), name("b/", f.Path))
	mode := func(e Entry) string {
		switch {
		case e.Kind == Symlink:
			return "120000"
		case e.Kind == Dir:
			return "040000"
		case e.Exec:
			return "100755"
		}
		return "100644"
	}
	switch was, is := mode(f.was), mode(f.is); {
	case f.Op == Added:
		fmt.Fprintf(text, "new file mode %s\n", is)
	case f.Op == Deleted:
		fmt.Fprintf(text, "deleted file mode %s\n", was)
	case was != is:
		fmt.Fprintf(text, "old mode %s\nnew mode %s\n", was, is)
	}
}

// content returns the text of one side, or the reason why it is not shown.
func (f fileComparison) content(e Entry, read func(Entry) ([]byte, error)) (text, why string) {
	switch {
	case e.Path == "" || e.Kind == Dir: // there is no file on this side
		return "", ""
	case e.Kind == Symlink:
		return e.Target, ""
	case e.Ignored:
		return "", "ignored by git"
	case e.Size > maxCompared:
		return "", "too large to compare"
	}
	data, err := read(e)
	switch {
	case err != nil:
		return "", err.Error()
	case bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data):
		return "", "binary"
	}
	return string(data), ""
}

// writeLines writes the changes line by line and counts them.
func (f fileComparison) writeLines(text *bytes.Buffer, old, now string) (added, removed *int) {
	a, b := name("a/", f.Path), name("b/", f.Path)
	if f.was.Path == "" {
		a = "/dev/null"
	}
	if f.is.Path == "" {
		b = "/dev/null"
	}
	u, err := udiff.ToUnifiedDiff(a, b, old, udiff.Lines(old, now), udiff.DefaultContextLines)
	if err != nil {
		panic(fmt.Sprintf("workspace: compare %s: %v", f.Path, err)) // cannot be: udiff made the edits
	}
	added, removed = new(int), new(int)
	for _, h := range u.Hunks {
		for _, l := range h.Lines {
			switch l.Kind {
			case udiff.Insert:
				*added++
			case udiff.Delete:
				*removed++
			}
		}
	}
	text.WriteString(u.String())
	return added, removed
}

// name returns a path as in git's diffs: quoted if it contains characters that would break the line.
func name(prefix, path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == 0x7f }) {
		return fmt.Sprintf("%q", prefix+path)
	}
	return prefix + path
}

// readText reads the file of an entry, whose content must not have changed.
func (t *tree) readText(e Entry) ([]byte, error) {
	f, err := t.open(e.Path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var data bytes.Buffer
	got, err := t.entry(f, &data)
	if err == nil && got.Digest != e.Digest {
		err = &unstableError{Path: e.Path}
	}
	return data.Bytes(), err
}

// read returns the content of a file in the baseline.
func (b Baseline) read(e Entry) ([]byte, error) {
	if data, ok := b.written[e.Path]; ok {
		if data == nil {
			return nil, errors.New("not shown: steps before the agent wrote more than 64 MiB, and its content of " +
				"then was not kept; have the steps write less, or put the files into workspace.from")
		}
		return data, nil
	}
	data, err := b.template.read(e)
	if _, unstable := errors.AsType[*unstableError](err); unstable || err == nil && digest(data) != e.Digest {
		err = fmt.Errorf("its original in %s has changed since", b.template.src.Dir)
	}
	return data, err
}
