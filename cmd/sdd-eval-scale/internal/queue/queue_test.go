package queue_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/queue"
)

// serve starts a server on loopback that keeps its streams in a directory.
func serve(t *testing.T, dir string, change func(*server.Options)) *server.Server {
	t.Helper()
	o := &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true,
	}
	if change != nil {
		change(o)
	}
	s, err := server.NewServer(o)
	require.NoError(t, err)
	s.Start()
	require.True(t, s.ReadyForConnections(time.Minute))
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

func connect(t *testing.T, s *server.Server, lease time.Duration) *queue.Queue {
	t.Helper()
	q, err := queue.Open(t.Context(), queue.Options{URL: s.ClientURL(), Lease: lease})
	require.NoError(t, err)
	t.Cleanup(q.Close)
	return q
}

// long is a lease that no test outlives, and short one that ends while a test waits.
const long, short = time.Minute, 400 * time.Millisecond

var claude = queue.Account{Kind: "claude", Preset: "team.a"}

// submit submits a run of units that all have one account.
func submit(t *testing.T, q *queue.Queue, id string, units int, change func(*queue.Run, []queue.Unit)) queue.Run {
	t.Helper()
	r := queue.Run{ID: id, Accounts: []queue.Account{claude}, Attempts: 3}
	us := make([]queue.Unit, units)
	for i := range us {
		us[i] = queue.Unit{ID: fmt.Sprintf("p/c%d/v/1", i), Variant: "v"}
	}
	if change != nil {
		change(&r, us)
	}
	r, err := q.Submit(t.Context(), r, us, []byte("the bundle"))
	require.NoError(t, err)
	return r
}

// offer waits for the next unit.
func offer(t *testing.T, q *queue.Queue) *queue.Offer {
	t.Helper()
	var o *queue.Offer
	require.Eventually(t, func() bool {
		var err error
		o, err = q.Next(t.Context(), claude)
		require.NoError(t, err)
		return o != nil
	}, time.Minute, 10*time.Millisecond)
	return o
}

// take takes the next unit, which must be there to take.
func take(t *testing.T, q *queue.Queue, r queue.Run, worker string) *queue.Lease {
	t.Helper()
	o := offer(t, q)
	units, err := q.Units(t.Context(), r)
	require.NoError(t, err)
	l, err := o.Take(t.Context(), r, units[o.N], worker)
	require.NoError(t, err)
	require.NotNil(t, l)
	return l
}

func status(t *testing.T, q *queue.Queue, id string) queue.Status {
	t.Helper()
	s, err := q.Status(t.Context(), id)
	require.NoError(t, err)
	return s
}

func TestLongestFirstAndOnce(t *testing.T) {
	q := connect(t, serve(t, t.TempDir(), nil), long)
	r := submit(t, q, "r", 4, func(_ *queue.Run, units []queue.Unit) {
		for i, w := range []float64{1, 9, 3, 9} {
			units[i].Weight = w
		}
	})
	var order []int
	for range 4 {
		l := take(t, q, r, "w")
		order = append(order, l.N)
		require.NoError(t, l.Commit(queue.Done{Outcome: "pass"}, fmt.Append(nil, "archive ", l.N)))
	}
	require.Equal(t, []int{1, 3, 2, 0}, order)
	o, err := q.Next(t.Context(), claude)
	require.NoError(t, err)
	require.Nil(t, o)
	waiting, err := q.Waiting(t.Context(), "r")
	require.NoError(t, err)
	require.False(t, waiting)

	s := status(t, q, "r")
	require.Equal(t, queue.Counts{Done: 4}, s.Counts())
	for i, rec := range s.Records {
		data, err := q.Load(t.Context(), *rec.Done.Archive)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint("archive ", i), string(data))
	}
	_, err = q.Submit(t.Context(), queue.Run{ID: "r"}, make([]queue.Unit, 1), nil)
	require.ErrorContains(t, err, "there is such a run already")
	_, err = q.Submit(t.Context(), queue.Run{ID: "a.b"}, make([]queue.Unit, 1), nil)
	require.ErrorContains(t, err, "want an id of letters")
}

