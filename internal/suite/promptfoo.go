package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// promptfooFile matches names of configurations of promptfoo.
var promptfooFile = lazyregexp.New(`^promptfooconfig([.-].*)?\.(ya?ml|json)$`)

// promptfooOf is [Format.of] of promptfoo: a configuration, or a directory with one that has the usual name.
func promptfooOf(file string) string {
	if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
		if promptfooFile.MatchString(filepath.Base(file)) {
			return file
		}
		return ""
	}
	for _, ext := range []string{"yaml", "yml", "json"} {
		if info, err := os.Stat(filepath.Join(file, "promptfooconfig."+ext)); err == nil && info.Mode().IsRegular() {
			return file
		}
	}
	return ""
}

// promptfoo reads a configuration of promptfoo.
type promptfoo struct {
	*reader
	root      *doc.Node
	templates *doc.Node // of assertions
	prompts   []prompt
	defaults  testCase
	run       doc.Pairs // how often and how long
}

// prompt is what an agent is asked, as a template.
type prompt struct {
	at    doc.Position
	label string
	text  string
	bad   string // why it cannot be asked
	id    string
	file  string // that has it, as the configuration names it
}

// named reports whether a test that names the prompts it is for means this one.
func (p prompt) named(ref string) bool {
	label := p.label
	if label == "" {
		label = strings.TrimPrefix(p.file+": "+p.text, ": ")
	}
	start, several := strings.CutSuffix(ref, "*")
	return slices.ContainsFunc([]string{label, p.id}, func(name string) bool {
		return name != "" && (name == ref || strings.HasPrefix(name, ref+":") ||
			several && strings.HasPrefix(name, start))
	})
}

// promptfooKeys are the keys of a configuration.
var promptfooKeys = []row{
	{"$schema", nothing},
	{"description", to("`description`")},
	{"tags", nothing},
	{"prompts", to("`question`, with its values filled in: texts, files of text, messages of one user")},
	{"providers", to("nothing, which is told: the agent is that of --agent")},
	{"targets", to("the same")},
	{"tests", to("cases: one for each prompt and each choice among values that are lists")},
	{"scenarios", to("cases: one for each test and each of `config`")},
	{"defaultTest", to("a part of each case")},
	{"outputPath", nothing},
	{"evaluateOptions", to("`repeat`: `trials.count`; `timeoutMs`: `limits.timeout`; the rest says nothing here")},
	{"sharing", nothing},
	{"env", to("nothing: agents get the environment of their preset")},
	{"commandLineOptions", nothing},
	{"writeLatestResults", nothing},
	{"metadata", nothing},
	{"derivedMetrics", to("nothing: they decide nothing")},
	{"tracing", nothing},
	{"assertionTemplates", to("the assertions that refer to them")},
	{"nunjucksFilters", to("nothing: a value that needs one is an error")},
	{"version", nothing},
	{"extensions", no("hooks of promptfoo are not called")},
	{"redteam", no("the tests are not in the file: `promptfoo redteam generate` writes them out")},
}

func readPromptfoo(_ context.Context, path string, o Options) (*Suite, error) {
	file := path
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if info.IsDir() {
		file = ""
		for _, ext := range []string{"yaml", "yml", "json"} {
			name := filepath.Join(path, "promptfooconfig."+ext)
			if _, err := os.Lstat(name); err == nil && file == "" {
				file = name
			}
		}
		if file == "" {
			return nil, fmt.Errorf("%s has no promptfooconfig.yaml, .yml or .json: name the file", path)
		}
	}
	r := &promptfoo{reader: newReader(filepath.Dir(file), o)}
	var err error
	if r.root, err = r.load(r.dir, filepath.Base(file)); err != nil {
		return nil, err
	}
	if r.root.Kind() != doc.Map || r.root.Get("prompts") == nil && r.root.Get("tests") == nil &&
		r.root.Get("scenarios") == nil {
		return nil, fmt.Errorf("%s has neither prompts nor tests: it is no configuration of promptfoo", file)
	}
	r.Name = ident(filepath.Base(r.dir))
	base := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	if own := strings.Trim(strings.TrimPrefix(base, "promptfooconfig"), ".-"); own != "" {
		r.Name = ident(own)
	}
	r.fates(r.root, "", promptfooKeys, r.refuse)
	r.readOptions()
	r.templates = r.root.Get("assertionTemplates")
	r.readPrompts(r.root.Get("prompts"))
	if n := r.root.Get("defaultTest"); n != nil {
		for _, n := range r.listed(n, "defaultTest") {
			r.defaults = r.readTest(n, r.dir)
		}
	}
	r.readProviders()
	if err := r.readAll(); err != nil {
		return nil, err
	}
	if len(r.Cases) == 0 && len(r.Problems) == 0 {
		return nil, fmt.Errorf("%s has no tests", file)
	}
	r.evalFile(r.Name, filepath.Base(file), r.root.Get("description").Text(), r.alone(), r.run)
	return r.Suite, nil
}

