package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// oracle is questions for R, with what this package says.
type oracle struct {
	lines []string
	want  [][]float64
}

func (o *oracle) ask(name string, args [][]float64, want ...float64) {
	var line strings.Builder
	line.WriteString(name)
	for _, values := range args {
		line.WriteString(" ")
		for i, v := range values {
			if i > 0 {
				line.WriteString(",")
			}
			line.WriteString(strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
	o.lines, o.want = append(o.lines, line.String()), append(o.want, want)
}

// TestAgainstR holds every figure that base R has, too, to R's, on random cases: easy and hard ones, with equally many
// trials in both arms and not.
func TestAgainstR(t *testing.T) {
	if testing.Short() {
		t.Skip("R is a process of its own")
	}
	rscript, err := exec.LookPath("Rscript")
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("Rscript is not in PATH: install r-base-core")
	}
	require.NoError(t, err)
	random, o := rand.New(rand.NewPCG(3, 4)), new(oracle)
	for range 50 {
		cases := randomPairs(random)
		columns := make([][]float64, 4)
		for _, p := range cases {
			for i, v := range []int{p.Head.Passed, p.Head.Trials, p.Base.Passed, p.Base.Trials} {
				columns[i] = append(columns[i], float64(v))
			}
		}
		if informative(cases) {
			o.ask("mh", columns, MantelHaenszel(cases).P)
		}
		if once(cases) {
			i := ScoreInterval(cases, .95)
			o.ask("paired", [][]float64{columns[0], columns[2]}, i.Low, i.High)
		} else {
			i := ScoreInterval(cases, .95)
			o.ask("stratified", columns, i.Low, i.High)
		}
		a, b := cases[0].Base, cases[1].Head
		o.ask("fisher", [][]float64{{
			float64(a.Passed), float64(a.Trials - a.Passed),
			float64(b.Passed), float64(b.Trials - b.Passed),
		}}, Fisher(a, b))
		c := Count{random.IntN(30), 30}
		i := c.Wilson(.95)
		o.ask("wilson", [][]float64{{float64(c.Passed), float64(c.Trials)}}, i.Low, i.High)
		ps, values := make([]float64, 1+random.IntN(8)), make([]float64, 2+random.IntN(20))
		for i := range ps {
			ps[i] = math.Pow(random.Float64(), 3)
		}
		for i := range values {
			values[i] = random.NormFloat64() + .5
		}
		o.ask("holm", [][]float64{ps}, Holm(ps)...)
		o.ask("bh", [][]float64{ps}, BenjaminiHochberg(ps)...)
		e := Clustered[int](values, nil, .95)
		o.ask("t", [][]float64{values}, e.Mean, e.Error, e.P, e.Interval.Low, e.Interval.High)
		df := float64(1 + random.IntN(200))
		o.ask("normal", [][]float64{{.9, math.Abs(e.Mean), df}}, normal(.9), studentTail(e.Mean, df))
	}
	cmd := exec.CommandContext(t.Context(), rscript, "--vanilla", "testdata/oracle.R")
	cmd.Stdin = strings.NewReader(strings.Join(o.lines, "\n") + "\n")
	out, err := cmd.Output()
	require.NoError(t, err, string(out))
	answers := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Equal(t, len(o.lines), len(answers))
	for i, line := range answers {
		words := strings.Fields(line)
		require.Len(t, words, len(o.want[i]), o.lines[i])
		for j, word := range words {
			got, err := strconv.ParseFloat(word, 64)
			require.NoError(t, err)
			require.InDelta(t, got, o.want[i][j], 1e-6, fmt.Sprintf("%s: R says %s, we %v", o.lines[i], line,
				o.want[i]))
		}
	}
}

// randomPairs returns up to 13 cases of up to 6 trials.
func randomPairs(random *rand.Rand) []Pair {
	cases := make([]Pair, 2+random.IntN(12))
	n := 1 + random.IntN(4)
	m, drop := n, random.Float64()
	if n > 1 && random.IntN(2) == 0 {
		m = 1 + random.IntN(6)
	}
	for i := range cases {
		rate := math.Sqrt(random.Float64())
		cases[i] = Pair{Base: draw(random, m, rate), Head: draw(random, n, rate*drop)}
		if random.IntN(4) == 0 {
			cases[i].Head.Passed, cases[i].Base.Passed = n, m
		}
	}
	return cases
}

func draw(random *rand.Rand, trials int, rate float64) Count {
	c := Count{Trials: trials}
	for range trials {
		if random.Float64() < rate {
			c.Passed++
		}
	}
	return c
}

// informative reports whether R has an answer: it wants two cases that are neither all passed nor all failed.
func informative(cases []Pair) bool {
	n := 0
	for _, p := range cases {
		if all := p.Base.Passed + p.Head.Passed; all > 0 && all < p.Base.Trials+p.Head.Trials {
			n++
		}
	}
	return n > 1
}
