package playbook

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSize(t *testing.T) {
	for text, want := range map[string]Size{
		"1MiB": 1 << 20, "4GiB": 4 << 30, "1.5GiB": 3 << 29, ".5GiB": 1 << 29, "2048KiB": 2 << 20,
		"1048577B": 1<<20 + 1, "1024TiB": 1 << 50,
	} {
		var s Size
		require.NoError(t, s.UnmarshalText([]byte(text)))
		assert.Equal(t, want, s, text)
	}
	for _, text := range []string{
		"", "4", "4 GiB", "4GB", "4G", "GiB", "-4GiB", "0GiB", "1023KiB", "1025TiB", "1e3GiB", "0x4GiB",
		"InfGiB", "NaNMiB",
	} {
		var s Size
		require.EqualError(t, s.UnmarshalText([]byte(text)),
			`must be a size from 1MiB to 1024TiB, like 512MiB or 1.5GiB, not "`+text+`"`)
		assert.Zero(t, s)
	}
}

// FuzzSize: what is accepted matches the pattern, and written again it is the same.
func FuzzSize(f *testing.F) {
	f.Add("1.5GiB")
	f.Add("1048577B")
	f.Fuzz(func(t *testing.T, text string) {
		var s, again Size
		if s.UnmarshalText([]byte(text)) != nil {
			return
		}
		assert.Regexp(t, regexp.MustCompile(SizePattern), text)
		written, err := s.MarshalText()
		require.NoError(t, err)
		require.NoError(t, again.UnmarshalText(written))
		assert.Equal(t, s, again)
	})
}
