package judgment

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/llm"
)

// miss is the error for a question that has no recorded answer. It shows how the nearest one that has one differs.
func (f *File) miss(r llm.Request) error {
	return fmt.Errorf("%s: there is no recorded answer of %s to this question: %s; record it with %s",
		f.config.Name, r.Model, f.difference(r), f.config.Command)
}

// difference tells how the recorded question that has most in common with r differs from it.
func (f *File) difference(r llm.Request) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var recorded []*call
	for _, key := range slices.SortedFunc(maps.Keys(f.calls), compareKeys) {
		if c := f.calls[key]; c.answer != nil {
			recorded = append(recorded, c)
		}
	}
	if len(recorded) == 0 {
		return "none is recorded"
	}
	nearest := slices.MaxFunc(recorded, func(a, b *call) int { return cmp.Compare(likeness(a.request, r), likeness(b.request, r)) })
	n := nearest.request
	switch {
	case n.Model != r.Model:
		return fmt.Sprintf("the nearest was put to %s", n.Model)
	case n.System != r.System:
		return "the nearest has another system message: " + firstDifference(n.System, r.System)
	case n.User != r.User:
		return "the nearest has another prompt: " + firstDifference(n.User, r.User)
	case digest(n) == digest(r):
		return fmt.Sprintf("sample %d was not recorded", r.Sample+1)
	}
	return "the nearest has other parameters or another schema of the reply"
}

func compareKeys(a, b callKey) int {
	return cmp.Or(cmp.Compare(a.question, b.question), cmp.Compare(a.sample, b.sample))
}

// likeness is larger the more two questions begin alike; the model counts before the system message and that before the prompt.
func likeness(a, b llm.Request) int {
	n := common(a.User, b.User)
	if a.System == b.System {
		n += 1 << 40
	}
	if a.Model == b.Model {
		n += 1 << 50
	}
	return n
}

// common returns how many bytes two texts begin with that are the same.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// firstDifference shows the first line in which two different texts differ.
func firstDifference(recorded, asked string) string {
	line, was, is := excerpt.FirstLines(recorded, asked)
	was, is = excerpt.Apart(strings.TrimSuffix(was, "\n"), strings.TrimSuffix(is, "\n"), maxShown, maxShown/2, func(text string) string {
		return excerpt.Quote(text, maxShown)
	})
	return fmt.Sprintf("line %d was %s and is %s", line, was, is)
}

// maxShown is how many characters of a line an error shows.
const maxShown = 120
