package script

import (
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/environ"
	"github.com/sdd-eval/sdd-eval/internal/toolcache"
)

// environment returns what every child gets, and where the toolchains' caches are: with a fresh HOME a test would build
// the standard library anew.
func (r *Runner) environment(s Script, own dirs, workspace string) []string {
	if workspace == "" {
		workspace = own.base // no PATH leads there, and git finds nothing above it
	}
	env := environ.ForChild(environ.Spec{
		Environ: r.Environ, Workspace: workspace, Home: own.home, Tmp: own.tmp, Pass: r.Pass,
	})
	env = slices.DeleteFunc(env, func(kv string) bool { // which Pass may have let through
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(toolcache.Names, name)
	})
	env = append(env, toolcache.Find(r.Environ).Variables(own.home, !s.Network)...)
	return append(env, s.Env...)
}
