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
	"strings"
	"sync"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

//go:embed page
var page embed.FS

// pageScripts run in this order; each may use what those before it define.
var pageScripts = []string{
	"dom.js", "format.js", "charts.js", "overview.js", "list.js", "diff.js", "timeline.js", "unit.js", "main.js",
}

// maxTeaser is how much of a unit's reason the list shows and searches, in bytes.
const maxTeaser = 240

// index is what the page needs at once. The rest of each unit is in a block of its own, which the page reads when the
// unit is opened.
type index struct {
	Run      Run            `json:"run"`
	Outcome  result.Outcome `json:"outcome"`
	Headline string         `json:"headline"`
	Rule     string         `json:"rule"`
	Notes    []string       `json:"notes"`
	Variants []Variant      `json:"variants"`
	Cases    []indexCase    `json:"cases"`
	Task     *Case          `json:"task,omitempty"` // of a run with one case
	Results  []indexResult  `json:"results"`
	Jobs     []Job          `json:"jobs"`
	Units    []indexUnit    `json:"units"`
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
	Reason  string         `json:"reason,omitempty"`
}

// HTML returns report.html: one file that needs no other. Its security policy permits only its own scripts, and texts
// of agents get into the document only as text.
func (rep *Report) HTML() ([]byte, error) {
	data, err := json.Marshal(rep.index())
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
	for _, u := range rep.Units {
		size += base64.StdEncoding.EncodedLen(len(u.page)) + 64
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
	for i, u := range rep.Units {
		if len(u.page) == 0 {
			continue
		}
		fmt.Fprintf(b, "<script type=\"application/gzip\" id=\"unit-%d\">", i)
		b.Write(base64.StdEncoding.AppendEncode(b.AvailableBuffer(), u.page))
		b.WriteString("</script>\n")
	}
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
		Variants: rep.Variants, Jobs: rep.Jobs,
		Cases: make([]indexCase, len(rep.Cases)), Results: make([]indexResult, len(rep.Results)),
		Units: make([]indexUnit, len(rep.Units)),
	}
	for i, c := range rep.Cases {
		x.Cases[i] = indexCase{ID: c.ID, Title: c.Title}
	}
	if len(rep.Cases) == 1 {
		x.Task = &rep.Cases[0]
	}
	for i, r := range rep.Results {
		x.Results[i] = indexResult{r.Case, r.Variant, r.Outcome, r.Passed, r.Trials, r.NotRun}
	}
	for i, u := range rep.Units {
		x.Units[i] = row(u)
	}
	return x
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
	r.Stop, r.Reason = u.Result.Stop, excerpt.Bytes(reason(u), maxTeaser)
	return r
}

// reason says in one line why a unit did not pass.
func reason(u Unit) string {
	var parts []string
	for _, f := range findings(*u.Result) {
		parts = append(parts, f.Reason)
	}
	for _, e := range u.Result.Evaluations {
		if e.Outcome == result.Fail || e.Outcome == result.Error {
			parts = append(parts, e.Name+": "+e.Reason)
		}
	}
	return strings.Join(parts, "; ")
}

// Limits of what the page has of one unit. The unit's artifacts have everything.
const (
	maxDetail = 256 << 10 // bytes of JSON that is not shortened
	maxText   = 16 << 10  // bytes of each text in larger JSON
	maxEvents = 2000
	maxDiff   = 512 << 10
)

// detail is what the page shows when a unit is opened.
type detail struct {
	Result  json.RawMessage `json:"result"` // a result.Unit, null if it has not run
	Task    *Case           `json:"task,omitempty"`
	Run     json.RawMessage `json:"run,omitempty"` // a trajectory.Run
	Diff    string          `json:"diff,omitempty"`
	AI      []AIScore       `json:"ai,omitempty"`
	Paths   Paths           `json:"paths"`
	Missing []string        `json:"missing,omitempty"`
	// TooLarge lists artifacts that were not read, Cut what was left out of others.
	TooLarge []string `json:"too_large,omitempty"`
	Cut      []string `json:"cut,omitempty"`
}

// pack returns the unit's compressed detail.
func pack(u Unit, task *Case, files artifacts) ([]byte, error) {
	d := detail{Task: task, AI: u.AI, Paths: u.Paths, Missing: u.Missing, TooLarge: u.TooLarge}
	var err error
	if d.Run, err = d.shorten(files.run); err != nil {
		return nil, fmt.Errorf("unit %s: trajectory: %w", u.ID, err)
	}
	res, err := json.Marshal(u.Result)
	if err != nil {
		return nil, fmt.Errorf("unit %s: %w", u.ID, err)
	}
	if d.Result, err = d.shorten(res); err != nil {
		return nil, fmt.Errorf("unit %s: %w", u.ID, err)
	}
	d.Diff = strings.ToValidUTF8(files.diff, "\uFFFD")
	if whole := d.Diff; len(whole) > maxDiff {
		d.Diff = whole[:strings.LastIndexByte(whole[:maxDiff], '\n')+1]
		d.Cut = append(d.Cut, fmt.Sprintf("the diff after %s of %s", size(int64(len(d.Diff))), size(int64(len(whole)))))
	}
	text, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("unit %s: %w", u.ID, err)
	}
	return compress(text)
}

// compressors are reused because they are large and each unit needs one.
var compressors = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

func compress(text []byte) ([]byte, error) {
	z := compressors.Get().(*gzip.Writer)
	defer compressors.Put(z)
	var b bytes.Buffer
	z.Reset(&b)
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// shorten cuts long texts and lists of events in a large JSON value, and notes what it has cut.
func (d *detail) shorten(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) <= maxDetail {
		return raw, nil
	}
	var v any
	if err := jsonvalue.Decode(raw, &v); err != nil {
		return nil, err
	}
	texts := 0
	if run, ok := v.(map[string]any); ok {
		if events, ok := run["events"].([]any); ok && len(events) > maxEvents {
			run["events"] = events[:maxEvents]
			left := plural(len(events)-maxEvents, "event")
			d.Cut = append(d.Cut, fmt.Sprintf("%s of %s", left, thousands(int64(len(events)))))
		}
	}
	v = shortenTexts(v, &texts)
	if texts > 0 {
		d.Cut = append(d.Cut, fmt.Sprintf("the end of %s of more than %s", plural(texts, "text"), size(maxText)))
	}
	return json.Marshal(v)
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
