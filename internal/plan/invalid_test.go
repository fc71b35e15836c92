package plan_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

var (
	wantComment = regexp.MustCompile(`# want ((?:"(?:[^"\\]|\\.)*"\s*)+)$`)
	wantPattern = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
)

// wants returns the patterns of the comments `# want "regexp" "regexp"` in a playbook, by line.
func wants(t *testing.T, text string) map[int][]*regexp.Regexp {
	t.Helper()
	w := make(map[int][]*regexp.Regexp)
	for i, line := range strings.Split(text, "\n") {
		m := wantComment.FindStringSubmatch(line)
		require.Equal(t, strings.Contains(line, "# want"), m != nil, "line %d: malformed comment", i+1)
		if m == nil {
			continue
		}
		for _, quoted := range wantPattern.FindAllString(m[1], -1) {
			// A backslash stands for itself, except before a quote.
			pattern := strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
			w[i+1] = append(w[i+1], regexp.MustCompile(pattern))
		}
	}
	return w
}

// TestInvalid holds each invalid file to its comments: each error is wanted on its line, by a pattern for
// "path: reason", and each pattern has its error.
func TestInvalid(t *testing.T) {
	for _, file := range glob(t, "testdata/invalid/*.yaml", "testdata/evalfile/invalid/*.yaml") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			want := wants(t, string(data))

			p, err := plan.Load(filepath.ToSlash(file), kinds)
			assert.Nil(t, p)
			var errs doc.Problems
			require.ErrorAs(t, err, &errs)
			for _, e := range errs {
				prefix := filepath.ToSlash(file) + ":" + strconv.Itoa(e.Position.Line) + ":" +
					strconv.Itoa(e.Position.Column) + ": "
				text, ok := strings.CutPrefix(e.Error(), prefix)
				require.True(t, ok, "%q does not begin with %q", e.Error(), prefix)
				if !take(want, e.Position.Line, text) {
					t.Errorf("unwanted error: %v", e)
				}
			}
			for line, patterns := range want {
				for _, p := range patterns {
					t.Errorf("%s:%d: no error matches %q", file, line, p)
				}
			}
		})
	}
}

// take removes the first pattern of a line that matches.
func take(want map[int][]*regexp.Regexp, line int, text string) bool {
	for i, p := range want[line] {
		if p.MatchString(text) {
			want[line] = append(want[line][:i:i], want[line][i+1:]...)
			return true
		}
	}
	return false
}

// glob returns the files that match the patterns, of which each matches some.
func glob(t testing.TB, patterns ...string) []string {
	t.Helper()
	var all []string
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		all = append(all, files...)
	}
	return all
}
