package suite

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/expect"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/text"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

// wazaCode is a judge that evaluates the assertions in its config, as waza would.
//
//go:embed waza.py
var wazaCode string

// wazaProgram is a judge that runs the program in its config, as waza would.
//
//go:embed wazaprogram.py
var wazaProgram string

// wazaType is a type of graders.
type wazaType struct {
	fate
	keys  []string // of its config
	write func(g *wazaGrader) error
}

// wazaGrader is a grader, to be written.
type wazaGrader struct {
	*wazaCase
	node, config *doc.Node
	from         string // the key for errors
	made         []evaluation
}

// wazaTypes returns the types of graders.
func wazaTypes() map[string]wazaType {
	texts := []string{"contains", "not_contains", "contains_cs", "not_contains_cs", "regex_match", "regex_not_match"}
	behavior := []string{"max_tool_calls", "max_tokens", "max_duration_ms", "required_tools", "forbidden_tools"}
	return map[string]wazaType{
		"text":    {to("[`text`](evaluators.md#text)"), texts, (*wazaGrader).texts},
		"keyword": {to("`text`"), []string{"must_contain", "must_not_contain"}, (*wazaGrader).texts},
		"regex":   {to("`text`"), []string{"must_match", "must_not_match", "pattern"}, (*wazaGrader).texts},
		"code": {
			to("a [`code_judge`](judges.md#code_judge) in Python, with `output`, `duration_ms` and `len(tool_calls)`" +
				"; JavaScript, `transcript`, `outcome` and `errors` are errors"),
			[]string{"assertions", "language"},
			(*wazaGrader).code,
		},
		"file": {
			to("[`files`](evaluators.md#files), and `text` of a file"),
			[]string{"must_exist", "must_not_exist", "content_patterns"},
			(*wazaGrader).file,
		},
		"diff": {
			to("`files`; a snapshot is `equals`, and is looked for beside the suite and above"),
			[]string{"expected_files", "context_dir"},
			(*wazaGrader).diff,
		},
		"program": {
			to("a `code_judge` that runs the command in the root of the repository, confined; exit codes 126 and 127 " +
				"are errors"),
			[]string{"command", "args", "timeout"},
			(*wazaGrader).program,
		},
		"behavior": {
			to("[`metrics`](evaluators.md#metrics) and `tool_trajectory`"), behavior,
			func(g *wazaGrader) error { return g.behavior(g.config) },
		},
		"action_sequence": {
			to("[`tool_trajectory`](trajectories.md#matchers)"),
			[]string{"matching_mode", "expected_actions"},
			(*wazaGrader).actions,
		},
		"tool_constraint": {
			to("`tool_trajectory`; a word is looked for anywhere in a name, as there. `skill_pattern`, " +
				"`path_pattern` and other expressions for names are errors"),
			[]string{"expect_tools", "reject_tools"},
			(*wazaGrader).constraint,
		},
		"skill_invocation": {
			to("[`activation`](evaluators.md#activation) of skills that the agent has; an order of several, and that " +
				"no other is used, are errors"),
			[]string{"mode", "required_skills", "forbidden_skills", "allow_extra"},
			(*wazaGrader).skillsUsed,
		},
		"trigger": {
			to("`activation`: waza compares words of the prompt with the skill's, here the agent uses the skill, or " +
				"does not. Its `threshold` is left out"),
			[]string{"skill_path", "mode", "threshold"},
			(*wazaGrader).trigger,
		},
		"prompt": {
			to("[`llm_judge`](judges.md#llm_judge) with the prompt as what must hold; it sees the question and the " +
				"answer, and does not continue the session. `pairwise` is an error"),
			[]string{"prompt", "model", "continue_session", "mode"},
			(*wazaGrader).prompt,
		},
		"llm": {to("`llm_judge`"), []string{"rubric", "model"}, (*wazaGrader).prompt},
		"json_schema": {
			to("`text` with `json` and the `schema`"), []string{"schema", "schema_file"}, (*wazaGrader).schema,
		},
	}
}

