package suite

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// testCase is a test of promptfoo, or what several have in common.
type testCase struct {
	at             doc.Position
	description    string
	vars           []variable
	asserts        []assertion
	prefix, suffix string
	threshold      float64
	prompts        []string  // which of them, as [prompt.named] has it; empty: all
	fixed          bool      // values that are lists are values
	own            bool      // without the assertions of defaultTest
	bad            []Problem // what cannot be honoured
}

// variable is a value for templates: what JSON can express.
type variable struct {
	name  string
	value any
}

// assertion is what promptfoo expects of an answer.
type assertion struct {
	at                doc.Position
	kind              string // with not-
	value, config     any
	weight, threshold *float64
	members           []assertion // of an assert-set
	bad               []Problem
}

// values returns the values by name.
func (t testCase) values() map[string]any {
	all := make(map[string]any, len(t.vars))
	for _, v := range t.vars {
		all[v.name] = v.value
	}
	return all
}

// merge returns the test with what over says besides and instead.
func (t testCase) merge(over testCase) testCase {
	m := over
	m.vars = slices.Clone(t.vars)
	for _, v := range over.vars {
		m.vars = slices.DeleteFunc(m.vars, func(old variable) bool { return old.name == v.name })
		m.vars = append(m.vars, v)
	}
	m.asserts = slices.Concat(t.asserts, over.asserts)
	m.bad = slices.Concat(t.bad, over.bad)
	if m.description == "" {
		m.description = t.description
	}
	if m.prefix == "" {
		m.prefix = t.prefix
	}
	if m.suffix == "" {
		m.suffix = t.suffix
	}
	if m.threshold == 0 {
		m.threshold = t.threshold
	}
	if m.prompts == nil {
		m.prompts = t.prompts
	}
	m.fixed, m.own = m.fixed || t.fixed, m.own || t.own
	return m
}

// cannot notes what cannot be honoured.
func (t *testCase) cannot(at doc.Position, key, what string) {
	t.bad = append(t.bad, Problem{At: at, Key: key, What: what})
}

var testKeys = []row{
	{"description", to("`id` and `note`")},
	{"vars", to("values of prompts and assertions; a list is a case for each of its values")},
	{"assert", to("`execution.evaluators`")},
	{"options", to("see below")},
	{"threshold", to("a `composite` with this threshold")},
	{"metadata", nothing},
	{"provider", to("nothing, which is told")},
	{"providers", to("nothing, which is told")},
	{"prompts", to("the prompts with these labels; `start*` is several. A label of none is an error")},
	{"config", nothing},
	{"providerOutput", no("the agent is asked: an answer that is given would judge nobody")},
	{"assertScoringFunction", no("a function that counts scores is not run")},
}

var testOptionKeys = []row{
	{"prefix", to("the start of `question`")},
	{"suffix", to("its end")},
	{"disableVarExpansion", to("lists are values")},
	{"disableDefaultAsserts", to("a case without those of `defaultTest`")},
	{"provider", to("nothing: models that judge are that of --judge-model")},
	{"runSerially", nothing},
	{"storeOutputAs", no("answers of one test are not given to another")},
	{"transform", no("what the agent answers is not changed before it is judged")},
	{"postprocess", no("what the agent answers is not changed before it is judged")},
	{"transformVars", no("a function that makes values is not run: write them out")},
	{"rubricPrompt", no("the judge's own prompt is used: write the evaluator llm_judge with your prompt")},
	{"conversationId", no("each case is a session of its own")},
	{"repeat", no("how often is said for the whole file, in evaluateOptions")},
	{"response_format", no("agents answer in no format that the client sets")},
}

// readTests reads the tests of a list, or of the files that a text names.
func (r *promptfoo) readTests(n *doc.Node, dir string, depth int) (all []testCase) {
	switch n.Kind() {
	case doc.String:
		return r.readTestFiles(n, n.Text(), dir, depth)
	case doc.List:
		for _, item := range n.Items() {
			if r.full(len(all)) {
				break
			}
			if item.Kind() == doc.String || item.Get("path") != nil {
				all = append(all, r.readTests(item, dir, depth)...)
			} else {
				all = append(all, r.readTest(item, dir))
			}
		}
	case doc.Map:
		if n.Get("path") != nil {
			r.cannot(n.Position(), "", "tests", "a program makes the tests: write them out")
			return nil
		}
		return []testCase{r.readTest(n, dir)}
	default:
		list(n, "tests", r.refuse)
	}
	return all
}

