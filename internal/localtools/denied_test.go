package localtools

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseDenied(t *testing.T) {
	for _, d := range []Denied{
		{Op: OpRead, Path: "/etc/passwd", Reason: "it is outside the workspace"},
		{Op: OpWrite, Path: `a "b" \ c` + "\n", Reason: "no"},
		{Op: OpRun, Path: "curl", Reason: `command "curl" denied: not allowed`},
	} {
		got, ok := ParseDenied(d.Error())
		require.True(t, ok, d.Error())
		require.Equal(t, d, got)
	}
	for _, text := range []string{"", "no such file", `read x denied: y`, `look "x" denied: y`} {
		_, ok := ParseDenied(text)
		require.False(t, ok, text)
	}
}
