//go:build unix

package localtools_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/localtools"
	"github.com/sdd-eval/sdd-eval/internal/testkit/soak"
)

const (
	secret  = "what is outside"
	outside = "outside the workspace"
)

// denials collects what is denied.
type denials struct {
	mu  sync.Mutex
	all []localtools.Denied
}

func (d *denials) add(one localtools.Denied) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, one)
}

// scene is a workspace in hostile surroundings: base/ws and, outside, base/secret, base/ws-evil/file and base/dir.
type scene struct {
	base, ws string
	files    *localtools.Files
	denied   *denials
}

func newScene(t testing.TB) scene {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	s := scene{base: base, ws: filepath.Join(base, "ws"), denied: &denials{}}
	for path, text := range map[string]string{
		"secret": secret, "ws-evil/file": secret, "dir/file": secret,
		"ws/a.txt": "one\ntwo\r\n\nfour", "ws/sub/b.txt": "b\n", "ws/..c": "dots\n",
	} {
		path = filepath.Join(base, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	s.files, err = localtools.OpenFiles(s.ws, "")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.files.Close()) })
	s.files.OnDeny = s.denied.add
	return s
}

// expand puts the scene's directories into a path of a test table.
func (s scene) expand(path string) string {
	return strings.NewReplacer("$WS", s.ws, "$BASE", s.base).Replace(path)
}

// link makes a symbolic link in the workspace.
func (s scene) link(t testing.TB, target, name string) {
	t.Helper()
	require.NoError(t, os.Symlink(s.expand(target), filepath.Join(s.ws, name)))
}

// outsideIsUntouched fails the test if anything outside the workspace has changed.
func (s scene) outsideIsUntouched(t testing.TB) {
	t.Helper()
	got := make(map[string]string)
	require.NoError(t, filepath.WalkDir(s.base, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == s.ws:
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		data, err := os.ReadFile(path)
		got[strings.TrimPrefix(path, s.base+"/")] = string(data)
		return err
	}))
	want := map[string]string{"secret": secret, "ws-evil/file": secret, "dir/file": secret}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outside the workspace: -want +got\n%s", diff)
	}
}

func TestRead(t *testing.T) {
	two := func(line, limit int) [2]*int { return [2]*int{&line, &limit} }
	line := func(n int) [2]*int { return [2]*int{&n, nil} }
	limit := func(n int) [2]*int { return [2]*int{nil, &n} }
	tests := []struct {
		name, path string
		at         [2]*int // line and limit
		want       string
	}{
		{name: "whole", path: "$WS/a.txt", want: "one\ntwo\r\n\nfour"},
		{name: "below", path: "$WS/sub/b.txt", want: "b\n"},
		{name: "dots-in-the-name", path: "$WS/..c", want: "dots\n"},
		{name: "dots-inside", path: "$WS/sub/../sub/./b.txt", want: "b\n"},
		{name: "repeated-slashes", path: "/" + "$WS//sub///b.txt", want: "b\n"},
		{name: "dot-before-the-root", path: "/.$WS/a.txt", want: "one\ntwo\r\n\nfour"},
		{name: "line-0-is-line-1", path: "$WS/a.txt", at: line(0), want: "one\ntwo\r\n\nfour"},
		{name: "line-1", path: "$WS/a.txt", at: line(1), want: "one\ntwo\r\n\nfour"},
		{name: "line-2", path: "$WS/a.txt", at: line(2), want: "two\r\n\nfour"},
		{name: "last-line", path: "$WS/a.txt", at: line(4), want: "four"},
		{name: "line-past-the-end", path: "$WS/a.txt", at: line(5), want: ""},
		{name: "line-after-the-last-newline", path: "$WS/sub/b.txt", at: line(2), want: ""},
		{name: "limit", path: "$WS/a.txt", at: limit(2), want: "one\ntwo\r\n"},
		{name: "limit-0", path: "$WS/a.txt", at: limit(0), want: ""},
		{name: "limit-past-the-end", path: "$WS/a.txt", at: limit(99), want: "one\ntwo\r\n\nfour"},
		{name: "line-and-limit", path: "$WS/a.txt", at: two(2, 2), want: "two\r\n\n"},
		{name: "link", path: "$WS/link", want: "b\n"},
		{name: "link-to-a-directory", path: "$WS/dirlink/b.txt", want: "b\n"},
		{name: "dots-after-a-link", path: "$WS/deeplink/../b.txt", want: "b\n"},
		{name: "other-name-of-the-root", path: "$BASE/alias/a.txt", want: "one\ntwo\r\n\nfour"},
		{name: "name-that-the-agent-sees", path: "/seen/sub/../a.txt", want: "one\ntwo\r\n\nfour"},
	}
	s := newScene(t)
	s.link(t, "sub/b.txt", "link")
	s.link(t, "sub", "dirlink")
	require.NoError(t, os.Mkdir(filepath.Join(s.ws, "sub", "deep"), 0o755))
	s.link(t, "sub/deep", "deeplink")
	require.NoError(t, os.Symlink(s.ws, filepath.Join(s.base, "alias")))
	files, err := localtools.OpenFiles(filepath.Join(s.base, "alias"), "/seen")
	require.NoError(t, err)
	defer files.Close()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := files.Read(s.expand(tt.path), tt.at[0], tt.at[1])
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}

