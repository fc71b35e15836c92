package trajectory

import (
	"math"
	"math/bits"
	"slices"
)

// pairUp pairs expected calls with actual ones in any order, so that as many as possible have a partner and, among
// those pairings, as many limits as possible are kept. It returns the actual call of each expected one, or none.
func pairUp(f fit) []int {
	p := newPairing(f.accepted.rows, f.accepted.cols)
	// Expected calls with limits come first. A call that has a partner always keeps one, so as many limits as possible
	// are kept.
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

// maximise adds partners for as many as possible of the expected calls whose limited is as given, by Hopcroft and Karp:
// all shortest augmenting paths in one phase, and few phases.
func (p *pairing) maximise(g *grid, limited []bool, which bool) {
	var alone []int // expected calls that need a partner
	for i := range g.rows {
		if limited[i] == which {
			alone = append(alone, i)
		}
	}
	s := phase{pairing: p, grid: g, level: make([]int, g.rows)}
	for {
		s.layer(alone)
		s.unseen = full(g.cols)
		found := false
		rest := alone[:0]
		for _, i := range alone {
			if s.augment(i) {
				found = true
			} else {
				rest = append(rest, i)
			}
		}
		if alone = rest; !found {
			return
		}
	}
}

// phase is one step of a search for augmenting paths.
type phase struct {
	*pairing
	grid   *grid
	level  []int    // of each expected call, its distance from one without a partner
	unseen []uint64 // actual calls that no path of this phase has tried
}

// layer sets the distance of expected calls from those without a partner, up to the nearest free actual call.
func (s *phase) layer(alone []int) {
	for i := range s.level {
		s.level[i] = none
	}
	queue := make([]int, 0, len(s.level))
	for _, i := range alone {
		s.level[i] = 0
		queue = append(queue, i)
	}
	unseen := full(s.grid.cols)
	last := math.MaxInt
	for ; len(queue) > 0 && s.level[queue[0]] <= last; queue = queue[1:] {
		i := queue[0]
		for w, word := range s.grid.row(i) {
			word &= unseen[w]
			unseen[w] &^= word
			if word&s.free[w] != 0 {
				last = s.level[i]
			}
			for word &^= s.free[w]; word != 0; word &= word - 1 {
				k := s.expected[w*64+bits.TrailingZeros64(word)]
				if s.level[k] == none {
					s.level[k] = s.level[i] + 1
					queue = append(queue, k)
				}
			}
		}
	}
}

// augment finds a partner for expected call i. If needed, it moves other calls to new partners along the layers.
func (s *phase) augment(i int) bool {
	row := s.grid.row(i)
	for w := range row {
		if word := row[w] & s.unseen[w] & s.free[w]; word != 0 {
			j := bits.TrailingZeros64(word)
			s.unseen[w] &^= 1 << j
			s.join(i, w*64+j)
			return true
		}
	}
	for w := range row {
		for word := row[w] & s.unseen[w] &^ s.free[w]; word != 0; word &= word - 1 {
			j := w*64 + bits.TrailingZeros64(word)
			k := s.expected[j]
			if s.unseen[w]>>(j%64)&1 == 0 || s.level[k] != s.level[i]+1 {
				continue
			}
			s.unseen[w] &^= 1 << (j % 64)
			if s.augment(k) {
				s.join(i, j)
				return true
			}
		}
	}
	return false
}

// extend gives more expected calls a partner at the lowest cost, where a pair that keeps no limit costs 1. It uses
// successive shortest paths, all of the same length at once. The pairing must have the lowest cost for its number of
// pairs, before and after.
func (p *pairing) extend(f fit) bool {
	s := newShortest(p, f)
	s.measure()
	for j, c := range s.to {
		if p.expected[j] == none {
			s.least = min(s.least, c)
		}
	}
	if s.least == math.MaxInt {
		return false
	}
	for i, j := range slices.Clone(p.actual) {
		if j == none {
			s.augment(i)
		}
	}
	return true
}

// shortest finds the cheapest ways from expected calls without a partner to actual calls without one.
type shortest struct {
	*pairing
	fit    fit
	of, to []int  // the cost of reaching each expected and each actual call, MaxInt if there is no way
	least  int    // the cost of the cheapest way
	seen   []bool // actual calls that were tried
}

func newShortest(p *pairing, f fit) *shortest {
	s := &shortest{
		pairing: p, fit: f, of: make([]int, len(p.actual)), to: make([]int, len(p.expected)),
		least: math.MaxInt, seen: make([]bool, len(p.expected)),
	}
	for i := range s.of {
		s.of[i] = math.MaxInt
	}
	for j := range s.to {
		s.to[j] = math.MaxInt
	}
	return s
}

func (s *shortest) cost(i, j int) int {
	if s.fit.keeps(i, j) {
		return 0
	}
	return 1
}

// measure sets the costs, by Bellman and Ford with a queue. Moving a call from its partner subtracts the cost of the
// pair.
func (s *shortest) measure() {
	var queue []int
	queued := make([]bool, len(s.of))
	for i, j := range s.actual {
		if j == none {
			s.of[i] = 0
			queue = append(queue, i)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		i := queue[0]
		queued[i] = false
		for j := range s.fit.accepted.in(i) {
			c := s.of[i] + s.cost(i, j)
			if j == s.actual[i] || c >= s.to[j] {
				continue
			}
			s.to[j] = c
			k := s.expected[j]
			if k == none || c-s.cost(k, j) >= s.of[k] {
				continue
			}
			s.of[k] = c - s.cost(k, j)
			if !queued[k] {
				queued[k] = true
				queue = append(queue, k)
			}
		}
	}
}

// augment finds a partner for expected call i on a cheapest way that shares no call with the ways taken before.
func (s *shortest) augment(i int) bool {
	for j := range s.fit.accepted.in(i) {
		if s.seen[j] || j == s.actual[i] || s.of[i]+s.cost(i, j) != s.to[j] {
			continue
		}
		k := s.expected[j]
		if k == none && s.to[j] != s.least || k != none && s.of[k] != s.to[j]-s.cost(k, j) {
			continue
		}
		s.seen[j] = true
		if k == none || s.augment(k) {
			s.join(i, j)
			return true
		}
	}
	return false
}
