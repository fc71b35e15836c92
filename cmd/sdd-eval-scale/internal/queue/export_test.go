package queue

// CommitOnly does of [Lease.Commit] what comes before the bookkeeping.
func (q *Queue) CommitOnly(l *Lease, usd *float64) error {
	defer l.Abandon()
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.record
	r.Done, r.Holder = &Done{Outcome: "pass", CostUSD: usd, Attempt: r.Attempt, Worker: r.Holder}, ""
	return l.write(l.ctx, r)
}
