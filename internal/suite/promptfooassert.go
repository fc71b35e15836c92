package suite

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/text"
)

// claim is an assertion of a case, to be written.
type claim struct {
	assertion
	kind   string // without not-
	not    bool
	scored bool // the score counts, not whether it passes
	values map[string]any
	r      *promptfoo
	to     *evaluation
}

// assertTypes write assertions by type, without not-.
var assertTypes = map[string]func(a *claim) error{
	"contains": textAssert, "icontains": textAssert, "contains-any": textAssert, "icontains-any": textAssert,
	"contains-all": textAssert, "icontains-all": textAssert, "starts-with": textAssert,
	"equals": equalsAssert, "regex": regexAssert, "word-count": wordsAssert,
	"is-json": jsonAssert, "contains-json": jsonAssert,
	"latency": boundAssert, "cost": boundAssert,
	"javascript": scriptAssert, "python": scriptAssert,
	"llm-rubric": rubricAssert, "model-graded-closedqa": rubricAssert, "model-graded-factuality": rubricAssert,
	"factuality": rubricAssert, "g-eval": rubricAssert,
	"trajectory:tool-used": toolAssert,
}

// assertFates say what types become, one row for those that become the same.
var assertFates = []row{
	{
		"contains icontains contains-any icontains-any contains-all icontains-all starts-with regex",
		to("[`text`](evaluators.md#text), and `not-` before it the opposite"),
	},
	{"word-count", to("`text`, which counts words")},
	{"is-json contains-json", to("`text` with `json` and the `schema`. JSON is not what YAML would read")},
	{"equals", to("`text`; of JSON with a `schema`")},
	{"latency cost", to("[`metrics`](evaluators.md#metrics), of the whole session")},
	{"javascript python", to("a [`code_judge`](judges.md#code_judge), without network")},
	{
		"llm-rubric model-graded-closedqa model-graded-factuality factuality g-eval",
		to("`llm_judge` with the model of --judge-model"),
	},
	{"trajectory:tool-used", to("[`tool_trajectory`](trajectories.md#matchers)")},
}

const (
	noMeasure = "no evaluator measures it: write a code_judge"
	noContext = "what a model was given to read is not known of an agent"
	noModel   = "no model is asked for embeddings, classes or probabilities"
	noCompare = "answers are not compared with each other: `sdd-eval compare` compares variants"
	noAPI     = "it is about what a model's API returns"
	noCall    = "write an evaluator tool_trajectory, or metrics"
)

// unmapped are types that no evaluator says, each with the reason.
var unmapped = map[string]string{
	"similar": noModel, "similar:cosine": noModel, "similar:dot": noModel, "similar:euclidean": noModel,
	"levenshtein": noMeasure, "rouge-n": noMeasure, "bleu": noMeasure, "gleu": noMeasure,
	"meteor": noMeasure, "f-score": noMeasure, "perplexity": noModel, "perplexity-score": noModel,
	"context-faithfulness": noContext, "context-recall": noContext, "context-relevance": noContext,
	"answer-relevance": noModel, "classifier": noModel, "moderation": noModel, "guardrails": noAPI,
	"select-best": noCompare, "max-score": noCompare, "human": noCompare,
	"finish-reason": noAPI, "is-valid-function-call": noAPI, "is-valid-openai-function-call": noAPI,
	"is-valid-openai-tools-call": noAPI, "tool-call-f1": noAPI, "trace-span-count": noAPI, "trace-span-duration": noAPI,
	"trace-error-spans":        noAPI,
	"trajectory:tool-sequence": noCall, "trajectory:tool-args-match": noCall, "trajectory:step-count": noCall,
	"trajectory:goal-success": "write an evaluator llm_judge", "is-xml": noMeasure, "contains-xml": noMeasure,
	"is-html": noMeasure, "contains-html": noMeasure, "is-sql": noMeasure, "contains-sql": noMeasure,
	"ruby": noMeasure, "webhook": noMeasure, "is-refusal": noMeasure, "pi": noMeasure,
	"search-rubric": noMeasure, "agent-rubric": noMeasure, "conversation-relevance": noMeasure,
	"skill-used": "give the variant its skills, and write an evaluator activation",
}

