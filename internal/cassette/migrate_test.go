package cassette

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

func TestMigrate(t *testing.T) {
	large := sample()
	large.Turns[0].Events[6].Body = trajectory.Message{Text: strings.Repeat("It is done. ", maxPlain/10)}
	tests := []struct {
		name   string
		reason string
		c      *Cassette
		plant  func(t *testing.T, path string) // beside what Write wrote
		remove string                          // a pattern
		want   bool
	}{
		{name: "as-written", c: sample()},
		{name: "as-written-compressed", c: large},
		{name: "new-pattern", c: sample(), remove: `Fixed`, want: true},
		{name: "new-pattern-of-a-large-one", reason: "what is left is small", c: large, remove: `(It is done\. )+`, want: true},
		{
			name: "decompressed-by-a-person", reason: "as nobody would write it", c: large, want: true,
			plant: func(t *testing.T, path string) {
				src, err := open(path)
				require.NoError(t, err)
				defer src.Close()
				data, err := os.Create(path)
				require.NoError(t, err)
				_, err = data.ReadFrom(src)
				require.NoError(t, err)
				require.NoError(t, data.Close())
				require.NoError(t, os.Remove(Compressed(path)))
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.1.jsonl")
			require.NoError(t, Write(path, tt.c))
			if tt.plant != nil {
				tt.plant(t, path)
			}
			migrate := func(dry bool) bool {
				var patterns []*regexp.Regexp
				if tt.remove != "" {
					patterns = append(patterns, regexp.MustCompile(tt.remove))
				}
				changed, err := Migrate(path, tt.c.Header.Unit, NewNormaliser(nil, patterns, nil), dry)
				require.NoError(t, err)
				return changed
			}
			before := files(t, filepath.Dir(path))
			assert.Equal(t, tt.want, migrate(true), tt.reason)
			assert.Equal(t, before, files(t, filepath.Dir(path)), "a dry run changes nothing")
			assert.Equal(t, tt.want, migrate(false))
			assert.Equal(t, tt.want, !assert.ObjectsAreEqual(before, files(t, filepath.Dir(path))))
			assert.Len(t, files(t, filepath.Dir(path)), 1)
			assert.False(t, migrate(false), "once is enough")
			_, err := Read(path)
			require.NoError(t, err)
		})
	}
}

func TestMigrateRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.1.jsonl")
	refuses := func(want string) {
		t.Helper()
		before := files(t, filepath.Dir(path))
		_, err := Migrate(path, sample().Header.Unit, NewNormaliser(nil, nil, nil), false)
		require.ErrorContains(t, err, want)
		assert.Equal(t, before, files(t, filepath.Dir(path)))
	}
	refuses("there is no such cassette")
	other := sample()
	other.Header.Unit = "other/task/a/1"
	require.NoError(t, Write(path, other))
	refuses("the cassette was recorded for other/task/a/1")
	require.NoError(t, os.WriteFile(path, []byte("{\n"), 0o644))
	refuses("this is not a cassette")
}

// files returns the contents of the files in a directory, by their names.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	all := make(map[string]string)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		all[e.Name()] = string(data)
	}
	return all
}
