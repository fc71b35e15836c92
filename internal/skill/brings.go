package skill

import (
	"context"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// Brings is what of a skill runs, or lets an agent run, beside what its text tells the agent to do, in the order of
// the files.
type Brings struct {
	// Scripts are files that can be executed, and those below directories scripts.
	Scripts []string
	// Servers are MCP servers, with how they are started.
	Servers []string
	// Hooks are files that have some.
	Hooks []string
	// Allows are the tools that the skill lets the agent use unasked.
	Allows []string
}

// maxShownServer is how many characters are told of how a server is started.
const maxShownServer = 100

// Brings looks for what runs. A file that looks as if it had servers or hooks and is not read counts as one that has.
func (t Tree) Brings() Brings {
	var b Brings
	for _, file := range slices.Sorted(maps.Keys(t.Files)) {
		seed := t.Files[file]
		if seed.Exec || slices.Contains(strings.Split(path.Dir(file), "/"), "scripts") {
			b.Scripts = append(b.Scripts, file)
		}
		switch path.Base(file) {
		case ".mcp.json", "mcp.json", "plugin.json", "settings.json", "settings.local.json", "hooks.json":
			b.configuration(file, seed)
		case plan.SkillFile:
			b.head(file, string(seed.Data))
		}
	}
	return b
}

// Around returns what the plugin around the skill brings beside its skills, and its directory below the root; empty:
// there is none. Without [Suite.TakePlugin] agents get none of it.
func (s *Suite) Around(ctx context.Context) (dir string, b Brings, err error) {
	dir, manifest := s.around()
	if manifest == nil {
		return "", Brings{}, nil
	}
	t, err := Install(ctx, workspace.Source{Dir: s.File(dir)}, plan.PluginFile)
	maps.DeleteFunc(t.Files, func(file string, _ workspace.Seed) bool { return strings.HasPrefix(file, "skills/") })
	return dir, t.Brings(), err
}

// configuration looks for servers and hooks in a file of JSON.
func (b *Brings) configuration(file string, seed workspace.Seed) {
	var keys map[string]json.RawMessage
	if json.Unmarshal(seed.Data, &keys) != nil {
		b.Servers, b.Hooks = append(b.Servers, file+" (not read)"), append(b.Hooks, file+" (not read)")
		return
	}
	if _, ok := keys["hooks"]; ok || path.Base(file) == "hooks.json" {
		b.Hooks = append(b.Hooks, file)
	}
	servers, ok := keys["mcpServers"]
	if !ok && strings.HasSuffix(file, "mcp.json") {
		servers, ok = seed.Data, true
	}
	if !ok {
		return
	}
	var named map[string]struct {
		Command, URL string
		Args         []string
	}
	if json.Unmarshal(servers, &named) != nil { // such as the path of another file
		b.Servers = append(b.Servers, file+": "+excerpt.Line(string(servers), maxShownServer))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		s := named[name]
		start := strings.Join(append(slices.DeleteFunc([]string{s.Command, s.URL}, isEmpty), s.Args...), " ")
		b.Servers = append(b.Servers, excerpt.Line(name+": "+start, maxShownServer))
	}
}

func isEmpty(s string) bool { return s == "" }

// The keys of a skill's head that allow tools and set hooks. They are looked for line by line, since agents read heads
// that are no YAML.
var (
	allowedTools = lazyregexp.New(`(?m)^allowed-tools:[ \t]*(.*(?:\n[ \t]*-.*)*)`)
	headHooks    = lazyregexp.New(`(?m)^hooks:`)
)

// head looks at the head of a skill's file.
func (b *Brings) head(file, text string) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\uFEFF"), "\r\n", "\n")
	head, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return
	}
	head, _, _ = strings.Cut(head, "\n---")
	if m := allowedTools.FindStringSubmatch(head); m != nil {
		for tool := range strings.SplitSeq(strings.ReplaceAll(strings.Trim(m[1], "[] "), "\n", ","), ",") {
			tool = strings.Trim(strings.TrimPrefix(strings.TrimSpace(tool), "- "), `"' `)
			if tool != "" {
				b.Allows = append(b.Allows, tool)
			}
		}
	}
	if headHooks.MatchString(head) {
		b.Hooks = append(b.Hooks, file)
	}
}