// TestZombie: a worker that says nothing loses its unit, its result is refused, and what it had reserved is counted
// once.
func TestZombie(t *testing.T) {
	s := serve(t, t.TempDir(), nil)
	q := connect(t, s, short)
	r := submit(t, q, "r", 1, func(r *queue.Run, units []queue.Unit) {
		r.MaxUSD, r.UnitUSD, units[0].Costs = 10, 2, true
	})
	zombie := connect(t, s, 0)
	require.Equal(t, short, zombie.Lease())
	lost := take(t, zombie, r, "zombie")
	zombie.Close() // so that it cannot renew its lease
	<-lost.Context().Done()
	require.ErrorIs(t, context.Cause(lost.Context()), queue.ErrLost)

	l := take(t, q, r, "second")
	require.Equal(t, 2, l.Attempt())
	err := lost.Commit(queue.Done{Outcome: "fail", CostUSD: new(1.)}, []byte("of the zombie"))
	require.ErrorIs(t, err, queue.ErrLost)
	require.NoError(t, l.Commit(queue.Done{Outcome: "pass", CostUSD: new(.5)}, []byte("of the second")))

	st := status(t, q, "r")
	require.Equal(t, "pass", st.Records[0].Done.Outcome)
	require.Equal(t, "second", st.Records[0].Done.Worker)
	require.Equal(t, []queue.Failure{{
		Attempt: 1, Worker: "zombie", Kind: queue.Lost, Why: "its worker said nothing for as long as the lease",
	}}, st.Records[0].Failures)
	require.Equal(t, 2.5, st.Money.SpentUSD)
	require.Empty(t, st.Money.Reserved)
}

// TestFenced: another worker has the unit although this one's lease has not ended by its own clock, as after a server
// that forgot a heartbeat. The record decides.
func TestFenced(t *testing.T) {
	s := serve(t, t.TempDir(), nil)
	q := connect(t, s, long)
	r := submit(t, q, "r", 1, nil)
	first := take(t, q, r, "first")
	require.NoError(t, first.Back(time.Millisecond)) // the server offers it again, and first knows nothing of that
	second := take(t, q, r, "second")
	require.ErrorIs(t, first.Commit(queue.Done{Outcome: "fail"}, []byte("of the first")), queue.ErrLost)
	require.ErrorIs(t, first.Release(queue.Failure{Kind: queue.Failed}, nil, 0), context.Canceled)
	require.NoError(t, second.Commit(queue.Done{Outcome: "pass"}, []byte("of the second")))
	require.Equal(t, "second", status(t, q, "r").Records[0].Done.Worker)
}

// TestUnanswered: the answer to a heartbeat is lost, and the unit ends before the next one. Its result is kept all the
// same.
func TestUnanswered(t *testing.T) {
	q := connect(t, serve(t, t.TempDir(), nil), long)
	r := submit(t, q, "r", 2, nil)
	l := take(t, q, r, "w")
	require.NoError(t, q.BeatUnanswered(t.Context(), l))
	require.NoError(t, l.Commit(queue.Done{Outcome: "pass"}, nil))
	l = take(t, q, r, "w")
	require.NoError(t, q.BeatUnanswered(t.Context(), l))
	require.NoError(t, l.Release(queue.Failure{Kind: queue.GaveUp}, nil, 0))
	s := status(t, q, "r")
	require.Equal(t, queue.Counts{Done: 1, Waiting: 1}, s.Counts())
	require.Len(t, s.Records[1].Failures, 1)
}

