package style

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWriteIsIdempotent(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			s := embeddedStyle(t, name)
			root := openRoot(t, t.TempDir())

			written, err := s.Write(root)
			require.NoError(t, err)
			assert.Equal(t, slices.Sorted(maps.Keys(s.Files())), written)
			first := readTree(t, root.Name())
			want := map[string]string{}
			for p, data := range s.Files() {
				want[p] = string(data)
			}
			want[agentsFile] = beginMarker + "\n" + want[agentsFile] + endMarker + "\n"
			assert.Equal(t, want, first)

			written, err = s.Write(root)
			require.NoError(t, err)
			assert.Empty(t, written)
			assert.Equal(t, first, readTree(t, root.Name()))
		})
	}
}

func TestWriteKeepsWhatIsTheProjects(t *testing.T) {
	project := map[string]string{
		"llmanspec/project.md":           "our project\n",
		"llmanspec/specs/README.md":      "our way to write specs\n",
		"llmanspec/specs/tea/spec.md":    "# Tea\n",
		"llmanspec/changes/README.md":    "our changes\n",
		"llmanspec/changes/x/tasks.md":   "- [ ] 1. Boil.\n",
		"llmanspec/instructions/mine.md": "not a file of the style\n",
		"src/main.go":                    "package main\n",
	}
	dir := writeTree(t, project)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "llmanspec", "instructions", "verify.md"), []byte("out of date\n"), 0o644))

	s := embeddedStyle(t, "sdd")
	written, err := s.Write(openRoot(t, dir))
	require.NoError(t, err)
	assert.Equal(t, []string{
		agentsFile, "llmanspec/instructions/archive.md", "llmanspec/instructions/implement.md",
		"llmanspec/instructions/propose.md", "llmanspec/instructions/verify.md",
	}, written)

	got := readTree(t, dir)
	for p, data := range project {
		assert.Equal(t, data, got[p], p)
	}
	assert.Equal(t, string(s.Files()["llmanspec/instructions/verify.md"]), got["llmanspec/instructions/verify.md"])
}

func TestWriteChangesTheBlockAlone(t *testing.T) {
	dir := writeTree(t, map[string]string{agentsFile: crlf("# House rules\n\n" + block + "\n\nBe kind.")})
	written, err := embeddedStyle(t, "sdd").Write(openRoot(t, dir))
	require.NoError(t, err)
	assert.Contains(t, written, agentsFile)
	got := readTree(t, dir)[agentsFile]
	assert.Regexp(t, `^# House rules\r\n\r\n<!-- sdd-eval:begin -->\r\n# Workflow: specs first\r\n`, got)
	assert.Regexp(t, `\r\n<!-- sdd-eval:end -->\r\n\r\nBe kind\.$`, got)
	assert.NotRegexp(t, `[^\r]\n`, got)
}

func TestOneStyleReplacesAnothersBlock(t *testing.T) {
	root := openRoot(t, writeTree(t, map[string]string{agentsFile: "# House rules\n"}))
	for _, name := range Names() {
		_, err := embeddedStyle(t, name).Write(root)
		require.NoError(t, err)
	}
	assert.Equal(t, "# House rules\n\n"+beginMarker+"\n"+string(embeddedStyle(t, "sdd-legacy").Files()[agentsFile])+endMarker+"\n",
		readTree(t, root.Name())[agentsFile])
}

func TestWriteRefuses(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(t *testing.T, dir string)
		want  string
	}{
		{
			name: "damaged block",
			spoil: func(t *testing.T, dir string) {
				require.NoError(t, os.WriteFile(filepath.Join(dir, agentsFile), []byte("a\n"+beginMarker+"\n"), 0o644))
			},
			want: `write style "sdd": AGENTS.md:2: the managed block that begins here does not end`,
		},
		{
			name: "AGENTS.md is a link",
			spoil: func(t *testing.T, dir string) {
				require.NoError(t, os.WriteFile(filepath.Join(dir, "CLAUDE.md"), nil, 0o644))
				require.NoError(t, os.Symlink("CLAUDE.md", filepath.Join(dir, agentsFile)))
			},
			want: `write style "sdd": AGENTS.md: is a symbolic link, where a regular file is to be`,
		},
		{
			name:  "AGENTS.md is a directory",
			spoil: func(t *testing.T, dir string) { require.NoError(t, os.Mkdir(filepath.Join(dir, agentsFile), 0o755)) },
			want:  `write style "sdd": AGENTS.md: is a directory, where a regular file is to be`,
		},
		{
			name: "project.md is a directory",
			spoil: func(t *testing.T, dir string) {
				require.NoError(t, os.MkdirAll(filepath.Join(dir, "llmanspec", "project.md"), 0o755))
			},
			want: `write style "sdd": llmanspec/project.md: is a directory, where a regular file is to be`,
		},
		{
			name: "llmanspec leads outside",
			spoil: func(t *testing.T, dir string) {
				require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(dir, "llmanspec")))
			},
			want: "llmanspec/changes/README.md: path escapes from parent",
		},
		{
			name: "an instruction is a link",
			spoil: func(t *testing.T, dir string) {
				require.NoError(t, os.MkdirAll(filepath.Join(dir, "llmanspec", "instructions"), 0o755))
				require.NoError(t, os.Symlink("gone", filepath.Join(dir, "llmanspec", "instructions", "verify.md")))
			},
			want: `write style "sdd": llmanspec/instructions/verify.md: is a symbolic link, where a regular file is to be`,
		},
		{
			name: "huge AGENTS.md",
			spoil: func(t *testing.T, dir string) {
				file := filepath.Join(dir, agentsFile)
				require.NoError(t, os.WriteFile(file, nil, 0o644))
				require.NoError(t, os.Truncate(file, maxBytes+1))
			},
			want: `write style "sdd": AGENTS.md: has more than 8 MiB`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			tt.spoil(t, dir)
			before := readTree(t, dir)
			written, err := embeddedStyle(t, "sdd").Write(openRoot(t, dir))
			require.ErrorContains(t, err, tt.want)
			assert.Empty(t, written)
			assert.Equal(t, before, readTree(t, dir), "nothing is written")
		})
	}
}

func TestALinkOfTheProjectIsLeftAlone(t *testing.T) {
	dir := writeTree(t, map[string]string{"docs/project.md": "ours\n"})
	require.NoError(t, os.Mkdir(filepath.Join(dir, "llmanspec"), 0o755))
	link := filepath.Join(dir, "llmanspec", "project.md")
	require.NoError(t, os.Symlink("../docs/project.md", link))
	_, err := embeddedStyle(t, "sdd").Write(openRoot(t, dir))
	require.NoError(t, err)
	target, err := os.Readlink(link)
	require.NoError(t, err)
	assert.Equal(t, "../docs/project.md", target)
	assert.Equal(t, "ours\n", readTree(t, dir)["docs/project.md"])
}

func TestAFailedWriteLeavesNoTemporaryFile(t *testing.T) {
	dir := t.TempDir()
	c := change{path: "taken", data: []byte("x"), perm: 0o644}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "taken", "by a directory"), 0o755))
	require.Error(t, c.write(openRoot(t, dir)))
	entries, err := fs.Glob(os.DirFS(dir), ".sdd-eval-*")
	require.NoError(t, err)
	assert.Empty(t, entries)
}
