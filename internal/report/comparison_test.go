package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/compare"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// compared is an arm of cases, a letter a trial that passed, failed or ended in an error.
func compared(name string, cases ...string) compare.Arm {
	a := compare.Arm{Name: name, Calls: func(_ string, trial int) ([]string, error) {
		return []string{"Read {}", "Bash {\"command\":\"echo '</pre><script>' " + name + "\"}"}, nil
	}}
	for i, trials := range cases {
		c := compare.Case{ID: fmt.Sprintf("shop/<c%d>|`x`", i+1)}
		for _, letter := range trials {
			c.Trials = append(c.Trials, compare.Trial{
				Outcome:     map[rune]result.Outcome{'p': result.Pass, 'f': result.Fail, 'e': result.Error}[letter],
				Activations: []result.Activation{{Name: "p<d>f", Wanted: i < 3, Fired: new(letter == 'p')}},
			})
		}
		a.Cases = append(a.Cases, c)
	}
	return a
}

// TestComparisonFormats: what is worse, inconclusive and invalid under the gate not-worse, in each format; names of
// others stay texts.
func TestComparisonFormats(t *testing.T) {
	base := compared("main:claude", "ppppp", "ppppp", "ppppp", "ppppp", "fffff", "ppppp")
	all := compare.Rule{Scope: compare.Suite, Alpha: .05, Margin: .05}.CompareAll([]compare.Arms{
		{Base: base, Head: compared("latest:<b>", "fffff", "fffff", "ppfff", "ppppp", "ppfff", "ppppp")},
		{Base: base, Head: compared("latest:a", "ppppp", "ppppf", "ppppp", "ppppp", "fffff", "ppppp")},
		{Base: base, Head: compared("latest:down", "eeeee", "eeeee", "ppppp", "ppppp", "ppppp", "ppppp")},
	})
	all[0].Head.Page, all[1].Base.Page, all[1].Head.Page = `runs/a "b"/report.html`, "report.html", "../x:y/report.html"
	require.Equal(t, []int{1, 4, 3}, []int{
		looks(all[0], compare.GateNone), looks(all[1], compare.GateWorse), looks(all[2], compare.GateNone),
	}, "what passes a gate without being good is not green")
	for _, f := range ComparisonFormats {
		t.Run(f.Name, func(t *testing.T) {
			data, err := f.Render(all, compare.GateNotWorse)
			require.NoError(t, err)
			text := string(data)
			golden.Equal(t, "testdata/comparison."+f.Name, text)
			if f.Name == "html" || f.Name == "md" {
				require.NotContains(t, text, "<b>")
				require.NotContains(t, text, "<script>")
				return
			}
			for dec := xml.NewDecoder(strings.NewReader(text)); f.Name == "junit"; {
				if _, err := dec.Token(); err == io.EOF {
					break
				} else {
					require.NoError(t, err)
				}
			}
		})
	}
}
