package interaction_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/interaction"
)

// request is what the tests below record and ask: a tool, and its arguments as JSON.
type request struct{ tool, args string }

func (r request) decoded(t testing.TB) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(r.args))
	d.UseNumber()
	var v any
	require.NoError(t, d.Decode(&v))
	return v
}

func read(path string) request {
	return request{"fs/read_text_file", `{"path":"` + path + `"}`}
}

// recording returns what was recorded, whose answers are its numbers from 1.
func recording(t testing.TB, recorded []request) *interaction.Recording {
	t.Helper()
	all := make([]interaction.Interaction, len(recorded))
	for i, r := range recorded {
		all[i] = interaction.Interaction{Tool: r.tool, Args: r.decoded(t), Answer: i + 1, Position: position(i + 1)}
	}
	return interaction.NewRecording(all)
}

func position(n int) string { return fmt.Sprintf("turn 1, event %d", n) }

// ask takes the requests, and fails the test if one diverges.
func ask(t testing.TB, b *interaction.Recording, asked ...request) {
	t.Helper()
	for _, r := range asked {
		_, err := b.Take(r.tool, r.decoded(t))
		require.NoError(t, err)
	}
}

func TestTake(t *testing.T) {
	tests := []struct {
		name, reason    string
		recorded, asked []request
		want            []int // answers, 0: a divergence
	}{
		{
			name: "in order", recorded: []request{read("a"), read("b")}, asked: []request{read("a"), read("b")},
			want: []int{1, 2},
		},
		{
			name: "swapped", reason: "each gets its own answer",
			recorded: []request{read("a"), read("b")}, asked: []request{read("b"), read("a")}, want: []int{2, 1},
		},
		{
			name: "identical calls", reason: "they get their answers in order",
			recorded: []request{read("a"), read("b"), read("a")}, asked: []request{read("a"), read("a"), read("b")},
			want: []int{1, 3, 2},
		},
		{
			name: "one too many", recorded: []request{read("a")}, asked: []request{read("a"), read("a"), read("a")},
			want: []int{1, 0, 0},
		},
		{
			name: "never recorded", recorded: []request{read("a")}, asked: []request{read("c"), read("a")},
			want: []int{0, 1},
		},
		{
			name: "another working directory", reason: "it is as much of a request as the command",
			recorded: []request{{"terminal/create", `{"command":"ls","cwd":"$WORKSPACE/a"}`}},
			asked: []request{
				{"terminal/create", `{"command":"ls","cwd":"$WORKSPACE/b"}`},
				{"terminal/create", `{"command":"ls"}`},
			},
			want: []int{0, 0},
		},
		{
			name: "another tool", recorded: []request{{"x", `{}`}}, asked: []request{{"y", `{}`}}, want: []int{0},
		},
		{
			name: "order of members and form of numbers", reason: "they are none of the request",
			recorded: []request{{"x", `{"a":1,"b":[1e1]}`}}, asked: []request{{"x", `{"b":[10],"a":1.0}`}},
			want: []int{1},
		},
		{
			name: "a number is no text", recorded: []request{{"x", `{"a":1}`}}, asked: []request{{"x", `{"a":"1"}`}},
			want: []int{0},
		},
		{
			name: "null is not nothing", recorded: []request{{"x", `{"a":null}`}}, asked: []request{{"x", `{}`}},
			want: []int{0},
		},
		{
			name: "large numbers", reason: "no float64 tells them apart",
			recorded: []request{{"x", `9007199254740993`}},
			asked:    []request{{"x", `9007199254740992`}}, want: []int{0},
		},
		{
			name: "decimals", reason: "one float64 is near both", recorded: []request{{"x", `0.1`}},
			asked: []request{{"x", `0.1000000000000000055`}}, want: []int{0},
		},
		{
			name: "unicode", recorded: []request{read("größe 日本/ß")}, asked: []request{read("größe 日本/ß")},
			want: []int{1},
		},
		{
			name: "unicode of another form", reason: "files have both", recorded: []request{read("e\u0301")},
			asked: []request{read("é")}, want: []int{0},
		},
		{
			name: "no object", recorded: []request{{"x", `"text"`}, {"x", `null`}},
			asked: []request{{"x", `null`}, {"x", `"text"`}}, want: []int{2, 1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := recording(t, tt.recorded)
			for i, r := range tt.asked {
				got, err := b.Take(r.tool, r.decoded(t))
				if tt.want[i] != 0 {
					require.NoError(t, err, tt.reason)
					assert.Equal(t, tt.want[i], got.Answer, tt.reason)
					continue
				}
				_, ok := errors.AsType[*interaction.DivergenceError](err)
				assert.True(t, ok, "%v", err)
			}
		})
	}
}

