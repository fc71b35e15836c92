// Package toolname is how playbooks, suites and hooks name the tools of agents: by the exact name, in which * stands
// for any number of characters, as in package wildcard. Which names there are is known to package agent.
package toolname

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsPattern reports whether the name may mean several tools.
func IsPattern(meant string) bool { return strings.Contains(meant, "*") }

// patternChars mean something in regular expressions, in globs of paths or in rules of agents, and are in no tool's
// name.
const patternChars = `()[]{}^$?+\"'` + "`"

// Check returns what is wrong with a name where a wrong one would go unnoticed, as in a list of what must not be
// called: it could be the name of no tool.
func Check(meant string) error {
	switch hidden := strings.IndexFunc(meant, isHidden); {
	case strings.TrimSpace(meant) == "":
		return errors.New("a tool needs a name")
	case strings.TrimSpace(meant) != meant:
		return fmt.Errorf("%q matches no tool: remove the blanks around the name", meant)
	case !utf8.ValidString(meant):
		return fmt.Errorf("%q matches no tool: it is not UTF-8", meant)
	case hidden >= 0:
		return fmt.Errorf("%+q matches no tool: it has a character that nobody sees: write the name anew", meant)
	case strings.ContainsAny(meant, "|,"):
		return fmt.Errorf("%q matches no tool: write one name after the other, each as an entry of its own", meant)
	case strings.ContainsFunc(meant, unicode.IsSpace):
		return fmt.Errorf("%q matches no tool: names have no blanks; what has only a title is named by its `kind` or "+
			"by what it `does`", meant)
	}
	simple := strings.NewReplacer(".*", "*", ".+", "*").Replace(strings.TrimSuffix(strings.TrimPrefix(meant, "^"), "$"))
	at := strings.IndexAny(meant, patternChars)
	switch {
	case simple != meant && !strings.ContainsAny(simple, patternChars):
		return fmt.Errorf("%q matches no tool: a name is no regular expression, * alone stands for any characters: "+
			"write %q", meant, simple)
	case at >= 0:
		return fmt.Errorf("%q matches no tool: names have no %c; * stands for any characters, everything else for "+
			"itself", meant, meant[at])
	}
	return nil
}

// isHidden reports whether a character is neither seen nor a blank that stands between words.
func isHidden(r rune) bool {
	return !unicode.IsGraphic(r) && !unicode.IsSpace(r) || unicode.Is(unicode.Variation_Selector, r)
}

// Near returns the first of the known names that is one edit away from a name, or that differs only in case or in
// what separates its words; empty if there is none.
func Near(name string, known []string) string {
	folded := fold(name)
	for _, k := range known {
		if folded == fold(k) {
			return k
		}
	}
	for _, k := range known {
		if near([]rune(name), []rune(k)) {
			return k
		}
	}
	return ""
}

// fold returns the same text for names that differ only in case or in what separates their words.
func fold(name string) string { return separators.Replace(strings.ToLower(name)) }

var separators = strings.NewReplacer("-", "", "_", "", ".", "")

// minNear is the length of names that one edit does not make another word.
const minNear = 3

// near reports whether one insertion, deletion, replacement or swap of neighbours turns a into b.
func near(a, b []rune) bool {
	if min(len(a), len(b)) < minNear {
		return false
	}
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	swapped := len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
	return len(a) <= 1 && len(b) <= 1 || swapped
}