// TestRenewed holds a lease for several times as long as it lasts.
func TestRenewed(t *testing.T) {
	q := connect(t, serve(t, t.TempDir(), nil), short)
	r := submit(t, q, "r", 1, nil)
	l := take(t, q, r, "w")
	beats, err := q.Beats(t.Context(), l)
	require.NoError(t, err)
	for range 15 { // three leases
		select {
		case <-beats:
		case <-l.Context().Done():
			require.NoError(t, context.Cause(l.Context()))
		}
	}
	require.NoError(t, l.Commit(queue.Done{Outcome: "pass"}, nil))
	require.Equal(t, 1, status(t, q, "r").Records[0].Done.Attempt)
}

func TestAttempts(t *testing.T) {
	q := connect(t, serve(t, t.TempDir(), nil), long)
	r := submit(t, q, "r", 1, nil)
	for _, kind := range []string{
		queue.Failed, queue.Limited, queue.Limited, queue.Limited, queue.GaveUp, queue.Failed, queue.Failed,
	} {
		l := take(t, q, r, "w")
		require.NoError(t, l.Release(queue.Failure{Kind: kind, Why: "no disk"}, nil, 0))
	}
	s := status(t, q, "r")
	require.Equal(t, queue.Counts{Failed: 1}, s.Counts())
	require.Equal(t, "3 attempts failed, the last one on w: no disk", s.Records[0].Done.Why)
	require.Len(t, s.Records[0].Failures, 7)
	waiting, err := q.Waiting(t.Context(), "r")
	require.NoError(t, err)
	require.False(t, waiting)
}

// TestLimit: an account's limit holds for all workers and all runs.
func TestLimit(t *testing.T) {
	s := serve(t, t.TempDir(), nil)
	q, other := connect(t, s, long), connect(t, s, long)
	three := func(r *queue.Run, _ []queue.Unit) {
		r.Accounts = []queue.Account{{Kind: "claude", Preset: "team.a", Limit: 3}}
	}
	a, b := submit(t, q, "a", 2, three), submit(t, q, "b", 5, nil)
	first := take(t, q, a, "w")
	take(t, other, a, "w2")
	take(t, other, b, "w2")
	for range 3 {
		o, err := q.Next(t.Context(), claude)
		require.NoError(t, err)
		require.Nil(t, o)
	}
	require.NoError(t, first.Commit(queue.Done{Outcome: "pass"}, nil))
	take(t, q, b, "w")
}

// TestLimitsOfManyWorkers: 40 workers carry out units of two accounts, of which at most 3 and 5 run at a time.
func TestLimitsOfManyWorkers(t *testing.T) {
	s := serve(t, t.TempDir(), nil)
	q := connect(t, s, long)
	limits := []int{3, 5}
	accounts := []queue.Account{{Kind: "a", Limit: limits[0]}, {Kind: "b", Limit: limits[1]}}
	const units = 60
	r := submit(t, q, "r", units, func(r *queue.Run, units []queue.Unit) {
		r.Accounts = accounts
		for i := range units {
			units[i].Account = i % 2
		}
	})
	plan, err := q.Units(t.Context(), r)
	require.NoError(t, err)
	var mu sync.Mutex
	full := sync.NewCond(&mu)
	running, most, done := make([]int, 2), make([]int, 2), 0
	work := func(q *queue.Queue, worker string) error {
		for i := 0; ; i++ {
			mu.Lock()
			over := done == units
			mu.Unlock()
			if over {
				return nil
			}
			o, err := q.Next(t.Context(), accounts[i%2])
			if err != nil {
				return err
			}
			if o == nil {
				time.Sleep(time.Millisecond)
				continue
			}
			l, err := o.Take(t.Context(), r, plan[o.N], worker)
			if err != nil || l == nil {
				return fmt.Errorf("not taken: %w", err)
			}
			a := plan[o.N].Account
			mu.Lock()
			running[a]++
			most[a] = max(most[a], running[a])
			full.Broadcast()
			for most[a] < limits[a] { // until as many run as may
				full.Wait()
			}
			running[a]--
			mu.Unlock()
			if err := l.Commit(queue.Done{Outcome: "pass"}, nil); err != nil {
				return err
			}
			mu.Lock()
			done++
			mu.Unlock()
		}
	}
	errs := make(chan error)
	for w := range 40 {
		q := connect(t, s, 0)
		go func() { errs <- work(q, fmt.Sprint("w", w)) }()
	}
	for range 40 {
		require.NoError(t, <-errs)
	}
	require.Equal(t, limits, most)
	require.Equal(t, queue.Counts{Done: units}, status(t, q, "r").Counts())
}

