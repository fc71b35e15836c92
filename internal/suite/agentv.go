package suite

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/environ"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// agentvOf is [Format.of] of AgentV: a file with `tests`, or with the `evalcases` of its first versions, that is none
// of ours.
func agentvOf(file string) string {
	if ext := filepath.Ext(file); ext != ".yaml" && ext != ".yml" {
		return ""
	}
	data, err := disk.Tree(filepath.Dir(file)).ReadRegular(file, doc.MaxSize)
	if err != nil || !bytes.Contains(data, []byte("tests")) && !bytes.Contains(data, []byte("evalcases")) {
		return ""
	}
	root := doc.Parse(file, data).Root
	for _, ours := range []string{"variants", "workflow", "cases"} {
		if root.Get(ours) != nil {
			return ""
		}
	}
	if root.Get("tests") == nil && root.Get("evalcases") == nil {
		return ""
	}
	return file
}

// agentvKeys are the keys of a suite of AgentV.
var agentvKeys = []row{
	{"$schema", nothing},
	{"name", to("`name`")},
	{"description", to("`description`")},
	{"version", nothing},
	{"author", nothing},
	{"tags", nothing},
	{"license", nothing},
	{"note", nothing},
	{"metadata", nothing},
	{"governance", nothing},
	{"requires", nothing},
	{"prompts", to("a case for each prompt with its values filled in")},
	{"providers", to("nothing, which is told: the agent is that of --agent")},
	{"provider", to("the same")},
	{"target", to("the same")},
	{"tests", to("`evalcases`; also from other files")},
	{"evalcases", to("`evalcases`, of the first versions")},
	{"assert", to("evaluators of each case")},
	{"assertions", to("the same")},
	{"default_test", to("a part of each case")},
	{"defaultTest", to("the same")},
	{"environment", to("`workspace.from`: its `workdir`; `setup`, `image` and other types than `host` are errors")},
	{"workspace", to("the same, with `template` or `path`")},
	{"evaluate_options", to("`repeat`: `trials`; its other keys are told, or errors")},
	{"execution", to("`trials`, and evaluators of each case; its other keys are told, or errors")},
	{"vars", to("values of prompts and assertions")},
	{"input", to("what prompts with `{{ input }}` ask")},
	{"threshold", to("nothing, which is told: every evaluator has to reach its own")},
	{"extensions", to("nothing if it is `agentv:agent-rules`; else an error")},
	{"scenarios", no("write the tests out: no case is made of a matrix")},
	{"defaults", to("`system_message`: a part of the question; else an error")},
	{"imports", no("write the tests out")},
}

// agentvTestKeys are the keys of a test.
var agentvTestKeys = []row{
	{"id", to("`id`")},
	{"name", to("`id`, if there is none")},
	{"description", nothing},
	{"note", nothing},
	{"metadata", nothing},
	{"tags", nothing},
	{"conversation_id", nothing},
	{"vars", to("values of prompts and assertions")},
	{"criteria", to("`expected_outcome`; without assertions a judge is asked whether it holds")},
	{"expected_outcome", to("the same")},
	{"outcome", to("the same")},
	{"input", to("`question`: messages of the roles system and assistant are parts of it, as are files")},
	{"input_messages", to("the same")},
	{"question", to("the same")},
	{"expected_output", to("`reference_answer` or `expected_messages`")},
	{"expected_messages", to("the same")},
	{"reference_answer", to("the same")},
	{"assert", to("`execution.evaluators`; texts are rubrics of one `llm_judge`")},
	{"assertions", to("the same")},
	{"rubrics", to("an `llm_judge` with `rubrics`")},
	{"execution", to("its `evaluators`; `skip_defaults`: none of the suite")},
	{"mode", nothing},
	{"turns", to("`input_messages`, one turn each")},
	{"threshold", to("nothing, which is told: every evaluator has to reach its own")},
	{"options", to("nothing if it is `rubric_prompt`, which is told; else an error")},
	{"aggregation", to("nothing, which is told: what is expected of every turn has to hold")},
	{"on_turn_failure", to("nothing, which is told: the agent is asked all turns")},
	{"environment", no("the cases of a file have one workspace: write it at the top")},
	{"workspace", no("the cases of a file have one workspace: write it at the top")},
	{"providers", no("variants are those of --agent")},
	{"input_files", no("name the files in the content of `input`")},
}

// agentv reads a suite of AgentV.
type agentv struct {
	*reader
	root     *doc.Node
	old      bool // of the first versions, with evalcases
	prompts  []agentvPrompt
	defaults *doc.Node
	from     string // the workspace, absolute; empty: none
	trials   doc.Pairs
}

