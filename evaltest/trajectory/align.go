package trajectory

// none stands for no partner in a pairing.
const none = -1

// align pairs expected calls with actual ones in order, so that as many as possible have a partner and, among those
// alignments, as many limits as possible are kept. Of several it takes the one with the earliest actual calls.
// It returns the actual call of each expected one, or none.
func align(f fit) []int {
	rows, cols := f.accepted.rows, f.accepted.cols
	// A pair is worth more than all the limits together.
	pair := rows + 1
	worth := func(i, j int) int {
		switch {
		case !f.accepted.has(i, j):
			return 0
		case f.keeps(i, j):
			return pair + 1
		default:
			return pair
		}
	}
	// best[j] is what expected[i:] and actual[j:] can reach; the grids remember how.
	best, below := make([]int, cols+1), make([]int, cols+1) // the last of each stays 0
	take, skipActual := newGrid(rows, cols), newGrid(rows, cols)
	for i := rows - 1; i >= 0; i-- {
		best, below = below, best
		for j := cols - 1; j >= 0; j-- {
			best[j] = max(below[j], best[j+1])
			if w := worth(i, j); w > 0 && below[j+1]+w >= best[j] {
				best[j] = below[j+1] + w
				take.set(i, j)
			} else if best[j] == best[j+1] {
				skipActual.set(i, j)
			}
		}
	}
	pairs := make([]int, rows)
	j := 0
	for i := range rows {
		for j < cols && skipActual.has(i, j) {
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
