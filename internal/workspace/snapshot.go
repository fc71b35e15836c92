package workspace

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"unicode/utf8"
)

// maxDelta is the default limit on the size of all changed files of one turn together, in bytes.
const maxDelta = 16 << 20

// attempts is how often a workspace is read if it changes meanwhile.
const attempts = 3

// Snapshot returns the manifest of the workspace dir. A tree that git ignores is one entry. If other processes keep
// changing the workspace, Snapshot returns an error.
func Snapshot(ctx context.Context, dir string) (Manifest, error) {
	s, err := takeSurvey(ctx, dir, survey{})
	if err != nil {
		return Manifest{}, fmt.Errorf("snapshot workspace: %w", err)
	}
	return manifestOf(s.entries), nil
}

// Changes returns the manifest of the workspace dir and how it differs from before. As in git, paths of before are not
// ignored, whatever .gitignore says. What the exclusion leaves out is in neither. It is an error if the changed files
// have more than limit bytes together, or if other processes keep changing the workspace. A limit of 0 means 16 MiB.
func Changes(
	ctx context.Context, dir string, before Manifest, limit int64, exclusion *Exclusion,
) (after Manifest, d Delta, err error) {
	limit, before = cmp.Or(limit, maxDelta), exclusion.Without(before)
	s, err := takeSurvey(ctx, dir, survey{before: before, exclusion: exclusion, keep: true, limit: limit})
	if err != nil {
		return Manifest{}, Delta{}, fmt.Errorf("changes to workspace: %w", err)
	}
	var total int64
	for _, e := range s.changed {
		total += e.Size
	}
	if total > limit {
		return Manifest{}, Delta{}, &TooLargeError{Total: total, Limit: limit, Biggest: biggest(s.changed, 5)}
	}
	after = s.manifest()
	return after, diff(before, after, s.data), nil
}

// survey reads a workspace.
type survey struct {
	*tree
	before    Manifest
	exclusion *Exclusion
	keep      bool  // keep the contents of changed files
	limit     int64 // how many bytes to keep at most
	raw       bool  // in an ignored tree: everything is an entry, whatever its name
	seen      *Seen // what need not be read, unless contents are kept; nil: nothing

	entries []Entry
	changed []Entry // files whose content differs from before
	data    map[string][]byte
	kept    int64
	// left are directories that were left out by default, globs those that left out something.
	left, globs map[string]bool
}

// manifest is what was read.
func (s *survey) manifest() Manifest {
	m := manifestOf(s.entries)
	m.LeftOut = leftOut(s.left, s.globs)
	return m
}

// leavesOut reports whether the exclusion leaves out p, and notes it.
func (s *survey) leavesOut(p string, isDir bool) bool {
	if glob := s.exclusion.matches(p); glob != "" {
		s.globs[glob] = true
		return true
	}
	if isDir && s.exclusion.skips(p) && !s.tracked(p) {
		s.left[p] = true
		return true
	}
	return false
}

// takeSurvey reads the workspace dir with the settings of s. It reads it again if it changes meanwhile.
func takeSurvey(ctx context.Context, dir string, s survey) (*survey, error) {
	var err error
	for range attempts {
		run := s
		run.data, run.left, run.globs = make(map[string][]byte), make(map[string]bool), make(map[string]bool)
		if run.tree, err = openTree(ctx, dir); err != nil {
			return nil, err
		}
		err = run.readDir(".", nil, false)
		run.close()
		if _, unstable := errors.AsType[*unstableError](err); !unstable {
			return &run, err
		}
	}
	return nil, err
}

