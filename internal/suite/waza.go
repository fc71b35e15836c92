package suite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// The files of a suite of waza, beside each other.
const (
	wazaFile     = "eval.yaml"
	wazaTriggers = "trigger_tests.yaml"
)

// wazaOf is [Format.of] of waza: its suite, of which a path is the file, a task, the file of triggers or the directory.
// A suite with the usual name is its directory.
func wazaOf(file string) string {
	root := func(file string) *doc.Node {
		data, err := disk.Tree(filepath.Dir(file)).ReadRegular(file, doc.MaxSize)
		if ext := filepath.Ext(file); err != nil || ext != ".yaml" && ext != ".yml" ||
			!bytes.Contains(data, []byte("tasks")) && !bytes.Contains(data, []byte("prompt")) {
			return nil
		}
		return doc.Parse(file, data).Root
	}
	suite := func(file string) bool {
		n := root(file)
		return n.Get("tasks").Kind() == doc.List && n.Get("config").Kind() == doc.Map &&
			(n.Get("skill") != nil || n.Get("agent") != nil || n.Get("metrics") != nil)
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		if suite(filepath.Join(file, wazaFile)) {
			return file
		}
		return ""
	}
	if suite(file) {
		return strings.TrimSuffix(file, string(filepath.Separator)+wazaFile)
	}
	n := root(file)
	if n.Get("inputs").Get("prompt") == nil && n.Get("inputs").Get("prompt_file") == nil &&
		n.Get("should_trigger_prompts") == nil {
		return ""
	}
	for _, dir := range []string{filepath.Dir(file), filepath.Dir(filepath.Dir(file))} {
		if suite(filepath.Join(dir, wazaFile)) {
			return dir
		}
	}
	return ""
}

// nothing is the fate of what says how a suite is called, shown or stored.
var nothing = to("nothing: no verdict depends on it")

var (
	wazaKeys = []row{
		{"name", to("`name`")},
		{"description", to("`description`")},
		{"skill", to("the skill that the variant gets, if `config.skill_directories` names none: the one beside the " +
			"suite or, above it, in `skills`, `.github/skills` and the like")},
		{"agent", no("agents of VS Code are not loaded: the agent is that of --agent")},
		{"version", nothing},
		{"schemaVersion", nothing},
		{"config", to("see below")},
		{"metrics", left("waza reports them, and they decide nothing")},
		{"hooks", no("hooks of waza are not called: prepare the files that a task names")},
		{"inputs", no("templates are not filled in: write the values into the tasks")},
		{"tasks_from", no("write the rows of the table out as tasks")},
		{"range", no("name the tasks that are meant in `tasks`")},
		{"graders", to("`execution.evaluators` of the file")},
		{"tasks", to("cases: a file each, by patterns without `**`")},
		{"baseline", to("a second variant `without` the skills, a reference: `sdd-eval compare` tells the difference")},
	}
	wazaConfigKeys = []row{
		{"trials_per_task", to("`trials.count`: all of them have to pass")},
		{"timeout_seconds", to("`limits.timeout`")},
		{"parallel", left("give it to the run with --parallel")},
		{"workers", left("give it to the run with --parallel")},
		{"max_workers", left("give it to the run with --parallel")},
		{"fail_fast", left("all cases are run")},
		{"executor", left("the agent is that of --agent, and never a mock")},
		{"model", left("the agent is that of --agent")},
		{"judge_model", left("models that judge are that of --judge-model")},
		{"max_attempts", to("nothing if it is 1; else an error: a failed trial is not tried again until it passes")},
		{"group_by", left("reports group by case and variant")},
		{"skill_directories", to("`skills` of the variant")},
		{"required_skills", to("they have to be among the skills")},
		{"disabled_skills", no("name the skills that agents get in skill_directories")},
		{"inject_skill_body", left("agents find the skills that they have by themselves")},
		{"instruction_files", no("write `instructions` of the variant into the eval file")},
		{"first_event_timeout_seconds", left("limits.timeout ends sessions that hang")},
		{"mcp_servers", no("write `mcp` into the eval file")},
	}
	wazaTaskKeys = []row{
		{"id", to("`id`")},
		{"name", to("`note`")},
		{"description", nothing},
		{"tags", nothing},
		{"golden", left("gates are those of `sdd-eval compare`")},
		{"enabled", to("no case if it is false, which is told")},
		{"context_dir", to("where its files are looked for; else in `fixtures` beside the suite")},
		{"timeout_seconds", to("nothing if the suite says the same; else an error: cases of a file have one limit")},
		{"first_event_timeout_seconds", left("limits.timeout ends sessions that hang")},
		{"inputs", to("see below")},
		{"expected", to("see below. Waza reads it and judges nothing by it: here it has to hold")},
		{"graders", to("`execution.evaluators` of the case")},
		{"skill_directories", no("the cases of a file have the same skills: write them into `config`")},
		{"instruction_files", no("write `instructions` of the variant into the eval file")},
	}
	wazaInputKeys = []row{
		{"prompt", to("`question`")},
		{"prompt_file", to("`question`: the text of the file")},
		{"follow_up_prompts", to("`input_messages`, one turn each")},
		{"files", to("`workspace.add` of the case, and `files` where the text is there")},
		{"context", to("nothing, as in waza: the agent is not told; `fixture`: `workspace.add`")},
		{"environment", no("the cases of a file have one environment: write `env` into the eval file")},
		{"repos", no("no other repository is checked out: name the files")},
		{"workdir", no("agents start in the workspace")},
		{"responder", no("no model answers the agent: write `follow_up_prompts`")},
	}
	wazaExpectedKeys = []row{
		{"output_contains", to("`text`: `matches`, whatever the case of letters")},
		{"output_contains_any", to("`text`: `matches` one of them")},
		{"output_not_contains", to("`text`: `not_matches`")},
		{"outcomes", to("nothing if it is `task_completed`, which all sessions have to be; else an error")},
		{"behavior", to("`metrics` and `tool_trajectory`, as the grader `behavior`")},
		{"should_trigger", to("`activation`")},
		{"tool_calls", no("write a grader `tool_constraint` or `action_sequence`")},
	}
)

