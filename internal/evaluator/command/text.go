package command

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/pattern"
)

// check is one expectation on a text.
type check struct {
	what  string // e.g. `contains "x"`
	holds func(text string) bool
}

// compile returns the checks, in the order of the keys. What is wrong with them is reported on n, where they have that key.
func (k *textKeys) compile(n *doc.Node, key string) []check {
	if k == nil {
		return nil
	}
	if len(n.Get(key).Entries()) == 0 {
		n.Errorf(key, "expects nothing: write `contains`, or another check")
	}
	var checks []check
	add := func(what, want string, holds func(string) bool) {
		checks = append(checks, check{what + " " + strconv.Quote(want), holds})
	}
	if k.Contains != nil {
		add("contains", *k.Contains, func(text string) bool { return strings.Contains(text, *k.Contains) })
	}
	if k.NotContains != nil {
		add("does not contain", *k.NotContains, func(text string) bool { return !strings.Contains(text, *k.NotContains) })
	}
	if k.Equals != nil {
		want := trim(*k.Equals)
		add("equals", want, func(text string) bool { return trim(text) == want })
	}
	if k.Matches != nil {
		if re, err := pattern.Compile(*k.Matches); err != nil {
			n.Errorf(key+".matches", "%v", err)
		} else {
			add("matches", *k.Matches, re.MatchString)
		}
	}
	return checks
}

// trim drops line ends at the end, which commands add as they like.
func trim(text string) string { return strings.TrimRight(text, "\r\n") }

// maxShown is how much of the end of an output is shown, in bytes.
const maxShown = 2000

// shown returns the end of an output for people.
func shown(name, text string) string {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return name + " is empty"
	}
	if len(text) > maxShown {
		text = "..." + strings.ToValidUTF8(text[len(text)-maxShown:], "")
	}
	return fmt.Sprintf("%s:\n%s", name, text)
}
