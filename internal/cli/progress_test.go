package cli

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/session"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// terminal shows what a terminal of that width would, as far as the display needs one. It is for tests in one bubble of
// synctest, where the clock begins at midnight, 1 January 2000.
type terminal struct {
	width, height int

	mu     sync.Mutex
	lines  []string // above and on the screen
	row    int      // where the cursor is
	hidden bool     // the cursor
	writes int
	raw    strings.Builder
}

// Write implements [io.Writer]. What the display must not write is an error.
func (term *terminal) Write(p []byte) (int, error) {
	term.mu.Lock()
	defer term.mu.Unlock()
	term.writes++
	term.raw.Write(p)
	text := string(p)
	for text != "" {
		n, up := 0, 0
		switch {
		case strings.HasPrefix(text, hideCursor):
			term.hidden, n = true, len(hideCursor)
		case strings.HasPrefix(text, showCursor):
			term.hidden, n = false, len(showCursor)
		case strings.HasPrefix(text, eraseBelow):
			term.lines, n = term.lines[:term.row], len(eraseBelow)
		case strings.HasPrefix(text, eraseToRight):
			n = len(eraseToRight)
		case text[0] == '\r':
			n = 1
		case text[0] == '\x1b':
			if _, err := fmt.Sscanf(text, "\x1b[%dA", &up); err != nil {
				panic(fmt.Sprintf("a sequence that the display has no use for: %q", text))
			}
			if up >= term.height {
				panic("the display is higher than the terminal")
			}
			term.row -= up
			n = strings.IndexByte(text, 'A') + 1
		default:
			line, _, ok := strings.Cut(text, "\n")
			if !ok {
				panic(fmt.Sprintf("no whole line: %q", text))
			}
			n = len(line) + 1
			line, erased := strings.CutSuffix(line, eraseToRight)
			if erased && width(line) >= term.width {
				panic(fmt.Sprintf("a line of the display is too wide: %q", line))
			}
			term.lines = append(term.lines[:term.row],
				append([]string{line}, term.lines[min(term.row+1, len(term.lines)):]...)...)
			term.row++
		}
		text = text[n:]
	}
	return len(p), nil
}

// String returns the text on the terminal.
func (term *terminal) String() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	text := strings.Join(term.lines, "\n")
	if term.hidden {
		text += "\n(cursor hidden)"
	}
	return text + "\n"
}

// written returns how many times the terminal was written to.
func (term *terminal) written() int {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.writes
}

// narrow gives the terminal another width and breaks its lines, as terminals do that do not cut them.
func (term *terminal) narrow(width int) {
	term.mu.Lock()
	defer term.mu.Unlock()
	term.width = width
	var broken []string
	for _, line := range term.lines {
		for len(line) > width {
			broken, line = append(broken, line[:width]), line[width:]
		}
		broken = append(broken, line)
	}
	term.lines, term.row = broken, len(broken)
}

// show returns a progress on a terminal of that size.
func (term *terminal) show(total int) *progress {
	size := func() (int, int) { return term.width, term.height }
	return newProgress(screen{w: term, size: size, now: time.Now}, total)
}

func unit(id string, o result.Outcome, reason string, took time.Duration) result.Unit {
	return result.Unit{ID: id, Outcome: o, Reason: reason, Duration: result.Duration(took)}
}

// TestDisplay follows a run on a terminal, frame by frame.
func TestDisplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		term := &terminal{width: 80, height: 24}
		p := term.show(4)
		var frames strings.Builder
		snap := func(what string, after time.Duration) {
			time.Sleep(after)
			synctest.Wait()
			fmt.Fprintf(&frames, "== %s\n%s", what, term)
		}
		snap("nothing runs", redrawEvery)
		p.start("demo/task/sdd/1")
		p.start("demo/task/sdd-legacy/1")
		snap("two have started", redrawEvery)
		p.update(session.Activity{Unit: "demo/task/sdd/1", Iteration: 1, Tool: "Read 設計書.md"})
		p.update(session.Activity{
			Unit: "demo/task/sdd-legacy/1", Iteration: 2,
			Tool: "Bash \x1b[2J\ngo test ./... -run 'TestWithAVeryLongName' -count=1", Cost: new(0.034),
		})
		p.update(session.Activity{Unit: "demo/task/gone/1", Iteration: 9})
		snap("both call tools", 62*time.Second)
		p.note("sdd: npm warn deprecated \x1b[31mglob\n")
		snap("an agent logs", redrawEvery)
		p.end(unit("demo/task/sdd/1", result.Fail, "step \"tests\": exit code 1", 63*time.Second))
		p.start("demo/task/sdd/2")
		p.end(unit("demo/task/sdd/2", result.Error, "start the agent: not found", 0))
		snap("one failed, one is an error", redrawEvery)
		p.end(unit("demo/task/sdd-legacy/1", result.Completed, "", time.Hour))
		snap("an hour later, nothing runs", time.Hour)
		p.note("the end")
		p.close()
		p.close()
		snap("closed", 0)
		p.note("plain from now on")
		snap("a late note", 0)
		golden.Equal(t, "testdata/progress/display.golden", frames.String())
	})
}