// hostile are paths and what they lead to. Reading is an error for each, writing for most.
var hostile = []struct {
	name, path string
	make       func(t testing.TB, s scene)
	// read and write are the errors, after the path; an empty write may be done, in place of what is there.
	read, write string
}{
	{name: "relative", path: "a.txt", read: "not an absolute path", write: "not an absolute path"},
	{name: "empty", path: "", read: "not an absolute path", write: "not an absolute path"},
	{name: "nul", path: "$WS/a.txt\x00.go", read: "a NUL byte in the path", write: "a NUL byte in the path"},
	{name: "outside", path: "$BASE/secret", read: outside, write: outside},
	{name: "sibling-prefix", path: "$WS-evil/file", read: outside, write: outside},
	{name: "dots", path: "$WS/../secret", read: outside, write: outside},
	{name: "many-dots", path: "$WS/../../../../../../../../etc/passwd", read: outside, write: outside},
	{name: "dots-after-a-directory", path: "$WS/sub/../../secret", read: outside, write: outside},
	{name: "dots-back-in", path: "$WS/../ws/a.txt", read: outside, write: outside},
	{name: "dots-before-the-root", path: "$BASE/dir/../ws/a.txt", read: outside, write: outside},
	{name: "proc-root", path: "/proc/self/root$BASE/secret", read: outside, write: outside},
	{name: "proc-root-of-the-workspace", path: "/proc/self/root$WS/a.txt", read: outside, write: outside},
	{
		name: "too-long", path: "$WS/" + strings.Repeat("a/", 4096), read: "the path is too long",
		write: "the path is too long",
	},
	{
		name: "relative-link-out", path: "$WS/link", read: outside,
		make: func(t testing.TB, s scene) { s.link(t, "../secret", "link") },
	},
	{
		name: "absolute-link-out", path: "$WS/link", read: outside,
		make: func(t testing.TB, s scene) { s.link(t, "$BASE/secret", "link") },
	},
	{
		name: "link-to-proc-root", path: "$WS/link$BASE/secret", read: outside, write: outside,
		make: func(t testing.TB, s scene) { s.link(t, "/proc/self/root", "link") },
	},
	{
		name: "link-to-a-directory-out", path: "$WS/link/file", read: outside, write: outside,
		make: func(t testing.TB, s scene) { s.link(t, "../dir", "link") },
	},
	{
		name: "link-to-a-new-file-out", path: "$WS/link", read: outside,
		make: func(t testing.TB, s scene) { s.link(t, "../new", "link") },
	},
	{
		name: "link-to-a-new-directory-out", path: "$WS/link/new/file", read: outside, write: outside,
		make: func(t testing.TB, s scene) { s.link(t, "../newdir", "link") },
	},
	{
		name: "chain-of-links", path: "$WS/one", read: outside,
		make: func(t testing.TB, s scene) { s.link(t, "two", "one"); s.link(t, "sub/../../secret", "two") },
	},
	{
		name: "dangling-link", path: "$WS/link", read: "no such file or directory",
		make: func(t testing.TB, s scene) { s.link(t, "nothing", "link") },
	},
	{
		name: "link-to-itself", path: "$WS/link", read: "too many levels of symbolic links",
		make: func(t testing.TB, s scene) { s.link(t, "link", "link") },
	},
	{
		name: "hard-link-out", path: "$WS/hard", read: "a hard link: its other names may be outside the workspace",
		make: func(t testing.TB, s scene) {
			require.NoError(t, os.Link(filepath.Join(s.base, "secret"), filepath.Join(s.ws, "hard")))
		},
	},
	{
		name: "fifo", path: "$WS/fifo", read: "not a regular file", write: "not a regular file",
		make: func(t testing.TB, s scene) {
			require.NoError(t, syscall.Mkfifo(filepath.Join(s.ws, "fifo"), 0o644))
		},
	},
	{name: "device", path: "/dev/zero", read: outside, write: outside},
	{
		name: "device-in-the-workspace", path: "$WS/zero", read: "not a regular file", write: "not a regular file",
		make: func(t testing.TB, s scene) {
			if err := syscall.Mknod(filepath.Join(s.ws, "zero"), syscall.S_IFCHR|0o666, 1<<8|5); err != nil {
				t.Skipf("only some may make devices: %v", err)
			}
		},
	},
	{
		name: "link-to-a-device", path: "$WS/link", read: outside,
		make: func(t testing.TB, s scene) { s.link(t, "/dev/zero", "link") },
	},
	{name: "directory", path: "$WS/sub", read: "not a regular file", write: "not a regular file"},
	{name: "root", path: "$WS", read: "not a regular file", write: "is a directory"},
	{name: "trailing-slash", path: "$WS/a.txt/", read: "not a directory", write: "is a directory"},
	{name: "trailing-dots", path: "$WS/sub/..", read: "not a regular file", write: "is a directory"},
	{name: "file-as-a-directory", path: "$WS/a.txt/b", read: "not a directory", write: "file exists"},
	{name: "missing", path: "$WS/nothing", read: "no such file or directory"},
	{
		name: "oversized", path: "$WS/huge", read: "larger than 16777216 bytes",
		make: func(t testing.TB, s scene) {
			require.NoError(t, os.WriteFile(filepath.Join(s.ws, "huge"), nil, 0o644))
			require.NoError(t, os.Truncate(filepath.Join(s.ws, "huge"), 1<<30)) // sparse
		},
	},
	{
		name: "invalid-utf-8", path: "$WS/binary", read: "not a text file: invalid UTF-8",
		make: func(t testing.TB, s scene) {
			require.NoError(t, os.WriteFile(filepath.Join(s.ws, "binary"), []byte("a\xffb"), 0o644))
		},
	},
}

