package interaction_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/interaction"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

func write(path, content string) request {
	return request{"fs/write_text_file", fmt.Sprintf(`{"path":%q,"content":%q}`, path, content)}
}

// TestDivergences compares what people read of divergences with a golden file, a section each.
func TestDivergences(t *testing.T) {
	stock, readme := read("$WORKSPACE/stock.txt"), read("$WORKSPACE/README.md")
	list := request{"terminal/create", `{"command":"ls","args":["-l","-a"],"cwd":"$WORKSPACE/shop"}`}
	source := "package shop\n\nfunc Count() int {\n\treturn 1\n}\n"
	tests := []struct {
		name, reason string
		recorded     []request
		before       []request // asked
		asked        request
	}{
		{name: "a slip in a path", recorded: []request{readme, stock}, asked: read("$WORKSPACE/stok.txt")},
		{
			name: "used already", recorded: []request{stock, list}, before: []request{stock},
			asked: read("$WORKSPACE/stock.csv"),
		},
		{
			name: "an unused one", reason: "it is preferred to one that is only slightly more similar",
			recorded: []request{read("$WORKSPACE/a.txt"), read("$WORKSPACE/c2.txt")},
			before:   []request{read("$WORKSPACE/a.txt")},
			asked:    read("$WORKSPACE/b.txt"),
		},
		{
			name: "a used one", reason: "an unused one that has nothing of the request is no better",
			recorded: []request{read("$WORKSPACE/shop/stock.txt"), read("/etc/hosts")},
			before:   []request{read("$WORKSPACE/shop/stock.txt")},
			asked:    read("$WORKSPACE/shop/stock.csv"),
		},
		{name: "asked once more", recorded: []request{stock}, before: []request{stock}, asked: stock},
		{
			name: "asked a third time", recorded: []request{stock, readme, stock}, before: []request{stock, stock},
			asked: stock,
		},
		{
			name: "a member more", recorded: []request{stock},
			asked: request{stock.tool, `{"path":"$WORKSPACE/stock.txt","line":10}`},
		},
		{
			name: "a member less", recorded: []request{{stock.tool, `{"path":"$WORKSPACE/stock.txt","limit":2000}`}},
			asked: stock,
		},
		{
			name: "another directory", recorded: []request{list},
			asked: request{list.tool, strings.Replace(list.args, "/shop", "/test", 1)},
		},
		{
			name: "an item", recorded: []request{list},
			asked: request{list.tool, strings.Replace(list.args, `"-a"`, `"-h"`, 1)},
		},
		{
			name: "an item more", recorded: []request{list},
			asked: request{list.tool, strings.Replace(list.args, `"-a"`, `"-a","-h"`, 1)},
		},
		{name: "another tool", recorded: []request{list, stock}, asked: write("$WORKSPACE/stock.txt", "tea 5\n")},
		{
			name: "the same tool", reason: "it is nearer than another with the same arguments",
			recorded: []request{{"mcp__stock__count", stock.args}, read("/etc/hosts")},
			before:   []request{read("/etc/hosts")}, asked: stock,
		},
		{name: "nothing recorded", asked: stock},
		{
			name: "a line of a text", recorded: []request{write("$WORKSPACE/shop.go", source)},
			asked: write("$WORKSPACE/shop.go", strings.Replace(source, "1", "2", 1)),
		},
		{name: "a line more", recorded: []request{write("a", "one\n")}, asked: write("a", "one\ntwo\n")},
		{
			name:     "a place in a long line",
			recorded: []request{write("a", strings.Repeat("tea and milk, ", 20)+"sugar")},
			asked:    write("a", strings.Repeat("tea and milk, ", 20)+"honey"),
		},
		{
			name:     "deep inside",
			recorded: []request{{"mcp__stock__count", `{"query":{"items":[{"sku":"tea"}]},"all":true}`}},
			asked:    request{"mcp__stock__count", `{"query":{"items":[{"sku":"cup"}]},"all":true}`},
		},
		{
			name: "another type", recorded: []request{{"mcp__stock__count", `{"n":1}`}},
			asked: request{"mcp__stock__count", `{"n":"1"}`},
		},
		{
			name: "no arguments", recorded: []request{{"mcp__stock__list", `{"all":true}`}},
			asked: request{"mcp__stock__list", `{}`},
		},
		{name: "an object and none", recorded: []request{{"x", `{"a":1}`}}, asked: request{"x", `null`}},
		{name: "a text alone", recorded: []request{{"x", `"tea"`}}, asked: request{"x", `"tee"`}},
		{name: "lines and a line", recorded: []request{write("a", "one\ntwo\n")}, asked: write("a", "one")},
		{name: "a line and lines", recorded: []request{write("a", "one")}, asked: write("a", "one\ntwo\n")},
		{name: "no object", recorded: []request{{"x", `[1,2]`}}, asked: request{"x", `null`}},
		{
			name: "control characters", reason: "none reaches the terminal", recorded: []request{read("a")},
			asked: read(`\u001b[31ma\u0000`),
		},
		{
			name: "control characters inside", reason: "nor of those that JSON has as they are",
			recorded: []request{{"x", `["a"]`}}, asked: request{"x\x1b", `["\u009b31m\u202e\udb40\udc01"]`},
		},
		{name: "unicode", recorded: []request{read("$WORKSPACE/größe/日本.txt")}, asked: read("$WORKSPACE/größe/日木.txt")},
		{name: "names of members", recorded: []request{{"x", `{"a\nb":1}`}}, asked: request{"x", `{"":2}`}},
	}
	var got strings.Builder
	for _, tt := range tests {
		b := recording(t, tt.recorded)
		ask(t, b, tt.before...)
		_, err := b.Take(tt.asked.tool, tt.asked.decoded(t))
		require.Error(t, err, tt.name)
		fmt.Fprintf(&got, "-- %s --\n%v\n", tt.name, err)
	}
	golden.Equal(t, "testdata/divergences.golden", got.String())
}

