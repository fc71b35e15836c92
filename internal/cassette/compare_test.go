package cassette

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
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

// TestCompareRead reads equal cassettes once and others twice, and fails where a second reading does.
func TestCompareRead(t *testing.T) {
	other := sample()
	other.Header.Unit = "other/case/variant/1"
	gone := errors.New("gone")
	for _, tt := range []struct {
		name  string
		b     *Cassette
		reads int // that succeed
		want  int // readings of the second cassette
		err   error
	}{
		{"equal", sample(), 9, 1, nil},
		{"different", other, 9, 2, nil},
		{"removed meanwhile", other, 1, 2, gone},
		{"missing", other, 0, 1, gone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reads := 0
			diffs, err := CompareRead(func() (*Cassette, error) { return sample(), nil }, func() (*Cassette, error) {
				if reads++; reads > tt.reads {
					return nil, gone
				}
				return tt.b, nil
			})
			require.ErrorIs(t, err, tt.err)
			assert.Equal(t, tt.want, reads)
			if tt.err == nil {
				want, err := Compare(sample(), tt.b)
				require.NoError(t, err)
				assert.Equal(t, want, diffs)
			}
		})
	}
}
