package trajectory

import (
	"cmp"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/testkit/soak"
)

// What is found by digests, and what is copied from like calls, is what comparing each with each finds.
func TestSoakFitIsComplete(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	pick := func(values ...any) any { return values[r.IntN(len(values))] }
	value := func() any {
		return pick(1, 1.0, "1", true, false, nil, 2, []any{1, "x"}, []any{"x", 1.0},
			map[string]any{"b": 1.0, "c": nil},
			map[string]any{
				"c": nil,
				"b": 1,
			}, map[string]any{}, []any{}, "a.go", "./a.go", "$WORKSPACE/a.go", []any{"b.go", "src/../a.go"})
	}
	rounds, accepted := soak.Size(5, 200), 0
	for range rounds {
		run := &Run{Cwd: "$WORKSPACE"}
		for i := range 150 {
			args := map[string]any{}
			for _, name := range []string{"p", "q", "file_path"} {
				if r.IntN(3) > 0 {
					args[name] = value()
				}
			}
			run.Events = append(run.Events, Event{Body: ToolStart{
				ID: strconv.Itoa(i), Name: pick("Read", "Grep").(string),
				Kind: pick("read", "search").(string), Args: args,
			}})
		}
		s, err := newSession(run)
		require.NoError(t, err)
		var expected []Call
		for range 30 {
			c := Kind("read")
			if r.IntN(4) > 0 {
				c = Tool(pick("Read", "Grep").(string))
			}
			args := Args{}
			for _, name := range []string{"p", "q", "file_path"} {
				if r.IntN(2) > 0 {
					args[name] = pick(Equals(value()), Path("a.go"), value(), Absent(), Any())
				}
			}
			c = c.Args(args).Mode(ArgModes()[r.IntN(4)])
			if r.IntN(4) == 0 {
				c = c.Fields("p", "file_path")
			}
			ready, err := c.ready()
			require.NoError(t, err)
			expected = append(expected, ready, ready)
		}
		f := newFit(expected, s)
		for i := range expected {
			for j := range s.calls {
				want := expected[i].accepts(&s.calls[j], s.cwd)
				require.Equal(t, want, f.accepted.has(i, j), "%v and %v", expected[i], s.calls[j].summary())
				if want {
					accepted++
				}
			}
		}
	}
	require.Greater(t, accepted, 100*rounds)
}

// A like call is not one whose matcher only looks the same: the verdict is the same for few calls and for many.
func TestFitTellsCallsApart(t *testing.T) {
	tests := []struct {
		name          string
		args          map[string]any
		first, second Call // of which the run's calls are only the second
	}{
		{
			name: "texts that are not UTF-8", args: map[string]any{"p": "\xfe"},
			first: Tool("t").Args(Args{"p": Contains("\xff")}), second: Tool("t").Args(Args{"p": Contains("\xfe")}),
		},
		{
			name: "an argument and a field, for which null is not there", args: map[string]any{"p": nil},
			first:  Tool("t").Args(Args{"p": Any()}).Fields("p"),
			second: Tool("t").Args(Args{"p": Any()}).Mode(SupersetArgs),
		},
		{
			name: "a text and a number", args: map[string]any{"p": 1},
			first: Tool("t").Args(Args{"p": "1"}), second: Tool("t").Args(Args{"p": 1}),
		},
	}
	for _, test := range tests {
		for _, n := range []int{2, 200} {
			t.Run(test.name+" "+strconv.Itoa(n), func(t *testing.T) {
				run := &Run{}
				for i := range n {
					run.Events = append(run.Events,
						Event{Body: ToolStart{ID: strconv.Itoa(i), Name: "t", Args: test.args}})
				}
				s, err := newSession(run)
				require.NoError(t, err)
				var expected []Call
				for _, c := range []Call{test.first, test.second, test.first, test.second} {
					ready, err := c.ready()
					require.NoError(t, err)
					expected = append(expected, ready)
				}
				f := newFit(expected, s)
				for j := range n {
					require.False(t, f.accepted.has(0, j))
					require.True(t, f.accepted.has(1, j))
					require.False(t, f.accepted.has(2, j))
					require.True(t, f.accepted.has(3, j))
				}
			})
		}
	}
}

// Calls that are alike in a regular way have digests of their own, or finding duplicates would compare each with each.
func TestDigestsDiffer(t *testing.T) {
	seen := make(map[uint64]string)
	add := func(what string, o observed) {
		o.ToolCall = cmp.Or(o.ToolCall, new(ToolCall))
		d := o.digest()
		require.Empty(t, seen[d], "%s", what)
		seen[d] = what
	}
	for i := range 1000 {
		n := strconv.Itoa(i)
		add("name and text "+n, observed{ToolCall: &ToolCall{Name: n}, whole: n})
		add("name and text of another, "+n, observed{ToolCall: &ToolCall{Name: n}, whole: "x"})
		flags := make(map[string]any)
		var list []any
		for bit := range 10 {
			flags[strconv.Itoa(bit)] = i>>bit&1 == 1
			list = append(list, i>>bit&1 == 1)
		}
		add("flags "+n, observed{args: flags})
		add("list of flags "+n, observed{whole: list})
	}
}