// refuse is [reader.cannot] of the suite.
func (r *agentv) refuse(at doc.Position, key, what string) { r.cannot(at, "", key, "%s", what) }

// agentvPrompt is what an agent is asked, as a template.
type agentvPrompt struct {
	id       string // empty: it is the only one
	template *doc.Node
	dir      string // what its files are relative to
	bad      bool   // it cannot be read, which was told
}

// agentvTest is a test, or a case.
type agentvTest struct {
	*doc.Node
	dir string // what its files are relative to
	id  string // by its place, if it has none of its own
}

// input returns what a test asks, or fills into prompts, unless it is one of its values.
func (t agentvTest) input() *doc.Node { return first(t.Node, "input", "input_messages", "question") }

func readAgentV(_ context.Context, file string, o Options) (*Suite, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a directory: name the file of a suite", file)
	}
	r := &agentv{reader: newReader(filepath.Dir(file), o)}
	if r.root, err = r.load(r.dir, filepath.Base(file)); err != nil {
		return nil, err
	}
	tests := r.root.Get("tests")
	if r.old = tests == nil; r.old {
		tests = r.root.Get("evalcases")
	}
	if tests == nil {
		return nil, fmt.Errorf("%s has neither tests nor evalcases: it is no suite of AgentV", file)
	}
	base := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), ".eval")
	r.Name = ident(cmp.Or(r.root.Get("name").Text(), base))
	r.fates(r.root, "", agentvKeys, r.refuse)
	r.readSuite()
	all, err := r.tests(tests, r.dir, 0)
	if err != nil {
		r.cannot(tests.Position(), "", "tests", "%v", err)
	}
	for _, t := range all {
		r.addTest(t)
	}
	if len(r.Cases) == 0 && len(r.Problems) == 0 {
		return nil, fmt.Errorf("%s has no tests", file)
	}
	var more doc.Pairs
	if r.from != "" {
		more = doc.Pairs{{Key: "workspace", Value: doc.Pairs{{Key: "from", Value: r.out(r.from)}}}}
	}
	more = more.With("trials", r.trials)
	r.evalFile(r.Name, filepath.Base(file), r.root.Get("description").Text(), r.alone(), more)
	return r.Suite, nil
}

// readSuite reads what all tests have.
func (r *agentv) readSuite() {
	if n := first(r.root, "providers", "provider", "target"); n != nil {
		r.note(n.Position(), "providers", notModels)
	}
	if n := first(r.root, "default_test", "defaultTest"); n != nil {
		r.defaults = r.included(n, "default_test")
		only(r.defaults, "default_test", r.refuse, "vars", "assert", "assertions", "threshold", "options", "metadata")
		either(r.defaults, "default_test", r.refuse, "assert", "assertions")
		r.options(r.defaults, r.refuse)
	}
	n := first(r.root, "environment", "workspace")
	if n != nil {
		r.readWorkspace(r.included(n, "environment"))
	}
	mapping(r.root.Get("defaults"), "defaults", r.refuse)
	for _, e := range r.root.Get("defaults").Entries() {
		if e.Key != "system_message" {
			r.cannot(e.Position, "", "defaults."+e.Key, "write it into the tests")
		}
	}
	for _, n := range list(r.root.Get("extensions"), "extensions", r.refuse) {
		if n.Text() == "agentv:agent-rules" {
			r.note(n.Position(), "extensions", "agents read the rules that are in their workspace")
		} else {
			r.cannot(n.Position(), "", "extensions", "hooks of AgentV are not called: prepare the workspace with a "+
				"`run` step, or with the files that `workspace.from` names")
		}
	}
	r.readPrompts(r.root.Get("prompts"))
	if n := r.root.Get("threshold"); n != nil {
		r.note(n.Position(), "threshold", "every evaluator has to reach its own")
	}
	for _, names := range [][]string{
		{"providers", "provider", "target"},
		{"default_test", "defaultTest"},
		{"environment", "workspace"},
		{"assert", "assertions"},
	} {
		either(r.root, "", r.refuse, names...)
	}
	if n := r.root.Get("input"); n != nil && !slices.ContainsFunc(r.prompts, agentvPrompt.inputAlone) {
		r.cannot(n.Position(), "", "input", "no prompt is {{ input }}: write it into the tests")
	}
	r.readRun(r.root.Get("evaluate_options"), "evaluate_options", "repeat")
	r.readRun(r.root.Get("execution"), "execution", "trials", "evaluators", "target", "targets")
}

