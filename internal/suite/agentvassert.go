package suite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/words"
)

// agentvClaim is an assertion of a case, to be written.
type agentvClaim struct {
	*agentvCase
	*doc.Node
	kind string // without not-
	not  bool
	own  string // the script of a type of the user's own, absolute
	to   *evaluation
}

// agentvNames are other names of types.
var agentvNames = map[string]string{
	"code-judge": "script", "code-grader": "script", "script-grader": "script", "llm-judge": "llm-rubric",
	"llm-grader": "llm-rubric", "rubrics": "llm-rubric", "composite": "assert-set", "starts_with": "starts-with",
}

// agentvTypes returns what writes assertions, by type without not-.
func agentvTypes() map[string]func(c *agentvClaim) error {
	return map[string]func(c *agentvClaim) error{
		"contains": (*agentvClaim).texts, "icontains": (*agentvClaim).texts, "contains-any": (*agentvClaim).texts,
		"icontains-any": (*agentvClaim).texts, "contains-all": (*agentvClaim).texts,
		"icontains-all": (*agentvClaim).texts, "starts-with": (*agentvClaim).texts, "ends-with": (*agentvClaim).texts,
		"equals": (*agentvClaim).texts, "regex": (*agentvClaim).regex, "is-json": (*agentvClaim).json,
		"llm-rubric": (*agentvClaim).rubric, "script": (*agentvClaim).script, "assert-set": (*agentvClaim).set,
		"execution-metrics": (*agentvClaim).metrics, "latency": (*agentvClaim).metrics, "cost": (*agentvClaim).metrics,
		"token-usage": (*agentvClaim).metrics, "trajectory:tool-used": (*agentvClaim).toolUsed,
		"trajectory:tool-sequence": (*agentvClaim).toolSequence, "tool-trajectory": (*agentvClaim).trajectory,
		"trajectory:tool-args-match": (*agentvClaim).toolArgs, "skill-used": (*agentvClaim).skillUsed,
		"field-accuracy": (*agentvClaim).fields,
	}
}

// evaluations returns the evaluators that assertions become, and counts them. Texts are left for one judge.
func (c *agentvCase) evaluations(list []*doc.Node) (all []evaluation) {
	for _, n := range list {
		if n.Kind() == doc.String {
			c.criteria = append(c.criteria, c.render(n, "assert"))
			c.graders["criteria"]++
			continue
		}
		if to, ok := c.evaluation(n); ok {
			all = append(all, to)
		}
	}
	return all
}

func (c *agentvCase) evaluation(n *doc.Node) (evaluation, bool) {
	said := first(n, "type").Text()
	kind, not := strings.CutPrefix(strings.ReplaceAll(said, "_", "-"), "not-")
	if other := agentvNames[kind]; other != "" {
		kind = other
	}
	to := evaluation{at: n.Position(), from: said, name: first(n, "metric", "name", "id").Text()}
	if to.name == "" {
		to.name = strings.ReplaceAll(said, ":", "-")
	}
	write := agentvTypes()[kind]
	own := ""
	if write == nil && said != "" && filepath.Base(said) == said {
		for _, ext := range []string{".ts", ".js", ".mjs", ".py"} {
			if file, err := c.find(c.agentv.dir, ".agentv/assertions/"+said+ext); err == nil && own == "" {
				own, write = file, (*agentvClaim).script
			}
		}
	}
	if write == nil {
		c.graders["?"]++
		c.cannot(n.Position(), "assert", "the type %q is not known: write a code_judge", said)
		return to, false
	}
	c.graders[said]++
	if w := n.Get("weight"); w != nil {
		weight, err := strconv.ParseFloat(w.Text(), 64)
		if err != nil || weight < 0 {
			c.cannot(w.Position(), said+".weight", "must be a number, at least 0")
		}
		to.weight, to.reports = weight, weight == 0
	}
	if t := first(n, "min_score", "threshold"); t != nil && kind != "latency" && kind != "cost" {
		threshold, err := strconv.ParseFloat(t.Text(), 64)
		if err != nil || threshold < 0 || threshold > 1 {
			c.cannot(t.Position(), said+".threshold", "must be a number from 0 to 1")
		}
		to.threshold, to.reports = threshold, to.reports || threshold == 0
	}
	if n.Get("required").Text() == "false" {
		to.reports = true
	}
	claim := &agentvClaim{
		agentvCase: c, Node: n, kind: kind, not: not != (n.Get("negate").Text() == "true"), to: &to, own: own,
	}
	if err := write(claim); err != nil {
		c.cannot(n.Position(), said, "%v", err)
		return to, false
	}
	if claim.not && to.kind != "text" && to.kind != "tool_trajectory" && to.kind != "activation" {
		c.cannot(n.Position(), said, "its opposite is nothing that an evaluator says")
		return to, false
	}
	return to, true
}

