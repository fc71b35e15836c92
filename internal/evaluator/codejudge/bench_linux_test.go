package codejudge_test

import (
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// kinds are the sandboxes that are compared.
var kinds = []confine.Kind{confine.None, confine.Landlock, confine.Bwrap}

// BenchmarkCodeJudge compares a judge, and a supervised process, with the bare start of the same script: they take
// turns, so that what else a machine does is spread over both. The times are medians.
func BenchmarkCodeJudge(b *testing.B) {
	const script = `echo '{"score":1}'`
	b.Run("supervised", func(b *testing.B) {
		compare(b, script, func() {
			p, err := supervise.Start(b.Context(), supervise.Command{
				Path: "/bin/sh", Args: []string{"sh", "-c", script},
			})
			require.NoError(b, err)
			exit, err := p.Wait()
			require.NoError(b, err)
			require.Equal(b, supervise.Exit{}, exit)
		})
	})
	for _, kind := range kinds {
		b.Run(string(kind), func(b *testing.B) { compare(b, script, judging(b, kind, script)) })
	}
}

func compare(b *testing.B, script string, run func()) {
	run() // tries the sandbox
	var bare, own []time.Duration
	for b.Loop() {
		start := time.Now()
		runBare(b, script)
		bare = append(bare, time.Since(start))
		start = time.Now()
		run()
		own = append(own, time.Since(start))
	}
	slices.Sort(bare)
	slices.Sort(own)
	median := float64(own[len(own)/2])
	b.ReportMetric(median, "ns/op")
	b.ReportMetric(median/float64(bare[len(bare)/2]), "x-bare")
}

// BenchmarkJudges runs 200 judges, one after the other and two at a time. They compute for a few milliseconds each.
func BenchmarkJudges(b *testing.B) {
	const script = `i=0; while [ $i -lt 5000 ]; do i=$((i+1)); done; echo '{"score":1}'`
	b.Run("bare", func(b *testing.B) { speedUp(b, func() { runBare(b, script) }) })
	for _, kind := range kinds {
		b.Run(string(kind), func(b *testing.B) { speedUp(b, judging(b, kind, script)) })
	}
}

func speedUp(b *testing.B, run func()) {
	run() // tries the sandbox
	took := make(map[int]time.Duration)
	for b.Loop() {
		for _, parallel := range []int{1, 2} {
			var g errgroup.Group
			g.SetLimit(parallel)
			start := time.Now()
			for range 200 {
				g.Go(func() error { run(); return nil })
			}
			_ = g.Wait()
			took[parallel] += time.Since(start)
		}
	}
	b.ReportMetric(took[1].Seconds()/float64(b.N)/200*1e9, "ns/judge")
	b.ReportMetric(took[1].Seconds()/took[2].Seconds(), "x-faster-by-two")
}

func runBare(b *testing.B, script string) {
	if out, err := exec.Command("/bin/sh", "-c", script).Output(); err != nil || len(out) == 0 {
		b.Error("no output", err)
	}
}

// judging returns what runs a judge.
func judging(b *testing.B, kind confine.Kind, script string) func() {
	dir, r := project(b, confine.None)
	sandbox, err := confine.New(kind, nil)
	require.NoError(b, err)
	if _, err := sandbox.Properties(b.Context()); err != nil {
		b.Skip(err)
	}
	r.Sandbox = sandbox
	e, err := load(dir, ".", `script: [/bin/sh, -c, `+strconv.Quote(script)+`]`)
	require.NoError(b, err)
	in := input(r)
	return func() {
		if v := evaluator.Judge(b.Context(), e, in); v.Outcome != result.Pass {
			b.Error(v.Reason)
		}
	}
}
