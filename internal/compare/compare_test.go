package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/stats"
)

// arm returns an arm of cases: a letter is a trial that passed, failed, ended in an error or was skipped.
func arm(name, cases string) Arm {
	a := Arm{Name: name}
	for i, trials := range strings.Fields(cases) {
		c := Case{ID: fmt.Sprintf("shop/c%02d", i+1), Digests: map[string]string{"prompts": "1", "evaluators": "2"}}
		for _, letter := range trials {
			c.Trials = append(c.Trials, Trial{Outcome: map[rune]result.Outcome{
				'p': result.Pass, 'f': result.Fail, 'e': result.Error, 's': result.Skip, 'n': result.NotRun,
			}[letter]})
		}
		a.Cases = append(a.Cases, c)
	}
	return a
}

var suite = Rule{Scope: Suite, Alpha: .05, Margin: .05}

// TestCompare: what people read of comparisons, the exit codes, and the verdict of the swapped one.
func TestCompare(t *testing.T) {
	for _, tt := range []struct {
		name           string
		base, head     string
		change         func(base, head *Arm)
		rule           Rule
		verdict, swaps Verdict
	}{
		{
			name: "worse", base: times(20, "ppp"), head: times(14, "ppp ") + times(6, "fff"), verdict: Worse,
			swaps: Better,
		},
		{name: "all equal", base: times(20, "ppf"), head: times(20, "ppf"), verdict: Inconclusive, swaps: Inconclusive},
		{name: "all different", base: times(20, "p"), head: times(20, "f"), verdict: Worse, swaps: Better},
		{name: "one case", base: "pppppppppp", head: "ffffffffff", verdict: Worse, swaps: Better},
		{name: "one case, one trial", base: "p", head: "f", verdict: Inconclusive, swaps: Inconclusive},
		{
			name: "a small loss", base: times(300, "pppppppppp"), head: times(270, "pppppppppp ") + times(30,
				"pppppppppf "),
			verdict: NotWorse, swaps: Better,
		},
		{
			name: "enough trials", base: times(100, "pppppppppf"), head: times(100, "pppppppppf"), verdict: NotWorse,
			swaps: NotWorse,
		},
		{
			name: "an error", base: times(9, "ppf ") + "ppe", head: times(10, "ppf"), verdict: Inconclusive,
			swaps: Inconclusive,
		},
		{
			name: "errors in one arm", base: times(20, "ppp"), head: times(11, "ppp ") + times(9, "ppe "),
			verdict: Invalid, swaps: Invalid,
		},
		{
			name: "missing differs", base: times(40, "ppp"), head: times(34, "ppp ") + times(6, "ppn "),
			verdict: Invalid, swaps: Invalid,
		},
		{name: "no verdict", base: "eee", head: "ppp", verdict: Invalid, swaps: Invalid},
		{
			name: "an edited case", base: times(20, "ppp"), head: times(20, "ppp"), verdict: Inconclusive,
			swaps: Inconclusive,
			change: func(_, head *Arm) {
				head.Cases[3].Digests = map[string]string{"prompts": "1", "evaluators": "3", "workspace": "4"}
				head.Cases = append(head.Cases[:7], head.Cases[8:]...)
				head.Cases = append(head.Cases, Case{ID: "shop/new", Trials: head.Cases[0].Trials})
			},
		},
		{
			name: "one session twice", base: times(5, "p"), head: times(5, "p"), verdict: Invalid, swaps: Invalid,
			change: func(base, head *Arm) {
				base.Cases[2].Trials[0].Session, head.Cases[2].Trials[0].Session = "sha256:1", "sha256:1"
			},
		},
		{
			name: "a population", base: times(20, "ppp"), head: times(14, "ppp ") + times(6, "fff"),
			rule: Rule{Scope: Population, Alpha: .05, Margin: .05}, verdict: Worse, swaps: Better,
		},
		{
			name: "few clusters", base: times(20, "ppp"), head: times(14, "ppp ") + times(6, "fff"),
			rule: Rule{Scope: Population, Alpha: .05, Margin: .05}, verdict: Invalid, swaps: Invalid,
			change: func(base, _ *Arm) {
				for i := range base.Cases {
					base.Cases[i].Cluster = fmt.Sprint("repository ", i%4)
				}
			},
		},
		{
			name: "all figures", base: times(10, "ppf"), head: times(10, "ppp"), verdict: Better, swaps: Worse,
			change: func(base, head *Arm) { used(base, 1); used(head, 1.5) },
		},
		{
			name: "checks", base: "p p p f pp pp pp", head: "p f p f pp pp ff", verdict: Inconclusive, swaps: NotWorse,
			change: func(base, head *Arm) {
				checked(base, "text/a+ text/b+ judge/a+", "text/a+ text/b-", "text/a+", "", "text/a+",
					"text/a+ text/b-", "text/a+ text/b+")
				checked(head, "text/a+ text/b+", "text/a- text/b-", "text/a+", "text/a-", "text/a+", "text/a+ text/b+",
					"text/a+ text/b- files/files-")
			},
		},
		{
			name: "checks of few cases", base: "p p", head: "p f", verdict: Inconclusive, swaps: Inconclusive,
			change: func(base, head *Arm) {
				checked(base, "text/a+", "text/a+ text/b-")
				checked(head, "text/a+", "text/a- text/b-")
			},
		},
		{
			name: "where sessions part", base: "ppp fff ppp ppp ppp", head: "fff ppf fpp ffp pfp",
			verdict: Inconclusive, swaps: NotWorse,
			change: func(base, head *Arm) { base.Calls, head.Calls = called(base), called(head) },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base, head := arm("20260302-101500-shop-k3v9qa:claude", tt.base),
				arm("20260303-101500-shop-x1b2c3:claude", tt.head)
			if tt.change != nil {
				tt.change(&base, &head)
			}
			if tt.rule == (Rule{}) {
				tt.rule = suite
			}
			c := tt.rule.Compare(base, head)
			assert.Equal(t, tt.verdict, c.Verdict)
			data, err := json.MarshalIndent(c, "", "  ")
			require.NoError(t, err)
			one := []*Comparison{c}
			golden(t, tt.name, fmt.Sprintf("%s\n-- exit codes --\n--gate worse: %d\n--gate not-worse: %d\n"+
				"--gate better: %d\n--gate none: %d\n-- json --\n%s\n", c.Text(), GateWorse.Exit(one),
				GateNotWorse.Exit(one), GateBetter.Exit(one), GateNone.Exit(one), data))
			back := tt.rule.Compare(head, base)
			assert.Equal(t, tt.swaps, back.Verdict, "swapped")
			assert.InDelta(t, float64(c.Delta)+1, 1-float64(back.Delta), 1e-12)
		})
	}
}

