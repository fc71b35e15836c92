// Package worker carries out units of a queue, each in a child process that ends with its lease.
package worker

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/bundle"
	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/queue"
	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/unit"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

// Replays is the kind of the account of units that start no agent: every worker has it.
const Replays = "replay"

// Worker carries out units. All fields but ConfigDir are needed.
type Worker struct {
	Queue *queue.Queue
	// ID names the worker, and no other one.
	ID string
	// Parallel is how many units it carries out at a time.
	Parallel int
	// Dir is a directory of its own, and Lock a file that is locked as long as it is in use: processes that carry out
	// units may outlive the worker.
	Dir  string
	Lock *os.File
	// ConfigDir is where account presets are; empty: as sdd-eval says.
	ConfigDir string
	// Command is the command line that carries out a unit.
	Command []string
	// Tool is the program: runs of another one are refused.
	Tool string
	// Alone says that nobody else uses the queue: if it has no room, waiting makes none, and Run ends.
	Alone bool
	// Log receives lines for people.
	Log func(format string, args ...any)

	mu   sync.Mutex
	runs map[string]*prepared // that are there
	next int                  // the account that is asked next
	// mute says that the queue did not answer when the worker last said that it is there: it takes no units then.
	mute    bool
	said    string // the error of the last offer that a person was told
	running atomic.Int32
}

// prepared is a run with what a worker has of it.
type prepared struct {
	queue.Run
	// loading is held while the rest is loaded: the plan, where the bundle is unpacked, or why the worker cannot carry
	// it out.
	loading sync.Mutex
	units   []queue.Unit
	shared  unit.Shared
	root    string
	err     error
	refusal string // why the worker cannot carry it out
	over    bool
	ended   context.Context // ends with the run
	end     context.CancelFunc
	active  sync.WaitGroup
}

