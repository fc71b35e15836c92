package evaltest

import (
	"os"
	"sync"
	"testing"

	"github.com/sdd-eval/sdd-eval/internal/testrun"
)

// outputs has the directory of each test that has asked for one.
var outputs struct {
	sync.Mutex
	dirs map[testing.TB]string
}

// OutputDir returns a directory for what the test leaves for people to look at, test-output/<run>/<package>/<test>
// below the module's root. Within a test it is always the same; each test, run and worktree has its own. It is not
// removed, and git ignores it.
//
// The run is named by the environment variable TEST_RUN_ID, of up to 64 letters, digits, _ and -; any other value fails
// the test. If it is not set, each test process makes up a name. If there is a directory of that name already, because
// a test was repeated or TEST_RUN_ID was used before, the new one gets a number, -2 and so on.
func OutputDir(t testing.TB) string {
	t.Helper()
	outputs.Lock()
	defer outputs.Unlock()
	if dir := outputs.dirs[t]; dir != "" {
		return dir
	}
	dir, err := makeOutput(t.Name())
	if err != nil {
		t.Fatalf("evaltest.OutputDir: %v", err)
	}
	if outputs.dirs == nil {
		outputs.dirs = make(map[testing.TB]string)
	}
	outputs.dirs[t] = dir
	t.Cleanup(func() {
		outputs.Lock()
		defer outputs.Unlock()
		delete(outputs.dirs, t)
	})
	return dir
}

func makeOutput(test string) (string, error) {
	id, err := testrun.ID(os.Getenv)
	if err != nil {
		return "", err
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return testrun.MakeOutput(dir, id, test)
}
