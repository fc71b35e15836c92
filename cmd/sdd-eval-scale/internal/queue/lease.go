package queue

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Record is what is known of a unit.
type Record struct {
	// Attempt counts the leases of the unit, from 1. Holder is the worker that has it; empty: none has.
	Attempt int    `json:"attempt"`
	Holder  string `json:"holder,omitempty"`
	// Failures are the attempts that gave no result, the latest [maxFailures] of them.
	Failures []Failure `json:"failures,omitempty"`
	// Done is the unit's result; nil: it has none.
	Done *Done `json:"done,omitempty"`

	// Nonce is the lease's own, so that it knows its writes again.
	Nonce string `json:"nonce,omitempty"`
	// Lost and Failed count failures by kind.
	Lost   int `json:"lost,omitempty"`
	Failed int `json:"failed,omitempty"`
}

// Done is the result of a unit.
type Done struct {
	// Outcome is that of its result; empty: no attempt gave one, and Why says why.
	Outcome string `json:"outcome,omitempty"`
	Why     string `json:"why,omitempty"`
	// Sandbox is what confined it.
	Sandbox string `json:"sandbox,omitempty"`
	// Archive is the unit's run directory; nil: there is none.
	Archive *File `json:"archive,omitempty"`
	// CostUSD is what its last lease cost; nil: nobody knows.
	CostUSD *float64 `json:"cost_usd,omitempty"`
	// Telling says that another unit may cost as much.
	Telling bool   `json:"telling,omitempty"`
	Attempt int    `json:"attempt"`
	Worker  string `json:"worker"`
}

// Failure is an attempt without a result.
type Failure struct {
	Attempt int    `json:"attempt"`
	Worker  string `json:"worker"`
	Kind    string `json:"kind"`
	Why     string `json:"why"`
}

// The kinds of failures. Only the first two count, and the third is the unit's last.
const (
	Lost     = "lost"      // the worker said nothing for as long as the lease
	Failed   = "failed"    // the worker could not carry it out
	TooLarge = "too-large" // its result is too large to travel
	Limited  = "limited"   // the model of the account took no more requests
	GaveUp   = "gave-up"   // the worker ends, or cannot carry out the run: another one can
)

const (
	maxFailures = 20
	maxReason   = 2000 // bytes
	// maxLost is how often a unit may be lost with its worker before it is suspected to be the cause.
	maxLost = 20
)

// Offer is a unit that the queue offers to a worker.
type Offer struct {
	// Run is the run's id, and N the unit's place in its plan.
	Run string
	N   int

	q   *Queue
	msg jetstream.Msg
}

// Next returns the next unit of an account, nil if there is none now.
func (q *Queue) Next(ctx context.Context, a Account) (*Offer, error) {
	c, err := q.stream.Consumer(ctx, "account-"+a.token())
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	batch, err := c.FetchNoWait(1)
	if err != nil {
		return nil, err
	}
	msg, ok := <-batch.Messages()
	if !ok {
		return nil, batch.Error()
	}
	parts := strings.Split(msg.Subject(), ".")
	n, err := strconv.Atoi(parts[len(parts)-1])
	if len(parts) != 4 || err != nil {
		return nil, errors.Join(fmt.Errorf("the queue has a message %q, which is no unit", msg.Subject()), msg.Term())
	}
	return &Offer{Run: parts[1], N: n, q: q, msg: msg}, nil
}

// Back gives an offer back, to be offered again after a delay.
func (o *Offer) Back(delay time.Duration) error { return o.msg.NakWithDelay(delay) }

// Drop takes an offer out of the queue.
func (o *Offer) Drop(ctx context.Context) error { return o.msg.DoubleAck(ctx) }

// key is the key of the unit's record.
func (o *Offer) key() string { return o.Run + "." + strconv.Itoa(o.N) }

// ErrLost means that another worker may have the unit now: what this one does is for nothing.
var ErrLost = errors.New("the lease is lost")

// Lease is the right to carry out a unit. It is renewed until its context ends.
type Lease struct {
	*Offer
	unit Unit
	run  Run
	// What the record says of this lease.
	attempt       int
	holder, nonce string
	granted       time.Time // on our clock

	ctx   context.Context
	end   context.CancelCauseFunc
	ended chan struct{} // closed when it is renewed no more

	mu       sync.Mutex
	record   Record
	revision uint64
	over     bool
}

// Take takes the lease of a unit that was offered, and reserves what it may cost. It returns nil if there is nothing to
// carry out: the unit is done, its run has ended, or it has to wait.
func (o *Offer) Take(ctx context.Context, run Run, unit Unit, worker string) (*Lease, error) {
	l, err := o.take(ctx, run, unit, worker)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("take unit %s: %w", unit.ID, err), o.Back(o.q.lease/4))
	}
	return l, nil
}

