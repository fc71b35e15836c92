package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckVariables(t *testing.T) {
	tests := []struct{ name, want string }{
		{"EVALTEST_MODE", ""},
		{"PATH", ""},
		{"EVAL_LLM_JUDGE", ""},
		{"EVALTEST_MOD", "write EVALTEST_MODE"},
		{"EVALTEST_MODES", "write EVALTEST_MODE"},
		{"EVALTEST_MDOE", "write EVALTEST_MODE"},
		{"EVALTEST_NODE", "write EVALTEST_MODE"},
		{"EVALTESTMODE", "write EVALTEST_MODE"},
		{"EVLATEST_MODE", "write EVALTEST_MODE"},
		{"evaltest_mode", "write EVALTEST_MODE"},
		{"EVALTEST_RECORDING", "use one of EVALTEST_MODE, "},
	}
	for _, tt := range tests {
		err := checkVariables([]string{tt.name + "=x"})
		if tt.want == "" {
			require.NoError(t, err, tt.name)
			continue
		}
		require.ErrorContains(t, err, "unknown environment variable "+tt.name+": "+tt.want)
	}
}

// TestMisspellings: what is read for the cache is what is refused, and nothing that is known.
func TestMisspellings(t *testing.T) {
	n := 0
	slips := []string{"EVALTEST_MIDE", "EVALTEST_MODES", "EVALTEST_MDE", "EVALTEST_MDOE"}
	Misspellings(func(name string) {
		n++
		slips = slices.DeleteFunc(slips, func(s string) bool { return s == name })
		if err := checkVariables([]string{name + "=x"}); err == nil {
			require.Contains(t, variables, name)
		} else {
			require.True(t, strings.Contains(err.Error(), ": write "), name)
		}
	})
	require.Empty(t, slips, "wrong, added, missing, swapped")
	require.Less(t, n, 12_000, "go test hashes each")
}
