package suite

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

func (a *agentvClaim) metrics() error {
	ours := map[string]string{
		"max_tool_calls": "max_tool_calls", "max_tokens": "max_tokens", "max_duration_ms": "max_duration_ms",
		"max_cost_usd": "max_cost_usd", "max_total": "max_tokens", "max_input": "max_input_tokens",
		"max_output": "max_output_tokens",
	}
	switch a.kind {
	case "latency":
		ours["threshold"] = "max_duration_ms"
	case "cost":
		ours["threshold"], ours["budget"] = "max_cost_usd", "max_cost_usd"
	}
	for _, e := range a.Node.Entries() {
		if key := ours[e.Key]; key != "" {
			a.to.keys = append(a.to.keys, doc.Pair{Key: key, Value: e.Value.Value()})
		}
	}
	known := slices.Collect(maps.Keys(ours))
	counted := make(map[string]any)
	if a.kind == "execution-metrics" {
		names := []string{"max_llm_calls", "target_exploration_ratio", "exploration_tolerance"}
		for _, name := range names {
			if n := a.Node.Get(name); n != nil {
				counted[name] = number(n, a.to.from+"."+name, 0, a.refuse)
			}
		}
		if n := a.Node.Get("max_llm_calls"); n != nil {
			a.note(n.Position(), a.to.from+".max_llm_calls", "messages of the agent are counted, as AgentV does")
		}
		if _, alone := counted["exploration_tolerance"]; alone && len(counted) == 1 {
			return errors.New("exploration_tolerance: there is no target_exploration_ratio")
		}
		known = append(known, names...)
	}
	a.only(known...)
	switch {
	case len(a.to.keys) == 0 && len(counted) == 0:
		return errors.New("it bounds nothing")
	case len(counted) == 0:
		a.to.kind = "metrics"
		return nil
	}
	judge := evaluation{
		at: a.to.at, from: a.to.from, name: "counts", kind: "code_judge",
		keys: doc.Pairs{{Key: "script", Value: []string{"python3", "-c", counts}}, {Key: "config", Value: counted}},
	}
	if len(a.to.keys) == 0 {
		a.to.kind, a.to.keys = judge.kind, judge.keys
		return nil
	}
	bounds := judge
	bounds.name, bounds.kind, bounds.keys = "metrics", "metrics", a.to.keys
	key := "all"
	if a.scored > 0 || a.to.threshold > 0 {
		key = "members"
		bounds.weight = float64(len(a.to.keys)) // the score is the share of bounds that hold
		judge.weight = float64(len(counted))
	}
	a.to.kind, a.to.keys = "composite", doc.Pairs{{Key: key, Value: a.pairs([]evaluation{bounds, judge})}}
	return nil
}

// counts is a judge, in Python, of what AgentV counts: messages of the agent, which it takes for calls of its model,
// and the share of tool calls that read.
const counts = `import json, sys
run = json.load(sys.stdin)
config = run["config"]
checks = []
most = config.get("max_llm_calls")
if most is not None:
    n = sum(m["role"] == "assistant" for m in run["output_messages"])
    checks.append({"text": "%d messages of the agent, at most %g" % (n, most), "passed": n <= most})
target = config.get("target_exploration_ratio")
if target is not None:
    calls = run["trace_summary"]["tool_calls_by_name"]
    reads = {"read", "grep", "glob", "search", "list", "websearch", "webfetch"}
    total = sum(calls.values())
    share = sum(n for name, n in calls.items() if name.lower() in reads) / total if total else None
    passed = share is not None and abs(share - target) <= config.get("exploration_tolerance", 0.2)
    found = "no tools were called" if share is None else "%.2f of the tool calls read" % share
    checks.append({"text": "%s, as expected are %s" % (found, target), "passed": passed})
print(json.dumps({"score": sum(c["passed"] for c in checks) / len(checks),
                  "hits": [c["text"] for c in checks if c["passed"]],
                  "misses": [c["text"] for c in checks if not c["passed"]]}))
`

// toolCall is the call of a tool: its name, or a mapping.
func (a *agentvClaim) toolCall(n *doc.Node) (doc.Pairs, error) {
	name := n
	if n.Kind() == doc.Map {
		name = first(n, "tool", "name")
		known := []string{"tool", "name", "args", "input", "max_duration_ms"}
		if a.kind == "trajectory:tool-args-match" {
			known = append(known, "mode")
		}
		only(n, a.to.from+".value", a.refuse, known...)
		either(n, a.to.from+".value", a.refuse, "tool", "name")
		either(n, a.to.from+".value", a.refuse, "args", "input")
	}
	if name.Kind() != doc.String || name.Text() == "" {
		return nil, errors.New("value: a call has the name of a tool")
	}
	called, err := a.called(name.Position(), a.to.from, name.Text())
	if err != nil {
		return nil, err
	}
	p := doc.Pairs{{Key: "tool", Value: called}}
	if args := first(n, "args", "input"); args != nil && args.Text() != "any" {
		p = append(p, doc.Pair{Key: "args", Value: args.Value()})
	}
	if ms := n.Get("max_duration_ms"); ms != nil {
		p = append(p, doc.Pair{Key: "max_duration_ms", Value: ms.Value()})
	}
	return p, nil
}