// readTestFiles reads the tests of files.
func (r *promptfoo) readTestFiles(n *doc.Node, text, dir string, depth int) (all []testCase) {
	cannot := func(format string, args ...any) { r.cannot(n.Position(), "", "tests", format, args...) }
	if depth > maxIncluded {
		cannot("files of tests name each other too deeply")
		return nil
	}
	name := strings.TrimPrefix(text, "file://")
	if kind, _, ok := strings.Cut(name, "://"); ok {
		cannot("tests of %s:// are not fetched", kind)
		return nil
	}
	files, err := r.glob(dir, name)
	if err != nil {
		cannot("%v", err)
		return nil
	}
	for _, file := range files {
		if r.full(len(all)) {
			break
		}
		switch strings.ToLower(filepath.Ext(file)) {
		case ".yaml", ".yml", ".json":
			root, err := r.load(dir, file)
			if err != nil {
				cannot("%v", err)
				continue
			}
			all = append(all, r.readTests(root, filepath.Dir(file), depth+1)...)
		case ".jsonl":
			all = append(all, r.readLines(n, file)...)
		case ".csv":
			all = append(all, r.readTable(n, file)...)
		default:
			cannot("a program or a table makes the tests of %s: write them out as YAML, JSON or CSV", r.shown(file))
		}
	}
	return all
}

// readLines reads tests of which each is a line of JSON.
func (r *promptfoo) readLines(n *doc.Node, file string) (all []testCase) {
	_, data, err := r.read(r.dir, file)
	if err != nil {
		r.cannot(n.Position(), "", "tests", "%v", err)
		return nil
	}
	for line, d := range jsonLines(file, data) {
		if len(all) == maxCases || line > maxEntries {
			r.cannot(n.Position(), "", "tests", "%s has more than %d tests", r.shown(file), maxCases)
			break
		}
		if problems, bad := errors.AsType[doc.Problems](d.Err()); bad {
			r.cannot(doc.Position{File: file, Line: line, Column: 1}, "", "tests", "%s", problems[0].Reason)
			continue
		}
		all = append(all, r.readTest(d.Root, filepath.Dir(file)))
	}
	return all
}

// readTest reads a test.
func (r *promptfoo) readTest(n *doc.Node, dir string) (t testCase) {
	t.at = n.Position()
	if n.Kind() != doc.Map {
		t.cannot(t.at, "tests", "must be a mapping")
		return t
	}
	r.fates(n, "", testKeys, t.cannot)
	t.description = n.Get("description").Text()
	for _, item := range list(n.Get("prompts"), "prompts", t.cannot) {
		t.prompts = append(t.prompts, item.Text())
	}
	if at := n.Get("prompts"); at.Kind() == doc.List && len(t.prompts) == 0 {
		t.cannot(at.Position(), "prompts", "promptfoo asks it no prompt: name one, or remove the test")
	}
	for _, key := range []string{"provider", "providers"} {
		if at := n.Get(key); !empty(at) {
			r.note(at.Position(), key, "left out: the agents are of the kind %s", r.Agent)
		}
	}
	if at := n.Get("threshold"); !empty(at) {
		var err error
		if t.threshold, err = strconv.ParseFloat(at.Text(), 64); err != nil || !(t.threshold >= 0 && t.threshold <= 1) {
			t.cannot(at.Position(), "threshold", "must be from 0 to 1")
		}
	}
	options := n.Get("options")
	mapping(options, "options", t.cannot)
	if options.Kind() == doc.Map {
		r.fates(options, "", testOptionKeys, t.cannot)
	}
	t.prefix, t.suffix = options.Get("prefix").Text(), options.Get("suffix").Text()
	t.fixed = !empty(options.Get("disableVarExpansion"))
	t.own = !empty(options.Get("disableDefaultAsserts"))
	vars := n.Get("vars")
	if name, ok := strings.CutPrefix(vars.Text(), "file://"); ok {
		root, err := r.load(dir, name)
		if err != nil {
			t.cannot(vars.Position(), "vars", err.Error())
		}
		vars = root
	}
	mapping(vars, "vars", t.cannot)
	for _, e := range vars.Entries() {
		value, err := r.value(e.Value.Value())
		if err != nil {
			t.cannot(e.Position, "vars."+e.Key, err.Error())
		}
		t.vars = append(t.vars, variable{e.Key, value})
	}
	for _, item := range r.listed(n.Get("assert"), "assert") {
		t.asserts = append(t.asserts, r.readAssert(item, 0))
	}
	return t
}

