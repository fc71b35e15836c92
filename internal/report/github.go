package report

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

const (
	// MaxSummary is the largest summary of a job's step, in bytes, that GitHub shows. A larger one it does not show at
	// all.
	MaxSummary = 1 << 20
	// summaryMargin is room for the line that says that a summary was cut.
	summaryMargin = 256
	// maxAnnotations is how many errors of one step GitHub shows.
	maxAnnotations = 10
	// maxAnnotation is the largest size of an annotation's text, in bytes.
	maxAnnotation = 4 << 10
)

// Summary returns the report for the summary of a GitHub job: as report.md, in at most room bytes. It is nil if there
// is no room for anything useful.
func (rep *Report) Summary(room int) []byte {
	if room < 4*summaryMargin {
		return nil
	}
	return rep.markdown(room - summaryMargin)
}

// Annotations returns a line for each thing that did not pass. If a step prints it, GitHub Actions shows the error at
// its position in the playbook. dir is the project's directory in the repository, "" or "." for its root. GitHub shows
// ten annotations of a step: if there are more, the tenth says how many. A notice says if these are not all units of
// the playbook.
func (rep *Report) Annotations(dir string) []byte {
	list := rep.annotations()
	if n := len(list); n > maxAnnotations {
		list = append(list[:maxAnnotations-1], annotation{
			title: rep.Run.Name,
			text:  fmt.Sprintf("%d more did not pass: see the summary of the job", n-maxAnnotations+1),
		})
	}
	var b strings.Builder
	for _, a := range list {
		a.write(&b, dir)
	}
	if s := rep.Run.Selection; s != nil {
		fmt.Fprintf(&b, "::notice title=%s::%s\n", inProperty.Replace(visible(rep.Run.Name)),
			inData.Replace(visible(s.text)))
	}
	return []byte(b.String())
}

// annotation is a text for a position in a playbook, which may be empty.
type annotation struct{ position, title, text string }

func (rep *Report) annotations() []annotation {
	var list []annotation
	for _, f := range rep.Run.findings() {
		list = append(list, annotation{title: rep.Run.Name + ": " + words(f.Outcome), text: f.Reason})
	}
	for _, f := range rep.flaws() {
		if f.outcome.Bad() && !f.decidesNothing() {
			list = append(list, annotation{position(f.findings), f.title(rep.Run.Name), f.text()})
		}
	}
	return list
}

// title says in plain text what did not pass.
func (f flaw) title(run string) string {
	what := run + "/" + f.of.Case + "/" + f.of.Variant
	if f.job != "" {
		what = run + ": job " + f.job
	}
	if f.check != "" {
		what += "/" + f.check
	}
	return what + ": " + words(f.outcome) + trials(f.passed, f.of)
}

// words returns the label of an outcome without its symbol.
func words(o result.Outcome) string {
	_, words, _ := strings.Cut(label(o), " ")
	return words
}

// text says why, each reason before its details, because GitHub folds long texts.
func (f flaw) text() string {
	var b strings.Builder
	for _, finding := range bad(f.findings) {
		if f.of.Trials > 1 && finding.Trial > 0 {
			fmt.Fprintf(&b, "trial %d: ", finding.Trial)
		}
		fmt.Fprintf(&b, "%s\n%s\n", finding.Reason, strings.Trim(finding.Detail, "\n"))
	}
	return cmp.Or(b.String(), why(nil, f.of))
}

// lineNumber matches the end of a position: a line, or a line and a column.
var lineNumber = lazyregexp.New(`:(\d+)(:\d+)?$`)

func (a annotation) write(b *strings.Builder, dir string) {
	var properties []string
	if at := lineNumber.FindStringSubmatchIndex(a.position); at != nil {
		file := a.position[:at[0]]
		if !path.IsAbs(file) {
			file = path.Join(dir, file)
		}
		properties = append(properties, "file="+inProperty.Replace(file), "line="+a.position[at[2]:at[3]])
	}
	properties = append(properties, "title="+inProperty.Replace(visible(a.title)))
	text := excerpt.Bytes(strings.TrimSpace(visible(a.text)), maxAnnotation)
	fmt.Fprintf(b, "::error %s::%s\n", strings.Join(properties, ","), inData.Replace(text))
}

// The escapes of GitHub Actions in the data of a command, after its last colons, and in its properties.
var (
	inData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	inProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
