package evaltest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// Unit is what a [Check] judges: one trial of one case under one variant.
type Unit struct {
	// ID is playbook/case/variant/trial.
	ID string
	// Run is what the agent did.
	Run *trajectory.Run
	// Workspace is the directory as the agent left it.
	Workspace string
}

// Check adds an expectation written in Go to every unit of the playbooks: an evaluator called name, with its own
// subtest, to which the pass rule of the playbook's trials applies as to any other.
//
// Checks of several units may run at the same time, see EVALTEST_PARALLEL.
//
//	evaltest.Check("ends with a summary", func(t *evaltest.T, u evaltest.Unit) {
//		require.Contains(t, u.Run.Answer(), "fixed")
//	})
func Check(name string, f func(t *T, u Unit)) Option {
	_, file, line, _ := runtime.Caller(1)
	return check{name: name, file: file, line: line, f: f}
}

// T is what a [Check] reports to. It only collects: a failed check is one trial's verdict, not yet the test's.
// testify's assert and require accept it, as does anything that needs only these methods of testing.T.
//
// It may be used by several goroutines. What one reports when the check has returned would be lost, so that panics, as
// with testing.T.
type T struct {
	ctx  context.Context
	name string // of the check

	mu     sync.Mutex
	ended  bool // the check has, and its verdict is known
	failed bool
	lines  []string
}

// Context is canceled when the test's time is up.
func (t *T) Context() context.Context { return t.ctx }

// Helper does nothing; it is there for libraries that call it.
func (t *T) Helper() {}

// Logf adds a line to the check's text, which is shown when it fails.
func (t *T) Logf(format string, args ...any) {
	t.report(false, fmt.Sprintf(format, args...))
}

// report adds to what the check says.
func (t *T) report(fails bool, texts ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		panic(fmt.Sprintf("evaltest.Check: a goroutine reported after check %q had returned: %s", t.name,
			strings.Join(texts, " ")))
	}
	for _, text := range texts {
		t.lines = append(t.lines, strings.Trim(text, "\n"))
	}
	t.failed = t.failed || fails
}

// Log is Logf for one text.
func (t *T) Log(args ...any) { t.Logf("%s", fmt.Sprintln(args...)) }

// Fail marks the check as failed; it goes on.
func (t *T) Fail() { t.report(true) }

// Failed reports whether the check has failed.
func (t *T) Failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

// Error is Errorf for one text.
func (t *T) Error(args ...any) { t.Errorf("%s", fmt.Sprintln(args...)) }

// Fatal is Fatalf for one text.
func (t *T) Fatal(args ...any) { t.Fatalf("%s", fmt.Sprintln(args...)) }

// Errorf says what is wrong; the check goes on.
func (t *T) Errorf(format string, args ...any) {
	t.report(true, fmt.Sprintf(format, args...))
}

// Fatalf says what is wrong and ends the check.
func (t *T) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	t.FailNow()
}

// FailNow ends the check as failed. Like testing.T's, it must be called from the check's own goroutine.
func (t *T) FailNow() {
	t.Fail()
	runtime.Goexit()
}

type check struct {
	name string
	file string // where it stands
	line int
	f    func(*T, Unit)
}

// malformed returns why the check cannot be used.
func (c check) malformed() error {
	switch {
	case c.name == "":
		return errors.New("evaltest.Check: a check needs a name")
	case c.f == nil:
		return fmt.Errorf("evaltest.Check: check %q has no function", c.name)
	}
	return nil
}

// Evaluate implements [evaluator.Evaluator]. A check that panics decides nothing: that is an error.
func (c check) Evaluate(ctx context.Context, in evaluator.Input) evaluator.Verdict {
	t := &T{ctx: ctx, name: c.name}
	done := guard(func() { c.f(t, Unit{ID: in.Unit, Run: in.Run, Workspace: in.Workspace}) })
	select {
	case e := <-done:
		return t.verdict(e)
	case <-ctx.Done():
		return evaluator.Verdict{
			Outcome: result.Error,
			Reason:  "the check did not end in time: " + context.Cause(ctx).Error(),
		}
	}
}

// Needs implements [evaluator.Evaluator].
func (c check) Needs() evaluator.Needs { return evaluator.NeedsWorkspace | evaluator.NeedsDir }

// verdict returns the outcome of a check that ended like that. Nothing can be reported from now on.
func (t *T) verdict(e ending) evaluator.Verdict {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	if e.exited && !t.failed {
		e.panicked = "the check ended its goroutine (runtime.Goexit), and neither failed nor finished"
	}
	detail := strings.Join(t.lines, "\n")
	switch {
	case e.panicked != "":
		return evaluator.Verdict{
			Outcome: result.Error, Reason: "the check panicked or was interrupted", Detail: e.panicked,
		}
	case t.failed:
		score := 0.0
		return evaluator.Verdict{Outcome: result.Fail, Score: &score, Reason: "the check failed", Detail: detail}
	default:
		score := 1.0
		return evaluator.Verdict{Outcome: result.Pass, Score: &score, Detail: detail}
	}
}
