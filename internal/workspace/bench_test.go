//go:build unix

package workspace

import (
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// smallProject is a workspace as an evaluation has it.
func smallProject(b *testing.B) string {
	files := make(map[string]string)
	for i, p := range []string{
		"go.mod", "main.go", "README.md", "internal/a/a.go", "internal/a/a_test.go", "internal/b/b.go",
		"internal/b/b_test.go",
		"cmd/x/main.go", "docs/x.md", "run.sh*",
	} {
		files[p] = strings.Repeat("0123456789\n", 30*(i+1))
	}
	return writeTree(b, files)
}

// BenchmarkReplay makes the workspace of a replayed unit: ten files, of which the agent changed one and added one.
// With TMPDIR on a tmpfs it shows the cost without that of a disk.
func BenchmarkReplay(b *testing.B) {
	src := Source{Dir: smallProject(b)}
	d := Delta{Changes: []Change{
		{Path: "internal/a/a.go", Op: Modified, Kind: File, Data: []byte(strings.Repeat("x", 1000))},
		{Path: "internal/a/new.go", Op: Added, Kind: File, Data: []byte(strings.Repeat("y", 1000))},
	}}
	tmpl, err := Load(b.Context(), src)
	require.NoError(b, err)
	measure := func(name string, prepare func(dst string) (Manifest, []Note, error)) {
		b.Run(name, func(b *testing.B) {
			base := b.TempDir()
			cpu, n := cpuTime(), 0
			for b.Loop() {
				n++
				dst := filepath.Join(base, strconv.Itoa(n))
				m, _, err := prepare(dst)
				require.NoError(b, err)
				require.NoError(b, d.Apply(dst))
				_ = m.Digest()
			}
			b.ReportMetric(float64(cpuTime()-cpu)/float64(n), "cpu-ns/op")
		})
	}
	measure("template", func(dst string) (Manifest, []Note, error) { return tmpl.Prepare(b.Context(), dst, nil) })
	measure("directory", func(dst string) (Manifest, []Note, error) { return Prepare(b.Context(), src, dst) })
}

func BenchmarkChanges(b *testing.B) {
	dir := smallProject(b)
	m, err := Snapshot(b.Context(), dir)
	require.NoError(b, err)
	for b.Loop() {
		_, d, err := Changes(b.Context(), dir, m, 0, nil)
		require.NoError(b, err)
		require.Empty(b, d.Changes)
	}
}

func cpuTime() int64 {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return r.Utime.Nano() + r.Stime.Nano()
}