// only refuses other keys of an assertion than these, and those that all may have.
func (a *agentvClaim) only(names ...string) {
	known := map[string]string{
		"type": "", "metric": "", "name": "", "id": "", "weight": "", "threshold": "", "min_score": "", "required": "",
		"negate": "", "description": "",
	}
	for _, name := range names {
		known[name] = ""
	}
	keys(a.Node, known, func(at doc.Position, key, what string) { a.cannot(at, a.to.from+"."+key, "%s", what) })
}

// values returns the value as texts with the values of the test.
func (a *agentvClaim) list() ([]string, error) {
	n := a.Node.Get("value")
	if n == nil {
		return nil, errNoValue
	}
	items := n.Items()
	if n.Kind() != doc.List {
		items = []*doc.Node{n}
	}
	var all []string
	for _, item := range items {
		if item.Kind() == doc.Map || item.Kind() == doc.List {
			return nil, errors.New("value: must be a text, or a list of texts")
		}
		text := a.render(item, a.kind+".value")
		if text == "" {
			return nil, errors.New("value: an empty text is in every answer")
		}
		all = append(all, text)
	}
	if len(all) == 0 {
		return nil, errNoValue
	}
	return all, nil
}

func (a *agentvClaim) texts() error {
	a.only("value")
	list, err := a.list()
	if err != nil {
		return err
	}
	kind, folded := strings.CutPrefix(a.kind, "i")
	flags := ""
	if folded {
		flags = "(?i)"
	}
	quoted := make([]string, len(list))
	for i, text := range list {
		quoted[i] = regexp.QuoteMeta(text)
	}
	alone := len(list) == 1
	key, patterns := "matches", quoted
	switch {
	case kind == "contains-any" && !alone && !a.not:
		patterns = []string{"(?:" + strings.Join(quoted, "|") + ")"}
	case kind == "starts-with" && alone:
		patterns = []string{`\A` + quoted[0]}
	case kind == "ends-with" && alone:
		patterns = []string{quoted[0] + `\z`}
	case kind == "equals" && alone:
		patterns = []string{`\A\s*` + regexp.QuoteMeta(strings.TrimSpace(list[0])) + `\s*\z`}
	case kind == "contains-all" && a.not && !alone:
		return errors.New("that one of several texts is missing is nothing that an evaluator says")
	case !strings.HasPrefix(kind, "contains"), kind == "contains" && !alone:
		return errors.New("value: must be one text")
	case !folded:
		key, patterns = "contains", list
	}
	if key == "matches" {
		for i := range patterns {
			patterns[i] = flags + patterns[i]
		}
	}
	a.text(key, patterns...)
	return nil
}

// text writes an evaluator of the answer.
func (a *agentvClaim) text(key string, patterns ...string) {
	if a.not {
		key = "not_" + key
	}
	a.to.kind, a.to.keys = check(a.to.name, key, patterns...)
}

func (a *agentvClaim) regex() error {
	a.only("value", "flags")
	list, err := a.list()
	if err != nil {
		return err
	}
	for i, text := range list {
		if list[i], err = expression("value", text, a.Node.Get("flags").Text()); err != nil {
			return err
		}
	}
	a.text("matches", list...)
	return nil
}

// isJSON is a judge, in Python.
const isJSON = `import json, sys
try:
    json.loads(json.load(sys.stdin)["candidate_answer"])
    print(json.dumps({"pass": True, "reason": "the answer is JSON"}))
except ValueError as e:
    print(json.dumps({"pass": False, "reason": "the answer is no JSON: %s" % e}))
`

func (a *agentvClaim) json() error {
	a.only()
	a.to.kind, a.to.keys = "code_judge", doc.Pairs{{Key: "script", Value: []string{"python3", "-c", isJSON}}}
	return nil
}