var wazaGraderKeys = []row{
	{"type", to("see below")},
	{"name", to("`name`")},
	{"weight", to("`weight`")},
	{"config", to("see below")},
	{"assertions", to("those of a grader `code`")},
	{"rubric", to("that of a grader `prompt` or `llm` that has no other")},
	{"model", left("models that judge are that of --judge-model")},
	{"script", no("write a grader `program`")},
}

// grader returns the evaluators that a grader becomes, and counts it.
func (t *wazaCase) grader(n *doc.Node) []evaluation {
	g := &wazaGrader{wazaCase: t, node: n, config: n.Get("config"), from: n.Get("type").Text()}
	kind, ok := wazaTypes()[g.from]
	if !ok {
		t.count["?"]++
		t.refuse(n.Position(), "graders", fmt.Sprintf("the type %q is not known: write a code_judge", g.from))
		return nil
	}
	t.count[g.from]++
	t.fates(n, g.from, wazaGraderKeys, t.refuse)
	only(g.config, g.from, t.refuse, kind.keys...)
	for key, types := range map[string][]string{"assertions": {"code"}, "rubric": {"prompt", "llm"}} {
		if own := n.Get(key); !empty(own) && !slices.Contains(types, g.from) {
			t.refuse(own.Position(), g.from+"."+key, "it is not for graders of this type")
		}
	}
	weight := number(n.Get("weight"), g.from+".weight", 0, t.refuse)
	if err := kind.write(g); err != nil {
		t.refuse(n.Position(), g.from, err.Error())
		return nil
	}
	if len(g.made) == 0 {
		t.refuse(n.Position(), g.from, "it holds whatever the agent does")
	}
	for i := range g.made {
		g.made[i].at, g.made[i].from, g.made[i].name = n.Position(), g.from, n.Get("name").Text()
		g.made[i].weight = weight
	}
	return g.made
}

// add adds an evaluator.
func (g *wazaGrader) add(kind string, keys doc.Pairs) {
	g.made = append(g.made, evaluation{kind: kind, keys: keys})
}

// strings returns the texts of a list of the config. None of them is empty.
func (g *wazaGrader) strings(n *doc.Node, key string) (all []string) {
	for _, item := range list(n.Get(key), g.from+"."+key, g.refuse) {
		if item.Kind() == doc.Map || item.Kind() == doc.List || item.Text() == "" {
			g.refuse(item.Position(), g.from+"."+key, "must be a text that is not empty")
			continue
		}
		all = append(all, item.Text())
	}
	return all
}

// patterns is strings for regular expressions, which are those of Go there, too.
func (g *wazaGrader) patterns(n *doc.Node, key string) (all []string) {
	for _, text := range g.strings(n, key) {
		if _, err := expect.CompilePattern(text); err != nil {
			g.refuse(n.Get(key).Position(), g.from+"."+key, fmt.Sprintf("%q: %v", text, err))
			continue
		}
		all = append(all, text)
	}
	return all
}

// folded returns expressions that find texts whatever the case of letters.
func folded(list []string) (all []string) {
	for _, text := range list {
		all = append(all, "(?i)"+regexp.QuoteMeta(text))
	}
	return all
}

// look adds an evaluator of texts, with a check for each list that is not empty. File is one of the workspace.
func (g *wazaGrader) look(file string, lists ...doc.Pair) {
	var checks []doc.Pairs
	ids := make(distinct)
	for _, l := range lists {
		if len(l.Value.([]string)) == 0 {
			continue
		}
		p := doc.Pairs{{Key: "id", Value: ids.next(strings.ReplaceAll(l.Key, "_", "-"))}, l}
		if file != "" {
			p = append(p, doc.Pair{Key: "file", Value: file})
		}
		checks = append(checks, p)
	}
	if len(checks) > 0 {
		g.add("text", doc.Pairs{{Key: "checks", Value: checks}})
	}
}