// calls returns the calls of a list, or of one.
func (a *agentvClaim) calls(n *doc.Node) (all []doc.Pairs, err error) {
	items := n.Items()
	if n.Kind() != doc.List {
		items = []*doc.Node{n}
	}
	for _, item := range items {
		p, err := a.toolCall(item)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, errNoValue
	}
	return all, nil
}

func (a *agentvClaim) toolUsed() error {
	a.only("value")
	a.to.kind = "tool_trajectory"
	n := a.Node.Get("value")
	if n == nil {
		return errNoValue
	}
	if n.Kind() != doc.Map {
		list, err := a.calls(n)
		if err != nil {
			return err
		}
		if a.not {
			a.to.keys = doc.Pairs{{Key: "never", Value: list}}
		} else {
			a.to.keys = doc.Pairs{{Key: "mode", Value: "superset"}, {Key: "expected", Value: list}}
		}
		return nil
	}
	only(n, a.to.from+".value", a.refuse, "name", "min", "max")
	name, err := a.called(n.Get("name").Position(), a.to.from, n.Get("name").Text())
	switch {
	case err != nil:
		return err
	case name == "":
		return errors.New("value.name: is required")
	}
	if a.not {
		a.to.keys = doc.Pairs{{Key: "never", Value: []doc.Pairs{{{Key: "tool", Value: name}}}}}
		if n.Get("min") != nil || n.Get("max") != nil {
			return errors.New("value: not so often is nothing that an evaluator says")
		}
		return nil
	}
	least, most := 1, -1
	for key, to := range map[string]*int{"min": &least, "max": &most} {
		if bound := n.Get(key); bound != nil {
			var err error
			if *to, err = strconv.Atoi(bound.Text()); err != nil || *to < 0 {
				return fmt.Errorf("value.%s: must be a number of calls", key)
			}
		}
	}
	a.to.keys, err = counted(least, most, name)
	return err
}

func (a *agentvClaim) toolSequence() error {
	a.only("value")
	n := a.Node.Get("value")
	mode := n.Get("mode").Text()
	switch {
	case n == nil:
		return errNoValue
	case a.not:
		return errors.New("that a sequence does not happen is nothing that an evaluator says")
	case mode == "":
		mode = "in_order"
	case mode != "in_order" && mode != "exact":
		return fmt.Errorf("value.mode: %q: AgentV expects the order of the steps: write in_order, or a trajectory:"+
			"tool-used of the names", mode)
	}
	steps := n
	if n.Kind() != doc.List {
		only(n, a.to.from+".value", a.refuse, "mode", "steps")
		steps = n.Get("steps")
	}
	list, err := a.calls(steps)
	if err != nil {
		return err
	}
	a.to.kind = "tool_trajectory"
	a.to.keys = doc.Pairs{{Key: "mode", Value: mode}, {Key: "expected", Value: list}}
	return nil
}

func (a *agentvClaim) toolArgs() error {
	a.only("value")
	n := a.Node.Get("value")
	call, err := a.toolCall(n)
	if err != nil {
		return err
	}
	args := "subset"
	if mode := n.Get("mode").Text(); mode == "exact" {
		args = "exact"
	} else if mode != "" && mode != "partial" {
		return fmt.Errorf("value.mode: %q is not known", mode)
	}
	if a.not {
		return errors.New("the opposite of arguments is nothing that an evaluator says")
	}
	a.to.kind = "tool_trajectory"
	a.to.keys = doc.Pairs{{Key: "mode", Value: "superset"}, {Key: "expected", Value: []doc.Pairs{call}}}
	if args == "exact" {
		a.to.keys = append(a.to.keys, doc.Pair{Key: "args", Value: args})
	}
	return nil
}

// trajectory is the evaluator of the first versions, which ours has taken its keys from.
func (a *agentvClaim) trajectory() error {
	a.only("mode", "expected", "minimums")
	a.to.kind = "tool_trajectory"
	if mode := a.Node.Get("mode"); mode != nil {
		a.to.keys = append(a.to.keys, doc.Pair{Key: "mode", Value: mode.Text()})
	}
	if n := a.Node.Get("expected"); n != nil {
		list, err := a.calls(n)
		if err != nil {
			return err
		}
		a.to.keys = append(a.to.keys, doc.Pair{Key: "expected", Value: list})
	}
	if n := a.Node.Get("minimums"); n != nil {
		a.to.keys = append(a.to.keys, doc.Pair{Key: "minimums", Value: n.Value()})
	}
	return nil
}