// options reads the key options of a test, or of all.
func (r *agentv) options(n *doc.Node, cannot func(at doc.Position, key, what string)) {
	mapping(n.Get("options"), "options", cannot)
	for _, e := range n.Get("options").Entries() {
		if e.Key == "rubric_prompt" {
			r.note(e.Position, "options.rubric_prompt", "models that judge are asked by the built-in prompt")
			continue
		}
		cannot(e.Position, "options."+e.Key, "what the agent says is judged as it is")
	}
	if t := n.Get("threshold"); t != nil {
		r.note(t.Position(), "threshold", "every evaluator has to reach its own")
	}
}

// first returns the value of the first of these keys that there is.
func first(n *doc.Node, keys ...string) *doc.Node {
	for _, key := range keys {
		if v := n.Get(key); v != nil && v.Kind() != doc.Null {
			return v
		}
	}
	return nil
}

// included returns a value, or what is in the file that it names.
func (r *agentv) included(n *doc.Node, key string) *doc.Node {
	if n.Kind() != doc.String {
		return n
	}
	root, err := r.load(r.dir, strings.TrimPrefix(n.Text(), "file://"))
	if err != nil {
		r.cannot(n.Position(), "", key, "%v", err)
		return nil
	}
	return root
}

func (r *agentv) readWorkspace(n *doc.Node) {
	mapping(n, "environment", r.refuse)
	either(n, "environment", r.refuse, "workdir", "template", "path")
	for _, e := range n.Entries() {
		switch e.Key {
		case "type":
			if e.Value.Text() != "host" {
				r.cannot(e.Position, "", "environment.type", "only a directory of this machine becomes a workspace")
			}
		case "workdir", "template", "path":
			dir, err := r.find(filepath.Dir(n.Position().File), e.Value.Text())
			if err == nil {
				var info os.FileInfo
				if info, err = os.Stat(dir); err == nil && !info.IsDir() {
					err = errors.New("it is no directory")
				}
			}
			if err != nil {
				r.cannot(e.Position, "", "environment."+e.Key, "%v", r.short(err))
				continue
			}
			r.from = dir
		case "isolation", "mode":
			r.note(e.Position, "environment."+e.Key, "every trial has a workspace of its own")
		default:
			r.cannot(e.Position, "", "environment."+e.Key,
				"nothing is run before the agent: name a directory that is ready, or write a playbook with a `run` "+
					"step")
		}
	}
}

// readPrompts reads the prompts, each a template of text or messages.
func (r *agentv) readPrompts(n *doc.Node) {
	items := n.Items()
	if n != nil && n.Kind() != doc.List {
		items = []*doc.Node{n}
	}
	for _, item := range items {
		p := agentvPrompt{id: first(item, "id", "label").Text(), template: item, dir: r.dir}
		if item.Kind() == doc.Map {
			only(item, "prompts", r.refuse, "id", "label", "prompt", "raw", "messages", "file")
			either(item, "prompts", r.refuse, "prompt", "raw", "messages", "file")
			p.template = first(item, "prompt", "raw", "messages", "file")
		}
		name, isFile := strings.CutPrefix(p.template.Text(), "file://")
		if isFile || item.Get("file") != nil && p.template == item.Get("file") {
			file, err := r.find(r.dir, name)
			if err == nil {
				p.template, err = r.promptFile(file)
			}
			if p.dir = filepath.Dir(file); err != nil {
				p.bad = true
				r.cannot(item.Position(), "", "prompts", "%v", err)
			}
		} else if p.template == nil {
			p.bad = true
			r.cannot(item.Position(), "", "prompts", "it must be a text, messages or a file")
		}
		r.prompts = append(r.prompts, p)
	}
	if len(r.prompts) == 1 {
		r.prompts[0].id = ""
	}
}

// promptFile returns a prompt from a file: messages in YAML or JSON, else its text.
func (r *agentv) promptFile(file string) (*doc.Node, error) {
	switch filepath.Ext(file) {
	case ".json", ".yaml", ".yml":
		return r.load(filepath.Dir(file), filepath.Base(file))
	case ".js", ".ts", ".mjs", ".py", ".cjs":
		return nil, errors.New("prompts that programs print are not run: write out what it prints")
	}
	text, err := r.text(filepath.Dir(file), filepath.Base(file))
	if err != nil {
		return nil, err
	}
	d := doc.Parse(file, doc.Pairs{{Key: "prompt", Value: text}}.YAML())
	return d.Root.Get("prompt"), d.Err()
}

// maxIncluded is how deep files of tests may name others.
const maxIncluded = 4

