package interaction

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// unusedBonus is what it counts that a recording was not used so far: it is what the agent is more likely to have meant
// than an only slightly more similar one that it has had.
const unusedBonus = 0.2

// nearest returns the index of the recording most like a request, -1 if there is none. One of the same tool is nearer
// than any other.
func (b *Book) nearest(tool string, args any) int {
	best, bestScore := -1, -1.0
	for i, r := range b.recorded {
		score := similarity(r.Args, args)
		if r.Tool == tool {
			score += 2
		}
		if !b.used[i] {
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
			start := commonPrefix(a, b)
			return share(float64(start+commonSuffix(a[start:], b[start:])), max(len(a), len(b)))
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

func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
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
