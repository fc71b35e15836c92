package plan

import (
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/toolcache"
)

// Cache is a cache of the user's that what is confined reads: a preset's, or a directory.
type Cache struct {
	Position doc.Position `yaml:",position"`
	// Preset is one of [toolcache.Presets]; empty: the other keys say it.
	Preset string
	// Dir is absolute, relative to the playbook, or in the user's home with a leading ~/.
	Dir  string `yaml:"dir,required" doc:"The directory: absolute, relative to the playbook, or ~/..."`
	Env  string `yaml:"env,required" pattern:"^[a-zA-Z_][a-zA-Z0-9_]*$" doc:"The variable that is to name it."`
	Copy bool   `yaml:"copy" doc:"A copy for each unit, for tools that write to what they read."`
}

func (c *Cache) decode(n *doc.Node) {
	if n.Kind() == doc.Map {
		n.Decode(c)
		if slices.Contains(own, c.Env) {
			n.Errorf("env", "%s is given to every process, and cannot name a cache", c.Env)
		}
		return
	}
	c.Position = n.Position()
	presets := toolcache.Presets()
	if n.Decode(&c.Preset) && !slices.Contains(presets, c.Preset) {
		n.Errorf("", "must be one of %s, or {dir: DIR, env: VARIABLE}, not %q%s", strings.Join(presets, ", "), c.Preset,
			doc.DidYouMean(c.Preset, presets))
	}
}

// own are the variables that say where a process is at home and finds programs.
var own = []string{"HOME", "TMPDIR", "PATH"}

// caches checks that no cache is named twice.
func (c checker) caches() {
	seen := make(map[string]doc.Position)
	for i, x := range c.p.Caches {
		name := x.Preset + x.Env
		if first, duplicate := seen[name]; duplicate && name != "" {
			c.root.Get("caches").Items()[i].Errorf("", "duplicate cache %s, first on line %d", name, first.Line)
			continue
		}
		seen[name] = x.Position
	}
}

// refineCache lets a cache be the name of a preset.
func refineCache(s *doc.Schema) {
	directory := *s
	*s = doc.Schema{AnyOf: []*doc.Schema{{Enum: toolcache.Presets()}, &directory}}
}
