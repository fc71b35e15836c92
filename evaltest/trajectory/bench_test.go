package trajectory_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// BenchmarkMatch matches 5,000 expected with 5,000 actual calls of the same tool with different arguments. The
// expected calls stand in reverse where order does not matter, so that pairs are not found at once.
func BenchmarkMatch(b *testing.B) {
	const n = 5000
	actual := make([]trajectory.ToolCall, n)
	expected := func(of func(i int) trajectory.Call) []trajectory.Call {
		calls := make([]trajectory.Call, n)
		for i := range calls {
			calls[i] = of(i)
		}
		return calls
	}
	reversed := func(of func(i int) trajectory.Call) []trajectory.Call {
		calls := expected(of)
		slices.Reverse(calls)
		return calls
	}
	tool := trajectory.Tool("Read")
	name := func(i int) string { return fmt.Sprintf("src/%d.go", i) }
	for i := range n {
		actual[i] = call("Read", args{"file_path": "$WORKSPACE/" + name(i), "offset": i, "limit": 100})
		actual[i].Duration = 2
	}
	exact := func(i int) trajectory.Call {
		return tool.Args(args{
			"file_path": "$WORKSPACE/" + name(i), "offset": i,
			"limit": 100,
		}).Mode(trajectory.ExactArgs)
	}
	equals := func(i int) trajectory.Call { return tool.Args(args{"offset": i, "limit": 100}) }
	common := func(i int) trajectory.Call { return tool.Args(args{"limit": 100}) }
	path := func(i int) trajectory.Call { return tool.Args(args{"file_path": trajectory.Path(name(i))}) }
	regex := func(i int) trajectory.Call {
		return tool.Args(args{"file_path": trajectory.Regex(fmt.Sprintf(`src/%d\.(go|rs)$`, i))})
	}
	word := func(i int) trajectory.Call {
		return tool.Args(args{"file_path": trajectory.Regex(fmt.Sprintf(`^\$WORKSPACE/s.c/0*(%d|x)[.]go$`, i))})
	}
	lte := func(i int) trajectory.Call { return tool.Args(args{"offset": trajectory.LTE(i)}) }
	run := runOf(actual...)
	for _, bench := range []struct {
		name string
		m    trajectory.Matcher
		pass bool
	}{
		{"unordered exact", trajectory.Unordered(reversed(exact)...), true},
		{"unordered equals", trajectory.Unordered(reversed(equals)...), true},
		{"unordered equals, all alike", trajectory.Unordered(reversed(common)...), true},
		{"unordered path", trajectory.Unordered(reversed(path)...), true},
		{"unordered regex", trajectory.Unordered(reversed(regex)...), true},
		{"unordered regex without a literal", trajectory.Unordered(reversed(word)...), true},
		{"unordered overlapping", trajectory.Unordered(reversed(lte)...), true},
		{"in_order", trajectory.InOrder(expected(equals)...), true},
		{"in_order reversed", trajectory.InOrder(reversed(equals)...), false},
		{"in_order overlapping", trajectory.InOrder(reversed(lte)...), false},
		{
			"in_order with limits",
			trajectory.InOrder(expected(func(i int) trajectory.Call { return equals(i).MaxDuration(2) })...), true,
		},
		{
			"superset with limits, all over",
			trajectory.Superset(expected(func(i int) trajectory.Call { return common(i).MaxDuration(1) })...), false,
		},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if r := bench.m.Match(run); r.Err != nil || r.Pass != bench.pass {
					b.Fatal(r.Score, r.Err)
				}
			}
		})
	}
	b.Run("text", func(b *testing.B) {
		b.ReportAllocs()
		r := trajectory.InOrder(reversed(equals)...).Match(run)
		for b.Loop() {
			if r.Table() == "" {
				b.Fatal("no text")
			}
		}
	})
}