func TestTakeFromManyGoroutines(t *testing.T) {
	const each = 100
	var recorded []request
	for range each {
		recorded = append(recorded, read("a"), read("b"))
	}
	b := recording(t, recorded)
	answers := make([][]int, 4)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			for range each / 2 {
				found, err := b.Take("fs/read_text_file", map[string]any{"path": string(rune('a' + i%2))})
				if err == nil {
					answers[i] = append(answers[i], found.Answer.(int))
				}
			}
		})
	}
	all.Wait()
	seen := make(map[int]bool)
	for i, got := range answers {
		assert.IsIncreasing(t, got)
		for _, n := range got {
			assert.Equal(t, i%2, (n-1)%2, "an answer to another request")
			seen[n] = true
		}
	}
	assert.Len(t, seen, len(recorded))
	assert.Empty(t, b.Unused(nil))
}

func TestUnused(t *testing.T) {
	recorded := []request{
		read("a"),
		{"mcp__stock__count", `{}`},
		{"mcp__stock__list", `{}`},
		read("a"),
		{"terminal/create", `{}`},
	}
	tests := []struct {
		name, reason string
		allow        []string
		want         []string
	}{
		{
			name: "none allowed",
			want: []string{"mcp__stock__count", "mcp__stock__list", "fs/read_text_file", "terminal/create"},
		},
		{
			name: "a tool", allow: []string{"mcp__stock__list"},
			want: []string{"mcp__stock__count", "fs/read_text_file", "terminal/create"},
		},
		{name: "a server", allow: []string{"mcp__stock__*"}, want: []string{"fs/read_text_file", "terminal/create"}},
		{name: "any", reason: "a slash is text as any other", allow: []string{"*"}},
		{
			name: "in the middle", allow: []string{"mcp__*__count", "*file"},
			want: []string{"mcp__stock__list", "terminal/create"},
		},
		{name: "twice", allow: []string{"*/*a*e"}, want: []string{"mcp__stock__count", "mcp__stock__list"}},
		{
			name: "no overlap", reason: "what two stars hold apart are different texts",
			allow: []string{"terminal/*l/create", "f*"},
			want:  []string{"mcp__stock__count", "mcp__stock__list", "terminal/create"},
		},
		{
			name: "another", allow: []string{"mcp", "", "read_text_file"},
			want: []string{"mcp__stock__count", "mcp__stock__list", "fs/read_text_file", "terminal/create"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := recording(t, recorded)
			ask(t, b, recorded[0])
			var got []string
			for _, u := range b.Unused(tt.allow) {
				got = append(got, u.Tool)
			}
			assert.Equal(t, tt.want, got, tt.reason)
		})
	}
}

func TestReordered(t *testing.T) {
	recorded := []request{read("a"), read("b"), read("c"), read("d"), read("a")}
	tests := []struct {
		name, reason, asked string
		want                []string
	}{
		{name: "in order", asked: "abcda"},
		{name: "some left out", asked: "acd"},
		{name: "identical calls", reason: "nothing tells them apart", asked: "aabcd", want: []string{
			"turn 1, event 5: fs/read_text_file path=a was asked for already before turn 1, event 2",
		}},
		{name: "two swapped", reason: "one of them moved", asked: "acbd", want: []string{
			"turn 1, event 3: fs/read_text_file path=c was asked for already before turn 1, event 2",
		}},
		{name: "one late", reason: "those that it let pass are where they were", asked: "bcda", want: []string{
			"turn 1, event 1: fs/read_text_file path=a was asked for only after turn 1, event 4",
		}},
		{name: "one early", asked: "dabc", want: []string{
			"turn 1, event 4: fs/read_text_file path=d was asked for already before turn 1, event 1",
		}},
		{name: "backwards", asked: "dcba", want: []string{
			"turn 1, event 4: fs/read_text_file path=d was asked for already before turn 1, event 1",
			"turn 1, event 3: fs/read_text_file path=c was asked for already before turn 1, event 1",
			"turn 1, event 2: fs/read_text_file path=b was asked for already before turn 1, event 1",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := recording(t, recorded)
			for name := range strings.SplitSeq(tt.asked, "") {
				ask(t, b, read(name))
			}
			assert.Equal(t, tt.want, b.Reordered(), tt.reason)
		})
	}
}