// TestNearest says which of two recordings an error names: the one that has more in common with what was asked.
func TestNearest(t *testing.T) {
	for _, tt := range []struct {
		name, far, near, asked string // arguments
	}{
		{"elements", `["q"]`, `["a","b"]`, `["a","c"]`},
		{"an empty list is not everything", `[]`, `"tent"`, `"text"`},
		{"an empty object is not everything", `{}`, `"tent"`, `"text"`},
		{"an empty text is not everything", `""`, `[1,3]`, `[1,2]`},
		{"numbers", `{"a":3,"b":4}`, `{"a":1,"b":5}`, `{"a":1,"b":2}`},
		{
			"one of three the same counts a third", `{"a":1,"b":"","c":""}`, `{"a":2,"b":"0123456789","c":"01234"}`,
			`{"a":1,"b":"0123456789","c":"0123456789"}`,
		},
		{
			"empty texts count no more", `{"a":"","b":"","c":""}`, `{"a":"z","b":"0123456789","c":"01234"}`,
			`{"a":"","b":"0123456789","c":"0123456789"}`,
		},
		{
			"a member that only one has counts", `{"a":"0123456789"}`, `{"a":"012345xxxx","b":"012345xxxx"}`,
			`{"a":"0123456789","b":"0123456789"}`,
		},
		{"ends of texts", `"aab.zzz"`, `"zzz.txt"`, `"aaa.txt"`},
		{"the last character counts", `"01234xxx8x"`, `"012345xxxx"`, `"0123456789"`},
	} {
		for _, order := range [][]string{{tt.far, tt.near}, {tt.near, tt.far}} {
			b := recording(t, []request{{"x", order[0]}, {"x", order[1]}})
			asked := request{"x", tt.asked}
			_, err := b.Take(asked.tool, asked.decoded(t))
			e, ok := errors.AsType[*interaction.DivergenceError](err)
			require.True(t, ok)
			assert.Equal(t, request{"x", tt.near}.decoded(t), e.Nearest.Args, tt.name)
		}
	}
}

func TestInteractionString(t *testing.T) {
	for want, args := range map[string]any{
		`x "a text"`: "a text", "x null": nil, "x a=1 b=two": map[string]any{"b": "two", "a": 1},
	} {
		assert.Equal(t, want, interaction.Interaction{Tool: "x", Args: args}.String())
	}
}

func TestDivergenceError(t *testing.T) {
	b := recording(t, []request{read("a"), read("a")})
	ask(t, b, read("a"))
	diverged := func(r request) *interaction.DivergenceError {
		_, err := b.Take(r.tool, r.decoded(t))
		e, ok := errors.AsType[*interaction.DivergenceError](err)
		require.True(t, ok)
		return e
	}
	e := diverged(read("b"))
	assert.Equal(t, position(2), e.Nearest.Position)
	assert.False(t, e.Used)
	assert.Equal(t, []string{"path", `"a"`, `"b"`}, []string{e.Field, e.Was, e.Is})
	assert.Zero(t, e.Times)
	assert.Equal(t, 1, e.Asked)

	ask(t, b, read("a"))
	for asked := 3; asked < 5; asked++ {
		e = diverged(read("a"))
		assert.Equal(t, 2, e.Times)
		assert.Equal(t, asked, e.Asked)
	}
	for n, want := range []string{
		5: "5th", 11: "11th", 12: "12th", 13: "13th", 21: "21st", 22: "22nd", 23: "23rd",
		101: "101st", 111: "111th", 821: "821st",
	} {
		for e.Asked < n {
			e = diverged(read("a"))
		}
		if want != "" {
			assert.Contains(t, e.Error(), "asked for the "+want+" time;")
		}
	}
}