func TestHostilePaths(t *testing.T) {
	for _, tt := range hostile {
		t.Run(tt.name+"/read", func(t *testing.T) {
			s := newScene(t)
			if tt.make != nil {
				tt.make(t, s)
			}
			text, err := s.files.Read(s.expand(tt.path), nil, nil)
			assert.Empty(t, text)
			assert.ErrorContains(t, err, tt.read)
			s.checkDenied(t, localtools.OpRead, err)
			s.outsideIsUntouched(t)
		})
		t.Run(tt.name+"/write", func(t *testing.T) {
			s := newScene(t)
			if tt.make != nil {
				tt.make(t, s)
			}
			path := s.expand(tt.path)
			err := s.files.Write(path, "text")
			if tt.write == "" {
				require.NoError(t, err)
				info, err := os.Lstat(path)
				require.NoError(t, err)
				assert.Equal(t, fs.FileMode(0), info.Mode().Type(), "what was there is replaced by a file")
				got, err := s.files.Read(path, nil, nil)
				require.NoError(t, err)
				assert.Equal(t, "text", got)
			} else {
				require.ErrorContains(t, err, tt.write)
			}
			s.checkDenied(t, localtools.OpWrite, err)
			s.outsideIsUntouched(t)
			s.noTemporaries(t)
		})
	}
}

