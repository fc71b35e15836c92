package confine_test

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/testkit/soak"
)

// TestSoakForkBomb lets a fork bomb grow to what it may have. It is killed as a whole then, unless it has gone out by
// itself.
func TestSoakForkBomb(t *testing.T) {
	for _, kind := range []confine.Kind{confine.Landlock, confine.Bwrap} {
		t.Run(string(kind), func(t *testing.T) {
			s, err := confine.New(kind, nil)
			require.NoError(t, err)
			held, err := s.Held(t.Context())
			require.NoError(t, err)
			if !slices.Contains(held.Holds, confine.Forks) {
				require.NotZero(t, os.Getuid(), "root can have control groups")
			}
			for range soak.Size(1, 100) {
				var stderr bytes.Buffer // of who confines, or of a shell that cannot fork
				p, err := s.Start(t.Context(), supervise.Command{
					Path: "/bin/sh", Args: []string{"sh", "-c", "bomb() { bomb | bomb & }; bomb; sleep 1"}, Dir: "/",
					MaxThreads: 200, Stderr: &stderr,
				}, confine.Policy{})
				if err == nil { // else it was faster than the report that it had been started
					_, err = p.Wait()
				} else {
					require.Zero(t, os.Getuid(), "%v: %s", err, &stderr)
				}
				if os.Getuid() == 0 { // with a control group, so that it is known in any case
					require.ErrorContains(t, err, "more", "%s", &stderr)
				}
			}
		})
	}
}
