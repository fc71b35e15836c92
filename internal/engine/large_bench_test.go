package engine_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// BenchmarkLargeWorkspace replays a unit whose workspace has many files of 1 KB, of which the agent changed one and
// added one: with evaluators that read, and as if one needed the files on disk, which are then removed again. Plain is
// `cp -a` of the same files, by its CPU time.
func BenchmarkLargeWorkspace(b *testing.B) {
	for _, files := range []int{7_000, 10_000, 100_000} {
		root := b.TempDir()
		writeMany(b, filepath.Join(root, "src"), files)
		text := benchPlaybook + `
  - {type: files, expect: [{path: dir0/file0.go, contains: changed}, {path: new.go, exists: true}]}
workspace: {from: src}
`
		record(b, root, text)
		b.Run(fmt.Sprintf("%d/plain", files), func(b *testing.B) {
			to := filepath.Join(b.TempDir(), "copy")
			var used time.Duration
			for b.Loop() {
				cp := exec.Command("cp", "-a", filepath.Join(root, "src"), to)
				require.NoError(b, cp.Run())
				used += cp.ProcessState.UserTime() + cp.ProcessState.SystemTime()
				require.NoError(b, os.RemoveAll(to))
			}
			b.ReportMetric(float64(used)/float64(b.N), "cpu-ns/op")
		})
		for _, trees := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/trees=%t", files, trees), func(b *testing.B) {
				runner, unit := newRunner(b, root, text, engine.Replay, func(c *engine.Config) { c.Trees = trees })
				replay := func() {
					if u := runner.Unit(b.Context(), unit, io.Discard); u.Outcome != result.Pass {
						b.Fatal(u.Outcome, u.Reason)
					}
				}
				replay() // which reads the template
				measure(b, replay)
			})
		}
	}
}

// BenchmarkManyUnits replays 50 variants of 20 cases, each with 10,000 files, and keeps the run.
func BenchmarkManyUnits(b *testing.B) {
	root := b.TempDir()
	writeMany(b, filepath.Join(root, "src"), 10_000)
	var cases, variants, names []string
	for i := range 20 {
		cases = append(cases, fmt.Sprintf("{id: c%d, prompt: Do it.}", i))
	}
	for i := range 50 {
		variants = append(variants, fmt.Sprintf("v%d: {agent: {kind: fake-acp}}", i))
		names = append(names, fmt.Sprintf("v%d", i))
	}
	text := strings.NewReplacer(
		"task: {prompt: Do it.}", "cases: ["+strings.Join(cases, ", ")+"]",
		"variants: {fake: {agent: {kind: fake-acp}}}", "variants: {"+strings.Join(variants, ", ")+"}",
		"variant: [fake]", "variant: ["+strings.Join(names, ", ")+"]",
	).Replace(benchPlaybook) + "workspace: {from: src}\n"
	path := record(b, root, text)
	c, err := cassette.Open(disk.Tree(root), path)
	require.NoError(b, err)
	pb, err := plan.Parse("bench.yaml", []byte(text), kinds.All())
	require.NoError(b, err)
	runner, _ := runnerOf(b, root, pb, engine.Replay)
	planned, err := pb.Plan()
	require.NoError(b, err)
	for _, u := range planned.Units {
		c.Header.Unit = u.ID()
		require.NoError(b, cassette.Write(disk.Tree(root), runner.CassettePath(u), c))
	}
	measure(b, func() {
		runner, _ := newRunner(b, root, text, engine.Replay, func(c *engine.Config) {
			c.Keep, c.Secrets, c.Sandbox = &engine.Keep{Below: root}, new(secret.Set), "none"
		})
		sunk := new(sink)
		done, err := runner.Run(b.Context(), sunk)
		require.NoError(b, err)
		require.Len(b, sunk.units, 1000)
		require.Equal(b, result.Pass, sunk.units[0].Outcome, judged(sunk.units[0]))
		bytes, count := sizeOf(b, done.Dir)
		b.ReportMetric(float64(bytes)/1e6, "MB/run")
		b.ReportMetric(float64(count)/1000, "files/unit")
	})
}

func sizeOf(b *testing.B, dir string) (bytes int64, files int) {
	require.NoError(b, filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		require.NoError(b, err)
		if d.IsDir() {
			return nil
		}
		info, err := d.Info()
		require.NoError(b, err)
		bytes, files = bytes+info.Size(), files+1
		return nil
	}))
	return bytes, files
}

// writeMany writes files of 1 KB, 50 a directory, those of [record] among them.
func writeMany(b *testing.B, dir string, files int) {
	b.Helper()
	writeFiles(b, dir)
	text := []byte(strings.Repeat("package p // line of code\n", 40))
	for i := range files {
		path := filepath.Join(dir, fmt.Sprintf("pkg%d", i/500), fmt.Sprintf("sub%d", i/50), fmt.Sprintf("file%d.go", i))
		if i%50 == 0 {
			require.NoError(b, os.MkdirAll(filepath.Dir(path), 0o755))
		}
		require.NoError(b, os.WriteFile(path, text, 0o644))
	}
}
