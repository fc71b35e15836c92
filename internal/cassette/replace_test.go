package cassette

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

func TestReplaceIDs(t *testing.T) {
	tests := []struct {
		name, reason string
		ids          []string // their names are c1, c2, …
		in, want     string
	}{
		{"none", "", nil, "toolu_0123456789", "toolu_0123456789"},
		{"several", "", []string{"toolu_01", "call_1234"}, "call_1234/toolu_01/call_1234.", "c2/c1/c2."},
		{
			"within words", "the beginning of an id is another id",
			[]string{"toolu_01"},
			"xtoolu_01 toolu_012 étoolu_01 toolu_01", "xtoolu_01 toolu_012 étoolu_01 c1",
		},
		{
			"the longer", "",
			[]string{"call-1234", "call-1234-5678"},
			"call-1234 call-1234-5678 call-1234-5", "c1 c2 c1-5",
		},
		{"the longer, although behind", "", []string{"call-1234", "1234-56789"}, "call-1234-56789", "call-c2"},
		{"equally long", "the older wins", []string{"1234-5678", "call-1234"}, "call-1234-5678", "call-c1"},
		{
			"within a longer one that does not stand for itself", "",
			[]string{"call-1234", "call-1234-5678"},
			"call-1234-56789", "c1-56789",
		},
		{"the same id twice", "numbers are the first's", []string{"call-1234", "call-1234"}, "call-1234", "c1"},
		{
			"touching", "a name is a word, beside which nothing stands for itself",
			[]string{"call-1234-", "-call-5678"},
			"call-1234--call-5678", "c1-call-5678",
		},
		{"touching itself", "", []string{"-call-1234-"}, "-call-1234--call-1234-", "c1c1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ids := namedIDs(tt.ids)
			require.Equal(t, tt.want, oneByOne(ids, tt.in), "the measure itself")
			assert.Equal(t, tt.want, newIDIndex(ids).replace(tt.in), tt.reason)
		})
	}
}

// TestReplaceIDsAsOneByOne compares the index with what it stands for on texts in which ids overlap in all ways.
func TestReplaceIDsAsOneByOne(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func(length int) string {
		var b strings.Builder
		for range length {
			b.WriteString([]string{"a", "é", "-", "-", "_"}[random.IntN(5)])
		}
		return b.String()
	}
	for range 5_000 {
		var owns []string
		in := text(4 + random.IntN(20))
		for range 1 + random.IntN(5) {
			owns = append(owns, text(1+random.IntN(5)))
		}
		ids := namedIDs(owns)
		require.Equal(t, oneByOne(ids, in), newIDIndex(ids).replace(in), "%q of %q", owns, in)
	}
}

func namedIDs(owns []string) []longID {
	var ids []longID
	for i, own := range owns {
		ids = append(ids, longID{own: own, name: fmt.Sprintf("c%d", i+1)})
	}
	return ids
}

// oneByOne replaces one id after the other.
func oneByOne(ids []longID, s string) string {
	wordStarts := func(before string) bool {
		r, _ := utf8.DecodeLastRuneInString(before)
		return !isWord(r)
	}
	ids = slices.Clone(ids)
	slices.SortStableFunc(ids, func(a, b longID) int { return cmp.Compare(len(b.own), len(a.own)) })
	for _, id := range ids {
		s = replaceWhole(s, id.own, id.name, wordStarts, wordEnds)
	}
	return s
}

// TestNormaliseManyCalls takes no time to speak of, unless each call costs a look at all others.
func TestNormaliseManyCalls(t *testing.T) {
	const calls = 3000
	got := newTestNormaliser().Events(callEvents(calls))
	var want strings.Builder
	for i := range calls {
		fmt.Fprintf(&want, "c%d\n", i+1)
	}
	require.Equal(t, want.String(), got[len(got)-1].Body.(trajectory.Message).Text)
}

// BenchmarkNormalise takes a time for each tool call that does not grow with their number.
func BenchmarkNormalise(b *testing.B) {
	for _, calls := range []int{1000, 8000} {
		b.Run(fmt.Sprintf("calls=%d", calls), func(b *testing.B) {
			events := callEvents(calls)
			for b.Loop() {
				NewNormaliser(map[string]string{"/run/ws": "$WORKSPACE"}, nil, nil).Events(events)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*calls), "ns/call")
		})
	}
}