// agentvVariables are the variables of prompts that judge, as ours are called.
var agentvVariables = map[string]string{
	"output": "candidate_answer", "answer": "candidate_answer", "candidate_answer": "candidate_answer",
	"input": "question", "question": "question", "criteria": "expected_outcome", "outcome": "expected_outcome",
	"expected_outcome": "expected_outcome", "expected_output": "reference_answer",
	"reference_answer": "reference_answer", "messages": "output_messages", "output_messages": "output_messages",
	"input_messages": "input_messages", "expected_messages": "expected_messages", "file_changes": "file_changes",
	"tool_calls": "tool_calls",
}

var variableIn = lazyregexp.New(`\{\{\s*([^{}]*?)\s*\}\}`)

func (a *agentvClaim) rubric() error {
	a.only("value", "prompt", "rubrics", "criteria", "target", "provider", "model", "temperature", "max_steps",
		"config")
	for _, name := range []string{"target", "provider", "model", "temperature", "max_steps"} {
		if n := a.Node.Get(name); n != nil {
			a.note(n.Position(), a.to.from+"."+name, "the judge is the model of --judge-model, by default gpt-4.1")
		}
	}
	a.to.kind, a.to.keys = "llm_judge", a.model()
	prompt, err := a.prompt()
	if err != nil {
		return err
	}
	a.to.keys = append(a.to.keys, prompt...)
	if n := first(a.Node, "value", "rubrics", "criteria"); n != nil {
		rubrics, err := a.rubricsOf(n)
		if err != nil {
			return err
		}
		a.to.keys = append(a.to.keys, rubrics...)
	}
	return nil
}

// runners are the programs that run scripts, by extension.
var runners = map[string]string{".ts": "bun", ".js": "node", ".mjs": "node", ".py": "python3"}

// prompt returns the key that says what a judge is asked.
func (a *agentvClaim) prompt() (doc.Pairs, error) {
	n := a.Node.Get("prompt")
	if n == nil {
		return nil, nil
	}
	var command []string
	dir := filepath.Dir(n.Position().File)
	text := n.Text()
	switch {
	case n.Kind() == doc.Map:
		for _, item := range first(n, "command", "script").Items() {
			command = append(command, item.Text())
		}
	case n.Kind() != doc.String:
		return nil, errors.New("prompt: must be a text, a file or a script")
	case runners[filepath.Ext(text)] != "":
		command = []string{runners[filepath.Ext(text)], text}
	case strings.HasPrefix(text, "file://") || !strings.Contains(text, "\n") && filepath.Ext(text) == ".md":
		own, err := a.agentv.text(dir, text)
		if err != nil {
			return nil, fmt.Errorf("prompt: %w", err)
		}
		text = own
	}
	if command != nil || n.Kind() == doc.Map {
		argv, err := a.argv(command, dir, true)
		if err != nil {
			return nil, fmt.Errorf("prompt: %w", err)
		}
		p := doc.Pairs{{Key: "script", Value: argv}}
		if config := first(n, "config"); config != nil {
			p = append(p, doc.Pair{Key: "config", Value: config.Value()})
		}
		return doc.Pairs{{Key: "prompt", Value: p}, {Key: "compat", Value: a.compat()}}, nil
	}
	var failed error
	text = variableIn.ReplaceAllStringFunc(text, func(part string) string {
		name := strings.TrimSpace(strings.Trim(part, "{}"))
		if ours := agentvVariables[name]; ours != "" {
			return "{{" + ours + "}}"
		}
		v, err := render(part, a.agentvCase.values)
		if err != nil {
			failed = fmt.Errorf("prompt: %w", err)
		}
		return v
	})
	return doc.Pairs{{Key: "prompt", Value: text}}, failed
}

