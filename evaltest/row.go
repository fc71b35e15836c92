package evaltest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/internal/door"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/judgment"
	"github.com/sdd-eval/sdd-eval/internal/panics"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/shard"
)

// suiteRun is one run of a [Suite], whatever its types.
type suiteRun struct {
	*harness
	id        string
	at        doc.Position // where the test calls it
	rows      []suiteRow
	scorers   []scorer
	threshold float64
	timeout   time.Duration
}

func (s *suiteRun) run(t *testing.T) {
	t.Helper()
	ctx, grace, cancel := testContext(t)
	defer cancel()
	var ended skips
	for _, r := range s.ownRows(t) {
		ended.run(t, r.id, func(t *testing.T) {
			t.Helper()
			row := &rowRun{suiteRun: s, id: r.id, t: t, secrets: new(secret.Set), patience: s.patience(grace)}
			row.run(ctx, r)
		})
	}
	ended.judge(t)
}

// ownRows returns the rows that are run here: those of one shard, if there are several.
func (s *suiteRun) ownRows(t *testing.T) []suiteRow {
	t.Helper()
	if s.divided != "" {
		door.Of(t).Log(s.divided)
	}
	if s.shard.Of == 0 {
		return s.rows
	}
	tasks := make([]shard.Task, len(s.rows))
	for i, r := range s.rows {
		tasks[i] = shard.Task{ID: s.stem(s.id) + "/" + r.id, Units: 1}
	}
	d := shard.Divide(tasks, s.shard.Of)
	own := d.Tasks(s.shard.Index)
	rows := slices.DeleteFunc(slices.Clone(s.rows), func(r suiteRow) bool {
		return !slices.Contains(own, s.stem(s.id)+"/"+r.id)
	})
	door.Of(t).Logf("%s (%s): %d of %d rows, divided %s", s.shard, s.shard.From, len(rows), len(s.rows), d.By())
	return rows
}

// patience is how long a task that is cancelled may take to end what it started.
func (s *suiteRun) patience(grace time.Duration) time.Duration {
	if s.timeout == 0 {
		return grace
	}
	return min(grace, max(s.timeout, time.Second))
}

// rowRun is one run of a row.
type rowRun struct {
	*suiteRun
	id       string
	t        *testing.T
	secrets  *secret.Set // those of presets, too, once an agent has run
	patience time.Duration

	mu        sync.Mutex     // of what follows: a task or a scorer that is left behind may still be at work
	agents    []*AgentResult // of the row's task
	agentErrs []error        // of agents of which nothing is known, whatever the task makes of them
	running   int            // agents of the task
	ended     bool           // the task has
	judgments *judgment.File // what models say of the row; nil: none was asked
	claimed   bool           // the name of their recording

	mutation *mutation // what is worse about it; nil: it is run as it is
}

func (r *rowRun) name() string { return path.Join(r.suiteRun.id, r.id) }

// rowKey is under what a task's context has its [rowRun].
type rowKey struct{}

