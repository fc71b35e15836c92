package trajectory

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// How much of a text is shown, in runes, before it folds.
const (
	maxValue  = 60
	maxName   = 60
	maxReason = 200
	maxLine   = 160
	maxArgs   = 4 // arguments of a call that nothing was expected of, or places in one argument
)

// fold cuts a text that is longer than limit runes.
func fold(s string, limit int) string {
	n := 0
	for i := range s {
		if n == limit {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// show returns a value on one line, folded.
func show(v any) string {
	s, ok := v.(string)
	if !ok {
		return fold(jsonvalue.Compact(v), maxValue)
	}
	cut := fold(s, maxValue)
	if len(cut) != len(s) {
		return quote(strings.TrimSuffix(cut, "…")) + "…"
	}
	return quote(s)
}

// quote returns s bare where that cannot be misread, else in quotes: "1" is not 1, and nothing that an agent writes
// reaches a terminal as a control sequence.
func quote(s string) string {
	if s == "" || json.Valid([]byte(s)) || !plainText(s, "_./:@%+-~$*?#&") {
		return strconv.Quote(s)
	}
	return s
}

// plainText reports whether s consists of letters, digits and the given marks.
func plainText(s, marks string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(marks, r)
	})
}

// label returns a name that an agent or a user gave, on one line.
func label(name string) string {
	name = fold(name, maxName)
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, unprintable) {
		return strconv.Quote(name)
	}
	return name
}

func assign(name, value string) string {
	if name == "" || !plainText(name, "_.-:$/@[]") {
		name = strconv.Quote(fold(name, maxName))
	}
	return name + "=" + value
}

// showApart returns two different values such that the difference is to be seen: of long texts it shows the
// place where they part.
func showApart(a, b any) (string, string) {
	s, okS := a.(string)
	t, okT := b.(string)
	if !okS || !okT || max(utf8.RuneCountInString(s), utf8.RuneCountInString(t)) <= maxValue {
		return show(a), show(b)
	}
	var last [10]int // where the runes before the difference begin
	same := 0
	for i, r := range s {
		if !strings.HasPrefix(t[i:], string(r)) {
			break
		}
		last[same%len(last)] = i
		same++
	}
	if same <= len(last) {
		return show(a), show(b)
	}
	from := last[same%len(last)]
	return "…" + show(s[from:]), "…" + show(t[from:])
}
