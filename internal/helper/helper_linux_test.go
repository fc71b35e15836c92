package helper

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/fault"
)

// user is somebody with a test binary, a module, a cache and a fake go command, which copies the helper of this test to
// the file that it should build, and logs its arguments.
type user struct {
	t *testing.T
	process
	base string
}

func newUser(t *testing.T) *user {
	t.Helper()
	real, err := Find()
	require.NoError(t, err)
	base := t.TempDir()
	u := &user{t: t, base: base, process: process{
		exe: filepath.Join(base, "bin", "evals.test"), dir: filepath.Join(base, "module", "evals"),
		cache: filepath.Join(base, "cache"), temp: filepath.Join(base, "tmp"),
		environ: []string{
			"PATH=" + filepath.Join(base, "path") + ":/usr/bin:/bin", "GOFLAGS=-race -mod=vendor", "GOAMD64=v4",
		},
	}}
	u.write("module/go.mod", "module example.com/m\n", 0o644)
	u.write("module/evals/evals_test.go", "package evals\n", 0o644)
	u.write("path/go", fmt.Sprintf(`#!/bin/sh
echo "in $(pwd): $GOFLAGS $CGO_ENABLED $GOAMD64 $GOARM64: $*" >>%s/log
for out; do [ "$before" = -o ] && break; before=$out; done
cp %s "$out"
`, base, real.Path), 0o755)
	for _, dir := range []string{"bin", "tmp", "cache"} {
		require.NoError(t, os.MkdirAll(u.path(dir), 0o755))
	}
	return u
}

func (u *user) path(name string) string { return filepath.Join(u.base, filepath.FromSlash(name)) }

func (u *user) write(name, text string, perm os.FileMode) {
	u.t.Helper()
	require.NoError(u.t, os.MkdirAll(filepath.Dir(u.path(name)), 0o755))
	require.NoError(u.t, os.WriteFile(u.path(name), []byte(text), perm))
}

// install writes the helper to a file.
func (u *user) install(name string) {
	u.t.Helper()
	real, err := Find()
	require.NoError(u.t, err)
	data, err := os.ReadFile(real.Path)
	require.NoError(u.t, err)
	u.write(name, string(data), 0o755)
}

// other builds the helper of another version.
func (u *user) other(name string) {
	u.t.Helper()
	sources, err := filepath.Abs("generated/sources.txt")
	require.NoError(u.t, err)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{sources: u.path("other.txt")}})
	require.NoError(u.t, err)
	u.write("other.txt", "0123456789abcdef\n", 0o644)
	u.write("overlay.json", string(overlay), 0o644)
	build := exec.Command("go", "build", "-overlay="+u.path("overlay.json"), "-o", u.path(name), command)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(u.t, err, "%s", out)
}

// builds returns the calls of the go command.
func (u *user) builds() []string {
	u.t.Helper()
	data, err := os.ReadFile(u.path("log"))
	if !errors.Is(err, os.ErrNotExist) {
		require.NoError(u.t, err)
	}
	return strings.SplitAfter(string(data), "\n")[:strings.Count(string(data), "\n")]
}

// refused expects that no helper is found, and returns the error and the advice, with $BASE and $KEY for values that
// differ.
func (u *user) refused(chosen string) (reason, next string) {
	u.t.Helper()
	_, err := u.find(chosen)
	require.ErrorAs(u.t, err, new(*Error))
	r := strings.NewReplacer(u.base, "$BASE", Key(), "$KEY")
	return r.Replace(err.Error()), r.Replace(fault.Advice(err))
}