func TestPause(t *testing.T) {
	q := connect(t, serve(t, t.TempDir(), nil), long)
	require.NoError(t, q.Pause(t.Context(), claude, time.Second, "429: slow down"))
	require.NoError(t, q.Pause(t.Context(), claude, 3*time.Second, "429: much slower"))
	require.NoError(t, q.Pause(t.Context(), claude, 2*time.Second, "429: slow down again"))
	said, err := q.Paused(t.Context(), claude)
	require.NoError(t, err)
	require.Equal(t, "429: much slower", said, "the longest counts")
	require.Eventually(t, func() bool {
		said, err := q.Paused(t.Context(), claude)
		require.NoError(t, err)
		return said == ""
	}, time.Minute, 50*time.Millisecond)
	said, err = q.Paused(t.Context(), queue.Account{Kind: "claude"})
	require.NoError(t, err)
	require.Empty(t, said)
	require.NoError(t, q.Unpaused(t.Context(), claude))
}

func TestBudget(t *testing.T) {
	s := serve(t, t.TempDir(), nil)
	q := connect(t, s, long)
	r := submit(t, q, "r", 4, func(r *queue.Run, units []queue.Unit) {
		r.MaxUSD = 1
		for i := range units {
			units[i].Costs = true
		}
	})
	units, err := q.Units(t.Context(), r)
	require.NoError(t, err)
	// Nobody knows what a unit costs: the first one has all.
	first := take(t, q, r, "w")
	o := offer(t, q)
	l, err := o.Take(t.Context(), r, units[o.N], "w2")
	require.NoError(t, err)
	require.Nil(t, l, "it has to wait for what the first one costs")
	require.Zero(t, status(t, q, "r").Records[o.N].Attempt)
	require.NoError(t, first.Commit(queue.Done{Outcome: "pass", CostUSD: new(.4), Telling: true}, nil))
	// Now there is room for one at a time.
	second := take(t, q, r, "w")
	require.NoError(t, second.Commit(queue.Done{Outcome: "pass", CostUSD: new(.4), Telling: true}, nil))
	for {
		o := offer(t, q)
		l, err := o.Take(t.Context(), r, units[o.N], "w")
		require.NoError(t, err)
		require.Nil(t, l)
		if st := status(t, q, "r"); st.End != nil {
			require.Equal(t, queue.OverBudget, st.End.Kind)
			require.Contains(t, st.End.Why, "of the run's budget of $1.00, $0.80 are spent, and p/c")
			require.InDelta(t, .8, st.Money.SpentUSD, 1e-6)
			require.Empty(t, st.Money.Reserved)
			break
		}
	}
	waiting, err := q.Waiting(t.Context(), "r")
	require.NoError(t, err)
	require.False(t, waiting)
}

// TestNotTelling: what a unit cost that ended early says nothing of what others cost. What one cost that ended says so,
// even if it was nothing.
func TestNotTelling(t *testing.T) {
	q := connect(t, serve(t, t.TempDir(), nil), long)
	r := submit(t, q, "r", 4, func(r *queue.Run, units []queue.Unit) {
		r.MaxUSD = 20
		for i := range units {
			units[i].Costs = true
		}
	})
	reserved := func() (all float64) {
		for _, usd := range status(t, q, "r").Money.Reserved {
			all += usd
		}
		return all
	}
	require.NoError(t, take(t, q, r, "w").Commit(queue.Done{Outcome: "error", CostUSD: new(.02)}, nil))
	l := take(t, q, r, "w")
	require.InDelta(t, 19.98, reserved(), 1e-6)
	require.NoError(t, l.Commit(queue.Done{Outcome: "pass", CostUSD: new(0.), Telling: true}, nil))
	take(t, q, r, "w")
	take(t, q, r, "w2")
	require.Zero(t, reserved())
}

