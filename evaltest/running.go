package evaltest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest/internal/door"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/project"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/runpattern"
	"github.com/sdd-eval/sdd-eval/internal/session"
)

// lookahead is how many units may have begun before the test asks for them. What they did is kept in memory until then.
const lookahead = 32

// running is a run of a plan, which the engine carries out while the test reports it: the engine goes ahead with
// several units, and the test takes their results in listed order. It implements [engine.Sink].
type running struct {
	runner *engine.Runner
	ctx    context.Context
	cancel context.CancelFunc
	begun  chan struct{} // closed when nothing keeps the run from beginning
	ended  chan struct{} // closed when it has ended, with done and err
	done   engine.Finished
	err    error
	rule   result.Rule    // when the trials of a case and a variant pass
	index  map[string]int // of units in the plan, by id

	mu    sync.Mutex
	moved *sync.Cond
	next  int // the unit that the test asks for, or will next
	last  int // the index after the last unit that is to be run
	left  int // jobs that the test has not asked for
	units map[string]*pendingUnit
	jobs  map[string]result.Job // that have ended, and nobody has taken
	notes []string              // that are not logged yet

	recorded map[string]bool // cases of which a unit has passed and was not replayed
}

// pendingUnit is a unit that has begun, until the test takes its result.
type pendingUnit struct {
	log    unitLog
	result *result.Unit // nil: it has not ended
	did    string       // how much its agent did
}

// start carries a plan out beside the test. What keeps it from beginning is an error.
func (h *harness) start(t *testing.T, ctx context.Context, plan *plan.Plan, cfg engine.Config) (*running, error) {
	t.Helper()
	runner, err := engine.New(plan, cfg)
	if err == nil && runner.Impure(ctx) {
		err = project.KeepOutOfCache(h.module)
	}
	if err == nil && h.held != nil {
		err = h.held.begin(ctx, runner)
	}
	if err != nil {
		return nil, withAdvice(err)
	}
	r := &running{
		runner: runner,
		begun:  make(chan struct{}), ended: make(chan struct{}), index: make(map[string]int, len(plan.Units)),
		units: make(map[string]*pendingUnit), jobs: make(map[string]result.Job), recorded: make(map[string]bool),
	}
	r.rule = result.Rule{Need: plan.Playbook.Trials.Need(), Score: plan.Playbook.Trials.Score}
	r.moved = sync.NewCond(&r.mu)
	for i, u := range plan.Units {
		r.index[u.ID()] = i
		if runner.InShard(u) && (cfg.Selected == nil || cfg.Selected(u)) {
			r.last = i + 1
		}
	}
	r.left = len(runner.Before())
	for _, j := range runner.After() {
		if cfg.SelectedJob == nil || cfg.SelectedJob(j) {
			r.left++
		}
	}
	r.ctx, r.cancel = context.WithCancel(ctx)
	context.AfterFunc(r.ctx, r.move)
	go func() {
		defer r.move()
		defer close(r.ended)
		r.done, r.err = runner.Run(r.ctx, r)
	}()
	select {
	case <-r.begun:
		return r, nil
	case <-r.ended:
	}
	select {
	case <-r.begun: // it has been quick
		return r, nil
	default:
		r.cancel()
		return nil, withAdvice(r.err)
	}
}

// withAdvice adds to an error what a person can do about it.
func withAdvice(err error) error {
	if next := fault.Advice(err); next != "" {
		return fmt.Errorf("%w\nnext: %s", err, next)
	}
	return err
}

// move wakes those who wait for a unit, or for the test to ask for one.
func (r *running) move() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moved.Broadcast()
}

// over reports whether the run has ended.
func (r *running) over() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// Begin implements [engine.Sink].
func (r *running) Begin(_ int, _ []result.Unit, notes []string) {
	r.notes = notes
	close(r.begun)
}

// UnitStarts implements [engine.Sink]. It waits until the unit is not too far ahead of the test.
func (r *running) UnitStarts(u plan.Unit) io.Writer {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.index[u.ID()] >= r.next+lookahead && r.ctx.Err() == nil {
		r.moved.Wait()
	}
	return &r.pending(u.ID()).log
}

// pending returns what is known about a unit. The lock is held.
func (r *running) pending(id string) *pendingUnit {
	p := r.units[id]
	if p == nil {
		p = new(pendingUnit)
		r.units[id] = p
	}
	return p
}

// UnitEnds implements [engine.Sink]. What the agent did has been judged: only how much it was is kept.
func (r *running) UnitEnds(_ plan.Unit, u result.Unit) {
	did := amount(u.Run)
	u.Run = nil
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pending(u.ID)
	p.result, p.did = &u, did
	if u.Outcome == result.Pass && !u.Replayed {
		r.recorded[u.Case] = true
	}
	r.moved.Broadcast()
}

