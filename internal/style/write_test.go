package style

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWriteIsIdempotent(t *testing.T) {
	for _, name := range builtIn {
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
	require.NoError(t, os.WriteFile(filepath.Join(dir, "llmanspec", "instructions", "verify.md"),
		[]byte("out of date\n"), 0o644))

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
	for _, name := range builtIn {
		_, err := embeddedStyle(t, name).Write(root)
		require.NoError(t, err)
	}
	assert.Equal(t, "# House rules\n\n"+beginMarker+"\n"+string(embeddedStyle(t,
		"sdd-legacy").Files()[agentsFile])+endMarker+"\n",
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
			want: `write style "sdd": AGENTS.md: it is a symbolic link, not a regular file`,
		},
		{
			name: "AGENTS.md is a directory",
			spoil: func(t *testing.T,
				dir string,
			) {
				require.NoError(t, os.Mkdir(filepath.Join(dir, agentsFile), 0o755))
			},
			want: `write style "sdd": AGENTS.md: it is a directory, not a regular file`,
		},
		{
			name: "project.md is a directory",
			spoil: func(t *testing.T, dir string) {
				require.NoError(t, os.MkdirAll(filepath.Join(dir, "llmanspec", "project.md"), 0o755))
			},
			want: `write style "sdd": llmanspec/project.md: it is a directory, not a regular file`,
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
			want: `write style "sdd": llmanspec/instructions/verify.md: it is a symbolic link, not a regular file`,
		},
		{
			name: "huge AGENTS.md",
			spoil: func(t *testing.T, dir string) {
				file := filepath.Join(dir, agentsFile)
				require.NoError(t, os.WriteFile(file, nil, 0o644))
				require.NoError(t, os.Truncate(file, maxBytes+1))
			},
			want: `write style "sdd": AGENTS.md: the file exceeds the limit of 8 MiB`,
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

const block = beginMarker + "\nnew\n" + endMarker

func crlf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

func TestSplice(t *testing.T) {
	tests := []struct{ name, reason, text, want string }{
		{name: "empty", text: "", want: block + "\n"},
		{name: "appended", text: "mine\n", want: "mine\n\n" + block + "\n"},
		{name: "appended to an unfinished line", text: "mine", want: "mine\n\n" + block + "\n"},
		{name: "appended with CRLF", text: "mine\r\nand yours\r\n", want: crlf("mine\nand yours\n\n" + block + "\n")},
		{
			name: "replaced", text: "above\n" + beginMarker + "\nold\n\nolder\n" + endMarker + "\nbelow",
			want: "above\n" + block + "\nbelow",
		},
		{
			name: "replaced with CRLF", text: crlf("above\n" + beginMarker + "\nold\n" + endMarker + "\n  below\t\n\n"),
			want: crlf("above\n" + block + "\n  below\t\n\n"),
		},
		{name: "block alone with CRLF", text: crlf(block + "\n"), want: crlf(block + "\n")},
		{name: "block at the end of an unfinished line", text: "above\n" + block, want: "above\n" + block},
		{
			name: "mixed line ends", reason: "the first line decides, the others stay",
			text: "a\nb\r\n" + crlf(block) + "\r\nc\n", want: "a\nb\r\n" + block + "\r\nc\n",
		},
		{name: "empty block", text: beginMarker + "\n" + endMarker + "\n", want: block + "\n"},
		{
			name: "spaces around markers", reason: "editors and formatters add them",
			text: "  " + beginMarker + " \nold\n\t" + endMarker + "  \nend\n", want: "  " + block + "  \nend\n",
		},
		{name: "byte order mark", text: "\ufeff" + block + "\nmine\n", want: "\ufeff" + block + "\nmine\n"},
		{
			name: "marker inside a line", reason: "it is text there",
			text: "Keep `" + beginMarker + "`.\n", want: "Keep `" + beginMarker + "`.\n\n" + block + "\n",
		},
		{
			name: "not UTF-8", reason: "ASCII fits into Latin-1, too", text: "caf\xe9\n",
			want: "caf\xe9\n\n" + block + "\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := splice([]byte(tt.text), []byte("new\n"))
			require.NoError(t, err)
			assert.Equal(t, tt.want, string(got), tt.reason)
			again, err := splice(got, []byte("new\n"))
			require.NoError(t, err)
			assert.Equal(t, string(got), string(again), "a second splice changes nothing")
		})
	}
}

func TestSpliceTakesAnyLineEndOfTheBody(t *testing.T) {
	got, err := splice([]byte("mine\n"), []byte("\r\none\r\ntwo\r\n\r\n"))
	require.NoError(t, err)
	assert.Equal(t, "mine\n\n"+beginMarker+"\none\ntwo\n"+endMarker+"\n", string(got))
}

func TestDamagedBlock(t *testing.T) {
	const advice = `: want one "<!-- sdd-eval:begin -->" ` +
		`followed by one "<!-- sdd-eval:end -->", or neither`
	tests := []struct{ name, text, want string }{
		{
			"no end", "a\n" + beginMarker + "\nb\n",
			"AGENTS.md:2: the managed block that begins here does not end" + advice,
		},
		{"no begin", "a\nb\n" + endMarker, "AGENTS.md:3: a managed block ends without a beginning" + advice},
		{
			"end before begin", endMarker + "\n" + beginMarker + "\n",
			"AGENTS.md:1: a managed block ends without a beginning" + advice,
		},
		{
			"two blocks", block + "\n\n" + block + "\n",
			"AGENTS.md:5: a second managed block begins, the first one is on lines 1 to 3" + advice,
		},
		{
			"one inside the other", beginMarker + "\nx\n" + block + "\n" + endMarker,
			"AGENTS.md:3: a managed block begins inside the one of line 1" + advice,
		},
		{
			"two ends", "\r\n" + block + "\r\n" + endMarker,
			"AGENTS.md:5: a managed block ends without a beginning" + advice,
		},
		{"UTF-16", "a\x00b\x00", "AGENTS.md: not a text file: it contains NUL bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := splice([]byte(tt.text), []byte("new\n"))
			assert.EqualError(t, err, tt.want)
		})
	}
}

func FuzzSplice(f *testing.F) {
	f.Add([]byte(""), []byte("new"))
	f.Add([]byte("a\r\n"+block+"\r\nb"), []byte("new\r\n"))
	f.Add([]byte("a\r"), []byte("\n\n"))
	f.Add([]byte("\ufeff "+block+" \n"), []byte(""))
	f.Add([]byte(beginMarker+"\n"+beginMarker), []byte("new"))
	f.Fuzz(func(t *testing.T, text, body []byte) {
		if checkBody(body) != nil {
			return
		}
		got, err := splice(text, body)
		if err != nil {
			return
		}
		again, err := splice(got, body)
		require.NoError(t, err)
		require.Equal(t, string(got), string(again), "a second splice changes nothing")

		before, err := locate(text)
		require.NoError(t, err)
		after, err := locate(got)
		require.NoError(t, err)
		require.NotEqual(t, span{}, after)
		if before == (span{}) {
			require.True(t, bytes.HasPrefix(got, text), "what was there stays")
			require.Empty(t, bytes.Trim(got[len(text):after.from], "\r\n"))
			require.Empty(t, bytes.Trim(got[after.to:], "\r\n"))
			return
		}
		require.Equal(t, string(text[:before.from]), string(got[:after.from]))
		require.Equal(t, string(text[before.to:]), string(got[after.to:]))
	})
}
