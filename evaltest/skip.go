package evaltest

import (
	"os"
	"testing"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/testrun"
)

// skips counts the subtests of a test, so that one whose subtests were all skipped is skipped itself: nothing was judged,
// and a test that passes would say that something was.
type skips struct{ skipped, others int }

// run runs f as a subtest.
func (s *skips) run(t *testing.T, name string, f func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Helper()
		defer func() {
			if t.Skipped() {
				s.skipped++
			} else {
				s.others++
			}
		}()
		f(t)
	})
}

// judge skips the test, and so ends it, if there is nothing that was judged.
func (s *skips) judge(t *testing.T) {
	t.Helper()
	if s.skipped > 0 && s.others == 0 {
		t.Attr("outcome", string(result.Skip))
		t.Skip("nothing was judged: all of it was skipped")
	}
}

// skip ends the test: as one that was skipped, or, in CI, as an error. Nobody reads what CI skips.
func skip(t *testing.T, reason string) {
	t.Helper()
	if testrun.InCI(os.Getenv) {
		t.Attr("outcome", string(result.Error))
		t.Fatalf("ERROR\n%s; CI is set, so this is an error and not a skip", reason)
	}
	t.Attr("outcome", string(result.Skip))
	t.Skip(reason)
}