// value returns a value, and what is in the file that it names.
func (r *promptfoo) value(v any) (any, error) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			var err error
			if v[i], err = r.value(v[i]); err != nil {
				return nil, err
			}
		}
	case string:
		name, ok := strings.CutPrefix(v, "file://")
		if !ok {
			return v, nil
		}
		if strings.ContainsAny(name, "*?[{") {
			return nil, fmt.Errorf("%q names several files, or a template does: write them out", v)
		}
		switch strings.ToLower(filepath.Ext(name)) {
		case ".json", ".yaml", ".yml":
			root, err := r.load(r.dir, name)
			return root.Value(), err
		case ".txt", ".md", ".html", ".xml", ".csv", ".sql", ".log", ".diff", ".patch", "":
			_, data, err := r.read(r.dir, name)
			return strings.TrimSpace(string(data)), err
		default:
			return nil, fmt.Errorf("%q is a program, or no text: write out what it gives", v)
		}
	}
	return v, nil
}

var assertKeys = []row{
	{"type", to("`type`: see below")},
	{"value", to("what is looked for, with its values filled in")},
	{"threshold", to("`threshold`, or the bound")},
	{"weight", to("`weight`; 0: `required: false`")},
	{"metric", nothing},
	{"provider", to("nothing, which is told: models that judge are that of --judge-model")},
	{"config", to("`config` of a script; of others an error")},
	{"assert", to("`members` or `all` of a `composite`")},
	{"$ref", to("the template")},
	{"description", nothing},
	{"id", nothing},
	{"transform", no("what the agent answers is not changed before it is judged")},
	{"contextTransform", no("what the agent answers is not changed before it is judged")},
	{"rubricPrompt", no("the judge's own prompt is used: write the evaluator llm_judge with your prompt")},
	{"normalizeUnicode", no("texts are compared as they are")},
}

// readAssert reads an assertion.
func (r *promptfoo) readAssert(n *doc.Node, depth int) (a assertion) {
	a.at = n.Position()
	cannot := func(at doc.Position, key, what string) { a.bad = append(a.bad, Problem{At: at, Key: key, What: what}) }
	if ref := n.Get("$ref").Text(); ref != "" {
		name, ok := strings.CutPrefix(ref, "#/assertionTemplates/")
		found := r.templates.Get(name)
		if !ok || found == nil || depth > maxNesting {
			cannot(a.at, "$ref", fmt.Sprintf("%q is not among the assertionTemplates", ref))
			return a
		}
		n = found.Merge(n.Without("$ref"))
		if n.Get("$ref") != nil {
			cannot(a.at, "$ref", "a template refers to another one")
			return a
		}
	}
	r.fates(n, "", assertKeys, cannot)
	a.kind = n.Get("type").Text()
	for key, to := range map[string]**float64{"weight": &a.weight, "threshold": &a.threshold} {
		if at := n.Get(key); !empty(at) || at.Kind() == doc.Number {
			f, err := strconv.ParseFloat(at.Text(), 64)
			if err != nil || f < 0 {
				cannot(at.Position(), key, "must be a number that is not negative")
			}
			*to = &f
		}
	}
	a.value, a.config = n.Get("value").Value(), n.Get("config").Value()
	kind := strings.TrimPrefix(a.kind, "not-")
	if at := n.Get("config"); !empty(at) && kind != "javascript" && kind != "python" {
		cannot(at.Position(), "config", "only scripts are given one")
	}
	if at := n.Get("provider"); !empty(at) {
		r.note(at.Position(), a.kind+".provider", "the judge is the model of --judge-model")
	}
	if at := n.Get("threshold"); !empty(at) && strings.HasSuffix(kind, "g-eval") {
		r.note(at.Position(), a.kind+".threshold", "every criterion has to hold")
	}
	if text, ok := a.value.(string); ok && !(kind == "javascript" || kind == "python") {
		value, err := r.value(text)
		if err != nil {
			cannot(n.Get("value").Position(), "value", err.Error())
		}
		a.value = value
	}
	if depth > maxNesting {
		cannot(a.at, "assert", "sets of assertions are too deeply nested")
		return a
	}
	for _, item := range list(n.Get("assert"), "assert", cannot) {
		a.members = append(a.members, r.readAssert(item, depth+1))
	}
	return a
}

