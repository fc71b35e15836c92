package trajectory_test

import (
	"bufio"
	"encoding/json"
	"math/rand"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// scenario is a random expectation and a random run over so few tools and arguments that they often match.
type scenario struct {
	expected []trajectory.Call
	actual   []trajectory.ToolCall
	seed     int64
}

// Generate implements quick.Generator.
func (scenario) Generate(r *rand.Rand, _ int) reflect.Value {
	s := scenario{seed: r.Int63()}
	pick := func(words ...string) string { return words[r.Intn(len(words))] }
	for range 1 + r.Intn(6) {
		c := trajectory.Tool(pick("Read", "Grep"))
		want := args{}
		if r.Intn(2) == 0 {
			want["path"] = trajectory.Path(pick("a.go", "b.go"))
		}
		if r.Intn(3) == 0 {
			want["n"] = trajectory.GTE(r.Intn(3))
		}
		c = c.Args(want).Mode(trajectory.ArgModes()[r.Intn(4)])
		if r.Intn(4) == 0 {
			c = c.MaxDuration(time.Duration(1+r.Intn(2)) * time.Second)
		}
		s.expected = append(s.expected, c)
	}
	for range r.Intn(8) {
		c := call(pick("Read", "Grep", "Bash"), args{})
		if r.Intn(4) > 0 {
			c = call(c.Name, args{"path": pick("a.go", "./b.go", "src/a.go"), "n": r.Intn(4)})
		}
		c.Duration = time.Duration(r.Intn(4)) * time.Second
		s.actual = append(s.actual, c)
	}
	return reflect.ValueOf(s)
}

// groups returns the expected calls in groups of one and two.
func (s scenario) groups() []trajectory.Group {
	var groups []trajectory.Group
	for i, c := range s.expected {
		if i%3 == 2 {
			groups[len(groups)-1] = append(groups[len(groups)-1], c)
		} else {
			groups = append(groups, trajectory.Group{c})
		}
	}
	return groups
}

func check(t *testing.T, property any) {
	t.Helper()
	require.NoError(t, quick.Check(property, &quick.Config{MaxCount: 500, Rand: rand.New(rand.NewSource(1))}))
}

// sets are the matchers for which order does not matter.
var sets = []func(...trajectory.Call) trajectory.Matcher{trajectory.Unordered, trajectory.Superset, trajectory.Subset}

func TestSetsDoNotDependOnTheOrderOfExpectations(t *testing.T) {
	check(t, func(s scenario) bool {
		shuffled := slices.Clone(s.expected)
		rand.New(rand.NewSource(s.seed)).Shuffle(len(shuffled), func(i, j int) {
			shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
		})
		run := runOf(s.actual...)
		return !slices.ContainsFunc(sets, func(of func(...trajectory.Call) trajectory.Matcher) bool {
			a, b := of(s.expected...).Match(run), of(shuffled...).Match(run)
			return a.Err != nil || a.Pass != b.Pass || a.Score != b.Score
		})
	})
}

// exactly returns calls as the expectation of just these calls.
func exactly(calls []trajectory.ToolCall) []trajectory.Call {
	var expected []trajectory.Call
	for _, c := range calls {
		expected = append(expected,
			trajectory.Tool(c.Name).Args(args(c.Args.(map[string]any))).Mode(trajectory.ExactArgs))
	}
	return expected
}

// pair is two lists of few different calls.
type pair struct{ a, b []trajectory.ToolCall }

// Generate implements quick.Generator.
func (pair) Generate(r *rand.Rand, _ int) reflect.Value {
	var p pair
	for _, list := range []*[]trajectory.ToolCall{&p.a, &p.b} {
		for range 1 + r.Intn(4) {
			*list = append(*list, call([]string{"Read", "Grep"}[r.Intn(2)], args{"n": r.Intn(2)}))
		}
	}
	return reflect.ValueOf(p)
}

func TestSupersetIsTheConverseOfSubset(t *testing.T) {
	passes := 0
	check(t, func(p pair) bool {
		superset := trajectory.Superset(exactly(p.b)...).Match(runOf(p.a...))
		subset := trajectory.Subset(exactly(p.a)...).Match(runOf(p.b...))
		if superset.Pass {
			passes++
		}
		return superset.Pass == subset.Pass && superset.Score == subset.Score
	})
	require.Greater(t, passes, 50)
}

func TestUnorderedIsSupersetAndSubset(t *testing.T) {
	check(t, func(p pair) bool {
		run := runOf(p.a...)
		return trajectory.Unordered(exactly(p.b)...).Match(run).Pass ==
			(trajectory.Superset(exactly(p.b)...).Match(run).Pass && trajectory.Subset(exactly(p.b)...).Match(run).Pass)
	})
}

// Calls that must be the same are paired by another way than those that must be alike.
func TestSamePairsAsAlike(t *testing.T) {
	check(t, func(p pair) bool {
		run, expected := runOf(p.a...), exactly(p.b)
		alike := slices.Clone(expected)
		for i := range alike {
			alike[i] = alike[i].Where("whatever", func(trajectory.ToolCall) bool { return true })
		}
		for _, of := range sets {
			a, b := of(expected...).Match(run), of(alike...).Match(run)
			if a.Err != nil || a.Score != b.Score || a.Matched != b.Matched {
				return false
			}
		}
		return true
	})
}

func TestSupersetStaysTrueWithMoreCalls(t *testing.T) {
	check(t, func(s scenario) bool {
		r := rand.New(rand.NewSource(s.seed))
		m := trajectory.Superset(s.expected...)
		before := m.Match(runOf(s.actual...))
		more := slices.Insert(slices.Clone(s.actual), r.Intn(len(s.actual)+1), call("Read", args{"path": "a.go"}))
		after := m.Match(runOf(more...))
		return (!before.Pass || after.Pass) && after.Score >= before.Score
	})
}

func TestScoreIsOneExactlyWhenPassed(t *testing.T) {
	check(t, func(s scenario) bool {
		run := runOf(s.actual...)
		for _, m := range []trajectory.Matcher{
			trajectory.Strict(s.groups()...), trajectory.Exact(s.expected...), trajectory.InOrder(s.expected...),
			trajectory.Unordered(s.expected...), trajectory.Superset(s.expected...), trajectory.Subset(s.expected...),
			trajectory.All(trajectory.InOrder(s.expected...), trajectory.Never("Bash")),
			trajectory.All(
				trajectory.AnyOrder(trajectory.Counts{"Read": 2}), trajectory.AtMost(trajectory.Counts{"Grep": 1}),
				trajectory.Before("Read", "Bash"), trajectory.NoDuplicates(), trajectory.MaxDuration(5*time.Second),
			),
		} {
			r := m.Match(run)
			if r.Err != nil || r.Pass != (r.Score == 1) || r.Score < 0 || r.Score > 1 || r.Pass != (r.Reason() == "") {
				return false
			}
		}
		return true
	})
}

// A run that passes a stricter matcher passes the looser one.
func TestMatchersByStrictness(t *testing.T) {
	check(t, func(s scenario) bool {
		run := runOf(s.actual...)
		strict := trajectory.Strict(s.groups()...).Match(run)
		exact := trajectory.Exact(s.expected...).Match(run)
		unordered := trajectory.Unordered(s.expected...).Match(run)
		inOrder := trajectory.InOrder(s.expected...).Match(run)
		superset := trajectory.Superset(s.expected...).Match(run)
		subset := trajectory.Subset(s.expected...).Match(run)
		return (!strict.Pass || unordered.Pass) && (!exact.Pass || inOrder.Pass && unordered.Pass) &&
			(!inOrder.Pass || superset.Pass) && (!unordered.Pass || superset.Pass && subset.Pass)
	})
}

// The same run and the same expectation give the same text.
func TestTextIsDeterministic(t *testing.T) {
	check(t, func(s scenario) bool {
		m := trajectory.All(
			trajectory.Exact(s.expected...), trajectory.Superset(s.expected...), trajectory.Strict(s.groups()...),
			trajectory.Subset(s.expected...), trajectory.NoDuplicates(),
		)
		first := m.Match(runOf(s.actual...)).String()
		return m.Match(runOf(s.actual...)).String() == first
	})
}

// testdata/superset.jsonl has verdicts of another implementation, with arguments as JSON text.
func TestSupersetAgreesWithOracle(t *testing.T) {
	type toolCall struct{ Name, Args string }
	file, err := os.Open("testdata/superset.jsonl")
	require.NoError(t, err)
	defer file.Close()
	cases := 0
	for lines := bufio.NewScanner(file); lines.Scan(); cases++ {
		var c struct {
			Name      string
			Args      trajectory.ArgMode
			Overrides map[string]trajectory.ArgMode
			Actual    []toolCall
			Expected  []toolCall
			Holds     bool
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
		decode := func(text string) (m map[string]any) {
			dec := json.NewDecoder(strings.NewReader(text))
			dec.UseNumber()
			require.NoError(t, dec.Decode(&m))
			return m
		}
		var expected []trajectory.Call
		for _, e := range c.Expected {
			mode := c.Args
			if m, ok := c.Overrides[e.Name]; ok {
				mode = m
			}
			expected = append(expected, trajectory.Tool(e.Name).Args(decode(e.Args)).Mode(mode))
		}
		var actual []trajectory.ToolCall
		for _, a := range c.Actual {
			actual = append(actual, call(a.Name, decode(a.Args)))
		}
		r := trajectory.Superset(expected...).Match(runOf(actual...))
		if len(expected) == 0 {
			assert.True(t, c.Holds)
			assert.ErrorContains(t, r.Err, "needs at least one call", "nothing looks green")
			continue
		}
		require.NoError(t, r.Err)
		assert.Equal(t, c.Holds, r.Pass, "%s\n%s", c.Name, r)
	}
	assert.Equal(t, 63, cases)
}
