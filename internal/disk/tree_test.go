package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/fault"
)

// changes are all methods that change something at a path, with what they need there.
var changes = []struct {
	name   string
	exists bool // they need a file
	do     func(tree Tree, path string) error
}{
	{"MkdirAll", false, func(t Tree, path string) error { return t.MkdirAll(path) }},
	{"Mkdir", false, func(t Tree, path string) error { return t.Mkdir(path, 0o755) }},
	{"Replace", false, func(t Tree, path string) error { return t.Replace(path, []byte("new"), 0o644) }},
	{"Create", false, func(t Tree, path string) error { return t.Create(path, []byte("new"), 0o644) }},
	{"OpenFile", false, func(t Tree, path string) error {
		f, err := t.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
		if err == nil {
			err = f.Close()
		}
		return err
	}},
	{"Rename", true, func(t Tree, path string) error { return t.Rename(path, path+".renamed") }},
	{"Remove", true, func(t Tree, path string) error { return t.Remove(path) }},
	{"RemoveAll", true, func(t Tree, path string) error { return t.RemoveAll(path) }},
	{"Chtimes", true, func(t Tree, path string) error { return t.Chtimes(path, time.Unix(0, 0)) }},
}

func TestTree(t *testing.T) {
	for _, tt := range changes {
		t.Run(tt.name, func(t *testing.T) {
			base, err := filepath.EvalSymlinks(t.TempDir())
			require.NoError(t, err)
			outside, tree := filepath.Join(base, "outside"), Tree(filepath.Join(base, "tree"))
			within := func(names ...string) string { return filepath.Join(append([]string{string(tree)}, names...)...) }
			require.NoError(t, os.MkdirAll(within("real", "deep"), 0o755))
			require.NoError(t, os.MkdirAll(within("x"), 0o755))
			require.NoError(t, os.Mkdir(outside, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(outside, "file"), []byte("theirs"), 0o644))
			for link, to := range map[string]string{
				"leaves": "../outside", "absolute": outside, "twice": "leaves", "x/up": "../real/../../outside",
				"hidden": "deep/../../outside", "deep": "real/deep", "relative": "real", "inside": within("real"),
				"loop": "loop",
			} {
				require.NoError(t, os.Symlink(to, within(filepath.FromSlash(link))))
			}
			before := listing(t, outside)
			for _, link := range []string{"leaves", "absolute", "twice", "x/up"} {
				path := within(filepath.FromSlash(link), "file")
				if !tt.exists {
					path = within(filepath.FromSlash(link), "new")
				}
				err := tt.do(tree, path)
				leaves, ok := errors.AsType[*LinkError](err)
				require.True(t, ok, "%s: %v", link, err)
				require.Contains(t, fault.Advice(err), leaves.Link)
				require.Contains(t, err.Error(), leaves.Target)
				if link == "twice" {
					require.Equal(t, within("leaves"), leaves.Link, "the link that leads out")
				}
				require.Equal(t, before, listing(t, outside), link)
			}
			require.ErrorContains(t, tt.do(tree, filepath.Join(outside, "file")), "is not below")
			require.Error(t, tt.do(tree, within("loop", "file")))

			for _, dir := range []string{"real", "relative", "inside", "hidden"} {
				path := within(dir, "file")
				if dir == "hidden" { // real/deep/../../outside
					path = within("hidden", "file")
					require.NoError(t, os.MkdirAll(within("outside"), 0o755))
				}
				if tt.exists {
					require.NoError(t, os.WriteFile(path, nil, 0o644))
				}
				require.NoError(t, tt.do(tree, path), dir)
				require.NoError(t, os.RemoveAll(path))
				require.NoError(t, os.RemoveAll(path+".renamed"))
			}
			require.Equal(t, before, listing(t, outside))
		})
	}
}

// A link that appears after it was looked for is not followed, either.
func TestTreeSwapped(t *testing.T) {
	base := t.TempDir()
	outside, tree := filepath.Join(base, "outside"), Tree(filepath.Join(base, "tree"))
	dir := filepath.Join(string(tree), "dir")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.Mkdir(outside, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "file"), nil, 0o644))
	err := tree.do(func(root *os.Root, names []string) error {
		require.NoError(t, os.Remove(dir))
		require.NoError(t, os.Symlink(outside, dir))
		return root.Remove(names[0])
	}, filepath.Join(dir, "file"))
	require.Error(t, err)
	require.FileExists(t, filepath.Join(outside, "file"))
}

func TestTreeRemovesLinks(t *testing.T) {
	base := t.TempDir()
	outside, tree := filepath.Join(base, "outside"), Tree(filepath.Join(base, "tree"))
	require.NoError(t, os.Mkdir(string(tree), 0o755))
	require.NoError(t, os.WriteFile(outside, []byte("theirs"), 0o644))
	link := filepath.Join(string(tree), "link")
	require.NoError(t, os.Symlink(outside, link))
	require.Error(t, tree.Check(link))
	require.NoError(t, tree.Replace(link, []byte("ours"), 0o644), "the link is replaced")
	require.NoError(t, tree.Check(link))
	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Symlink(outside, link))
	require.NoError(t, tree.Remove(link))
	require.NoFileExists(t, link)
	data, err := os.ReadFile(outside)
	require.NoError(t, err)
	require.Equal(t, "theirs", string(data))
}

func TestWithin(t *testing.T) {
	base := t.TempDir()
	root := filepath.Join(base, "root")
	require.Equal(t, Tree(root), Within(root, root))
	require.Equal(t, Tree(root), Within(root, filepath.Join(root, "a", "b")))
	require.Equal(t, Tree(base), Within(root, base), "the user has named another directory")
	named := filepath.Join(base, "named", "new")
	require.NoError(t, Within(root, named).Replace(filepath.Join(named, "a", "b"), []byte("x"), 0o600),
		"it need not be there")
	require.FileExists(t, filepath.Join(named, "a", "b"))
}

// listing tells what is in a directory.
func listing(t *testing.T, dir string) (all []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := e.Info()
		require.NoError(t, err)
		all = append(all, info.Mode().String()+" "+info.ModTime().String()+" "+path)
		return nil
	}))
	return all
}
