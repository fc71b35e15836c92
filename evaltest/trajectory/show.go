package trajectory

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
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

// show returns a value on one line, folded. A text is bare where that cannot be misread, else in quotes: "1" is not 1.
func show(v any) string {
	s, ok := v.(string)
	switch {
	case !ok:
		return excerpt.Head(jsonvalue.Compact(v), maxValue)
	case s == "" || json.Valid([]byte(s)) || !plainText(s, "_./:@%+-~$*?#&"):
		return excerpt.Quote(s, maxValue)
	}
	return excerpt.Head(s, maxValue)
}

// plainText reports whether s consists of letters, digits and the given marks.
func plainText(s, marks string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(marks, r)
	})
}

// label returns a name that an agent or a user gave, on one line.
func label(name string) string { return excerpt.Name(name, maxName) }

func assign(name, value string) string {
	if name == "" || !plainText(name, "_.-:$/@[]") {
		name = excerpt.Quote(name, maxName)
	}
	return name + "=" + value
}

// showApart returns two different values such that the difference is to be seen: of long texts it shows the
// place where they part.
func showApart(a, b any) (string, string) {
	s, okS := a.(string)
	t, okT := b.(string)
	if !okS || !okT {
		return show(a), show(b)
	}
	return excerpt.Apart(s, t, maxValue, 10, func(text string) string { return show(text) })
}
