package suite

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// pluginCase is a case of a plugin's evals.
type pluginCase struct {
	Case
	suite         *Suite
	dir           string // below the plugin
	at            map[string]*doc.Node
	SchemaVersion string
	top           topKeys
	context       contextKeys
	execution     executionKeys
	graders       []grader
	plugins       []string // below the plugin's directory, each with a manifest
	skills        []string // the same, each with a SKILL.md
	servers       []server // of the plugins, for agents that are not told of plugins
	mocks         []played // servers that are played, standalone ones too
	unserved      bool     // some server of the plugins is not started, for want of a mock
	command       bool     // the prompt is that of a command of the plugins, for the same agents
	adds          []string // directories and files that the workspace gets, below the plugin
	scaffold      string
	history       string // a session that is continued, below the plugin
	left          bool   // out, for want of a tag; it has its place in the playbooks' names
}

// topKeys are keys of a case, beside its name and the version of the format.
type topKeys struct {
	Description     string   `yaml:"description"`
	Tags            []string `yaml:"tags"`
	Plugins         []string `yaml:"plugins"`
	Runs            int      `yaml:"runs" min:"1" max:"50"`
	ExpectedOutcome string   `yaml:"expected_outcome"`
}

type contextKeys struct {
	ScaffoldScript string   `yaml:"scaffold_script"`
	HistoryFile    string   `yaml:"history_file"`
	AddDirs        []string `yaml:"add_dirs"`
}

type executionKeys struct {
	Prompt   string      `yaml:"prompt"`
	Settings settingKeys `yaml:",inline"`
}

// settingKeys are those of the execution that a prompt.md may have.
type settingKeys struct {
	MaxTurns           int               `yaml:"max_turns" min:"1" max:"200"`
	TimeoutSeconds     int               `yaml:"timeout_seconds" min:"1" max:"3600"`
	Model              string            `yaml:"model"`
	AllowedTools       []string          `yaml:"allowed_tools"`
	DisallowedTools    []string          `yaml:"disallowed_tools"`
	ArtifactPublish    bool              `yaml:"artifact_publish"`
	GrowthbookOverride map[string]any    `yaml:"growthbook_overrides"`
	AppendSystemPrompt string            `yaml:"append_system_prompt"`
	Env                map[string]string `yaml:"env"`
}

// Ignorable returns the settings of sessions that need not be honoured if the user says so. No verdict depends on them
// but through what the agent does.
func Ignorable() []string {
	return []string{"allowed_tools", "append_system_prompt", "commands", "disallowed_tools", "max_turns", "model"}
}