// waza reads a suite of waza.
type waza struct {
	*reader
	root    *doc.Node
	skills  []string // directories, absolute
	trials  int
	timeout float64
	global  []evaluation
	graders map[string]int // of the global ones
}

func readWaza(_ context.Context, file string, o Options) (*Suite, error) {
	if info, err := os.Stat(file); err != nil {
		return nil, err
	} else if info.IsDir() {
		file = filepath.Join(file, wazaFile)
	}
	r := &waza{
		reader: newReader(filepath.Dir(file), o), graders: make(map[string]int),
	}
	var err error
	if r.root, err = r.load(r.dir, filepath.Base(file)); err != nil {
		return nil, err
	}
	if r.root.Get("tasks") == nil {
		return nil, fmt.Errorf("%s has no tasks: it is no suite of waza", file)
	}
	r.Name = ident(r.root.Get("name").Text())
	if r.root.Get("name").Text() == "" {
		r.Name = ident(filepath.Base(r.dir))
	}
	r.fates(r.root, "", wazaKeys, r.refuse)
	r.readConfig(r.root.Get("config"))
	r.findSkills()
	suite := &wazaCase{waza: r, refuse: r.refuse, count: r.graders}
	for _, n := range list(r.root.Get("graders"), "graders", r.refuse) {
		r.global = append(r.global, suite.grader(n)...)
	}
	if err := r.readTasks(); err != nil {
		return nil, err
	}
	tasks := r.written
	r.written = nil
	if err := r.readTriggers(); err != nil {
		return nil, err
	}
	if len(r.Cases) == 0 && len(r.Problems) == 0 {
		return nil, fmt.Errorf("%s has no tasks", file)
	}
	triggers := r.written
	r.written = tasks
	r.playbook(r.Name, filepath.Base(file), r.global)
	r.written = triggers
	r.playbook(r.Name+"-triggers", wazaTriggers, nil)
	return r.Suite, nil
}

// playbook adds a file of the cases that are written.
func (r *waza) playbook(name, from string, evaluators []evaluation) {
	with, variants := r.who(), r.alone()
	if len(r.skills) > 0 {
		var dirs []string
		for _, dir := range r.skills {
			dirs = append(dirs, r.out(dir))
		}
		variants[0].Value = append(with, doc.Pair{Key: "skills", Value: dirs})
		if r.root.Get("baseline").Text() == "true" {
			without := append(r.who(), doc.Pair{Key: "reference", Value: true})
			variants = append(variants, doc.Pair{Key: "without", Value: without})
		}
	}
	more := doc.Pairs{{Key: "workspace", Value: doc.Pairs{{Key: "empty", Value: true}}}}
	if r.trials > 1 {
		more = append(more, doc.Pair{Key: "trials", Value: doc.Pairs{{Key: "count", Value: r.trials}}})
	}
	if r.timeout > 0 {
		more = append(more, doc.Pair{Key: "limits", Value: doc.Pairs{{Key: "timeout", Value: seconds(r.timeout)}}})
	}
	more = append(more, r.execution("", evaluators)...)
	r.evalFile(name, from, r.root.Get("description").Text(), variants, more)
}

