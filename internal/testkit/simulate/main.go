// Command simulate prints how often a comparison of two arms says what is not so, and how often it sees what is, beside
// the gates by which others decide. Its tables are in docs/decisions.md.
package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/sdd-eval/sdd-eval/internal/compare"
	"github.com/sdd-eval/sdd-eval/internal/stats"
)

func main() {
	times := pflag.Int("times", 20_000, "repetitions of each cell")
	pflag.Parse()
	w := os.Stdout
	fmt.Fprintf(w,
		"The rate of each case is drawn from a Beta distribution of the mean and the spread given; an arm that is "+
			"worse by D has all of them times 1 - D/mean. %d repetitions a cell. In percent.\n\n", *times)
	fmt.Fprintln(w, "## The same agent in both arms: how often a change is called")
	fmt.Fprintln(w)
	fmt.Fprintln(w, strings.Join(append([]string{
		"| cases × trials, rates | sdd-eval compare", "exact test", "interval",
		"clustered t",
	}, names(naive)...), " | ")+" | interval holds Δ |")
	fmt.Fprintln(w, "|---|"+strings.Repeat("---|", 5+len(naive)))
	for _, rates := range []beta{{1.6, .4}, {3.8, .2}, {.8, .4}} {
		for _, cases := range []int{3, 5, 10, 20, 50} {
			for _, trials := range []int{1, 3, 10} {
				fmt.Fprintln(w, cell{cases, trials, rates, 0}.simulate(*times).falseAlarms())
			}
		}
	}
	fmt.Fprintln(w, "\n## The head is worse by D: how often that is seen")
	fmt.Fprintln(w, "\n| cases × trials, rates, D | sdd-eval compare | exact test | clustered t | foretold |")
	fmt.Fprintln(w, "|---|---|---|---|---|")
	for _, c := range []cell{
		{20, 3, beta{1.6, .4}, .2},
		{20, 10, beta{1.6, .4}, .1},
		{50, 5, beta{1.6, .4}, .1},
		{3, 10, beta{1.6, .4}, .3},
		{20, 1, beta{1.6, .4}, .2},
	} {
		fmt.Fprintln(w, c.simulate(*times).power())
	}
	fmt.Fprintln(w, "\n## The same agent in both arms, margin 0.05: how often `not_worse` is reached")
	fmt.Fprintln(w, "\n| cases × trials, rates | not_worse |")
	fmt.Fprintln(w, "|---|---|")
	for _, c := range []cell{{20, 3, beta{1.6, .4}, 0}, {20, 10, beta{1.6, .4}, 0}, {50, 10, beta{1.6, .4}, 0}, {
		100,
		10,
		beta{1.6, .4},
		0,
	}} {
		r := c.simulate(*times)
		fmt.Fprintf(w, "| %s | %.1f |\n", c, r.share(r.notWorse))
	}
}

// beta is how the rates of cases are spread: the two parameters of a Beta distribution.
type beta struct{ a, b float64 }

func (b beta) mean() float64 { return b.a / (b.a + b.b) }

// draw returns a rate, as the share of the first of two numbers of Gamma distributions.
func (b beta) draw(random *rand.Rand) float64 {
	x, y := gamma(random, b.a), gamma(random, b.b)
	if x+y == 0 {
		return float64(random.IntN(2))
	}
	return x / (x + y)
}

