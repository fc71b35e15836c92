package evaltest

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/words"
)

// shownTrials is how many failed trials a failure text shows whole; the others are counted.
const shownTrials = 3

// evaluatorText is the failure text of an evaluator's subtest: what happened first, then where the expectation stands
// and why it does not hold, then how to see it again.
func (v verdict) evaluatorText(t *testing.T, e result.Evaluator, head string) string {
	return fmt.Sprintf("%s/%s: %s%s\n%s", v.id, e.Name, head, v.found(e, result.Pass, result.Skip), v.reproduce(t))
}

// passedText is what an evaluator found that passes, for those who want to know why; empty if it does not say.
func (v verdict) passedText(e result.Evaluator) string {
	found := v.found(e, result.Skip)
	if found == "" {
		return ""
	}
	return fmt.Sprintf("%s/%s: PASS%s%s", v.id, e.Name, v.fraction(e.Count), found)
}

// found is what an evaluator found in its trials, but for those with the outcomes that are left out. It is empty or
// begins a line.
func (v verdict) found(e result.Evaluator, leftOut ...result.Outcome) string {
	var b strings.Builder
	shown := 0
	for _, r := range e.Verdicts {
		if slices.Contains(leftOut, r.Outcome) {
			continue
		}
		if shown++; shown > shownTrials {
			continue
		}
		if r.Detail != "" {
			prefix := ""
			if len(v.Units) > 1 {
				prefix = fmt.Sprintf("trial %d: ", r.Unit.Trial)
			}
			b.WriteString("\n" + hang(prefix, r.Detail))
		}
		if r.Reason != "" {
			fmt.Fprintf(&b, "\n%s: %s", r.Position, r.Reason)
		}
		if session := sessionText(*r.Unit); session != "" && r.Outcome != result.Pass {
			fmt.Fprintf(&b, "\nsession: %s", session)
		}
	}
	if shown > shownTrials {
		fmt.Fprintf(&b, "\n... and %d more trials", shown-shownTrials)
	}
	return b.String()
}

// trialText says how one trial that did not pass ended.
func (v verdict) trialText(i int) string {
	u := v.Units[i]
	var b strings.Builder
	line := func(format string, args ...any) {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, format, args...)
	}
	prefix := ""
	if len(v.Units) > 1 {
		prefix = fmt.Sprintf("trial %d: ", i+1)
	}
	reported := false
	for _, s := range u.Steps {
		if s.Outcome != result.Fail && s.Outcome != result.Error {
			continue
		}
		if s.Output != "" {
			line("%s", s.Output)
		}
		line("%s%s: step %q: %s", prefix, s.Position, s.Name, s.Reason)
		reported = reported || s.Reason == u.Reason
	}
	if u.Reason != "" && !reported {
		line("%s", hang(prefix, u.Reason))
	}
	if u.Stop != "" {
		line("%sstop: %s", prefix, u.Stop)
	}
	if names := notPassed(u); len(names) > 0 {
		line("%snot passed: %s", prefix, strings.Join(names, ", "))
	}
	if session := sessionText(u); session != "" {
		line("session: %s", session)
	}
	if u.Next != "" {
		line("next: %s", u.Next)
	}
	return b.String()
}

func notPassed(u result.Unit) []string {
	var names []string
	for _, e := range u.Evaluations {
		if e.Outcome == result.Fail || e.Outcome == result.Error {
			names = append(names, e.Name)
		}
	}
	return names
}

func (v verdict) passText() string {
	u := v.Units[0]
	var text strings.Builder
	fmt.Fprintf(&text, "%s: PASS%s, %s", v.id, v.fraction(v.Count), v.did)
	if stops := v.Stops(); stops != "" {
		text.WriteString(", stop: " + stops)
	}
	if session := sessionText(u); session != "" {
		text.WriteString(", session: " + session)
	}
	return text.String()
}

// amount tells how much an agent did; nil: it never started.
func amount(run *trajectory.Run) string {
	calls, turns := 0, 0
	if run != nil {
		calls, turns = len(run.ToolCalls()), run.Turns()
	}
	return excerpt.Count(calls, "tool call") + " in " + excerpt.Count(turns, "turn")
}

// sessionText names a trial's cassette and says so where a scripted model stood behind the agent.
func sessionText(u result.Unit) string {
	if u.Session == "" || u.Endpoint != "scripted" {
		return u.Session
	}
	return u.Session + " (scripted model)"
}

// hang indents all lines of text but the first by the width of prefix, which goes before the first.
func hang(prefix, text string) string {
	return prefix + strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", len(prefix)))
}

func (v verdict) reproduce(t *testing.T) string { return v.again(t, v.Units[0].Session != "") }

// again returns the line that says how to see a result again. It records nothing: what was recorded just now is
// replayed, and where nothing could be, an agent runs.
func (h *harness) again(t *testing.T, recorded bool) string {
	mode := h.mode()
	if mode == engine.Record || mode == engine.Missing {
		if mode = engine.Live; recorded {
			mode = engine.Replay
		}
	}
	return "reproduce: " + command(h, mode, t.Name()) + " -v"
}

// command returns the go test command that runs one case under one variant in a mode. t is the playbook's subtest.
func (h *harness) command(t *testing.T, mode engine.Mode, caseID, variantID string) string {
	if h.front != "" {
		return h.front + " --mode " + string(mode)
	}
	return command(h, mode, t.Name()+"/"+caseID+"/"+variantID) + " -count=1"
}

func command(h *harness, mode engine.Mode, name string) string {
	levels := strings.Split(name, "/")
	for i, l := range levels {
		levels[i] = "^" + regexp.QuoteMeta(l) + "$"
	}
	pkg := "."
	if rel, err := filepath.Rel(h.module, h.dir); err == nil && rel != "." {
		pkg = "./" + filepath.ToSlash(rel)
	}
	return fmt.Sprintf("EVALTEST_MODE=%s %s", mode, words.Join("go", "test", pkg, "-run", strings.Join(levels, "/")))
}

// jobFailure is the failure text of a job outside the matrix.
func jobFailure(name string, j result.Job) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", name, strings.ToUpper(string(j.Outcome)))
	for _, s := range j.Steps {
		if s.Outcome != result.Fail && s.Outcome != result.Error {
			continue
		}
		if s.Output != "" {
			b.WriteString("\n" + s.Output)
		}
		fmt.Fprintf(&b, "\n%s: step %q: %s", s.Position, s.Name, s.Reason)
	}
	if j.Reason != "" {
		b.WriteString("\n" + j.Reason)
	}
	return b.String()
}
