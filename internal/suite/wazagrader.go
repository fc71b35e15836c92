package suite

import (
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/expect"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/text"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
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
	texts := []string{
		"contains", "not_contains", "contains_cs", "not_contains_cs", "regex_match", "regex_not_match", "pattern",
	}
	behavior := []string{
		"max_tool_calls", "max_tokens", "max_duration_ms", "max_response_time_ms", "required_tools", "forbidden_tools",
	}
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

// wazaGuides are keys that waza's guides write, and its graders pass over.
var wazaGuides = map[string]string{"text": "pattern", "behavior": "max_response_time_ms"}

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
	if key := wazaGuides[g.from]; !empty(g.config.Get(key)) {
		t.note(g.config.Get(key).Position(), g.from+"."+key, "waza passes over it: here it has to hold")
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
