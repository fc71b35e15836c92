package lint

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/expect"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

// answer is something that a judge looks for.
type answer struct {
	// text is what it looks for, with single spaces; or pattern is, with the longest of its literals as the text.
	text    string
	pattern *regexp.Regexp
	// target is the file of the workspace that is to hold it; empty: it is said, or printed.
	target string
	by     string // the key that has it, and whose it is
	// asked says that a prompt may say it, too: it is what is asked for, not what is found out.
	asked bool
	// prose says that neither the case of letters nor how lines are broken matters.
	prose bool
}

// answersOf returns what the judges of a case look for. What the file that is to hold it holds already is no answer: it
// is to stay as it is.
func answersOf(c *testCase, s *suite) []answer {
	var all []answer
	for _, e := range c.evaluators {
		if collect := collectors[e.kind]; collect != nil {
			for _, a := range collect(e.node) {
				a.by = fmt.Sprintf("`%s` of %s", a.by, e)
				all = append(all, a)
			}
		}
	}
	add := func(by, text string, asked bool) {
		all = append(all, answer{text: text, by: by + " of case " + c.ID, prose: true, asked: asked})
	}
	add("`reference_answer`", c.ReferenceAnswer, false)
	add("`expected_outcome`", c.ExpectedOutcome, true)
	for _, m := range c.ExpectedMessages {
		if m.Content != c.ReferenceAnswer {
			add("the expected messages", m.Content, false)
		}
	}
	return slices.DeleteFunc(all, func(a answer) bool {
		if a.strength() == nothing {
			return true
		}
		held, ok := s.lookup(c, a.target)
		return ok && a.target != "" && len(a.find(string(held))) > 0
	})
}

// collectors return what evaluators look for, by their kind. What must not be there is no answer.
var collectors = map[string]func(n *doc.Node) []answer{
	"files": func(n *doc.Node) (found []answer) {
		for _, e := range n.Get("expect").Items() {
			target := cleanPath(e.Get("path"))
			found = append(found, textAnswers(e, target, "contains", "equals", "matches")...)
			found = append(found, goldenAnswer(e.Get("golden"), target))
			for _, v := range e.Get("json_path").Items() {
				found = append(found, valueAnswer(v.Get("equals"), target, "json_path"))
			}
		}
		return found
	},
	"field_accuracy": func(n *doc.Node) (found []answer) {
		for _, f := range n.Get("fields").Items() {
			for _, key := range []string{"equals", "text", "date"} {
				found = append(found, valueAnswer(f.Get(key), n.Get("file").Text(), f.Get("path").Text()))
			}
		}
		return found
	},
	"text": func(n *doc.Node) (found []answer) {
		for _, c := range n.Get("checks").Items() {
			for _, key := range []string{"contains", "matches", "ordered"} {
				for _, item := range c.Get(key).Items() {
					found = append(found, textAnswer(item, cleanPath(c.Get("file")), key))
				}
			}
		}
		return found
	},
	"command": func(n *doc.Node) (found []answer) {
		for _, stream := range []string{"stdout", "stderr"} {
			found = append(found, textAnswers(n.Get(stream), "", "contains", "equals", "matches")...)
		}
		return found
	},
	"code_judge": func(n *doc.Node) []answer { return configAnswers(n.Get("config"), "") },
	"llm_judge": func(n *doc.Node) []answer {
		found := slices.Concat(configAnswers(n.Get("config"), ""),
			configAnswers(n.Get("prompt").Get("config"), ""))
		for _, r := range n.Get("rubrics").Items() {
			found = append(found, answer{text: r.Get("text").Text(), by: "rubrics", prose: true, asked: true})
			for _, level := range r.Get("score_ranges").Items() {
				found = append(found, answer{text: level.Get("text").Text(), by: "rubrics", prose: true, asked: true})
			}
		}
		if text := n.Get("prompt"); text.Kind() == doc.String && strings.Contains(text.Text(), "\n") {
			for line := range strings.Lines(text.Text()) {
				if !strings.Contains(line, "{{") {
					found = append(found, answer{text: line, by: "prompt", prose: true, asked: true})
				}
			}
		}
		return found
	},
}

