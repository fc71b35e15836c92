package interaction

import (
	"fmt"
	"slices"
	"sort"
)

// Reordered returns a line for each interaction that was asked for at another time than in the recording, in the order
// of asking. Of calls that changed places it names as few as explain the order: one that came late, and not all those
// that came before it therefore.
func (b *Book) Reordered() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	kept := increasing(b.taken)
	if len(kept) == len(b.taken) {
		return nil
	}
	var lines []string
	n := 0 // of kept, those before at
	for at, i := range b.taken {
		if n < len(kept) && kept[n] == at {
			n++
			continue
		}
		moved := b.recorded[i]
		if n > 0 && b.taken[kept[n-1]] > i {
			lines = append(lines, fmt.Sprintf("%s: %s was asked for only after %s",
				moved.Position, moved, b.recorded[b.taken[kept[n-1]]].Position))
		} else {
			lines = append(lines, fmt.Sprintf("%s: %s was asked for already before %s",
				moved.Position, moved, b.recorded[b.taken[kept[n]]].Position))
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