// TestDisplayOfMany: the display never has more lines than the terminal.
func TestDisplayOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		term := &terminal{width: 40, height: 8}
		p := term.show(1000)
		for i := range 40 {
			p.start(fmt.Sprintf("a-playbook/a-long-case/variant-%d/1", i))
		}
		time.Sleep(redrawEvery)
		synctest.Wait()
		golden.Equal(t, "testdata/progress/many.golden", term.String())
		p.close()
		require.Equal(t, "\n", term.String(), "the display is cleared")
	})
}

// TestDisplayNarrower: the display is cleared even if the terminal has become narrower and has broken its lines.
func TestDisplayNarrower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		term := &terminal{width: 80, height: 24}
		p := term.show(1)
		p.start("demo/task/sdd/1")
		time.Sleep(redrawEvery)
		synctest.Wait()
		term.narrow(30)
		p.close()
		require.Equal(t, "\n", term.String())
	})
}

// TestDisplayWrites: the terminal is written to at most ten times a second, and not at all if nothing changes.
func TestDisplayWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		term := &terminal{width: 80, height: 24}
		p := term.show(1)
		p.start("a")
		for i := range 1000 {
			p.update(session.Activity{Unit: "a", Iteration: i + 1})
			p.note("a line")
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		fast := term.written()
		time.Sleep(redrawEvery * 3 / 2)
		before := term.written()
		time.Sleep(10 * time.Second)
		slow := term.written() - before
		p.close()
		require.LessOrEqual(t, fast, 10)
		require.Equal(t, 10, slow, "the clock shows seconds")
	})
}

// TestDisplayFlood: lines that come faster than frames do not pile up in memory, and none is lost.
func TestDisplayFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		term := &terminal{width: 80, height: 24}
		p := term.show(1)
		for i := range 5000 {
			p.note(fmt.Sprintf("line %d %s", i, strings.Repeat(".", 60)))
		}
		require.Less(t, p.above.Len(), 2*maxAbove)
		p.close()
		require.Equal(t, 5000, strings.Count(term.raw.String(), "line "))
	})
}

// TestDisplayRaces calls all methods at once, for the race detector.
func TestDisplayRaces(t *testing.T) {
	term := &terminal{width: 80, height: 24}
	p := term.show(16)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			id := fmt.Sprint("unit-", i)
			p.start(id)
			for k := range 50 {
				p.update(session.Activity{Unit: id, Iteration: k})
				p.note(id + " works")
			}
			p.end(unit(id, result.Pass, "", 0))
		})
	}
	wg.Wait()
	p.close()
	require.Equal(t, 16, strings.Count(term.raw.String(), "pass unit-"))
}

// TestPlainProgress tests the lines that a log in CI has.
func TestPlainProgress(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(screen{w: &out, now: time.Now}, 3)
	p.known([]result.Unit{unit("demo/task/sdd/1", result.Pass, "", 0)})
	p.start("demo/task/sdd/2")
	p.update(session.Activity{Unit: "demo/task/sdd/2", Iteration: 1, Tool: "Read"})
	p.note("sdd: \x1b[31mred\r\nsecond line")
	p.end(unit("demo/task/sdd/2", result.Pass, "", 1340*time.Millisecond))
	p.end(unit("demo/task/sdd/3", result.Error, "no such\nagent", 92*time.Second))
	p.close()
	require.Equal(t, `start demo/task/sdd/2
sdd: ␛[31mred
second line
pass demo/task/sdd/2 (1.3s)
error demo/task/sdd/3 (1m32s): no such
  agent
`, out.String())
}