// tests returns the tests of a list, or in the files that it names.
func (r *agentv) tests(n *doc.Node, dir string, depth int) (all []agentvTest, err error) {
	if depth > maxIncluded {
		return nil, errors.New("files of tests name each other too deeply")
	}
	switch n.Kind() {
	case doc.String:
		return r.testFiles(n.Text(), dir, depth)
	case doc.List:
		for i, item := range n.Items() {
			if r.full(len(all)) {
				break
			}
			if item.Kind() == doc.String {
				more, err := r.tests(item, dir, depth)
				if err != nil {
					return nil, err
				}
				all = append(all, more...)
				continue
			}
			all = append(all, agentvTest{item, dir, fmt.Sprintf("case-%d", i+1)})
		}
	default:
		return nil, errors.New("must be a list of tests, or the name of a file")
	}
	if len(all) > maxCases {
		return nil, fmt.Errorf("more than %d tests", maxCases)
	}
	return all, nil
}

// testFiles returns the tests in what a text names: a file, files by a pattern, or a directory of cases.
func (r *agentv) testFiles(name, dir string, depth int) (all []agentvTest, err error) {
	name = strings.TrimPrefix(name, "file://")
	pattern := name
	if strings.HasSuffix(name, "/") {
		pattern = name + "*/case.yaml"
	}
	files, err := r.glob(dir, pattern)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		own := filepath.Dir(file)
		switch filepath.Ext(file) {
		case ".jsonl", ".ndjson":
			more, err := r.lines(file)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		case ".csv":
			more, err := r.table(file)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		case ".yaml", ".yml", ".json":
			root, err := r.load(own, filepath.Base(file))
			if err != nil {
				return nil, err
			}
			if root.Kind() == doc.Map && root.Get("tests") == nil {
				all = append(all, agentvTest{root, own, filepath.Base(own)})
				continue
			}
			if root.Kind() == doc.Map {
				only(root, "", r.refuse, "tests", "$schema", "name", "description", "version", "author", "tags",
					"license", "note", "metadata")
				root = root.Get("tests")
			}
			more, err := r.tests(root, own, depth+1)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		default:
			return nil, fmt.Errorf("%q: tests are read from YAML, JSON, JSON lines and CSV: write them so",
				r.shown(file))
		}
	}
	return all, nil
}

// lines returns the tests in a file with one JSON object a line.
func (r *agentv) lines(file string) (all []agentvTest, err error) {
	_, data, err := r.read(filepath.Dir(file), filepath.Base(file))
	if err != nil {
		return nil, err
	}
	for line, d := range jsonLines(file, data) {
		if len(all) >= maxCases || line > maxEntries {
			return nil, fmt.Errorf("%q: more than %d tests", r.shown(file), maxCases)
		}
		if err := d.Err(); err != nil {
			return nil, err
		}
		all = append(all, agentvTest{d.Root, filepath.Dir(file), fmt.Sprintf("line-%d", line)})
	}
	return all, nil
}

// inputAlone reports whether a prompt is nothing but the input of a test.
func (p agentvPrompt) inputAlone() bool {
	return p.template.Kind() == doc.String && inputAlone.MatchString(p.template.Text())
}

var inputAlone = lazyregexp.New(`^\s*\{\{\s*(?:vars\.)?input\s*\}\}\s*$`)

// values returns the values of a test for its templates.
func (r *agentv) values(t agentvTest) map[string]any {
	vars := make(map[string]any)
	for _, n := range []*doc.Node{r.root.Get("vars"), r.defaults.Get("vars"), t.Get("vars")} {
		if own, ok := n.Value().(map[string]any); ok {
			maps.Copy(vars, own)
		}
	}
	if own := t.input(); own != nil && len(r.prompts) > 0 {
		vars["input"] = own.Value()
	}
	all := maps.Clone(vars)
	all["vars"] = vars
	if _, own := vars["env"]; !own {
		all["env"] = lookup(r.env)
	}
	return all
}

// env returns the value of a variable of the environment.
func (r *agentv) env(name string) (string, error) {
	value := ""
	if r.Getenv != nil {
		value = r.Getenv(name)
	}
	switch {
	case value == "":
		return "", noValueError(fmt.Sprintf("{{env.%s}} has no value: set %s in the environment, or write "+
			`{{ env.%s | default("...") }}`, name, name, name))
	case environ.IsCredential(name, value):
		return "", fmt.Errorf("{{env.%s}} looks like a credential, which no file gets: write what it stands for", name)
	}
	r.note(r.root.Position(), "env."+name, "the value that %s has now is written out", name)
	return value, nil
}
