package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/session"
)

// watcher shows a run on standard error, without secrets. It implements [engine.Sink].
type watcher struct {
	screen   screen
	secrets  *secret.Set
	progress *progress // nil before Begin
	past     func() []result.Unit
	// budget is what the run may cost in US dollars, 0 if nothing bounds that, and spent what of it was spent.
	budget float64
	spent  func() float64
}

func (a *App) newWatcher(secrets *secret.Set) *watcher {
	return &watcher{screen: screenOf(a.Stderr, a.Getenv, a.Now), secrets: secrets}
}

// close gives the terminal back, and rings its bell if that is wanted.
func (w *watcher) close(bell bool) {
	if w.progress == nil {
		return
	}
	w.progress.close()
	if bell && w.screen.size != nil {
		_, _ = io.WriteString(w.screen.w, "\a") // who cannot write to the terminal learns it from what follows
	}
}

func (w *watcher) Begin(total int, finished []result.Unit, notes []string) {
	w.progress = newProgress(w.screen, total)
	if w.past != nil && w.screen.size != nil { // only a display shows estimates
		w.progress.before(w.past())
	}
	if w.budget > 0 {
		w.progress.within(w.budget, w.spent)
	}
	w.progress.known(finished)
	if len(finished) > 0 {
		w.Note(fmt.Sprintf("%d of %d units already have a result", len(finished), total))
	}
	w.notes(notes)
}

// UnitStarts returns a writer that discards the notes about the unit: its session log has all of them.
func (w *watcher) UnitStarts(u plan.Unit) io.Writer {
	w.progress.start(u.ID())
	return io.Discard
}

func (w *watcher) UnitEnds(_ plan.Unit, u result.Unit) {
	if u.Interrupted {
		w.progress.drop(u.ID)
		return
	}
	shown := u
	if len(u.Steps) > 0 && u.Steps[len(u.Steps)-1].Reason == u.Reason {
		shown.Reason = "" // it is shown with the step
	}
	shown.Reason = w.secrets.String(shown.Reason)
	w.progress.end(shown)
	w.notes(explain(u))
}

func (w *watcher) JobEnds(j result.Job) {
	if j.Interrupted {
		return
	}
	line := fmt.Sprintf("job %s: %s", j.ID, j.Outcome)
	if j.Reason != "" {
		line += ": " + j.Reason
	}
	w.Note(line)
	w.notes(explainSteps(j.Steps))
}

func (w *watcher) Activity(a session.Activity) {
	a.Tool = w.secrets.String(a.Tool)
	w.progress.update(a)
	if a.Pause != "" {
		w.Note(a.Unit + ": " + a.Pause)
	}
}

func (w *watcher) Note(text string) {
	w.progress.note(w.secrets.String(text))
}

func (w *watcher) notes(lines []string) {
	for _, line := range lines {
		w.Note(line)
	}
}

// shownChecks is how many checks of an evaluator that do not hold are shown.
const shownChecks = 5

// explain returns lines that say why a unit did not pass, and which evaluators did not judge it.
func explain(u result.Unit) []string {
	lines := explainSteps(u.Steps)
	for _, e := range u.Evaluations {
		switch {
		case e.Outcome == result.Fail || e.Outcome == result.Error:
			lines = append(lines, fmt.Sprintf("  %s: %s: %s", e.Position, e.Name, e.Reason))
			for _, check := range e.Unmet(shownChecks) {
				lines = append(lines, "    "+check)
			}
		case e.Outcome == result.Skip && u.Metrics == nil: // the agent did not start, which the unit's reason says
		case e.Outcome == result.Skip || e.Outcome == result.Reported:
			line := fmt.Sprintf("  %s: %s: %s: %s", e.Position, e.Name, e.Outcome, e.Reason)
			lines = append(lines, strings.TrimSuffix(line, ": "))
		}
	}
	for _, w := range u.Warnings {
		lines = append(lines, "  warning: "+w)
	}
	if u.Next != "" {
		lines = append(lines, "  next: "+u.Next)
	}
	return lines
}

func explainSteps(steps []result.Step) []string {
	var lines []string
	for _, s := range steps {
		if s.Outcome != result.Fail && s.Outcome != result.Error {
			continue
		}
		if s.Output != "" {
			lines = append(lines, "  "+strings.ReplaceAll(s.Output, "\n", "\n  "))
		}
		lines = append(lines, fmt.Sprintf("  %s: step %q: %s", s.Position, s.Name, s.Reason))
	}
	return lines
}
