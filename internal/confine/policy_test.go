package confine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/lockdown"
)

func TestView(t *testing.T) {
	root := plant(t, "ws/a.txt", "specs/s.txt", "link -> specs", "other/o.txt")
	in := func(names ...string) []string {
		for i, name := range names {
			names[i] = filepath.Join(root, name)
		}
		return names
	}
	tests := []struct {
		name              string
		policy            Policy
		read, write, hide []string
		links             []link
	}{
		{name: "nothing", read: []string{}, write: []string{}, hide: []string{}},
		{
			name: "what-may-be-written-may-be-read", policy: Policy{Read: in("ws", "ws/a.txt"), Write: in("ws")},
			read: []string{}, write: []string{"ws"}, hide: []string{},
		},
		{
			name: "a-file-to-write-in-what-may-be-read", policy: Policy{Read: in("ws"), Write: in("ws/a.txt")},
			read: []string{"ws"}, write: []string{"ws/a.txt"}, hide: []string{},
		},
		{
			name:   "once",
			policy: Policy{Read: in("ws", "ws/../ws/a.txt", "ws"), Write: in("other", "other/", "other/o.txt")},
			read:   []string{"ws"}, write: []string{"other"}, hide: []string{},
		},
		{
			name: "through-a-link", policy: Policy{Read: in("link/s.txt"), Hide: in("link")},
			read: []string{"specs/s.txt"}, write: []string{}, hide: []string{"specs"},
			links: []link{{in("link/s.txt")[0], in("specs/s.txt")[0]}},
		},
		{
			name: "not-there", policy: Policy{Read: in("gone"), Write: in("ws/gone"), Hide: in("gone")},
			read: []string{}, write: []string{}, hide: []string{},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := newView(tt.policy, nil, nil)
			require.NoError(t, err)
			assert.Equal(t, tt.read, below(root, v.read), "read")
			assert.Equal(t, tt.write, below(root, v.write), "write")
			assert.Equal(t, tt.hide, below(root, v.hide), "hide")
			links := slices.DeleteFunc(v.links, func(l link) bool { return !isBelow(l.path, root) })
			assert.ElementsMatch(t, tt.links, links, "links")
		})
	}
}

func TestRelativePolicy(t *testing.T) {
	for _, p := range []Policy{{Read: []string{"a"}}, {Write: []string{"./a"}}, {Hide: []string{""}}} {
		_, err := newView(p, nil, nil)
		assert.ErrorContains(t, err, "is not an absolute path")
	}
}

// TestPrivate: files in /etc that not every user may read are hidden, from root, too.
func TestPrivate(t *testing.T) {
	v, err := newView(Policy{}, nil, nil)
	require.NoError(t, err)
	for _, path := range []string{"/etc/shadow", "/etc/gshadow"} {
		if info, err := os.Lstat(path); err == nil && info.Mode()&0o004 == 0 {
			assert.Contains(t, v.hide, path)
		}
	}
	assert.NotContains(t, v.hide, "/etc/passwd")
	assert.NotContains(t, v.hide, "/etc")
}

// TestLandlockHides: rules can only add rights, so every path has one except those that are hidden.
func TestLandlockHides(t *testing.T) {
	root := plant(t, "p/.git/config.txt", "p/src/a.txt", "p/src/deep/key.txt", "p/src/deep/b.txt",
		"p/link -> src/deep/key.txt", "q/c.txt")
	in := func(name string) string { return filepath.Join(root, name) }
	tests := []struct {
		name, path string
		hide       []string
		read, list []string
	}{
		{name: "nothing-hidden", path: "p", read: []string{"p"}, list: []string{}},
		{name: "hidden-elsewhere", path: "p", hide: []string{"q", "p2"}, read: []string{"p"}, list: []string{}},
		{name: "a-directory", path: "p", hide: []string{"p/.git"}, read: []string{"p/src"}, list: []string{"p"}},
		{
			name: "a-file-below", path: "p", hide: []string{"p/src/deep/key.txt"},
			read: []string{"p/.git", "p/src/a.txt", "p/src/deep/b.txt"}, list: []string{"p", "p/src", "p/src/deep"},
		},
		{name: "itself", path: "p", hide: []string{"p"}, read: []string{}, list: []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var hide []string
			for _, name := range tt.hide {
				hide = append(hide, in(name))
			}
			var r lockdown.Rules
			require.NoError(t, allowRead(&r, in(tt.path), hide))
			assert.ElementsMatch(t, tt.read, below(root, r.Read), "read")
			assert.ElementsMatch(t, tt.list, below(root, r.List), "list")
		})
	}
}

func TestMounts(t *testing.T) {
	root := plant(t, "p/.git/config.txt", "p/key.txt", "p/ws/a.txt", "p/link -> key.txt", "r/c.txt")
	in := func(name string) string { return filepath.Join(root, name) }
	v := view{
		read: []string{in("p"), in("gone")}, write: []string{in("p/ws")},
		hide:  []string{in("p/.git"), in("p/key.txt"), in("p/link"), in("r"), in("p/gone")},
		links: []link{{in("l"), in("p")}, {in("l/x"), in("p/key.txt")}, {in("p/y"), in("p/key.txt")}},
	}
	assert.Equal(t, []string{
		"--dev", "/dev", "--size", "7", "--tmpfs", "/dev/shm",
		"--ro-bind", in("p"), in("p"),
		"--bind", in("p/ws"), in("p/ws"),
		"--symlink", in("p"), in("l"),
		"--perms", "0000", "--tmpfs", in("p/.git"), "--remount-ro", in("p/.git"),
		"--ro-bind", "/dev/null", in("p/key.txt"),
	}, mounts(v, "7"))
}

// plant makes files below a new directory and returns its path without links: "bin/tool" is a program, "lib/" a
// directory, "bin/x -> ../tool" a link, and "lib/a.txt" a file that is not executable.
func plant(t *testing.T, files ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, file := range files {
		name, target, isLink := strings.Cut(file, " -> ")
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		switch {
		case isLink:
			require.NoError(t, os.Symlink(target, path))
		case strings.HasSuffix(name, "/"):
			require.NoError(t, os.MkdirAll(path, 0o755))
		case filepath.Ext(name) == "":
			require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755))
		default:
			require.NoError(t, os.WriteFile(path, nil, 0o644))
		}
	}
	return root
}

// shows reports whether a path is in a list, or below a path in it.
func shows(list []string, path string) bool {
	return slices.ContainsFunc(list, func(p string) bool { return p == path || isBelow(path, p) })
}

// below returns the paths below a directory, relative to it.
func below(dir string, paths []string) []string {
	found := []string{}
	for _, path := range paths {
		if isBelow(path, dir) {
			found = append(found, path[len(dir)+1:])
		}
	}
	return found
}
