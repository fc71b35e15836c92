package report

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

//go:embed page
var page embed.FS

// pageScripts run in this order; each may use what those before it define.
var pageScripts = []string{
	"dom.js", "format.js", "charts.js", "overview.js", "list.js", "markdown.js", "diff.js", "timeline.js", "find.js",
	"checks.js", "unit.js", "case.js", "main.js",
}

// Limits of what the list shows and searches of a unit's reasons.
const (
	maxReasons = 8
	maxTeaser  = 240 // bytes of each
)

// index is what the page needs at once. The details of all units are in a block at the end of the page, which reads a
// unit's part of it when the unit is opened.
type index struct {
	Run      Run            `json:"run"`
	Outcome  result.Outcome `json:"outcome"`
	Headline string         `json:"headline"`
	Rule     string         `json:"rule"`
	Notes    []string       `json:"notes"`
	Variants []Variant      `json:"variants"`
	Axes     []rundir.Axis  `json:"axes,omitempty"`
	Cases    []indexCase    `json:"cases"`
	Task     *Case          `json:"task,omitempty"` // of a run with one case
	Results  []indexResult  `json:"results"`
	// Checks are those of a run that has references, of which ChecksLeft are left out.
	Checks     []armCheck `json:"checks,omitempty"`
	ChecksLeft int        `json:"checks_left,omitempty"`
	Jobs       []Job      `json:"jobs"`
	// Mutants says whether the evals would notice a bad agent; nil: nobody has asked.
	Mutants *result.Mutants `json:"mutants,omitempty"`
	// Reasons are why units did not pass, each once; units have the indices of theirs.
	Reasons []string    `json:"reasons"`
	Units   []indexUnit `json:"units"`
}

type indexCase struct {
	ID    string `json:"id"`
	Title string `json:"title,omitempty"`
}

type indexResult struct {
	Case    string         `json:"case"`
	Variant string         `json:"variant"`
	Outcome result.Outcome `json:"outcome"`
	Passed  int            `json:"passed"`
	Trials  int            `json:"trials"`
	NotRun  int            `json:"not_run"`
}

// indexUnit is a unit's row in the list.
type indexUnit struct {
	ID      string         `json:"id"`
	Case    string         `json:"case"`
	Variant string         `json:"variant"`
	Trial   int            `json:"trial"`
	Outcome result.Outcome `json:"outcome"`
	Score   *float64       `json:"score,omitempty"`
	Calls   *int           `json:"calls,omitempty"`
	Tokens  *int64         `json:"tokens,omitempty"`
	Time    *int64         `json:"ms,omitempty"`
	Stop    string         `json:"stop,omitempty"`
	Reasons []int          `json:"reasons,omitempty"`
	// Size is the length of the unit's part of the block of details, 0 if it has not run.
	Size int `json:"size,omitempty"`
}

// HTML returns report.html: one file that needs no other. Its security policy permits only its own scripts, and texts
// of agents get into the document only as text.
func (rep *Report) HTML() ([]byte, error) {
	details, err := rep.details()
	if err != nil {
		return nil, err
	}
	x := rep.index()
	for i, d := range details {
		x.Units[i].Size = len(d)
	}
	data, err := json.Marshal(x)
	if err != nil {
		return nil, err
	}
	style, err := pageText("page.css")
	if err != nil {
		return nil, err
	}
	script, err := pageText(pageScripts...)
	if err != nil {
		return nil, err
	}
	body, err := pageText("page.html")
	if err != nil {
		return nil, err
	}
	size := len(data) + len(style) + len(script) + len(body) + 1<<10
	for _, d := range details {
		size += len(d)
	}
	b := bytes.NewBuffer(make([]byte, 0, size))
	fmt.Fprintf(b, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"+
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '%s'; script-src '%s'; "+
		"base-uri 'none'; form-action 'none'\">\n"+
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"+
		"<meta name=\"referrer\" content=\"no-referrer\">\n"+
		"<title>%s</title>\n<style>%s</style>\n</head>\n<body>\n%s",
		digest(style), digest(script), html.EscapeString(visible(rep.Run.Name+" · "+rep.Run.ID)), style, body)
	// json.Marshal escapes <, so nothing in data ends its element.
	fmt.Fprintf(b, "<script type=\"application/json\" id=\"index\">%s</script>\n<script>%s</script>\n", data, script)
	b.WriteString("<script type=\"application/gzip\" id=\"details\">")
	for _, d := range details {
		b.Write(d)
	}
	b.WriteString("</script>\n")
	b.WriteString("</body>\n</html>\n")
	return b.Bytes(), nil
}

