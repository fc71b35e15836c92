package interaction

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
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
	return excerpt.Head(b.String(), maxShown)
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
		return quote(text)
	}
	return excerpt.Head(jsonvalue.Compact(v), maxShown)
}

// plain returns a value on one line, texts without quotes where they cannot be misread: nothing that an agent
// wrote reaches a terminal as a control sequence.
func plain(v any) string {
	if text, ok := v.(string); ok && strings.TrimSpace(text) == text {
		return label(text)
	}
	return show(v)
}

// label returns the name of a tool or a member, quoted if empty or unprintable.
func label(name string) string { return excerpt.Name(name, maxShown) }

// quote returns a text in quotes, cut where it is long.
func quote(text string) string { return excerpt.Quote(text, maxShown) }
