// Package interaction holds the answers that an agent got in a recorded session, and finds the answer to what it asks
// now.
//
// An interaction is one request of the agent and its answer. A request is answered by the recording of the same tool
// with the same arguments; the second time it is made, by the second such recording. A request that no recording
// matches is a divergence: it is never answered by a similar recording, or by position.
//
//	book := interaction.NewBook(recorded)
//	found, err := book.Take("mcp__stock__count", map[string]any{"sku": "tea"})
//	if err != nil {
//		return err // a *DivergenceError, which shows the nearest recording
//	}
//	answer(found.Answer)
//	...
//	book.Unused(allowed) // what the agent should have asked for, and did not
//	book.Reordered()     // what it asked for at another time
package interaction

import (
	"crypto/sha256"
	"fmt"
	"slices"
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

// Book is what was recorded of one session. Its methods may be called concurrently.
type Book struct {
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

// NewBook returns a book of interactions, which are in the order in which they were recorded. Arguments that cannot be
// JSON panic.
func NewBook(recorded []Interaction) *Book {
	b := &Book{
		recorded: slices.Clone(recorded), equal: make(map[key][]int), next: make(map[key]int), used: make([]bool, len(recorded)),
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
func (b *Book) Take(tool string, args any) (Interaction, error) {
	args = decoded(args)
	k := keyOf(tool, args)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next[k]++
	places, n := b.equal[k], b.next[k]
	if n > len(places) {
		return Interaction{}, b.diverged(tool, args, n)
	}
	i := places[n-1]
	b.taken, b.used[i] = append(b.taken, i), true
	return b.recorded[i], nil
}

// Unused returns the interactions that were not taken, in the order of the recording, but for those of the tools that
// allow names. In a name, `*` stands for any text.
func (b *Book) Unused(allow []string) []Interaction {
	b.mu.Lock()
	defer b.mu.Unlock()
	var unused []Interaction
	for i, r := range b.recorded {
		if !b.used[i] && !slices.ContainsFunc(allow, func(name string) bool { return wildcard.Match(name, r.Tool) }) {
			unused = append(unused, r)
		}
	}
	return unused
}
