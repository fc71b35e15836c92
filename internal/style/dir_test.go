package style

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLoadDirectory(t *testing.T) {
	dir := writeTree(t, map[string]string{
		agentsFile:                   "Test first.\r\n",
		"llmanspec/project.md":       "Which?\n",
		".claude/commands/review.md": "Review.\n",
		"shared/rules.txt":           "Rules.\n",
		".git/config":                "of the repository that the style is in\n",
		"sub/.git":                   "gitdir: elsewhere\n",
	})
	require.NoError(t, os.Symlink("../shared/rules.txt", filepath.Join(dir, "llmanspec", "rules.txt")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))

	s, err := Load("mine", dir)
	require.NoError(t, err)
	assert.Equal(t, "mine", s.Name())
	want := map[string][]byte{
		agentsFile:                   []byte("Test first.\r\n"),
		"llmanspec/project.md":       []byte("Which?\n"),
		"llmanspec/rules.txt":        []byte("Rules.\n"),
		".claude/commands/review.md": []byte("Review.\n"),
		"shared/rules.txt":           []byte("Rules.\n"),
	}
	assert.Equal(t, want, s.Files())

	root := openRoot(t, t.TempDir())
	_, err = s.Write(root)
	require.NoError(t, err)
	info, err := root.Lstat("llmanspec/rules.txt")
	require.NoError(t, err)
	assert.True(t, info.Mode().IsRegular(), "a link is written as the file that it leads to")
	assert.Equal(t, beginMarker+"\nTest first.\n"+endMarker+"\n", readTree(t, root.Name())[agentsFile])
}

func TestADirectoryNeedsNoAgentsFile(t *testing.T) {
	s, err := Load("mine", writeTree(t, map[string]string{"NOTES.md": "Notes.\n"}))
	require.NoError(t, err)
	root := openRoot(t, t.TempDir())
	written, err := s.Write(root)
	require.NoError(t, err)
	assert.Equal(t, []string{"NOTES.md"}, written)
}

func TestADirectoryIsReadWhateverItsStyleIsCalled(t *testing.T) {
	s, err := Load("sdd", writeTree(t, map[string]string{"NOTES.md": "Notes.\n"}))
	require.NoError(t, err)
	assert.Len(t, s.Files(), 1)
}

// The errors are those after the directory's path.
func TestLoadDirectoryRefuses(t *testing.T) {
	tests := []struct {
		name string
		make func(t *testing.T, dir string)
		want string
	}{
		{name: "empty", make: func(*testing.T, string) {}, want: " has no files"},
		{
			name: "a link leads outside",
			make: func(t *testing.T, dir string) {
				require.NoError(t, os.Symlink("../secret", filepath.Join(dir, "link")))
			},
			want: "/link: path escapes from parent",
		},
		{
			name: "a link is absolute",
			make: func(t *testing.T, dir string) { require.NoError(t, os.Symlink(dir, filepath.Join(dir, "link"))) },
			want: "/link: path escapes from parent",
		},
		{
			name: "a link leads nowhere",
			make: func(t *testing.T, dir string) { require.NoError(t, os.Symlink("gone", filepath.Join(dir, "link"))) },
			want: "/link: no such file or directory",
		},
		{
			name: "a link leads to a directory",
			make: func(t *testing.T, dir string) { require.NoError(t, os.Symlink(".", filepath.Join(dir, "link"))) },
			want: "/link: not a regular file",
		},
		{
			name: "too many bytes",
			make: func(t *testing.T, dir string) {
				for _, name := range []string{"a", "b"} {
					require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
					require.NoError(t, os.Truncate(filepath.Join(dir, name), maxBytes/2+1))
				}
			},
			want: "/b: the files of a style may have at most 8 MiB together",
		},
		{
			name: "too many entries",
			make: func(t *testing.T, dir string) {
				require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
				for i := range maxEntries {
					require.NoError(t, os.WriteFile(filepath.Join(dir, "sub", fmt.Sprint(i)), nil, 0o644))
				}
			},
			want: "/sub: a style may have at most 1000 files and directories",
		},
		{
			name: "a marker in AGENTS.md",
			make: func(t *testing.T, dir string) {
				require.NoError(t, os.WriteFile(filepath.Join(dir, agentsFile), []byte("a\n"+block), 0o644))
			},
			want: "/AGENTS.md: line 2: remove <!-- sdd-eval:begin -->: it is added when the style is written",
		},
		{
			name: "AGENTS.md in UTF-16",
			make: func(t *testing.T, dir string) {
				require.NoError(t, os.WriteFile(filepath.Join(dir, agentsFile), []byte("a\x00"), 0o644))
			},
			want: "/AGENTS.md: not a text file: it contains NUL bytes",
		},
		{
			name: "AGENTS.md is a directory",
			make: func(t *testing.T,
				dir string,
			) {
				require.NoError(t, os.Mkdir(filepath.Join(dir, agentsFile), 0o755))
			},
			want: "/AGENTS.md: not a regular file",
		},
		{
			name: "AGENTS.md in lower case",
			make: func(t *testing.T, dir string) {
				require.NoError(t, os.WriteFile(filepath.Join(dir, "agents.md"), nil, 0o644))
			},
			want: "/agents.md: the name must be spelled AGENTS.md",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			tt.make(t, dir)
			_, err := Load("mine", dir)
			assert.EqualError(t, err, `load style "mine": `+dir+tt.want)
		})
	}
}

func TestLoadDirectoryThatIsNone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	_, err := Load("mine", dir)
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.ErrorContains(t, err, dir)
}