// checkDenied holds that a denial is told once, and nothing else is.
func (s scene) checkDenied(t testing.TB, op string, err error) {
	t.Helper()
	var want []localtools.Denied
	if denied, ok := errors.AsType[*localtools.Denied](err); ok {
		assert.Equal(t, op, denied.Op)
		want = []localtools.Denied{*denied}
	}
	if diff := cmp.Diff(want, s.denied.all); diff != "" {
		t.Errorf("denials told: -want +got\n%s", diff)
	}
}

// noTemporaries fails the test if a write has left its temporary file.
func (s scene) noTemporaries(t testing.TB) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(s.ws, func(path string, _ fs.DirEntry, err error) error {
		assert.NotContains(t, filepath.Base(path), ".sdd-eval-")
		return err
	}))
}

func TestReadErrors(t *testing.T) {
	s := newScene(t)
	negative := -1
	_, err := s.files.Read(filepath.Join(s.ws, "a.txt"), &negative, nil)
	require.ErrorIs(t, err, fs.ErrInvalid)
	_, err = s.files.Read(filepath.Join(s.ws, "a.txt"), nil, &negative)
	require.ErrorIs(t, err, fs.ErrInvalid)

	_, err = s.files.Read(filepath.Join(s.ws, "nothing"), nil, nil)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.EqualError(t, err, "read "+s.ws+"/nothing: no such file or directory")
	_, err = s.files.Read(s.base+"/secret", nil, nil)
	require.EqualError(t, err, fmt.Sprintf("read %q denied: outside the workspace", s.base+"/secret"))

	s.files.MaxSize = 3
	_, err = s.files.Read(filepath.Join(s.ws, "a.txt"), nil, nil)
	require.ErrorContains(t, err, "larger than 3 bytes")
	require.ErrorContains(t, s.files.Write(filepath.Join(s.ws, "new"), "text"), "larger than 3 bytes")

	require.NoError(t, s.files.Close())
	_, err = s.files.Read(filepath.Join(s.ws, "a.txt"), nil, nil)
	require.ErrorIs(t, err, fs.ErrClosed)
}

func TestWrite(t *testing.T) {
	tests := []struct {
		name, reason, path string
		make               func(t testing.TB, s scene)
		want               fs.FileMode
	}{
		{name: "new", path: "new.txt", want: 0o644},
		{name: "existing", path: "a.txt", want: 0o644},
		{name: "parents", path: "x/y/z/new.txt", want: 0o644},
		{name: "parents-and-dots", path: "x/y/../z/new.txt", want: 0o644},
		{
			name: "permissions", path: "script.sh", want: 0o750,
			reason: "a script that an agent edits is still one",
			make: func(t testing.TB, s scene) {
				require.NoError(t, os.WriteFile(filepath.Join(s.ws, "script.sh"), nil, 0o600))
				require.NoError(t, os.Chmod(filepath.Join(s.ws, "script.sh"), 0o750))
			},
		},
		{
			name: "below-a-link", path: "link/new.txt", want: 0o644,
			reason: "a link that stays inside is as good as a directory",
			make:   func(t testing.TB, s scene) { s.link(t, "sub", "link") },
		},
		{
			name: "link", path: "link", want: 0o644,
			reason: "a link is replaced, not followed, even if it stays inside",
			make:   func(t testing.TB, s scene) { s.link(t, "a.txt", "link") },
		},
		{
			name: "unreadable", path: "locked", want: 0o200,
			reason: "nothing is read of what is replaced",
			make: func(t testing.TB, s scene) {
				require.NoError(t, os.WriteFile(filepath.Join(s.ws, "locked"), nil, 0o200))
			},
		},
	}
	old := syscall.Umask(0o022)
	defer syscall.Umask(old)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t)
			if tt.make != nil {
				tt.make(t, s)
			}
			path := filepath.Join(s.ws, filepath.FromSlash(tt.path))
			const text = "text\r\nwithout end"
			require.NoError(t, s.files.Write(s.ws+"/"+tt.path, text))
			info, err := os.Lstat(path)
			require.NoError(t, err)
			assert.Equal(t, tt.want, info.Mode(), tt.reason)
			got, err := os.ReadFile(path)
			if !errors.Is(err, fs.ErrPermission) { // of a file that only root can read
				require.NoError(t, err)
				assert.Equal(t, text, string(got))
			}
			a, err := os.ReadFile(filepath.Join(s.ws, "a.txt"))
			require.NoError(t, err)
			if tt.path != "a.txt" {
				assert.Equal(t, "one\ntwo\r\n\nfour", string(a), "another file")
			}
			s.noTemporaries(t)
		})
	}
}