// cleanPath returns a path below the workspace as the workspace has it.
func cleanPath(n *doc.Node) string {
	if clean, err := expect.CleanPath(n.Text()); err == nil {
		return clean
	}
	return n.Text()
}

// textAnswers returns the texts and patterns under these keys.
func textAnswers(n *doc.Node, target string, keys ...string) (found []answer) {
	for _, key := range keys {
		if text := n.Get(key); text.Text() != "" {
			found = append(found, textAnswer(text, target, key))
		}
	}
	return found
}

// textAnswer returns the text or the pattern that stands under a key.
func textAnswer(n *doc.Node, target, key string) answer {
	a := answer{text: n.Text(), target: target, by: key}
	if key == "matches" {
		a.pattern, _ = regexp.Compile(a.text) // it was compiled when the playbook was read
		a.text = lazyregexp.Literal(a.text)
	}
	return a
}

// goldenAnswer returns the text of a golden file, unless it is too long to be told.
func goldenAnswer(n *doc.Node, target string) answer {
	const longest = 64 << 10
	if n == nil {
		return answer{}
	}
	file, err := plan.File(n, n.Text())
	if err != nil {
		return answer{}
	}
	data, err := disk.ReadRegular(file, longest)
	if err != nil {
		return answer{} // a longer one is looked for as a whole, see judgeInWorkspace
	}
	return answer{text: string(data), target: target, by: "golden", prose: true}
}

// valueAnswer returns a value that is looked for. Only texts are answers: numbers are too common.
func valueAnswer(n *doc.Node, target, by string) answer {
	if n.Kind() != doc.String {
		return answer{}
	}
	return answer{text: n.Text(), target: target, by: by, prose: true}
}

// configAnswers returns the texts of a judge's configuration under keys that say that they are expected.
func configAnswers(n *doc.Node, key string) (found []answer) {
	switch n.Kind() {
	case doc.Map:
		for _, e := range n.Entries() {
			inner := e.Key
			if answerWord.MatchString(key) {
				inner = key
			}
			found = append(found, configAnswers(e.Value, inner)...)
		}
	case doc.List:
		for _, item := range n.Items() {
			found = append(found, configAnswers(item, key)...)
		}
	case doc.String:
		if answerWord.MatchString(key) {
			found = append(found, answer{text: n.Text(), by: "config." + key, prose: true})
		}
	}
	return found
}

// moved reports whether the case expects that a file loses a text, or goes away: then the work begins there.
func (c *testCase) moved(file string) bool {
	for _, e := range c.evaluators {
		for _, x := range e.node.Get("expect").Items() {
			if path.Clean(x.Get("path").Text()) != file {
				continue
			}
			if x.Get("absent") != nil || x.Get("not_contains") != nil || x.Get("exists").Value() == false {
				return true
			}
		}
	}
	return false
}

// names reports whether a prompt of the case names a file, by its path or by the last part of it: the author points the
// agent to it.
func (c *testCase) names(file string) bool {
	base := path.Base(file)
	named := func(prompt string) bool { return strings.Contains(prompt, base) }
	if file == "" || !slices.ContainsFunc(c.Prompts, named) {
		return false
	}
	word := regexp.MustCompile(`(^|[^\w.-])` + regexp.QuoteMeta(base) + `($|[^\w-])`)
	return slices.ContainsFunc(c.Prompts, word.MatchString)
}

// targets returns the files that the judges of a case look at.
func (c *testCase) targets() []string {
	found := make(map[string]bool)
	for _, e := range c.evaluators {
		for _, x := range e.node.Get("expect").Items() {
			found[path.Clean(x.Get("path").Text())] = true
		}
		for _, x := range e.node.Get("checks").Items() {
			if f := x.Get("file").Text(); f != "" {
				found[path.Clean(f)] = true
			}
		}
		if f := e.node.Get("file").Text(); f != "" {
			found[path.Clean(f)] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
