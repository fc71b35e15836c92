package clitest

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// homes has the directory of each test that has run a tool, with its HOME and TMPDIR.
var homes struct {
	sync.Mutex
	dirs map[testing.TB]string
}

// home returns the test's directory: a tool finds what it left there when the same test runs it again.
func home(t testing.TB) string {
	homes.Lock()
	defer homes.Unlock()
	if dir := homes.dirs[t]; dir != "" {
		return dir
	}
	dir := t.TempDir()
	for _, name := range []string{"home", "tmp"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatalf("clitest: %v", err)
		}
	}
	if homes.dirs == nil {
		homes.dirs = make(map[testing.TB]string)
	}
	homes.dirs[t] = dir
	t.Cleanup(func() {
		homes.Lock()
		defer homes.Unlock()
		delete(homes.dirs, t)
	})
	return dir
}

// environment returns the variables of a tool whose directories are in dir, each of them once: of several of a name some
// programs take the first, and some the last. Those in extra win.
func environment(dir string, extra []string) []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if inherited(name) {
			env = append(env, kv)
		}
	}
	for _, name := range homeNames {
		env = append(env, name+"="+filepath.Join(dir, "home"))
	}
	for _, name := range tmpNames {
		env = append(env, name+"="+filepath.Join(dir, "tmp"))
	}
	env = append(env, extra...)
	slices.Reverse(env)
	seen := make(map[string]bool)
	env = slices.DeleteFunc(env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		again := seen[name]
		seen[name] = true
		return again
	})
	slices.Reverse(env)
	return env
}

var homeNames, tmpNames, systemNames = func() (home, tmp, system []string) {
	if runtime.GOOS == "windows" {
		return []string{"USERPROFILE", "HOME"}, []string{"TEMP", "TMP"}, []string{"SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "WINDIR"}
	}
	return []string{"HOME"}, []string{"TMPDIR"}, nil
}()

// inherited reports whether tools get a variable of ours.
func inherited(name string) bool {
	if runtime.GOOS == "windows" {
		name = strings.ToUpper(name)
	}
	return slices.Contains([]string{"PATH", "LANG", "TZ"}, name) || strings.HasPrefix(name, "LC_") || slices.Contains(systemNames, name)
}