func times(n int, cases string) string { return strings.Repeat(cases+" ", n) }

// used gives the trials of an arm figures.
func used(a *Arm, factor float64) {
	for i := range a.Cases {
		for j := range a.Cases[i].Trials {
			t := &a.Cases[i].Trials[j]
			cost, tokens, seconds, score := factor*(.01+float64(i)/1000), factor*1000, factor*float64(20+j), .5*factor
			t.CostUSD, t.Tokens, t.Seconds, t.Score = &cost, &tokens, &seconds, &score
			t.Evaluators = map[string]result.Outcome{"files": result.Pass, "answer": t.Outcome}
		}
	}
}

// checked gives each trial of the cases of an arm checks, + for those that hold.
func checked(a *Arm, cases ...string) {
	for i, words := range cases {
		for word := range strings.FieldsSeq(words) {
			evaluator, id, _ := strings.Cut(word[:len(word)-1], "/")
			c := Check{evaluator, id, "the answer names " + id, result.Fail}
			if word[len(word)-1] == '+' {
				c.Outcome = result.Pass
			}
			for j := range a.Cases[i].Trials {
				a.Cases[i].Trials[j].Checks = append(a.Cases[i].Trials[j].Checks, c)
			}
		}
	}
}

// TestChecks holds the figures of checks to those of a t test by hand.
func TestChecks(t *testing.T) {
	base, head := arm("base", "pf pp ff pp ff ee"), arm("head", "pp pp ff pf ff pp")
	checked(&base, "t/a+ t/b-", "t/a+ t/b+", "t/a- t/b-", "t/a+ t/b+ t/c-", "t/a+", "t/a-")
	checked(&head, "t/a+ t/b+", "t/a+ t/b+", "t/a+ t/b-", "t/a+ t/b+", "t/a+ t/b-", "t/a+")
	head.Cases[3].Trials[1].Checks[0].Outcome = result.Fail // one of two trials: 3 of 4 checks
	c := suite.Compare(base, head).Checks
	// Differences .5, 0, .5, -.25, 0: mean .15, standard error .15, t 1.
	assert.InDelta(t, .7, float64(c.Base), 1e-9)
	assert.InDelta(t, .85, float64(c.Head), 1e-9)
	assert.InDelta(t, .15, float64(c.Delta), 1e-9)
	assert.InDelta(t, -.2665, float64(c.Interval[0]), 1e-4)
	assert.InDelta(t, .5665, float64(c.Interval[1]), 1e-4)
	assert.InDelta(t, .3739, float64(c.P), 1e-4)
	assert.Equal(t, 5, c.Cases)
	assert.Equal(t, []CheckFlip{
		{"shop/c04", "t", "a", "the answer names a", 1, .5},
		{"shop/c01", "t", "b", "the answer names b", 0, 1},
		{"shop/c03", "t", "a", "the answer names a", 0, 1},
	}, c.Flips)
	head.Cases[0].Trials[1].Checks = nil
	c = suite.Compare(base, head).Checks
	assert.Equal(t, [2]int{4, 1}, [2]int{c.Cases, c.Without}, "a trial that failed before its checks")
	for _, one := range head.Cases {
		for i := range one.Trials {
			one.Trials[i].Checks = nil
		}
	}
	assert.Nil(t, suite.Compare(base, head).Checks)
}