// refuse is [reader.cannot] of the suite.
func (r *waza) refuse(at doc.Position, key, what string) { r.cannot(at, "", key, "%s", what) }

func (r *waza) readConfig(n *doc.Node) {
	r.fates(n, "config", wazaConfigKeys, r.refuse)
	r.trials = int(number(n.Get("trials_per_task"), "config.trials_per_task", 1, r.refuse))
	r.timeout = number(n.Get("timeout_seconds"), "config.timeout_seconds", 1, r.refuse)
	if a := n.Get("max_attempts"); number(a, "config.max_attempts", 1, r.refuse) > 1 {
		r.refuse(a.Position(), "config.max_attempts", "a trial that failed is not tried again until it passes")
	}
}

// readTasks reads the tasks.
func (r *waza) readTasks() error {
	var seen []string
	for _, n := range list(r.root.Get("tasks"), "tasks", r.refuse) {
		if n.Kind() != doc.String {
			r.refuse(n.Position(), "tasks", "must be the name of a file, or a pattern: write each task into a file")
			continue
		}
		files, err := r.glob(r.dir, n.Text())
		if err != nil {
			r.refuse(n.Position(), "tasks", err.Error())
			continue
		}
		for _, file := range files {
			if slices.Contains(seen, file) {
				continue
			}
			if seen = append(seen, file); len(seen) > maxCases {
				return errTooMany
			}
			root, err := r.load(r.dir, file)
			if err != nil {
				r.refuse(n.Position(), "tasks", err.Error())
				continue
			}
			r.addTask(root)
		}
	}
	return nil
}

// wazaCase is a task, or what holds for all.
type wazaCase struct {
	*waza
	refuse func(at doc.Position, key, what string)
	count  map[string]int
}

// newCase begins a case.
func (r *waza) newCase(at doc.Position, name, id string) (*wazaCase, *Case) {
	c := &Case{Name: name, ID: r.ids.next(id), At: at, Graders: make(map[string]int), Mapped: true}
	return &wazaCase{r, func(at doc.Position, key, what string) {
		c.Mapped = false
		r.cannot(at, c.ID, key, "%s", what)
	}, c.Graders}, c
}

// addTask adds the case of a task.
func (r *waza) addTask(n *doc.Node) {
	id := n.Get("id").Text()
	if id == "" {
		id = n.Get("name").Text()
	}
	if id == "" {
		base := filepath.Base(n.Position().File)
		id = strings.TrimSuffix(base, filepath.Ext(base))
	}
	if n.Get("enabled").Text() == "false" {
		r.note(n.Get("enabled").Position(), "enabled", "%s is no case: the task is not enabled", ident(id))
		return
	}
	t, c := r.newCase(n.Position(), id, id)
	r.fates(n, "", wazaTaskKeys, t.refuse)
	if s := n.Get("timeout_seconds"); s != nil && number(s, "timeout_seconds", 1, t.refuse) != r.timeout {
		t.refuse(s.Position(), "timeout_seconds", "the cases of a file have one limit: write it into config")
	}
	pairs := append(doc.Pairs{}.With("note", n.Get("name").Text()), t.asked(n)...)
	all := t.expected(n.Get("expected"))
	for _, g := range list(n.Get("graders"), "graders", t.refuse) {
		all = append(all, t.grader(g)...)
	}
	if len(all)+len(r.global) == 0 && c.Mapped {
		t.refuse(c.At, "graders", "nothing is expected of it, so it could not fail")
	}
	for kind, count := range r.graders {
		c.Graders[kind] += count
	}
	r.add(*c, pairs, all)
}