// gamma draws from a Gamma distribution of scale 1 (Marsaglia and Tsang 2000).
func gamma(random *rand.Rand, shape float64) float64 {
	if shape < 1 {
		return gamma(random, shape+1) * math.Pow(random.Float64(), 1/shape)
	}
	d := shape - 1./3
	c := 1 / math.Sqrt(9*d)
	for {
		z := random.NormFloat64()
		v := math.Pow(1+c*z, 3)
		if v > 0 && math.Log(random.Float64()) < z*z/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

// cell is a design to simulate.
type cell struct {
	cases, trials int
	rates         beta
	drop          float64
}

func (c cell) String() string {
	text := fmt.Sprintf("%d × %d, Beta(%g, %g)", c.cases, c.trials, c.rates.a, c.rates.b)
	if c.drop > 0 {
		text += fmt.Sprintf(", %g", c.drop)
	}
	return text
}

// outcome counts what the repetitions of a cell came to.
type outcome struct {
	cell
	times                                       int
	called, exact, outside, clustered, notWorse int
	gates                                       []int
	formula, holds                              float64
}

func (o outcome) share(n int) float64 { return 100 * float64(n) / float64(o.times) }

func (o outcome) falseAlarms() string {
	var line strings.Builder
	fmt.Fprintf(&line, "| %s | %.1f | %.1f | %.1f | %.1f", o.cell, o.share(o.called), o.share(o.exact),
		o.share(o.outside), o.share(o.clustered))
	for _, n := range o.gates {
		fmt.Fprintf(&line, " | %.1f", o.share(n))
	}
	return line.String() + fmt.Sprintf(" | %.1f |", 100*o.holds)
}

func (o outcome) power() string {
	return fmt.Sprintf("| %s | %.1f | %.1f | %.1f | %.1f |", o.cell, o.share(o.called), o.share(o.exact),
		o.share(o.clustered), 100*o.formula)
}

// gate is a rule by which others call a change.
type gate struct {
	name string
	call func(pairs []stats.Pair) bool
}

var naive = []gate{
	{"dropped by more than 2 points", func(pairs []stats.Pair) bool { return stats.Difference(pairs) < -.02 }},
	{"a case went down", func(pairs []stats.Pair) bool {
		for _, p := range pairs {
			if p.Head.Passed < p.Base.Passed {
				return true
			}
		}
		return false
	}},
	{"all must pass", func(pairs []stats.Pair) bool {
		for _, p := range pairs {
			if p.Head.Passed < p.Head.Trials {
				return true
			}
		}
		return false
	}},
}

func names(gates []gate) (list []string) {
	for _, g := range gates {
		list = append(list, g.name)
	}
	return list
}

// simulate repeats a cell, by all processors, always with the same numbers.
func (c cell) simulate(times int) outcome {
	workers := runtime.NumCPU()
	parts := make([]outcome, 8)
	queue, wait := make(chan int, len(parts)), new(sync.WaitGroup)
	for i := range parts {
		queue <- i
	}
	close(queue)
	for range workers {
		wait.Go(func() {
			for i := range queue {
				parts[i] = c.part(rand.New(rand.NewPCG(uint64(i), 7)), times/len(parts))
			}
		})
	}
	wait.Wait()
	sum := outcome{cell: c, gates: make([]int, len(naive))}
	for _, p := range parts {
		sum.times, sum.called, sum.exact = sum.times+p.times, sum.called+p.called, sum.exact+p.exact
		sum.outside, sum.clustered, sum.notWorse = sum.outside+p.outside, sum.clustered+p.clustered,
			sum.notWorse+p.notWorse
		for i, n := range p.gates {
			sum.gates[i] += n
		}
		sum.formula, sum.holds = sum.formula+p.formula/float64(len(parts)), sum.holds+p.holds/float64(len(parts))
	}
	return sum
}

// everyPower is how many repetitions there are for one whose power is foretold, which may take a simulation itself.
const everyPower = 50

func (c cell) part(random *rand.Rand, times int) outcome {
	o := outcome{times: times, gates: make([]int, len(naive))}
	pairs, rates, differences := make([]stats.Pair, c.cases), make([]float64, c.cases), make([]float64, c.cases)
	suite := compare.Rule{Scope: compare.Suite, Alpha: .05, Margin: .05}
	for r := range times {
		real := 0.
		for i := range pairs {
			rates[i] = c.rates.draw(random)
			worse := rates[i] * (1 - c.drop/c.rates.mean())
			real += (worse - rates[i]) / float64(c.cases)
			pairs[i] = stats.Pair{Base: c.trial(random, rates[i]), Head: c.trial(random, worse)}
			differences[i] = pairs[i].Head.Rate() - pairs[i].Base.Rate()
		}
		d := suite.Decide(pairs, nil)
		count(&o.called, d.Verdict == compare.Better || d.Verdict == compare.Worse || d.SmallLoss)
		count(&o.exact, d.P < .05)
		count(&o.outside, !d.Interval.Holds(0))
		count(&o.notWorse, d.Verdict == compare.NotWorse)
		count(&o.clustered, stats.Clustered[int](differences, nil, .95).P < .05)
		for i, g := range naive {
			count(&o.gates[i], g.call(pairs))
		}
		if r%everyPower == 0 {
			o.formula += stats.Power(rates, c.trials, -real, .05) * everyPower / float64(times)
		}
		if d.Interval.Holds(real) {
			o.holds += 1 / float64(times)
		}
	}
	return o
}

func count(n *int, is bool) {
	if is {
		*n++
	}
}

// trial returns how many trials of a case pass that passes at a rate.
func (c cell) trial(random *rand.Rand, rate float64) stats.Count {
	n := stats.Count{Trials: c.trials}
	for range c.trials {
		count(&n.Passed, random.Float64() < rate)
	}
	return n
}
