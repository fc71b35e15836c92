package interaction

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// DivergenceError says that an agent asked for what was not recorded, or more often than it was.
type DivergenceError struct {
	Tool string
	Args any
	// Times is how often the very request was recorded, all of which were answered before; 0: never.
	Times int
	// Asked is how often it was asked by now, this time included.
	Asked int
	// Nearest is the recording that is most like the request, nil if nothing was recorded. With Times, it is the last
	// of the request itself.
	Nearest *Interaction
	// Used tells that Nearest was the answer to another request before.
	Used bool
	// Field is the first place in which the nearest recording differs, e.g. "path", "args[1]" or "text, line 3"; Was
	// and Is are what it holds in the recording and in the request, shortened. Field is empty with Times.
	Field, Was, Is string
}

// Error shows the request, the nearest recording, and in what they differ.
func (e *DivergenceError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the agent asked for what was not recorded: %s\n", label(e.Tool))
	showArgs(&b, e.Args)
	switch {
	case e.Times > 0:
		fmt.Fprintf(&b, "  recorded %s, asked for the %s time; the last recording: %s", excerpt.Times(e.Times),
			ordinal(e.Asked), e.Nearest.Position)
	case e.Nearest == nil:
		b.WriteString("  nothing was recorded")
	default:
		e.showNearest(&b)
	}
	return b.String()
}

func (e *DivergenceError) showNearest(b *strings.Builder) {
	which, state := e.Nearest.Position, "not used so far"
	if e.Nearest.Tool != e.Tool {
		which = label(e.Nearest.Tool) + ", " + which
	}
	if e.Used {
		state = "used already"
	}
	fmt.Fprintf(b, "  nearest recording (%s, %s):\n", which, state)
	showArgs(b, e.Nearest.Args)
	fmt.Fprintf(b, "  first difference: %s: recorded %s, asked %s", e.Field, e.Was, e.Is)
}

// diverged returns the error of a request that was asked so many times.
func (r *Recording) diverged(tool string, args any, asked int) *DivergenceError {
	places := r.equal[keyOf(tool, args)]
	e := &DivergenceError{Tool: tool, Args: args, Times: len(places), Asked: asked}
	if e.Times > 0 {
		e.Nearest, e.Used = new(r.recorded[places[len(places)-1]]), true
		return e
	}
	i := r.nearest(tool, args)
	if i < 0 {
		return e
	}
	e.Nearest, e.Used = new(r.recorded[i]), r.used[i]
	if e.Nearest.Tool != tool {
		e.Field, e.Was, e.Is = "tool", label(e.Nearest.Tool), label(tool)
		return e
	}
	d := firstDifference("", e.Nearest.Args, args)
	e.Field, e.Was, e.Is = d.field, d.was, d.is
	return e
}

func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}

// unusedBonus is what it counts that a recording was not used so far: it is what the agent is more likely to have meant
// than an only slightly more similar one that it has had.
const unusedBonus = 0.2

// nearest returns the index of the recording most like a request, -1 if there is none. One of the same tool is nearer
// than any other.
func (r *Recording) nearest(tool string, args any) int {
	best, bestScore := -1, -1.0
	for i, candidate := range r.recorded {
		score := similarity(candidate.Args, args)
		if candidate.Tool == tool {
			score += 2
		}
		if !r.used[i] {
			score += unusedBonus
		}
		if score > bestScore {
			best, bestScore = i, score
		}
	}
	return best
}

// similarity returns how much two values have in common, from 0 to 1.
func similarity(a, b any) float64 {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			names := union(a, b)
			sum := 0.0
			for _, name := range names {
				if _, ok := a[name]; !ok {
					continue
				}
				if _, ok := b[name]; ok {
					sum += similarity(a[name], b[name])
				}
			}
			return share(sum, len(names))
		}
	case []any:
		if b, ok := b.([]any); ok {
			sum := 0.0
			for i := range min(len(a), len(b)) {
				sum += similarity(a[i], b[i])
			}
			return share(sum, max(len(a), len(b)))
		}
	case string:
		if b, ok := b.(string); ok {
			start, end := excerpt.Common([]byte(a), []byte(b))
			return share(float64(start+end), max(len(a), len(b)))
		}
	}
	if jsonvalue.Equal(a, b) {
		return 1
	}
	return 0
}

// share returns sum of n, all of nothing being 1.
func share(sum float64, n int) float64 {
	if n == 0 {
		return 1
	}
	return sum / float64(n)
}

// union returns the names of the members of a or b, sorted.
func union(a, b map[string]any) []string {
	names := slices.Collect(maps.Keys(a))
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// difference is a place in which two values differ, as people are shown it.
type difference struct{ field, was, is string }

// nothing is shown where only one of two values has a member.
const nothing = "nothing"

// firstDifference returns the first place below the path field in which two values differ.
func firstDifference(field string, was, is any) difference {
	switch was := was.(type) {
	case map[string]any:
		if is, ok := is.(map[string]any); ok {
			return differentMember(field, was, is)
		}
	case []any:
		if is, ok := is.([]any); ok {
			return differentItem(field, was, is)
		}
	case string:
		if is, ok := is.(string); ok {
			return differentText(field, was, is)
		}
	}
	if field == "" {
		field = "arguments"
	}
	return difference{field, show(was), show(is)}
}

func differentMember(field string, was, is map[string]any) difference {
	for _, name := range union(was, is) {
		path := label(name)
		if field != "" {
			path = field + "." + path
		}
		w, inWas := was[name]
		i, inIs := is[name]
		switch {
		case !inWas:
			return difference{path, nothing, show(i)}
		case !inIs:
			return difference{path, show(w), nothing}
		case !jsonvalue.Equal(w, i):
			return firstDifference(path, w, i)
		}
	}
	return difference{}
}

func differentItem(field string, was, is []any) difference {
	for i := range max(len(was), len(is)) {
		path := fmt.Sprintf("%s[%d]", field, i)
		switch {
		case i >= len(was):
			return difference{path, nothing, show(is[i])}
		case i >= len(is):
			return difference{path, show(was[i]), nothing}
		case !jsonvalue.Equal(was[i], is[i]):
			return firstDifference(path, was[i], is[i])
		}
	}
	return difference{}
}

// differentText shows the first line in which two texts differ, from a little before the difference on.
func differentText(field, was, is string) difference {
	if field == "" {
		field = "arguments"
	}
	if strings.Contains(was, "\n") && strings.Contains(is, "\n") {
		var line int
		line, was, is = excerpt.FirstLines(was, is)
		field = fmt.Sprintf("%s, line %d", field, line)
	}
	was, is = excerpt.Apart(was, is, maxShown, maxShown/4, quote)
	return difference{field, was, is}
}

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
