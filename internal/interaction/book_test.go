package interaction_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/interaction"
)

// request is what the tests below record and ask: a tool, and its arguments as JSON.
type request struct{ tool, args string }

func (r request) decoded(t testing.TB) any {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal([]byte(r.args), &v))
	return v
}

func read(path string) request {
	return request{"fs/read_text_file", `{"path":"` + path + `"}`}
}

// book returns what was recorded, whose answers are its numbers from 1.
func book(t testing.TB, recorded []request) *interaction.Book {
	t.Helper()
	all := make([]interaction.Interaction, len(recorded))
	for i, r := range recorded {
		all[i] = interaction.Interaction{Tool: r.tool, Args: r.decoded(t), Answer: i + 1, Position: position(i + 1)}
	}
	return interaction.NewBook(all)
}

func position(n int) string { return "turn 1, event " + string(rune('0'+n)) }

func TestTake(t *testing.T) {
	tests := []struct {
		name, reason    string
		recorded, asked []request
		want            []int // answers, 0: a divergence
	}{
		{name: "in order", recorded: []request{read("a"), read("b")}, asked: []request{read("a"), read("b")}, want: []int{1, 2}},
		{
			name: "swapped", reason: "each gets its own answer",
			recorded: []request{read("a"), read("b")}, asked: []request{read("b"), read("a")}, want: []int{2, 1},
		},
		{
			name: "identical calls", reason: "they get their answers in order",
			recorded: []request{read("a"), read("b"), read("a")}, asked: []request{read("a"), read("a"), read("b")}, want: []int{1, 3, 2},
		},
		{
			name: "one too many", recorded: []request{read("a")}, asked: []request{read("a"), read("a"), read("a")}, want: []int{1, 0, 0},
		},
		{name: "never recorded", recorded: []request{read("a")}, asked: []request{read("c"), read("a")}, want: []int{0, 1}},
		{
			name: "another tool", recorded: []request{{"x", `{}`}}, asked: []request{{"y", `{}`}}, want: []int{0},
		},
		{
			name: "order of members and form of numbers", reason: "they are none of the request",
			recorded: []request{{"x", `{"a":1,"b":[1e1]}`}}, asked: []request{{"x", `{"b":[10],"a":1.0}`}}, want: []int{1},
		},
		{
			name: "a number is no text", recorded: []request{{"x", `{"a":1}`}}, asked: []request{{"x", `{"a":"1"}`}}, want: []int{0},
		},
		{name: "null is not nothing", recorded: []request{{"x", `{"a":null}`}}, asked: []request{{"x", `{}`}}, want: []int{0}},
		{name: "unicode", recorded: []request{read("größe 日本/ß")}, asked: []request{read("größe 日本/ß")}, want: []int{1}},
		{name: "no object", recorded: []request{{"x", `"text"`}, {"x", `null`}}, asked: []request{{"x", `null`}, {"x", `"text"`}}, want: []int{2, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := book(t, tt.recorded)
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
