package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/report"
)

const (
	shownReasons = 5   // that a run ends with
	shownResults = 3   // of each reason
	maxReason    = 400 // characters of one reason
)

// summarise writes a table of a run's variants and those of the skills and tools that they used, which fit into columns
// columns, 0 meaning any number, and, if that is wanted, why not everything passed.
func summarise(w io.Writer, rep *report.Report, columns int, why bool) {
	for _, rows := range [][][]string{rep.Overview(), rep.Activation(), rep.Confusion()} {
		if rows == nil {
			continue
		}
		lines := table(rows)
		if columns > 0 && width(lines[0]) > columns {
			lines = list(rows, columns)
		}
		fmt.Fprintln(w)
		for _, line := range lines {
			fmt.Fprintln(w, line)
		}
	}
	var reasons []report.Reason
	if why {
		reasons = rep.Reasons()
	}
	for i, r := range reasons[:min(len(reasons), shownReasons)] {
		if i == 0 {
			fmt.Fprintln(w, "\nreasons, the most frequent first:")
		}
		for _, line := range reason(r) {
			fmt.Fprintln(w, line)
		}
	}
	if more := len(reasons) - shownReasons; more > 0 {
		fmt.Fprintf(w, "  and %s\n", excerpt.Count(more, "other reason"))
	}
}

// reason returns lines about a reason: how often it was said and where, what it says, of what.
func reason(r report.Reason) []string {
	decides := ""
	if r.Reference {
		decides = "of references, decides nothing"
	}
	head := strings.Join(listed(fmt.Sprintf("%5d × %s", len(r.Of), r.Outcome), r.Check, r.Position, decides), "  ")
	of := strings.Join(r.Of[:min(len(r.Of), shownResults)], ", ")
	if more := len(r.Of) - shownResults; more > 0 {
		of += fmt.Sprintf(" and %d more", more)
	}
	return []string{printable(head), "        " + excerpt.Line(r.Text, maxReason), "        " + printable(of)}
}

// table returns rows as lines of aligned cells. Figures, from the third cell on, stand at the right.
func table(rows [][]string) []string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i := range row {
			row[i] = printable(row[i])
			widths[i] = max(widths[i], width(row[i]))
		}
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		cells := make([]string, len(row))
		for k, cell := range row {
			room := strings.Repeat(" ", widths[k]-width(cell))
			if cells[k] = cell + room; k > 1 {
				cells[k] = room + cell
			}
		}
		lines[i] = strings.TrimRight(strings.Join(cells, "  "), " ")
	}
	return lines
}

// list returns the rows of a table that is too wide, one below the other: the first cell of each, and below it the
// others, as many as there is room for on a line.
func list(rows [][]string, columns int) []string {
	var lines []string
	for _, row := range rows[1:] {
		lines = append(lines, cut(row[0], columns))
		line := "  " + row[1]
		for k, cell := range row[2:] {
			part := rows[0][k+2] + " " + cell
			if width(line)+width(" · "+part) > columns {
				lines = append(lines, cut(line, columns))
				line = "  " + part
				continue
			}
			line += " · " + part
		}
		lines = append(lines, cut(line, columns))
	}
	return lines
}
