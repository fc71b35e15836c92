package trajectory

import (
	"encoding/json"
	"hash/maphash"
	"iter"
	"math/bits"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/toolname"
)

// fit says which actual calls each expected call accepts, and which of those are also within its limit. Without limits
// the two grids are the same.
type fit struct {
	accepted, inTime *grid
	limited          []bool // which expected calls have a limit
}

func newFit(expected []Call, s *session) fit {
	f := fit{accepted: newGrid(len(expected), len(s.calls)), limited: make([]bool, len(expected))}
	for i := range expected {
		f.limited[i] = expected[i].limit > 0
	}
	f.inTime = f.accepted
	if slices.Contains(f.limited, true) {
		f.inTime = newGrid(len(expected), len(s.calls))
	}
	x := newIndex(s)
	same := make(map[string]int) // the first of several equal expected calls, if comparing the others would be costly
	for i := range expected {
		c := &expected[i]
		candidates := x.candidates(c)
		var key string
		if len(candidates) > 100 && len(c.rules) == 0 && len(c.tools) == 0 && !c.isAny {
			key = c.key()
			if first, ok := same[key]; ok {
				f.accepted.copyRow(i, first)
				if f.inTime != f.accepted {
					f.inTime.copyRow(i, first)
				}
				continue
			}
			same[key] = i
		}
		for _, j := range candidates {
			if !c.accepts(&s.calls[j], s.cwd) {
				continue
			}
			f.accepted.set(i, j)
			if c.inTime(&s.calls[j]) {
				f.inTime.set(i, j)
			}
		}
	}
	return f
}

// keeps reports whether a pair of i and j keeps a limit.
func (f fit) keeps(i, j int) bool { return f.limited[i] && f.inTime.has(i, j) }

// index finds actual calls by what an expected call wants, so that not all pairs need to be compared.
type index struct {
	session *session
	called  map[tool][]int
	deeds   bool                          // called has what the calls do
	having  map[argument]map[uint64][]int // calls by the digest of one argument
}

// tool is the tool's name, the kind or the deed by which a call is found.
type tool struct{ name, kind, deed string }

// argument is an argument of the calls of a tool, as seen by a form of argument matchers.
type argument struct {
	tool      tool
	arg, form string
	field     bool // arg is a dotted path
}

func newIndex(s *session) *index {
	x := &index{session: s, called: make(map[tool][]int), having: make(map[argument]map[uint64][]int)}
	for j := range s.calls {
		byName, byKind := tool{name: s.calls[j].Name}, tool{kind: s.calls[j].Kind}
		x.called[byName] = append(x.called[byName], j)
		x.called[byKind] = append(x.called[byKind], j)
	}
	return x
}

// candidates returns actual calls, in order, that include all calls that c accepts.
func (x *index) candidates(c *Call) []int {
	switch {
	case c.isAny, toolname.IsPattern(c.tool):
		return x.all()
	case c.deed != "":
		x.observeDeeds()
	}
	t := tool{c.tool, c.kind, c.deed}
	best := x.called[t]
	if c.mode == IgnoreArgs || c.mode == SubsetArgs || len(c.tools) > 0 {
		return best // arguments may be missing, or are compared differently
	}
	const few = 8
	for i := range c.args {
		if len(best) <= few {
			break
		}
		arg := &c.args[i]
		if arg.digests == nil {
			continue
		}
		found := x.by(argument{t, arg.name, arg.Arg.name, arg.path != nil},
			arg, c)[arg.digests(arg.param, x.session.cwd)[0]]
		if len(found) < len(best) {
			best = found
		}
	}
	return best
}

// all returns all actual calls.
func (x *index) all() []int {
	all := make([]int, len(x.session.calls))
	for j := range all {
		all[j] = j
	}
	return all
}