// callEvents are those of so many tool calls, at the end of which the agent mentions them all.
func callEvents(calls int) []trajectory.Event {
	var events []trajectory.Event
	var summary strings.Builder
	for i := range calls {
		id := fmt.Sprintf("toolu_%024x", uint64(i+1)*0x9E3779B97F4A7C15)
		events = append(
			events,
			trajectory.Event{Body: trajectory.Message{Text: "I will look at the next file now."}},
			trajectory.Event{Body: trajectory.ToolStart{
				ID: id, Name: "Read",
				Args: map[string]any{"file_path": fmt.Sprintf("/run/ws/pkg%d/file.go", i)},
			}},
			trajectory.Event{Body: trajectory.ToolEnd{
				ID:     id,
				Output: strings.Repeat("func f() { return }\n", 10) + id,
			}},
		)
		summary.WriteString(id + "\n")
	}
	return append(events, trajectory.Event{Body: trajectory.Message{Text: summary.String()}})
}

func TestNormaliseValue(t *testing.T) {
	n := newTestNormaliser()
	n.Session("0199aaaa-bbbb-7ccc")
	got := n.Value(map[string]any{
		"path": "/run/ws/0199aaaa-bbbb-7ccc/a", "turn_id": "xyz",
		"list": []any{"/run", 1.5, nil},
	})
	assert.Equal(t, map[string]any{
		"path": "$WORKSPACE/s1/a", "turn_id": Placeholder,
		"list": []any{"$TMPDIR", 1.5, nil},
	}, got)
	assert.Nil(t, n.Value(nil))
	assert.Equal(t, trajectory.FileRead{Path: "$WORKSPACE/a"}, n.Value(trajectory.FileRead{Path: "/run/ws/a"}))

	n.Events([]trajectory.Event{{Body: trajectory.ToolStart{ID: "toolu_0123456789"}}})
	assert.Equal(t, "see c1", n.Value("see toolu_0123456789"), "a call of a turn before")
}

// TestNormaliseAlso: a directory that an agent does not know is replaced, and not given.
func TestNormaliseAlso(t *testing.T) {
	n := newTestNormaliser()
	n.Also("/run/ws/cache", "$CACHE")
	assert.Equal(t, "$CACHE/a $WORKSPACE/b", n.Value("/run/ws/cache/a /run/ws/b"))
	assert.Equal(t, "$CACHE /run/ws", n.Restore("$CACHE $WORKSPACE"))
}

// TestNormaliseNotice: what is no id in raw data of the protocol is text.
func TestNormaliseNotice(t *testing.T) {
	sent := trajectory.Notice{Name: "n", Data: map[string]any{"sessionId": "x", "text": "in /run/ws"}}
	got := newTestNormaliser().Events([]trajectory.Event{{Body: sent}})
	assert.Equal(t, trajectory.Notice{
		Name: "n", Data: map[string]any{"sessionId": "s1", "text": "in $WORKSPACE"},
	}, got[0].Body)
}

func TestRestore(t *testing.T) {
	tests := []struct{ name, reason, in, want string }{
		{"alone", "", "$WORKSPACE", "/run/ws"},
		{"below, and others", "", "cp $HOME/a $WORKSPACE/b $TMPDIR.", "cp /run/ws/home/a /run/ws/b /run."},
		{
			"another word", "no path was made into that", "$HOMES $HOME_DIR x$HOME ${HOME} $WORKSPACE-old",
			"$HOMES $HOME_DIR x$HOME ${HOME} $WORKSPACE-old",
		},
		{"placeholder", "what it was is gone", "took <normalised>", "took <normalised>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newTestNormaliser()
			assert.Equal(t, tt.want, n.Restore(tt.in), tt.reason)
			assert.Equal(t, tt.in, n.Value(tt.want), "normalised it is the same again")
		})
	}
}

func TestNormaliserFromManyGoroutines(t *testing.T) {
	n := newTestNormaliser()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			n.Events([]trajectory.Event{{Body: trajectory.ToolStart{ID: "toolu_0123456789"}}})
			n.Session("0199aaaa-bbbb-7ccc")
			require.Equal(t, "$WORKSPACE", n.Value("/run/ws"))
			require.Equal(t, "/run/ws", n.Restore("$WORKSPACE"))
		})
	}
	all.Wait()
}
