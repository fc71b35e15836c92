package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// Limits of report.md. GitHub refuses comments of more than 65,536 characters, of which there are never more than
// bytes.
const (
	maxMarkdown = 65_000
	maxReason   = 400 // bytes of one reason
	maxCommand  = 200
	maxRows     = 200 // commands or files of one variant
)

// Markdown returns report.md: short enough for a comment on a pull request, and safe to post whatever texts of agents
// it contains.
func (rep *Report) Markdown() []byte { return rep.markdown(maxMarkdown) }

// markdown returns the report in at most room bytes, and one more line if something was left out.
func (rep *Report) markdown(room int) []byte {
	m := markdown{room: room}
	title := rep.Run.Name
	if s := rep.Run.Selection; s != nil {
		title = fmt.Sprintf("%d of %d units of %s", s.Units, s.Of, title)
	}
	m.line("## %s: %s", label(rep.Outcome), escape(title))
	m.line("")
	m.line("%s", escape(rep.Headline))
	for _, note := range rep.Notes {
		m.line("")
		m.line("> %s", escape(note))
	}
	m.arms(rep)
	m.variants(rep)
	m.counts(rep.Activation())
	m.counts(rep.Confusion())
	m.failures(rep)
	m.mutants(rep.Mutants)
	for _, v := range rep.Variants {
		m.commands(rep, v)
		m.files(rep, v)
	}
	m.line("")
	m.line("<sub>%s · run %s · %s · playbook %s · %s</sub>", escape(rep.Run.Tool), code(rep.Run.ID),
		escape(rep.Run.Mode), code(rep.Run.Playbook.Path), escape(trialRule(rep.Run)))
	return m.bytes()
}

// maxSurvivors is how many survivors of a case report.md shows.
const maxSurvivors = 20

// mutants says whether the evals would notice a bad agent; nil: that is not known.
func (m *markdown) mutants(of *result.Mutants) {
	if of == nil {
		return
	}
	m.line("")
	m.line("**Would these evals notice a bad agent?** %s. %s", escape(of.Headline), escape(of.Of))
	for _, c := range of.Cases {
		if len(c.Survivors) == 0 {
			continue
		}
		lines := []string{
			"", fmt.Sprintf("<details><summary>%s: %s of a bad agent's sessions pass</summary>", code(c.Case),
				thousands(int64(len(c.Survivors)))), "",
		}
		for _, s := range c.Survivors[:min(len(c.Survivors), maxSurvivors)] {
			lines = append(lines, fmt.Sprintf("- %s: %s, %s: write %s", code(s.Name), escape(s.What), code(s.Position),
				escape(s.Advice)))
		}
		if left := len(c.Survivors) - maxSurvivors; left > 0 {
			lines = append(lines, fmt.Sprintf("- and %d more", left))
		}
		m.block(append(lines, "", "</details>"))
	}
}

// trialRule says how many trials there are and how many must pass.
func trialRule(r Run) string {
	if r.NeedScore > 0 {
		return fmt.Sprintf("%d trials, %v", r.Trials, result.Rule{Score: r.NeedScore})
	}
	if r.Trials <= 1 {
		return "1 trial"
	}
	return fmt.Sprintf("%d trials, %d must pass", r.Trials, r.Need)
}

// markdown is a text to which whole lines are added while there is room.
type markdown struct {
	text strings.Builder
	room int
	left int // the number of lines for which there was no room
}

// line adds a line, or counts it as left out. After the first line that was left out it adds none, so that the text has
// no gaps.
func (m *markdown) line(format string, args ...any) {
	s := fmt.Sprintf(format, args...) + "\n"
	if m.left > 0 || len(s) > m.room {
		m.left++
		return
	}
	m.text.WriteString(s)
	m.room -= len(s)
}

// block adds all lines or none, so that no <details> stays open.
func (m *markdown) block(lines []string) {
	size := len(lines)
	for _, l := range lines {
		size += len(l)
	}
	if m.left > 0 || size > m.room {
		m.left += len(lines)
		return
	}
	for _, l := range lines {
		m.line("%s", l)
	}
}

func (m *markdown) bytes() []byte {
	if m.left > 0 {
		fmt.Fprintf(&m.text, "\n*Cut here: %s more. report.html and report.json have everything.*\n",
			plural(m.left, "line"))
	}
	return []byte(m.text.String())
}