func (o *Offer) take(ctx context.Context, run Run, unit Unit, worker string) (*Lease, error) {
	l, err := o.claim(ctx, run, unit, worker)
	if l == nil {
		return nil, err
	}
	return l.begin(ctx)
}

// claim writes the unit's record: from then on, no other worker has it.
func (o *Offer) claim(ctx context.Context, run Run, unit Unit, worker string) (*Lease, error) {
	var former Record
	revision, err := get(ctx, o.q.units, o.key(), &former)
	if err != nil {
		return nil, err
	}
	if former.Done != nil { // its worker ended before it could say so
		d := former.Done
		err := o.q.settle(ctx, run, unit, o.reservation(d.Attempt), d.CostUSD, d.Telling)
		if err == nil {
			err = o.q.settleLeft(ctx, run, unit, o)
		}
		if err != nil {
			return nil, err
		}
		return nil, o.Drop(ctx)
	}
	end, err := o.q.Ended(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	if end != nil {
		return nil, o.Drop(ctx)
	}
	record := former
	record.Attempt, record.Holder, record.Nonce = former.Attempt+1, worker, rand.Text()
	if former.Holder != "" {
		record.Lost++
		record.fail(Failure{former.Attempt, former.Holder, Lost, "its worker said nothing for as long as the lease"})
	}
	l := &Lease{
		Offer: o, unit: unit, run: run, attempt: record.Attempt, holder: worker, nonce: record.Nonce,
		ended: make(chan struct{}), record: record,
	}
	l.granted = time.Now()
	if l.revision, err = put(ctx, o.q.units, o.key(), record, revision); errors.Is(err, errMoved) {
		return nil, o.Back(o.q.lease / 4) // another worker was quicker
	} else if err != nil {
		return nil, err
	}
	return l, nil
}

// begin reserves what the unit may cost, and renews the lease from then on. A worker that was kept from that until its
// lease is over reserves nothing any more: nobody would settle it.
func (l *Lease) begin(ctx context.Context) (*Lease, error) {
	soon, cancel := context.WithDeadline(ctx, l.granted.Add(l.q.safe()))
	defer cancel()
	if l.record.Lost >= maxLost {
		if err := l.q.settleLeft(soon, l.run, l.unit, l.Offer); err != nil {
			return nil, l.put(soon, err)
		}
		return nil, l.giveUp(soon, fmt.Sprintf("it was lost with its worker %d times", l.record.Lost))
	}
	room, err := l.q.reserve(soon, l.run, l.unit, l.Offer, l.attempt)
	if err == nil && room != enough {
		l.record.Attempt-- // it was none
	}
	if err != nil || room != enough {
		return nil, l.put(soon, err)
	}
	l.ctx, l.end = context.WithCancelCause(context.WithoutCancel(ctx))
	go l.renew(l.granted)
	return l, nil
}

// put gives a unit back that was not begun, or returns err: then [Offer.Take] does.
func (l *Lease) put(ctx context.Context, err error) error {
	l.record.Holder = ""
	written := l.write(ctx)
	if err = cmp.Or(err, written); err != nil {
		return err
	}
	return l.Back(time.Second)
}

// reservation is the name under which an attempt has money reserved.
func (o *Offer) reservation(attempt any) string { return fmt.Sprintf("%d#%v", o.N, attempt) }

func (r *Record) fail(f Failure) {
	f.Why = f.Why[:min(len(f.Why), maxReason)]
	r.Failures = append(r.Failures, f)
	r.Failures = r.Failures[max(0, len(r.Failures)-maxFailures):]
}

// Context ends when the lease does; its cause says why.
func (l *Lease) Context() context.Context { return l.ctx }

// Attempt counts the leases of the unit.
func (l *Lease) Attempt() int { return l.attempt }

// safe is the part of a lease after which a worker that could not renew it ends what it does: before the queue offers
// the unit to another worker.
func (q *Queue) safe() time.Duration { return q.lease * 3 / 4 }

// renew renews the lease, which was granted after a time, until its context ends.
func (l *Lease) renew(granted time.Time) {
	defer close(l.ended)
	every := time.NewTicker(l.q.lease / 5)
	defer every.Stop()
	for {
		deadline := time.NewTimer(time.Until(granted.Add(l.q.safe())))
		select {
		case <-l.ctx.Done():
			deadline.Stop()
			return
		case <-deadline.C:
			l.end(ErrLost)
			return
		case <-every.C:
			deadline.Stop()
		}
		sent := time.Now()
		ctx, cancel := context.WithDeadline(l.ctx, granted.Add(l.q.safe()))
		err := l.beat(ctx)
		cancel()
		switch {
		case errors.Is(err, ErrLost):
			l.end(ErrLost)
			return
		case err == nil:
			granted = sent
		}
	}
}

// beat renews the lease: its record, which another worker may have changed, and the server's timer.
func (l *Lease) beat(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return nil
	}
	if err := l.write(ctx); err != nil {
		return err
	}
	_, err := l.q.nc.RequestWithContext(ctx, l.msg.Reply(), []byte("+WPI"))
	return err
}

