package suite

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// agentvCase is a test with one prompt.
type agentvCase struct {
	*agentv
	agentvTest
	values   map[string]any
	name     string
	criteria []string
	graders  map[string]int
	bad      bool
	early    map[*doc.Node]int // turns, from 1, of assertions that are not about the last one
	scored   int               // sets around an assertion that have a threshold: they take its score
}

func (c *agentvCase) cannot(at doc.Position, key, what string, args ...any) {
	c.bad = true
	c.agentv.cannot(at, c.name, key, what, args...)
}

// refuse is cannot, as what checks keys calls it.
func (c *agentvCase) refuse(at doc.Position, key, what string) { c.cannot(at, key, "%s", what) }

// said is one of those that an agent is asked, or that it should say.
type said struct {
	role, text string
	calls      any
}

// addTest adds a test, with each of the prompts.
func (r *agentv) addTest(t agentvTest) {
	prompts := r.prompts
	if len(prompts) == 0 {
		prompts = []agentvPrompt{{}}
	}
	for _, p := range prompts {
		r.addCase(t, p)
	}
}

func (r *agentv) addCase(t agentvTest, p agentvPrompt) {
	c := &agentvCase{
		agentv: r, agentvTest: t, values: r.values(t), graders: make(map[string]int),
		early: make(map[*doc.Node]int),
	}
	if c.name = first(t.Node, "id", "name").Text(); c.name == "" {
		c.name = t.id
	}
	if p.id != "" {
		c.name += "-" + p.id
	}
	id := r.ids.next(c.name)
	if t.Kind() != doc.Map {
		c.cannot(t.Position(), "tests", "must be a mapping")
	}
	r.fates(t.Node, "", agentvTestKeys, c.refuse)
	for _, names := range [][]string{
		{"turns", "input", "input_messages", "question"},
		{"criteria", "expected_outcome", "outcome"},
		{"expected_output", "expected_messages", "reference_answer"},
		{"assert", "assertions"},
	} {
		either(t.Node, "", c.refuse, names...)
	}
	for _, n := range []*doc.Node{r.root, r.defaults, t.Node} {
		mapping(n.Get("vars"), "vars", c.refuse)
	}
	r.options(t.Node, c.refuse)
	out := c.asked(p)
	list := c.assertions()
	out = append(out.With("expected_outcome", c.outcome()), c.expected()...)
	if len(list) == 0 && !c.bad {
		if c.outcome() == "" {
			c.cannot(t.Position(), "assert", "nothing is expected: a case that expects nothing cannot fail")
		}
		list = []evaluation{{at: t.Position(), from: "criteria", name: "criteria", kind: "llm_judge", keys: c.model()}}
		c.graders["criteria"]++
	}
	r.add(Case{Name: c.name, ID: id, At: t.Position(), Graders: c.graders, Mapped: !c.bad}, out, list)
}

// asked returns the keys that say what the agent is asked.
func (c *agentvCase) asked(p agentvPrompt) doc.Pairs {
	turns := first(c.Node, "turns")
	switch {
	case p.bad:
		c.bad = true
		return nil
	case turns != nil && p.template != nil && !p.inputAlone():
		c.cannot(turns.Position(), "turns",
			"its turns are asked, and not the prompts of the suite: write these into them")
	}
	if turns != nil {
		return c.turns(turns)
	}
	from, dir := c.input(), c.dir
	switch {
	case p.template == nil || from != nil && p.inputAlone():
	case !p.inputAlone():
		if from.Kind() == doc.List {
			c.cannot(from.Position(), "input", "a prompt takes a text, not messages")
		}
		from, dir = p.template, p.dir
	default:
		if from, dir = c.Get("vars").Get("input"), c.dir; from == nil {
			if from, dir = c.defaults.Get("vars").Get("input"), c.agentv.dir; from == nil {
				from = c.root.Get("input")
			}
		}
	}
	if from == nil {
		from = c.Get("vars").Get("input")
	}
	if from == nil {
		c.cannot(c.Position(), "input", "nothing is asked")
		return nil
	}
	messages := c.first(c.messages(from, dir, "input"))
	text := strings.TrimSpace(conversation(messages))
	if text == "" {
		c.cannot(from.Position(), "input", "nothing is asked")
	}
	for _, m := range messages {
		if m.role != "user" {
			c.note(from.Position(), "input",
				"agents have a system prompt of their own: what a message of the role %s says is a part of the "+
					"question", m.role)
		}
	}
	return doc.Pairs{{Key: "question", Value: text + "\n"}}
}