// called returns what agents called, which depends on the case and on how the trial ended.
func called(a *Arm) func(string, int) ([]string, error) {
	return func(id string, trial int) ([]string, error) {
		passed := a.Cases[int(id[len(id)-1]-'1')].Trials[trial-1].Outcome == result.Pass
		calls := []string{`Read {"path":"a.go"}`}
		switch {
		case id == "shop/c01" && passed:
			calls = append(calls, `Bash {"command":"go test ./...\n`+strings.Repeat("-v ", 90)+"\x1b[31m\"}")
		case id == "shop/c01":
			calls = append(calls, `Bash {"command":"go test ./...\n`+strings.Repeat("-v ", 90)+`-x"}`)
		case id == "shop/c02" && passed:
			calls = append(calls, "Edit {}")
		case id == "shop/c03" && passed:
			return nil, errors.New("trajectory.json: not\nthere")
		case id == "shop/c04" && !passed:
			return nil, nil
		}
		return calls, nil
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", strings.NewReplacer(" ", "_", ",", "").Replace(name)+".golden")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

// TestSwapped: swapping base and head swaps better and worse, and turns the interval round, whatever the results are.
func TestSwapped(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	turned := map[Verdict]Verdict{Better: Worse, Worse: Better, Inconclusive: Inconclusive, NotWorse: NotWorse}
	seen := make(map[Verdict]int)
	for range 300 {
		pairs := make([]stats.Pair, 1+random.IntN(30))
		n, m, rate := 1+random.IntN(10), 1+random.IntN(10), random.Float64()
		for i := range pairs {
			pairs[i].Base.Trials, pairs[i].Head.Trials = n, m
			for range n {
				pairs[i].Base.Passed += random.IntN(2)
			}
			for range m {
				if random.Float64() < rate {
					pairs[i].Head.Passed++
				}
			}
		}
		swapped := make([]stats.Pair, len(pairs))
		for i, p := range pairs {
			swapped[i] = stats.Pair{Base: p.Head, Head: p.Base}
		}
		rule := Rule{Scope: Suite, Alpha: .05, Margin: -2} // no loss is below it: it is of losses alone
		d, back := rule.Decide(pairs, nil), rule.Decide(swapped, nil)
		seen[d.Verdict]++
		require.Equal(t, turned[d.Verdict], back.Verdict, pairs)
		require.InDelta(t, d.P, back.P, 1e-9)
		require.InDelta(t, d.Interval.Low, -back.Interval.High, 1e-9, pairs)
	}
	assert.Greater(t, min(seen[Better], seen[Worse], seen[Inconclusive]), 20, seen)
}

// BenchmarkCompare compares two runs of 5,000 units each, with all figures.
func BenchmarkCompare(b *testing.B) {
	base, head := arm("base", times(1000, "ppfpp")), arm("head", times(1000, "ppfpf"))
	used(&base, 1)
	used(&head, 1.1)
	for b.Loop() {
		suite.Compare(base, head)
	}
}
