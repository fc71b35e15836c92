package stats

import "math"

// ScoreInterval returns the interval of [Difference] with these cases, whose trials are random. It is the stratified
// score interval (Miettinen and Nurminen 1985), each case a stratum of equal weight; with one trial a case in each arm
// that of paired shares (Tango 1998).
func ScoreInterval(pairs []Pair, confidence float64) Interval {
	if len(pairs) == 0 {
		return unknown
	}
	z, variance := normal(confidence), stratifiedVariance(pairs)
	if once(pairs) {
		variance = pairedVariance(pairs)
	}
	seen := Difference(pairs)
	// holds reports whether a difference is not refused by what was seen.
	holds := func(d float64) bool { return math.Abs(seen-d) <= z*math.Sqrt(variance(d)) }
	return Interval{bound(holds, seen, -1), bound(holds, seen, 1)}
}

// bound returns the value furthest from a first one, towards a last one, that holds.
func bound(holds func(float64) bool, first, last float64) float64 {
	if holds(last) {
		return last
	}
	for range 60 { // halves of 2 until a float64 has no more digits
		if middle := (first + last) / 2; holds(middle) {
			first = middle
		} else {
			last = middle
		}
	}
	return first
}

// once reports whether each case has one trial in each arm.
func once(pairs []Pair) bool {
	for _, p := range pairs {
		if p.Base.Trials != 1 || p.Head.Trials != 1 {
			return false
		}
	}
	return true
}

// pairedVariance returns the variance of the difference of paired shares, were it d.
func pairedVariance(pairs []Pair) func(d float64) float64 {
	var up, down float64 // cases that passed in the head alone, and in the base alone
	for _, p := range pairs {
		switch p.Head.Passed - p.Base.Passed {
		case 1:
			up++
		case -1:
			down++
		}
	}
	n := float64(len(pairs))
	return func(d float64) float64 {
		// q is the share of cases that pass in the base alone, as likely as can be for this difference.
		b := -up - down + (2*n-up+down)*d
		q := (math.Sqrt(max(0, b*b+8*n*down*d*(1-d))) - b) / (4 * n)
		return max(0, 2*q+d*(1-d)) / n
	}
}

// stratifiedVariance returns the variance of the difference of mean rates, were that of each case d.
func stratifiedVariance(pairs []Pair) func(d float64) float64 {
	same := make(map[Pair]float64) // there are few different ones
	for _, p := range pairs {
		same[p]++
	}
	n := float64(len(pairs))
	return func(d float64) float64 {
		var sum float64
		for p, times := range same {
			sum += times * p.variance(d)
		}
		return sum / (n * n)
	}
}

// variance returns the variance of the difference of a case's rates, were it d, with the rates that are then the
// likeliest.
func (p Pair) variance(d float64) float64 {
	n, m := float64(p.Head.Trials), float64(p.Base.Trials)
	base := likeliest(n, m, float64(p.Head.Passed), float64(p.Base.Passed), d)
	head := min(1, max(0, base+d))
	return (head*(1-head)/n + base*(1-base)/m) * (n + m) / (n + m - 1)
}

// likeliest returns the pass rate of the base under which x of n passes in the head and y of m in the base are the
// likeliest, where that of the head is higher by d: a root of the cubic equation of Miettinen and Nurminen.
func likeliest(n, m, x, y, d float64) float64 {
	all, passed := n+m, x+y
	l2 := (n+2*m)*d - all - passed
	l1 := (m*d-all-2*y)*d + passed
	l0 := y * d * (1 - d)
	third := l2 / (3 * all)
	q := third*third*third - l1*l2/(6*all*all) + l0/(2*all)
	p := math.Copysign(math.Sqrt(max(0, third*third-l1/(3*all))), q)
	angle := math.Pi / 3
	if p != 0 {
		angle = (math.Pi + math.Acos(min(1, max(-1, q/(p*p*p))))) / 3
	}
	return min(min(1, 1-d), max(max(0, -d), 2*p*math.Cos(angle)-third))
}
