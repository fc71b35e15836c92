package trajectory

import "math/bits"

// none means no partner in a pairing.
const none = -1

// align pairs expected calls with actual ones in order, so that as many as possible have a partner and, among those
// alignments, as many limits as possible are kept. Of several it takes the one with the earliest actual calls. It
// returns the actual call of each expected one, or none.
func align(f fit) []int {
	if f.inTime == f.accepted {
		return alignByBits(f.accepted)
	}
	pair := f.accepted.rows + 1 // a pair is worth more than all the limits together
	return alignByWorth(f.accepted.rows, f.accepted.cols, func(i, j int) int {
		switch {
		case !f.accepted.has(i, j):
			return 0
		case f.keeps(i, j):
			return pair + 1
		default:
			return pair
		}
	})
}

// alignByBits finds a longest common subsequence with one operation for 64 cells of the table (Crochemore, Iliopoulos,
// Pinzon and Reid 2001), which works for any relation between the two sides.
func alignByBits(g *grid) []int {
	// same.has(i, p) says that calls[j+1:] can reach as much as calls[j:] with the expected calls from i on. Position
	// p counts columns from the last word's end, since carries run from late calls to early ones.
	same := newGrid(g.rows, g.stride*64)
	below := full(g.stride * 64)
	for i := g.rows - 1; i >= 0; i-- {
		row, here := g.row(i), same.row(i)
		carry := uint64(0)
		for w, v := range below {
			match := bits.Reverse64(row[g.stride-1-w])
			var sum uint64
			sum, carry = bits.Add64(v, v&match, carry)
			here[w] = sum | v&^match
		}
		below = here
	}
	pairs := make([]int, g.rows)
	j := 0
	for i := range pairs {
		// Taking a pair is never a loss: in an alignment, row i and column j can be in only one pair.
		for j < g.cols && !g.has(i, j) && same.has(i, g.stride*64-1-j) {
			j++
		}
		pairs[i] = none
		if j < g.cols && g.has(i, j) {
			pairs[i] = j
			j++
		}
	}
	return pairs
}

// alignByWorth aligns rows with columns, cell by cell, so that the pairs are worth most; cells worth 0 are not paired.
func alignByWorth(rows, cols int, worth func(i, j int) int) []int {
	// best[j] is the worth that rows[i:] and cols[j:] can reach; the grids store how.
	best, below := make([]int, cols+1), make([]int, cols+1) // the last of each stays 0
	take, skip := newGrid(rows, cols), newGrid(rows, cols)
	for i := rows - 1; i >= 0; i-- {
		best, below = below, best
		for j := cols - 1; j >= 0; j-- {
			best[j] = max(below[j], best[j+1])
			if w := worth(i, j); w > 0 && below[j+1]+w >= best[j] {
				best[j] = below[j+1] + w
				take.set(i, j)
			} else if best[j] == best[j+1] {
				skip.set(i, j)
			}
		}
	}
	pairs := make([]int, rows)
	j := 0
	for i := range rows {
		for j < cols && skip.has(i, j) {
			j++
		}
		pairs[i] = none
		if j < cols && take.has(i, j) {
			pairs[i] = j
			j++
		}
	}
	return pairs
}

// alignGroups aligns groups of calls in order; within two groups that are paired, calls are paired in any order. The
// groups of each side ascend.
func alignGroups(f fit, expected, actual []int) []int {
	rows, cols := spans(expected), spans(actual)
	pair := f.accepted.rows + 1
	groups := alignByWorth(len(rows), len(cols), func(g, h int) int {
		worth := 0
		for _, p := range f.within(rows[g], cols[h]) {
			worth += pair
			if f.keeps(p[0], p[1]) {
				worth++
			}
		}
		return worth
	})
	pairs := make([]int, f.accepted.rows)
	for i := range pairs {
		pairs[i] = none
	}
	for g, h := range groups {
		if h == none {
			continue
		}
		for _, p := range f.within(rows[g], cols[h]) {
			pairs[p[0]] = p[1]
		}
	}
	return pairs
}

// span is a group: the calls from first up to but not including end.
type span struct{ first, end int }

func spans(groups []int) []span {
	var all []span
	for i, g := range groups {
		if i == 0 || groups[i-1] != g {
			all = append(all, span{first: i})
		}
		all[len(all)-1].end = i + 1
	}
	return all
}

// within pairs the calls of two groups in any order, and returns each pair.
func (f fit) within(rows, cols span) [][2]int {
	if rows.end-rows.first == 1 && cols.end-cols.first == 1 {
		if !f.accepted.has(rows.first, cols.first) {
			return nil
		}
		return [][2]int{{rows.first, cols.first}}
	}
	small := fit{
		accepted: newGrid(rows.end-rows.first, cols.end-cols.first), limited: f.limited[rows.first:rows.end],
	}
	small.inTime = newGrid(small.accepted.rows, small.accepted.cols)
	for i := range small.accepted.rows {
		for j := range small.accepted.cols {
			if f.accepted.has(rows.first+i, cols.first+j) {
				small.accepted.set(i, j)
			}
			if f.inTime.has(rows.first+i, cols.first+j) {
				small.inTime.set(i, j)
			}
		}
	}
	var pairs [][2]int
	for i, j := range pairUp(small) {
		if j != none {
			pairs = append(pairs, [2]int{rows.first + i, cols.first + j})
		}
	}
	return pairs
}