func (r *rowRun) run(ctx context.Context, row suiteRow) {
	t := r.t
	t.Helper()
	door.Of(t).Attr("unit", r.name())
	door.Of(t).Attr("mode", string(r.mode()))
	if row.name != "" {
		door.Of(t).Logf("%s: %s", r.name(), row.name)
	}
	ctx = context.WithValue(ctx, metadataKey{}, row.metadata)
	output, err := r.task(ctx, row)
	if err != nil {
		door.Of(t).Attr("outcome", string(result.Error))
		door.Of(t).Fatalf("%s: ERROR\n%v%s", r.name(), err, r.whence())
	}
	agents := r.ran()
	if len(agents) == 0 && len(r.ownOverrides()) > 0 {
		door.Of(t).Errorf("%s: ERROR\nOverrides: the task ran no agent", r.name())
	}
	for _, a := range agents {
		door.Of(t).Attr("endpoint", a.Endpoint)
		if a.Session != "" {
			door.Of(t).Attr("session", a.Session)
		}
		door.Of(t).Log(a.summary(r.name()))
	}
	var ended skips
	broken := false
	for _, s := range r.scorers {
		if s.optional {
			broken = r.reported(t, s, r.score(ctx, s, scored{r, row.input, output, row.expected})) || broken
			continue
		}
		ended.run(t, s.name, func(t *testing.T) {
			t.Helper()
			f := r.score(ctx, s, scored{r, row.input, output, row.expected})
			broken = broken || f.outcome == result.Error
			r.report(t, s, f)
		})
	}
	if r.judgments != nil {
		for _, w := range r.judgments.Others() {
			door.Of(t).Logf("%s: warning: %s", r.name(), w)
			door.Of(t).Attr("warning", "see the log")
		}
	}
	if !broken && r.judgments != nil {
		if err := r.judgments.Save(); err != nil {
			door.Of(t).Errorf("%s: ERROR\n%v", r.name(), err)
		}
	}
	for _, a := range agents {
		if err := a.failure(); err != nil {
			door.Of(t).Errorf("%s: FAIL\n%v%s", r.name(), err, r.whence())
		}
	}
	if !t.Failed() {
		ended.judge(t)
	}
}

// ran returns the results of the agents that the row's task has run.
func (r *rowRun) ran() []*AgentResult {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.agents)
}

// task runs the row's task.
func (r *rowRun) task(ctx context.Context, row suiteRow) (any, error) {
	var output any // no results of this function: a task that is left behind writes them later
	var err error
	broken := within(context.WithValue(ctx, rowKey{}, r), r.timeout, r.patience, "task", func(ctx context.Context) {
		output, err = row.task(ctx)
	})
	if broken != nil {
		return nil, broken
	}
	if err != nil {
		return nil, fmt.Errorf("the task: %w", err)
	}
	return output, r.endTask()
}

// endTask returns what is wrong with the agents of a task that has returned, whatever it has made of it.
func (r *rowRun) endTask() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	if r.running > 0 {
		return errors.New("the task returned while an agent of it was running: the task has to wait for it")
	}
	if err := errors.Join(r.agentErrs...); err != nil {
		return fmt.Errorf("an agent of the task: %w", err)
	}
	return nil
}

// beginAgent registers an agent of the row's task; end is called with its result, or with the error that nothing is
// known about it.
func (r *rowRun) beginAgent() (end func(*AgentResult, error), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil, errors.New("the row's task has ended: only the task can run agents")
	}
	r.running++
	return func(res *AgentResult, err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.running--
		if err != nil {
			r.agentErrs = append(r.agentErrs, err)
			return
		}
		r.agents = append(r.agents, res)
	}, nil
}

// score asks a scorer and holds its score to its threshold.
func (r *rowRun) score(ctx context.Context, s scorer, c scored) finding {
	var f finding
	broken := within(ctx, r.timeout, r.patience, "scorer", func(ctx context.Context) { f = s.judge(ctx, c) })
	if broken != nil {
		return unknown(broken)
	}
	return f.hold(s.least(r.threshold))
}

// report tells what a scorer found, in its own subtest.
func (r *rowRun) report(t *testing.T, s scorer, f finding) {
	t.Helper()
	door.Of(t).Attr("outcome", string(f.outcome))
	var text strings.Builder
	fmt.Fprintf(&text, "%s/%s: %s", r.name(), s.name, strings.ToUpper(string(f.outcome)))
	if f.outcome == result.Pass || f.outcome == result.Fail {
		door.Of(t).Attr("score", result.FormatScore(f.Value))
		score, least := result.FormatScores(f.Value, s.least(r.threshold))
		fmt.Fprintf(&text, " %s, need %s", score, least)
	}
	for _, part := range []string{f.Details, f.Reason} {
		if part = strings.TrimRight(part, "\n"); part != "" {
			text.WriteString("\n" + part)
		}
	}
	switch f.outcome {
	case result.Pass:
		door.Of(t).Log(text.String())
	case result.Skip:
		door.Of(t).Skip(f.Reason)
	default:
		door.Of(t).Errorf("%s%s", text.String(), r.whenceOf(t))
	}
}