// write writes the record. The answer to a write may be lost: a record with the lease's nonce is one that it wrote.
func (l *Lease) write(ctx context.Context) error {
	for {
		revision, err := put(ctx, l.q.units, l.key(), l.record, l.revision)
		if !errors.Is(err, errMoved) {
			if err == nil {
				l.revision = revision
			}
			return err
		}
		var now Record
		if revision, err = get(ctx, l.q.units, l.key(), &now); err != nil {
			return err
		}
		if now.Nonce != l.nonce {
			return ErrLost
		}
		l.revision = revision
	}
}

// patiently repeats what may fail for want of a server, until the lease's time is over, or, if a server renews that and
// does nothing else, for four leases.
func (l *Lease) patiently(do func(ctx context.Context) error) error {
	for began := time.Now(); ; {
		ctx, cancel := context.WithTimeout(l.ctx, asked)
		err := do(ctx)
		cancel()
		if err == nil || errors.Is(err, ErrLost) || errors.Is(err, nats.ErrMaxPayload) {
			return err
		}
		if time.Since(began) > 4*l.q.lease {
			return fmt.Errorf("%w: %w", errNoRoom, err)
		}
		select {
		case <-l.ctx.Done():
			return errors.Join(context.Cause(l.ctx), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// finish writes the last record of the lease, counts what the attempt cost, and answers the offer.
func (l *Lease) finish(change func(*Record), usd *float64, answer func(context.Context) error) error {
	l.mu.Lock()
	change(&l.record) // no heartbeat undoes it
	l.mu.Unlock()
	var lost error
	err := l.patiently(func(ctx context.Context) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		err := l.write(ctx)
		l.over = err == nil
		if errors.Is(err, ErrLost) {
			lost = err
		}
		return err
	})
	l.end(context.Canceled)
	<-l.ended
	if err != nil {
		return cmp.Or(lost, err)
	}
	// The unit's next offer repeats what fails from here on.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), 2*asked)
	defer cancel()
	telling := l.record.Done != nil && l.record.Done.Telling
	if err := l.q.settle(ctx, l.run, l.unit, l.reservation(l.attempt), usd, telling); err != nil {
		return err
	}
	return answer(ctx)
}

// Commit makes what an attempt came to the unit's result. If the lease is lost, the result is refused, with [ErrLost].
func (l *Lease) Commit(done Done, archive []byte) error {
	done.Attempt, done.Worker, done.Why = l.attempt, l.holder, done.Why[:min(len(done.Why), maxReason)]
	f := describe(l.Run, fmt.Sprintf("unit-%d.%d-%s", l.N, l.attempt, l.nonce), archive)
	err := l.q.store(f, archive, l.patiently)
	if err != nil {
		// If this fails, too, the unit is offered again when the lease is over.
		_ = l.Release(Failure{Kind: Failed, Why: Explained(err).Error()}, done.CostUSD, l.q.lease)
		return err
	}
	done.Archive = &f
	return l.finish(func(r *Record) { r.Done, r.Holder = &done, "" }, done.CostUSD, l.Drop)
}

// giveUp makes it the unit's result that no attempt gave one.
func (l *Lease) giveUp(ctx context.Context, why string) error {
	l.record.Done = &Done{Why: why, Attempt: l.record.Attempt, Worker: l.record.Holder}
	l.record.Holder = ""
	if err := l.write(ctx); err != nil {
		return err
	}
	return l.Drop(ctx)
}

// Release gives a unit back whose attempt gave no result, to be offered again after a delay. Of attempts that failed
// there are not more than the run allows, and none after one that was too large.
func (l *Lease) Release(f Failure, usd *float64, delay time.Duration) error {
	f.Attempt, f.Worker = l.attempt, l.holder
	over := false
	answer := func(ctx context.Context) error {
		if over {
			return l.Drop(ctx)
		}
		return l.Back(max(delay, time.Millisecond))
	}
	return l.finish(func(r *Record) {
		r.fail(f)
		if f.Kind == Failed {
			r.Failed++
		}
		r.Holder = ""
		why := f.Why
		if f.Kind != TooLarge {
			why = fmt.Sprintf("%d attempts failed, the last one on %s: %s", r.Failed, f.Worker, f.Why)
		}
		if over = f.Kind == TooLarge || r.Failed >= max(l.run.Attempts, 1); over {
			r.Done = &Done{Why: why, CostUSD: usd, Attempt: f.Attempt, Worker: f.Worker}
		}
	}, usd, answer)
}

// Abandon ends a lease of which nothing is to be kept: its unit is offered again when the lease is over.
func (l *Lease) Abandon() {
	l.end(context.Canceled)
	<-l.ended
}
