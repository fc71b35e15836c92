package rundir

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSelect: a selection keeps whole results, with their cases, variants and judges, and says of how many.
func TestSelect(t *testing.T) {
	whole := demo(3)
	all := slices.Clone(whole.Units)
	m := whole
	m.Select("--units x", func(string, string) bool { return true })
	require.Nil(t, m.Selection, "all are no selection")
	require.Empty(t, m.Selected())

	m.Select("--case one", func(c, _ string) bool { return c == "one" })
	require.NoError(t, creates(t, m))
	require.Equal(t, "6 of 12 units selected (--case one)", m.Selected())
	require.Len(t, m.Cases, 1)
	require.NotContains(t, m.Judges, "two")

	m.Select("--variant b", func(_, v string) bool { return v == "b" })
	require.NoError(t, creates(t, m))
	require.Equal(t, "3 of 12 units selected (--case one --variant b)", m.Selected(), "a selection of a selection")
	require.Equal(t, []string{"b"}, m.variantIDs())
	require.Equal(t, []string{"b"}, m.Cases[0].Variants)

	require.Equal(t, all, whole.Units, "the manifest that it was made of stays")
	require.Equal(t, demo(3).Cases, whole.Cases)
	require.Len(t, whole.Judges, 2)
}

// creates makes a run of a manifest.
func creates(t *testing.T, m Manifest) error {
	t.Helper()
	run, err := Create(t.TempDir(), m, []byte("name: demo\n"), nil)
	if err == nil {
		err = run.Close()
	}
	return err
}
