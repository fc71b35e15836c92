package supervise_test

import (
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// BenchmarkStart compares starting a supervised child, and waiting for its end, with a plain one. The first child also
// pays for the start of a supervisor. The CPU time is that of the children and supervisors, which on a busy machine is
// steadier than the elapsed time.
func BenchmarkStart(b *testing.B) {
	const path = "/bin/true"
	b.Run("exec", func(b *testing.B) {
		defer reportChildrenCPU(b)()
		for b.Loop() {
			require.NoError(b, exec.Command(path).Run())
		}
	})
	supervised := func(b *testing.B) {
		p, err := supervise.Start(b.Context(), supervise.Command{Path: path})
		require.NoError(b, err)
		_, err = p.Wait()
		require.NoError(b, err)
	}
	b.Run("supervised", func(b *testing.B) {
		defer reportChildrenCPU(b)()
		for b.Loop() {
			supervised(b)
		}
	})
	b.Run("first", func(b *testing.B) {
		defer reportChildrenCPU(b)()
		for b.Loop() {
			supervised(b)
			supervise.EndIdle()
		}
	})
}

func reportChildrenCPU(b *testing.B) func() {
	cpu := func() int64 {
		var u syscall.Rusage
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u))
		return u.Utime.Nano() + u.Stime.Nano()
	}
	before := cpu()
	return func() { b.ReportMetric(float64(cpu()-before)/float64(b.N), "child-cpu-ns/op") }
}