// first returns the messages that a conversation begins with, after what the suite says to all.
func (c *agentvCase) first(messages []said) []said {
	if system := c.root.Get("defaults").Get("system_message"); system != nil {
		return append([]said{{role: "system", text: c.render(system, "defaults.system_message")}}, messages...)
	}
	return messages
}

// conversation returns messages as one prompt. If they are more than instructions and a question, each has a title.
func conversation(messages []said) string {
	titled := false
	for _, m := range messages {
		titled = titled || m.role != "user" && m.role != "system"
	}
	var parts []string
	for _, m := range messages {
		text := strings.TrimRight(m.text, "\n")
		if titled {
			text = "[" + m.role + "]\n" + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n\n")
}

// turns returns the messages of a conversation, and adds what is expected of its turns.
func (c *agentvCase) turns(n *doc.Node) doc.Pairs {
	var sent []doc.Pairs
	switch a := first(c.Node, "aggregation"); a.Text() {
	case "":
	case "mean", "min":
		c.note(a.Position(), "aggregation", "what is expected of every turn has to hold")
	default:
		c.cannot(a.Position(), "aggregation", "%q: what is expected of every turn has to hold", a.Text())
	}
	switch f := first(c.Node, "on_turn_failure"); f.Text() {
	case "", "continue":
	case "stop":
		c.note(f.Position(), "on_turn_failure", "the agent is asked all turns: a failed one fails the case")
	default:
		c.cannot(f.Position(), "on_turn_failure", "%q is not known", f.Text())
	}
	for i, turn := range n.Items() {
		keys(turn, map[string]string{
			"input": "", "assert": "", "assertions": "", "id": "",
			"expected_output": "a judge sees no answer to compare one turn with: write what it has to say into assert",
			"criteria":        "write it into assert",
		}, func(at doc.Position, key, what string) { c.refuse(at, strings.TrimRight("turns."+key, "."), what) })
		either(turn, "turns", c.refuse, "assert", "assertions")
		messages := c.messages(turn.Get("input"), c.dir, "turns.input")
		if i == 0 {
			messages = c.first(messages)
		}
		text := strings.TrimSpace(conversation(messages))
		if text == "" {
			c.cannot(turn.Position(), "turns", "nothing is asked")
		}
		sent = append(sent, doc.Pairs{{Key: "role", Value: "user"}, {Key: "content", Value: text + "\n"}})
		for _, a := range list(first(turn, "assert", "assertions"), "turns.assert", c.refuse) {
			if a.Kind() == doc.String {
				c.criteria = append(c.criteria, fmt.Sprintf("Turn %d: %s", i+1, c.render(a, "turns.assert")))
				c.graders["criteria"]++
			} else if i < len(n.Items())-1 {
				c.early[a] = i + 1
			}
		}
	}
	if len(sent) == 0 {
		c.cannot(n.Position(), "turns", "must be a list of turns")
	}
	return doc.Pairs{{Key: "input_messages", Value: sent}}
}

// render returns a text with the values of the test.
func (c *agentvCase) render(n *doc.Node, key string) string {
	text, err := render(n.Text(), c.values)
	if err != nil {
		c.cannot(n.Position(), key, "%v", err)
	}
	return text
}

// messages returns those of a list, or of a text.
func (c *agentvCase) messages(n *doc.Node, dir, key string) (all []said) {
	switch n.Kind() {
	case doc.List:
		for _, item := range n.Items() {
			known := []string{"role", "content", "tool_calls"}
			if name := item.Get("name"); name != nil && key == "expected_output" {
				c.note(name.Position(), key+".name", "judges read roles, not names")
				known = append(known, "name")
			}
			only(item, key, c.refuse, known...)
			if calls := item.Get("tool_calls"); !empty(calls) && key != "expected_output" {
				c.cannot(calls.Position(), key+".tool_calls", "the agent calls tools itself: write what it is told")
			}
			role := item.Get("role").Text()
			if !strings.Contains(" user system assistant tool ", " "+role+" ") || role == "" {
				c.cannot(item.Position(), key+".role", "%q is not a role of AgentV", role)
			}
			all = append(all, said{role, c.content(item.Get("content"), dir, key), item.Get("tool_calls").Value()})
		}
	case doc.Invalid, doc.Null:
	default:
		all = []said{{"user", c.content(n, dir, key), nil}}
	}
	return all
}

// content returns what a message says, with the texts of its files.
func (c *agentvCase) content(n *doc.Node, dir, key string) string {
	switch n.Kind() {
	case doc.String:
		return c.render(n, key)
	case doc.List:
		var parts []string
		for _, item := range n.Items() {
			if item.Kind() == doc.Map {
				only(item, key, c.refuse, "type", "value", "text", "path")
				either(item, key, c.refuse, "value", "text", "path")
			}
			value := first(item, "value", "text", "path")
			switch kind := item.Get("type").Text(); {
			case item.Kind() == doc.String:
				parts = append(parts, c.render(item, key))
			case kind == "text":
				parts = append(parts, c.render(value, key))
			case kind == "file":
				text, err := c.text(dir, value.Text())
				if err != nil {
					c.cannot(item.Position(), key, "%v", err)
				}
				text = strings.TrimRight(text, "\n")
				parts = append(parts, fmt.Sprintf("<file path=%q>\n%s\n</file>", value.Text(), text))
			default:
				c.cannot(item.Position(), key, "content of the type %q is not sent to agents", kind)
			}
		}
		return strings.Join(parts, "\n\n")
	case doc.Invalid, doc.Null:
		return ""
	default:
		return jsonvalue.Compact(n.Value())
	}
}

// expected returns the keys that say what a good session says.
func (c *agentvCase) expected() doc.Pairs {
	n := first(c.Node, "expected_output", "expected_messages", "reference_answer")
	if n == nil {
		n = first(c.Get("vars"), "expected_output")
	}
	if n == nil {
		return nil
	}
	if n.Kind() != doc.List {
		return doc.Pairs{{Key: "reference_answer", Value: c.content(n, c.dir, "expected_output")}}
	}
	var all []doc.Pairs
	for _, m := range c.messages(n, c.dir, "expected_output") {
		p := doc.Pairs{{Key: "role", Value: m.role}, {Key: "content", Value: m.text}}
		if m.calls != nil {
			p = append(p, doc.Pair{Key: "tool_calls", Value: m.calls})
		}
		all = append(all, p)
	}
	return doc.Pairs{{Key: "expected_messages", Value: all}}
}

// outcome returns what a good session achieves.
func (c *agentvCase) outcome() string {
	if n := first(c.Node, "criteria", "expected_outcome", "outcome"); n != nil {
		return c.render(n, "criteria")
	}
	return strings.Join(c.criteria, "\n")
}

// assertions returns the evaluators of the case: its own, and those of all unless it says otherwise.
func (c *agentvCase) assertions() []evaluation {
	execution := c.Get("execution")
	all := list(first(c.Node, "assert", "assertions"), "assert", c.refuse)
	all = append(all, list(execution.Get("evaluators"), "execution.evaluators", c.refuse)...)
	for _, turn := range c.Get("turns").Items() {
		for _, a := range first(turn, "assert", "assertions").Items() {
			if a.Kind() != doc.String { // those are asked for with their turn
				all = append(all, a)
			}
		}
	}
	only(execution, "execution", c.refuse, "evaluators", "skip_defaults", "target", "targets")
	for _, key := range []string{"target", "targets"} {
		if n := execution.Get(key); n != nil {
			c.note(n.Position(), "execution."+key, notModels)
		}
	}
	if execution.Get("skip_defaults").Text() != "true" {
		all = append(all, list(first(c.root, "assert", "assertions"), "assert", c.refuse)...)
		all = append(all, list(first(c.defaults, "assert", "assertions"), "default_test.assert", c.refuse)...)
		if !c.old || execution.Get("evaluators") == nil { // which replaced those of the file
			own := c.root.Get("execution").Get("evaluators")
			all = append(all, list(own, "execution.evaluators", c.refuse)...)
		}
	}
	return c.judged(c.evaluations(all))
}

// judged adds the evaluators of what a model decides.
func (c *agentvCase) judged(all []evaluation) []evaluation {
	if rubrics := first(c.Node, "rubrics"); rubrics != nil {
		to := evaluation{at: rubrics.Position(), from: "rubrics", name: "rubrics", kind: "llm_judge"}
		c.graders["rubrics"]++
		keys, err := c.rubricsOf(rubrics)
		if err != nil {
			c.cannot(rubrics.Position(), "rubrics", "%v", err)
		}
		to.keys = append(c.model(), keys...)
		all = append(all, to)
	}
	if len(c.criteria) > 0 {
		to := evaluation{at: c.Position(), from: "criteria", name: "criteria"}
		to.kind, to.keys = c.rubrics("criterion", c.criteria...)
		if c.Get("turns") != nil {
			to.keys = append(to.keys, doc.Pair{Key: "prompt", Value: "The conversation:\n{{input_messages}}\n" +
				"What followed the first message:\n{{output_messages}}\n"})
		}
		all = append(all, to)
	}
	return all
}

var errNoValue = errors.New("value: is required")
