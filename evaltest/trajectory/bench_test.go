package trajectory_test

import (
	"fmt"
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// BenchmarkMatch matches 1,000 expected with 1,000 actual calls: of the same tool with different arguments, so that
// every pair is compared to the bottom, and the expected calls in reverse, where pairs are not found at once.
func BenchmarkMatch(b *testing.B) {
	const n = 1000
	actual := make([]trajectory.ToolCall, n)
	forward, reverse := make([]trajectory.Call, n), make([]trajectory.Call, n)
	overlapping, paths := make([]trajectory.Call, n), make([]trajectory.Call, n)
	for i := range n {
		name := fmt.Sprintf("src/%d.go", i)
		actual[i] = call("Read", args{"file_path": "$WORKSPACE/" + name, "offset": i, "limit": 100})
		forward[i] = trajectory.Tool("Read").Args(args{"offset": i})
		reverse[n-1-i] = forward[i]
		overlapping[i] = trajectory.Tool("Read").Args(args{"offset": trajectory.LTE(i)})
		paths[i] = trajectory.Tool("Read").Args(args{"file_path": trajectory.Path(name)})
	}
	run := runOf(actual...)
	for _, bench := range []struct {
		name string
		m    trajectory.Matcher
	}{
		{"in_order", trajectory.InOrder(forward...)},
		{"in_order reversed", trajectory.InOrder(reverse...)},
		{"superset", trajectory.Superset(forward...)},
		{"superset reversed", trajectory.Superset(reverse...)},
		{"superset overlapping", trajectory.Superset(overlapping...)},
		{"superset paths", trajectory.Superset(paths...)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if r := bench.m.Match(run); r.Err != nil {
					b.Fatal(r.Err)
				}
			}
		})
	}
	b.Run("text", func(b *testing.B) {
		b.ReportAllocs()
		r := trajectory.InOrder(reverse...).Match(run)
		for b.Loop() {
			if r.Table() == "" {
				b.Fatal("no text")
			}
		}
	})
}
