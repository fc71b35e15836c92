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
	either(a.Node, a.to.from, a.refuse, "value", "rubrics", "criteria")
	if n := a.Node.Get("config"); !empty(n) {
		a.cannot(n.Position(), a.to.from+".config", "no judge gets it: give it to the script of a prompt")
	}
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
		only(n, a.to.from+".prompt", a.refuse, "command", "script", "config")
		for _, item := range list(first(n, "command", "script"), a.to.from+".prompt.command", a.refuse) {
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
	const within = "llm-rubric.value"
	var list []doc.Pairs
	for i, item := range items {
		id, text := fmt.Sprintf("rubric-%d", i+1), item
		if item.Kind() == doc.Map {
			only(item, within, c.refuse, "id", "outcome", "text", "description", "criteria", "weight", "required",
				"min_score", "score_ranges", "required_min_score", "operator")
			either(item, within, c.refuse, "outcome", "text", "description", "criteria")
			either(item, within, c.refuse, "min_score", "required_min_score")
			if own := item.Get("id").Text(); own != "" {
				id = ident(own)
			}
			text = first(item, "outcome", "text", "description", "criteria")
		}
		said := strings.TrimSpace(c.render(text, within))
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
		if n := item.Get("weight"); n != nil {
			if w := number(n, within+".weight", 0, c.refuse); w > 0 && w != 1 {
				p = append(p, doc.Pair{Key: "weight", Value: w})
			} else if w == 0 && !c.bad {
				c.cannot(n.Position(), within+".weight", "a rubric that counts nothing decides nothing: leave it out")
			}
		}
		least := first(item, "min_score", "required_min_score")
		if ranges != nil {
			more, err := c.scoreRanges(ranges, least, item.Get("min_score") != nil, within)
			if err != nil {
				return nil, err
			}
			p = append(p, more...)
		} else if least != nil {
			c.cannot(least.Position(), within+".min_score", "a rubric without score_ranges holds or does not")
		}
		list = append(list, p.With("required", ranges == nil && item.Get("required").Text() != "false"))
	}
	if len(list) == 0 {
		return nil, errNoValue
	}
	return doc.Pairs{{Key: "rubrics", Value: list}}, nil
}

// scoreRanges returns the keys for ranges of scores: a mapping from the lowest score of each, or a list. The least is
// of 0 to 10; a scaled one may be a share of it.
func (c *agentvCase) scoreRanges(n, least *doc.Node, scaled bool, within string) (doc.Pairs, error) {
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
		only(item, within+".score_ranges", c.refuse, "score_range", "range", "outcome", "text", "description")
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
		if score <= 1 && scaled {
			score *= 10
		}
		p = append(p, doc.Pair{Key: "required_min_score", Value: int(score + 0.999)})
	}
	return p, nil
}
