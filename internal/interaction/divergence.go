package interaction

import (
	"fmt"
	"strconv"
	"strings"
)

// DivergenceError says that an agent asked for what was not recorded, or more often than it was.
type DivergenceError struct {
	Tool string
	Args any
	// Times is how often the very request was recorded, all of which were answered before; 0: never.
	Times int
	// Asked is how often it was asked by now, this time included.
	Asked int
	// Nearest is the recording that is most like the request, nil if nothing was recorded. With Times, it is the last of
	// the request itself.
	Nearest *Interaction
	// Used tells that Nearest was the answer to another request before.
	Used bool
	// Field is the first place in which the nearest recording differs, e.g. "path", "args[1]" or "text, line 3"; Was and
	// Is are what it holds in the recording and in the request, shortened. Field is empty with Times.
	Field, Was, Is string
}

// Error shows the request, the nearest recording, and in what they differ.
func (e *DivergenceError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the agent asked for what was not recorded: %s\n", label(e.Tool))
	showArgs(&b, e.Args)
	switch {
	case e.Times > 0:
		fmt.Fprintf(&b, "  recorded %s, asked for the %s time; the last recording: %s", times(e.Times), ordinal(e.Asked), e.Nearest.Position)
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
func (b *Book) diverged(tool string, args any, asked int) *DivergenceError {
	places := b.equal[keyOf(tool, args)]
	e := &DivergenceError{Tool: tool, Args: args, Times: len(places), Asked: asked}
	if e.Times > 0 {
		e.Nearest, e.Used = new(b.recorded[places[len(places)-1]]), true
		return e
	}
	i := b.nearest(tool, args)
	if i < 0 {
		return e
	}
	e.Nearest, e.Used = new(b.recorded[i]), b.used[i]
	if e.Nearest.Tool != tool {
		e.Field, e.Was, e.Is = "tool", label(e.Nearest.Tool), label(tool)
		return e
	}
	d := firstDifference("", e.Nearest.Args, args)
	e.Field, e.Was, e.Is = d.field, d.was, d.is
	return e
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
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