// refuse is [reader.cannot] of the configuration.
func (r *promptfoo) refuse(at doc.Position, key, what string) { r.cannot(at, "", key, "%s", what) }

// readAll reads the tests and the scenarios.
func (r *promptfoo) readAll() error {
	scenarios := r.root.Get("scenarios")
	if tests := r.root.Get("tests"); tests != nil || scenarios == nil {
		all := r.readTests(tests, r.dir, 0)
		if tests == nil {
			all = []testCase{{at: r.root.Position()}}
		}
		for _, t := range all {
			if err := r.addTest(t, testCase{}); err != nil {
				return err
			}
		}
	}
	for _, s := range r.listed(scenarios, "scenarios") {
		only(s, "scenarios", r.refuse, "config", "tests", "description")
		var config []testCase
		for _, item := range r.listed(s.Get("config"), "config") {
			config = append(config, r.readTest(item, r.dir))
		}
		tests := r.readTests(s.Get("tests"), r.dir, 0)
		for _, c := range config {
			for _, t := range tests {
				if err := r.addTest(t, c); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// listed returns the elements of a list, or of the one in a file that a text names.
func (r *promptfoo) listed(n *doc.Node, key string) []*doc.Node {
	switch n.Kind() {
	case doc.Invalid, doc.Null:
		return nil
	case doc.List:
		var all []*doc.Node
		for _, item := range n.Items() {
			if item.Kind() == doc.String && strings.HasPrefix(item.Text(), "file://") {
				all = append(all, r.listed(item, key)...)
			} else {
				all = append(all, item)
			}
		}
		return all
	case doc.String:
		if name, ok := strings.CutPrefix(n.Text(), "file://"); ok {
			root, err := r.load(r.dir, name)
			if err != nil {
				r.cannot(n.Position(), "", key, "%v", err)
				return nil
			}
			if root.Kind() != doc.List {
				return []*doc.Node{root}
			}
			return root.Items()
		}
	case doc.Map:
		return []*doc.Node{n}
	}
	r.cannot(n.Position(), "", key, "must be a list")
	return nil
}

// readPrompts reads the prompts.
func (r *promptfoo) readPrompts(n *doc.Node) {
	switch n.Kind() {
	case doc.String:
		r.readPrompt(n, n.Text(), "")
	case doc.List:
		for _, item := range n.Items() {
			if item.Kind() != doc.String {
				only(item, "prompts", r.refuse, "raw", "id", "path", "label")
				either(item, "prompts", r.refuse, "raw", "path")
			}
			switch {
			case item.Kind() == doc.String:
				r.readPrompt(item, item.Text(), "")
			case item.Get("raw") != nil:
				r.addPrompt(prompt{
					at: item.Position(), label: item.Get("label").Text(), text: item.Get("raw").Text(),
					id: item.Get("id").Text(),
				})
			default:
				text := item.Get("id").Text()
				if text == "" {
					text = item.Get("path").Text()
				}
				r.readPrompt(item, text, item.Get("label").Text())
			}
		}
	case doc.Map: // a label for each file
		for _, e := range n.Entries() {
			r.readPrompt(e.Value, e.Key, e.Value.Text())
		}
	}
	if len(r.prompts) == 0 {
		p := prompt{at: r.root.Position(), text: "{{prompt}}"} // as promptfoo has it
		if n != nil {
			p.at, p.bad = n.Position(), "there are none: write one, or leave out the key to ask {{prompt}}"
		}
		r.prompts = []prompt{p}
	}
}

// promptFileName matches texts that name a file of prompts.
var promptFileName = lazyregexp.New(`^[^\s{}]+\.(txt|md|json|jsonl|ya?ml|csv|j2|[cm]?js|ts|py|sh)(:\w+)?$`)

// readPrompt reads one prompt, or those of a file.
func (r *promptfoo) readPrompt(n *doc.Node, text, label string) {
	p := prompt{at: n.Position(), label: label}
	name, named := strings.CutPrefix(text, "file://")
	if kind, _, ok := strings.Cut(text, "://"); ok && !named && !strings.ContainsAny(kind, " \n{") {
		p.bad = fmt.Sprintf("prompts of %s:// are not fetched", kind)
		r.addPrompt(p)
		return
	}
	if strings.HasPrefix(text, "exec:") {
		p.bad = "a program makes the prompt: write it out"
		r.addPrompt(p)
		return
	}
	if !named && !promptFileName.MatchString(text) {
		p.text = text
		r.addPrompt(p)
		return
	}
	files, err := r.glob(r.dir, name)
	if err != nil {
		files = []string{name}
	}
	for _, file := range files {
		p := p
		p.file = r.shown(file)
		ext := strings.ToLower(filepath.Ext(file))
		ext, _, _ = strings.Cut(ext, ":")
		switch ext {
		case ".txt", ".md", ".j2", ".json", ".yaml", ".yml":
			_, data, err := r.read(r.dir, file)
			if err != nil {
				p.bad = err.Error()
				break
			}
			parts := []string{string(data)}
			if ext == ".txt" {
				parts = strings.Split(separator.ReplaceAllString(string(data), "\x00"), "\x00")
			}
			for _, part := range parts {
				if p.text = strings.TrimSpace(part); p.text != "" {
					r.addPrompt(p)
				}
			}
			continue
		default:
			p.bad = fmt.Sprintf("a program or a table makes the prompts of %s: write them out", r.shown(file))
		}
		r.addPrompt(p)
	}
}

// separator is the line between two prompts of a file.
var separator = lazyregexp.New(`(?m)^---[ \t]*\r?$`)

// addPrompt adds a prompt, of which messages become the text that can be asked.
func (r *promptfoo) addPrompt(p prompt) {
	if p.bad == "" && strings.HasPrefix(strings.TrimLeft(p.text, " \t\n-"), "role:") || strings.HasPrefix(p.text, "[") {
		p.text, p.bad = message(p.text)
	}
	r.prompts = append(r.prompts, p)
}

// message returns the text of a conversation that is one question.
func message(text string) (question, bad string) {
	d := doc.Parse("", []byte(text))
	if d.Err() != nil || d.Root.Kind() != doc.List || len(d.Root.Items()) == 0 || d.Root.Items()[0].Get("role") == nil {
		if strings.Contains(text, `"role"`) {
			return "", "these messages are made by a template: write them out"
		}
		return text, ""
	}
	other := func(_ doc.Position, key, what string) { bad = fmt.Sprintf("a message: %s %s", key, what) }
	for i, m := range d.Root.Items() {
		only(m, "", other, "role", "content")
		role, content := m.Get("role").Text(), m.Get("content")
		switch {
		case role == "system" || role == "developer":
			return "", fmt.Sprintf("a message of the role %s: agents have their own system prompt. Write the text "+
				"into the message of the user, or into the file of instructions of a workspace", role)
		case role != "user":
			return "", fmt.Sprintf("a message of the role %q: the agent gives its own answers", role)
		case i > 0:
			return "", "several messages of the user at once: write them as one"
		}
		switch content.Kind() {
		case doc.String:
			question = content.Text()
		default:
			for _, part := range content.Items() {
				only(part, "content", other, "type", "text")
				if part.Get("type").Text() != "text" {
					return "", "a message with more than text"
				}
				question = strings.TrimPrefix(question+"\n"+part.Get("text").Text(), "\n")
			}
		}
	}
	return question, bad
}

// addTest adds the cases that a test becomes: one for each prompt and each choice among values that are lists.
func (r *promptfoo) addTest(t, scenario testCase) error {
	t = scenario.merge(t)
	common := r.defaults
	if t.own {
		common.asserts = nil
	}
	t = common.merge(t)
	asked := r.prompts
	if len(t.prompts) > 0 {
		asked = nil
		for _, p := range r.prompts {
			if slices.ContainsFunc(t.prompts, p.named) {
				asked = append(asked, p)
			}
		}
		for _, ref := range t.prompts {
			if !slices.ContainsFunc(r.prompts, func(p prompt) bool { return p.named(ref) }) {
				t.cannot(t.at, "prompts", fmt.Sprintf("%q is the label of no prompt", ref))
			}
		}
		if len(asked) == 0 {
			asked = r.prompts[:1] // it is a case, of which the problems are told
		}
	}
	vars := []map[string]any{maps.Clone(t.values())}
	if !t.fixed {
		for _, v := range t.vars {
			list, ok := v.value.([]any)
			if !ok {
				continue
			}
			var more []map[string]any
			for _, old := range vars {
				for _, value := range list {
					if len(more)+len(r.Cases) > maxCases {
						return errTooMany
					}
					one := maps.Clone(old)
					one[v.name] = value
					more = append(more, one)
				}
			}
			vars = more
		}
	}
	for _, values := range vars {
		for _, p := range asked {
			if len(r.Cases) == maxCases {
				return errTooMany
			}
			r.write(t, p, values)
		}
	}
	return nil
}

var errTooMany = errors.New("the suite has more than " + fmt.Sprint(maxCases) + " cases")

// write writes the case of a test and a prompt.
func (r *promptfoo) write(t testCase, p prompt, values map[string]any) {
	c := Case{Name: t.description, At: t.at, Graders: make(map[string]int), Mapped: true}
	if c.Name == "" {
		c.Name = fmt.Sprintf("test-%d", len(r.Cases)+1)
	}
	if len(r.prompts) > 1 && p.label != "" {
		c.Name += " " + p.label
	}
	c.ID = r.ids.next(c.Name)
	cannot := func(at doc.Position, key, what string) {
		c.Mapped = false
		r.cannot(at, c.ID, key, "%s", what)
	}
	for _, b := range t.bad {
		cannot(b.At, b.Key, b.What)
	}
	question, err := render(t.prefix+p.text+t.suffix, values)
	switch {
	case p.bad != "":
		c.Mapped = false
		r.cannot(p.at, "", "prompts", "%s", p.bad)
	case err != nil:
		cannot(p.at, "prompts", err.Error())
	case strings.TrimSpace(question) == "":
		cannot(p.at, "prompts", "the question is empty")
	}
	list := r.evaluations(t.asserts, values, c.Graders, t.threshold > 0, cannot)
	switch {
	case len(t.asserts) == 0:
		cannot(t.at, "assert", "nothing is expected of it, so it could not fail")
	case c.Mapped && !slices.ContainsFunc(list, func(e evaluation) bool { return !e.reports }):
		cannot(t.at, "assert", "every assertion has the weight 0, so it could not fail")
	}
	if t.threshold > 0 {
		list = []evaluation{{
			at: t.at, from: "threshold", kind: "composite", threshold: t.threshold,
			keys: doc.Pairs{{Key: "members", Value: r.pairs(members(list))}},
		}}
	}
	keys := doc.Pairs{}.With("note", t.description)
	r.add(c, append(keys, doc.Pair{Key: "question", Value: question}), list)
}

// members returns evaluations as members of a composite whose threshold decides: they have none of their own.
func members(list []evaluation) []evaluation {
	all := slices.DeleteFunc(slices.Clone(list), func(e evaluation) bool { return e.reports })
	for i := range all {
		all[i].threshold = 0
	}
	return all
}

// readProviders says which providers are left out.
func (r *promptfoo) readProviders() {
	for _, key := range []string{"providers", "targets"} {
		n := r.root.Get(key)
		var names []string
		all := n.Items()
		if n.Kind() == doc.String || n.Kind() == doc.Map {
			all = []*doc.Node{n}
		}
		for _, item := range all {
			name := cmp.Or(item.Text(), item.Get("id").Text())
			if entries := item.Entries(); name == "" && len(entries) > 0 {
				name, item = entries[0].Key, entries[0].Value
			}
			names = append(names, name)
			for _, key := range []string{"transform", "inputs"} {
				if at := item.Get(key); !empty(at) {
					r.cannot(at.Position(), "", "providers."+key,
						"what a provider answers is not changed before it is judged")
				}
			}
		}
		if len(names) > 0 {
			r.note(n.Position(), key, "%s left out, with what is set for them: the agents are of the kind %s",
				excerpt.Line(strings.Join(names, ", "), 200), r.Agent)
		}
	}
}

// readOptions reads how tests are run.
func (r *promptfoo) readOptions() {
	options := r.root.Get("evaluateOptions")
	only(options, "evaluateOptions", r.refuse, "repeat", "timeoutMs", "maxConcurrency", "delay", "cache",
		"showProgressBar", "generateSuggestions", "interactiveProviders", "eventSource")
	only(r.root.Get("commandLineOptions"), "commandLineOptions", r.refuse, "maxConcurrency", "delay", "cache",
		"verbose", "table", "tableCellMaxLength", "write", "watch", "share", "noShare", "progressBar", "envPath",
		"envFile", "output", "grader", "generateSuggestions", "description")
	if n := int(number(options.Get("repeat"), "evaluateOptions.repeat", 1, r.refuse)); n > 1 {
		r.run = append(r.run, doc.Pair{Key: "trials", Value: doc.Pairs{{Key: "count", Value: n}}})
	}
	if n := int(number(options.Get("timeoutMs"), "evaluateOptions.timeoutMs", 0, r.refuse)); n > 0 {
		limits := doc.Pairs{{Key: "timeout", Value: fmt.Sprintf("%dms", n)}}
		r.run = append(r.run, doc.Pair{Key: "limits", Value: limits})
	}
}
