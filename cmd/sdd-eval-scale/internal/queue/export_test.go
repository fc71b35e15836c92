package queue

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Reserve reserves money for an attempt at a unit, of which nothing else is known.
func (q *Queue) Reserve(ctx context.Context, run Run, n, attempt int, usd float64) error {
	return q.account(ctx, run.ID, func(m *Money) bool {
		m.Reserved[fmt.Sprintf("%d#%d", n, attempt)] = usd
		return true
	})
}

// CommitOnly does of [Lease.Commit] what comes before the bookkeeping.
func (q *Queue) CommitOnly(l *Lease, usd *float64) error {
	defer l.Abandon()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.record.Done, l.record.Holder = &Done{Outcome: "pass", CostUSD: usd, Attempt: l.attempt, Worker: l.holder}, ""
	return l.write(l.ctx)
}

// BeatUnanswered renews a lease by a heartbeat whose answer is lost.
func (q *Queue) BeatUnanswered(ctx context.Context, l *Lease) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := put(ctx, q.units, l.key(), l.record, l.revision)
	return err
}

// TakeLate is [Offer.Take] by a worker that stands still when it has written the record, until meanwhile returns.
func (o *Offer) TakeLate(ctx context.Context, run Run, unit Unit, worker string, meanwhile func()) (*Lease, error) {
	l, err := o.claim(ctx, run, unit, worker)
	if err != nil || l == nil {
		return nil, err
	}
	meanwhile()
	return l.begin(ctx)
}

// Beats receives what is written of a lease's unit.
func (q *Queue) Beats(ctx context.Context, l *Lease) (<-chan jetstream.KeyValueEntry, error) {
	w, err := q.units.Watch(ctx, l.key(), jetstream.UpdatesOnly())
	if err != nil {
		return nil, err
	}
	return w.Updates(), nil
}
