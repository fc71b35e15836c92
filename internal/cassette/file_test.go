package cassette

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// large is sample with a file that makes it one that is compressed.
func large() *Cassette {
	c := sample()
	data := bytes.Repeat([]byte("a line of a log\n"), maxPlain/16)
	c.Turns[1].Delta.Changes = []workspace.Change{{Path: "log", Op: workspace.Added, Kind: workspace.File, Data: data}}
	return c
}

// TestWriteCompressed writes cassettes small and large in turn: there is never more than one.
func TestWriteCompressed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.1.jsonl")
	for range 2 {
		for _, c := range []*Cassette{sample(), large()} {
			require.NoError(t, Write(disk.Tree(filepath.Dir(path)), path, c))
			want := filepath.Base(path)
			if len(encoded(t, c)) > maxPlain {
				want += ".gz"
			}
			require.Equal(t, []string{want}, names(t, filepath.Dir(path)))
			require.True(t, Exists(path))
			for _, name := range []string{path, path + ".gz"} { // a person may name the file that there is
				got, err := Read(name)
				require.NoError(t, err)
				assert.Equal(t, File(path), got.Path)
				got.Path = ""
				assert.Equal(t, c, got)
			}
		}
	}
	one, err := zip(encoded(t, large()))
	require.NoError(t, err)
	two, err := os.ReadFile(path + ".gz")
	require.NoError(t, err)
	assert.True(t, bytes.Equal(one, two), "the same cassette has the same bytes")
}

// TestOpenLeaves plays a cassette whose files are not kept in memory.
func TestOpenLeaves(t *testing.T) {
	want := large()
	path := filepath.Join(t.TempDir(), "a.1.jsonl")
	require.NoError(t, Write(disk.Tree(filepath.Dir(path)), path, want))
	open := func() *Cassette {
		c, err := read(path, 1000, nil)
		require.NoError(t, err)
		for _, turn := range c.Turns {
			for _, change := range turn.Delta.Changes {
				require.Empty(t, change.Data)
			}
		}
		return c
	}
	c := open()
	assert.Panics(t, func() { _ = Write(disk.Tree(filepath.Dir(path)), path, c) }, "it has not all of its contents")
	dir := t.TempDir()
	for _, name := range []string{"add.go", "run.sh"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o644))
	}
	p := NewPlayer(c, dir)
	for _, prompt := range samplePrompts {
		_, err := p.Prompt(t.Context(), prompt)
		require.NoError(t, err)
	}
	require.NoError(t, p.End())
	require.NoError(t, p.Close(), "it may be called again")
	got, err := os.ReadFile(filepath.Join(dir, "log"))
	require.NoError(t, err)
	assert.True(t, bytes.Equal(want.Turns[1].Delta.Changes[0].Data, got))
	got, err = os.ReadFile(filepath.Join(dir, "add.go"))
	require.NoError(t, err)
	assert.Equal(t, string(want.Turns[0].Delta.Changes[0].Data), string(got))

	t.Run("recorded again meanwhile", func(t *testing.T) {
		c := open()
		other := large()
		other.Turns[0].Delta.Changes[0].Data = []byte("package other\n")
		require.NoError(t, Write(disk.Tree(filepath.Dir(path)), path, other))
		p := NewPlayer(c, t.TempDir())
		_, err := p.Prompt(t.Context(), samplePrompts[0])
		require.ErrorContains(t, err, "the file changed while the cassette was replayed")
		require.Error(t, p.End(), "a turn is left")
	})
	t.Run("closed meanwhile", func(t *testing.T) {
		require.NoError(t, Write(disk.Tree(filepath.Dir(path)), path, want))
		p := NewPlayer(open(), dir)
		p.AnyPrompt = true
		require.NoError(t, p.ApplyNext(t.Context()))
		require.NoError(t, p.deferred.file.Close())
		require.ErrorIs(t, p.End(), os.ErrClosed)
	})
	t.Run("removed meanwhile", func(t *testing.T) {
		c := open()
		require.NoError(t, os.Remove(path+".gz"))
		_, err := NewPlayer(c, dir).Prompt(t.Context(), samplePrompts[0])
		require.ErrorContains(t, err, "there is no such cassette")
	})
}