// readTable reads tests of which each is a row.
func (r *promptfoo) readTable(n *doc.Node, file string) (all []testCase) {
	_, data, err := r.read(r.dir, file)
	if err != nil {
		r.cannot(n.Position(), "", "tests", "%v", err)
		return nil
	}
	for row, err := range rows(data) {
		at := doc.Position{File: file, Line: row.line, Column: 1}
		if err == nil && len(all) == maxCases {
			err = fmt.Errorf("more than %d tests", maxCases)
		}
		if err != nil {
			r.cannot(at, "", "tests", "%v", err)
			break
		}
		all = append(all, r.readRow(at, row.head, row.cells))
	}
	return all
}

func (r *promptfoo) readRow(at doc.Position, head, row []string) testCase {
	t := testCase{at: at}
	if len(row) > len(head) {
		t.cannot(at, "tests", "the row has more columns than the first one")
		row = row[:len(head)]
	}
	for i, cell := range row {
		key := strings.TrimSpace(head[i])
		switch {
		case strings.HasPrefix(key, "__expected"):
			if cell = strings.TrimSpace(cell); cell != "" {
				a := expectedOf(cell)
				a.at = at
				t.asserts = append(t.asserts, a)
			}
		case key == "__prefix":
			t.prefix = cell
		case key == "__suffix":
			t.suffix = cell
		case key == "__description":
			t.description = cell
		case key == "__threshold":
			var err error
			if t.threshold, err = strconv.ParseFloat(strings.TrimSpace(cell), 64); err != nil && cell != "" {
				t.cannot(at, key, "must be a number")
			}
		case key == "__metric", strings.HasPrefix(key, "__metadata:"), key == "__provider", key == "__providers":
		case strings.HasPrefix(key, "__") && cell == "":
		case strings.HasPrefix(key, "__"):
			t.cannot(at, key, "this column is not known")
		default:
			t.vars = append(t.vars, variable{key, cell})
		}
	}
	return t
}

// expectedForm matches what a cell expects: an assertion's type, a threshold and a value.
var expectedForm = lazyregexp.New(`(?s)^((?:not-)?` +
	`(?:trajectory:[a-z-]+|similar:(?:cosine|dot|euclidean)|[a-z][a-z-]*))(?:\((\d+(?:\.\d+)?)\))?(?::(.*))?$`)

// scriptFile matches names of files that JavaScript or TypeScript is in.
var scriptFile = lazyregexp.New(`\.[cm]?[jt]sx?$`)

// expected returns the type, the threshold and the value of an assertion that a cell is short for: equals, of what is
// not known as a type.
func expected(cell string, known func(kind string) bool) (kind, threshold, value string) {
	for prefix, kind := range map[string]string{
		"fn:": "javascript", "eval:": "javascript", "javascript:": "javascript", "python:": "python",
		"grade:": "llm-rubric", "llm-rubric:": "llm-rubric",
	} {
		if rest, ok := strings.CutPrefix(cell, prefix); ok {
			return kind, "", strings.TrimSpace(rest)
		}
	}
	m := expectedForm.FindStringSubmatch(cell)
	if m == nil || !known(strings.TrimPrefix(m[1], "not-")) {
		return "equals", "", cell
	}
	return m[1], m[2], strings.TrimSpace(m[3])
}

// expectedOf returns the assertion that a cell is short for.
func expectedOf(cell string) assertion {
	if name, named := strings.CutPrefix(cell, "file://"); named {
		if script, _, _ := strings.Cut(name, ".py:"); strings.HasSuffix(script, ".py") || script != name {
			return assertion{kind: "python", value: cell}
		}
		if scriptFile.MatchString(name) {
			return assertion{kind: "javascript", value: cell}
		}
	}
	kind, least, value := expected(cell, func(kind string) bool {
		return assertTypes[kind] != nil || unmapped[kind] != ""
	})
	a := assertion{kind: kind, value: value}
	threshold := 0.75
	if least != "" {
		threshold, _ = strconv.ParseFloat(least, 64)
		a.threshold = &threshold
	} else if kind == "cost" || kind == "latency" || kind == "levenshtein" {
		a.threshold = &threshold
	}
	if a.value == "" {
		a.value = nil
	}
	return a
}
