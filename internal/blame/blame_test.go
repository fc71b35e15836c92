package blame_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/blame"
)

func TestPart(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, tt := range []struct {
		name, a, b string
		want       blame.Parting
	}{
		{name: "two sessions without calls"},
		{name: "the same calls", a: "Read {}|Edit {}", b: "Read {}|Edit {}"},
		{
			name: "other tools", a: "Read {}|Edit {}", b: "Read {}|Bash {}",
			want: blame.Parting{Call: 2, A: "Edit {}", B: "Bash {}"},
		},
		{name: "one ends", a: "Read {}", b: "Read {}|Edit {}", want: blame.Parting{Call: 2, B: "Edit {}"}},
		{name: "the other ends", a: "Read {}", want: blame.Parting{Call: 1, A: "Read {}"}},
		{
			name: "late in long arguments", a: "Read " + long + "1", b: "Read " + long + "2",
			want: blame.Parting{Call: 1, A: "Read …" + long[:30] + "1", B: "Read …" + long[:30] + "2"},
		},
		{
			name: "bytes that are not for terminals", a: "Read \x1b[31m\n\u202e", b: "Edit",
			want: blame.Parting{Call: 1, A: "Read �[31m �", B: "Edit"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := calls(tt.a), calls(tt.b)
			assert.Equal(t, tt.want, blame.Part(a, b))
			other := blame.Parting{Call: tt.want.Call, A: tt.want.B, B: tt.want.A}
			assert.Equal(t, other, blame.Part(b, a), "the other way round")
		})
	}
}

// calls are those of a line, with | between them.
func calls(line string) []string {
	return slices.DeleteFunc(strings.Split(line, "|"), func(c string) bool { return c == "" })
}

// TestAssociations: p is 2/252 of five and five trials, 2/70 of four and four, times the number of calls that differ.
func TestAssociations(t *testing.T) {
	for _, tt := range []struct {
		name string
		// passed and failed are the sessions, see [sessions].
		passed, failed string
		want           []string
	}{
		{name: "no session"},
		{name: "none failed", passed: "Read a;Read b"},
		{name: "the same calls in all", passed: "Read a;Read a;Read a;Read a", failed: "Read a;Read a;Read a;Read a"},
		{name: "too few to tell", passed: "Read a;Read a;Read a", failed: "Edit b;Edit b;Edit b"},
		{
			name: "a call of those that failed", passed: "Read a;Read a;Read a;Read a;Read a",
			failed: "Read a|Bash rm;Read a|Bash rm;Read a|Bash rm;Read a|Bash rm;Read a|Bash rm",
			want:   []string{"Bash rm: made in 5 of 5 trials that failed, 0 of 5 that passed, p = 0.008"},
		},
		{
			name:   "calls that failed trials did not make, counted once a trial",
			passed: "Read a|Read a|Edit b;Read a|Edit b;Read a|Edit b;Read a|Edit b", failed: ";;;",
			want: []string{"Read a and 1 more: made in 0 of 4 trials that failed, 4 of 4 that passed, p = 0.029"},
		},
		{
			name:   "a tool, whatever its arguments",
			passed: ";;;;", failed: "Bash a;Bash b;Bash c;Bash d;Bash e",
			want: []string{"Bash: made in 5 of 5 trials that failed, 0 of 5 that passed, p = 0.048"},
		},
		{
			name: "chance among many calls", passed: "Read a;Read b;Read c;Read d;Read e|Bash x",
			failed: "Bash x;Bash x;Bash x;Bash x|Read f;Bash x|Read g",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			all := slices.Concat(sessions(tt.passed, false), sessions(tt.failed, true))
			for _, a := range blame.Associations(all, .05) {
				got = append(got, a.String())
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

// sessions are those of a line, with ; between them; an empty line is none.
func sessions(line string, failed bool) (all []blame.Session) {
	for one := range strings.SplitSeq(line, ";") {
		if line != "" {
			all = append(all, blame.Session{Calls: calls(one), Failed: failed})
		}
	}
	return all
}

// TestBounded: what is said stays few and short, however many calls there are.
func TestBounded(t *testing.T) {
	var all []blame.Session
	for i := range 20 {
		s := blame.Session{Failed: i%2 == 0}
		for j := range 2000 {
			call := "Bash " + strings.Repeat("\x1b", j)
			if s.Failed && i != 2*(j%5) { // a pattern of its own for some
				s.Calls = append(s.Calls, call)
			}
		}
		all = append(all, s)
	}
	got := blame.Associations(all, .05)
	assert.Len(t, got, 3)
	for _, a := range got {
		assert.Less(t, len(a.String()), 500)
		assert.NotContains(t, a.String(), "\x1b")
	}
}

func TestCalls(t *testing.T) {
	run := &trajectory.Run{Events: []trajectory.Event{
		{Turn: 1, Body: trajectory.ToolStart{ID: "1", Name: "Read", Args: map[string]any{"path": "a.go"}}},
		{Turn: 1, Body: trajectory.ToolStart{ID: "2", Kind: "edit", Title: "b.go"}},
	}}
	got, err := blame.Calls(run)
	require.NoError(t, err)
	assert.Equal(t, []string{`Read {"path":"a.go"}`, "edit b.go null"}, got)
}