// evaluations returns the evaluators that assertions become, and counts them.
func (r *promptfoo) evaluations(list []assertion, values map[string]any, count map[string]int, scored bool,
	cannot func(at doc.Position, key, what string),
) (all []evaluation) {
	for _, a := range list {
		kind, not := strings.CutPrefix(a.kind, "not-")
		to := evaluation{at: a.at, from: a.kind, name: strings.NewReplacer(":", "-").Replace(a.kind)}
		if a.weight != nil {
			to.weight, to.reports = *a.weight, *a.weight == 0
		}
		for _, b := range a.bad {
			cannot(b.At, a.kind+"."+b.Key, b.What)
		}
		if kind == "" && len(a.bad) > 0 {
			continue
		}
		if kind == "assert-set" {
			to.kind = "composite"
			members := r.evaluations(a.members, values, count, scored || a.threshold != nil, cannot)
			if len(a.members) == 0 || not {
				cannot(a.at, a.kind, "it has no assertions, or says that they must not hold")
			}
			had := len(members)
			members = slices.DeleteFunc(members, func(e evaluation) bool { return e.reports })
			if had > 0 && len(members) == 0 {
				cannot(a.at, a.kind, "every assertion in it has the weight 0, so it could not fail")
			}
			to.keys = r.set(a, members, &to, scored)
			all = append(all, to)
			continue
		}
		if assertTypes[kind] == nil && unmapped[kind] == "" {
			count["?"]++
			cannot(a.at, "assert", fmt.Sprintf("the type %q is not known", a.kind))
			continue
		}
		count[a.kind]++
		write := assertTypes[kind]
		if write == nil {
			cannot(a.at, a.kind, unmapped[kind])
			continue
		}
		c := claim{assertion: a, kind: kind, not: not, scored: scored, values: values, r: r, to: &to}
		if err := write(&c); err != nil {
			cannot(a.at, a.kind, err.Error())
			continue
		}
		all = append(all, to)
	}
	return all
}

// set returns the keys of a composite for a set of assertions.
func (r *promptfoo) set(a assertion, list []evaluation, to *evaluation, scored bool) doc.Pairs {
	if a.threshold != nil || scored {
		if a.threshold != nil {
			to.threshold = *a.threshold
		}
		return doc.Pairs{{Key: "members", Value: r.pairs(members(list))}}
	}
	for i := range list {
		list[i].weight = 0
	}
	return doc.Pairs{{Key: "all", Value: r.pairs(list)}}
}

// texts returns the value as texts, with their values filled in.
func (a *claim) texts() ([]string, error) {
	var list []any
	switch v := a.value.(type) {
	case nil:
		return nil, errors.New("value: is required")
	case []any:
		list = v
	case string:
		text, err := render(v, a.values)
		if err != nil {
			return nil, fmt.Errorf("value: %w", err)
		}
		if !strings.HasSuffix(a.kind, "-any") && !strings.HasSuffix(a.kind, "-all") {
			return []string{text}, nil
		}
		row, err := cells(text)
		if err != nil {
			return nil, fmt.Errorf("value: %w", err)
		}
		for _, cell := range row {
			list = append(list, cell)
		}
	case map[string]any:
		return nil, errors.New("value: must be a text")
	default:
		list = []any{v}
	}
	var all []string
	for _, v := range list {
		text, err := render(written(v), a.values)
		if err != nil {
			return nil, fmt.Errorf("value: %w", err)
		}
		all = append(all, text)
	}
	if len(all) == 0 {
		return nil, errors.New("value: is empty")
	}
	return all, nil
}

