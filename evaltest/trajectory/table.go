package trajectory

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The marks of rows.
const (
	good  = "✓"
	bad   = "✗"
	extra = "+" // a call that was not expected
)

// row is one line of a table.
type row struct {
	step  int    // 1-based; 0: not about a step
	mark  string // empty: a remark under the table
	left  string // what there was
	right string // what there should be, empty if that is the same
}

const (
	maxLeft = 80 // columns up to which the right side is aligned
	maxRun  = 10 // rows with the same mark in succession before they fold
)

// colours are the control sequences before marks and what belongs to them.
var colours = map[string]string{good: "\x1b[32m", bad: "\x1b[31m", extra: "\x1b[33m"}

const noColour = "\x1b[0m"

// table lays out the rows, each line beginning with indent, without a final newline.
func (f Format) table(rows []row, indent string) string {
	steps, left := 0, 0
	for _, r := range rows {
		steps = max(steps, r.step)
		if r.right != "" {
			left = max(left, min(utf8.RuneCountInString(r.left), maxLeft))
		}
	}
	width := 0 // of the step's number
	if steps > 0 {
		width = len(strconv.Itoa(steps)) + 1
	}
	var lines []string
	for len(rows) > 0 {
		run := 1
		for run < len(rows) && rows[run].mark == rows[0].mark {
			run++
		}
		shown := run
		if run > maxRun {
			shown = maxRun - 1
		}
		for _, r := range rows[:shown] {
			lines = append(lines, indent+f.line(r, width, left))
		}
		if run > shown {
			lines = append(lines, fmt.Sprintf("%s%*s%s … %d more", indent, width, "", f.paint(rows[0].mark, rows[0].mark), run-shown))
		}
		rows = rows[run:]
	}
	return strings.Join(lines, "\n")
}

// paint returns the text in the colour of the mark.
func (f Format) paint(mark, text string) string {
	if !f.Color || text == "" {
		return text
	}
	return colours[mark] + text + noColour
}

func (f Format) line(r row, width, left int) string {
	if r.mark == "" {
		return r.left
	}
	number := ""
	if r.step > 0 {
		number = strconv.Itoa(r.step) + " "
	}
	line := fmt.Sprintf("%*s%s %s", width, number, f.paint(r.mark, r.mark), r.left)
	if r.right == "" {
		return line
	}
	gap := 3 + max(0, left-utf8.RuneCountInString(r.left))
	return line + strings.Repeat(" ", gap) + f.paint(r.mark, r.right)
}