// TestChosen: if the file that EVALTEST_HELPER names is not the helper, it is an error, even if there is another
// helper.
func TestChosen(t *testing.T) {
	const next = "unset EVALTEST_HELPER, or build the helper anew: CGO_ENABLED=0 go build -o $BASE/chosen " + command
	tests := []struct {
		name, file, text, want string
		perm                   os.FileMode
	}{
		{
			name: "relative", file: "chosen",
			want: "chosen: tests run in the directories of their packages, so the path must be absolute",
		},
		{name: "missing", want: "fork/exec $BASE/chosen: no such file or directory"},
		{name: "not-executable", text: "#!/bin/sh\n", perm: 0o644, want: "fork/exec $BASE/chosen: permission denied"},
		{name: "silent", text: "#!/bin/sh\n", perm: 0o755, want: "$BASE/chosen: not the helper of sdd-eval"},
		{
			name: "something-else", text: "#!/bin/sh\necho usage: something else\n", perm: 0o755,
			want: "$BASE/chosen: not the helper of sdd-eval: usage: something else",
		},
		{name: "dies", text: "#!/bin/sh\nkill -9 $$\n", perm: 0o755, want: "$BASE/chosen: signal: killed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u := newUser(t)
			u.install("bin/sdd-eval-helper")
			if tt.text != "" {
				u.write("chosen", tt.text, tt.perm)
			}
			file := tt.file
			if file == "" {
				file = u.path("chosen")
			}
			reason, advice := u.refused(file)
			assert.Equal(t, "EVALTEST_HELPER: "+tt.want, reason)
			assert.Equal(t, strings.ReplaceAll(next, "$BASE/chosen", strings.ReplaceAll(file, u.base, "$BASE")), advice)
		})
	}
}

// TestOrder: the chosen file comes before the one beside the test binary, which comes before the cache.
func TestOrder(t *testing.T) {
	u := newUser(t)
	h, err := u.find("")
	require.NoError(t, err)
	assert.Equal(t, u.path("cache/sdd-eval/helper"), filepath.Dir(h.Path))
	build := strings.ReplaceAll(strings.Join(u.builds(), ""), u.base, "$BASE")
	assert.Regexp(t, `^in \$BASE/module: -buildvcs=false -mod=vendor 0 v1 v8.0: build -ldflags=-s -w `+
		`-o \$BASE/cache/sdd-eval/helper/new-\d+/helper `+command+"\n$", build)
	again, err := u.find("")
	require.NoError(t, err)
	assert.Equal(t, h, again)
	assert.Len(t, u.builds(), 1)

	u.install("bin/sdd-eval-helper")
	h, err = u.find("")
	require.NoError(t, err)
	assert.Equal(t, u.path("bin/sdd-eval-helper"), h.Path)

	u.install("chosen")
	h, err = u.find(u.path("chosen"))
	require.NoError(t, err)
	assert.Equal(t, u.path("chosen"), h.Path)
	assert.Len(t, u.builds(), 1)
}

// TestOtherVersion: a helper that was built from other sources is an error, and not ignored.
func TestOtherVersion(t *testing.T) {
	u := newUser(t)
	const other = "exit status 3: sdd-eval-helper: the helper has version 0123456789abcdef; want version $KEY"
	u.other("bin/sdd-eval-helper")
	reason, next := u.refused("")
	assert.Equal(t, "the helper beside the test binary: $BASE/bin/sdd-eval-helper: "+other, reason)
	assert.Equal(t, "remove it, or build it anew: CGO_ENABLED=0 go build -o $BASE/bin/sdd-eval-helper "+command, next)
	reason, next = u.refused(u.path("bin/sdd-eval-helper"))
	assert.Equal(t, "EVALTEST_HELPER: $BASE/bin/sdd-eval-helper: "+other, reason)
	assert.Contains(t, next, "unset EVALTEST_HELPER, or ")
	assert.Empty(t, u.builds())
}

// TestStrangers: a helper that belongs to another user is not started.
func TestStrangers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to make files of another user")
	}
	u := newUser(t)
	u.install("bin/sdd-eval-helper")
	require.NoError(t, os.Chown(u.path("bin/sdd-eval-helper"), 1000, 1000))
	reason, _ := u.refused("")
	assert.Equal(t, "the helper beside the test binary: $BASE/bin/sdd-eval-helper belongs to another user", reason)
}

