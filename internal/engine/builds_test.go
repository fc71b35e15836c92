package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBuildsKey: what go compiles depends on the command and on variables of Go, and on nothing else that the user has.
func TestBuildsKey(t *testing.T) {
	key := buildsKey([]string{"HOME=/a", "GOFLAGS=-race", "CGO_ENABLED=0", "GOCACHE=/c"}, "go test")
	for _, same := range [][]string{
		{"HOME=/b", "GOFLAGS=-race", "CGO_ENABLED=0", "GOCACHE=/c"},
		{"HOME=/a", "GOFLAGS=-race", "CGO_ENABLED=0", "GOCACHE=/d"},
		{"CGO_ENABLED=0", "GOFLAGS=-race"},
	} {
		require.Equal(t, key, buildsKey(same, "go test"), same)
	}
	for _, other := range [][]string{
		{"GOFLAGS=-msan", "CGO_ENABLED=0"}, {"GOFLAGS=-race", "CGO_ENABLED=1"}, {"GOFLAGS=-race"},
	} {
		require.NotEqual(t, key, buildsKey(other, "go test"), other)
	}
	require.NotEqual(t, key, buildsKey([]string{"GOFLAGS=-race", "CGO_ENABLED=0"}, "go build"))
}
