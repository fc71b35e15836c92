package result

import (
	"testing"

	"github.com/stretchr/testify/require"
)

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
