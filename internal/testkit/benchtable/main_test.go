//go:build linux

package main

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInterrupted: nothing stays of a table that was interrupted.
func TestInterrupted(t *testing.T) {
	t.Chdir("../../..")
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, table(ctx, nil), context.Canceled)
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/performance.md")
	require.NoError(t, err)
	for _, r := range rows {
		require.Contains(t, string(doc), "`make bench-table ROWS="+r.name+"`")
	}
}
