package cassette

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

// What a diff shows of long texts: runes of a line, of which some before the difference, and lines of a side.
const (
	maxShown   = 100
	maxContext = 30
	maxLines   = 6
)

// diff shows how one text became another, for people: in one line where both are short, else as lines that begin with -
// and +, of which the parts that are equal are left out. An empty text is none.
func diff(was, now string) string {
	if !strings.Contains(was+now, "\n") && len(was)+len(now) < 60 {
		return fmt.Sprintf("was %s, is %s", quoted(was), quoted(now))
	}
	before, after := lines(was), lines(now)
	start := 0
	for start < min(len(before), len(after)) && before[start] == after[start] {
		start++
	}
	end := 0
	for end < min(len(before), len(after))-start && before[len(before)-1-end] == after[len(after)-1-end] {
		end++
	}
	before, after = before[start:len(before)-end], after[start:len(after)-end]
	if len(before)+len(after) == 0 {
		return "only the line break at the end differs"
	}
	var b strings.Builder
	if len(before) == 1 && len(after) == 1 {
		before[0], after[0] = excerpt.Apart(before[0], after[0], maxShown, maxContext, whole)
	}
	if start > 0 {
		fmt.Fprintf(&b, "\n  line %d:", start+1)
	}
	write := func(sign string, lines []string) {
		for i, line := range lines {
			if i == maxLines && len(lines) > maxLines+1 {
				fmt.Fprintf(&b, "\n  %s ... %d more lines", sign, len(lines)-i)
				return
			}
			fmt.Fprintf(&b, "\n  %s %s", sign, excerpt.Head(line, maxShown))
		}
	}
	write("-", before)
	write("+", after)
	return strings.TrimPrefix(b.String(), "\n")
}

// lines splits a text; one without any has none.
func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

func quoted(s string) string {
	if s == "" {
		return "none"
	}
	return strconv.Quote(s)
}

func whole(line string) string { return line }
