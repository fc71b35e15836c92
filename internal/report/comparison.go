package report

import (
	"bytes"
	_ "embed"
	"encoding/xml"
	"fmt"
	"html"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/compare"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/stats"
)

// ComparisonFormat is a form in which comparisons are shown, under the gate that they have to pass.
type ComparisonFormat struct {
	Name   string // on the command line
	Render func(all []*compare.Comparison, gate compare.Gate) ([]byte, error)
}

// ComparisonFormats is the table of all of them, beside the text for terminals.
var ComparisonFormats = []ComparisonFormat{
	{"json", func(all []*compare.Comparison, _ compare.Gate) ([]byte, error) {
		data, err := jsonvalue.MarshalIndent(all, "", "  ")
		return append(data, '\n'), err
	}},
	{"md", comparisonMarkdown},
	{"html", comparisonHTML},
	{"junit", comparisonJUnit},
}

// marks are what [looks] returns, for Markdown.
var marks = map[int]string{0: "✅", 1: "❌", 3: "⚠️", 4: "❔"}

// looks returns the exit code of a gate that a comparison looks like: that of this gate, except that what is worse or
// inconclusive is never green.
func looks(c *compare.Comparison, gate compare.Gate) int {
	own := map[compare.Verdict]int{compare.Worse: 1, compare.Inconclusive: 4}
	return max(gate.Exit([]*compare.Comparison{c}), own[c.Verdict])
}

// comparisonMarkdown is for the summary of a job: the verdict is the first line, and the command's text is folded.
func comparisonMarkdown(all []*compare.Comparison, gate compare.Gate) ([]byte, error) {
	var b bytes.Buffer
	for _, c := range all {
		fmt.Fprintf(&b, "### %s %s\n\n| | trials | pass rate |\n|---|---|---|\n",
			marks[looks(c, gate)], escape(c.Headline()))
		for _, arm := range arms(c) {
			fmt.Fprintf(&b, "| %s %s | %d | %s |\n", arm.role, code(arm.Name), arm.Trials, arm.rate())
		}
		fmt.Fprintf(&b, "\n<details><summary>All of it</summary>\n\n<pre>%s</pre>\n\n</details>\n\n",
			html.EscapeString(visible(c.Text())))
	}
	return b.Bytes(), nil
}

// arm is one side of a comparison, with what people call it.
type arm struct {
	role string
	compare.Summary
}

func arms(c *compare.Comparison) []arm { return []arm{{"base", c.Base}, {"head", c.Head}} }

func (a arm) rate() string {
	if a.Trials == 0 {
		return unknown
	}
	return fmt.Sprintf("%.1f %% [%.1f to %.1f]", 100*a.Rate, 100*a.Interval[0], 100*a.Interval[1])
}

// comparisonJUnit has a test case for each comparison: a failure if the gate refuses it, an error if nothing is known.
func comparisonJUnit(all []*compare.Comparison, gate compare.Gate) ([]byte, error) {
	suite := junitSuite{Name: "compare", Time: seconds(0)}
	for _, c := range all {
		one := junitCase{
			Class: "sdd-eval.compare", Name: visible(c.Base.Name + " → " + c.Head.Name), Time: seconds(0),
			Properties: &junitProperties{[]junitProperty{
				{"verdict", string(c.Verdict)},
				{"gate", string(gate)},
				{"scope", string(c.Scope)},
				{"delta", figure(c.Delta)},
				{"interval_low", figure(c.Interval[0])},
				{"interval_high", figure(c.Interval[1])},
				{"p", figure(c.P)},
				{"p_exact", figure(c.PExact)},
				{"margin", figure(compare.Number(c.Margin))},
				{"alpha", figure(compare.Number(c.Alpha))},
				{"cases", strconv.Itoa(c.Pairs)},
			}},
		}
		said := &junitMessage{Message: visible(c.Headline()), Type: string(c.Verdict), Text: visible(c.Text())}
		switch gate.Exit([]*compare.Comparison{c}) {
		case 0:
		case 3:
			one.Error = said
		default:
			one.Failure = said
		}
		suite.Cases = append(suite.Cases, one)
	}
	doc := junitSuites{Name: "compare", Time: seconds(0)}
	doc.add(suite)
	data, err := xml.MarshalIndent(doc, "", "  ")
	return append([]byte(xml.Header), append(data, '\n')...), err
}

// figure writes a number as JSON does.
func figure(n compare.Number) string {
	text, _ := n.MarshalJSON()
	return string(text)
}

