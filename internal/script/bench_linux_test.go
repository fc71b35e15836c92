package script_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// BenchmarkRun compares a script with the same program, started directly and by a supervisor.
func BenchmarkRun(b *testing.B) {
	s := sh("echo ok")
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, exec.Command(s.Argv[0], s.Argv[1:]...).Run())
		}
	})
	b.Run("supervised", func(b *testing.B) {
		for b.Loop() {
			p, err := supervise.Start(b.Context(), supervise.Command{Path: s.Argv[0], Args: s.Argv, Env: os.Environ()})
			require.NoError(b, err)
			_, err = p.Wait()
			require.NoError(b, err)
		}
	})
	for _, kind := range []confine.Kind{confine.None, confine.Auto} {
		b.Run(string(kind), func(b *testing.B) {
			r := runner(b, kind)
			for b.Loop() {
				_, err := r.Run(b.Context(), s, nil, "")
				require.NoError(b, err)
			}
		})
	}
}