// digest returns the name of an inline style or script in the page's security policy.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// pageText returns the joined text of files of the page. Their line ends become those that an HTML parser sees, so that
// the digests are right.
func pageText(names ...string) (string, error) {
	var b strings.Builder
	for _, name := range names {
		text, err := page.ReadFile("page/" + name)
		if err != nil {
			return "", err
		}
		b.WriteString(strings.ReplaceAll(string(text), "\r\n", "\n"))
	}
	return b.String(), nil
}

func (rep *Report) index() index {
	x := index{
		Run: rep.Run, Outcome: rep.Outcome, Headline: rep.Headline, Rule: trialRule(rep.Run), Notes: rep.Notes,
		Variants: rep.Variants, Axes: rep.Axes, Jobs: rep.Jobs, Mutants: rep.Mutants,
		Cases: make([]indexCase, len(rep.Cases)), Results: make([]indexResult, len(rep.Results)),
		Units: make([]indexUnit, len(rep.Units)), Reasons: []string{},
	}
	for i, c := range rep.Cases {
		x.Cases[i] = indexCase{ID: c.ID, Title: c.Title}
	}
	if len(rep.Cases) == 1 {
		x.Task = &rep.Cases[0]
	}
	for i, r := range rep.Results {
		x.Results[i] = indexResult{
			r.Case, r.Variant, pageOutcome(r.Reference, r.Outcome), r.Passed, r.Trials, r.NotRun,
		}
	}
	x.Checks, x.ChecksLeft = rep.pageChecks()
	references := make(map[string]bool)
	for _, v := range rep.Variants {
		references[v.ID] = v.Reference
	}
	known := make(map[string]int)
	for i, u := range rep.Units {
		x.Units[i] = row(u)
		x.Units[i].Outcome = pageOutcome(references[u.Variant], u.Outcome)
		for _, text := range reasons(u) {
			n, ok := known[text]
			if !ok {
				n = len(x.Reasons)
				known[text] = n
				x.Reasons = append(x.Reasons, text)
			}
			x.Units[i].Reasons = append(x.Units[i].Reasons, n)
		}
	}
	return x
}

// pageOutcome returns an outcome as the page calls it: a failure of a reference has a name of its own there.
func pageOutcome(reference bool, o result.Outcome) result.Outcome {
	if reference && o == result.Fail {
		return "reference_fail"
	}
	return o
}

func row(u Unit) indexUnit {
	r := indexUnit{ID: u.ID, Case: u.Case, Variant: u.Variant, Trial: u.Trial, Outcome: u.Outcome, Score: u.Score}
	if u.Result == nil {
		return r
	}
	ms := time.Duration(u.Result.Duration).Milliseconds()
	r.Time = &ms
	if m := u.metrics(); m != nil {
		calls := 0
		for _, n := range m.ToolCalls {
			calls += n
		}
		r.Calls = &calls
		if m.Tokens != nil {
			r.Tokens = m.Tokens.Total
		}
	}
	r.Stop = u.Result.Stop
	return r
}

// reasons says why a unit did not pass, each reason in one line.
func reasons(u Unit) []string {
	if u.Result == nil {
		return nil
	}
	var list []string
	add := func(text string) {
		if len(list) < maxReasons {
			list = append(list, excerpt.Bytes(text, maxTeaser))
		}
	}
	for _, f := range findings(*u.Result) {
		add(f.Reason)
	}
	for _, e := range u.Result.Evaluations {
		if e.Outcome == result.Fail || e.Outcome == result.Error {
			add(e.Name + ": " + e.Reason)
		}
	}
	return list
}

// Limits of what the page has of one unit. The unit's artifacts have everything.
const (
	maxDetail = 256 << 10 // bytes of JSON that is not shortened
	maxText   = 16 << 10  // bytes of each text in larger JSON
	maxEvents = 2000
	maxDiff   = 512 << 10
)

// detail is what the page shows when a unit is opened, apart from its trajectory.
type detail struct {
	Result  any       `json:"result"` // a *result.Unit, or its JSON if that was shortened
	Task    *Case     `json:"task,omitempty"`
	Diff    string    `json:"diff,omitempty"`
	AI      []AIScore `json:"ai,omitempty"`
	Paths   Paths     `json:"paths"`
	Missing []string  `json:"missing,omitempty"`
	// TooLarge lists artifacts that were not read, Cut what was left out of others.
	TooLarge []string `json:"too_large,omitempty"`
	Cut      []string `json:"cut,omitempty"`
}

// details returns the packed details of all units, empty for those that have not run.
func (rep *Report) details() ([][]byte, error) {
	tasks := make(map[string]*Case, len(rep.Cases))
	for i := range rep.Cases {
		tasks[rep.Cases[i].ID] = &rep.Cases[i]
	}
	details := make([][]byte, len(rep.Units))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range rep.Units {
		u := &rep.Units[i]
		if u.Result == nil {
			continue
		}
		g.Go(func() error {
			files, err := rep.artifacts(u)
			if err != nil {
				return err
			}
			if details[i], err = pack(*u, tasks[u.Case], files); err != nil {
				return fmt.Errorf("unit %s: %w", u.ID, err)
			}
			return nil
		})
	}
	return details, g.Wait()
}

