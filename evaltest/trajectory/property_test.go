package trajectory_test

import (
	"math/rand"
	"reflect"
	"slices"
	"testing"
	"testing/quick"
	"time"

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
	for range r.Intn(7) {
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

func check(t *testing.T, property any) {
	t.Helper()
	require.NoError(t, quick.Check(property, &quick.Config{MaxCount: 500, Rand: rand.New(rand.NewSource(1))}))
}

func TestSupersetDoesNotDependOnTheOrderOfExpectations(t *testing.T) {
	check(t, func(s scenario) bool {
		shuffled := slices.Clone(s.expected)
		rand.New(rand.NewSource(s.seed)).Shuffle(len(shuffled), func(i, j int) {
			shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
		})
		run := runOf(s.actual...)
		a, b := trajectory.Superset(s.expected...).Match(run), trajectory.Superset(shuffled...).Match(run)
		return a.Pass == b.Pass && a.Score == b.Score
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
			trajectory.Exact(s.expected...), trajectory.InOrder(s.expected...), trajectory.Superset(s.expected...),
			trajectory.All(trajectory.InOrder(s.expected...), trajectory.Never("Bash")),
		} {
			r := m.Match(run)
			if r.Err != nil || r.Pass != (r.Score == 1) || r.Score < 0 || r.Score > 1 || r.Pass != (r.Reason() == "") {
				return false
			}
		}
		return true
	})
}

// What holds for the stricter matcher holds for the looser one.
func TestMatchersByStrictness(t *testing.T) {
	check(t, func(s scenario) bool {
		run := runOf(s.actual...)
		exact := trajectory.Exact(s.expected...).Match(run)
		inOrder := trajectory.InOrder(s.expected...).Match(run)
		superset := trajectory.Superset(s.expected...).Match(run)
		return (!exact.Pass || inOrder.Pass) && (!inOrder.Pass || superset.Pass)
	})
}

// The same run and the same expectation give the same text.
func TestTextIsDeterministic(t *testing.T) {
	check(t, func(s scenario) bool {
		m := trajectory.All(trajectory.Exact(s.expected...), trajectory.Superset(s.expected...))
		first := m.Match(runOf(s.actual...)).String()
		return m.Match(runOf(s.actual...)).String() == first
	})
}
