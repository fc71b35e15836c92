package trajectory

import (
	"iter"
	"math/bits"
	"slices"
)

// grid is a matrix of bits: for each expected call (row) the actual calls (columns) that it accepts.
type grid struct {
	rows, cols int
	stride     int // words a row
	words      []uint64
}

func newGrid(rows, cols int) *grid {
	stride := (cols + 63) / 64
	return &grid{rows: rows, cols: cols, stride: stride, words: make([]uint64, rows*stride)}
}

func (g *grid) row(i int) []uint64 { return g.words[i*g.stride : (i+1)*g.stride] }

func (g *grid) set(i, j int) { g.words[i*g.stride+j/64] |= 1 << (j % 64) }

func (g *grid) has(i, j int) bool { return g.words[i*g.stride+j/64]>>(j%64)&1 != 0 }

// in yields the columns that are set in row i, ascending.
func (g *grid) in(i int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for w, word := range g.row(i) {
			for ; word != 0; word &= word - 1 {
				if !yield(w*64 + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

// fit is which actual calls each expected call accepts, and which of those are within its limit besides. Without
// limits the two are one grid.
type fit struct {
	accepted, inTime *grid
	limited          []bool // which expected calls have a limit
}

func newFit(expected []Call, actual []observed, cwd string) fit {
	f := fit{accepted: newGrid(len(expected), len(actual)), limited: make([]bool, len(expected))}
	for i := range expected {
		f.limited[i] = expected[i].limit > 0
	}
	f.inTime = f.accepted
	if slices.Contains(f.limited, true) {
		f.inTime = newGrid(len(expected), len(actual))
	}
	for i := range expected {
		for j := range actual {
			if !expected[i].accepts(&actual[j], cwd) {
				continue
			}
			f.accepted.set(i, j)
			if expected[i].inTime(&actual[j]) {
				f.inTime.set(i, j)
			}
		}
	}
	return f
}

// keeps reports whether a pair of i and j keeps a limit.
func (f fit) keeps(i, j int) bool { return f.limited[i] && f.inTime.has(i, j) }