// textAssert writes assertions on parts of the answer.
func textAssert(a *claim) error {
	all, err := a.texts()
	if err != nil {
		return err
	}
	if slices.Contains(all, "") {
		return errors.New("value: an empty text is in every answer")
	}
	form := a.kind
	key := map[bool]string{false: "contains", true: "not_contains"}[a.not]
	if strings.HasPrefix(form, "i") || form == "starts-with" || form == "contains-any" && !a.not {
		key = map[bool]string{false: "matches", true: "not_matches"}[a.not]
		for i, text := range all {
			all[i] = regexp.QuoteMeta(text)
		}
		fold := ""
		if strings.HasPrefix(form, "i") {
			fold = "(?i)"
		}
		switch {
		case form == "starts-with":
			fold = `\A`
		case strings.HasSuffix(form, "-any") && !a.not && len(all) > 1:
			all = []string{"(?:" + strings.Join(all, "|") + ")"}
		}
		for i := range all {
			all[i] = fold + all[i]
		}
	}
	if strings.HasSuffix(form, "-all") && a.not && len(all) > 1 {
		return errors.New("that one of several texts is missing is not said by a check: write a code_judge")
	}
	a.to.kind, a.to.keys = check(a.to.from, key, all...)
	return nil
}

// equalsAssert writes assertions on the answer as a whole.
func equalsAssert(a *claim) error {
	switch a.value.(type) {
	case map[string]any, []any:
		if a.not {
			return errors.New("value: that JSON differs is not said by a check: write a code_judge")
		}
		value, err := filled(a.value, a.values)
		if err != nil {
			return fmt.Errorf("value: %w", err)
		}
		a.to.kind, a.to.keys = jsonCheck(a.to.from, "whole", map[string]any{"const": value})
		return nil
	}
	all, err := a.texts()
	if err != nil {
		return err
	}
	if all[0] == "" {
		return errors.New("value: is empty: an agent that says nothing has failed")
	}
	key := map[bool]string{false: "matches", true: "not_matches"}[a.not]
	a.to.kind, a.to.keys = check(a.to.from, key, `\A`+regexp.QuoteMeta(all[0])+`\z`)
	return nil
}

