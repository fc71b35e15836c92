package toolcache

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/environ"
	"github.com/sdd-eval/sdd-eval/internal/fault"
)

// Cache is a cache that a playbook wants beside those of Go and npm: a preset's, or a directory with a variable.
type Cache struct {
	// Preset is one of [Presets]; empty: Dir and Env say it.
	Preset string
	// Dir is the absolute path of the directory that the variable Env is to name.
	Dir, Env string
	// Copy gives each process that has a HOME of its own a copy of Dir, for tools that write to what they read.
	Copy bool
}

// preset is a directory in which a tool keeps what it would download or build again.
type preset struct {
	name string
	// variable is that of the user that says where the directory is; without it, it is at dir below HOME. Either may be
	// empty.
	variable, dir string
	// show names what processes may read of it; nil: all.
	show []string
	// env are variables, NAME=value, in which $DIR is the directory and $NAME a variable of the user's. Those of
	// offline are for processes without network: with it, the tool would download to where it may not write.
	env, offline []string
	// fill says how the user fills the directory; empty: the tool can do without it.
	fill string
}

// presets is sorted by name.
var presets = []preset{
	{
		name: "cargo", variable: "CARGO_HOME", dir: ".cargo", show: []string{"registry", "git"},
		offline: []string{"CARGO_HOME=$DIR", "CARGO_NET_OFFLINE=true"}, fill: "run cargo fetch",
	},
	{name: "cargo", variable: "RUSTUP_HOME", dir: ".rustup", env: []string{"RUSTUP_HOME=$DIR"}},
	{
		name: "gradle", variable: "GRADLE_RO_DEP_CACHE", env: []string{"GRADLE_RO_DEP_CACHE=$DIR"},
		fill: "copy caches/modules-2 of your Gradle home, without *.lock and gc.properties, into a directory, " +
			"and set GRADLE_RO_DEP_CACHE to it",
	},
	{
		name: "maven", dir: ".m2/repository", offline: []string{"MAVEN_OPTS=$MAVEN_OPTS -Dmaven.repo.local=$DIR"},
		fill: "run mvn dependency:go-offline",
	},
	{
		name: "npm", variable: "npm_config_cache", dir: ".npm", show: []string{"_cacache"},
		offline: []string{"npm_config_cache=$DIR", "npm_config_offline=true"}, fill: "run npm ci",
	},
	{
		name: "pip", variable: "PIP_FIND_LINKS", dir: ".cache/wheelhouse",
		env:     []string{"PIP_FIND_LINKS=$DIR", "UV_FIND_LINKS=$DIR"},
		offline: []string{"PIP_NO_INDEX=1", "UV_NO_INDEX=1", "UV_OFFLINE=1"},
		fill:    "run python3 -m pip wheel -r requirements.txt -w DIR for it, or set PIP_FIND_LINKS to another",
	},
}

// Presets returns the names of the presets.
func Presets() []string {
	var names []string
	for _, p := range presets {
		names = append(names, p.name)
	}
	return slices.Compact(names)
}

// source is the user's directory behind a wanted cache.
type source struct {
	preset

	dir  string
	copy bool
}

// sources returns the directories of the wanted caches, those that are there and those that are not.
func sources(env []string, wanted []Cache) []source {
	home := homeOf(env)
	var all []source
	for _, c := range wanted {
		if c.Preset == "" {
			all = append(all, source{
				preset: preset{
					name: c.Env, env: []string{c.Env + "=$DIR"}, fill: "make the directory, or name another",
				},
				dir: c.Dir, copy: c.Copy,
			})
			continue
		}
		for _, p := range presets {
			if p.name != c.Preset {
				continue
			}
			s := source{preset: p}
			if p.variable != "" {
				s.dir = environ.Get(env, p.variable)
			}
			if s.dir == "" && p.dir != "" {
				s.dir = below(home, p.dir)
			}
			all = append(all, s)
		}
	}
	return all
}

// shown returns the paths that processes read: the directory, or what they may see of it.
func (s source) shown() []string {
	return slices.DeleteFunc(s.paths(), func(path string) bool { return !isDir(path) })
}

// paths is shown, whether or not there is anything.
func (s source) paths() []string {
	if s.show == nil {
		return []string{s.dir}
	}
	var paths []string
	for _, name := range s.show {
		paths = append(paths, filepath.Join(s.dir, name))
	}
	return paths
}

// Check returns an error if the user does not have a cache: a step that misses what its tool reads would fail, and the
// agent would be blamed.
func Check(env []string, c Cache) error {
	for _, s := range sources(env, []Cache{c}) {
		switch {
		case len(s.shown()) > 0, s.fill == "":
		case s.dir == "":
			return fault.Advise(fmt.Errorf("%s: %s is not set", s.name, s.variable), s.fill)
		default:
			return fault.Advise(fmt.Errorf("%s: %s is no directory", s.name, strings.Join(s.paths(), " or ")), s.fill)
		}
	}
	return nil
}

// Lay makes copies of those caches that processes with the HOME may write. It must be called once, before anything else
// is at work in the HOME.
func (c Caches) Lay(ctx context.Context, home string) error {
	for _, s := range c.wanted {
		if !s.copy {
			continue
		}
		own := s.own(home)
		dir, err := filepath.EvalSymlinks(s.dir)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(own), 0o700)
		}
		if err == nil {
			err = disk.Copy(ctx, dir, own)
		}
		if err != nil {
			return fmt.Errorf("caches: copy %s: %w", s.dir, err)
		}
	}
	return nil
}

// own is where a process with the HOME has its copy.
func (s source) own(home string) string { return filepath.Join(home, ".cache", "copies", s.name) }

// variables returns those by which a process with the HOME, which Lay has seen, finds the wanted caches.
func (s source) variables(env []string, home string, offline bool) []string {
	dir := s.dir
	if s.copy {
		dir = s.own(home)
	}
	set := s.env
	if offline {
		set = slices.Concat(set, s.offline)
	}
	var all []string
	for _, kv := range set {
		all = append(all, os.Expand(kv, func(name string) string {
			if name == "DIR" {
				return dir
			}
			return environ.Get(env, name)
		}))
	}
	return all
}

// names returns the names of the variables that the source may set.
func (s source) names() []string {
	var names []string
	for _, kv := range slices.Concat(s.env, s.offline) {
		name, _, _ := strings.Cut(kv, "=")
		names = append(names, name)
	}
	return names
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir() && filepath.IsAbs(path)
}
