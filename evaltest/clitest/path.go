package clitest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// MinimalPath returns a value for PATH with these programs and no others: a new directory of the test with a link to
// each. A name with a slash is a path, whose last element is the link's name; any other is looked up in the test's
// PATH. A program that is not found fails the test.
//
//	cmd := clitest.Command(t, tool, "query", "hello")
//	cmd.Env = []string{"PATH=" + clitest.MinimalPath(t, "sh", "node")}
//
// Programs find other files as usual. A script that begins with `#!/usr/bin/env node` needs node, but not env.
func MinimalPath(t testing.TB, names ...string) string {
	t.Helper()
	dir, missing := t.TempDir(), false
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err == nil {
			err = os.Symlink(path, filepath.Join(dir, filepath.Base(path)))
		}
		if err != nil {
			t.Errorf("clitest.MinimalPath: %v", err)
			missing = true
		}
	}
	if missing {
		t.FailNow()
	}
	return dir
}
