package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// End says why a run has ended before all of its units have results.
type End struct {
	Kind string `json:"kind"`
	Why  string `json:"why"`
}

// String returns the end for people.
func (e End) String() string { return strings.TrimSuffix(e.Kind+": "+e.Why, ": ") }

// The kinds of ends.
const (
	Complete   = "complete"    // no unit waits or is under way
	Cancelled  = "cancelled"   // a person wanted it
	OverBudget = "over-budget" // the budget has no room for another unit
	Unfit      = "unfit"       // no worker can carry it out
)

// End ends a run: its units are offered no more, and workers end those that they have. The first end counts.
func (q *Queue) End(ctx context.Context, run string, e End) error {
	e.Why = e.Why[:min(len(e.Why), maxReason)]
	if _, err := put(ctx, q.control, "ended."+run, e, 0); err != nil && !errors.Is(err, errMoved) {
		return err
	}
	return q.stream.Purge(ctx, jetstream.WithPurgeSubject("units."+run+".>"))
}

// Ended returns how a run has ended, nil if it goes on.
func (q *Queue) Ended(ctx context.Context, run string) (*End, error) {
	var e End
	revision, err := get(ctx, q.control, "ended."+run, &e)
	if err != nil || revision == 0 {
		return nil, err
	}
	return &e, nil
}

// Pauses of accounts that no model asks for: the first, and the longest.
const (
	firstPause   = 15 * time.Second
	longestPause = 2 * time.Minute
	mostAsked    = 24 * time.Hour
)

// pause is what a model said that takes no more requests, and for how long.
type pause struct {
	Said string        `json:"said"`
	For  time.Duration `json:"for"`
}

// Pause keeps all workers from beginning units of an account for as long as its model asks, or, if that is 0, a little
// longer each time, of several the longest. The server's clock ends it.
func (q *Queue) Pause(ctx context.Context, a Account, wanted time.Duration, said string) error {
	met := 0
	revision, err := get(ctx, q.control, "met."+a.token(), &met)
	if err != nil {
		return err
	}
	if wanted <= 0 {
		wanted = min(firstPause<<min(met, 10), longestPause)
	}
	p := pause{Said: said[:min(len(said), maxReason)], For: max(min(wanted, mostAsked).Round(time.Second), time.Second)}
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	key := "paused." + a.token()
	_, err = q.control.Create(ctx, key, data, jetstream.KeyTTL(p.For))
	if moved(err) { // another worker met the same limit
		var before pause
		if revision, err = get(ctx, q.control, key, &before); err != nil || revision == 0 || before.For >= p.For {
			return err
		}
		if err = q.control.Purge(ctx, key, jetstream.LastRevision(revision)); err == nil {
			_, err = q.control.Create(ctx, key, data, jetstream.KeyTTL(p.For))
		}
		if moved(err) {
			err = nil
		}
		return err
	}
	if err == nil {
		_, err = put(ctx, q.control, "met."+a.token(), met+1, revision)
	}
	if errors.Is(err, errMoved) {
		err = nil
	}
	return err
}

// Paused returns what the model of an account said when it took no more requests, empty if it takes them.
func (q *Queue) Paused(ctx context.Context, a Account) (said string, err error) {
	var p pause
	_, err = get(ctx, q.control, "paused."+a.token(), &p)
	return p.Said, err
}

// Unpaused notes that a unit of an account ended as it should: the next pause is a short one.
func (q *Queue) Unpaused(ctx context.Context, a Account) error {
	met := 0
	revision, err := get(ctx, q.control, "met."+a.token(), &met)
	if err == nil && met > 0 {
		_, err = put(ctx, q.control, "met."+a.token(), 0, revision)
	}
	if errors.Is(err, errMoved) {
		err = nil
	}
	return err
}

// Worker is what a worker says of itself.
type Worker struct {
	ID string `json:"id"`
	// Parallel is how many units it carries out at a time, and Running how many it does.
	Parallel int `json:"parallel"`
	Running  int `json:"running"`
	// Lacks says which accounts of runs in the queue it does not have, by their names, and why.
	Lacks map[string]string `json:"lacks_accounts,omitempty"`
}

// Here says that a worker is there, for two leases.
func (q *Queue) Here(ctx context.Context, w Worker) error {
	data, err := json.Marshal(w)
	if err != nil {
		return err
	}
	_, err = q.workers.Put(ctx, w.ID, data)
	return err
}

// Gone says that a worker is there no more.
func (q *Queue) Gone(ctx context.Context, worker string) error { return q.workers.Purge(ctx, worker) }

