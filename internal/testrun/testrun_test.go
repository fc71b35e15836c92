package testrun

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestID(t *testing.T) {
	tests := []struct{ name, value, want, err string }{
		{name: "named", value: "ci_7-x", want: "^ci_7-x$"},
		{name: "generated", want: "^[a-z2-7]{8}$"},
		{name: "as-long-as-it-may-be", value: strings.Repeat("x", 64), want: "^x{64}$"},
		{name: "longer", value: strings.Repeat("x", 65), err: "cannot name a run"},
		{name: "upwards", value: "../x", err: `TEST_RUN_ID: "../x" cannot name a run`},
		{name: "option", value: "-rf", err: "no - in front"},
		{name: "hidden", value: ".x", err: "cannot name a run"},
		{name: "newline", value: "x\n", err: "cannot name a run"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for range 2 { // the same each time
				id, err := ID(func(name string) string {
					require.Equal(t, "TEST_RUN_ID", name)
					return tt.value
				})
				if tt.err != "" {
					require.ErrorContains(t, err, tt.err)
					return
				}
				require.NoError(t, err)
				require.Regexp(t, tt.want, id)
			}
		})
	}
	first, err := ID(func(string) string { return "" })
	require.NoError(t, err)
	second, err := ID(func(string) string { return "" })
	require.NoError(t, err)
	require.Equal(t, first, second, "one id for all of the process")
}
