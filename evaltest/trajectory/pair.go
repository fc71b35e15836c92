package trajectory

import (
	"math"
	"math/bits"
)

// pairUp pairs expected calls with actual ones in any order, so that as many as possible have a partner and, among
// those pairings, as many limits as possible are kept. It returns the actual call of each expected one, or none.
func pairUp(f fit) []int {
	p := newPairing(f.accepted.rows, f.accepted.cols)
	// Expected calls with limits first: who has a partner keeps one, so this keeps as many limits as can be kept.
	p.maximise(f.inTime, f.limited, true)
	p.maximise(f.inTime, f.limited, false)
	if f.inTime != f.accepted {
		for p.extend(f) {
		}
	}
	return p.actual
}

// pairing is a matching in a bipartite graph: actual[i] is the partner of expected call i and expected[j] that of
// actual call j, or none.
type pairing struct {
	actual, expected []int
	free             []uint64 // bits of the actual calls without a partner
}

func newPairing(rows, cols int) *pairing {
	p := &pairing{actual: make([]int, rows), expected: make([]int, cols), free: full(cols)}
	for i := range p.actual {
		p.actual[i] = none
	}
	for j := range p.expected {
		p.expected[j] = none
	}
	return p
}

// full returns n set bits.
func full(n int) []uint64 {
	words := make([]uint64, (n+63)/64)
	for j := range n {
		words[j/64] |= 1 << (j % 64)
	}
	return words
}

func (p *pairing) join(i, j int) {
	p.actual[i], p.expected[j] = j, i
	p.free[j/64] &^= 1 << (j % 64)
}

// maximise adds partners for as many as possible of the expected calls whose limited is as given, by augmenting paths
// (Kuhn's algorithm).
func (p *pairing) maximise(g *grid, limited []bool, which bool) {
	open := full(g.cols)
	unseen := make([]uint64, len(open))
	for i := range g.rows {
		if limited[i] != which {
			continue
		}
		copy(unseen, open)
		if !p.augment(g, i, unseen) {
			// What a search in vain has seen leads nowhere in later searches either.
			open, unseen = unseen, open
		}
	}
}

// augment finds a partner for expected call i, moving others to new partners where it must.
func (p *pairing) augment(g *grid, i int, unseen []uint64) bool {
	row := g.row(i)
	for w := range row {
		if word := row[w] & unseen[w] & p.free[w]; word != 0 {
			p.join(i, w*64+bits.TrailingZeros64(word))
			return true
		}
	}
	for w := range row {
		for word := row[w] & unseen[w]; word != 0; word = row[w] & unseen[w] {
			j := w*64 + bits.TrailingZeros64(word)
			unseen[w] &^= 1 << (j % 64)
			if p.augment(g, p.expected[j], unseen) {
				p.join(i, j)
				return true
			}
		}
	}
	return false
}

// extend gives one more expected call a partner at the least cost, where a pair that keeps no limit costs 1:
// successive shortest paths. It begins with a pairing that costs the least for its number of pairs, and leaves one.
func (p *pairing) extend(f fit) bool {
	cost := func(i, j int) int {
		if f.keeps(i, j) {
			return 0
		}
		return 1
	}
	costOf := make([]int, len(p.actual)) // of reaching an expected call
	costTo := make([]int, len(p.expected))
	from := make([]int, len(p.expected))
	for j := range costTo {
		costTo[j] = math.MaxInt
	}
	var queue []int
	for i, j := range p.actual {
		costOf[i] = math.MaxInt
		if j == none {
			costOf[i] = 0
			queue = append(queue, i)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		i := queue[0]
		for j := range f.accepted.in(i) {
			c := costOf[i] + cost(i, j)
			if j == p.actual[i] || c >= costTo[j] {
				continue
			}
			costTo[j], from[j] = c, i
			if k := p.expected[j]; k != none && c-cost(k, j) < costOf[k] {
				costOf[k] = c - cost(k, j)
				queue = append(queue, k)
			}
		}
	}
	end := none
	for j, c := range costTo {
		if p.expected[j] == none && c < math.MaxInt && (end == none || c < costTo[end]) {
			end = j
		}
	}
	if end == none {
		return false
	}
	for j := end; j != none; {
		i := from[j]
		next := p.actual[i]
		p.join(i, j)
		j = next
	}
	return true
}