// TestSettledLater: a worker ended between its result and its bookkeeping. The next offer makes up for it.
func TestSettledLater(t *testing.T) {
	s := serve(t, t.TempDir(), nil)
	q := connect(t, s, short)
	r := submit(t, q, "r", 1, func(r *queue.Run, units []queue.Unit) { r.MaxUSD, units[0].Costs = 1, true })
	l := take(t, q, r, "w")
	require.NoError(t, q.CommitOnly(l, new(.25)))
	require.Equal(t, 1., status(t, q, "r").Money.Reserved["0#1"])
	o := offer(t, q)
	again, err := o.Take(t.Context(), r, queue.Unit{Costs: true}, "w2")
	require.NoError(t, err)
	require.Nil(t, again)
	st := status(t, q, "r")
	require.Equal(t, .25, st.Money.SpentUSD)
	require.Empty(t, st.Money.Reserved)
	require.Equal(t, "w", st.Records[0].Done.Worker)
}

// TestLeftReservations: there was no server when a worker wanted to count what its attempt cost, or to take over that
// of a lost one. Whoever takes the unit next counts all that was reserved for it.
func TestLeftReservations(t *testing.T) {
	q := connect(t, serve(t, t.TempDir(), nil), long)
	r := submit(t, q, "r", 12, func(r *queue.Run, units []queue.Unit) {
		r.MaxUSD, r.UnitUSD = 100, 1
		for i := range units {
			units[i].Costs = true
		}
	})
	first := take(t, q, r, "w")
	require.Zero(t, first.N)
	require.NoError(t, first.Release(queue.Failure{Kind: queue.GaveUp}, new(0.), 0))
	require.NoError(t, q.Reserve(t.Context(), r, 0, 1, 2))
	require.NoError(t, q.Reserve(t.Context(), r, 20, 1, 3))
	for {
		l := take(t, q, r, "w")
		if l.N == 0 {
			break
		}
	}
	m := status(t, q, "r").Money
	require.Equal(t, 2., m.SpentUSD)
	require.NotContains(t, m.Reserved, "0#1")
	require.Contains(t, m.Reserved, "0#2")
	require.Contains(t, m.Reserved, "20#1", "that of another unit")
}

// TestReservedTooLate: a worker stands still between the record and what it reserves, until another one is done with
// the unit. It reserves nothing then.
func TestReservedTooLate(t *testing.T) {
	q := connect(t, serve(t, t.TempDir(), nil), short)
	r := submit(t, q, "r", 1, func(r *queue.Run, units []queue.Unit) {
		r.MaxUSD, r.UnitUSD, units[0].Costs = 10, 2, true
	})
	units, err := q.Units(t.Context(), r)
	require.NoError(t, err)
	l, err := offer(t, q).TakeLate(t.Context(), r, units[0], "late", func() {
		again := take(t, q, r, "second")
		require.NoError(t, again.Commit(queue.Done{Outcome: "pass", CostUSD: new(1.)}, nil))
	})
	require.Nil(t, l)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	st := status(t, q, "r")
	require.Equal(t, 1., st.Money.SpentUSD)
	require.Empty(t, st.Money.Reserved)
	require.Equal(t, "second", st.Records[0].Done.Worker)
}