// Run carries out units until the context ends, and those that it has begun then are given back.
func (w *Worker) Run(ctx context.Context) error {
	w.runs = make(map[string]*prepared)
	looked, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	// full ends the worker if waiting makes no room, and reports whether err is why.
	full := func(err error) bool {
		if w.Alone && queue.Full(err) {
			stop(err)
		}
		return err != nil && context.Cause(ctx) == err
	}
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	if err := w.look(ctx); ctx.Err() != nil {
		return nil
	} else if err != nil {
		return err
	}
	group.Go(func() {
		for looked.Err() == nil {
			pause(looked, min(w.Queue.Lease()/3, time.Second))
			if err := w.look(looked); looked.Err() == nil && !full(err) {
				w.answered(err)
			}
		}
	})
	slots := make(chan struct{}, w.Parallel)
	var units sync.WaitGroup
	for ctx.Err() == nil {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		offer, err := w.offer(ctx)
		if err == nil {
			w.said = ""
		} else if ctx.Err() == nil && err.Error() != w.said {
			w.said = err.Error()
			w.Log("%v", queue.Explained(err))
		}
		if err != nil || offer == nil {
			<-slots
			pause(ctx, min(w.Queue.Lease()/10, 250*time.Millisecond))
			continue
		}
		units.Go(func() {
			defer func() { <-slots }()
			if err := w.carryOut(ctx, offer); err != nil && !full(err) {
				w.Log("%v", queue.Explained(err))
			}
		})
	}
	units.Wait()
	gone, forget := context.WithTimeout(looked, time.Second)
	defer forget()
	_ = w.Queue.Gone(gone, w.ID) // or it is forgotten by and by
	if err := context.Cause(ctx); queue.Full(err) {
		return err
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// answered notes whether the queue answers, and tells when it does no more.
func (w *Worker) answered(err error) {
	w.mu.Lock()
	told := w.mute
	w.mute = err != nil
	w.mu.Unlock()
	if err != nil && !told {
		w.Log("waiting for the queue: %v", queue.Explained(err))
	}
}

// look says that the worker is there, and looks which runs there are, and which have ended.
func (w *Worker) look(ctx context.Context) error {
	w.mu.Lock()
	gone := maps.Clone(w.runs) // a run that comes meanwhile is not listed
	w.mu.Unlock()
	runs, err := w.Queue.Runs(ctx)
	if err != nil {
		return err
	}
	lacks := make(map[string]string)
	for _, r := range runs {
		delete(gone, r.ID)
		p := w.prepared(r)
		for _, a := range r.Accounts {
			if err := Has(a, w.ConfigDir); err != nil && !p.over {
				lacks[a.Name()] = err.Error()
			}
		}
		end, err := w.Queue.Ended(ctx, r.ID)
		if err != nil {
			return err
		}
		if end != nil {
			w.forget(p)
		}
		w.mu.Lock()
		refusal := p.refusal
		w.mu.Unlock()
		if end == nil && refusal != "" { // the others may refuse it, too, by now
			if err := w.Queue.Refuse(ctx, r.ID, w.ID, refusal); err != nil && !errors.Is(err, queue.ErrNoRun) {
				return err
			}
		}
	}
	for id, p := range gone {
		w.mu.Lock()
		delete(w.runs, id)
		w.mu.Unlock()
		w.forget(p)
	}
	return w.Queue.Here(ctx, queue.Worker{
		ID: w.ID, Parallel: w.Parallel, Running: int(w.running.Load()), Lacks: lacks,
	})
}

// prepared returns what the worker has of a run.
func (w *Worker) prepared(r queue.Run) *prepared {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.runs[r.ID]
	if p == nil {
		p = &prepared{Run: r}
		p.ended, p.end = context.WithCancel(context.Background())
		w.runs[r.ID] = p
	}
	return p
}

// forget ends the units of a run that has ended, and removes what the worker has of it.
func (w *Worker) forget(p *prepared) {
	w.mu.Lock()
	was := p.over
	p.over = true
	w.mu.Unlock()
	p.end()
	if was {
		return
	}
	go func() {
		p.active.Wait()
		if err := disk.RemoveAll(filepath.Join(w.Dir, "runs", p.ID)); err != nil {
			w.Log("%v", err)
		}
	}()
}

// Has returns an error unless an account is among those of a directory of presets.
func Has(a queue.Account, configDir string) error {
	if a.Kind == Replays {
		return nil
	}
	_, err := agent.Resolve(a.Kind, a.Preset, configDir)
	return err
}

// offer returns a unit of an account that the worker has and that does not pause, nil if there is none now.
func (w *Worker) offer(ctx context.Context) (*queue.Offer, error) {
	w.mu.Lock()
	var accounts []queue.Account
	seen := make(map[string]bool)
	for _, p := range w.runs {
		for _, a := range p.Accounts {
			if !p.over && p.refusal == "" && !seen[a.Name()] {
				seen[a.Name()] = true
				accounts = append(accounts, a)
			}
		}
	}
	first := w.next
	w.next++
	mute := w.mute
	w.mu.Unlock()
	if mute {
		return nil, nil
	}
	for i := range accounts {
		a := accounts[(first+i)%len(accounts)]
		if Has(a, w.ConfigDir) != nil {
			continue
		}
		if said, err := w.Queue.Paused(ctx, a); err != nil || said != "" {
			if err != nil {
				return nil, err
			}
			continue
		}
		if o, err := w.Queue.Next(ctx, a); o != nil || err != nil {
			return o, err
		}
	}
	return nil, nil
}

// carryOut carries out a unit that was offered. An error is one of the queue: the unit is offered again.
func (w *Worker) carryOut(ctx context.Context, o *queue.Offer) error {
	began := time.Now()
	r, err := w.Queue.Run(ctx, o.Run)
	if errors.Is(err, queue.ErrNoRun) {
		return o.Drop(ctx)
	}
	if err != nil {
		return errors.Join(err, o.Back(time.Second))
	}
	p := w.prepared(r)
	w.mu.Lock()
	over, refused := p.over, p.refusal != ""
	if !over {
		p.active.Add(1)
	}
	w.mu.Unlock()
	if over {
		return o.Drop(ctx)
	}
	defer p.active.Done()
	if refused { // another worker can have it
		return o.Back(w.Queue.Lease())
	}
	if r.Tool != w.Tool {
		why := fmt.Sprintf("the run was made by %s, and this worker is %s", r.Tool, w.Tool)
		return w.refuse(ctx, p, why, o.Back(w.Queue.Lease()))
	}
	ready, err := w.prepare(ctx, p)
	if err != nil {
		return w.refuse(ctx, p, err.Error(), o.Back(w.Queue.Lease()))
	}
	if !ready { // the queue did not answer
		return o.Back(time.Second)
	}
	if o.N < 0 || o.N >= len(p.units) {
		return errors.Join(fmt.Errorf("the run %s has no unit %d", r.ID, o.N), o.Drop(ctx))
	}
	if time.Since(began) > w.Queue.Lease()/2 { // it may have been offered to another worker
		return o.Back(time.Millisecond)
	}
	return w.attempt(ctx, p, o)
}

// refuse tells that this worker cannot carry out a run. Back is what giving its unit back, to others, came to.
func (w *Worker) refuse(ctx context.Context, p *prepared, why string, back error) error {
	w.mu.Lock()
	p.refusal = why
	w.mu.Unlock()
	w.Log("the run %s: %s", p.ID, why)
	return errors.Join(back, w.Queue.Refuse(ctx, p.ID, w.ID, why))
}

// prepare fetches a run's plan and bundle, and carries out what its units share, once. An error is one of this worker.
func (w *Worker) prepare(ctx context.Context, p *prepared) (ready bool, err error) {
	p.loading.Lock()
	defer p.loading.Unlock()
	if p.units != nil || p.err != nil {
		return true, p.err
	}
	units, err := w.Queue.Units(ctx, p.Run)
	var data []byte
	if err == nil {
		data, err = w.Queue.Load(ctx, p.Bundle)
	}
	switch {
	case errors.Is(err, queue.ErrContent):
		p.err = err
		return true, err
	case err != nil: // there is no server now
		w.Log("%v", err)
		return false, nil
	}
	root := filepath.Join(w.Dir, "runs", p.ID, "project")
	if err = os.MkdirAll(root, 0o700); err == nil {
		err = bundle.Unpack(data, root)
	}
	p.root = root
	if err == nil {
		end, _ := w.child(ctx, p, "", nil, func() {})
		if ctx.Err() != nil || p.ended.Err() != nil {
			return false, disk.RemoveAll(root)
		}
		if p.shared = end.Shared; end.Kind != unit.Done {
			err = errors.New(end.Why)
		}
		if end.Kind == unit.Broken { // for all
			err = errors.Join(err, w.Queue.End(ctx, p.ID, queue.End{Kind: queue.Unfit, Why: end.Why}))
		}
	}
	if err != nil {
		p.err = errors.Join(err, disk.RemoveAll(root))
		return true, p.err
	}
	p.units = units
	return true, nil
}

// attempt takes a unit, carries it out and tells what came of it.
func (w *Worker) attempt(ctx context.Context, p *prepared, o *queue.Offer) error {
	u := p.units[o.N]
	account := p.Accounts[u.Account]
	lease, err := o.Take(ctx, p.Run, u, w.ID)
	if lease == nil {
		return err
	}
	w.running.Add(1)
	defer w.running.Add(-1)
	over, silent := context.WithCancelCause(lease.Context())
	silence := cmp.Or(p.Silence, DefaultSilence)
	heard := time.AfterFunc(silence, func() { silent(errSilent) })
	defer heard.Stop()
	end, archive := w.child(ctx, p, u.ID, over.Done(), func() { heard.Reset(silence) })
	if len(end.Skipped) > 0 {
		w.Log("%s: not kept, since they are no regular files: %s", u.ID, excerpt.Line(fmt.Sprint(end.Skipped), 300))
	}
	if errors.Is(context.Cause(lease.Context()), queue.ErrLost) {
		lease.Abandon()
		return fmt.Errorf("%s: the lease was lost: its agent was ended, and another worker begins anew", u.ID)
	}
	if errors.Is(context.Cause(over), errSilent) && end.Kind != unit.Done {
		end.Kind, end.Why = unit.Failed, fmt.Sprintf("it showed no progress for %v: its agent was ended", silence)
	}
	failure := queue.Failure{Why: end.Why}
	switch {
	case end.Kind == unit.Done:
		err := lease.Commit(queue.Done{
			Outcome: end.Outcome, Sandbox: end.Sandbox, Why: end.Why, CostUSD: end.CostUSD, Telling: end.Telling,
		}, archive)
		if err == nil && end.Outcome != "error" {
			err = w.Queue.Unpaused(ctx, account)
		}
		return err
	case end.Kind != unit.TooLarge && (ctx.Err() != nil || p.ended.Err() != nil):
		failure.Kind, failure.Why = queue.GaveUp, "the worker ends"
		return lease.Release(failure, end.CostUSD, 0)
	case end.Kind == unit.Limited:
		w.Log("rate limit of %s: %s", account.Name(), excerpt.Line(end.Why, 300))
		failure.Kind = queue.Limited
		return errors.Join(
			w.Queue.Pause(ctx, account, end.Wait, cmp.Or(end.Why, "rate limit")),
			lease.Release(failure, end.CostUSD, time.Second))
	case end.Kind == unit.Broken:
		failure.Kind = queue.GaveUp
		return errors.Join(w.Queue.End(ctx, p.ID, queue.End{Kind: queue.Unfit, Why: end.Why}),
			lease.Release(failure, zero(), 0))
	case end.Kind == unit.Unfit:
		failure.Kind = queue.GaveUp
		return w.refuse(ctx, p, end.Why, lease.Release(failure, zero(), w.Queue.Lease()/2))
	}
	if failure.Kind = queue.Failed; end.Kind == unit.TooLarge {
		failure.Kind = queue.TooLarge
	}
	w.Log("%s: attempt %d: %s", u.ID, lease.Attempt(), excerpt.Line(end.Why, 500))
	return lease.Release(failure, end.CostUSD, min(time.Duration(lease.Attempt())*time.Second, 30*time.Second))
}

var errSilent = errors.New("the unit shows no progress")

func zero() *float64 { return new(float64) }

// DefaultSilence is how long a unit may show no progress if its run does not say.
const DefaultSilence = 30 * time.Minute

// maxKept is how much of what a child writes to standard error is kept, in bytes.
const maxKept = 4 << 10

// child carries out a unit, or if its id is empty what all units share, in a child process, which ends with the unit's
// lease, with the worker, and with the run.
func (w *Worker) child(
	ctx context.Context, p *prepared, id string, over <-chan struct{}, progress func(),
) (end unit.End, archive []byte) {
	failed := func(err error) (unit.End, []byte) {
		return unit.End{Kind: unit.Failed, Why: err.Error(), CostUSD: zero()}, nil
	}
	dir, err := disk.MkdirTemp(w.Dir)
	if err != nil {
		return failed(err)
	}
	defer func() {
		if err := disk.RemoveAll(dir); err != nil {
			w.Log("%v", err)
		}
	}()
	below := filepath.Join(dir, "run")
	if err := os.Mkdir(below, 0o700); err != nil {
		return failed(err)
	}
	spec := unit.Spec{
		Source: unit.Source{
			Root: p.root, Playbook: p.Playbook, Mode: p.Mode, Sandbox: p.Sandbox, LLMJudge: p.LLMJudge,
			Units: p.Only.Units, Cases: p.Only.Cases, Variants: p.Only.Variants,
		},
		Unit: id, Shared: p.shared, Below: below, Archive: filepath.Join(dir, "archive"), Temp: w.Dir,
		ConfigDir: w.ConfigDir, Patience: w.Queue.Lease() / 2,
	}
	cmd := exec.Command(w.Command[0], w.Command[1:]...)
	stderr := &tail{}
	cmd.Stderr, cmd.WaitDelay = stderr, time.Second
	unit.Hand(cmd, w.Lock)
	in, err := cmd.StdinPipe()
	if err != nil {
		return failed(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return failed(err)
	}
	ended := make(chan struct{})
	var talk sync.WaitGroup
	talk.Go(func() { w.talk(ctx, p, over, in, spec, cmd, ended) })
	said := listen(out, progress)
	err = cmd.Wait()
	close(ended)
	talk.Wait()
	if said == nil {
		why := "the process that carries out the unit ended without a word"
		if err != nil {
			why += ": " + err.Error()
		}
		if text := stderr.String(); text != "" {
			why += ": " + text
		}
		return unit.End{Kind: unit.Failed, Why: why}, nil // nobody knows what it cost
	}
	if said.Kind == unit.Done && id != "" {
		if archive, err = disk.ReadRegular(spec.Archive, queue.MaxFile); err != nil {
			return unit.End{Kind: unit.Failed, Why: err.Error(), CostUSD: said.CostUSD}, nil
		}
	}
	return *said, archive
}

// talk tells a child what to do, and that the worker is there, until that is to end. What does not end then is killed:
// its agent ends with it.
func (w *Worker) talk(
	ctx context.Context, p *prepared, over <-chan struct{}, in io.WriteCloser, spec unit.Spec, cmd *exec.Cmd,
	ended <-chan struct{},
) {
	data, err := json.Marshal(spec)
	if err == nil {
		_, err = in.Write(append(data, '\n'))
	}
	beat := time.NewTicker(w.Queue.Lease() / 10)
	defer beat.Stop()
	for goes := err == nil; goes; {
		select {
		case <-ended:
			return
		case <-ctx.Done():
			goes = false
		case <-p.ended.Done():
			goes = false
		case <-over:
			goes = false
		case <-beat.C:
			_, err := in.Write([]byte{'.'})
			goes = err == nil
		}
	}
	in.Close()
	select {
	case <-ended:
	case <-time.After(grace):
		_ = cmd.Process.Kill()
	}
}

// grace is how long a child may take to end its agent.
const grace = 10 * time.Second

// listen returns how a child says that it has ended, nil if it does not.
func listen(out io.Reader, progress func()) (end *unit.End) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var m unit.Message
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			continue
		}
		progress()
		if m.End != nil {
			end = m.End
		}
	}
	_, _ = io.Copy(io.Discard, out)
	return end
}

// tail keeps the end of what is written to it.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	t.kept = t.kept[max(0, len(t.kept)-maxKept):]
	return len(p), nil
}

func (t *tail) String() string { return excerpt.Line(string(bytes.TrimSpace(t.kept)), maxKept) }