// rubricsOf returns the key with rubrics: texts, or mappings.
func (c *agentvCase) rubricsOf(n *doc.Node) (doc.Pairs, error) {
	items := n.Items()
	if n.Kind() != doc.List {
		items = []*doc.Node{n}
	}
	var list []doc.Pairs
	for i, item := range items {
		id, text := fmt.Sprintf("rubric-%d", i+1), item
		if item.Kind() == doc.Map {
			keys(item, map[string]string{
				"id": "", "outcome": "", "text": "", "description": "", "criteria": "", "weight": "", "required": "",
				"min_score": "", "score_ranges": "", "required_min_score": "", "operator": "",
			}, func(at doc.Position, key, what string) { c.cannot(at, "llm-rubric.value."+key, "%s", what) })
			if own := item.Get("id").Text(); own != "" {
				id = ident(own)
			}
			text = first(item, "outcome", "text", "description", "criteria")
		}
		said := strings.TrimSpace(c.render(text, "llm-rubric.value"))
		switch operator := item.Get("operator").Text(); operator {
		case "", "correctness":
		case "contradiction":
			said = "The answer does not contradict this: " + said
		default:
			return nil, fmt.Errorf("value.operator: %q is not known", operator)
		}
		ranges := item.Get("score_ranges")
		if said == "" {
			if said = id; ranges == nil {
				return nil, errors.New("value: a rubric says nothing")
			}
		}
		p := doc.Pairs{{Key: "id", Value: id}, {Key: "text", Value: said + "\n"}}
		if w, err := strconv.ParseFloat(item.Get("weight").Text(), 64); err == nil && w > 0 && w != 1 {
			p = append(p, doc.Pair{Key: "weight", Value: w})
		}
		if ranges != nil {
			more, err := scoreRanges(ranges, first(item, "min_score", "required_min_score"))
			if err != nil {
				return nil, err
			}
			p = append(p, more...)
		} else if item.Get("required").Text() != "false" && item.Kind() == doc.Map {
			p = append(p, doc.Pair{Key: "required", Value: true})
		}
		list = append(list, p)
	}
	if len(list) == 0 {
		return nil, errNoValue
	}
	return doc.Pairs{{Key: "rubrics", Value: list}}, nil
}

// scoreRanges returns the keys for ranges of scores: a mapping from the lowest score of each, or a list.
func scoreRanges(n, least *doc.Node) (doc.Pairs, error) {
	var list []doc.Pairs
	type bound struct {
		from int
		text string
	}
	var bounds []bound
	for _, e := range n.Entries() {
		from, err := strconv.Atoi(e.Key)
		if err != nil || from < 0 || from > 10 {
			return nil, fmt.Errorf("score_ranges: %q is no score from 0 to 10", e.Key)
		}
		bounds = append(bounds, bound{from, e.Value.Text()})
	}
	slices.SortFunc(bounds, func(a, b bound) int { return a.from - b.from })
	for i, b := range bounds {
		to := 10
		if i < len(bounds)-1 {
			to = bounds[i+1].from - 1
		}
		list = append(list, doc.Pairs{{Key: "range", Value: []int{b.from, to}}, {Key: "text", Value: b.text}})
	}
	for _, item := range n.Items() {
		list = append(list, doc.Pairs{
			{Key: "range", Value: first(item, "score_range", "range").Value()},
			{Key: "text", Value: first(item, "outcome", "text", "description").Text()},
		})
	}
	p := doc.Pairs{{Key: "score_ranges", Value: list}}
	if least != nil {
		score, err := strconv.ParseFloat(least.Text(), 64)
		if err != nil {
			return nil, errors.New("min_score: must be a number")
		}
		if score <= 1 {
			score *= 10
		}
		p = append(p, doc.Pair{Key: "required_min_score", Value: int(score + 0.999)})
	}
	return p, nil
}

func (c *agentvCase) compat() string {
	if c.old {
		return "agentv"
	}
	return "agentv5"
}

// argv returns the words of a command, of which the file is named from the playbook's directory.
func (c *agentvCase) argv(command []string, dir string, needsFile bool) ([]string, error) {
	argv := slices.Clone(command)
	if len(argv) == 0 || argv[0] == "" {
		return nil, errors.New("command: must be a list, first the program")
	}
	var missing error
	for i, word := range argv {
		if strings.HasPrefix(word, "-") || strings.ContainsAny(word, " \t\n") ||
			!strings.ContainsAny(word, "/.") || i == 0 && !strings.Contains(word, "/") {
			continue
		}
		file, err := word, error(nil)
		if !filepath.IsAbs(word) || c.tree.Check(word) != nil {
			file, err = c.find(dir, word)
		}
		if err == nil {
			if argv[i] = c.out(file); !strings.Contains(argv[i], "/") {
				argv[i] = "./" + argv[i]
			}
			return argv, nil
		}
		missing = err
	}
	if missing == nil && needsFile {
		missing = errors.New("no word of it names a file")
	}
	return argv, missing
}