func TestEnd(t *testing.T) {
	q := connect(t, serve(t, t.TempDir(), nil), long)
	r := submit(t, q, "r", 3, nil)
	running := take(t, q, r, "w")
	held := offer(t, q)
	require.NoError(t, q.End(t.Context(), "r", queue.End{Kind: queue.Cancelled, Why: "by hand"}))
	require.NoError(t, q.End(t.Context(), "r", queue.End{Kind: queue.Unfit, Why: "later"}))
	require.Equal(t, &queue.End{Kind: queue.Cancelled, Why: "by hand"}, status(t, q, "r").End)
	l, err := held.Take(t.Context(), r, queue.Unit{}, "w")
	require.NoError(t, err)
	require.Nil(t, l)
	require.NoError(t, running.Commit(queue.Done{Outcome: "pass"}, nil), "what was done is kept")
	o, err := q.Next(t.Context(), claude)
	require.NoError(t, err)
	require.Nil(t, o)

	require.NoError(t, q.Remove(t.Context(), "r"))
	_, err = q.Status(t.Context(), "r")
	require.ErrorIs(t, err, queue.ErrNoRun)
	require.ErrorIs(t, q.Remove(t.Context(), "../r"), queue.ErrNoRun)
}

// TestEndUnknown: a unit stays in the queue if nobody knows whether its run has ended.
func TestEndUnknown(t *testing.T) {
	s := serve(t, t.TempDir(), nil)
	q := connect(t, s, long)
	r := submit(t, q, "r", 1, nil)
	nc, err := nats.Connect(s.ClientURL())
	require.NoError(t, err)
	defer nc.Close()
	require.NoError(t, nc.Publish("$KV.sdd_eval_control.ended.r", []byte("no JSON")))
	require.NoError(t, nc.Flush())
	l, err := offer(t, q).Take(t.Context(), r, queue.Unit{}, "w")
	require.ErrorContains(t, err, "ended.r")
	require.Nil(t, l)
	waiting, err := q.Waiting(t.Context(), "r")
	require.NoError(t, err)
	require.True(t, waiting)
}

// TestRemoveAll: a run is removed whose submission did not come to its end, also by a remove that goes on where another
// one ended. Nothing is left of it.
func TestRemoveAll(t *testing.T) {
	s := serve(t, t.TempDir(), nil)
	q := connect(t, s, long)
	nc, err := nats.Connect(s.ClientURL())
	require.NoError(t, err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	const files = "KV_sdd_eval_files"
	stream, err := js.Stream(t.Context(), files)
	require.NoError(t, err)
	config := stream.CachedInfo().Config
	require.NoError(t, js.DeleteStream(t.Context(), files))
	_, err = q.Submit(t.Context(), queue.Run{ID: "r"}, []queue.Unit{{ID: "p/c/v/1"}}, []byte("the bundle"))
	require.ErrorContains(t, err, "store r.bundle: ")
	require.NoError(t, q.Refuse(t.Context(), "r", "w", "no bwrap"))
	require.Error(t, q.Remove(t.Context(), "r"))
	_, err = js.CreateStream(t.Context(), config)
	require.NoError(t, err)
	require.NoError(t, q.Remove(t.Context(), "r"))
	require.ErrorIs(t, q.Remove(t.Context(), "r"), queue.ErrNoRun)

	r := submit(t, q, "r", 2, func(r *queue.Run, units []queue.Unit) { r.MaxUSD, units[0].Costs = 1, true })
	require.NoError(t, take(t, q, r, "w").Commit(queue.Done{Outcome: "pass", CostUSD: new(.5)}, []byte("archive")))
	require.NoError(t, q.Refuse(t.Context(), "r", "w", "no bwrap"))
	require.NoError(t, q.Remove(t.Context(), "r"))
	for name := range js.StreamNames(t.Context()).Name() {
		stream, err := js.Stream(t.Context(), name)
		require.NoError(t, err)
		info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter(">"))
		require.NoError(t, err)
		for subject := range info.State.Subjects {
			require.NotContains(t, strings.Split(subject, "."), "r")
		}
	}
}