// filled returns a value in which texts are filled in.
func filled(v any, values map[string]any) (any, error) {
	var err error
	switch v := v.(type) {
	case string:
		return render(v, values)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			if list[i], err = filled(item, values); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, item := range v {
			if m[key], err = filled(item, values); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
	return v, nil
}

func regexAssert(a *claim) error {
	text, ok := a.value.(string)
	if !ok {
		return errors.New("value: must be a regular expression")
	}
	pattern, err := render(text, a.values)
	if err != nil {
		return fmt.Errorf("value: %w", err)
	}
	pattern, err = expression("value", pattern, "")
	if err != nil {
		return err
	}
	key := map[bool]string{false: "matches", true: "not_matches"}[a.not]
	a.to.kind, a.to.keys = check(a.to.from, key, pattern)
	return nil
}

// jsonAssert writes assertions that an answer is JSON, or has an object in it.
func jsonAssert(a *claim) error {
	if a.not {
		return errors.New("that something is no JSON is not said by a check: write a code_judge")
	}
	schema, err := filled(a.value, a.values)
	if err != nil {
		return fmt.Errorf("value: %w", err)
	}
	if written, ok := schema.(string); ok {
		d := doc.Parse("", []byte(written))
		if schema = d.Root.Value(); d.Err() != nil {
			return errors.New("value: must be a JSON schema")
		}
	}
	if schema != nil {
		if _, ok := schema.(map[string]any); !ok {
			return errors.New("value: must be a JSON schema")
		}
		if _, err := text.Schema(schema); err != nil {
			return fmt.Errorf("value: %w", err)
		}
	}
	found := map[string]string{"is-json": "whole", "contains-json": "object"}[a.kind]
	a.to.kind, a.to.keys = jsonCheck(a.to.from, found, schema)
	return nil
}

// word matches a word, as JavaScript tells space.
const word = `[^\s\x0B\pZ\x{FEFF}]+`

// wordsAssert writes bounds on the number of words.
func wordsAssert(a *claim) error {
	if a.not {
		return errors.New("that a number of words is another one is not said by a check: write a code_judge")
	}
	value, err := filled(a.value, a.values)
	if err != nil {
		return fmt.Errorf("value: %w", err)
	}
	bounds, ok := value.(map[string]any)
	if !ok {
		bounds = map[string]any{"min": value, "max": value}
	}
	count := map[string]int{"min": 1, "max": 10000}
	for key, v := range bounds {
		n, err := strconv.Atoi(written(v))
		if count[key] == 0 || err != nil || n < 1 || n > 10000 {
			return errors.New("value: must be a number of words, or min and max, from 1 to 10000")
		}
		count[key] = n
	}
	if len(bounds) == 0 || count["max"] < count["min"] {
		return errors.New("value: must bound the number of words")
	}
	a.to.kind, a.to.keys = check(a.to.from, "matches", word)
	checks := a.to.keys[0].Value.([]doc.Pairs)
	for _, key := range []string{"min", "max"} {
		if bounds[key] != nil {
			checks[0] = append(checks[0], doc.Pair{Key: key + "_count", Value: count[key]})
		}
	}
	return nil
}

// boundAssert writes bounds on the time and the cost.
func boundAssert(a *claim) error {
	if a.threshold == nil || a.not {
		return errors.New("threshold: a highest value is required")
	}
	a.to.kind, a.to.keys = "metrics", doc.Pairs{{Key: "max_cost_usd", Value: *a.threshold}}
	if a.kind == "latency" {
		if *a.threshold < 1 {
			return errors.New("threshold: must be at least a millisecond")
		}
		a.to.keys = doc.Pairs{{Key: "max_duration_ms", Value: int(*a.threshold)}}
	}
	return nil
}

// rubricAssert writes assertions that a model decides.
func rubricAssert(a *claim) error {
	if a.not {
		return errors.New("a judge's no is not turned into a yes: write what must hold")
	}
	var criteria []string
	list, ok := a.value.([]any)
	if !ok {
		list = []any{a.value}
	}
	for _, v := range list {
		value, err := filled(v, a.values)
		if err != nil {
			return fmt.Errorf("value: %w", err)
		}
		text := written(value)
		if strings.TrimSpace(text) == "" {
			return errors.New("value: is required")
		}
		if strings.HasSuffix(a.kind, "factuality") {
			text = "The answer agrees with this reference in all facts that both tell of. It may tell more or less, " +
				"and say it in other words.\n\n" + text
		}
		criteria = append(criteria, text)
	}
	a.to.kind, a.to.keys = a.r.rubrics(a.to.from, criteria...)
	if a.threshold != nil && a.kind == "llm-rubric" {
		prompt := "Score how well the answer of a coding agent meets this, from 0 to 1:\n" +
			strings.ReplaceAll(strings.Join(criteria, "\n\n"), "{{", "{ {") + "\n\nThe answer:\n{{candidate_answer}}\n"
		a.to.keys = append(a.r.model(), doc.Pair{Key: "prompt", Value: prompt})
		a.to.threshold = *a.threshold
	}
	return nil
}

// toolAssert writes assertions on tools that were called.
func toolAssert(a *claim) error {
	var names []string
	least, most := 1, -1
	switch v := a.value.(type) {
	case string:
		names = []string{v}
	case []any:
		for _, name := range v {
			names = append(names, written(name))
		}
	case map[string]any:
		for key := range v {
			switch key {
			case "name", "min", "max":
			default:
				return fmt.Errorf("value.%s: only name, min and max can be said", key)
			}
		}
		names = []string{written(v["name"])}
		for key, to := range map[string]*int{"min": &least, "max": &most} {
			if v[key] == nil {
				continue
			}
			var err error
			if *to, err = strconv.Atoi(written(v[key])); err != nil || *to < 0 {
				return fmt.Errorf("value.%s: must be a number of calls", key)
			}
		}
	}
	if len(names) == 0 || names[0] == "" {
		return errors.New("value: must be the name of a tool")
	}
	if counted, ok := a.value.(map[string]any); ok && a.not && (counted["min"] != nil || counted["max"] != nil) {
		return errors.New("value: not so often is nothing that an evaluator says")
	}
	if most >= 0 && most < least {
		return fmt.Errorf("value: no number of calls is at least %d and at most %d: write min", least, most)
	}
	for i, name := range names {
		var err error
		if names[i], err = a.r.called(a.at, a.to.from, name); err != nil {
			return err
		}
	}
	a.to.kind = "tool_trajectory"
	if a.not || most == 0 {
		a.to.keys = doc.Pairs{{Key: "never", Value: names}}
		return nil
	}
	var err error
	a.to.keys, err = counted(least, most, names...)
	return err
}