// pack returns what the page shows of the unit: a line with its detail, and its trajectory if there is one, compressed
// with gzip, in base64. The trajectory is by far the largest part, so it is taken as it is.
func pack(u Unit, task *Case, files artifacts) ([]byte, error) {
	d := detail{Result: u.Result, Task: task, AI: u.AI, Paths: u.Paths, Missing: u.Missing, TooLarge: u.TooLarge}
	d.Cut = files.cut
	d.Diff = strings.ToValidUTF8(files.diff, "\uFFFD")
	if whole := d.Diff; len(whole) > maxDiff {
		d.Diff = whole[:strings.LastIndexByte(whole[:maxDiff], '\n')+1]
		d.Cut = append(d.Cut, fmt.Sprintf("the diff after %s of %s", size(int64(len(d.Diff))), size(int64(len(whole)))))
	}
	line, err := json.Marshal(d)
	if err == nil && len(line) > maxDetail {
		line, err = d.shortLine(*u.Result)
	}
	if err != nil {
		return nil, err
	}
	return compress(line, []byte("\n"), files.run)
}

// shortLine is the line of a detail that is large, with its result shortened if it is that.
func (d detail) shortLine(u result.Unit) ([]byte, error) {
	res, err := json.Marshal(u)
	if err != nil {
		return nil, err
	}
	if d.Result, err = d.shorten(res); err != nil {
		return nil, err
	}
	return json.Marshal(d)
}

// packers are reused because they are large and each unit needs one.
var packers = sync.Pool{New: func() any {
	p := new(packer)
	p.zip, _ = gzip.NewWriterLevel(&p.out, packLevel) // an error only for a level that there is not
	return p
}}

// packLevel is how hard details are compressed: as fast as can be, for a page larger by three tenths than by default.
// Compressing takes a third of the time of a page at level 3, which makes pages smaller by a tenth.
const packLevel = gzip.BestSpeed

type packer struct {
	out bytes.Buffer
	zip *gzip.Writer
}

// compress returns the joined parts, compressed and in base64.
func compress(parts ...[]byte) ([]byte, error) {
	p := packers.Get().(*packer)
	defer packers.Put(p)
	p.out.Reset()
	p.zip.Reset(&p.out)
	for _, part := range parts {
		if _, err := p.zip.Write(part); err != nil {
			return nil, err
		}
	}
	if err := p.zip.Close(); err != nil {
		return nil, err
	}
	return base64.StdEncoding.AppendEncode(nil, p.out.Bytes()), nil
}

// shorten cuts long texts in a large JSON value, and notes that it has cut.
func (d *detail) shorten(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) <= maxDetail {
		return raw, nil
	}
	var v any
	if err := jsonvalue.Decode(raw, &v); err != nil {
		return nil, err
	}
	texts := 0
	v = shortenTexts(v, &texts)
	d.Cut = append(d.Cut, cutTexts(texts)...)
	return json.Marshal(v)
}

// shortRun reads a large trajectory, cuts its long texts and the list of its events, and tells what it has cut.
func shortRun(file io.Reader) (run json.RawMessage, cut []string, err error) {
	events, texts, list := 0, 0, []byte{'['}
	rest, err := rundir.EachEvent(file, func(event json.RawMessage) error {
		if events++; events > maxEvents {
			return nil
		}
		var v any
		if err := jsonvalue.Decode(event, &v); err != nil {
			return err
		}
		text, err := json.Marshal(shortenTexts(v, &texts))
		if events > 1 {
			list = append(list, ',')
		}
		list = append(list, text...)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if left := events - maxEvents; left > 0 {
		cut = append(cut, fmt.Sprintf("%s of %s", plural(left, "event"), thousands(int64(events))))
	}
	rest["events"] = append(list, ']')
	run, err = json.Marshal(rest)
	return run, append(cut, cutTexts(texts)...), err
}

func cutTexts(n int) []string {
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the end of %s of more than %s", plural(n, "text"), size(maxText))}
}

func shortenTexts(v any, texts *int) any {
	switch v := v.(type) {
	case string:
		if len(v) > maxText {
			*texts++
		}
		return excerpt.Bytes(v, maxText)
	case []any:
		for i := range v {
			v[i] = shortenTexts(v[i], texts)
		}
	case map[string]any:
		for k := range v {
			v[k] = shortenTexts(v[k], texts)
		}
	}
	return v
}