// asked returns the keys that say what the agent is asked, and the files that it finds.
func (t *wazaCase) asked(n *doc.Node) doc.Pairs {
	in := n.Get("inputs")
	t.fates(in, "inputs", wazaInputKeys, t.refuse)
	either(in, "inputs", t.refuse, "prompt", "prompt_file")
	question := in.Get("prompt").Text()
	if file := in.Get("prompt_file"); file != nil && in.Get("prompt") == nil {
		text, err := t.text(filepath.Dir(n.Position().File), file.Text())
		if err != nil {
			t.refuse(file.Position(), "inputs.prompt_file", err.Error())
		}
		question = text
	}
	if strings.TrimSpace(question) == "" {
		t.refuse(n.Position(), "inputs.prompt", "nothing is asked")
	}
	p := doc.Pairs{{Key: "question", Value: question}}
	if more := list(in.Get("follow_up_prompts"), "inputs.follow_up_prompts", t.refuse); len(more) > 0 {
		sent := []doc.Pairs{{{Key: "role", Value: "user"}, {Key: "content", Value: question}}}
		for _, m := range more {
			if strings.TrimSpace(m.Text()) == "" {
				t.refuse(m.Position(), "inputs.follow_up_prompts", "nothing is asked")
			}
			sent = append(sent, doc.Pairs{{Key: "role", Value: "user"}, {Key: "content", Value: m.Text()}})
		}
		p = doc.Pairs{{Key: "input_messages", Value: sent}}
	}
	return append(p, t.files(n, in)...)
}

// files returns the keys with the files of a task.
func (t *wazaCase) files(n, in *doc.Node) doc.Pairs {
	var add []doc.Pairs
	var texts doc.Pairs
	dir := filepath.Join(t.dir, "fixtures")
	if own := n.Get("context_dir"); own.Text() != "" {
		found, err := t.find(filepath.Dir(n.Position().File), own.Text())
		if err != nil {
			t.refuse(own.Position(), "context_dir", err.Error())
		}
		dir = found
	}
	for _, f := range list(in.Get("files"), "inputs.files", t.refuse) {
		const key = "inputs.files"
		only(f, key, t.refuse, "path", "content")
		name := f.Get("path").Text()
		if !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(name, `\`) {
			t.refuse(f.Position(), key+".path", fmt.Sprintf("%q must be a path below the workspace", name))
			continue
		}
		if slices.ContainsFunc(texts, func(p doc.Pair) bool { return p.Key == name }) {
			t.refuse(f.Position(), key+".path", fmt.Sprintf("%q is there already", name))
			continue
		}
		if text := f.Get("content"); text.Text() != "" {
			texts = append(texts, doc.Pair{Key: name, Value: text.Text()})
			continue
		}
		file, err := t.file(dir, name)
		if err == nil {
			_, err = os.Stat(file)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("no such file in %s", t.shown(dir))
		}
		if err != nil {
			t.refuse(f.Position(), key+".path", fmt.Sprintf("%q: %v", name, t.short(err)))
			continue
		}
		add = append(add, doc.Pairs{{Key: "from", Value: t.out(file)}, {Key: "to", Value: name}})
	}
	if f := in.Get("context").Get("fixture"); f.Text() != "" {
		file, err := t.find(filepath.Dir(n.Position().File), f.Text())
		if err != nil {
			t.refuse(f.Position(), "inputs.context.fixture", err.Error())
		}
		add = append(add, doc.Pairs{{Key: "from", Value: t.out(file)}})
	}
	return doc.Pairs{}.With("workspace", doc.Pairs{}.With("add", add)).With("files", texts)
}

// readTriggers reads the file of triggers, which is beside the suite if there is one.
func (r *waza) readTriggers() error {
	if _, err := os.Lstat(filepath.Join(r.dir, wazaTriggers)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	root, err := r.load(r.dir, wazaTriggers)
	if err != nil {
		return err
	}
	only(root, "", r.refuse, "skill", "should_trigger_prompts", "should_not_trigger_prompts", "name", "description")
	skill := root.Get("skill").Text()
	for _, key := range []string{"should_trigger_prompts", "should_not_trigger_prompts"} {
		yes := key == "should_trigger_prompts"
		for i, n := range list(root.Get(key), key, r.refuse) {
			if len(r.Cases) >= maxCases {
				return errTooMany
			}
			name := fmt.Sprintf("trigger-%d", i+1)
			if !yes {
				name = fmt.Sprintf("no-trigger-%d", i+1)
			}
			t, c := r.newCase(n.Position(), name, name)
			only(n, key, t.refuse, "prompt", "reason", "confidence")
			c.Graders["trigger"]++
			pairs := doc.Pairs{}.With("note", n.Get("reason").Text())
			prompt := n.Get("prompt").Text()
			if strings.TrimSpace(prompt) == "" {
				t.refuse(n.Position(), key+".prompt", "nothing is asked")
			}
			to := evaluation{at: n.Position(), from: key, name: "trigger"}
			if err := t.activates(&to, yes, skill); err != nil {
				t.refuse(n.Position(), key, err.Error())
			}
			r.add(*c, append(pairs, doc.Pair{Key: "question", Value: prompt}), []evaluation{to})
		}
	}
	return nil
}