// TestRefusedAgain: a run that the only able worker leaves after another one has refused it ends, too.
func TestRefusedAgain(t *testing.T) {
	q := connect(t, serve(t, t.TempDir(), nil), long)
	submit(t, q, "r", 1, nil)
	for _, w := range []string{"a", "b"} {
		require.NoError(t, q.Here(t.Context(), queue.Worker{ID: w}))
	}
	for _, want := range []*queue.End{nil, {Kind: queue.Unfit, Why: "worker a: no bwrap"}} {
		require.NoError(t, q.Refuse(t.Context(), "r", "a", "no bwrap"))
		end, err := q.Ended(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, want, end)
		require.NoError(t, q.Gone(t.Context(), "b"))
	}
}

func TestRefusals(t *testing.T) {
	q := connect(t, serve(t, t.TempDir(), nil), long)
	for _, tt := range []struct {
		run     string
		here    []string
		refuse  []string
		lacks   map[string]string // accounts, by b
		done    bool
		hopeful bool
	}{
		{
			run: "others-lack-the-account", here: []string{"a", "b"}, refuse: []string{"a"},
			lacks: map[string]string{"claude/team.a": "no preset"},
		},
		{
			run: "others-lack-another-account", here: []string{"a", "b"}, refuse: []string{"a"},
			lacks: map[string]string{"codex": "no preset"}, hopeful: true,
		},
		{run: "alone", here: []string{"a"}, refuse: []string{"a"}},
		{run: "one-of-two", here: []string{"a", "b"}, refuse: []string{"a"}, hopeful: true},
		{run: "both", here: []string{"a", "b"}, refuse: []string{"a", "b"}},
		{run: "three-of-many", here: []string{"a", "b", "c", "d"}, refuse: []string{"a", "b", "c"}},
		{
			run: "another-can", here: []string{"a", "b", "c", "d"}, refuse: []string{"a", "b", "c"}, done: true,
			hopeful: true,
		},
	} {
		r := submit(t, q, tt.run, 2, nil)
		for _, w := range tt.here {
			here := queue.Worker{ID: w}
			if w == "b" {
				here.Lacks = tt.lacks
			}
			require.NoError(t, q.Here(t.Context(), here))
		}
		if tt.done {
			require.NoError(t, take(t, q, r, "d").Commit(queue.Done{Outcome: "pass"}, nil))
		}
		for _, w := range tt.refuse {
			require.NoError(t, q.Refuse(t.Context(), tt.run, w, "no bwrap"))
		}
		end, err := q.Ended(t.Context(), tt.run)
		require.NoError(t, err)
		if tt.hopeful {
			require.Nil(t, end, tt.run)
		} else {
			require.Equal(t, queue.Unfit, end.Kind, tt.run)
			require.Contains(t, end.Why, ": no bwrap", tt.run)
		}
		require.NoError(t, q.End(t.Context(), tt.run, queue.End{Kind: queue.Cancelled}))
		for _, w := range tt.here {
			require.NoError(t, q.Gone(t.Context(), w))
		}
	}
}

// heard is a server that tells what it says.
type heard struct {
	*server.Server
	hears func([]byte)
}

func (h *heard) InProcessConn() (net.Conn, error) {
	c, err := h.Server.InProcessConn()
	return &heardConn{c, h}, err
}

type heardConn struct {
	net.Conn
	of *heard
}

func (c *heardConn) Read(data []byte) (int, error) {
	n, err := c.Conn.Read(data)
	c.of.hears(data[:n])
	return n, err
}