var (
	notID    = lazyregexp.New(`[^a-zA-Z0-9_-]+`)
	toolRule = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_-]*\*?$`)
	ownPlace = lazyregexp.New(`\$\{?(0|BASH_SOURCE)\b`)
)

// What `claude plugin eval init --bare` writes for its user to replace.
const (
	blankPrompt = "TODO: describe what the agent should do"
	blankGrader = "TODO: describe what a successful response looks like"
)

// where returns the position of a key, else that of the case.
func (c *pluginCase) where(key string) doc.Position {
	if n := c.at[key]; n != nil {
		return n.Position()
	}
	return c.At
}

// cannot adds a problem with a key of the case.
func (c *pluginCase) cannot(key, what string, args ...any) {
	c.problem(c.where(key), key, fmt.Sprintf(what, args...))
}

// claude reports whether the agents are Claude Code, whose tools and settings these are.
func (o Options) claude() bool { return o.Agent == "claude-cli" || o.Agent == "claude-code-acp" }

// check finds what of the case, apart from its graders, does not map.
func (c *pluginCase) check(r *pluginReader, mocks []string) {
	if v := c.SchemaVersion; v != "1" && !strings.HasPrefix(v, "1.") {
		c.cannot("schema_version", "the version %q of the format is not known: 1.0 and 1.1 are", v)
	}
	e := &c.execution.Settings
	c.top.Runs, e.MaxTurns = cmp.Or(r.Trials, c.top.Runs, 3), cmp.Or(e.MaxTurns, 10)
	e.TimeoutSeconds = cmp.Or(e.TimeoutSeconds, 300)
	c.execution.Prompt = strings.TrimSpace(c.execution.Prompt)
	if c.execution.Prompt == "" {
		c.cannot("prompt", "the case has no prompt: write it into %s, or as execution.prompt", promptFile)
	} else if strings.Contains(c.execution.Prompt, blankPrompt) {
		c.cannot("prompt", "it still says %q, as `claude plugin eval init` wrote it: write what to ask", blankPrompt)
	}
	if len(c.graders) == 0 && len(c.Graders) == 0 {
		c.cannot("graders", "the case has no graders: nothing is expected of it")
	}
	if e.ArtifactPublish {
		c.cannot("artifact_publish", "artifacts are not published")
	}
	if len(e.GrowthbookOverride) > 0 {
		c.cannot("growthbook_overrides", "switches of Claude Code's own are not set")
	}
	c.checkSettings(r)
	c.checkFiles(r)
	c.readMocks(r, mocks)
	c.findPlugins(r)
	c.checkMocks(r)
}

// ignored reports whether a setting need not be honoured.
func (c *pluginCase) ignored(r *pluginReader, key string) bool {
	if !slices.Contains(r.Ignore, key) {
		return false
	}
	r.Notes = append(r.Notes, Problem{At: c.where(key), Case: c.Name, Key: key, What: "left out, as --ignore says"})
	return true
}

// checkSettings finds settings that agents of the kind do not have.
func (c *pluginCase) checkSettings(r *pluginReader) {
	ignored := func(key string) bool { return c.ignored(r, key) }
	e := &c.execution.Settings
	// The limit of 10 turns that nobody wrote is Claude Code's own.
	if r.Agent != "claude-cli" && c.at["max_turns"] != nil && !ignored("max_turns") {
		c.cannot("max_turns", "how often the model is asked can be bounded for the kind claude-cli alone")
	}
	if r.Agent != "claude-cli" && e.AppendSystemPrompt != "" && !ignored("append_system_prompt") {
		c.cannot("append_system_prompt", "only the kind claude-cli can be given a further system prompt")
	}
	if !r.claude() && e.Model != "" && !ignored("model") {
		c.cannot("model", "%q is a model of Claude Code", e.Model)
	}
	for i, list := range []*[]string{&e.AllowedTools, &e.DisallowedTools} {
		key := []string{"allowed_tools", "disallowed_tools"}[i]
		if len(*list) == 0 {
			continue
		}
		if ignored(key) {
			*list = nil
			continue
		}
		if !r.claude() && slices.ContainsFunc(*list, func(entry string) bool { return !served(entry) }) {
			c.cannot(key, "the tools are those of Claude Code, not of agents of the kind %s", r.Agent)
			continue
		}
		var names []string
		for _, entry := range *list {
			for name := range strings.SplitSeq(entry, ",") {
				name = strings.TrimSpace(name)
				if !toolRule.MatchString(name) {
					c.cannot(key, "%q is no name of a tool: what a tool is used for cannot be restricted", entry)
					break
				}
				names = append(names, name)
			}
		}
		*list = names
	}
}

// below returns a path that the case names, relative to its directory, as one below the plugin.
func (c *pluginCase) below(r *pluginReader, key, name string) (string, bool) {
	p := path.Join(c.dir, filepath.ToSlash(name))
	if path.IsAbs(filepath.ToSlash(name)) || p == ".." || strings.HasPrefix(p, "../") {
		c.cannot(key, "%q leads out of the plugin", name)
		return "", false
	}
	if err := r.tree.Check(r.path(p)); err != nil {
		c.cannot(key, "%q: %v", name, err)
		return "", false
	}
	if _, err := r.root.Stat(filepath.FromSlash(p)); err != nil {
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err
		}
		c.cannot(key, "%q: %v", name, err)
		return "", false
	}
	return p, true
}

// checkFiles finds the files that the workspace gets.
func (c *pluginCase) checkFiles(r *pluginReader) {
	for _, name := range c.context.AddDirs {
		if p, ok := c.below(r, "add_dirs", name); ok {
			if slices.ContainsFunc(c.adds, func(other string) bool { return path.Base(other) == path.Base(p) }) {
				c.cannot("add_dirs", "two directories are called %q", path.Base(p))
			}
			c.adds = append(c.adds, p)
		}
	}
	if name := c.context.HistoryFile; name != "" {
		if r.Agent != "claude-cli" {
			c.cannot("history_file", "only the kind claude-cli can continue a session from a file")
		} else if p, ok := c.below(r, "history_file", name); ok && !r.has(p) {
			c.cannot("history_file", "%q is no file", name)
		} else if ok {
			c.history = p
		}
	}
	if c.context.ScaffoldScript == "" {
		return
	}
	p, ok := c.below(r, "scaffold_script", c.context.ScaffoldScript)
	switch {
	case !ok:
	case !r.Scripts:
		c.cannot("scaffold_script", "%s is a script of the suite's author: read it, then say --scaffold", p)
	default:
		data, err := r.tree.ReadRegular(r.path(p), doc.MaxSize)
		if err != nil {
			c.cannot("scaffold_script", "%v", err)
		} else if ownPlace.Match(data) {
			c.cannot("scaffold_script", "%s looks for files beside itself, and is copied alone", p)
		}
		c.scaffold = p
	}
}

// findPlugins finds the plugins that the case is about: those that it names, else the nearest above it.
func (c *pluginCase) findPlugins(r *pluginReader) {
	add := func(dir string) bool {
		switch {
		case r.has(path.Join(dir, manifest)):
			c.plugins = append(c.plugins, dir)
		case r.has(path.Join(dir, plan.SkillFile)):
			c.skills = append(c.skills, dir)
		case r.has(path.Join(dir, "plugin.json")):
			c.cannot("plugins", "agents are not told of a plugin whose plugin.json is not in .claude-plugin")
		default:
			return false
		}
		return true
	}
	if c.top.Plugins != nil {
		for _, name := range c.top.Plugins {
			if p, ok := c.below(r, "plugins", name); ok && !add(p) {
				c.cannot("plugins", "%q has neither %s nor %s", name, manifest, plan.SkillFile)
			}
		}
	} else {
		for dir := path.Dir(c.dir); !add(dir) && dir != "."; {
			dir = path.Dir(dir)
		}
	}
	if !r.claude() {
		c.takeApart(r)
	}
}

// agentPairs are the keys of an agent.
func agentPairs(a playbook.Agent) doc.Pairs {
	keys := doc.Pairs{{Key: "kind", Value: a.Kind}}.With("preset", a.Preset).With("command", a.Command)
	if a.Args != nil { // none are not those of the kind
		keys = append(keys, doc.Pair{Key: "args", Value: a.Args})
	}
	return keys.With("model", a.Model)
}

// setting is what cases of one playbook have in common.
func (c *pluginCase) setting() string {
	e := c.execution.Settings
	return fmt.Sprintf("%+v", []any{
		c.top.Runs, e.MaxTurns, e.TimeoutSeconds, e.Model, e.AllowedTools, e.DisallowedTools, e.AppendSystemPrompt,
		slices.Sorted(maps.Keys(e.Env)), e.Env, c.plugins, c.skills, c.servers, c.mocks, c.command, c.scaffold != "",
		c.history != "",
	})
}

// playbooks writes the playbooks: cases with the same settings are in one.
func (r *pluginReader) playbooks() {
	groups := make(map[string][]pluginCase)
	var order []string
	for _, c := range r.cases {
		if !c.Mapped {
			continue
		}
		key := c.setting()
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], c)
	}
	for _, key := range order {
		cases := groups[key]
		name := r.Name
		if len(order) > 1 {
			name += "-" + cases[0].ID
		}
		if cases = slices.DeleteFunc(cases, func(c pluginCase) bool { return c.left }); len(cases) == 0 {
			continue
		}
		keys := r.playbook(name, cases)
		p := Playbook{
			File: name + ".yaml", Text: keys.YAML(), At: make(map[string]map[string]doc.Position), keys: keys,
		}
		for _, c := range cases {
			p.Cases = append(p.Cases, c.ID)
			p.At[c.ID] = make(map[string]doc.Position)
			for i, id := range c.names() {
				p.At[c.ID][id] = c.graders[i].at
			}
		}
		r.Playbooks = append(r.Playbooks, p)
	}
}

// out returns a path below the plugin as playbooks name it.
func (r *pluginReader) out(file string) string { return from(r.Out, r.path(file)) }

func (r *pluginReader) outs(files []string) []string {
	var all []string
	for _, f := range files {
		all = append(all, r.out(f))
	}
	return all
}

const (
	// scaffoldDir is the directory of the workspace for a script that prepares it, until it has run.
	scaffoldDir = ".scaffold"
	// historyFile is the file of the workspace with the session that is continued.
	historyFile = ".claude/history.jsonl"
)

// playbook returns the playbook of cases with the same settings.
func (r *pluginReader) playbook(name string, cases []pluginCase) doc.Pairs {
	c := cases[0]
	e := c.execution.Settings
	variants := c.variants(r)
	var arms []string
	for _, v := range variants {
		arms = append(arms, v.Key)
	}
	steps := []doc.Pairs{{{Key: "uses", Value: "builtin:sdd-eval/workspace.prepare"}}}
	if c.scaffold != "" {
		steps = append(steps, doc.Pairs{{Key: "run", Value: "bash " + scaffoldDir + "/scaffold.sh"}},
			doc.Pairs{{Key: "run", Value: "rm -r " + scaffoldDir}})
	}
	steps = append(steps, doc.Pairs{{Key: "uses", Value: "builtin:sdd-eval/acp.prompt"}})
	trials := doc.Pairs{{Key: "count", Value: c.top.Runs}}
	if r.Threshold != 0 && r.Threshold != 1 {
		trials = append(trials, doc.Pair{Key: "score", Value: r.Threshold})
	}
	p := doc.Pairs{
		{Key: "name", Value: name, Comment: Head + r.Name + "/" + r.evals},
		{Key: "variants", Value: variants},
		{Key: "workspace", Value: doc.Pairs{{Key: "empty", Value: true}}},
		{Key: "workflow", Value: doc.Pairs{{Key: "jobs", Value: doc.Pairs{{Key: "eval", Value: doc.Pairs{
			{Key: "strategy", Value: doc.Pairs{{Key: "matrix", Value: doc.Pairs{{Key: "variant", Value: arms}}}}},
			{Key: "steps", Value: steps},
		}}}}}},
		{Key: "trials", Value: trials},
		{Key: "limits", Value: doc.Pairs{{Key: "timeout", Value: fmt.Sprintf("%ds", e.TimeoutSeconds)}}},
		{Key: "expect_stop", Value: []string{"end_turn", "max_turn_requests"}},
	}
	p = p.With("mcp", r.mockPairs(c.mocks, true))
	if c.scaffold != "" {
		programs := []string{"bash", "rm"}
		p = append(p, doc.Pair{Key: "sandbox", Value: doc.Pairs{{Key: "allow_commands", Value: programs}}})
	}
	if !slices.Contains(r.Ignore, "allowed_tools") {
		rules := []doc.Pairs{}
		for _, tools := range []struct {
			decide string
			names  []string
		}{{"reject", e.DisallowedTools}, {"allow", e.AllowedTools}, {"allow", c.mockedTools()}} {
			for _, tool := range tools.names {
				rules = append(rules, doc.Pairs{{Key: "tool", Value: tool}, {Key: "decide", Value: tools.decide}})
			}
		}
		p = append(p, doc.Pair{Key: "permissions", Value: doc.Pairs{
			{Key: "default", Value: "reject"}, {Key: "rules", Value: rules},
		}})
	}
	var all []doc.Pairs
	for _, c := range cases {
		all = append(all, c.pairs(r))
	}
	return append(p, doc.Pair{Key: "cases", Value: all})
}

// variants are the arms of the case: with the plugin and, unless it makes no sense, without it.
func (c *pluginCase) variants(r *pluginReader) doc.Pairs {
	e := c.execution.Settings
	who := playbook.Agent{Kind: r.Agent, Preset: r.Preset, Command: r.Command, Args: r.Args}
	if r.Agent == "claude-cli" {
		who.Args = slices.Concat(r.Args, []string{
			"-p", "--output-format", "stream-json", "--verbose", "--max-turns", fmt.Sprint(e.MaxTurns),
		})
		if e.AppendSystemPrompt != "" {
			who.Args = append(who.Args, "--append-system-prompt", e.AppendSystemPrompt)
		}
		if c.history != "" {
			who.Args = append(who.Args, "--resume", historyFile, "--fork-session")
		}
	}
	if e.Model != "" && r.claude() {
		who.Model = e.Model
	}
	with := doc.Pairs{{Key: "agent", Value: agentPairs(who)}}
	var set doc.Pairs
	for _, key := range slices.Sorted(maps.Keys(e.Env)) {
		set = append(set, doc.Pair{Key: key, Value: e.Env[key]})
	}
	with = with.With("env", doc.Pairs{}.With("set", set))
	given := doc.Pairs{}.With("plugins", r.outs(c.plugins)).With("skills", r.outs(c.skills)).
		With("mcp", append(serverPairs(c.servers), r.mockPairs(c.mocks, false)...))
	// Without its plugin a command cannot be called.
	if !c.arms() || c.command {
		return doc.Pairs{{Key: "with", Value: append(with, given...)}}
	}
	return doc.Pairs{
		{Key: "with", Value: append(doc.Pairs{{Key: "base", Value: "without"}}, given...)},
		{Key: "without", Value: append(with, doc.Pair{Key: "reference", Value: true})},
	}
}

// Head begins the first line of a playbook that was converted.
const Head = "Written by `sdd-eval convert` from "

// pairs returns the case of the playbook.
func (c *pluginCase) pairs(r *pluginReader) doc.Pairs {
	comment := from(r.dir, c.At.File)
	if len(c.top.Tags) > 0 {
		comment += "\ntags: " + strings.Join(c.top.Tags, ", ")
	}
	if c.top.Description != "" {
		comment += "\n" + strings.TrimSpace(c.top.Description)
	}
	p := doc.Pairs{{Key: "id", Value: c.ID}, {Key: "prompt", Value: c.execution.Prompt + "\n", Comment: comment}}
	if text := strings.TrimSpace(c.top.ExpectedOutcome); text != "" {
		p = append(p, doc.Pair{Key: "expected_outcome", Value: text + "\n"})
	}
	var adds []doc.Pairs
	for _, add := range c.adds {
		adds = append(adds, doc.Pairs{{Key: "from", Value: r.out(add)}, {Key: "to", Value: path.Base(add)}})
	}
	if c.scaffold != "" {
		adds = append(adds, doc.Pairs{
			{Key: "from", Value: r.out(c.scaffold)}, {Key: "to", Value: scaffoldDir + "/scaffold.sh"},
		})
	}
	if c.history != "" {
		adds = append(adds, doc.Pairs{{Key: "from", Value: r.out(c.history)}, {Key: "to", Value: historyFile}})
	}
	p = p.With("workspace", doc.Pairs{}.With("add", adds))
	return append(p, doc.Pair{Key: "evaluators", Value: c.evaluators(r)})
}

// evaluators returns those that the graders become. With two arms, graders that are about the plugin alone only report,
// unless all are.
func (c *pluginCase) evaluators(r *pluginReader) []doc.Pairs {
	reports := func(g grader) bool { return c.arms() && g.withOnly() }
	all := !slices.ContainsFunc(c.graders, func(g grader) bool { return !reports(g) })
	var list []doc.Pairs
	for i, id := range c.names() {
		g := c.graders[i]
		p := doc.Pairs{{Key: "name", Value: id}, {Key: "type", Value: g.kind, Comment: g.shown(r)}}
		if g.Weight != 1 {
			p = append(p, doc.Pair{Key: "weight", Value: g.Weight})
		}
		if reports(g) && !all {
			p = append(p, doc.Pair{Key: "required", Value: false})
		}
		list = append(list, append(p, g.keys...))
	}
	return list
}

// names are those of the evaluators that the graders become.
func (c *pluginCase) names() []string {
	names := make([]string, len(c.graders))
	all := make(distinct)
	for i, g := range c.graders {
		names[i] = all.next(g.Name)
	}
	return names
}

// shown says where the grader stands.
func (g grader) shown(r *pluginReader) string {
	return fmt.Sprintf("%s:%d %s", from(r.dir, g.at.File), g.at.Line, cmp.Or(g.Type, "?"))
}
