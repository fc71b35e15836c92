package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

// The escape sequences that the display needs (ECMA-48, and DEC's for the cursor).
const (
	hideCursor   = "\x1b[?25l"
	showCursor   = "\x1b[?25h"
	cursorUp     = "\x1b[%dA"
	eraseBelow   = "\x1b[J"
	eraseToRight = "\x1b[K"
)

// draw puts a frame in the place of the one before, in one write; no frame at all gives the cursor back. Lines that wait
// to stand above come first.
func (p *progress) draw(frame []string) {
	if slices.Equal(frame, p.drawn) && p.above.Len() == 0 {
		return
	}
	var b bytes.Buffer
	rows := p.rows()
	switch {
	case rows > 0:
		fmt.Fprintf(&b, "\r"+cursorUp, rows)
	case len(frame) > 0:
		b.WriteString(hideCursor)
	}
	if p.above.Len() > 0 {
		b.WriteString(eraseBelow)
		p.above.WriteTo(&b)
	}
	for _, line := range frame {
		b.WriteString(line + eraseToRight + "\n")
	}
	if len(frame) < rows {
		b.WriteString(eraseBelow)
	}
	if len(frame) == 0 && rows > 0 {
		b.WriteString(showCursor)
	}
	p.drawn = frame
	p.w.Write(b.Bytes())
}

// rows returns how many rows the frame that stands on the terminal takes. Where the terminal got narrower since, its
// lines have been broken.
func (p *progress) rows() int {
	columns, lines := p.size()
	rows := 0
	for _, line := range p.drawn {
		rows += max(1, (width(line)+columns-1)/columns)
	}
	return min(rows, lines-1)
}

// frame returns the lines of the display: one for each unit that is running, as many as there is room for, and one about
// all units.
func (p *progress) frame() []string {
	columns, lines := p.size()
	shown := p.running
	if room := max(lines-3, 1); len(shown) > room {
		shown = shown[:room]
	}
	rows := make([][]string, len(shown))
	for i, r := range shown {
		rows[i] = r.cells(p.now(), columns/2)
	}
	frame := layOut(rows, columns-1)
	if hidden := len(p.running) - len(shown); hidden > 0 {
		frame = append(frame, cut(fmt.Sprintf("  and %d more", hidden), columns-1))
	}
	return append(frame, cut(p.totals(), columns-1))
}

// totals returns the line about all units: "12/40 units · 2 failed · 1 error · 03:12".
func (p *progress) totals() string {
	done := 0
	for _, n := range p.ended {
		done += n
	}
	parts := []string{fmt.Sprintf("%d/%s", done, count(p.total, "unit"))}
	parts = append(parts, p.ended.words(result.Pass, result.Completed)...)
	return strings.Join(append(parts, clock(p.now().Sub(p.began))), " · ")
}

// cells returns what is shown of a unit: its id, in at most idColumns columns, its iteration, tool, time and cost.
func (r *runningUnit) cells(now time.Time, idColumns int) []string {
	iteration, cost := "starting", "cost unknown"
	if r.Iteration > 0 {
		iteration = fmt.Sprintf("iteration %d", r.Iteration)
	}
	if r.Cost != nil {
		cost = fmt.Sprintf("$%.2f", *r.Cost)
	}
	return []string{cutLeft(printable(r.Unit), idColumns), iteration, printable(r.Tool), clock(now.Sub(r.since)), cost}
}

// toolColumn is the cell that gives way where there is too little room.
const toolColumn = 2

// layOut returns rows as lines of aligned cells, at most so many columns wide.
func layOut(rows [][]string, columns int) []string {
	if len(rows) == 0 {
		return nil
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], width(cell))
		}
	}
	need := 2 * len(widths) // a gap before each cell
	for _, w := range widths {
		need += w
	}
	widths[toolColumn] = max(0, widths[toolColumn]-max(0, need-columns))
	lines := make([]string, len(rows))
	for i, row := range rows {
		var b strings.Builder
		for k, cell := range row {
			cell = cut(cell, widths[k])
			b.WriteString("  " + cell + strings.Repeat(" ", widths[k]-width(cell)))
		}
		lines[i] = cut(strings.TrimRight(b.String(), " "), columns)
	}
	return lines
}

// clock returns a duration as a clock shows it: "03:12", "1:02:03".
func clock(d time.Duration) string {
	s := int(d / time.Second)
	if s < 3600 {
		return fmt.Sprintf("%02d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// colored returns an outcome in its colour, if colours are wanted.
func (s screen) colored(o result.Outcome) string {
	colors := map[result.Outcome]int{result.Pass: 32, result.Fail: 31, result.Error: 35, result.Skip: 33, result.Completed: 36}
	if color, ok := colors[o]; ok && s.color {
		return fmt.Sprintf("\x1b[%dm%s\x1b[0m", color, o)
	}
	return string(o)
}