func (g *wazaGrader) texts() error {
	if one := g.config.Get("pattern"); !empty(one) {
		if _, err := expect.CompilePattern(one.Text()); err != nil {
			return fmt.Errorf("pattern: %w", err)
		}
		g.look("", doc.Pair{Key: "matches", Value: []string{one.Text()}})
	}
	g.look("",
		doc.Pair{Key: "matches", Value: folded(append(g.strings(g.config, "contains"),
			g.strings(g.config, "must_contain")...))},
		doc.Pair{Key: "not_matches", Value: folded(append(g.strings(g.config, "not_contains"),
			g.strings(g.config, "must_not_contain")...))},
		doc.Pair{Key: "contains", Value: g.strings(g.config, "contains_cs")},
		doc.Pair{Key: "not_contains", Value: g.strings(g.config, "not_contains_cs")},
		doc.Pair{Key: "matches", Value: append(g.patterns(g.config, "regex_match"),
			g.patterns(g.config, "must_match")...)},
		doc.Pair{Key: "not_matches", Value: append(g.patterns(g.config, "regex_not_match"),
			g.patterns(g.config, "must_not_match")...)},
	)
	return nil
}

func (g *wazaGrader) schema() error {
	schema := g.config.Get("schema")
	if name := g.config.Get("schema_file").Text(); empty(schema) && name != "" {
		var err error
		if schema, err = g.load(g.dir, name); err != nil {
			return fmt.Errorf("schema_file: %w", err)
		}
	}
	if schema.Kind() != doc.Map {
		return errors.New("schema: must be a JSON schema")
	}
	if _, err := text.Schema(schema.Value()); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	g.add(jsonCheck(g.from, "whole", schema.Value()))
	return nil
}

var (
	pythonText  = lazyregexp.New(`'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"`)
	wazaUnknown = lazyregexp.New(`\b(transcript|outcome|errors)\b`)
	wazaCalls   = lazyregexp.New(`\blen\(\s*tool_calls\s*\)`)
)

func (g *wazaGrader) code() error {
	if language := g.config.Get("language").Text(); language != "" && language != "python" {
		return fmt.Errorf("language: %q: write the assertions in Python, or a code_judge", language)
	}
	if !empty(g.node.Get("assertions")) && !empty(g.config.Get("assertions")) {
		return errors.New("assertions: config says it already")
	}
	all := append(g.strings(g.node, "assertions"), g.strings(g.config, "assertions")...)
	for _, text := range all {
		code := pythonText.ReplaceAllString(text, "''")
		if m := wazaUnknown.FindStringSubmatch(code); m != nil {
			return fmt.Errorf("assertions: %s is what waza knows of a session of Copilot: judges get output, "+
				"duration_ms and len(tool_calls)", m[1])
		}
		if strings.Contains(wazaCalls.ReplaceAllString(code, ""), "tool_calls") {
			return errors.New("assertions: tool_calls can be counted with len(tool_calls): for more write " +
				"tool_constraint or action_sequence")
		}
	}
	if len(all) == 0 {
		return errors.New("assertions: is required")
	}
	argv := []string{"python3", "-c", wazaCode}
	g.add("code_judge", doc.Pairs{
		{Key: "script", Value: doc.Shared{Name: "assertions", Value: argv}},
		{Key: "config", Value: doc.Pairs{{Key: "assertions", Value: all}}},
	})
	return nil
}

func (g *wazaGrader) program() error {
	argv := append([]string{g.config.Get("command").Text()}, g.strings(g.config, "args")...)
	if argv[0] == "" {
		return errors.New("command: is required")
	}
	timeout := number(g.config.Get("timeout"), g.from+".timeout", 1, g.refuse)
	if timeout == 0 {
		timeout = 30
	}
	run := []string{"python3", "-c", wazaProgram}
	g.add("code_judge", doc.Pairs{
		{Key: "script", Value: doc.Shared{Name: "program", Value: run}},
		{Key: "cwd", Value: g.out(string(g.tree))},
		{Key: "timeout", Value: seconds(timeout)},
		{Key: "config", Value: doc.Pairs{{Key: "argv", Value: argv}}},
	})
	return nil
}

