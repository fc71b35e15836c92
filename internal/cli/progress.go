package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/session"
)

// redrawEvery is how long a frame stands at least.
const redrawEvery = 100 * time.Millisecond

// screen is where progress is shown.
type screen struct {
	w io.Writer
	// size returns the columns and lines of a terminal. It is nil if w is not one: then there are only plain lines.
	size func() (columns, lines int)
	// color tells that colours are welcome.
	color bool
	now   func() time.Time
}

// screenOf returns the screen that w is. A dumb terminal is not one, and neither is the console of Windows, which need
// not understand escape sequences.
func screenOf(w io.Writer, getenv func(string) string, now func() time.Time) screen {
	s := screen{w: w, now: now}
	f, ok := w.(*os.File)
	if t := getenv("TERM"); !ok || t == "" || t == "dumb" || runtime.GOOS == "windows" || !term.IsTerminal(int(f.Fd())) {
		return s
	}
	s.color = getenv("NO_COLOR") == ""
	s.size = func() (int, int) {
		columns, lines, err := term.GetSize(int(f.Fd()))
		if err != nil || columns < 1 || lines < 1 {
			return 80, 24
		}
		return columns, lines
	}
	return s
}

// progress shows how a run goes on: on a terminal a display that is redrawn in place, elsewhere a line whenever a unit
// starts or ends. Its methods may be called from several goroutines. Whoever made it closes it.
type progress struct {
	screen
	began time.Time
	stop  chan struct{}
	done  chan struct{} // closed when the goroutine that redraws has ended

	mu      sync.Mutex
	total   int
	ended   tally          // how units ended, those of an earlier attempt at the run too
	running []*runningUnit // in the order in which they started
	above   bytes.Buffer   // complete lines to be written above the display with its next frame
	drawn   []string       // the frame that stands on the terminal
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
		screen: s, total: total, began: s.now(), ended: make(tally), stop: make(chan struct{}), done: make(chan struct{}),
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

// known counts units that ended in an earlier attempt at the run.
func (p *progress) known(units []result.Unit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range units {
		p.ended[u.Outcome]++
	}
}

// start tells that a unit has started.
func (p *progress) start(unitID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = append(p.running, &runningUnit{Activity: session.Activity{Unit: unitID}, since: p.now()})
	if p.size == nil {
		p.print("start " + printable(unitID))
	}
}

// update tells what a unit's agent is doing. A unit that is not running is ignored.
func (p *progress) update(a session.Activity) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := p.index(a.Unit); i >= 0 {
		p.running[i].Activity = a
	}
}

// end tells how a unit ended.
func (p *progress) end(u result.Unit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := p.index(u.ID); i >= 0 {
		p.running = slices.Delete(p.running, i, i+1)
	}
	p.ended[u.Outcome]++
	line := fmt.Sprintf("%s %s (%s)", p.colored(u.Outcome), printable(u.ID), seconds(u.Duration))
	reason, more, _ := strings.Cut(u.Reason, "\n")
	if reason != "" {
		line += ": " + printable(reason)
	}
	p.print(line)
	for line := range strings.Lines(more) {
		p.print("  " + printable(strings.TrimRight(line, "\r\n")))
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

// close clears the display and gives the terminal back. What is told later is shown as plain lines.
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

// maxAbove bounds what waits for the next frame.
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
