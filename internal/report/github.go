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
	// MaxSummary is how many bytes GitHub shows as the summary of one step of a job. Of more it shows nothing.
	MaxSummary = 1 << 20
	// summaryMargin is room for the line that says that a summary is cut.
	summaryMargin = 256
	// maxAnnotations is how many errors of one step GitHub shows.
	maxAnnotations = 10
	// maxAnnotation bounds an annotation's text, in bytes.
	maxAnnotation = 4 << 10
)

// Summary returns the report for the summary of a GitHub job, in at most room bytes: report.md, which may be longer here.
// It is nil if there is no room for anything that could be read.
func (rep *Report) Summary(room int) []byte {
	if room < 4*summaryMargin {
		return nil
	}
	return rep.markdown(room - summaryMargin)
}

// Annotations returns a line for each thing that did not pass, by which GitHub Actions, if a step prints it, shows it at its
// place in the playbook. dir is the project's directory in the repository, "" or "." if it is the same. GitHub shows ten
// of a step: of more the tenth says how many there are.
func (rep *Report) Annotations(dir string) []byte {
	list := rep.annotations()
	if n := len(list); n > maxAnnotations {
		list = append(list[:maxAnnotations-1], annotation{
			title: rep.Run.Name, text: fmt.Sprintf("%d more did not pass: the summary of the job has them", n-maxAnnotations+1),
		})
	}
	var b strings.Builder
	for _, a := range list {
		a.write(&b, dir)
	}
	return []byte(b.String())
}

// annotation is a text at a place in a playbook, or at none.
type annotation struct{ position, title, text string }

func (rep *Report) annotations() []annotation {
	var list []annotation
	for _, f := range rep.Run.findings() {
		list = append(list, annotation{title: rep.Run.Name + ": " + words(f.Outcome), text: f.Reason})
	}
	for _, f := range rep.flaws() {
		if f.outcome.Bad() {
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
	return what + ": " + words(f.outcome) + trials(f.passed, f.of.Trials, f.of.Need)
}

// words are how people read an outcome.
func words(o result.Outcome) string {
	_, words, _ := strings.Cut(label(o), " ")
	return words
}

// text says why, each reason before what happened: GitHub folds what is long.
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

// place is the end of a position: line, or line and column.
var place = lazyregexp.New(`:(\d+)(:\d+)?$`)

func (a annotation) write(b *strings.Builder, dir string) {
	var properties []string
	if at := place.FindStringSubmatchIndex(a.position); at != nil {
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

// How GitHub Actions wants to read what stands behind the last colons of a command, and in its properties.
var (
	inData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	inProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
