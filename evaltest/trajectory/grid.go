package trajectory

import (
	"iter"
	"math/bits"
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

// copyRow makes row i the same as row from.
func (g *grid) copyRow(i, from int) { copy(g.row(i), g.row(from)) }

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