func (a *agentvClaim) skillUsed() error {
	a.only("value")
	list, err := a.list()
	if err != nil {
		return err
	}
	key := "fires"
	if a.not {
		key = "silent"
	}
	a.to.kind, a.to.keys = "activation", doc.Pairs{{Key: key, Value: list}}
	return nil
}

// fields compares fields of the answer with those of what is expected.
func (a *agentvClaim) fields() error {
	a.only("fields", "aggregation")
	n := first(a.agentvTest.Node, "expected_output", "expected_messages")
	if n == nil {
		n = first(a.agentvTest.Get("vars"), "expected_output")
	}
	for n.Kind() == doc.List && len(n.Items()) > 0 {
		n = n.Items()[len(n.Items())-1].Get("content")
	}
	want := n.Value()
	if text, ok := want.(string); ok {
		if err := jsonvalue.DecodeStrict([]byte(text), &want, 0); err != nil {
			return fmt.Errorf("expected_output: %w", err)
		}
	}
	if want == nil {
		return errors.New("expected_output: there is none to compare with")
	}
	aggregation := a.Node.Get("aggregation").Text()
	if !slices.Contains([]string{"", "weighted_average", "all_or_nothing"}, aggregation) {
		return fmt.Errorf("aggregation: %q is not known", aggregation)
	}
	var fields []doc.Pairs
	for _, f := range list(a.Node.Get("fields"), a.to.from+".fields", a.refuse) {
		p, err := a.field(f, want, aggregation == "all_or_nothing")
		if err != nil {
			return fmt.Errorf("fields: %w", err)
		}
		if p == nil {
			a.note(f.Position(), a.to.from, "%s: not in expected_output, so that it is not compared",
				f.Get("path").Text())
			continue
		}
		fields = append(fields, p)
	}
	if len(fields) == 0 {
		return errors.New("fields: it compares nothing")
	}
	a.to.kind, a.to.keys = "field_accuracy", doc.Pairs{{Key: "fields", Value: fields}}
	return nil
}

func (a *agentvClaim) field(f *doc.Node, all any, required bool) (doc.Pairs, error) {
	known := []string{"path", "match", "weight", "required"}
	switch f.Get("match").Text() {
	case "numeric_tolerance":
		known = append(known, "tolerance", "relative")
	case "date":
		known = append(known, "formats")
	}
	only(f, a.to.from+".fields", a.refuse, known...)
	path := f.Get("path").Text()
	value, err := lookUp("v"+bracketed(path), map[string]any{"v": all})
	if err != nil {
		return nil, nil // nothing to compare with
	}
	p := doc.Pairs{{Key: "path", Value: path}}
	switch match := f.Get("match").Text(); match {
	case "exact", "":
		p = append(p, doc.Pair{Key: "equals", Value: value})
	case "numeric_tolerance":
		tolerance := "tolerance"
		if f.Get("relative").Text() == "true" {
			tolerance = "relative"
		}
		p = append(p, doc.Pair{Key: "number", Value: value},
			doc.Pair{Key: tolerance, Value: f.Get("tolerance").Value()})
	case "date":
		text, _ := value.(string)
		day, err := isoDay(text, f.Get("formats"))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		p = append(p, doc.Pair{Key: "date", Value: day})
		if formats := f.Get("formats"); formats != nil {
			p = append(p, doc.Pair{Key: "formats", Value: formats.Value()})
		}
	default:
		return nil, fmt.Errorf("%s: the match %q is not known", path, match)
	}
	if n := f.Get("weight"); n != nil {
		if w := number(n, a.to.from+".fields.weight", 0, a.refuse); w != 1 {
			p = append(p, doc.Pair{Key: "weight", Value: w})
		}
	}
	return p.With("required", required || f.Get("required").Text() == "true"), nil
}

// bracketed returns a path such as a.b[0] for what follows a name.
func bracketed(path string) string {
	if path == "" || path[0] == '[' {
		return path
	}
	return "." + path
}

// layouts are forms of days, as Go writes them, by those of AgentV.
var layouts = strings.NewReplacer("YYYY", "2006", "MMMM", "January", "MMM", "Jan", "MM", "01", "DD", "02", "M", "1",
	"D", "2")

// isoDay returns a day as playbooks write it.
func isoDay(text string, formats *doc.Node) (string, error) {
	tries := []string{"2006-01-02", "02-Jan-2006", "2 January 2006", "Jan 2, 2006"}
	for _, f := range formats.Items() {
		tries = append(tries, layouts.Replace(f.Text()))
	}
	for _, layout := range tries {
		if day, err := time.Parse(layout, text); err == nil {
			return day.Format(time.DateOnly), nil
		}
	}
	return "", fmt.Errorf("%q is no day of a known form", text)
}
