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

// agentvFates say what types become, one row for those that become the same.
var agentvFates = []row{
	{
		"contains icontains contains-any icontains-any contains-all icontains-all starts-with ends-with equals regex",
		to("[`text`](evaluators.md#text), and `not-` before it the opposite"),
	},
	{"is-json", to("`text` with `json`")},
	{"llm-rubric", to("`llm_judge` with `rubrics` or a `prompt`")},
	{"script", to("a [`code_judge`](judges.md#judges-of-agentv) with `compat: agentv5`, or `agentv` with `evalcases`")},
	{"assert-set", to("[`composite`](evaluators.md#composite)")},
	{"execution-metrics latency cost token-usage", to("[`metrics`](evaluators.md#metrics); `max_llm_calls` and " +
		"`target_exploration_ratio` a `code_judge`")},
	{
		"trajectory:tool-used trajectory:tool-sequence trajectory:tool-args-match tool-trajectory",
		to("[`tool_trajectory`](trajectories.md#matchers)"),
	},
	{"skill-used", to("[`activation`](evaluators.md#activation)")},
	{"field-accuracy", to("[`field_accuracy`](evaluators.md#field_accuracy)")},
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
		to.weight = number(w, said+".weight", 0, c.refuse)
		to.reports = to.weight == 0
	}
	if t := first(n, "min_score", "threshold"); t != nil && kind != "latency" && kind != "cost" {
		threshold, err := strconv.ParseFloat(t.Text(), 64)
		if err != nil || threshold < 0 || threshold > 1 {
			c.cannot(t.Position(), said+".threshold", "must be a number from 0 to 1")
		}
		to.threshold, to.reports = threshold, to.reports || threshold == 0
	}
	switch required := n.Get("required"); {
	case required.Text() == "false":
		to.reports = true
	case required != nil && required.Text() != "true":
		c.cannot(required.Position(), said+".required", "must be true or false: a least score is min_score")
	}
	if n.Get("min_score") != nil {
		either(n, said, c.refuse, "min_score", "threshold")
	}
	either(n, said, c.refuse, "metric", "name", "id")
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
	if turn := c.early[n]; turn > 0 {
		checks, ok := to.keys[0].Value.([]doc.Pairs)
		if !ok || to.kind != "text" {
			c.cannot(n.Position(), "turns.assert", "only texts are looked for in a turn that is not the last: %q "+
				"judges the whole session", said)
			return to, false
		}
		for i := range checks {
			checks[i] = append(checks[i], doc.Pair{Key: "turn", Value: turn})
		}
	}
	return to, true
}

// only refuses other keys of an assertion than these, and those that all may have.
func (a *agentvClaim) only(names ...string) {
	only(a.Node, a.to.from, a.refuse, append(names, agentvCommon...)...)
}

// agentvCommon are the keys that all assertions have.
var agentvCommon = []string{
	"type", "metric", "name", "id", "weight", "threshold", "min_score", "required", "negate", "description",
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

func (a *agentvClaim) json() error {
	a.only()
	if a.not {
		return errors.New("its opposite is nothing that an evaluator says")
	}
	a.to.kind, a.to.keys = jsonCheck(a.to.name, "whole", nil)
	return nil
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
		if target.Kind() != doc.Bool && target.Kind() != doc.String {
			only(target, a.to.from+".provider", a.refuse, "max_calls")
		}
		if n := target.Get("max_calls"); n != nil {
			calls, err := strconv.Atoi(n.Text())
			if err != nil || calls < 0 {
				a.cannot(n.Position(), a.to.from+".provider.max_calls", "must be a number of calls")
			}
			p = append(p, doc.Pair{Key: "max_calls", Value: calls})
		}
		a.to.keys = append(a.to.keys, doc.Pair{Key: "target", Value: append(p, a.model()...)})
	}
	either(a.Node, a.to.from, a.refuse, "timeout", "timeout_seconds", "timeout_ms")
	for key, unit := range map[string]string{"timeout": "s", "timeout_seconds": "s", "timeout_ms": "ms"} {
		if n := number(a.Node.Get(key), a.to.from+"."+key, 0.001, a.refuse); n > 0 {
			a.to.keys = append(a.to.keys, doc.Pair{Key: "timeout", Value: strconv.FormatFloat(n, 'f', -1, 64) + unit})
		}
	}
	config := make(map[string]any)
	mapping(a.Node.Get("config"), a.to.from+".config", a.refuse)
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
	a.to.keys = a.to.keys.With("config", config)
	return nil
}

func (a *agentvClaim) set() error {
	a.only("assert", "assertions", "evaluators", "members", "aggregator")
	if n := a.Node.Get("aggregator"); n != nil {
		only(n, a.to.from+".aggregator", a.refuse, "type")
		if n.Get("type").Text() != "weighted_average" {
			return errors.New("aggregator: only weighted_average combines scores")
		}
	}
	of := []string{"assert", "assertions", "evaluators", "members"}
	either(a.Node, a.to.from, a.refuse, of...)
	key := "all"
	if first(a.Node, "min_score", "threshold") != nil || a.scored > 0 {
		key = "members"
		a.scored++
		defer func() { a.scored-- }()
	}
	var members []evaluation
	ids := 0
	for _, n := range list(first(a.Node, of...), a.to.from+".assert", a.refuse) {
		if n.Kind() == doc.String {
			ids++
			keys, err := a.rubricsOf(n)
			if err != nil {
				return err
			}
			a.graders["criteria"]++
			members = append(members, evaluation{
				at: n.Position(), from: "criteria", name: fmt.Sprintf("criteria-%d", ids), kind: "llm_judge",
				keys: append(a.model(), keys...),
			})
			continue
		}
		if to, ok := a.evaluation(n); ok {
			members = append(members, to)
		}
	}
	if len(members) == 0 {
		return errors.New("it has no assertions")
	}
	for i, m := range members {
		switch {
		case m.reports:
			a.cannot(m.at, a.to.from+".assert", "%s decides nothing: take it out of the set", m.name)
		case key == "members" && m.threshold > 0:
			a.note(m.at, a.to.from+".assert", "%s: in a set with a threshold its score counts, not whether it "+
				"reaches its own", m.name)
			members[i].threshold = 0
		case key == "all" && m.weight > 0 && m.weight != 1:
			a.note(m.at, a.to.from+".assert.weight", "all assertions of a set without threshold have to hold")
			members[i].weight = 0
		}
	}
	a.to.kind, a.to.keys = "composite", doc.Pairs{{Key: key, Value: a.pairs(members)}}
	return nil
}
