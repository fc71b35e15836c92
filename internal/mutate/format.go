package mutate

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// percent is a score for people.
func percent(c Count, strict bool) string {
	score, known := c.Score(strict)
	if !known {
		return "no score"
	}
	return fmt.Sprintf("%.1f %%", 100*score)
}

func (c Count) String() string {
	return fmt.Sprintf("%d killed, %d survived, %d accepted, %d unknown, %d equivalent",
		c.Killed, c.Survived, c.Accepted, c.Unknown, c.Equivalent)
}

// doubt says how much is not known of the score; empty: nothing.
func doubt(c Count, strict bool) string {
	if c.Unknown == 0 {
		return ""
	}
	least, most := c.Bounds(strict)
	return fmt.Sprintf("NOT ALL IS KNOWN: %d of %d mutants could not be judged, so that between %.1f %% and %.1f %% "+
		"are noticed", c.Unknown, c.Killed+c.Survived+c.Accepted+c.Unknown, 100*least, 100*most)
}

// Kept returns what the reports of a run show. Of says of which sessions the mutants were made.
func (r Report) Kept(of string, strict bool) result.Mutants {
	m := result.Mutants{
		Of: of, Strict: strict, Sample: r.Sample, Seed: r.Seed, MutantCount: r.Count().kept(strict),
		Cases:    []result.MutantCase{},
		Headline: fmt.Sprintf("%s of the mutants noticed: %s%s", percent(r.Count(), strict), r.Count(), r.sampled()),
	}
	if text := doubt(r.Count(), strict); text != "" {
		m.Headline += ". " + text
	}
	for _, units := range r.Cases() {
		c := result.MutantCase{
			Case: units[0].Case, MutantCount: countOf(units).kept(strict), Survivors: []result.Survivor{},
		}
		for _, u := range units {
			for _, f := range u.Findings {
				if f.Status == Survived {
					c.Survivors = append(c.Survivors, result.Survivor{
						Name: u.title(f), What: excerpt.Line(f.What, 300), Position: f.Position.String(),
						Advice: excerpt.Line(f.Advice, 300),
					})
				}
			}
		}
		m.Cases = append(m.Cases, c)
	}
	return m
}

func (c Count) kept(strict bool) result.MutantCount {
	least, most := c.Bounds(strict)
	return result.MutantCount{
		Score: scoreOf(c, strict), Least: least, Most: most, Killed: c.Killed, Survived: c.Survived,
		Accepted: c.Accepted, Unknown: c.Unknown, Equivalent: c.Equivalent,
	}
}