// TestCaches: a directory that others can write to is not used, and the next one is.
func TestCaches(t *testing.T) {
	const cached, temporary = "cache/sdd-eval/helper", "tmp/sdd-eval-helper-%d"
	tests := []struct {
		name  string
		spoil func(u *user, dir string) error
	}{
		{"a-file", func(_ *user, dir string) error { return os.WriteFile(dir, nil, 0o600) }},
		{"a-link", func(u *user, dir string) error { return os.Symlink(u.path("bin"), dir) }},
		{"writable-by-others", func(_ *user, dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o777))
		}},
		{"of-another-user", func(_ *user, dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, 1000, 1000))
		}},
	}
	if os.Getuid() != 0 {
		tests[len(tests)-1].name = "not-writable" // root can write to every directory
		tests[len(tests)-1].spoil = func(_ *user, dir string) error { return os.Mkdir(dir, 0o500) }
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u := newUser(t)
			second := fmt.Sprintf(temporary, os.Geteuid())
			require.NoError(t, os.MkdirAll(filepath.Dir(u.path(cached)), 0o755))
			require.NoError(t, tt.spoil(u, u.path(cached)))
			h, err := u.find("")
			require.NoError(t, err)
			assert.Equal(t, u.path(second), filepath.Dir(h.Path))
			info, err := os.Stat(filepath.Dir(h.Path))
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())

			require.NoError(t, os.RemoveAll(u.path(second)))
			require.NoError(t, tt.spoil(u, u.path(second)))
			reason, next := u.refused("")
			assert.Contains(t, reason, "no directory can hold the helper of sdd-eval: ")
			assert.Contains(t, reason, "$BASE/"+cached)
			assert.Contains(t, reason, "$BASE/"+second)
			assert.Equal(t, buildAdvice, next)
		})
	}
	t.Run("no-home", func(t *testing.T) {
		u := newUser(t)
		u.cache = ""
		h, err := u.find("")
		require.NoError(t, err)
		assert.Equal(t, u.path(fmt.Sprintf(temporary, os.Geteuid())), filepath.Dir(h.Path))
	})
}

// TestSpoilt: a file in the cache that is not the helper, after a crash for example, is built again. Old files are
// removed.
func TestSpoilt(t *testing.T) {
	u := newUser(t)
	h, err := u.find("")
	require.NoError(t, err)
	require.NoError(t, os.Truncate(h.Path, 100))
	dir := "cache/sdd-eval/helper/"
	u.write(dir+"recent", "", 0o755)
	u.write(dir+"old", "", 0o755)
	u.write(dir+"new-of-a-crash/helper", "", 0o755)
	long := time.Now().Add(-keepTime - time.Hour)
	for _, name := range []string{"old", "lock", "new-of-a-crash"} {
		require.NoError(t, os.Chtimes(u.path(dir+name), long, long))
	}
	again, err := u.find("")
	require.NoError(t, err)
	assert.Equal(t, h, again)
	assert.Len(t, u.builds(), 2)
	entries, err := filepath.Glob(u.path(dir + "*"))
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{h.Path, u.path(dir + "recent"), u.path(dir + "lock")}, entries)

	require.NoError(t, os.Chtimes(h.Path, long, long))
	_, err = u.find("")
	require.NoError(t, err)
	info, err := os.Stat(h.Path)
	require.NoError(t, err)
	assert.True(t, info.ModTime().After(long), "the time says when it was used")
}

// TestAtOnce: if many look for the helper at once, one builds it.
func TestAtOnce(t *testing.T) {
	u := newUser(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			_, err := u.find("")
			assert.NoError(t, err)
		})
	}
	all.Wait()
	assert.Len(t, u.builds(), 1)
}

// TestBuildFails: the error says why, and how to build the helper by hand.
func TestBuildFails(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(u *user)
		want  string
	}{
		{
			"no-go", func(u *user) {
				u.t.Chdir(u.base)
				u.environ = []string{"PATH=" + u.path("nothing") + ":path"}
			},
			`"go": executable file not found in $PATH (PATH=$BASE/nothing:path)`,
		},
		{
			"no-module", func(u *user) { require.NoError(u.t, os.Remove(u.path("module/go.mod"))) },
			"no go.mod in $BASE/module/evals or above it",
		},
		{
			"go-build", func(u *user) {
				u.write("path/go", "#!/bin/sh\necho no required module provides package >&2; exit 1\n", 0o755)
			},
			"go build in $BASE/module: exit status 1: no required module provides package",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u := newUser(t)
			tt.spoil(u)
			reason, next := u.refused("")
			const failed = "there is no helper of sdd-eval beside $BASE/bin/evals.test, and building it failed: "
			assert.Equal(t, failed+tt.want, reason)
			assert.Equal(t, "build the helper in the module, `CGO_ENABLED=0 go build -o /path/to/sdd-eval-helper "+
				command+"`, and set EVALTEST_HELPER to its path", next)
		})
	}
}

