package result

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUnmet(t *testing.T) {
	e := Evaluation{
		Outcome: Fail, Reason: "It is named: not found (and 3 more)",
		Checks: []Check{
			{ID: "a", Text: "It is named", Outcome: Fail, Evidence: "not found"},
			{ID: "b", Text: "It is\nshort", Outcome: Fail, Evidence: "on line 1:\x1b[31m"},
			{ID: "c", Text: "It is calm", Outcome: Pass, Evidence: "so it is"},
			{ID: "d", Outcome: Fail},
			{ID: "e", Outcome: Fail},
		},
	}
	require.Equal(t, []string{"✗ It is short: on line 1:\ufffd[31m", "✗ d", "✗ e"}, e.Unmet(3))
	require.Equal(t, []string{"✗ It is short: on line 1:\ufffd[31m", "… and 2 more"}, e.Unmet(1))
	e.Outcome = Pass
	require.Empty(t, e.Unmet(3))
}

func TestEach(t *testing.T) {
	checks := []Check{{ID: "a", Outcome: Pass}, {ID: "b", Outcome: Fail}}
	for _, tt := range []struct {
		e    Evaluation
		want []Check
	}{
		{Evaluation{Name: "x", Outcome: Fail, Checks: checks}, checks},
		{
			Evaluation{Name: "x", Outcome: Pass, Detail: "✓ it is there"},
			[]Check{{ID: "x", Text: "x", Outcome: Pass, Evidence: "✓ it is there"}},
		},
		{
			Evaluation{Name: "x", Outcome: Fail, Reason: "not found"},
			[]Check{{ID: "x", Text: "x", Outcome: Fail, Evidence: "not found"}},
		},
		{Evaluation{Name: "x", Outcome: Error, Reason: "no answer", Checks: checks}, nil},
		{Evaluation{Name: "x", Outcome: Reported}, nil},
		{Evaluation{Name: "x", Outcome: Skip}, nil},
	} {
		require.Equal(t, tt.want, tt.e.Each(), "%+v", tt.e)
	}
}