func (a *agentvClaim) script() error {
	known := []string{"command", "script", "cwd", "provider", "target", "timeout", "timeout_seconds", "timeout_ms"}
	n := first(a.Node, "command", "script")
	var command []string
	for _, item := range n.Items() {
		command = append(command, item.Text())
	}
	if n.Kind() == doc.String {
		var err error
		if command, err = words.Split(n.Text()); err != nil {
			return fmt.Errorf("command: %w", err)
		}
	}
	dir := filepath.Dir(a.Node.Position().File)
	cwd := dir
	if own := a.Node.Get("cwd"); own != nil {
		var err error
		if cwd, err = a.find(dir, own.Text()); err != nil {
			return fmt.Errorf("cwd: %w", err)
		}
		if info, err := os.Stat(cwd); err != nil || !info.IsDir() {
			return fmt.Errorf("cwd: %q is no directory", own.Text())
		}
	}
	if a.own != "" {
		command = []string{runners[filepath.Ext(a.own)], a.own}
	}
	argv, err := a.argv(command, cwd, false)
	if err != nil {
		return fmt.Errorf("command: %w", err)
	}
	a.to.kind = "code_judge"
	a.to.keys = doc.Pairs{
		{Key: "script", Value: argv}, {Key: "cwd", Value: a.out(cwd)}, {Key: "compat", Value: a.compat()},
	}
	if target := first(a.Node, "provider", "target"); target != nil {
		p := doc.Pairs{}
		if calls, err := strconv.Atoi(target.Get("max_calls").Text()); err == nil {
			p = append(p, doc.Pair{Key: "max_calls", Value: calls})
		}
		model := a.JudgeModel
		if model == "" {
			model = defaultJudge
		}
		a.to.keys = append(a.to.keys, doc.Pair{Key: "target", Value: append(p, doc.Pair{Key: "model", Value: model})})
	}
	for key, unit := range map[string]string{"timeout": "s", "timeout_seconds": "s", "timeout_ms": "ms"} {
		if n, err := strconv.Atoi(a.Node.Get(key).Text()); err == nil && n > 0 {
			a.to.keys = append(a.to.keys, doc.Pair{Key: "timeout", Value: strconv.Itoa(n) + unit})
		}
	}
	config := make(map[string]any)
	if own, ok := a.Node.Get("config").Value().(map[string]any); ok {
		config = own
	}
	for _, e := range a.Node.Entries() { // AgentV hands on what it does not know
		if !slices.Contains(known, e.Key) && !slices.Contains([]string{
			"type", "metric", "name", "id", "weight", "min_score", "threshold", "required", "negate", "config",
		}, e.Key) {
			config[e.Key] = e.Value.Value()
		}
	}
	if len(config) > 0 {
		a.to.keys = append(a.to.keys, doc.Pair{Key: "config", Value: config})
	}
	return nil
}

// defaultJudge is the model of judges that ask one, if no other is named.
const defaultJudge = "gpt-4.1"

func (a *agentvClaim) set() error {
	a.only("assert", "assertions", "evaluators", "members", "aggregator")
	if n := a.Node.Get("aggregator"); n != nil && n.Get("type").Text() != "weighted_average" {
		return errors.New("aggregator: only weighted_average combines scores")
	}
	var list []evaluation
	ids := 0
	for _, n := range first(a.Node, "assert", "assertions", "evaluators", "members").Items() {
		if n.Kind() == doc.String {
			ids++
			keys, err := a.rubricsOf(n)
			if err != nil {
				return err
			}
			a.graders["criteria"]++
			list = append(list, evaluation{
				at: n.Position(), from: "criteria", name: fmt.Sprintf("criteria-%d", ids), kind: "llm_judge",
				keys: append(a.model(), keys...),
			})
			continue
		}
		if to, ok := a.evaluation(n); ok {
			list = append(list, to)
		}
	}
	if len(list) == 0 {
		return errors.New("it has no assertions")
	}
	key := "all"
	if a.Node.Get("threshold") != nil {
		key = "members"
	}
	for i := range list {
		if list[i].reports = false; key == "members" {
			list[i].threshold = 0 // the score counts
		} else {
			list[i].weight = 0
		}
	}
	a.to.kind, a.to.keys = "composite", doc.Pairs{{Key: key, Value: a.pairs(list)}}
	return nil
}