// TestNoRoom: where there is no room to build it, the next directory is tried.
func TestNoRoom(t *testing.T) {
	for _, full := range []string{"no space left on device", "disk quota exceeded"} {
		t.Run(full, func(t *testing.T) {
			u := newUser(t)
			script, err := os.ReadFile(u.path("path/go"))
			require.NoError(t, err)
			const shebang = "#!/bin/sh\n"
			u.write("path/go", shebang+"case $* in *"+u.path("cache")+"/*) echo write: "+full+" >&2; exit 1;; esac\n"+
				strings.TrimPrefix(string(script), shebang), 0o755)
			h, err := u.find("")
			require.NoError(t, err)
			assert.Equal(t, u.path("tmp"), filepath.Dir(filepath.Dir(h.Path)))

			u = newUser(t)
			u.write("path/go", shebang+"echo write: "+full+" >&2; exit 1\n", 0o755)
			reason, next := u.refused("")
			line := "go build in $BASE/module: exit status 1: write: " + full
			assert.Equal(t, "no directory can hold the helper of sdd-eval: "+line+"\n"+line, reason)
			assert.Equal(t, buildAdvice, next)
		})
	}
}

// TestBuiltInVain: where programs cannot be executed, the helper is not usable.
func TestBuiltInVain(t *testing.T) {
	u := newUser(t)
	u.write("path/go", `#!/bin/sh
for out; do [ "$before" = -o ] && break; before=$out; done
echo >"$out"
`, 0o755)
	reason, _ := u.refused("")
	assert.Regexp(t, `^no directory can hold the helper of sdd-eval: fork/exec \$BASE/cache/.*: permission denied\n`+
		`fork/exec \$BASE/tmp/.*: permission denied$`, reason)
}

// TestRun: a program that hangs is killed with its descendants, and the ends of long outputs are kept.
func TestRun(t *testing.T) {
	pipe, theirs, err := os.Pipe()
	require.NoError(t, err)
	defer pipe.Close()
	script := fmt.Sprintf("exec 3>/proc/%d/fd/%d; sleep 600 & wait", os.Getpid(), theirs.Fd())
	_, _, err = run(200*time.Millisecond, []string{"/bin/sh", "-c", script}, "", nil)
	require.EqualError(t, err, "it took longer than 200ms")
	theirs.Close()
	require.NoError(t, pipe.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = pipe.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF, "nobody holds the other end")

	out, stderr, err := run(time.Minute, []string{"/bin/sh", "-c", "seq 100000; echo no >&2; exit 7"}, "", nil)
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, 7, exit.ExitCode())
	assert.Len(t, out, maxOutput)
	assert.True(t, strings.HasSuffix(out, "\n99999\n100000\n"))
	assert.Equal(t, "no\n", stderr)
}

// TestSum: each change of a package's files changes the sum, except a change of its tests.
func TestSum(t *testing.T) {
	u := newUser(t)
	u.write("src/a/a.go", "package a\n", 0o644)
	u.write("src/a/a_test.go", "package a\n", 0o644)
	u.write("src/b/b.go", "package b\n", 0o644)
	got := func() string {
		s, err := sum(u.path("src"), []string{"a", "b"})
		require.NoError(t, err)
		return s
	}
	before := got()
	assert.Len(t, before, 16)
	u.write("src/a/a_test.go", "package a // changed\n", 0o644)
	u.write("src/a/testdata/x", "x", 0o644)
	assert.Equal(t, before, got())
	seen := map[string]bool{before: true}
	for _, name := range []string{"src/a/a.go", "src/b/b.go", "src/a/c.go", "src/b/c.go", "src/a/a.json"} {
		u.write(name, "package a // changed\n", 0o644)
		require.False(t, seen[got()], name)
		seen[got()] = true
	}
	_, err := sum(u.path("src"), []string{"c"})
	assert.Error(t, err)
}

// TestSourcesKey: in sdd-eval's own module the key is that of the sources on the disk.
func TestSourcesKey(t *testing.T) {
	_, packages, _ := strings.Cut(sources, "\n")
	want, err := sum(filepath.Join("..", ".."), strings.Fields(packages))
	require.NoError(t, err)
	was := sources
	sources = "0123456789abcdef\n" + packages
	defer func() { sources = was }()
	assert.Equal(t, want, sourcesKey())
	sources = "0123456789abcdef\nno/such/package\n"
	assert.Equal(t, "0123456789abcdef", sourcesKey())
}