// FuzzBook records any requests and asks them in any order: each gets an answer of its own, and nothing is left.
func FuzzBook(f *testing.F) {
	f.Add([]byte("abcabc"), []byte{5, 4, 3, 2, 1, 0}, "text")
	f.Add([]byte("aaaa"), []byte{0, 0, 0}, "\xff\x00")
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8}, []byte{1}, `{"path":"größe"}`)
	f.Fuzz(func(t *testing.T, requests, moves []byte, text string) {
		args := func(i int) any {
			n := int(requests[i])
			switch n % 4 {
			case 0:
				return map[string]any{"path": text, "line": n}
			case 1:
				return []any{text, float64(n), nil, true}
			case 2:
				return strconv.Itoa(n) + text
			}
			return nil
		}
		tool := func(i int) string { return "tool " + strconv.Itoa(int(requests[i])%3) }
		recorded := make([]interaction.Interaction, len(requests))
		order := make([]int, len(requests))
		for i := range requests {
			order[i] = i
			recorded[i] = interaction.Interaction{Tool: tool(i), Args: args(i), Answer: i, Position: position(i)}
		}
		for i, m := range moves {
			if len(order) > 0 {
				a, b := i%len(order), int(m)%len(order)
				order[a], order[b] = order[b], order[a]
			}
		}
		b := interaction.NewRecording(recorded)
		last := make(map[byte]int)
		var answers []int
		for _, i := range order {
			found, err := b.Take(tool(i), args(i))
			require.NoError(t, err)
			assert.Equal(t, tool(i), found.Tool)
			if before, ok := last[requests[i]]; ok {
				assert.Greater(t, found.Answer, before, "identical calls have their answers in order")
			}
			last[requests[i]] = found.Answer.(int)
			answers = append(answers, found.Answer.(int))
		}
		assert.Empty(t, b.Unused(nil))
		assert.Len(t, b.Reordered(), len(answers)-longestIncreasing(answers))

		_, err := b.Take("another", text)
		require.Error(t, err)
		assert.NotContains(t, strings.ReplaceAll(err.Error(), "\n", ""), "\x00", "shown as it is")
	})
}

// longestIncreasing returns the length of a longest increasing subsequence, by the obvious way.
func longestIncreasing(numbers []int) int {
	best := make([]int, len(numbers))
	longest := 0
	for i, n := range numbers {
		best[i] = 1
		for j, before := range numbers[:i] {
			if before < n {
				best[i] = max(best[i], best[j]+1)
			}
		}
		longest = max(longest, best[i])
	}
	return longest
}

func BenchmarkBook(b *testing.B) {
	const n = 10_000
	recorded := make([]interaction.Interaction, n)
	for i := range recorded {
		recorded[i] = interaction.Interaction{
			Tool: "fs/read_text_file",
			Args: map[string]any{"path": "$WORKSPACE/" + strconv.Itoa(i%1000), "line": i},
		}
	}
	for b.Loop() {
		taken := interaction.NewRecording(recorded)
		for i := range recorded {
			if _, err := taken.Take(recorded[n-1-i].Tool, recorded[n-1-i].Args); err != nil {
				b.Fatal(err)
			}
		}
		if len(taken.Reordered()) != n-1 || len(taken.Unused(nil)) != 0 {
			b.Fatal("not all taken")
		}
		if _, err := taken.Take("fs/read_text_file", map[string]any{"path": "$WORKSPACE/x"}); err == nil {
			b.Fatal("found")
		}
	}
}
