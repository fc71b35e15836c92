package engine

import (
	"os"
	"path/filepath"
	"strings"
)

// cacheVariables returns the variables by which children find the user's caches of toolchains: with a fresh HOME each
// agent would otherwise build the standard library anew before its first test. Caches that do not exist are left out.
func cacheVariables(getenv func(string) string) []string {
	var env []string
	add := func(name, def string) {
		dir := getenv(name)
		if dir == "" {
			dir = def
		}
		if info, err := os.Stat(dir); err == nil && info.IsDir() && filepath.IsAbs(dir) {
			env = append(env, name+"="+dir)
		}
	}
	if cache, err := os.UserCacheDir(); err == nil {
		add("GOCACHE", filepath.Join(cache, "go-build"))
	}
	if home, err := os.UserHomeDir(); err == nil {
		gopath, _, _ := strings.Cut(getenv("GOPATH"), string(filepath.ListSeparator))
		if gopath == "" {
			gopath = filepath.Join(home, "go")
		}
		add("GOMODCACHE", filepath.Join(gopath, "pkg", "mod"))
	}
	return env
}