// TestListCut: the connection ends in the midst of a list. What was told until then are not all.
func TestListCut(t *testing.T) {
	s := serve(t, t.TempDir(), nil)
	q := connect(t, s, long)
	const many = 300
	for i := range many {
		w := queue.Worker{ID: fmt.Sprint("w", i), Lacks: map[string]string{"a": strings.Repeat("x", 1000)}}
		require.NoError(t, q.Here(t.Context(), w))
	}
	all, err := q.Workers(t.Context())
	require.NoError(t, err)
	require.Len(t, all, many)
	last := fmt.Appendf(nil, "$KV.sdd_eval_workers.w%d ", many-1)
	require.Eventually(t, func() bool {
		var opened atomic.Pointer[queue.Queue]
		q, err := queue.Open(t.Context(), queue.Options{InProcess: &heard{s, func(data []byte) {
			if bytes.Contains(data, last) {
				opened.Load().Close()
			}
		}}})
		require.NoError(t, err)
		opened.Store(q)
		_, err = q.Workers(t.Context())
		require.Error(t, err)
		return strings.Contains(err.Error(), "the connection ended before the list was complete") // or before it began
	}, time.Minute, time.Millisecond)
}

func TestFiles(t *testing.T) {
	q := connect(t, serve(t, t.TempDir(), nil), long)
	big := strings.Repeat("0123456789abcdef", 100_000)
	r := submit(t, q, "r", 1, nil)
	l := take(t, q, r, "w")
	require.NoError(t, l.Commit(queue.Done{Outcome: "pass"}, []byte(big)))
	f := *status(t, q, "r").Records[0].Done.Archive
	require.Equal(t, 4, f.Pieces)
	data, err := q.Load(t.Context(), f)
	require.NoError(t, err)
	require.Equal(t, big, string(data))

	bad := r.Bundle
	bad.Digest = queue.Digest([]byte("another bundle"))
	_, err = q.Load(t.Context(), bad)
	require.ErrorContains(t, err, "r.bundle: its content has the digest sha256:")
	for _, change := range []func(*queue.File){
		func(f *queue.File) { f.Size = -1 }, func(f *queue.File) { f.Size = 1 << 40 },
		func(f *queue.File) { f.Pieces = 9 },
	} {
		bad := f
		change(&bad)
		_, err = q.Load(t.Context(), bad)
		require.ErrorContains(t, err, "not the file that it should be")
	}
	f.Key = "r.nothing"
	_, err = q.Load(t.Context(), f)
	require.ErrorContains(t, err, "piece 1 of 4 is missing")
}

func TestLeaseIsTheQueues(t *testing.T) {
	s := serve(t, t.TempDir(), nil)
	connect(t, s, long)
	_, err := queue.Open(t.Context(), queue.Options{URL: "nats://name:pass-word@" + s.Addr().String(), Lease: short})
	require.ErrorContains(t, err, "its lease is 1m0s, and 400ms was asked for")
	_, err = queue.Open(t.Context(), queue.Options{URL: "nats://" + s.Addr().String(), Replicas: 3})
	require.ErrorContains(t, err, "it is kept by 1 servers, and 3 were asked for")
	require.NotContains(t, err.Error(), "pass-word")
}

// TestServerRestarts: what waits, runs and is done outlives the server.
func TestServerRestarts(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir, nil)
	port := s.Addr().String()
	q := connect(t, s, long)
	r := submit(t, q, "r", 3, nil)
	require.NoError(t, take(t, q, r, "w").Commit(queue.Done{Outcome: "pass"}, nil))
	running := take(t, q, r, "w")
	s.Shutdown()
	s.WaitForShutdown()
	_, err := q.Status(t.Context(), "r")
	require.Error(t, err)
	serve(t, dir, func(o *server.Options) { fmt.Sscanf(port, "127.0.0.1:%d", &o.Port) })
	require.NoError(t, running.Commit(queue.Done{Outcome: "pass"}, nil)) // which waits for the server
	require.NoError(t, take(t, q, r, "w").Commit(queue.Done{Outcome: "pass"}, nil))
	require.Equal(t, queue.Counts{Done: 3}, status(t, q, "r").Counts())
}