// TestColors tests in which cases outcomes have colours.
func TestColors(t *testing.T) {
	require.Equal(t, "\x1b[31mfail\x1b[0m", screen{color: true}.colored(result.Fail))
	require.Equal(t, "not run", screen{color: true}.colored(notRun))
	require.Equal(t, "fail", screen{}.colored(result.Fail))
}

// TestPace: the time that is left is told from former runs, then from this one; what is spent is told as far as agents
// tell it.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		term := &terminal{width: 80, height: 24}
		p := term.show(10)
		frame := func() string {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.totals()
		}
		replayed := unit("a/b/c/1", result.Pass, "", time.Hour)
		replayed.Replayed = true
		cost := func(u result.Unit, amount float64, currency string) result.Unit {
			u.Metrics = &result.Metrics{Cost: &trajectory.Cost{Amount: amount, Currency: currency}}
			return u
		}
		require.Equal(t, "0/10 units · 00:00", frame(), "nothing is known")
		p.before([]result.Unit{
			unit("", result.Pass, "", 3*time.Minute), unit("", result.Fail, "", time.Minute),
			unit("", result.Pass, "", 2*time.Minute),
		})
		require.Equal(t, "0/10 units · 00:00 · about 20:00 left", frame())
		p.start("a/1/c/1")
		p.start("a/2/c/1")
		time.Sleep(time.Minute)
		require.Equal(t, "0/10 units · 01:00 · about 09:00 left", frame(), "two at a time, for a minute")
		p.update(session.Activity{Unit: "a/2/c/1", Cost: new(0.5)})
		require.Equal(t, "0/10 units · 01:00 · about 09:00 left · ≥ $0.50", frame())
		p.end(cost(unit("a/1/c/1", result.Pass, "", time.Minute), 1.25, "USD"))
		p.end(cost(unit("a/2/c/1", result.Pass, "", time.Minute), 0.75, "USD"))
		require.Equal(t, "2/10 units · 01:00 · about 08:00 left · $2.00", frame(), "the median is now a minute")
		for n := range 3 {
			p.end(unit(fmt.Sprintf("a/%d/c/1", n+3), result.Error, "", time.Hour))
			p.end(unit(fmt.Sprintf("a/%d/d/1", n+3), result.Pass, "", 10*time.Second))
		}
		require.Equal(t, "8/10 units · 3 errors · 01:00 · about 00:20 left · $2.00", frame(),
			"errors tell nothing, and now this run tells more than others")
		p.end(cost(unit("a/6/c/1", result.Pass, "", time.Second), 2, "EUR"))
		p.end(cost(replayed, 100, "USD"))
		require.Equal(t, "10/10 units · 3 errors · 01:00 · 2.00 EUR, $2.00", frame(), "replays cost nothing")
		p.within(5, func() float64 { return 3.1 })
		require.Equal(t, "10/10 units · 3 errors · 01:00 · $3.10 of $5.00", frame(), "what the budget counts")
		p.start("a/7/c/1")
		p.update(session.Activity{Unit: "a/7/c/1", Cost: new(0.25)})
		require.Contains(t, frame(), "$3.35 of $5.00")
		p.close()
	})
}

// TestPast: estimates are made from the newest runs of the playbook in which agents ran.
func TestPast(t *testing.T) {
	dir := threeRuns(t)
	a := &App{secrets: new(secret.Set)}
	var ids []string
	for _, u := range a.past(dir, "shop.yaml") {
		ids = append(ids, u.ID)
	}
	require.Equal(t, []string{"shop/task/a/1", "shop/task/a/1"}, ids, "without the error and what was not run")
	require.Empty(t, a.past(dir, "other.yaml"))
	require.Empty(t, a.past(t.TempDir(), "shop.yaml"))
}

// TestBell: only who asks for it hears it, and no file gets it.
func TestBell(t *testing.T) {
	size := func() (int, int) { return 80, 24 }
	for _, tt := range []struct {
		bell bool
		size func() (int, int)
		want string
	}{
		{true, size, "\a"}, {false, size, ""}, {true, nil, ""},
	} {
		var out bytes.Buffer
		w := &watcher{screen: screen{w: &out, size: tt.size, now: time.Now}}
		w.close(tt.bell)
		require.Empty(t, out.String(), "nothing has begun")
		w.progress = newProgress(w.screen, 1)
		w.close(tt.bell)
		require.Equal(t, tt.want, out.String())
	}
}
