// Package toolcache lets confined processes read the caches of the user's toolchains. Without them a process with a
// fresh HOME would rebuild the standard library before its first test. Processes cannot write to the caches, or they
// could poison them. How go commands use a cache that they cannot write to is package gocache's matter.
package toolcache

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/environ"
	"github.com/sdd-eval/sdd-eval/internal/gocache"
	"github.com/sdd-eval/sdd-eval/internal/helper"
)

// Caches are the directories of the user's caches. A directory is empty if there is no such cache.
type Caches struct {
	build, modules string         // of Go
	built, into    string         // of Go, beside build
	packages       string         // of npm
	program        helper.Program // go commands start it in place of their cache
	wanted         []source       // of a playbook
	env            []string       // the user's
}

// Find returns the caches of the user with the environment: those of Go and npm, and those that a playbook wants.
func Find(env []string, wanted ...Cache) Caches {
	home := homeOf(env)
	gopath, _, _ := strings.Cut(environ.Get(env, "GOPATH"), string(filepath.ListSeparator))
	if gopath == "" {
		gopath = below(home, "go")
	}
	find := func(variable, def string) string {
		dir := environ.Get(env, variable)
		if dir == "" {
			dir = def
		}
		if !isDir(dir) {
			return ""
		}
		return dir
	}
	c := Caches{
		build:    find("GOCACHE", below(userCache(env, home), "go-build")),
		modules:  find("GOMODCACHE", below(gopath, "pkg/mod")),
		packages: find("npm_config_cache", below(home, ".npm")),
		wanted:   sources(env, wanted),
		env:      env,
	}
	if c.build != "" {
		var err error
		if c.program, err = helper.Find(); err != nil {
			c.build = "" // it cannot be used without the helper
		}
	}
	return c
}

// Without returns an environment without the variables that [Caches.Variables] may set, and others that would interfere
// with them.
func (c Caches) Without(env []string) []string {
	names := []string{"GOCACHE", "GOCACHEPROG", "GOMODCACHE", "npm_config_cache"}
	for _, s := range c.wanted {
		names = append(names, s.names()...)
	}
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(names, name)
	})
}

// BuildInto returns the caches for a process whose go commands put new builds into a directory, and not into its HOME.
func (c Caches) BuildInto(dir string) Caches {
	c.into = dir
	return c
}

// WithBuilds returns the caches with one more, a directory that [Caches.BuildInto] was given before.
func (c Caches) WithBuilds(dir string) Caches {
	c.built = dir
	return c
}

// Variables returns the variables by which a process with the HOME finds the caches. New builds go to its HOME. Only
// offline processes get npm's cache: npm fails if it downloads something and cannot write to its cache. If the playbook
// wants caches, [Caches.Lay] must have seen the HOME.
func (c Caches) Variables(home string, offline bool) []string {
	var env []string
	if c.build != "" {
		read := []string{c.build}
		if c.built != "" {
			read = append(read, c.built)
		}
		into := cmp.Or(c.into, filepath.Join(home, ".cache", "go-build"))
		env = append(env, gocache.Variables(c.program, into, read...)...)
	}
	if c.modules != "" {
		env = append(env, "GOMODCACHE="+c.modules)
	}
	isNPM := func(s source) bool { return s.name == "npm" }
	if c.packages != "" && offline && !slices.ContainsFunc(c.wanted, isNPM) {
		env = append(env, "npm_config_cache="+c.packages)
	}
	for _, s := range c.wanted {
		env = append(env, s.variables(c.env, home, offline)...)
	}
	return env
}

// Paths returns the paths that a process must be able to read in order to use the caches.
func (c Caches) Paths() []string {
	paths := []string{c.build, c.built, c.modules, c.packages, c.program.Path}
	for _, s := range c.wanted {
		paths = append(paths, s.shown()...)
	}
	return slices.DeleteFunc(paths, func(path string) bool { return path == "" })
}

// Directories returns the user's caches that there are.
func (c Caches) Directories() []string {
	return slices.DeleteFunc([]string{c.build, c.modules, c.packages}, func(dir string) bool { return dir == "" })
}

// homeOf returns the HOME of an environment, else ours.
func homeOf(env []string) string {
	home := environ.Get(env, "HOME")
	if home == "" {
		home, _ = os.UserHomeDir()
	}
	return home
}

// userCache is [os.UserCacheDir] for an environment that is not ours.
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

// below returns dir joined with path, or "" if dir is empty.
func below(dir, path string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, filepath.FromSlash(path))
}
