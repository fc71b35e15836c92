package report

import (
	"bytes"
	_ "embed"
	"encoding/xml"
	"fmt"
	"html"
	"net/url"
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
		return jsonvalue.Indent(all)
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
	suite := junitSuite{Name: "compare"}
	for _, c := range all {
		one := junitCase{
			Class: "sdd-eval.compare", Name: visible(c.Base.Name + " → " + c.Head.Name),
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
	doc := junitSuites{Name: "compare"}
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

// maxListed is how many lines of a list the page has.
const maxListed = 200

func comparisonPart(b *bytes.Buffer, c *compare.Comparison, gate compare.Gate) {
	text := func(s string) string { return html.EscapeString(visible(s)) }
	list := func(lines []string) {
		b.WriteString("<ul>\n")
		for _, l := range lines[:min(len(lines), maxListed)] {
			fmt.Fprintf(b, "<li>%s</li>\n", text(strings.Join(strings.Fields(l), " ")))
		}
		if more := len(lines) - maxListed; more > 0 {
			fmt.Fprintf(b, "<li>and %d more</li>\n", more)
		}
		b.WriteString("</ul>\n")
	}
	fmt.Fprintf(b, "<section>\n<h1 class=\"gate-%d\">%s</h1>\n", looks(c, gate), text(c.Headline()))
	for _, why := range c.Why {
		fmt.Fprintf(b, "<p class=\"why\">%s</p>\n", text(why))
	}
	b.WriteString("<div class=\"arms\">\n")
	for _, arm := range arms(c) {
		fmt.Fprintf(b, "<div><h2>%s</h2><p class=\"name\">%s</p><p>%s</p></div>\n", arm.role,
			linked(arm.Page, "", text(arm.Name)),
			text(fmt.Sprintf("%s, %s%s", arm.rate(), plural(arm.Trials, "trial"), arm.Used())))
	}
	b.WriteString("</div>\n")
	if known := c.Known(); known != nil {
		list(known)
	}
	if c.Pairs > 0 && c.Verdict != compare.Invalid {
		comparisonCases(b, c, text)
	}
	for _, l := range c.Lists() {
		if len(l.Lines) > 0 {
			fmt.Fprintf(b, "<h2>%s</h2>\n", text(l.Title))
			list(l.Lines)
		}
	}
	fmt.Fprintf(b, "<details><summary>What the command prints</summary><pre>%s</pre></details>\n</section>\n",
		text(c.Text()))
}

// comparisonCases writes the table of cases, each with its difference. Text escapes what came from outside.
func comparisonCases(b *bytes.Buffer, c *compare.Comparison, text func(string) string) {
	b.WriteString("<table>\n<thead><tr><th>case</th><th>base</th><th>head</th><th class=\"plot\">" +
		"difference in points, with its interval<span class=\"scale\"><span>−100</span><span>0</span>" +
		"<span>+100</span></span></th></tr></thead>\n<tbody>\n")
	all := forestRow{
		class: string(c.Verdict), name: "all cases", base: wholePercent(c.Base.Rate), head: wholePercent(c.Head.Rate),
		delta: c.Delta, interval: c.Interval,
	}
	all.write(b)
	rows := append(c.Flips[:len(c.Flips):len(c.Flips)], c.Same...)
	for _, f := range rows[:min(len(rows), maxForest)] {
		i := stats.ScoreInterval([]stats.Pair{f.Counts}, 1-c.Alpha)
		row := forestRow{
			class: "one", name: text(f.Case), delta: f.Head - f.Base,
			interval: compare.Range{compare.Number(i.Low), compare.Number(i.High)},
		}
		base, head := 1, 1
		if at := f.PartsAt; at != nil {
			base, head = at.BaseTrial, at.HeadTrial
			lines := strings.ReplaceAll(strings.TrimLeft(f.Sessions(), ";\n "), "\n    ", "\n")
			first, rest, _ := strings.Cut(lines, "\n")
			row.note = fmt.Sprintf("<p>%s</p>", text(first))
			if rest != "" {
				row.note = fmt.Sprintf("<details><summary>%s</summary><pre>%s</pre></details>", text(first), text(rest))
			}
		}
		row.base = linked(c.Base.Page, casePage(f.Case, base), wholePercent(f.Base))
		row.head = linked(c.Head.Page, casePage(f.Case, head), wholePercent(f.Head))
		row.write(b)
	}
	b.WriteString("</tbody>\n</table>\n")
	if left := len(rows) - maxForest; left > 0 {
		fmt.Fprintf(b, "<p>%s more.</p>\n", plural(left, "case"))
	}
}

func wholePercent(rate compare.Number) string { return fmt.Sprintf("%.0f %%", 100*rate) }

// casePage is the address within a run's page of a case, with a trial of each variant side by side.
func casePage(id string, trial int) string {
	_, id, _ = strings.Cut(id, "/")
	return fmt.Sprintf("#compare=%s&trial=%d", url.QueryEscape(id), max(1, trial))
}

// linked returns HTML as a link to a place in a page, or as it is if there is no page.
func linked(page, place, content string) string {
	if page == "" {
		return content
	}
	address := url.URL{Path: page}
	return fmt.Sprintf("<a href=\"%s\">%s</a>", html.EscapeString(address.String()+place), content)
}

// forestRow is the line of a case. Its texts are HTML.
type forestRow struct {
	class, name, base, head, note string
	delta                         compare.Number
	interval                      compare.Range
}

func (r forestRow) write(b *bytes.Buffer) {
	if r.delta != r.delta || r.interval[0] != r.interval[0] { // unknown
		fmt.Fprintf(b, "<tr><td>%s</td><td colspan=\"3\">%s</td></tr>\n", r.name, unknown)
		return
	}
	x := func(v compare.Number) string { return fmt.Sprintf("%.1f%%", 50+50*v) }
	fmt.Fprintf(b, "<tr class=\"%s\"><td>%s</td><td data-arm=\"base\">%s</td><td data-arm=\"head\">%s</td>"+
		"<td class=\"plot\"><span>%+.1f [%+.1f to %+.1f]</span><svg height=\"16\" aria-hidden=\"true\">"+
		"<line x1=\"%s\" y1=\"8\" x2=\"%s\" y2=\"8\"/><circle cx=\"%s\" cy=\"8\" r=\"4\"/></svg></td></tr>\n",
		r.class, r.name, r.base, r.head, 100*r.delta, 100*r.interval[0], 100*r.interval[1], x(r.interval[0]),
		x(r.interval[1]), x(r.delta))
	if r.note != "" {
		fmt.Fprintf(b, "<tr class=\"note\"><td colspan=\"4\">%s</td></tr>\n", r.note)
	}
}
