// Package bundle packs the files of a project, and of a unit's run, and unpacks those of others. An archive is a tar
// file, compressed by gzip, that is the same for the same files: it has no times and no owners.
package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
)

// The most that an archive holds.
const (
	maxFiles = 200_000
	maxBytes = 1 << 30
	maxName  = 4096
	// MaxPacked is the largest size of an archive, in bytes.
	MaxPacked = 512 << 20
)

// ErrTooLarge means that there is more than an archive holds.
var ErrTooLarge = fmt.Errorf("too large to travel: an archive has at most %d files with %d MiB, and %d MiB packed",
	maxFiles, maxBytes>>20, MaxPacked>>20)

// Pack packs files below a directory. Names are their paths, with slashes. Look, unless it is nil, sees each file and
// may refuse it. What is no regular file, and no link to a place below the directory, is an error, or left out with
// skip; its names are returned.
func Pack(dir string, names []string, skip bool, look func(name string, data []byte) error) (
	data []byte, skipped []string, err error,
) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil, nil, err
	}
	p := packer{root: root, tar: tar.NewWriter(zip), look: look}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		err := p.add(name)
		if errors.Is(err, errUnfit) && skip {
			skipped = append(skipped, name)
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("pack %s: %w", filepath.Join(dir, filepath.FromSlash(name)), err)
		}
	}
	if err := errors.Join(p.tar.Close(), zip.Close()); err != nil {
		return nil, nil, err
	}
	if out.Len() > MaxPacked {
		return nil, nil, fmt.Errorf("pack %s: %w", dir, ErrTooLarge)
	}
	return out.Bytes(), skipped, nil
}

type packer struct {
	root  *os.Root
	tar   *tar.Writer
	look  func(name string, data []byte) error
	files int
	bytes int64
}

var errUnfit = errors.New("it is neither a regular file nor a link to a place in the same tree")

func (p *packer) add(name string) error {
	if !fit(name) {
		return errUnfit
	}
	info, err := p.root.Lstat(name)
	if err != nil {
		return err
	}
	if p.files++; p.files > maxFiles {
		return ErrTooLarge
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := p.root.Readlink(name)
		if err != nil {
			return err
		}
		if target = filepath.ToSlash(target); !fitLink(name, target) {
			return fmt.Errorf("%w, but a link to %q", errUnfit, target)
		}
		return p.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777})
	case !info.Mode().IsRegular():
		return errUnfit
	}
	f, err := disk.OpenRegularIn(p.root, name)
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := disk.ReadAll(f, maxBytes-p.bytes)
	if _, large := errors.AsType[*disk.SizeError](err); large {
		return ErrTooLarge
	}
	if err != nil {
		return err
	}
	p.bytes += int64(len(data))
	if p.look != nil {
		if err := p.look(name, data); err != nil {
			return err
		}
	}
	mode := int64(0o644)
	if info.Mode()&0o100 != 0 {
		mode = 0o755
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: mode}
	if err := p.tar.WriteHeader(h); err != nil {
		return err
	}
	_, err = p.tar.Write(data)
	return err
}

// fit reports whether a file may be called so.
func fit(name string) bool {
	return len(name) <= maxName && name != "." && fs.ValidPath(name) && filepath.IsLocal(filepath.FromSlash(name)) &&
		!strings.ContainsAny(name, "\x00\\")
}

// fitLink reports whether the link leads to a place below the directory of the archive, whatever other links are there:
// it goes up first, through directories that are no links, and down then.
func fitLink(name, target string) bool {
	return target == path.Clean(target) && !path.IsAbs(target) && !strings.ContainsAny(target, "\x00\\") &&
		len(target) <= maxName && filepath.IsLocal(filepath.FromSlash(path.Join(path.Dir(name), target)))
}

// Unpack unpacks an archive of somebody else into a directory that is empty. Only what [Pack] makes is accepted:
// regular files, and links within the directory; nothing twice, nothing through a link, and not more than Pack takes.
func Unpack(data []byte, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	in := tar.NewReader(zip)
	u := unpacker{root: root, in: in, dirs: map[string]bool{".": true}, files: make(map[string]bool)}
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = u.entry(h)
		}
		if err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
	}
	// The checksum stands behind the archive.
	n, err := io.Copy(io.Discard, io.LimitReader(zip, 1<<20))
	if err == nil && n == 1<<20 {
		err = errors.New("more than padding follows the archive")
	}
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	return nil
}

type unpacker struct {
	root  *os.Root
	in    *tar.Reader
	dirs  map[string]bool
	files map[string]bool // and links
	bytes int64
}

func (u *unpacker) entry(h *tar.Header) error {
	if !fit(h.Name) {
		return fmt.Errorf("the name %.200q is not a path below the archive's directory", h.Name)
	}
	if u.files[h.Name] || u.dirs[h.Name] {
		return fmt.Errorf("%.200q is there twice", h.Name)
	}
	if err := u.mkdir(path.Dir(h.Name)); err != nil {
		return err
	}
	if u.files[h.Name] = true; len(u.files) > maxFiles {
		return fmt.Errorf("more than %d files", maxFiles)
	}
	switch h.Typeflag {
	case tar.TypeSymlink:
		if !fitLink(h.Name, h.Linkname) {
			return fmt.Errorf("%.200q is a link to %.200q, which is outside of the archive", h.Name, h.Linkname)
		}
		return u.root.Symlink(filepath.FromSlash(h.Linkname), filepath.FromSlash(h.Name))
	case tar.TypeReg:
	default:
		return fmt.Errorf("%.200q is neither a regular file nor a link", h.Name)
	}
	if u.bytes += h.Size; h.Size < 0 || u.bytes > maxBytes {
		return fmt.Errorf("more than %d bytes", maxBytes)
	}
	mode := fs.FileMode(0o644)
	if h.Mode&0o100 != 0 {
		mode = 0o755
	}
	f, err := u.root.OpenFile(filepath.FromSlash(h.Name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, u.in)
	return errors.Join(err, f.Close())
}

// mkdir makes a directory and those above it, none of which may be a link.
func (u *unpacker) mkdir(dir string) error {
	if u.dirs[dir] {
		return nil
	}
	if u.files[dir] {
		return fmt.Errorf("%.200q is there as a file and as a directory", dir)
	}
	if err := u.mkdir(path.Dir(dir)); err != nil {
		return err
	}
	u.dirs[dir] = true
	return u.root.Mkdir(filepath.FromSlash(dir), 0o755)
}

// Files returns the paths of all that is below a directory and is no directory, with slashes, but for what skip says.
func Files(dir string, skip func(name string) bool) ([]string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var names []string
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && skip != nil && skip(name):
			if e.IsDir() {
				return fs.SkipDir
			}
		case !e.IsDir():
			names = append(names, name)
		}
		if len(names) > maxFiles {
			return fmt.Errorf("%s: %w", dir, ErrTooLarge)
		}
		return nil
	})
	return names, err
}