// TestList: recordings are found whatever state they are in, and a directory that cannot be read is not an empty one.
func TestList(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"evals/b/one/v.1.jsonl", "evals/b/one/v.2.jsonl.gz", "evals/b/two/.v.1.jsonl.ABCD", "evals/a/one/v.1.jsonl",
		"evals/b/one/notes.md", "evals/b/notes.jsonl", "evals/x_test.go/one/v.1.jsonl", "top.jsonl", "evals/top.jsonl",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o644))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "evals", "c", "one", "v.1.jsonl"), 0o755))
	playbooks, err := Playbooks(disk.Tree(dir), dir)
	require.NoError(t, err)
	assert.Equal(t, []string{"evals", "evals/a", "evals/b"}, playbooks)
	listed, err := List(disk.Tree(dir), dir, "evals/b")
	require.NoError(t, err)
	base := filepath.Join(dir, "evals", "b")
	assert.Equal(t, []string{
		filepath.Join(base, "one", "v.1.jsonl"), filepath.Join(base, "one", "v.2.jsonl.gz"),
		filepath.Join(base, "two", ".v.1.jsonl.ABCD"),
	}, listed)
	for _, none := range []string{"none", "evals/x_test.go", "evals/c"} {
		listed, err = List(disk.Tree(dir), dir, none)
		require.NoError(t, err)
		assert.Empty(t, listed)
	}
	playbooks, err = Playbooks(disk.Tree(filepath.Join(dir, "none")), filepath.Join(dir, "none"))
	require.NoError(t, err)
	assert.Empty(t, playbooks)
	_, err = List(disk.Tree(dir), dir, "top.jsonl")
	require.ErrorContains(t, err, "list cassettes: ")
	_, err = Playbooks(disk.Tree(strings.Repeat("x", 300)), strings.Repeat("x", 300)) // longer than a name may be
	require.ErrorContains(t, err, "list cassettes: ")
}

func TestReadTwoFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.1.jsonl")
	require.NoError(t, os.WriteFile(path, encoded(t, sample()), 0o644))
	zipped, err := zip(encoded(t, sample()))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path+".gz", zipped, 0o644))
	for _, name := range []string{path, path + ".gz"} {
		_, err = Read(name)
		assert.EqualError(t, err,
			path+": a.1.jsonl.gz exists, too: delete the outdated one of the two")
	}
	require.NoError(t, Write(disk.Tree(filepath.Dir(path)), path, sample()), "to record anew mends it")
	_, err = Read(path)
	require.NoError(t, err)
}

// TestReadCompressedDamaged cuts a compressed cassette at every byte and flips each of its bits: it is an error, but
// for the bits by which deflate fills its last byte, which say nothing.
func TestReadCompressedDamaged(t *testing.T) {
	good, err := zip(encoded(t, sample()))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "a.1.jsonl.gz")
	read := func(data []byte) (*Cassette, error) {
		text, err := unzip(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		return scan(text, maxFile, nil)
	}
	_, err = read(good)
	require.NoError(t, err)
	for i := 0; i < len(good); i += stride {
		if _, err := read(good[:i]); err == nil {
			t.Fatalf("cut after %d of %d bytes it still reads", i, len(good))
		}
	}
	same := 0
	for i := 0; i < len(good); i += stride {
		for bit := range 8 {
			data := bytes.Clone(good)
			data[i] ^= 1 << bit
			c, err := read(data)
			if err != nil {
				continue
			}
			same++
			require.Empty(t, cmp.Diff(sample(), c, exported), "bit %d of byte %d", bit, i)
		}
	}
	assert.Less(t, same, 8)

	for _, tt := range []struct{ name, data, want string }{
		{
			"cut", string(good[:100]),
			path + ": the cassette was truncated or edited: cannot decompress it: unexpected EOF",
		},
		{"empty", "", path + ": the cassette was truncated or edited: cannot decompress it: EOF"},
		{
			"not compressed", string(encoded(t, sample())),
			path + ": the cassette was truncated or edited: cannot decompress it: gzip: invalid header",
		},
		{
			"something behind", string(good) + "\x00",
			path + ": the cassette was truncated or edited: cannot decompress it: there is data after its end",
		},
		{
			"twice", string(good) + string(good),
			path + ": the cassette was truncated or edited: cannot decompress it: there is data after its end",
		},
		{
			"by gzip", string(named(t, good)),
			path + ": another program compressed the cassette: decompress it with gunzip",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(path, []byte(tt.data), 0o644))
			_, err := Read(path)
			require.EqualError(t, err, tt.want)
		})
	}
}

// named is what gzip makes of a file.
func named(t *testing.T, good []byte) []byte {
	t.Helper()
	text, err := unzip(bytes.NewReader(good))
	require.NoError(t, err)
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Name = "a.1.jsonl"
	_, err = io.Copy(w, text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

// TestReadBomb reads files that are small and become large.
func TestReadBomb(t *testing.T) {
	for _, tt := range []struct {
		name, line, want string
	}{
		{"a long line", " ", "the line exceeds the limit of 134217728 bytes"},
		{"many lines", "{}\n", "the cassette exceeds the limit of 4194304 lines"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines := newLineReader(&repeated{text: strings.Repeat(tt.line, 1000), left: maxFile})
			var err error
			for err == nil {
				_, err = lines.next()
			}
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// repeated is a text over and over.
type repeated struct {
	text string
	left int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, io.EOF
	}
	n := 0
	for n < len(p) { // a piece at the end may be cut
		n += copy(p[n:], r.text)
	}
	r.left -= n
	return n, nil
}

func FuzzReadCompressed(f *testing.F) {
	good, err := zip(encoded(f, sample()))
	require.NoError(f, err)
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := unzip(bytes.NewReader(data))
		if err != nil {
			return
		}
		if c, err := scan(text, maxFile, nil); err == nil {
			requireStable(t, c)
		}
	})
}
