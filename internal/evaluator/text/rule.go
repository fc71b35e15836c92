package text

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/sdd-eval/sdd-eval/internal/evaluator/expect"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

// source is what a check is about.
type source struct {
	name    string // of the file; empty: it is the agent's last message
	text    string
	missing string // why there is no text
}

func (s source) String() string { return cmp.Or(s.name, "the last message") }

// rule is what is looked for.
type rule struct {
	op       string // one of ops
	patterns []pattern
	count    int // how often each is there at least
	most     int // and at most; 0: any number of times
	json     *shape
}

// pattern is a text, or a regular expression.
type pattern struct {
	text       string // as it is written
	expression *regexp.Regexp
}

const (
	maxText   = 200 // characters of what must hold, in words
	maxQuote  = 80  // characters of a pattern, and of what is found, that are shown
	maxBefore = 20  // characters of the line before what is found
	maxBegin  = 160 // characters of a text in which something is not found
	maxShown  = 5   // patterns that are shown
)

func (p pattern) String() string { return excerpt.Quote(p.text, maxQuote) }

// String says what must hold, e.g. `contains "a", "b"`.
func (r rule) String() string {
	if r.json != nil {
		return r.json.String()
	}
	verb := map[string]string{
		"contains": "contains", "not_contains": "does not contain", "matches": "matches",
		"not_matches": "does not match", "ordered": "contains in this order",
	}[r.op]
	var shown []string
	for _, p := range r.patterns {
		shown = append(shown, p.String())
	}
	text := verb + " " + some(shown, ", ")
	switch {
	case r.most > 0 && r.most == r.count:
		text += ", " + excerpt.Times(r.count)
	case r.most > 0:
		text += fmt.Sprintf(", %d to %d times", r.count, r.most)
	case r.count > 1:
		text += fmt.Sprintf(", at least %d times", r.count)
	}
	return text
}

// some joins the first of the texts, and says how many there are more.
func some(texts []string, separator string) string {
	if more := len(texts) - maxShown; more > 0 {
		return strings.Join(texts[:maxShown], separator) + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(texts, separator)
}

// Holds reports whether a check with this key, its patterns and this min_count holds of a text. One that cannot be
// written does not.
func Holds(key string, patterns []string, count int, text string) bool {
	r := rule{op: key, count: count}
	for _, p := range patterns {
		compiled := pattern{text: p}
		if strings.HasSuffix(key, "matches") {
			var err error
			if compiled.expression, err = expect.CompilePattern(p); err != nil {
				return false
			}
		}
		r.patterns = append(r.patterns, compiled)
	}
	_, holds := r.judge(source{text: text})
	return holds
}

// judge reports whether the rule holds of a text, and what of the text decides, in one line.
func (r rule) judge(s source) (evidence string, holds bool) {
	switch r.op {
	case "json":
		return r.json.judge(s)
	case "ordered":
		return r.inOrder(s)
	case "not_contains", "not_matches":
		return r.nowhere(s)
	}
	var found []string
	for _, p := range r.patterns {
		places := p.find(s.text, max(r.count, r.most+1))
		switch {
		case len(places) == 0:
			return fmt.Sprintf("%s is not found in %s, %s", p, s, s.begins()), false
		case len(places) < r.count:
			return fmt.Sprintf("%s is found %s, not %d, first %s", p, excerpt.Times(len(places)), r.count,
				s.at(places[0])), false
		case r.most > 0 && len(places) > r.most:
			return fmt.Sprintf("%s is found more than %s, then %s", p, excerpt.Times(r.most),
				s.at(places[r.most])), false
		}
		found = append(found, fmt.Sprintf("%s is %s", p, s.at(places[0])))
	}
	return some(found, "; "), true
}

// nowhere is judge for patterns that must not be found.
func (r rule) nowhere(s source) (evidence string, holds bool) {
	for _, p := range r.patterns {
		if places := p.find(s.text, 1); len(places) > 0 {
			return fmt.Sprintf("%s is %s", p, s.at(places[0])), false
		}
	}
	var all []string
	for _, p := range r.patterns {
		all = append(all, p.String())
	}
	return fmt.Sprintf("%s is not found in %s, %s", some(all, ", "), s, s.begins()), true
}

// inOrder is judge for texts of which each must be found after the one before.
func (r rule) inOrder(s source) (evidence string, holds bool) {
	var found []string
	from := 0
	for i, p := range r.patterns {
		begin := strings.Index(s.text[from:], p.text)
		switch {
		case begin < 0 && i == 0:
			return fmt.Sprintf("%s is not found in %s, %s", p, s, s.begins()), false
		case begin < 0:
			return fmt.Sprintf("%s is not found after %s", p, found[i-1]), false
		}
		found = append(found, fmt.Sprintf("%s %s", p, s.at([]int{from + begin, from + begin + len(p.text)})))
		from += begin + len(p.text)
	}
	return some(found, ", then "), true
}

// find returns where the first n places are that a pattern is at, each as begin and end. They do not overlap.
func (p pattern) find(text string, n int) (places [][]int) {
	if p.expression != nil {
		return p.expression.FindAllStringIndex(text, n)
	}
	for from := 0; len(places) < n; {
		begin := strings.Index(text[from:], p.text)
		if begin < 0 {
			break
		}
		begin, from = from+begin, from+begin+len(p.text)
		places = append(places, []int{begin, from})
	}
	return places
}

// at says where something was found, with the line there.
func (s source) at(place []int) string {
	start, begin := 1+strings.LastIndexByte(s.text[:place[0]], '\n'), place[0]
	for range maxBefore {
		_, size := utf8.DecodeLastRuneInString(s.text[start:begin])
		begin -= size
	}
	cut := ""
	if begin > start {
		cut = "…"
	}
	end := len(s.text)
	if i := strings.IndexByte(s.text[place[1]:], '\n'); i >= 0 {
		end = place[1] + i
	}
	return fmt.Sprintf("on line %d of %s: %s%s", 1+strings.Count(s.text[:place[0]], "\n"), s, cut,
		excerpt.Quote(s.text[begin:end], maxBefore+maxQuote))
}

// begins shows the first characters of the text.
func (s source) begins() string {
	if s.text == "" {
		return "which is empty"
	}
	return "which begins with " + excerpt.Quote(s.text, maxBegin)
}
