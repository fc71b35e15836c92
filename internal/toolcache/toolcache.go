// Package toolcache lets confined processes read the caches of the user's toolchains. With a fresh HOME each would
// otherwise rebuild the standard library before its first test. They cannot write, or they could poison the caches.
package toolcache

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/environ"
	"github.com/sdd-eval/sdd-eval/internal/gocache"
	"github.com/sdd-eval/sdd-eval/internal/helper"
)

// Caches are the directories of the user's caches, empty where there are none.
type Caches struct {
	build, modules string         // of Go
	packages       string         // of npm
	program        helper.Program // which go commands start in place of their cache
}

// Find returns the caches of the user with that environment.
func Find(env []string) Caches {
	home := environ.Get(env, "HOME")
	if home == "" {
		home, _ = os.UserHomeDir()
	}
	gopath, _, _ := strings.Cut(environ.Get(env, "GOPATH"), string(filepath.ListSeparator))
	if gopath == "" {
		gopath = below(home, "go")
	}
	find := func(variable, def string) string {
		dir := environ.Get(env, variable)
		if dir == "" {
			dir = def
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() || !filepath.IsAbs(dir) {
			return ""
		}
		return dir
	}
	c := Caches{
		build:    find("GOCACHE", below(userCache(env, home), "go-build")),
		modules:  find("GOMODCACHE", below(gopath, "pkg/mod")),
		packages: find("npm_config_cache", below(home, ".npm")),
	}
	if c.build != "" {
		var err error
		if c.program, err = helper.Find(); err != nil {
			c.build = "" // it cannot be used without
		}
	}
	return c
}

// Names are the variables that [Caches.Variables] may set, and others that would get in their way.
var Names = []string{"GOCACHE", "GOCACHEPROG", "GOMODCACHE", "npm_config_cache"}

// Variables are those by which a process with that HOME finds the caches. What it builds anew it keeps in its HOME. That of
// npm is only for processes offline: npm does not work with a cache that it cannot write as soon as it downloads.
func (c Caches) Variables(home string, offline bool) []string {
	var env []string
	if c.build != "" {
		env = append(env, gocache.Variables(c.program, c.build, filepath.Join(home, ".cache", "go-build"))...)
	}
	if c.modules != "" {
		env = append(env, "GOMODCACHE="+c.modules)
	}
	if c.packages != "" && offline {
		env = append(env, "npm_config_cache="+c.packages)
	}
	return env
}

// Paths are what a process has to read for that.
func (c Caches) Paths() []string {
	return slices.DeleteFunc([]string{c.build, c.modules, c.packages, c.program.Path}, func(path string) bool { return path == "" })
}

// userCache is [os.UserCacheDir] for another environment than ours.
func userCache(env []string, home string) string {
	switch runtime.GOOS {
	case "windows":
		return environ.Get(env, "LocalAppData")
	case "darwin":
		return below(home, "Library/Caches")
	}
	if dir := environ.Get(env, "XDG_CACHE_HOME"); dir != "" {
		return dir
	}
	return below(home, ".cache")
}

// below returns the path of something below dir, empty if dir is.
func below(dir, path string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, filepath.FromSlash(path))
}
