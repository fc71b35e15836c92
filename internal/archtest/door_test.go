package archtest

import (
	"go/types"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// printing are the methods by which a test prints.
var printing = regexp.MustCompile(`^\(\*?testing\.\w+\)\.(Log|Logf|Error|Errorf|Fatal|Fatalf|Skip|Skipf|Attr|Output)$`)

// TestDoor holds that packages for users' tests print through evaltest/internal/door: an agent's text could begin a
// command of a CI system, or control a terminal.
func TestDoor(t *testing.T) {
	const door = "evaltest/internal/door"
	found := 0
	load(t, func(r string, s *source) {
		if !strings.HasPrefix(r, "evaltest") {
			return
		}
		for name, used := range s.info.Uses {
			f, ok := used.(*types.Func)
			if !ok || !printing.MatchString(f.FullName()) {
				continue
			}
			if r == door {
				found++
				continue
			}
			at := s.fset.Position(name.Pos())
			t.Errorf("%s/%s:%d calls %s: print through %s", r, filepath.Base(at.Filename), at.Line, f.FullName(), door)
		}
	})
	if found == 0 {
		t.Errorf("%s prints nothing: what is this test for?", door)
	}
}
