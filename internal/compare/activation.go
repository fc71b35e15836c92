package compare

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/stats"
)

// What is measured of a skill or a tool.
const (
	recall    = "recall"    // it was used where it should be
	silence   = "silence"   // it was not used where it should not be
	precision = "precision" // where it was used, it should be
)

// Activation is how a skill or a tool was used in both arms. It explores: the verdict is not made of it.
type Activation struct {
	Name string `json:"name"`
	// Measure is recall, silence or precision. Precision is of all trials, the others are means of cases.
	Measure string `json:"measure"`
	Base    Number `json:"base"`
	Head    Number `json:"head"`
	Delta   Number `json:"delta"`
	// P is adjusted for the number of skills and tools, null for precision: which trials it is of depends on the arm.
	P Number `json:"p"`
}

// activations compares the use of skills and tools of which both arms say something, by their names.
func activations(pairs []pair) (all []Activation) {
	names := make(map[string]bool)
	for _, p := range pairs {
		for _, t := range slices.Concat(p.base.Trials, p.head.Trials) {
			for _, a := range t.Activations {
				names[a.Name] = true
			}
		}
	}
	var ps []float64
	var tested []int
	for _, name := range slices.Sorted(maps.Keys(names)) {
		for _, wanted := range []bool{true, false} {
			if row, p, ok := activation(pairs, name, wanted); ok {
				tested, ps = append(tested, len(all)), append(ps, p)
				all = append(all, row)
			}
		}
		var base, head stats.Confusion
		for _, p := range pairs {
			p.base.confusion(name, &base)
			p.head.confusion(name, &head)
		}
		if b, h := base.Precision(), head.Precision(); !math.IsNaN(b) || !math.IsNaN(h) {
			all = append(all, Activation{name, precision, Number(b), Number(h), Number(h - b), Number(math.NaN())})
		}
	}
	for i, p := range stats.BenjaminiHochberg(ps) {
		all[tested[i]].P = Number(p)
	}
	return all
}

// activation compares in how many trials something was used that should be, or was not that should not be.
func activation(pairs []pair, name string, wanted bool) (row Activation, p float64, ok bool) {
	var counts []stats.Pair
	var base, head float64
	for _, p := range pairs {
		n := stats.Pair{Base: p.base.activated(name, wanted), Head: p.head.activated(name, wanted)}
		if n.Base.Trials > 0 && n.Head.Trials > 0 {
			counts = append(counts, n)
			base, head = base+n.Base.Rate(), head+n.Head.Rate()
		}
	}
	if len(counts) == 0 {
		return row, 0, false
	}
	measure, n := silence, float64(len(counts))
	if wanted {
		measure = recall
	}
	row = Activation{name, measure, Number(base / n), Number(head / n), Number((head - base) / n), 0}
	return row, stats.MantelHaenszel(counts).MidP, true
}

// activated counts the trials in which something was used as it should be, or not used as it should not be.
func (c Case) activated(name string, wanted bool) stats.Count {
	var of stats.Confusion
	c.confusion(name, &of)
	if wanted {
		return stats.Count{Passed: of.Fired, Trials: of.Fired + of.Missed}
	}
	return stats.Count{Passed: of.Silent, Trials: of.Silent + of.Unwanted}
}

// confusion counts what is known of the use of something in the case's trials.
func (c Case) confusion(name string, of *stats.Confusion) {
	for _, t := range c.Trials {
		for _, a := range t.Activations {
			if a.Name == name && a.Fired != nil {
				of.Add(a.Wanted, *a.Fired)
			}
		}
	}
}

// Says returns what is measured, in words, and the shares in both arms.
func (a Activation) Says() string {
	what := map[string]string{
		recall: "fired where it should in", silence: "silent where it should be in", precision: "precision",
	}[a.Measure]
	text := fmt.Sprintf("%s: %s %s %% → %s %%", a.Name, what, percent(a.Base), percent(a.Head))
	if a.Measure != precision {
		text += ", p " + likely(a.P)
	}
	return text
}