// sampled says that not all mutants were judged; empty: they were.
func (r Report) sampled() string {
	var parts []string
	if r.Sample > 0 {
		parts = append(parts, fmt.Sprintf("at most %d of each unit, seed %d", r.Sample, r.Seed))
	}
	if r.Only != "" {
		parts = append(parts, "only "+r.Only)
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// parts says at which call a survivor parts from the recorded session.
func (f Finding) parts() string {
	if f.Parts.Call == 0 {
		return "it makes the same tool calls"
	}
	return fmt.Sprintf("it parts at tool call %d: recorded %s, and here %s", f.Parts.Call,
		cmp.Or(f.Parts.A, "none"), cmp.Or(f.Parts.B, "none"))
}

func countOf(units []UnitReport) Count { return Report{Units: units}.Count() }

// title names a finding: its operator with its place.
func (u UnitReport) title(f Finding) string {
	return fmt.Sprintf("%s [%s]", f.Operator, excerpt.Line(u.place(f), 200))
}

// Text writes reports for a terminal.
func Text(reports []Report, strict bool) string {
	var b strings.Builder
	for _, r := range reports {
		fmt.Fprintf(&b, "%s: %s noticed: %s%s\n", r.Playbook, percent(r.Count(), strict), r.Count(), r.sampled())
		if text := doubt(r.Count(), strict); text != "" {
			fmt.Fprintf(&b, "%s\n", text)
		}
		for _, units := range r.Cases() {
			fmt.Fprintf(&b, "\ncase %s: %s\n", units[0].Case, percent(countOf(units), strict))
			fmt.Fprintf(&b, "  %-18s %7s %9s %9s %8s %11s\n", "operator", "killed", "survived", "accepted", "unknown",
				"equivalent")
			for _, row := range ByOperator(units) {
				fmt.Fprintf(&b, "  %-18s %7d %9d %9d %8d %11d\n", row.Name, row.Killed, row.Survived, row.Accepted,
					row.Unknown, row.Equivalent)
			}
			for _, k := range ByEvaluator(units) {
				fmt.Fprintf(&b, "  %s\n", k)
			}
			for _, u := range units {
				u.list(&b)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (k Killer) String() string {
	text := excerpt.Line(k.Name, 100)
	if k.Killed == 0 {
		text += " never killed any"
	} else {
		text += fmt.Sprintf(" killed %d, %d of them alone", k.Killed, k.Alone)
	}
	if k.Unasked > 0 {
		text += fmt.Sprintf("; it did not judge %d that others had killed", k.Unasked)
	}
	return text
}

// Brief writes what people have to look at for a test's output: a mutant a line that begins with the place to
// strengthen. With diffs it shows how each differs.
func (r Report) Brief(diffs bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s\n", r.Count(), r.sampled())
	for _, u := range r.Units {
		for _, f := range u.Findings {
			switch f.Status {
			case Survived:
				fmt.Fprintf(&b, "%s: survived %s: %s\n    write %s\n", f.Position, u.title(f),
					excerpt.Line(f.What, 300), excerpt.Line(f.Advice, 300))
				if diffs && f.Diff != "" {
					fmt.Fprintf(&b, "    %s\n", f.parts())
				}
				for line := range strings.Lines(f.Diff) {
					if diffs {
						b.WriteString("      " + line)
					}
				}
			case Unknown:
				fmt.Fprintf(&b, "unknown %s: %s\n", u.title(f), excerpt.Line(f.Reason, 300))
			}
		}
		for _, n := range u.Notes {
			fmt.Fprintf(&b, "note: %s\n", excerpt.Line(n, 300))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// list writes what people have to look at.
func (u UnitReport) list(b *strings.Builder) {
	for _, f := range u.Findings {
		switch f.Status {
		case Survived:
			fmt.Fprintf(b, "\n  survived %s: %s\n", u.title(f), excerpt.Line(f.What, 300))
			fmt.Fprintf(b, "    %s: write %s\n    %s\n", f.Position, excerpt.Line(f.Advice, 300), f.parts())
			for line := range strings.SplitSeq(strings.TrimSuffix(f.Diff, "\n"), "\n") {
				b.WriteString("      " + line + "\n")
			}
		case Unknown:
			fmt.Fprintf(b, "\n  unknown %s: %s\n", u.title(f), excerpt.Line(f.Reason, 300))
		}
	}
	for _, n := range u.Notes {
		fmt.Fprintf(b, "\n  note: %s\n", excerpt.Line(n, 300))
	}
}

// Markdown writes reports for pages that show Markdown.
func Markdown(reports []Report, strict bool) string {
	var b strings.Builder
	for _, r := range reports {
		fmt.Fprintf(&b, "## Mutants of %s: %s noticed\n\n%s%s\n", cell(r.Playbook), percent(r.Count(), strict),
			r.Count(), r.sampled())
		if text := doubt(r.Count(), strict); text != "" {
			fmt.Fprintf(&b, "\n**%s**\n", text)
		}
		for _, units := range r.Cases() {
			fmt.Fprintf(&b, "\n### Case %s: %s\n\n", cell(units[0].Case), percent(countOf(units), strict))
			b.WriteString("| operator | killed | survived | accepted | unknown | equivalent |\n" +
				"|---|--:|--:|--:|--:|--:|\n")
			for _, row := range ByOperator(units) {
				fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d |\n", row.Name, row.Killed, row.Survived, row.Accepted,
					row.Unknown, row.Equivalent)
			}
			b.WriteString("\n| evaluator | killed | alone | not asked |\n|---|--:|--:|--:|\n")
			for _, k := range ByEvaluator(units) {
				fmt.Fprintf(&b, "| %s | %d | %d | %d |\n", cell(k.Name), k.Killed, k.Alone, k.Unasked)
			}
			heading := "\n| survivor | what the agent did | what to write |\n|---|---|---|\n"
			for _, u := range units {
				for _, f := range u.Findings {
					if f.Status != Survived {
						continue
					}
					fmt.Fprintf(&b, "%s| %s | %s | %s: %s |\n", heading, cell(u.title(f)), cell(f.What),
						cell(f.Position.String()), cell(f.Advice))
					heading = ""
				}
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// cell makes a text harmless in a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "&#124;", "[", "&#91;", "@", "&#64;").
		Replace(excerpt.Line(text, 300))
}

// jsonReport is a report as JSON.
type jsonReport struct {
	Playbook string     `json:"playbook"`
	Score    *float64   `json:"score"` // null: nothing is known
	Least    float64    `json:"least"` // the score if nothing of what is unknown were noticed
	Most     float64    `json:"most"`
	Strict   bool       `json:"strict"`
	Sample   int        `json:"sample,omitempty"`
	Seed     uint64     `json:"seed,omitempty"`
	Only     string     `json:"only,omitempty"`
	Counts   Count      `json:"counts"`
	Cases    []jsonCase `json:"cases"`
}

type jsonCase struct {
	Case       string        `json:"case"`
	Score      *float64      `json:"score"`
	Counts     Count         `json:"counts"`
	Operators  []Row         `json:"operators"`
	Evaluators []Killer      `json:"evaluators"`
	Mutants    []jsonFinding `json:"mutants"`
	Notes      []string      `json:"notes,omitempty"`
}

type jsonFinding struct {
	Unit     string   `json:"unit"`
	Operator string   `json:"operator"`
	Where    string   `json:"where"`
	What     string   `json:"what"`
	Status   Status   `json:"status"`
	By       []string `json:"by,omitempty"`
	Reason   string   `json:"reason,omitempty"`
	Same     []string `json:"same,omitempty"`
	File     string   `json:"file,omitempty"`
	Line     int      `json:"line,omitempty"`
	Advice   string   `json:"advice,omitempty"`
	Diff     string   `json:"diff,omitempty"`
	// PartsAt is the tool call, from 1, at which a survivor parts from the recorded session; 0: at none. Recorded and
	// Mutant are what was called there, empty: nothing.
	PartsAt  int    `json:"parts_at,omitempty"`
	Recorded string `json:"recorded,omitempty"`
	Mutant   string `json:"mutant,omitempty"`
}

func scoreOf(c Count, strict bool) *float64 {
	score, known := c.Score(strict)
	if !known {
		return nil
	}
	return &score
}

// JSON writes reports for programs.
func JSON(reports []Report, strict bool) ([]byte, error) {
	all := []jsonReport{}
	for _, r := range reports {
		least, most := r.Count().Bounds(strict)
		j := jsonReport{
			Playbook: r.Playbook, Score: scoreOf(r.Count(), strict), Least: least, Most: most, Strict: strict,
			Sample: r.Sample, Seed: r.Seed, Only: r.Only,
			Counts: r.Count(), Cases: []jsonCase{},
		}
		for _, units := range r.Cases() {
			c := jsonCase{
				Case: units[0].Case, Score: scoreOf(countOf(units), strict), Counts: countOf(units),
				Operators: ByOperator(units), Evaluators: ByEvaluator(units), Mutants: []jsonFinding{},
			}
			for _, u := range units {
				c.Notes = append(c.Notes, u.Notes...)
				for _, f := range u.Findings {
					c.Mutants = append(c.Mutants, jsonFinding{
						u.ID, f.Operator, u.place(f), f.What, f.Status, f.By, f.Reason, f.Same, f.Position.File,
						f.Position.Line,
						f.Advice, f.Diff, f.Parts.Call, f.Parts.A, f.Parts.B,
					})
				}
			}
			j.Cases = append(j.Cases, c)
		}
		all = append(all, j)
	}
	return jsonvalue.Indent(all)
}

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitMessage `xml:"failure"`
	Error   *junitMessage `xml:"error"`
	Skipped *junitMessage `xml:"skipped"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes reports as test cases: a survivor is a failure, what is unknown an error; what is accepted or equivalent
// is skipped.
func JUnit(w io.Writer, reports []Report) error {
	var all junitSuites
	for _, r := range reports {
		for _, units := range r.Cases() {
			s := junitSuite{Name: r.Playbook + " " + units[0].Case}
			for _, u := range units {
				for _, f := range u.Findings {
					c := junitCase{Class: u.ID, Name: f.Operator + " " + f.Where}
					s.Tests++
					switch f.Status {
					case Survived:
						s.Failures++
						c.Failure = &junitMessage{f.What, fmt.Sprintf("%s: write %s\n%s\n%s", f.Position, f.Advice,
							f.parts(), f.Diff)}
					case Unknown:
						s.Errors++
						c.Error = &junitMessage{Message: f.Reason}
					case Accepted, Equivalent:
						s.Skipped++
						c.Skipped = &junitMessage{Message: f.Reason}
					}
					s.Cases = append(s.Cases, c)
				}
			}
			all.Suites = append(all.Suites, s)
		}
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
