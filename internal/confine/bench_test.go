package confine_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// BenchmarkStart compares a confined child with a plain one: start, and wait for its end.
func BenchmarkStart(b *testing.B) {
	const path = "/bin/true"
	b.Run("exec", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, exec.Command(path).Run())
		}
	})
	for _, kind := range []confine.Kind{confine.None, confine.Landlock, confine.Bwrap} {
		b.Run(string(kind), func(b *testing.B) {
			s, err := confine.New(kind, nil)
			require.NoError(b, err)
			_, err = s.Properties(b.Context())
			require.NoError(b, err)
			for b.Loop() {
				c := supervise.Command{Path: path, Dir: "/", Stderr: os.Stderr}
				p, err := s.Start(b.Context(), c, confine.Policy{})
				require.NoError(b, err)
				_, err = p.Wait()
				require.NoError(b, err)
			}
		})
	}
}