// path returns a path below the workspace.
func (g *wazaGrader) path(n *doc.Node, key string) (string, bool) {
	name := filepath.ToSlash(filepath.Clean(n.Text()))
	if n.Text() == "" || name == "." || !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(name, `\`) {
		g.refuse(n.Position(), g.from+"."+key, fmt.Sprintf("%q must be a path below the workspace", n.Text()))
		return "", false
	}
	return name, true
}

func (g *wazaGrader) file() error {
	var entries []doc.Pairs
	for _, key := range []string{"must_exist", "must_not_exist"} {
		for _, n := range list(g.config.Get(key), g.from+"."+key, g.refuse) {
			if name, ok := g.path(n, key); ok {
				entries = append(entries, doc.Pairs{
					{Key: "path", Value: name}, {Key: "exists", Value: key == "must_exist"},
				})
			}
		}
	}
	if len(entries) > 0 {
		g.add("files", doc.Pairs{{Key: "expect", Value: entries}})
	}
	for _, n := range list(g.config.Get("content_patterns"), g.from+".content_patterns", g.refuse) {
		only(n, g.from+".content_patterns", g.refuse, "path", "must_match", "must_not_match")
		if name, ok := g.path(n.Get("path"), "content_patterns.path"); ok {
			g.look(name, doc.Pair{Key: "matches", Value: g.patterns(n, "must_match")},
				doc.Pair{Key: "not_matches", Value: g.patterns(n, "must_not_match")})
		}
	}
	return nil
}

func (g *wazaGrader) diff() error {
	dir := g.dir
	if own := g.config.Get("context_dir"); own.Text() != "" {
		var err error
		if dir, err = g.find(g.dir, own.Text()); err != nil {
			return fmt.Errorf("context_dir: %w", err)
		}
	}
	const key = "expected_files"
	var entries []doc.Pairs
	for _, n := range list(g.config.Get(key), g.from+"."+key, g.refuse) {
		only(n, g.from+"."+key, g.refuse, "path", "snapshot", "contains")
		name, ok := g.path(n.Get("path"), key+".path")
		if !ok {
			continue
		}
		had := len(entries)
		entry := func(check string, value any) {
			entries = append(entries, doc.Pairs{{Key: "path", Value: name}, {Key: check, Value: value}})
		}
		if s := n.Get("snapshot"); s.Text() != "" {
			text, err := g.text(dir, s.Text())
			if err != nil {
				g.refuse(s.Position(), g.from+"."+key+".snapshot", err.Error())
			}
			entry("equals", text)
		}
		for _, text := range g.strings(n, "contains") {
			check, part := "contains", text
			switch text[0] {
			case '-':
				check, part = "not_contains", text[1:]
			case '+':
				part = text[1:]
			}
			if part = strings.TrimSpace(part); part == "" {
				g.refuse(n.Position(), g.from+"."+key+".contains", fmt.Sprintf("%q looks for nothing", text))
				continue
			}
			entry(check, part)
		}
		if len(entries) == had {
			g.refuse(n.Position(), g.from+"."+key, "it has neither snapshot nor contains")
		}
	}
	if len(entries) > 0 {
		g.add("files", doc.Pairs{{Key: "expect", Value: entries}})
	}
	return nil
}

// wazaDoes is what tools of Copilot do; what a shell does is known of each command alone.
var wazaDoes = map[string]string{
	"view": "read", "edit": "edit", "create": "edit", "str_replace_editor": "edit", "apply_patch": "edit",
	"bash": "", "powershell": "", "grep": "search", "rg": "search", "glob": "search", "web_fetch": "fetch",
}

// tool returns an expected call of a tool, by the name that Copilot has for it: agents of other kinds have other tools,
// which do the same. It is one of several calls. Each is expected to have the args, if there are any.
func (g *wazaGrader) tool(n *doc.Node, name string, args ...doc.Pair) []doc.Pairs {
	call := func(key, value string, args ...doc.Pair) doc.Pairs {
		return append(doc.Pairs{{Key: key, Value: value}}, args...)
	}
	does, known := wazaDoes[name]
	switch {
	case !known || g.Agent == "copilot-acp":
		copilot, _ := agent.Lookup("copilot-acp")
		if own, _ := agent.Lookup(g.Agent); slices.Contains(copilot.Tools, name) && !slices.Contains(own.Tools, name) {
			g.refuse(n.Position(), g.from, fmt.Sprintf("%s is a tool of Copilot that agents of the kind %s do not have",
				name, g.Agent))
		}
		return []doc.Pairs{call("tool", name, args...)}
	case does != "":
		g.note(n.Position(), g.from, "%s is a tool of Copilot: what a call does is looked at, which is %s", name, does)
		return []doc.Pairs{call("does", does, args...)}
	}
	g.note(n.Position(), g.from, "%s is a tool of Copilot: calls of the kind execute are looked at", name)
	all := []doc.Pairs{call("kind", "execute", args...)}
	if g.Agent != "codex-acp" {
		return all
	}
	// Codex gives command lines other kinds, too; some of these without the line.
	if len(args) == 0 {
		all = append(all, call("tool", "exec_command"))
		args = commandArg(".")
	}
	return append(all, call("kind", "read", args...), call("kind", "search", args...))
}

// commandArg is the argument of a shell in which an expression is found.
func commandArg(pattern string) doc.Pairs {
	return doc.Pairs{{Key: "args", Value: doc.Pairs{
		{Key: "command", Value: doc.Pairs{{Key: "regex", Value: pattern}}},
	}}}
}

// anyOf returns a call that is one of several.
func anyOf(calls []doc.Pairs) doc.Pairs {
	if len(calls) == 1 {
		return calls[0]
	}
	return doc.Pairs{{Key: "any", Value: calls}}
}

// calls adds what tools are called, in an order or not, and what are not.
func (g *wazaGrader) calls(mode string, expected, never []doc.Pairs) {
	var p doc.Pairs
	if len(expected) > 0 {
		p = append(p, doc.Pair{Key: "mode", Value: mode}, doc.Pair{Key: "expected", Value: expected})
	}
	if len(never) > 0 {
		p = append(p, doc.Pair{Key: "never", Value: never})
	}
	if len(p) > 0 {
		g.add("tool_trajectory", p)
	}
}

// behavior reads the rules of a grader, or of what is expected of a task.
func (g *wazaGrader) behavior(n *doc.Node) error {
	var bounds doc.Pairs
	for _, rule := range [][2]string{
		{"max_tool_calls", "max_tool_calls"},
		{"max_tokens", "max_tokens"},
		{"max_duration_ms", "max_duration_ms"},
		{"max_response_time_ms", "max_duration_ms"},
	} {
		if most := int(number(n.Get(rule[0]), g.from+"."+rule[0], 0, g.refuse)); most > 0 { // 0 is no bound there
			bounds = append(bounds, doc.Pair{Key: rule[1], Value: most})
		}
	}
	if len(bounds) > 0 {
		g.add("metrics", bounds)
	}
	var expected, never []doc.Pairs
	for _, key := range []string{"required_tools", "forbidden_tools"} {
		for _, name := range g.strings(n, key) {
			switch {
			case name == "skill":
				if err := g.activated(key == "required_tools", g.root.Get("skill").Text()); err != nil {
					return err
				}
			case key == "required_tools":
				expected = append(expected, anyOf(g.tool(n.Get(key), name)))
			default:
				never = append(never, anyOf(g.tool(n.Get(key), name)))
			}
		}
	}
	g.calls("superset", expected, never)
	return nil
}

func (g *wazaGrader) actions() error {
	mode := map[string]string{
		"exact_match": "exact", "in_order_match": "in_order", "any_order_match": "superset",
	}[g.config.Get("matching_mode").Text()]
	if mode == "" {
		return errors.New("matching_mode: must be exact_match, in_order_match or any_order_match")
	}
	var expected []doc.Pairs
	for _, name := range g.strings(g.config, "expected_actions") {
		expected = append(expected, anyOf(g.tool(g.config.Get("expected_actions"), name)))
	}
	g.calls(mode, expected, nil)
	return nil
}

// toolWord matches an expression that finds names of tools by a word in them.
var toolWord = lazyregexp.New(`^(\^?)([\w-]+)(\$?)$`)

// named returns calls of the tools that an expression finds, as waza looks for it: anywhere in a name, and whatever the
// case of letters.
func (g *wazaGrader) named(n *doc.Node, expression string, args doc.Pairs) (all []doc.Pairs, err error) {
	m := toolWord.FindStringSubmatch(expression)
	if m == nil {
		return nil, fmt.Errorf("%q is more than the name of a tool, or a part of it", expression)
	}
	copilot, _ := agent.Lookup("copilot-acp")
	names := slices.Concat(copilot.Tools, slices.Sorted(maps.Keys(wazaDoes)))
	slices.Sort(names)
	find := regexp.MustCompile("(?i)" + expression)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return !find.MatchString(name) })
	if g.Agent == "copilot-acp" || len(names) == 0 {
		word := m[2]
		if len(names) > 0 {
			word = strings.ToLower(word) // as Copilot's are
		}
		if m[1] == "" {
			word = "*" + word
		}
		if m[3] == "" {
			word += "*"
		}
		return g.tool(n, word, args...), nil
	}
	for _, name := range names {
		// Those of a shell that goes on are no other agent's.
		if strings.HasSuffix(name, "_bash") && slices.Contains(names, "bash") {
			continue
		}
		for _, call := range g.tool(n, name, args...) {
			if !slices.ContainsFunc(all, func(had doc.Pairs) bool { return had[0] == call[0] }) {
				all = append(all, call)
			}
		}
	}
	return all, nil
}

func (g *wazaGrader) constraint() error {
	var lists [2][]doc.Pairs
	for i, key := range []string{"expect_tools", "reject_tools"} {
		for _, n := range list(g.config.Get(key), g.from+"."+key, g.refuse) {
			only(n, g.from+"."+key, g.refuse, "tool", "command_pattern")
			var args doc.Pairs
			if pattern := n.Get("command_pattern").Text(); pattern != "" {
				pattern = "(?i)" + pattern
				if _, err := expect.CompilePattern(pattern); err != nil {
					return fmt.Errorf("%s.command_pattern: %w", key, err)
				}
				args = commandArg(pattern)
			}
			calls, err := g.named(n, strings.TrimSpace(n.Get("tool").Text()), args)
			if err != nil {
				return fmt.Errorf("%s.tool: %w", key, err)
			}
			lists[i] = append(lists[i], anyOf(calls))
		}
	}
	for _, call := range lists[0] { // one call may be what several expect
		g.calls("superset", []doc.Pairs{call}, nil)
	}
	g.calls("", nil, lists[1])
	return nil
}

// activates makes an evaluator of which skill the agent uses, or leaves alone.
func (t *wazaCase) activates(to *evaluation, yes bool, skills ...string) error {
	for _, name := range skills {
		if err := t.hasSkill(name); err != nil {
			return err
		}
	}
	key := map[bool]string{true: "fires", false: "silent"}[yes]
	to.kind, to.keys = "activation", doc.Pairs{{Key: key, Value: skills}}
	return nil
}

func (g *wazaGrader) activated(yes bool, skills ...string) error {
	var to evaluation
	if err := g.activates(&to, yes, skills...); err != nil {
		return err
	}
	g.made = append(g.made, to)
	return nil
}

func (g *wazaGrader) skillsUsed() error {
	required, forbidden := g.strings(g.config, "required_skills"), g.strings(g.config, "forbidden_skills")
	mode, extra := g.config.Get("mode").Text(), g.config.Get("allow_extra").Text() != "false"
	switch {
	case len(required) == 0:
	case mode == "exact_match":
		return errors.New("mode: no evaluator says that no other skill is used: name them in forbidden_skills")
	case mode == "in_order" && len(required) > 1:
		return errors.New("mode: no evaluator says in which order skills are used: write any_order")
	case mode != "in_order" && mode != "any_order":
		return errors.New("mode: must be exact_match, in_order or any_order")
	case !extra: // it changes the score there, and does not decide
		g.note(g.config.Get("allow_extra").Position(), g.from+".allow_extra", "that others are used does not decide")
	}
	if len(required) > 0 {
		if err := g.activated(true, required...); err != nil {
			return err
		}
	}
	if len(forbidden) > 0 {
		return g.activated(false, forbidden...)
	}
	return nil
}

func (g *wazaGrader) trigger() error {
	mode := g.config.Get("mode").Text()
	if mode != "positive" && mode != "negative" {
		return errors.New("mode: must be positive or negative")
	}
	dir := filepath.Join(g.dir, filepath.FromSlash(g.config.Get("skill_path").Text()))
	if filepath.Base(dir) == plan.SkillFile {
		dir = filepath.Dir(dir)
	}
	name := filepath.Base(dir)
	if empty(g.config.Get("skill_path")) {
		name = g.root.Get("skill").Text()
	}
	g.note(g.node.Position(), g.from, "waza compares words of the prompt with the skill's: here the agent has to use "+
		"the skill, or must not")
	return g.activated(mode == "positive", name)
}

func (g *wazaGrader) prompt() error {
	if mode := g.config.Get("mode").Text(); mode != "" && mode != "independent" {
		return fmt.Errorf("mode: %q: %s", mode, noCompare)
	}
	if n := g.config.Get("continue_session"); !empty(n) {
		g.note(n.Position(), g.from+".continue_session", "the judge sees the question and the answer")
	}
	if n := g.config.Get("model"); !empty(n) {
		g.note(n.Position(), g.from+".model", "models that judge are that of --judge-model")
	}
	text := first(g.config, "prompt", "rubric")
	if text == nil {
		text = g.node.Get("rubric")
	}
	if strings.TrimSpace(text.Text()) == "" {
		return errors.New("prompt: is required")
	}
	g.add(g.rubrics(g.node.Get("name").Text(), text.Text()))
	return nil
}

// expected returns the evaluators of what is expected of a task.
func (t *wazaCase) expected(n *doc.Node) (all []evaluation) {
	if n.Kind() == doc.String {
		t.refuse(n.Position(), "expected", "must be a mapping: what it says in words is judged by nobody")
		return nil
	}
	t.fates(n, "expected", wazaExpectedKeys, t.refuse)
	for _, o := range list(n.Get("outcomes"), "expected.outcomes", t.refuse) {
		if kind := o.Get("type").Text(); kind != "task_completed" || len(o.Entries()) > 1 {
			t.refuse(o.Position(), "expected.outcomes", "only task_completed is known")
		}
	}
	only(n.Get("behavior"), "expected.behavior", t.refuse, "max_tool_calls", "max_tokens", "max_response_time_ms",
		"required_tools", "forbidden_tools")
	g := &wazaGrader{wazaCase: t, node: n, config: n, from: "expected"}
	anyOf := folded(g.strings(n, "output_contains_any"))
	if len(anyOf) > 0 {
		anyOf = []string{strings.Join(anyOf, "|")}
	}
	g.look("",
		doc.Pair{Key: "matches", Value: folded(g.strings(n, "output_contains"))},
		doc.Pair{Key: "matches", Value: anyOf},
		doc.Pair{Key: "not_matches", Value: folded(g.strings(n, "output_not_contains"))},
	)
	err := g.behavior(n.Get("behavior"))
	if should := n.Get("should_trigger"); should != nil && err == nil {
		if should.Kind() != doc.Bool {
			t.refuse(should.Position(), "expected.should_trigger", "must be true or false")
		}
		err = g.activated(should.Text() == "true", t.root.Get("skill").Text())
	}
	if err != nil {
		t.refuse(n.Position(), "expected", err.Error())
	}
	for i := range g.made {
		g.made[i].at, g.made[i].from, g.made[i].name = n.Position(), "expected", "expected"
	}
	if len(g.made) > 0 {
		t.count["expected"]++
		t.note(n.Position(), "expected", "waza judges nothing by it: here it has to hold")
	}
	return g.made
}
