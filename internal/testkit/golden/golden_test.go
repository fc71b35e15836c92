package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type fake struct{ errors []string }

func (*fake) Helper()      {}
func (*fake) Name() string { return "TestA/it's_1+1" }
func (f *fake) Errorf(format string, args ...any) {
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}

const command = "UPDATE_GOLDEN=1 go test github.com/sdd-eval/sdd-eval/internal/testkit/golden " +
	`-run '^TestA$/^it'\''s_1\+1$'`

func TestEqual(t *testing.T) {
	file := filepath.Join(t.TempDir(), "testdata", "a.golden")
	for _, tt := range []struct {
		name, update, got string
		errors            []string
		holds             string
	}{
		{"no file", "", "a\n", []string{"open " + file + ": no such file or directory\nto write it: " + command}, ""},
		{
			"another value", "true", "a\n",
			[]string{"open " + file + ": no such file or directory\nto write it: " + command},
			"",
		},
		{"written", "1", "a\n", nil, "a\n"},
		{"equal", "", "a\n", nil, "a\n"},
		{"rewritten", "1", "b\n", nil, "b\n"},
	} {
		t.Setenv("UPDATE_GOLDEN", tt.update)
		var f fake
		Equal(&f, file, tt.got)
		assert.Equal(t, tt.errors, f.errors, tt.name)
		data, _ := os.ReadFile(file)
		assert.Equal(t, tt.holds, string(data), tt.name)
	}
}

func TestDifference(t *testing.T) {
	t.Setenv("UPDATE_GOLDEN", "")
	file := filepath.Join(t.TempDir(), "a.golden")
	require.NoError(t, os.WriteFile(file, []byte("same\none\n"), 0o644))
	var f fake
	Equal(&f, file, []byte("same\ntwo\n"))
	require.Len(t, f.errors, 1)
	assert.Regexp(t, `(?s)^`+file+` \(-want \+got\):\n.*-[^\n]+"one",\n[^\n]*\+[^\n]+"two",.*\n`+
		`to accept: UPDATE_GOLDEN=1 go test`, f.errors[0])
	assert.Contains(t, f.errors[0], "\nto accept: "+command)
}