// observeDeeds makes calls be found by what they do.
func (x *index) observeDeeds() {
	if x.deeds {
		return
	}
	x.deeds = true
	for j := range x.session.calls {
		for _, d := range x.session.calls[j].does() {
			found := tool{deed: d}
			if list := x.called[found]; len(list) == 0 || list[len(list)-1] != j {
				x.called[found] = append(list, j)
			}
		}
	}
}

// by returns the calls by the digest of argument a, which arg of c matches.
func (x *index) by(a argument, arg *namedArg, c *Call) map[uint64][]int {
	m, ok := x.having[a]
	if ok {
		return m
	}
	m = make(map[uint64][]int)
	for _, j := range x.called[a.tool] {
		value, ok := arg.of(&x.session.calls[j], c)
		if !ok {
			continue
		}
		for _, d := range arg.digests(value, x.session.cwd) {
			if list := m[d]; len(list) == 0 || list[len(list)-1] != j {
				m[d] = append(list, j)
			}
		}
	}
	x.having[a] = m
	return m
}

var seed = maphash.MakeSeed()

// mix returns a number that depends on both numbers and on their order.
func mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xbf58476d1ce4e5b9)
	return high ^ low
}

// digest returns the same number for calls with the same name and arguments.
func (o *observed) digest() uint64 { return mix(mix(digest(o.Name), digest(o.args)), digest(o.whole)) }

// digest returns the same number for equal values.
func digest(v any) uint64 {
	switch v := v.(type) {
	case nil:
		return 1
	case bool:
		if v {
			return 2
		}
		return 3
	case string:
		return maphash.String(seed, v)
	case json.Number:
		if n, ok := jsonvalue.ParseNumber(v); ok {
			return maphash.Comparable(seed, n)
		}
		return maphash.String(seed, v.String())
	case []any:
		d := uint64(5)
		for _, element := range v {
			d = mix(d, digest(element))
		}
		return d
	default:
		d := uint64(7)
		for key, value := range v.(map[string]any) {
			d += mix(maphash.String(seed, key), digest(value)) // a sum, since the order is random
		}
		return d
	}
}

// pairSame pairs calls whose arguments must all be equal, without comparing all pairs. It returns false if an expected
// call is of another form.
func pairSame(expected []Call, s *session) ([]int, bool) {
	for i := range expected {
		if !expected[i].isPlain() {
			return nil, false
		}
	}
	left := make(map[uint64][]int, len(s.calls))
	for j := range s.calls {
		o := &s.calls[j]
		if o.whole == nil {
			d := mix(digest(o.Name), digest(o.args))
			left[d] = append(left[d], j)
		}
	}
	pairs := make([]int, len(expected))
	for i := range expected {
		pairs[i] = none
		d := mix(digest(expected[i].tool), expected[i].digest())
		// Different calls may have the same digest, though hardly ever.
		at := slices.IndexFunc(left[d], func(j int) bool { return expected[i].accepts(&s.calls[j], s.cwd) })
		switch {
		case at == 0: // nearly always; without Delete, which is slow if there are many
			pairs[i], left[d] = left[d][0], left[d][1:]
		case at > 0:
			pairs[i] = left[d][at]
			left[d] = slices.Delete(left[d], at, at+1)
		}
	}
	return pairs, true
}

// isPlain reports whether the call expects one tool with exactly these values as its arguments, and nothing else.
func (c *Call) isPlain() bool {
	return c.tool != "" && !toolname.IsPattern(c.tool) && c.mode == ExactArgs && c.by == "" && c.limit == 0 &&
		len(c.rules) == 0 &&
		!slices.ContainsFunc(c.args, func(a namedArg) bool { return a.Arg.name != "equals" || len(a.path) > 0 })
}

// digest returns the digest of arguments that a plain call accepts.
func (c *Call) digest() uint64 {
	args := make(map[string]any, len(c.args))
	for i := range c.args {
		args[c.args[i].name] = c.args[i].param
	}
	return digest(args)
}

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