// reported tells the score of a scorer that decides nothing, without a subtest: that would count as a test that passed,
// whatever the score. It reports whether there is none.
func (r *rowRun) reported(t *testing.T, s scorer, f finding) (broken bool) {
	t.Helper()
	name := r.name() + "/" + s.name
	switch f.outcome {
	case result.Error:
		door.Of(t).Errorf("%s: ERROR\n%s%s", name, f.Reason, r.whence())
	case result.Skip:
		door.Of(t).Logf("%s: SKIP %s", name, f.Reason)
	default:
		score := result.FormatScore(f.Value)
		door.Of(t).Attr("reported", s.name+" "+score)
		text := fmt.Sprintf("%s: REPORTED %s\n%s\n%s", name, score, f.Details, f.Reason)
		door.Of(t).Log(strings.TrimRight(text, "\n"))
	}
	return f.outcome == result.Error
}

// metadataKey is under what the context of a row's task and scorers has its Metadata.
type metadataKey struct{}

// Metadata returns the [Row]'s, by the context of its task or of a scorer; nil if it has none.
func Metadata(ctx context.Context) map[string]any {
	m, _ := ctx.Value(metadataKey{}).(map[string]any)
	return m
}

// whence says what was judged, where the suite stands, and how to see it again.
func (r *rowRun) whence() string { return r.whenceOf(r.t) }

func (r *rowRun) whenceOf(t *testing.T) string {
	var b strings.Builder
	agents := r.ran()
	recorded := len(agents) == 0
	for _, a := range agents {
		if a.Session != "" {
			b.WriteString("\nsession: " + a.sessionText())
			recorded = true
		}
	}
	b.WriteString("\n" + r.again(t, recorded))
	return b.String()
}

// errNoRow is the error of what only a suite's task can do.
var errNoRow = errors.New("it must get the context of the suite's task")

// rowOfTask returns the row whose task has this context.
func rowOfTask(ctx context.Context) (*rowRun, error) {
	r, ok := ctx.Value(rowKey{}).(*rowRun)
	if !ok {
		return nil, errNoRow
	}
	return r, nil
}

// ending is how a function of the user's ended.
type ending struct {
	panicked string // what it panicked with, and where; empty: it did not
	exited   bool   // it ended its goroutine, as FailNow of a T that belongs to another does
}

// guard runs f on a goroutine of its own, where neither a panic nor [runtime.Goexit] takes the test along.
func guard(f func()) <-chan ending {
	done := make(chan ending, 1)
	go func() {
		e := ending{exited: true}
		defer func() { done <- e }()
		err := panics.Catch(func() error { f(); return nil })
		e.exited = false
		if err != nil {
			e.panicked = err.Error()
		}
	}()
	return done
}

// err returns why what f was to find out is not known, nil if it returned.
func (e ending) err(what string) error {
	switch {
	case e.panicked != "":
		return fmt.Errorf("the %s panicked\n%s", what, e.panicked)
	case e.exited:
		return fmt.Errorf(
			"the %s ended its goroutine (runtime.Goexit): only the test may call FailNow or SkipNow of its T", what)
	}
	return nil
}

// within runs f, which has to respect its context, and returns why it did not finish. A limit of 0 means no limit. When
// the context has ended, f has the patience left to return; then it is left behind.
func within(ctx context.Context, limit, patience time.Duration, what string, f func(context.Context)) error {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("its timeout of %v", limit))
		defer cancel()
	}
	done := guard(func() { f(ctx) })
	select {
	case e := <-done:
		if ctx.Err() == nil { // both may have been ready
			return e.err(what)
		}
		return fmt.Errorf("the %s did not end in time: %w", what, context.Cause(ctx))
	case <-ctx.Done():
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-done:
		return fmt.Errorf("the %s did not end in time: %w", what, context.Cause(ctx))
	case <-late.C:
		return fmt.Errorf(
			"the %s did not end in time: %w\nit ignores that its context is cancelled, and was still at work %v later",
			what, context.Cause(ctx), patience)
	}
}
