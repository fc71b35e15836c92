package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/session"
)

// redrawEvery is the time between two frames.
const redrawEvery = 100 * time.Millisecond

// progress shows the progress of a run: on a terminal as a display that is redrawn in place, elsewhere as a line
// whenever a unit starts or ends. Its methods may be called from several goroutines. Whoever made it must close it.
type progress struct {
	screen
	began time.Time
	stop  chan struct{}
	done  chan struct{} // closed when the goroutine that redraws has ended

	mu      sync.Mutex
	total   int
	ended   tally          // outcomes of units, including those from before the run was resumed
	running []*runningUnit // in the order in which they started
	pace    pace
	spent   spent
	budget  float64        // what the run may cost in US dollars; 0: nothing bounds that
	paid    func() float64 // what of the budget was spent on units that have ended
	above   bytes.Buffer   // complete lines that are written above the display with the next frame
	drawn   []string       // the frame that is on the terminal
	closed  bool
}

// runningUnit is a unit that has started and not ended.
type runningUnit struct {
	session.Activity
	since time.Time
}

// newProgress shows the progress of a run of total units on a screen.
func newProgress(s screen, total int) *progress {
	p := &progress{
		screen: s, total: total, began: s.now(), ended: make(tally),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	if s.size == nil {
		close(p.done)
		return p
	}
	go p.redraw()
	return p
}

// redraw draws frames until the progress is closed.
func (p *progress) redraw() {
	defer close(p.done)
	tick := time.NewTicker(redrawEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
			p.mu.Lock()
			p.draw(p.frame())
			p.mu.Unlock()
		}
	}
}

// before has estimates begin with what the units of former runs took.
func (p *progress) before(units []result.Unit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pace.before(units)
}

// within shows what is spent of a budget in US dollars, of which paid is for units that have ended.
func (p *progress) within(budget float64, paid func() float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.budget, p.paid = budget, paid
}

// known counts units that ended before the run was resumed.
func (p *progress) known(units []result.Unit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range units {
		p.ended[ended(u)]++
		p.pace.add(u)
		p.spent.add(u)
	}
}

// start shows that a unit has started.
func (p *progress) start(unitID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = append(p.running, &runningUnit{Activity: session.Activity{Unit: unitID}, since: p.now()})
	if p.size == nil {
		p.print("start " + printable(unitID))
	}
}

// update shows what a unit's agent is doing. A unit that is not running is ignored.
func (p *progress) update(a session.Activity) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := p.index(a.Unit); i >= 0 {
		p.running[i].Activity = a
	}
}

// end shows how a unit ended.
func (p *progress) end(u result.Unit) {
	p.drop(u.ID)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended[ended(u)]++
	p.pace.add(u)
	p.spent.add(u)
	took := seconds(u.Duration)
	if u.Stop != "" {
		took += ", stop: " + printable(u.Stop)
	}
	if ended(u) == referenceFail {
		took += "; of a reference, decides nothing"
	}
	line := fmt.Sprintf("%s %s (%s)", p.colored(u.Outcome), printable(u.ID), took)
	reason, more, _ := strings.Cut(u.Reason, "\n")
	if reason != "" {
		line += ": " + printable(reason)
	}
	p.print(line)
	for line := range strings.Lines(more) {
		p.print("  " + printable(strings.TrimRight(line, "\r\n")))
	}
}

// drop forgets a unit that has started and is not kept.
func (p *progress) drop(unitID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := p.index(unitID); i >= 0 {
		p.running = slices.Delete(p.running, i, i+1)
	}
}

// note shows lines for people, such as those of an agent's log, above the display.
func (p *progress) note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for line := range strings.Lines(text) {
		p.print(printable(strings.TrimRight(line, "\r\n")))
	}
}

// close clears the display and restores the terminal. Whatever comes later is shown as plain lines.
func (p *progress) close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	p.mu.Unlock()
	close(p.stop)
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.size != nil {
		p.draw(nil)
		p.size = nil
	}
}

// maxAbove is how many bytes of lines may wait for the next frame.
const maxAbove = 64 << 10

// print shows a printable line above the display. On a terminal it waits for the next frame.
func (p *progress) print(line string) {
	if p.size == nil {
		fmt.Fprintln(p.w, line)
		return
	}
	fmt.Fprintln(&p.above, line)
	if p.above.Len() > maxAbove {
		p.draw(p.frame())
	}
}

func (p *progress) index(unitID string) int {
	return slices.IndexFunc(p.running, func(r *runningUnit) bool { return r.Unit == unitID })
}

// The escape sequences that the display needs (ECMA-48, and DEC's for the cursor).
const (
	hideCursor   = "\x1b[?25l"
	showCursor   = "\x1b[?25h"
	cursorUp     = "\x1b[%dA"
	eraseBelow   = "\x1b[J"
	eraseToRight = "\x1b[K"
)

// draw replaces the frame on the terminal, in one write. Lines that wait are written above it; an empty frame restores
// the cursor.
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

// rows returns how many rows the frame on the terminal takes. If the terminal has become narrower, it has broken the
// frame's lines.
func (p *progress) rows() int {
	columns, lines := p.size()
	rows := 0
	for _, line := range p.drawn {
		rows += max(1, (width(line)+columns-1)/columns)
	}
	return min(rows, lines-1)
}

