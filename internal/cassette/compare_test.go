package cassette

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

func TestCompare(t *testing.T) {
	message := func(text string) trajectory.Event {
		return trajectory.Event{Turn: 1, Body: trajectory.Message{Text: text}}
	}
	tests := []struct {
		name   string
		reason string
		edit   func(*Cassette)
		want   []string
	}{
		{name: "nothing"},
		{name: "times", reason: "no two recordings have the same", edit: func(c *Cassette) {
			c.Header.RecordedAt = time.Now()
			c.Path = "elsewhere"
			for i := range c.Turns[0].Events {
				c.Turns[0].Events[i].At += time.Second
			}
		}},
		{
			name: "sandbox", reason: "it says how the session was recorded",
			edit: func(c *Cassette) { c.Header.Sandbox = "landlock ABI 7" },
		},
		{name: "header", edit: func(c *Cassette) { c.Header.Endpoint = "real" }, want: []string{"line 1:"}},
		{name: "event", edit: func(c *Cassette) { c.Turns[0].Events[6] = message("Done.") }, want: []string{"line 9:"}},
		{name: "event more", reason: "what follows it is aligned", edit: func(c *Cassette) {
			c.Turns[0].Events = slices.Insert(c.Turns[0].Events, 2, message("Hm."))
		}, want: []string{"line 5 is only in the second:"}},
		{
			name: "event less", edit: func(c *Cassette) { c.Turns[0].Events = slices.Delete(c.Turns[0].Events, 1, 2) },
			want: []string{"line 4 is only in the first:"},
		},
		{name: "changes at both ends", edit: func(c *Cassette) {
			c.Turns[0].Events = slices.Insert(c.Turns[0].Events, 2, message("Hm."))
			c.Turns[1].Delta.Changes[2].Op, c.Turns[1].Delta.Changes[2].Data = workspace.Modified, []byte("x")
		}, want: []string{"line 5 is only in the second:", "lines 22 and 23:"}},
		{name: "turn less", edit: func(c *Cassette) { c.Turns = c.Turns[:1] }, want: []string{
			"line 15 is only in the first:", "line 16 is only in the first:", "line 17 is only in the first:",
			"line 18 is only in the first:",
			"line 19 is only in the first:", "line 20 is only in the first:", "line 21 is only in the first:",
			"line 22 is only in the first:",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			other := sample()
			if tt.edit != nil {
				tt.edit(other)
			}
			diffs, err := Compare(sample(), other)
			require.NoError(t, err)
			require.Len(t, diffs, len(tt.want), tt.reason)
			for i, d := range diffs {
				assert.Contains(t, d.String(), tt.want[i])
			}
		})
	}
	t.Run("not a cassette", func(t *testing.T) {
		_, err := Compare(sample(), &Cassette{Turns: make([]Turn, 1)})
		require.ErrorContains(t, err, "compare cassettes: turn 1: 0 prompts, want 1")
		_, err = Compare(&Cassette{Turns: make([]Turn, 1)}, sample())
		require.ErrorContains(t, err, "compare cassettes: turn 1: 0 prompts, want 1")
	})
}

func TestAlign(t *testing.T) {
	tests := []struct {
		name, x, y string // a line is a letter
		want       []Difference
	}{
		{"more around", "c", "pcq", []Difference{{LineB: 1, B: "p"}, {LineB: 3, B: "q"}}},
		{"less around", "pcq", "c", []Difference{{LineA: 1, A: "p"}, {LineA: 3, A: "q"}}},
		{"of two as long, the later of the first", "ab", "ba", []Difference{{LineA: 1, A: "a"}, {LineB: 2, B: "a"}}},
		{"the longest", "pabcq", "rbcas", []Difference{
			{LineA: 1, A: "p", LineB: 1, B: "r"},
			{LineA: 2, A: "a"},
			{LineA: 5, A: "q", LineB: 4, B: "a"},
			{LineB: 5, B: "s"},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, align(strings.Split(tt.x, ""), strings.Split(tt.y, "")))
		})
	}
}

func TestAlignLarge(t *testing.T) {
	var x, y []string
	for i := range 3000 {
		x = append(x, string(rune('a'+i%3)))
		y = append(y, string(rune('d'+i%3)))
	}
	assert.Len(t, align(x, y), 3000, "too many for a table: line by line")
}

// TestCompareFiles finds in files what Compare finds in cassettes, and trusts no file that was edited.
func TestCompareFiles(t *testing.T) {
	tree := disk.Tree(t.TempDir())
	write := func(name string, edit func(*Cassette)) string {
		c := large()
		edit(c)
		path := filepath.Join(string(tree), name)
		require.NoError(t, Write(tree, path, c))
		return path
	}
	a := write("a.1.jsonl", func(*Cassette) {})
	for _, tt := range []struct {
		name string
		edit func(*Cassette)
		want int
	}{
		{"same", func(c *Cassette) { c.Header.RecordedAt, c.Header.Sandbox = time.Now(), "landlock ABI 7" }, 0},
		{"header", func(c *Cassette) { c.Header.Unit = "other/case/variant/1" }, 1},
		{"text", func(c *Cassette) { c.Turns[0].Events[6].Body = trajectory.Message{Text: "Done."} }, 1},
		{"file", func(c *Cassette) { c.Turns[1].Delta.Changes[0].Data = []byte("other") }, 1},
		{"turn", func(c *Cassette) { c.Turns = c.Turns[:1] }, 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := write("b.1.jsonl", tt.edit)
			x, err := Read(a)
			require.NoError(t, err)
			y, err := Read(b)
			require.NoError(t, err)
			want, err := Compare(x, y)
			require.NoError(t, err)
			diffs, err := CompareFiles(a, b)
			require.NoError(t, err)
			assert.Equal(t, want, diffs)
			assert.Len(t, diffs, tt.want)
		})
	}
	t.Run("keeps nothing", func(t *testing.T) {
		c, err := read(a, nothing, nil)
		require.NoError(t, err)
		size := 0
		for _, turn := range c.Turns {
			for _, e := range turn.Events {
				size += len(fmt.Sprint(e.Body))
			}
			for _, change := range turn.Delta.Changes {
				size += len(change.Data)
			}
		}
		assert.Less(t, size, 500, "of what was read")
	})
	t.Run("missing", func(t *testing.T) {
		var missing *MissingError
		_, err := CompareFiles(a, filepath.Join(string(tree), "c.1.jsonl"))
		require.ErrorAs(t, err, &missing)
	})
	whole := encoded(t, sample())
	for name, text := range map[string][]byte{
		"edited":              bytes.Replace(whole, []byte("Fixed."), []byte("Broke."), 1),
		"without a last line": whole[:bytes.LastIndexByte(whole[:len(whole)-1], '\n')+1],
		"cut in a last line":  whole[:len(whole)-2],
		"with another line":   append(bytes.Clone(whole), "{}\n"...),
	} {
		t.Run(name, func(t *testing.T) {
			damaged := filepath.Join(string(tree), "d.1.jsonl")
			require.NoError(t, os.WriteFile(damaged, text, 0o644))
			_, want := Read(damaged)
			var corrupt *CorruptError
			require.ErrorAs(t, want, &corrupt)
			_, err := CompareFiles(a, damaged)
			require.Equal(t, want, err)
			_, err = CompareFiles(damaged, a)
			require.Equal(t, want, err)
		})
	}
}