func (m *markdown) variants(rep *Report) {
	head := []string{"variant", "results", "score"}
	align := []string{"---", "---", "---:"}
	human := rated(rep, func(v Variant) Rating { return v.Human })
	ai := rated(rep, func(v Variant) Rating { return v.AI })
	if human {
		head, align = append(head, "human /10"), append(align, "---:")
	}
	if ai {
		head, align = append(head, "AI /10"), append(align, "---:")
	}
	head = append(head,
		"iterations", "stopped", "tool calls", "files + ~ −", "commands", "denied", "tokens", "cost", "time")
	align = append(align, "---:", "---", "---:", "---:", "---:", "---:", "---:", "---:", "---:")
	m.line("")
	m.row(head)
	m.row(align)
	for _, v := range rep.Variants {
		cells := []string{code(v.ID) + strings.TrimPrefix(v.name(), v.ID), v.Cases.String(), score(v.Score)}
		if human {
			cells = append(cells, score(v.Human.Score))
		}
		if ai {
			cells = append(cells, score(v.AI.Score))
		}
		m.row(append(cells, v.Iterations.integer(), tally(v.Stops), v.ToolCalls.integer(), v.Files.String(),
			v.Commands.String(), thousands(int64(v.Denied)), v.Tokens.Total.integer(), money(v.Cost, escape),
			v.Time.time()))
	}
}

func rated(rep *Report, rating func(Variant) Rating) bool {
	return slices.ContainsFunc(rep.Variants, func(v Variant) bool { return rating(v).Score != nil })
}

func (m *markdown) row(cells []string) { m.line("| %s |", strings.Join(cells, " | ")) }

// counts writes a table of a head and rows, of which the first two columns are names and the others numbers.
func (m *markdown) counts(rows [][]string) {
	for i, row := range rows {
		if i == 0 {
			m.line("")
			for j := range row {
				row[j] = escape(row[j])
			}
			m.row(row)
			m.row(append([]string{"---", "---"}, slices.Repeat([]string{"---:"}, len(row)-2)...))
			continue
		}
		for j := range row[:2] {
			row[j] = code(row[j])
		}
		m.row(row)
	}
}