// Workers returns the workers that are there.
func (q *Queue) Workers(ctx context.Context) ([]Worker, error) {
	all, err := list[Worker](ctx, q.workers, ">")
	return slices.SortedFunc(maps.Values(all), func(a, b Worker) int { return cmp.Compare(a.ID, b.ID) }), err
}

// maxRefusals is how many workers may refuse a run of which no unit has a result: the next would do so, too.
const maxRefusals = 3

// Refuse notes that a worker cannot carry out a run. That ends the run if no worker is left that could and has one of
// its accounts, or several refuse it and no unit has a result. A worker says so again, since the others may refuse it,
// end, or come without the accounts later.
func (q *Queue) Refuse(ctx context.Context, run, worker, why string) error {
	r, err := q.Run(ctx, run)
	if err != nil {
		return err
	}
	_, err = put(ctx, q.control, "refused."+run+"."+worker, why[:min(len(why), maxReason)], 0)
	again := errors.Is(err, errMoved) // then only the others may have changed
	if err != nil && !again {
		return err
	}
	refusals, err := q.Refusals(ctx, run)
	if err != nil {
		return err
	}
	workers, err := q.Workers(ctx)
	if err != nil {
		return err
	}
	hopeless := !slices.ContainsFunc(workers, func(w Worker) bool {
		return refusals[w.ID] == "" && slices.ContainsFunc(r.Accounts, func(a Account) bool {
			return w.Lacks[a.Name()] == ""
		})
	})
	if !hopeless && !again && len(refusals) >= maxRefusals {
		status, err := q.Status(ctx, run)
		if err != nil {
			return err
		}
		hopeless = status.Counts().Done == 0
	}
	if !hopeless {
		return nil
	}
	return q.End(ctx, run, End{Kind: Unfit, Why: "worker " + worker + ": " + why})
}

// Refusals returns why workers cannot carry out a run, by their ids.
func (q *Queue) Refusals(ctx context.Context, run string) (map[string]string, error) {
	prefix := "refused." + run + "."
	all, err := list[string](ctx, q.control, prefix+">")
	refusals := make(map[string]string)
	for key, why := range all {
		refusals[strings.TrimPrefix(key, prefix)] = why
	}
	return refusals, err
}

// Status is how far a run is.
type Status struct {
	Run   Run
	Units []Unit
	// Records are those of the units, in their order; of a unit that has not begun it is the zero value.
	Records []Record
	End     *End // nil: it goes on
	Money   Money
	// Refusals say why workers cannot carry it out, and Paused what the models of accounts said, by their names.
	Refusals, Paused map[string]string
	Workers          []Worker
}

// Status returns how far a run is.
func (q *Queue) Status(ctx context.Context, id string) (s Status, err error) {
	if s.Run, err = q.Run(ctx, id); err != nil {
		return s, err
	}
	if s.Units, err = q.Units(ctx, s.Run); err != nil {
		return s, err
	}
	if s.Records, err = q.records(ctx, s.Run, len(s.Units)); err != nil {
		return s, err
	}
	if s.End, err = q.Ended(ctx, id); err != nil {
		return s, err
	}
	if s.Money, _, err = q.money(ctx, id); err != nil {
		return s, err
	}
	if s.Refusals, err = q.Refusals(ctx, id); err != nil {
		return s, err
	}
	s.Paused = make(map[string]string)
	for _, a := range s.Run.Accounts {
		said, err := q.Paused(ctx, a)
		if err != nil {
			return s, err
		}
		if said != "" {
			s.Paused[a.Name()] = said
		}
	}
	s.Workers, err = q.Workers(ctx)
	return s, err
}

// records returns the records of a run's units.
func (q *Queue) records(ctx context.Context, run Run, units int) ([]Record, error) {
	all, err := list[Record](ctx, q.units, run.ID+".*")
	records := make([]Record, units)
	for key, r := range all {
		if n, err := strconv.Atoi(strings.TrimPrefix(key, run.ID+".")); err == nil && n >= 0 && n < units {
			records[n] = r
		}
	}
	return records, err
}

// Counts are how many units are in which state.
type Counts struct{ Done, Running, Waiting, Failed int }

// Counts counts the units. Failed are done without a result.
func (s Status) Counts() (c Counts) {
	for _, r := range s.Records {
		switch {
		case r.Done != nil && r.Done.Archive == nil:
			c.Failed++
		case r.Done != nil:
			c.Done++
		case r.Holder != "":
			c.Running++
		default:
			c.Waiting++
		}
	}
	return c
}
