package lint

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// strength says how much it means that a text is found.
type strength int

const (
	// nothing: it is too short or too common, e.g. "ok", "missing", 42.
	nothing strength = iota
	// weak: a name or a value, which inputs may well have. It counts where the file or the line says that it is an
	// answer.
	weak
	// strong: nobody writes it by chance.
	strong
)

const (
	leastWeak   = 8  // letters and digits
	leastStrong = 12 // letters and digits of code, in two words or more
	leastProse  = 4  // words of a sentence
)

// strength tells what it means to find the answer.
func (a answer) strength() strength {
	text := strings.TrimSpace(a.text)
	size := 0
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			size++
		}
	}
	words := len(strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
	spaced := len(strings.Fields(text))
	switch {
	case size < leastWeak:
		return nothing
	case a.prose && spaced >= leastProse:
		return strong
	case !a.prose && words >= 2 && spaced >= 2 && size >= leastStrong:
		return strong
	case a.target == "" || a.prose || slices.Contains(proseFiles, path.Ext(a.target)):
		if common.MatchString(text) {
			return nothing
		}
		return weak
	}
	return nothing // a name in code
}

// proseFiles are the extensions of files in which one word can be an answer. In code it is a name.
var proseFiles = []string{"", ".md", ".txt", ".json", ".csv", ".yaml", ".yml", ".html", ".xml", ".toml"}

// common matches what looks like one ordinary word, such as a status or a key.
var common = lazyregexp.New(`^[\p{Ll}_-]+$`)

// answerWord matches what says that an answer follows, in the path of a file or in a line.
var answerWord = lazyregexp.New(`(?i)(^|[^a-z])(answers?|solutions?|expect(ed|ation)s?|golden|reference|` +
	`ground[ _-]?truth|rubrics?|grad(er|ing)|hints?|correct|want(ed)?)([^a-z]|$)`)

// offered matches what follows, or comes before, one of several that are offered.
var (
	offeredAfter  = lazyregexp.New("^[\\s`'\"*]*(or\\b|[|/])")
	offeredBefore = lazyregexp.New("(?:\\bor|[|/])[\\s`'\"*]*$")
)

// find returns where a text holds the answer, as begin and end; nil if nowhere.
func (a answer) find(text string) []int {
	switch {
	case a.pattern != nil:
		return a.pattern.FindStringIndex(text)
	case !a.prose:
		begin := strings.Index(text, a.text)
		if begin < 0 {
			return nil
		}
		return []int{begin, begin + len(a.text)}
	}
	return findProse(text, a.text)
}

// findProse finds a text whatever the case of its letters and however its lines are broken.
func findProse(text, want string) []int {
	words := strings.Fields(strings.Trim(want, " \t\r\n.!?"))
	if len(words) == 0 {
		return nil
	}
	low := strings.ToLower(text)
	if len(low) == len(text) {
		for i, w := range words {
			words[i] = strings.ToLower(w)
		}
	} else {
		low = text // letters that change their size: only as it is written
	}
	first := words[0]
	for from := 0; ; {
		i := strings.Index(low[from:], first)
		if i < 0 {
			return nil
		}
		begin := from + i
		if end := matchWords(low[begin:], words); end > 0 && isBoundary(low, begin, begin+end) {
			return []int{begin, begin + end}
		}
		from = begin + len(first)
	}
}

// matchWords returns the length of the beginning of text that consists of the words, 0 if it does not.
func matchWords(text string, words []string) int {
	at := 0
	for i, w := range words {
		if i > 0 {
			rest := strings.TrimLeft(text[at:], " \t\r\n>#*/")
			if len(rest) == len(text)-at {
				return 0
			}
			at = len(text) - len(rest)
		}
		if !strings.HasPrefix(text[at:], w) {
			return 0
		}
		at += len(w)
	}
	return at
}

// isBoundary reports whether a part of a text begins and ends where words do.
func isBoundary(text string, begin, end int) bool {
	isWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	before, after := []rune(text[max(0, begin-4):begin]), []rune(text[end:min(len(text), end+4)])
	part := []rune(text[begin:end])
	return (len(before) == 0 || !isWord(before[len(before)-1]) || !isWord(part[0])) &&
		(len(after) == 0 || !isWord(after[0]) || !isWord(part[len(part)-1]))
}

// told returns where a text tells the answer, as begin and end; nil if it does not. name is the path of the file that
// has the text; empty: it is a prompt.
func (a answer) told(name, text string) []int {
	at := a.find(text)
	if at == nil || a.strength() == strong || answerWord.MatchString(name) {
		return at
	}
	for from := 0; at != nil; {
		begin, end := from+at[0], from+at[1]
		line := text[1+strings.LastIndexByte(text[:begin], '\n') : begin]
		if answerWord.MatchString(line) && !offeredAfter.MatchString(text[end:]) && !offeredBefore.MatchString(line) {
			return []int{begin, end}
		}
		from = end
		if at[0] == at[1] {
			break
		}
		at = a.find(text[from:])
	}
	return nil
}

// testFile matches the names of files with tests.
var testFile = lazyregexp.New(`(?i)(_test\.\w+|\.(test|spec)\.\w+|(^|/)test_\w+\.py|(^|/)(tests?|__tests__|spec)/.+|` +
	`(^|/)(?-i:Test\w+|\w+Tests?)\.(java|kt|cs|swift))$`)