// tally lists counts by name.
func tally(counts map[string]int) string {
	if len(counts) == 0 {
		return unknown
	}
	parts := make([]string, 0, len(counts))
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		part := code(name)
		if n := counts[name]; n > 1 {
			part = thousands(int64(n)) + " × " + part
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// String shows how many files were added, modified and deleted.
func (f Files) String() string {
	if f.Known == 0 {
		return unknown
	}
	bound := ""
	if f.Known < f.Of {
		bound = "≥ "
	}
	return fmt.Sprintf("%s+%d ~%d −%d", bound, f.Added, f.Modified, f.Deleted)
}

// String shows how many commands ran and how many of them failed.
func (c Commands) String() string {
	if c.Failed == 0 {
		return thousands(int64(c.Count))
	}
	return fmt.Sprintf("%s, %s failed", thousands(int64(c.Count)), thousands(int64(c.Failed)))
}

// failures lists what did not pass, and why.
func (m *markdown) failures(rep *Report) {
	for i, f := range rep.flaws() {
		if i == 0 {
			m.line("")
			m.row([]string{"", "case", "variant", "what", "why", "stopped", "where"})
			m.row([]string{"---", "---", "---", "---", "---", "---", "---"})
		}
		what := strings.TrimSpace(trials(f.passed, f.of))
		switch {
		case f.job != "":
			what = "job " + code(f.job)
		case f.check != "":
			what = code(f.check) + trials(f.passed, f.of)
		}
		m.row([]string{
			f.label(), code(f.of.Case), code(f.of.Variant), what, why(f.findings, f.of),
			cmp.Or(escape(f.of.Stops), unknown), code(position(f.findings)),
		})
	}
}

// trials says how many trials passed, if there are several.
func trials(passed int, of Result) string {
	if of.Trials <= 1 && of.rule.Score == 0 {
		return ""
	}
	return fmt.Sprintf(" %d/%d trials, %v", passed, of.Trials, of.rule)
}

// shownFindings is how many findings a row of failures shows.
const shownFindings = 2

// shownChecks is how many checks of a finding are shown.
const shownChecks = 3

// why returns the first findings and the number of others.
func why(list []Finding, r Result) string {
	list = bad(list)
	if len(list) == 0 {
		if r.NotRun > 0 {
			return fmt.Sprintf("%d of %d not run", r.NotRun, r.Trials)
		}
		return "too few trials passed"
	}
	var parts []string
	for _, f := range list[:min(len(list), shownFindings)] {
		text := code(excerpt.Bytes(f.Reason, maxReason))
		if r.Trials > 1 && f.Trial > 0 {
			text = fmt.Sprintf("trial %d: %s", f.Trial, text)
		}
		for _, check := range f.unmet {
			text += "<br>" + code(excerpt.Bytes(check, maxReason))
		}
		parts = append(parts, text)
	}
	text := strings.Join(parts, "; ")
	if len(list) > shownFindings {
		text += fmt.Sprintf(" and %d more", len(list)-shownFindings)
	}
	return text
}

// bad returns the findings that are failures or errors, or all if there are none of these.
func bad(list []Finding) []Finding {
	var worse []Finding
	for _, f := range list {
		if f.Outcome == result.Fail || f.Outcome == result.Error {
			worse = append(worse, f)
		}
	}
	if worse == nil {
		return list
	}
	return worse
}

func (m *markdown) commands(rep *Report, v Variant) {
	if v.Commands.Count == 0 {
		return
	}
	lines := []string{
		"", fmt.Sprintf("<details><summary>%s: %s</summary>", code(v.ID), plural(v.Commands.Count, "command")), "",
		"| unit | from | command | exit | time | |", "| --- | --- | --- | ---: | ---: | --- |",
	}
	n := 0
	for _, u := range rep.Units {
		if u.Variant != v.ID || u.metrics() == nil {
			continue
		}
		for _, c := range u.metrics().Commands {
			if n++; n <= maxRows {
				lines = append(lines, commandRow(u, c))
			}
		}
	}
	m.block(closed(lines, n))
}

func commandRow(u Unit, c result.Command) string {
	exit, took, note := unknown, unknown, ""
	switch {
	case c.Signal != "":
		exit = code(c.Signal)
	case c.ExitCode != nil:
		exit = fmt.Sprint(*c.ExitCode)
	}
	if c.Duration != nil {
		took = duration(time.Duration(*c.Duration))
	}
	if c.Cut {
		note = "output cut"
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s |", code(fmt.Sprintf("%s/%d", u.Case, u.Trial)), escape(c.Source),
		code(excerpt.Bytes(c.Command, maxCommand)), exit, took, note)
}

func (m *markdown) files(rep *Report, v Variant) {
	if v.Files.Added+v.Files.Modified+v.Files.Deleted == 0 {
		return
	}
	lines := []string{
		"", fmt.Sprintf("<details><summary>%s: files %s</summary>", code(v.ID), v.Files), "",
		"| unit | | file | size | lines |", "| --- | --- | --- | ---: | ---: |",
	}
	n := 0
	for _, u := range rep.Units {
		if u.Variant != v.ID || u.metrics() == nil || u.metrics().Changes == nil {
			continue
		}
		for _, f := range u.metrics().Changes.Files {
			if n++; n > maxRows {
				continue
			}
			changed := unknown
			if f.LinesAdded != nil && f.LinesRemoved != nil {
				changed = fmt.Sprintf("+%d −%d", *f.LinesAdded, *f.LinesRemoved)
			}
			lines = append(lines, fmt.Sprintf("| %s | %s | %s | %s | %s |", code(fmt.Sprintf("%s/%d", u.Case, u.Trial)),
				escape(f.Op), code(excerpt.Bytes(f.Path, maxCommand)), size(f.Bytes), changed))
		}
	}
	m.block(closed(lines, n))
}

// closed ends a <details> of n rows, of which lines has at most maxRows.
func closed(lines []string, n int) []string {
	if n > maxRows {
		lines = append(lines, "", fmt.Sprintf("%s more.", thousands(int64(n-maxRows))))
	}
	return append(lines, "", "</details>")
}

// special replaces the characters that have a meaning in GitHub's Markdown by escapes.
var special = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "&#124;", "\r\n", " ⏎ ", "\n", " ⏎ ", "\r", " ⏎ ",
	`\`, `\\`, "`", "\\`", "*", `\*`, "~", `\~`, "[", `\[`, "]", `\]`, "!", `\!`, "#", `\#`, "$", `\$`,
	"@", `\@`, "://", `\://`, "www.", `www\.`,
)

// escape escapes a text for any place in a line.
func escape(s string) string {
	s = special.Replace(visible(s))
	if !strings.Contains(s, "_") {
		return s
	}
	var b strings.Builder
	var before rune
	for i, r := range s {
		after := rune(0)
		for _, next := range s[i+len(string(r)):] {
			after = next
			break
		}
		if r == '_' && !(word(before) && word(after)) { // inside a word it is no emphasis, and reads better
			b.WriteByte('\\')
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

func word(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// code escapes a text and sets it as code, in which GitHub does not turn mentions, issues and commits into links. It
// uses a code element because backquotes cannot enclose every text in a table.
func code(s string) string {
	if s == "" {
		return ""
	}
	return "<code>" + escape(s) + "</code>"
}

// visible replaces characters that are not allowed in XML or harmful in a terminal: control characters by their
// symbols, and invalid Unicode and changes of the text's direction by U+FFFD.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return r
		case r < 0x20:
			return '␀' + r
		case r == 0x7f:
			return '␡'
		case 0x80 <= r && r < 0xa0, r == 0xfffe, r == 0xffff, 0x202a <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069:
			return unicode.ReplacementChar
		default:
			return r
		}
	}, s)
}