//go:embed comparison.css
var comparisonStyle string

// maxForest is how many cases the page has a line for.
const maxForest = 200

// comparisonHTML is one page without scripts: the verdict, the arms side by side, and a line for each case with its
// difference and the interval of that.
func comparisonHTML(all []*compare.Comparison, gate compare.Gate) ([]byte, error) {
	style := strings.ReplaceAll(comparisonStyle, "\r\n", "\n")
	var b bytes.Buffer
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"+
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '%s'; base-uri 'none'; "+
		"form-action 'none'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"+
		"<meta name=\"referrer\" content=\"no-referrer\">\n<title>sdd-eval compare</title>\n<style>%s</style>\n"+
		"</head>\n<body>\n<main>\n", digest(style), style)
	for _, c := range all {
		comparisonPart(&b, c, gate)
	}
	b.WriteString("</main>\n</body>\n</html>\n")
	return b.Bytes(), nil
}

func comparisonPart(b *bytes.Buffer, c *compare.Comparison, gate compare.Gate) {
	text := func(s string) string { return html.EscapeString(visible(s)) }
	fmt.Fprintf(b, "<section>\n<h1 class=\"gate-%d\">%s</h1>\n", looks(c, gate), text(c.Headline()))
	for _, why := range c.Why {
		fmt.Fprintf(b, "<p class=\"why\">%s</p>\n", text(why))
	}
	b.WriteString("<div class=\"arms\">\n")
	for _, arm := range arms(c) {
		fmt.Fprintf(b, "<div><h2>%s</h2><p class=\"name\">%s</p><p>%s, %d trials</p></div>\n", arm.role,
			text(arm.Name), text(arm.rate()), arm.Trials)
	}
	b.WriteString("</div>\n")
	if c.Pairs > 0 && c.Verdict != compare.Invalid {
		b.WriteString("<table>\n<thead><tr><th>case</th><th>base</th><th>head</th>" +
			"<th>difference, with its interval</th></tr></thead>\n<tbody>\n")
		forest(b, string(c.Verdict), "all cases", c.Base.Rate, c.Head.Rate, c.Delta, c.Interval, "")
		rows := append(c.Flips[:len(c.Flips):len(c.Flips)], c.Same...)
		for _, f := range rows[:min(len(rows), maxForest)] {
			i, note := stats.ScoreInterval([]stats.Pair{f.Counts}, 1-c.Alpha), ""
			if f.PartsAt != nil {
				note = text(strings.ReplaceAll(strings.TrimLeft(f.PartsAt.Text(), ";\n "), "\n    ", "\n"))
			}
			forest(b, "one", text(f.Case), f.Base, f.Head, f.Head-f.Base,
				compare.Range{compare.Number(i.Low), compare.Number(i.High)}, note)
		}
		b.WriteString("</tbody>\n</table>\n")
		if left := len(rows) - maxForest; left > 0 {
			fmt.Fprintf(b, "<p>%d cases more.</p>\n", left)
		}
	}
	fmt.Fprintf(b, "<details><summary>What the command prints</summary><pre>%s</pre></details>\n</section>\n",
		text(c.Text()))
}

// forest writes the line of a case. Its name and note are HTML.
func forest(b *bytes.Buffer, class, name string, base, head, delta compare.Number, i compare.Range, note string) {
	x := func(v compare.Number) string { return fmt.Sprintf("%.1f", 100+98*v) }
	if delta != delta || i[0] != i[0] { // unknown
		fmt.Fprintf(b, "<tr><td>%s</td><td colspan=\"3\">%s</td></tr>\n", name, unknown)
		return
	}
	fmt.Fprintf(b, "<tr class=\"%s\"><td>%s</td><td>%.0f %%</td><td>%.0f %%</td><td><svg viewBox=\"0 0 200 16\" "+
		"role=\"img\" aria-label=\"%+.1f points, %+.1f to %+.1f\"><path class=\"zero\" d=\"M100 0V16\"/>"+
		"<path d=\"M%s 8H%s\"/><circle cx=\"%s\" cy=\"8\" r=\"4\"/></svg></td></tr>\n", class, name, 100*base,
		100*head, 100*delta, 100*i[0], 100*i[1], x(i[0]), x(i[1]), x(delta))
	if note != "" {
		fmt.Fprintf(b, "<tr class=\"note\"><td colspan=\"4\"><pre>%s</pre></td></tr>\n", note)
	}
}
