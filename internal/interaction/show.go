package interaction

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// maxShown is how much of a value is shown, in runes.
const maxShown = 100

// String shows the request on one line.
func (i Interaction) String() string {
	args, ok := i.Args.(map[string]any)
	if !ok {
		return label(i.Tool) + " " + show(i.Args)
	}
	var b strings.Builder
	b.WriteString(label(i.Tool))
	for _, name := range slices.Sorted(maps.Keys(args)) {
		fmt.Fprintf(&b, " %s=%s", label(name), plain(args[name]))
	}
	return fold(b.String())
}

// showArgs shows arguments, each on a line of its own.
func showArgs(b *strings.Builder, args any) {
	members, ok := args.(map[string]any)
	switch {
	case !ok:
		fmt.Fprintf(b, "    %s\n", show(args))
	case len(members) == 0:
		b.WriteString("    (no arguments)\n")
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		fmt.Fprintf(b, "    %s: %s\n", label(name), plain(members[name]))
	}
}

// show returns a value on one line, texts in quotes.
func show(v any) string {
	if text, ok := v.(string); ok {
		return showFrom(text, 0)
	}
	return fold(jsonvalue.Compact(v))
}

// showFrom returns text from the byte from on in quotes, cut where it is long.
func showFrom(text string, from int) string {
	quoted := strconv.Quote(fold(text[from:]))
	if from > 0 {
		return "…" + quoted
	}
	return quoted
}

// plain returns a value on one line, texts without quotes where they cannot be misread: nothing that an agent
// wrote reaches a terminal as a control sequence.
func plain(v any) string {
	text, ok := v.(string)
	if ok && isPlain(text) && strings.TrimSpace(text) == text {
		return fold(text)
	}
	return show(v)
}

// label returns the name of a tool or a member, quoted if empty or unprintable.
func label(name string) string {
	if !isPlain(name) {
		return strconv.Quote(name)
	}
	return name
}

func isPlain(text string) bool {
	return text != "" && utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// fold cuts a text that is long.
func fold(text string) string {
	n := 0
	for i := range text {
		if n == maxShown {
			return text[:i] + "…"
		}
		n++
	}
	return text
}
