package trajectory

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// randomFit returns a fit in which each expected call accepts an actual one with probability density, and some calls
// are over their limits if limits is set.
func randomFit(r *rand.Rand, rows, cols int, density float64, limits bool) fit {
	f := fit{accepted: newGrid(rows, cols), limited: make([]bool, rows)}
	f.inTime = f.accepted
	if limits {
		f.inTime = newGrid(rows, cols)
	}
	for i := range rows {
		f.limited[i] = limits && r.IntN(2) == 0
		for j := range cols {
			if r.Float64() >= density {
				continue
			}
			f.accepted.set(i, j)
			if !f.limited[i] || r.IntN(2) == 0 {
				f.inTime.set(i, j)
			}
		}
	}
	return f
}

// worth returns the number of pairs and of limits kept. It fails the test if the pairing is invalid.
func worth(t *testing.T, f fit, pairs []int) (matched, kept int) {
	t.Helper()
	require.Len(t, pairs, f.accepted.rows)
	used := make(map[int]bool)
	for i, j := range pairs {
		if j == none {
			continue
		}
		require.False(t, used[j], "call %d twice in %v", j, pairs)
		used[j] = true
		require.True(t, f.accepted.has(i, j), "%d does not accept %d", i, j)
		matched++
		if f.keeps(i, j) {
			kept++
		}
	}
	return matched, kept
}

// search tries all pairings from expected call i on, and returns what the best is worth.
func search(f fit, i int, used []bool, from int, ordered bool) (matched, kept int) {
	if i == f.accepted.rows {
		return 0, 0
	}
	matched, kept = search(f, i+1, used, from, ordered)
	for j := range f.accepted.cols {
		if used[j] || ordered && j < from || !f.accepted.has(i, j) {
			continue
		}
		used[j] = true
		m, n := search(f, i+1, used, j+1, ordered)
		used[j] = false
		m++
		if f.keeps(i, j) {
			n++
		}
		if m > matched || m == matched && n > kept {
			matched, kept = m, n
		}
	}
	return matched, kept
}

// Both ways of pairing reach what trying everything reaches.
func TestPairingIsTheBest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 1500 {
		rows, cols := r.IntN(6), r.IntN(6)
		f := randomFit(r, rows, cols, 0.2+0.6*r.Float64(), n%2 == 0)
		for _, ordered := range []bool{false, true} {
			pair := pairUp
			if ordered {
				pair = align
			}
			pairs := pair(f)
			matched, kept := worth(t, f, pairs)
			wantMatched, wantKept := search(f, 0, make([]bool, cols), 0, ordered)
			require.Equal(t, [2]int{wantMatched, wantKept}, [2]int{matched, kept}, "ordered %v: %v", ordered, pairs)
			if ordered {
				require.True(t, slices.IsSorted(slices.DeleteFunc(slices.Clone(pairs),
					func(j int) bool { return j == none })), pairs)
			}
		}
	}
}

// Pairings larger than a word of the grid, against each other: what is in order is a pairing, too.
func TestPairingAcrossWords(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		f := randomFit(r, 60+r.IntN(20), 120+r.IntN(20), 0.02, true)
		matched, _ := worth(t, f, pairUp(f))
		inOrder, _ := worth(t, f, align(f))
		assert.GreaterOrEqual(t, matched, inOrder)
	}
	// A chain: each call but the last accepts two, so one augmenting path has the length of all.
	const n = 200
	f := fit{accepted: newGrid(n, n), limited: make([]bool, n)}
	f.inTime = f.accepted
	for i := range n {
		f.accepted.set(i, i)
		if i > 0 {
			f.accepted.set(i, i-1)
		}
	}
	matched, _ := worth(t, f, pairUp(f))
	assert.Equal(t, n, matched)
}

// Both ways of aligning reach the same, and take the same calls, also where rows are longer than a word.
func TestAlignByBitsAsByWorth(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 100 {
		f := randomFit(r, 1+r.IntN(90), 1+r.IntN(300), 0.02+0.1*r.Float64(), false)
		byWorth := alignByWorth(f.accepted.rows, f.accepted.cols, func(i, j int) int {
			if f.accepted.has(i, j) {
				return 1
			}
			return 0
		})
		require.Equal(t, byWorth, alignByBits(f.accepted))
	}
}

// What is shortest in terms of limits is found many at a time: the best for each number of pairs is known by hand.
func TestPairingOverLimits(t *testing.T) {
	const n = 300
	f := fit{accepted: newGrid(n, n), inTime: newGrid(n, n), limited: make([]bool, n)}
	for i := range n {
		f.limited[i] = true
		for j := range n {
			f.accepted.set(i, j)
			if j < 100 {
				f.inTime.set(i, j)
			}
		}
	}
	matched, kept := worth(t, f, pairUp(f))
	assert.Equal(t, [2]int{n, 100}, [2]int{matched, kept})
}

// Groups in order, against trying everything: pairs within groups that are aligned in every way.
func TestAlignGroupsIsTheBest(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	cut := func(n int) []int {
		groups := make([]int, n)
		for i := 1; i < n; i++ {
			groups[i] = groups[i-1] + r.IntN(2)
		}
		return groups
	}
	for n := range 1000 {
		rows, cols := r.IntN(6), r.IntN(6)
		f := randomFit(r, rows, cols, 0.2+0.6*r.Float64(), n%2 == 0)
		expected, actual := cut(rows), cut(cols)
		pairs := alignGroups(f, expected, actual)
		matched, kept := worth(t, f, pairs)
		used := make(map[int]int)
		for i, j := range pairs {
			if j == none {
				continue
			}
			if g, ok := used[expected[i]]; ok {
				require.Equal(t, g, actual[j], "two groups for one: %v", pairs)
			}
			used[expected[i]] = actual[j]
		}
		wantMatched, wantKept := searchGroups(f, spans(expected), spans(actual))
		require.Equal(t, [2]int{wantMatched, wantKept}, [2]int{matched, kept}, pairs)
	}
}

// searchGroups tries all alignments of groups.
func searchGroups(f fit, expected, actual []span) (matched, kept int) {
	if len(expected) == 0 {
		return 0, 0
	}
	matched, kept = searchGroups(f, expected[1:], actual)
	for h := range actual {
		rows, cols := expected[0], actual[h]
		used := make([]bool, f.accepted.cols)
		for j := range used {
			used[j] = j < cols.first || j >= cols.end
		}
		part := fit{accepted: newGrid(rows.end, f.accepted.cols), inTime: f.inTime, limited: f.limited}
		for i := rows.first; i < rows.end; i++ {
			copy(part.accepted.row(i), f.accepted.row(i))
		}
		m, k := search(part, rows.first, used, 0, false)
		restMatched, restKept := searchGroups(f, expected[1:], actual[h+1:])
		m, k = m+restMatched, k+restKept
		if m > matched || m == matched && k > kept {
			matched, kept = m, k
		}
	}
	return matched, kept
}

func TestAlignTakesTheEarliest(t *testing.T) {
	f := fit{accepted: newGrid(1, 3), limited: make([]bool, 1)}
	f.inTime = f.accepted
	f.accepted.set(0, 1)
	f.accepted.set(0, 2)
	assert.Equal(t, []int{1}, align(f))
	assert.Equal(t, []int{1}, pairUp(f))
}
