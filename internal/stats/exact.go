package stats

import "math"

// Pair is one case in both arms.
type Pair struct {
	Base, Head Count
}

// Difference returns by how much the mean pass rate of the cases is higher in the head than in the base: each case
// counts the same, however many trials it had.
func Difference(pairs []Pair) float64 {
	var sum float64
	for _, p := range pairs {
		sum += p.Head.Rate() - p.Base.Rate()
	}
	return sum / float64(len(pairs))
}

// Test is what a test of "both arms are equal" came to.
type Test struct {
	P    float64 // two-sided: how likely a difference as large, one way or the other, is by chance
	MidP float64 // the same, counting what is just as large half: exact tests are too careful by that
}

// MantelHaenszel tests whether a case passes equally often in both arms, given how often it passed in both: the exact
// conditional test of 2x2 tables stratified by case, two-sided by doubling the smaller tail. Cases may differ in how
// hard they are. With one trial a case it is the exact test of McNemar.
func MantelHaenszel(pairs []Pair) Test { return new(tester).test(pairs) }

// tester tests again and again, without computing or allocating anew what is as it was.
type tester struct {
	known map[Pair]stratum
	spare []float64
}

// stratum is what [hypergeometric] returns.
type stratum struct {
	first         int
	probabilities []float64
}

func (t *tester) stratum(p Pair) stratum {
	s, ok := t.known[p]
	if !ok {
		if t.known == nil {
			t.known = make(map[Pair]stratum)
		}
		s.first, s.probabilities = hypergeometric(p)
		t.known[p] = s
	}
	return s
}

func (t *tester) test(pairs []Pair) Test {
	// sums[i] is how likely the head has low+i passes in the cases so far, if the arms are equal.
	sums, low, passed := []float64{1}, 0, 0
	for _, p := range pairs {
		s := t.stratum(p)
		if len(s.probabilities) > 1 {
			sums, t.spare = convolve(t.spare, sums, s.probabilities), sums
		}
		low, passed = low+s.first, passed+p.Head.Passed
	}
	var below, above float64
	at := sums[passed-low]
	for i, p := range sums {
		switch {
		case i < passed-low:
			below += p
		case i > passed-low:
			above += p
		}
	}
	rest := min(below, above)
	return Test{P: min(1, 2*(rest+at)), MidP: min(1, 2*rest+at)}
}

// hypergeometric returns how likely each number of passes in the head is, given the trials and all passes of a case.
// The first is the number of the first probability.
func hypergeometric(p Pair) (first int, probabilities []float64) {
	n, m := p.Head.Trials, p.Base.Trials
	all := p.Head.Passed + p.Base.Passed
	first = max(0, all-m)
	for k := first; k <= min(n, all); k++ {
		probabilities = append(probabilities, math.Exp(logChoose(n, k)+logChoose(m, all-k)-logChoose(n+m, all)))
	}
	return first, probabilities
}

// convolve returns the distribution of the sum of two numbers from theirs, in the room of a slice if that is enough.
func convolve(room, a, b []float64) []float64 {
	sum := append(room[:0], make([]float64, len(a)+len(b)-1)...)
	for i, x := range a {
		for j, y := range b {
			sum[i+j] += x * y
		}
	}
	return sum
}

// Fisher returns the two-sided p of Fisher's exact test that two shares are equal: what is as likely as what was seen,
// or less, is added up, as R's fisher.test does.
func Fisher(a, b Count) float64 {
	first, probabilities := hypergeometric(Pair{Base: b, Head: a})
	seen := probabilities[a.Passed-first] * (1 + 1e-7)
	var p float64
	for _, q := range probabilities {
		if q <= seen {
			p += q
		}
	}
	return min(1, p)
}