// JobEnds implements [engine.Sink].
func (r *running) JobEnds(j result.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.jobs[j.ID] = j
	r.moved.Broadcast()
}

// Activity implements [engine.Sink].
func (r *running) Activity(session.Activity) {}

// Note implements [engine.Sink].
func (r *running) Note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, text)
}

// unit returns how a unit ended, once it has, and how much its agent did. Tests ask for units in listed order: those
// before it that they left out are not asked for any more.
func (r *running) unit(t *testing.T, u plan.Unit) (_ result.Unit, did string) {
	id := u.ID()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next = r.index[id]
	r.moved.Broadcast()
	p := r.pending(id)
	p.log.show(door.Of(t).Output())
	for p.result == nil && !r.over() {
		r.moved.Wait()
	}
	r.next++
	delete(r.units, id)
	if p.result == nil {
		return result.Unit{
			ID: id, Case: u.Case.ID, Variant: u.Variant.ID, Trial: u.Trial, Reference: u.Variant.Reference,
			Outcome: result.Error, Reason: "the unit was not run: " + r.why().Error(), Next: fault.Advice(r.why()),
		}, amount(nil)
	}
	return *p.result, p.did
}

// job returns how a job outside the matrix ended, once it has.
func (r *running) job(id string) result.Job {
	r.mu.Lock()
	defer r.mu.Unlock()
	j, known := r.jobs[id]
	for !known && !r.over() {
		r.moved.Wait()
		j, known = r.jobs[id]
	}
	delete(r.jobs, id)
	r.left--
	if !known {
		return result.Job{ID: id, Outcome: result.Error, Reason: "the job was not run: " + r.why().Error()}
	}
	return j
}

// passed returns the cases that the run has recorded so far and that passed.
func (r *running) passed() map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.recorded)
}

// why returns what ended the run before it was through.
func (r *running) why() error {
	if r.err != nil {
		return r.err
	}
	if cause := context.Cause(r.ctx); cause != nil {
		return cause
	}
	return errors.New("-run and -skip excluded it by mistake (please report this)")
}

// loggedNotes are those of this process. What is wrong with its traces is said once.
var loggedNotes sync.Map

// logNotes logs the notes of the run so far.
func (r *running) logNotes(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, note := range r.notes {
		_, logged := loggedNotes.LoadOrStore(note, true)
		if !logged || !strings.HasPrefix(note, engine.TracingWarning) {
			door.Of(t).Log(note)
		}
	}
	r.notes = nil
}

// close waits for the end of the run, or brings it about if the test has not asked for everything, and says where it is
// kept.
func (r *running) close(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	if r.next < r.last || r.left > 0 {
		r.cancel()
	}
	r.mu.Unlock()
	<-r.ended
	r.cancel()
	r.logNotes(t)
	if r.err != nil {
		door.Of(t).Error(withAdvice(r.err))
	}
	if r.done.Dir != "" {
		door.Of(t).Logf("run directory: %s", r.done.Dir)
	}
}

// unitLog takes the notes about a unit, and holds them until its subtest shows them.
type unitLog struct {
	mu       sync.Mutex
	to       io.Writer
	buffered bytes.Buffer
}

func (l *unitLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.to == nil {
		return l.buffered.Write(p)
	}
	return l.to.Write(p)
}

// show passes on what is buffered, and from now on everything.
func (l *unitLog) show(to io.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to = to
	_, _ = l.buffered.WriteTo(to) // the test's output takes everything
}

// selection tells which subtests go test's -run and -skip leave, before package testing is asked: units begin before
// their subtests do. See `go help testflag`.
type selection struct{ run, skip []runpattern.Pattern }

// newSelection reads the flags of the test process, which package testing has checked.
func newSelection() selection {
	return selection{run: patternsOf("test.run"), skip: patternsOf("test.skip")}
}

func patternsOf(name string) []runpattern.Pattern {
	f := flag.Lookup(name)
	if f == nil || f.Value.String() == "" {
		return nil
	}
	patterns, err := runpattern.Parse(f.Value.String())
	if err != nil {
		panic("evaltest: -" + name + ": package testing has accepted what it cannot match: " + err.Error())
	}
	return patterns
}

// has reports whether the test of that name, or one below it, is run.
func (s selection) has(name string) bool {
	levels := strings.Split(name, "/")
	for _, p := range s.skip {
		if ok, whole := p.Matches(levels); ok {
			if whole {
				return false
			}
			break // package testing looks no further
		}
	}
	for _, p := range s.run {
		if ok, _ := p.Matches(levels); ok {
			return true
		}
	}
	return len(s.run) == 0
}