// readDir adds the entries of dir, to which the rules of ign apply. If dir is ignored, all its entries are.
func (s *survey) readDir(dir string, ign *ignore, ignored bool) error {
	list, err := s.list(dir)
	if err != nil {
		return vanished(dir, err)
	}
	hasRules := func(d fs.DirEntry) bool { return d.Name() == ignoreFile && d.Type().IsRegular() }
	if !s.raw && !ignored && slices.ContainsFunc(list, hasRules) {
		if ign, err = s.readIgnore(dir, ign); err != nil {
			return err
		}
	}
	for _, d := range list {
		p := join(dir, d.Name())
		if d.Name() == ".git" || !s.raw && s.leavesOut(p, d.IsDir()) {
			continue
		}
		hidden := ignored || ign.matches(p, d.IsDir())
		if !s.raw && !s.tracked(p) && hidden {
			err = s.addIgnored(p, d)
		} else {
			err = s.add(p, d, ign, hidden)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *survey) tracked(p string) bool {
	e, ok := s.before.Lookup(p)
	return ok && !e.Ignored
}

func (s *survey) add(p string, d fs.DirEntry, ign *ignore, ignored bool) error {
	if !s.raw && !utf8.ValidString(p) {
		return &nameError{Path: p}
	}
	switch {
	case d.IsDir():
		s.entries = append(s.entries, Entry{Path: p, Kind: Dir})
		return s.readDir(p, ign, ignored)
	case d.Type()&fs.ModeSymlink != 0:
		target, err := s.root.Readlink(p)
		if err != nil {
			return vanished(p, err)
		}
		s.entries = append(s.entries, Entry{Path: p, Kind: Symlink, Target: target, Ignored: !leadsInside(p, target)})
	case d.Type().IsRegular():
		return s.addFile(p)
	}
	return nil
}

func (s *survey) addFile(p string) error {
	if e, ok := s.seen.at(p); ok && !s.keep {
		s.entries = append(s.entries, e)
		return s.count(p, e.Size)
	}
	f, err := s.open(p)
	if err != nil {
		return vanished(p, err)
	}
	defer func() { _ = f.Close() }()
	size := f.info.Size()
	if was, ok := s.before.Lookup(p); s.keep && size > s.limit && (!ok || was.Size != size) {
		// The changes exceed the limit anyway. Reading the file, which may be sparse, would only take time.
		e := Entry{Path: p, Kind: File, Size: size}
		s.entries, s.changed = append(s.entries, e), append(s.changed, e)
		return nil
	}
	var content bytes.Buffer
	var w io.Writer = io.Discard
	if s.keep && size <= s.limit-s.kept {
		w = &content
	}
	e, err := s.stableEntry(f, w)
	if err != nil {
		return err
	}
	s.entries = append(s.entries, e)
	if was, ok := s.before.Lookup(p); s.keep && (!ok || was.Ignored || was.Digest != e.Digest) {
		s.changed = append(s.changed, e)
		if w != io.Discard {
			s.data[p] = content.Bytes()
			s.kept += e.Size
		}
	}
	return nil
}

// stableEntry is entry for a file that others may write to: it must not change while it is read.
func (t *tree) stableEntry(f opened, w io.Writer) (Entry, error) {
	e, err := t.entry(f, w)
	if err != nil {
		return Entry{}, err
	}
	now, err := t.root.Lstat(f.path)
	if err != nil {
		return Entry{}, vanished(f.path, err)
	}
	if !os.SameFile(f.info, now) || now.Size() != e.Size || !now.ModTime().Equal(f.info.ModTime()) {
		return Entry{}, &unstableError{Path: f.path}
	}
	return e, nil
}

// addIgnored adds one entry for p and everything below it.
func (s *survey) addIgnored(p string, d fs.DirEntry) error {
	below := survey{tree: s.tree, raw: true, seen: s.seen}
	if err := below.add(p, d, nil, false); err != nil {
		return err
	}
	if len(below.entries) == 0 {
		return nil
	}
	e := below.entries[0]
	e.Ignored = true
	if e.Kind == Dir {
		h := sha256.New()
		for _, b := range manifestOf(below.entries[1:]).Entries {
			_, _ = h.Write(b.appendTo(nil))
			e.Size += b.Size
		}
		e.Digest = hexSum(h)
	}
	s.entries = append(s.entries, e)
	return nil
}

// vanished returns an unstableError if err says that the entry at p is gone or has changed its kind, else err.
func vanished(p string, err error) error {
	for _, gone := range []error{fs.ErrNotExist, syscall.ENOTDIR, syscall.EINVAL, errNotRegular} {
		if errors.Is(err, gone) {
			return &unstableError{Path: p}
		}
	}
	return err
}
