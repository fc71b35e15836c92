// Package interaction holds the answers that an agent got in a recorded session, and finds the answer to what it asks
// now.
//
// An interaction is one request of the agent and its answer. A request is answered by the recording of the same tool
// with the same arguments; the second time it is made, by the second such recording. A request that no recording
// matches is a divergence: it is never answered by a similar recording, or by position.
//
//	recording := interaction.NewRecording(recorded)
//	found, err := recording.Take("mcp__stock__count", map[string]any{"sku": "tea"})
//	if err != nil {
//		return err // a *DivergenceError, which shows the nearest recording
//	}
//	answer(found.Answer)
//	...
//	recording.Unused(allowed) // what the agent should have asked for, and did not
//	recording.Reordered()     // what it asked for at another time
package interaction

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sort"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/wildcard"
)

// Interaction is a request of an agent with its answer. Tool and Args say what was asked.
type Interaction struct {
	// Tool names what was asked for, e.g. "fs/read_text_file" or "mcp__stock__count".
	Tool string
	// Args are the arguments as JSON, normalised, compared by [jsonvalue.Equal]. Numbers may be of any type.
	Args any
	// Answer is what the agent was answered, of a type that the recorder and the player agree upon.
	Answer any
	// Position says for people where in the recording it is, e.g. "turn 2, event 7".
	Position string
}

// Recording is what was recorded of one session. Its methods may be called concurrently.
type Recording struct {
	recorded []Interaction
	equal    map[key][]int // equal requests, by their places in recorded

	mu    sync.Mutex
	next  map[key]int // how often each request was asked
	taken []int       // places in recorded, in the order in which they were taken
	used  []bool      // by place in recorded
}

// key is the digest of a request.
type key [sha256.Size]byte

// keyOf returns the digest of a request, the same one for equal arguments.
func keyOf(tool string, args any) key {
	return sha256.Sum256(fmt.Appendf(nil, "%q%s", tool, jsonvalue.Canonical(args)))
}

// decoded returns arguments as decoded JSON. It panics if they cannot be JSON.
func decoded(args any) any {
	v, err := jsonvalue.Of(args)
	if err != nil {
		panic(fmt.Sprintf("interaction: arguments have to be JSON: %v", err))
	}
	return v
}

// NewRecording returns a recording of interactions, which are in the order in which they were recorded. Arguments that
// cannot be JSON panic.
func NewRecording(recorded []Interaction) *Recording {
	b := &Recording{
		recorded: slices.Clone(recorded), equal: make(map[key][]int), next: make(map[key]int),
		used: make([]bool, len(recorded)),
	}
	for i := range b.recorded {
		r := &b.recorded[i]
		r.Args = decoded(r.Args)
		k := keyOf(r.Tool, r.Args)
		b.equal[k] = append(b.equal[k], i)
	}
	return b
}

// Take returns the recording of a request: the first of equal ones that was not taken so far. The error is a
// [*DivergenceError].
func (r *Recording) Take(tool string, args any) (Interaction, error) {
	args = decoded(args)
	k := keyOf(tool, args)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next[k]++
	places, n := r.equal[k], r.next[k]
	if n > len(places) {
		return Interaction{}, r.diverged(tool, args, n)
	}
	i := places[n-1]
	r.taken, r.used[i] = append(r.taken, i), true
	return r.recorded[i], nil
}

// Unused returns the interactions that were not taken, in the order of the recording, but for those of the tools that
// allow names. In a name, `*` stands for any text.
func (r *Recording) Unused(allow []string) []Interaction {
	r.mu.Lock()
	defer r.mu.Unlock()
	var unused []Interaction
	for i, one := range r.recorded {
		if !r.used[i] && !slices.ContainsFunc(allow, func(name string) bool { return wildcard.Match(name, one.Tool) }) {
			unused = append(unused, one)
		}
	}
	return unused
}

// Reordered returns a line for each interaction that was asked for at another time than in the recording, in the order
// of asking. Of calls that changed places it names as few as explain the order: one that came late, and not all those
// that came before it therefore.
func (r *Recording) Reordered() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := increasing(r.taken)
	if len(kept) == len(r.taken) {
		return nil
	}
	var lines []string
	n := 0 // of kept, those before at
	for at, i := range r.taken {
		if n < len(kept) && kept[n] == at {
			n++
			continue
		}
		moved := r.recorded[i]
		if n > 0 && r.taken[kept[n-1]] > i {
			lines = append(lines, fmt.Sprintf("%s: %s was asked for only after %s",
				moved.Position, moved, r.recorded[r.taken[kept[n-1]]].Position))
		} else {
			lines = append(lines, fmt.Sprintf("%s: %s was asked for already before %s",
				moved.Position, moved, r.recorded[r.taken[kept[n]]].Position))
		}
	}
	return lines
}

// increasing returns the places of a longest increasing subsequence of different numbers, by patience sorting.
func increasing(numbers []int) []int {
	var ends []int // by length, the place of the smallest number that ends a subsequence of that length
	before := make([]int, len(numbers))
	for at, n := range numbers {
		length := sort.Search(len(ends), func(l int) bool { return numbers[ends[l]] > n })
		before[at] = -1
		if length > 0 {
			before[at] = ends[length-1]
		}
		if length == len(ends) {
			ends = append(ends, at)
		} else {
			ends[length] = at
		}
	}
	places := make([]int, 0, len(ends))
	if len(ends) > 0 {
		for at := ends[len(ends)-1]; at >= 0; at = before[at] {
			places = append(places, at)
		}
	}
	slices.Reverse(places)
	return places
}