// frame returns the lines of the display: one for each running unit, as far as there is room, and one about all units.
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

// totals returns the line about all units: "12/40 units · 2 failed · 1 error · 03:12 · about 08:00 left · $1.20".
func (p *progress) totals() string {
	done := 0
	for _, n := range p.ended {
		done += n
	}
	parts := []string{fmt.Sprintf("%d/%s", done, excerpt.Count(p.total, "unit"))}
	parts = append(parts, p.ended.words(result.Pass, result.Completed)...)
	parts = append(parts, clock(p.now().Sub(p.began)))
	if left, known := p.left(p.total - done); known {
		parts = append(parts, "about "+clock(left)+" left")
	}
	if cost := p.cost(); cost != "" {
		parts = append(parts, cost)
	}
	return strings.Join(parts, " · ")
}

// cost returns what has been spent, and of which budget: "$1.20 of $5.00".
func (p *progress) cost() string {
	if p.budget == 0 {
		return p.spent.with(p.running)
	}
	ended := spent{sums: map[string]float64{"USD": p.paid()}}
	return ended.with(p.running) + " of " + money(p.budget, "USD")
}

// left estimates how long units take that have not ended, from the median of others. It is unknown if there are none.
func (p *progress) left(units int) (left time.Duration, known bool) {
	one, known := p.pace.median()
	work := time.Duration(units-len(p.running)) * one
	for _, r := range p.running {
		work += max(0, one-p.now().Sub(r.since))
	}
	return work / time.Duration(max(1, len(p.running))), known && units > 0
}

// cells returns what is shown about a unit: its id, in at most idColumns columns, iteration, tool, time and cost.
func (r *runningUnit) cells(now time.Time, idColumns int) []string {
	iteration, cost := "starting", "cost unknown"
	if r.Pause != "" {
		iteration = "waiting"
	} else if r.Iteration > 0 {
		iteration = fmt.Sprintf("iteration %d", r.Iteration)
	}
	if r.Cost != nil {
		cost = fmt.Sprintf("$%.2f", *r.Cost)
	}
	id := cutLeft(printable(r.Unit), idColumns)
	return []string{id, iteration, printable(r.Tool), clock(now.Sub(r.since)), cost}
}

// toolColumn is the index of the cell that is cut where there is too little room.
const toolColumn = 2

// layOut returns rows as lines of aligned cells, at most columns wide.
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

const (
	// notRun stands for the outcome of units that have none yet.
	notRun result.Outcome = "not run"
	// referenceFail is the outcome of a unit that failed and is of a variant to compare with: it decides nothing.
	referenceFail result.Outcome = "fail of a reference"
)

// ended returns the outcome by which a unit is counted.
func ended(u result.Unit) result.Outcome {
	if u.Reference && u.Outcome == result.Fail {
		return referenceFail
	}
	return u.Outcome
}

// tally counts units by outcome.
type tally map[result.Outcome]int

// words returns the counts that are not 0, the worst first: "2 failed", "1 error". It skips the outcomes in leaveOut.
func (t tally) words(leaveOut ...result.Outcome) []string {
	skip := make(map[result.Outcome]bool)
	for _, o := range leaveOut {
		skip[o] = true
	}
	var words []string
	for _, w := range []struct {
		outcome   result.Outcome
		one, many string
	}{
		{result.Fail, "failed", "failed"},
		{result.Error, "error", "errors"},
		{referenceFail, "reference failed", "references failed"},
		{result.Pass, "passed", "passed"},
		{result.Completed, "completed", "completed"},
		{result.Skip, "skipped", "skipped"},
		{notRun, "not run", "not run"},
	} {
		switch n := t[w.outcome]; {
		case n == 0 || skip[w.outcome]:
		case n == 1:
			words = append(words, "1 "+w.one)
		default:
			words = append(words, fmt.Sprintf("%d %s", n, w.many))
		}
	}
	return words
}

// String returns "2 failed, 1 error", or "no units" if there are none.
func (t tally) String() string {
	if words := t.words(); len(words) > 0 {
		return strings.Join(words, ", ")
	}
	return "no units"
}

// notAsked says how many evaluators were skipped although their agents ran; empty: none.
func notAsked(units []result.Unit) string {
	n := 0
	for _, u := range units {
		n += u.NotAsked()
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; judges not asked: %d", n)
}

// onlyNotAsked reports whether a run judged nothing, since judges were not asked.
func onlyNotAsked(units []result.Unit) bool {
	return notAsked(units) != "" && !slices.ContainsFunc(units, func(u result.Unit) bool {
		return u.Outcome != result.Skip
	})
}

// tallyOf counts the outcomes of a run's units, of which there are listed in all.
func tallyOf(units []result.Unit, listed int) tally {
	t := make(tally)
	for _, u := range units {
		t[ended(u)]++
	}
	return t.of(listed)
}

// of adds those of all units that were not run.
func (t tally) of(listed int) tally {
	for _, n := range t {
		listed -= n
	}
	t[notRun] = listed
	return t
}
