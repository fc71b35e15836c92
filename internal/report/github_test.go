package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

func TestAnnotationsGolden(t *testing.T) {
	golden.Equal(t, "testdata/annotations.txt", loaded(t, openRun(t)).Annotations("services/shop"))
}

func TestAnnotate(t *testing.T) {
	tests := []struct {
		name, dir string
		a         annotation
		want      string
	}{
		{
			name: "a position", a: annotation{"evals/x/x.yaml:15", "x/task/claude", "step 1 not matched"},
			want: "::error file=evals/x/x.yaml,line=15,title=x/task/claude::step 1 not matched\n",
		},
		{
			name: "a column", a: annotation{"x.yaml:15:3", "x", "why"},
			want: "::error file=x.yaml,line=15,title=x::why\n",
		},
		{
			name: "a module below the repository's root", dir: "services/shop",
			a:    annotation{"evals/x.yaml:1", "x", "why"},
			want: "::error file=services/shop/evals/x.yaml,line=1,title=x::why\n",
		},
		{
			name: "a path that begins elsewhere", dir: "services/shop", a: annotation{"/data/x.yaml:1", "x", "why"},
			want: "::error file=/data/x.yaml,line=1,title=x::why\n",
		},
		{name: "no position", a: annotation{"", "x", "why"}, want: "::error title=x::why\n"},
		{name: "no line", a: annotation{"x.yaml", "x", "why"}, want: "::error title=x::why\n"},
		{
			name: "text of several lines", a: annotation{"", "x", "1%\r\n::warning::2, 3: 4"},
			want: "::error title=x::1%25%0D%0A::warning::2, 3: 4\n",
		},
		{
			name: "names with characters that end properties", a: annotation{"a,b:c%/x.yaml:7", "a:b,c\n%", "why"},
			want: "::error file=a%2Cb%3Ac%25/x.yaml,line=7,title=a%3Ab%2Cc%0A%25::why\n",
		},
		{name: "control characters", a: annotation{"", "\x1b[31m", "\x00"}, want: "::error title=␛[31m::␀\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b strings.Builder
			tt.a.write(&b, tt.dir)
			require.Equal(t, tt.want, b.String())
		})
	}
}

// TestAnnotationsAreBounded: there are at most ten, and each is one line of bounded length, whatever an agent says.
func TestAnnotationsAreBounded(t *testing.T) {
	for _, n := range []int{0, 1, 10, 11, 25} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := sample(t, 1, max(n, 1), 1)
			for i := range s.units {
				u := &s.units[i]
				u.Outcome, u.Evaluations = result.Error, nil
				u.Reason = strings.Repeat("::error::\n", 1000)
				if n == 0 {
					u.Outcome, u.Reason = result.Pass, ""
				}
			}
			text := string(reportOf(t, s).Annotations(""))
			lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
			if n == 0 {
				require.Empty(t, text)
				return
			}
			require.Len(t, lines, min(n, 10))
			for _, line := range lines {
				require.True(t, strings.HasPrefix(line, "::error title=shop"), line)
				require.Less(t, len(line), 3*maxAnnotation)
			}
			if n > 10 {
				require.Contains(t, lines[9], fmt.Sprintf("::%d more did not pass", n-9))
			} else {
				require.NotContains(t, text, "more did not pass")
			}
		})
	}
}

// TestWhatIsNoFlaw: there is no annotation for what was skipped, or completed without being judged.
func TestWhatIsNoFlaw(t *testing.T) {
	s := sample(t, 1, 2, 1)
	for i, outcome := range []result.Outcome{result.Skip, result.Completed} {
		s.units[i].Outcome, s.units[i].Evaluations, s.units[i].Reason = outcome, nil, "no agent"
	}
	s.manifest.Jobs = []string{"lint", "publish"}
	s.jobs = []result.Job{
		{ID: "lint", Outcome: result.Skip, Reason: "no linter"}, {ID: "publish", Outcome: result.Completed},
	}
	require.Empty(t, string(reportOf(t, s).Annotations("")))
}

func TestSummaryIsBounded(t *testing.T) {
	s := sample(t, 4, 60, 1)
	for i := range s.units {
		u := &s.units[i]
		u.Outcome, u.Evaluations = result.Error, nil
		u.Reason = strings.Repeat("the model answered 529 | ", 20)
	}
	rep := reportOf(t, s)
	for _, room := range []int{100_000, 4 * summaryMargin} {
		text := rep.Summary(room)
		require.NotEmpty(t, text)
		require.LessOrEqual(t, len(text), room)
		require.Greater(t, len(text), room-2*summaryMargin-maxRows*8, "there is room for more")
		require.Regexp(t, `\n\*Cut here: [\d,]+ lines more\. .*\*\n$`, string(text))
		require.Equal(t, bytes.Count(text, []byte("<details>")), bytes.Count(text, []byte("</details>")))
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "|") {
				require.Regexp(t, `\|\n$`, line, "a row is whole")
			}
		}
	}
	require.Empty(t, rep.Summary(4*summaryMargin-1))
	require.Empty(t, rep.Summary(-1))
	small := reportOf(t, sample(t, 1, 1, 1))
	require.Equal(t, string(small.Markdown()), string(small.Summary(MaxSummary)))
}