// TestSoakLinksSwappedInBetween has a directory and a file of the workspace change places with links to the outside,
// all the time, and reads and writes by their paths.
func TestSoakLinksSwappedInBetween(t *testing.T) {
	rounds := soak.Size(1000, 100_000)
	s := newScene(t)
	in := func(name string) string { return filepath.Join(s.ws, name) }
	require.NoError(t, os.Mkdir(in("dir"), 0o755))
	require.NoError(t, os.WriteFile(in("dir/file"), []byte("inside"), 0o644))
	require.NoError(t, os.WriteFile(in("leaf"), []byte("inside"), 0o644))
	s.link(t, "../dir", "dir.link")
	s.link(t, "$BASE/secret", "leaf.link")

	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, name := range []string{"dir", "leaf"} {
				own, link := name+".own", name+".link"
				for _, step := range [][2]string{{name, own}, {link, name}, {name, link}, {own, name}} {
					// A write may have put a file in the way; the swapping goes on.
					_ = os.Rename(in(step[0]), in(step[1]))
				}
			}
		}
	})
	seen := make(map[string]int)
	end := time.Now().Add(time.Minute)
	for round := 0; round < rounds || (seen["read"] == 0 || seen["refused"] == 0) && time.Now().Before(end); round++ {
		for _, name := range []string{"dir/file", "leaf"} {
			text, err := s.files.Read(s.ws+"/"+name, nil, nil)
			if err != nil {
				seen["refused"]++
				continue
			}
			require.NotEqual(t, secret, text, "read from outside")
			seen["read"]++
		}
		if round%20 == 0 {
			_ = s.files.Write(s.ws+"/dir/file", "inside")
			_ = s.files.Write(s.ws+"/leaf", "inside")
		}
	}
	close(stop)
	swapper.Wait()
	s.outsideIsUntouched(t)
	assert.NotZero(t, seen["read"], "reads that met the file")
	assert.NotZero(t, seen["refused"], "reads that met the link")
}

// FuzzPath reads and writes by any path: nothing outside is read or changed, nothing hangs.
func FuzzPath(f *testing.F) {
	for _, tt := range hostile {
		f.Add(tt.path)
	}
	f.Add("$WS/link/../b.txt")
	f.Add("$WS/out/file")
	s := newScene(f)
	s.link(f, "sub", "link")
	s.link(f, "../dir", "out")
	s.link(f, "$BASE", "absolute")
	f.Fuzz(func(t *testing.T, path string) {
		path = s.expand(path)
		text, err := s.files.Read(path, nil, nil)
		if err == nil && text == secret {
			t.Errorf("%q was read from outside", path)
		}
		if err := s.files.Write(path, "written"); err == nil {
			text, err := s.files.Read(path, nil, nil)
			require.NoError(t, err)
			assert.Equal(t, "written", text)
		}
		s.outsideIsUntouched(t)
	})
}
