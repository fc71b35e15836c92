package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Run is what is run.
type Run struct {
	// ID is the name of the run's directory where it is fetched.
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"created_at"`
	// Submitting says that not all of it is in the queue yet.
	Submitting bool `json:"submitting,omitempty"`
	// Tool is the program that made the plan: workers of another version refuse the run.
	Tool string `json:"tool"`
	// Playbook is the playbook's path in the bundle.
	Playbook string `json:"playbook"`
	Bundle   File   `json:"bundle"`
	Mode     string `json:"mode"`
	Sandbox  string `json:"sandbox,omitempty"`
	LLMJudge bool   `json:"llm_judge,omitempty"`
	// Only says which units of the playbook are run.
	Only Selection `json:"only,omitzero"`
	// Plan is the file with the [Unit]s.
	Plan File `json:"plan"`
	// Accounts are those of the units.
	Accounts []Account `json:"accounts"`
	// MaxUSD bounds what the run costs; 0: nothing does. UnitUSD is the most that a unit may cost by its playbook, and
	// AssumedUSD what one counts that does not say; 0 and nil: nobody knows.
	MaxUSD     float64  `json:"max_usd,omitempty"`
	UnitUSD    float64  `json:"unit_usd,omitempty"`
	AssumedUSD *float64 `json:"assumed_usd,omitempty"`
	// Attempts is how often a unit is tried whose worker could not carry it out.
	Attempts int `json:"attempts"`
	// Silence is how long a unit may show no progress before its worker ends it.
	Silence time.Duration `json:"silence"`
}

// Selection is which units of a playbook are run, as the flags of sdd-eval run say; empty: all.
type Selection struct {
	Units    string `json:"units,omitempty"`
	Cases    string `json:"cases,omitempty"`
	Variants string `json:"variants,omitempty"`
}

// Account is an account of agents: a kind and a preset.
type Account struct {
	// Kind and Preset name it on workers, which have what is behind them.
	Kind   string `json:"kind"`
	Preset string `json:"preset,omitempty"`
	// Limit is how many of its units run at a time, in all runs; 0: as before, or [DefaultLimit].
	Limit int `json:"limit,omitempty"`
}

// DefaultLimit is how many units of an account run at a time if nobody has said otherwise.
const DefaultLimit = 1000

// Name returns the account's name for people, as in playbooks of agents.
func (a Account) Name() string {
	if a.Preset == "" {
		return a.Kind
	}
	return a.Kind + "/" + a.Preset
}

// token returns the account's name as a part of a subject.
func (a Account) token() string {
	var b strings.Builder
	for _, c := range []byte(a.Name()) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

// Unit is a unit of a run's plan.
type Unit struct {
	ID      string `json:"id"`
	Variant string `json:"variant"`
	// Account is the index of its account in [Run.Accounts].
	Account int `json:"account"`
	// Weight is how long it is thought to take: longer ones are offered first.
	Weight float64 `json:"weight,omitempty"`
	// Costs says that it may cost something.
	Costs bool `json:"costs,omitempty"`
}

// Submit puts a run with its units into the queue. The bundle's digest is in the run from then on.
func (q *Queue) Submit(ctx context.Context, r Run, units []Unit, bundle []byte) (Run, error) {
	if err := q.submit(ctx, &r, units, bundle); err != nil {
		return Run{}, fmt.Errorf("submit the run %s: %w", r.ID, err)
	}
	return r, nil
}

func (q *Queue) submit(ctx context.Context, r *Run, units []Unit, bundle []byte) (err error) {
	if !validID(r.ID) || len(units) == 0 {
		return errors.New("want an id of letters, digits, _ and -, and a unit at least")
	}
	plan, err := json.Marshal(units)
	if err != nil {
		return err
	}
	r.Bundle, r.Plan = describe(r.ID, "bundle", bundle), describe(r.ID, "plan", plan)
	// The run comes first: what is there of it when its submission is killed can be removed. Workers look at it before
	// they begin a unit.
	r.Submitting = true
	revision, err := put(ctx, q.runs, r.ID, r, 0)
	if errors.Is(err, errMoved) {
		return errors.New("there is such a run already")
	}
	if err == nil {
		err = q.fill(ctx, r, units, bundle, plan)
	}
	if r.Submitting = false; err == nil {
		_, err = put(ctx, q.runs, r.ID, r, revision)
	}
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*asked)
		defer cancel()
		return errors.Join(err, q.Remove(ctx, r.ID))
	}
	return nil
}

// fill puts into the queue what a run is of.
func (q *Queue) fill(ctx context.Context, r *Run, units []Unit, bundle, plan []byte) error {
	do := func(do func(context.Context) error) error { return do(ctx) }
	if err := q.store(r.Bundle, bundle, do); err != nil {
		return err
	}
	if err := q.store(r.Plan, plan, do); err != nil {
		return err
	}
	for _, a := range r.Accounts {
		if _, err := q.consumer(ctx, a); err != nil {
			return err
		}
	}
	return q.publish(ctx, r, units)
}

// publish puts the units into the stream, the longest first.
func (q *Queue) publish(ctx context.Context, r *Run, units []Unit) error {
	order := make([]int, len(units))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(units[j].Weight, units[i].Weight) })
	const ahead = 256
	var waiting []jetstream.PubAckFuture
	wait := func(f jetstream.PubAckFuture) error {
		select {
		case <-f.Ok():
			return nil
		case err := <-f.Err():
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, n := range order {
		subject := fmt.Sprintf("units.%s.%s.%d", r.ID, r.Accounts[units[n].Account].token(), n)
		f, err := q.js.PublishAsync(subject, nil, jetstream.WithMsgID(r.ID+"/"+strconv.Itoa(n)))
		if err != nil {
			return err
		}
		if waiting = append(waiting, f); len(waiting) > ahead {
			if err := wait(waiting[0]); err != nil {
				return err
			}
			waiting = waiting[1:]
		}
	}
	for _, f := range waiting {
		if err := wait(f); err != nil {
			return err
		}
	}
	return nil
}

// consumer returns what offers the units of an account, of all runs. Its limit holds on the server, for all workers.
func (q *Queue) consumer(ctx context.Context, a Account) (jetstream.Consumer, error) {
	name := "account-" + a.token()
	c, err := q.stream.Consumer(ctx, name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		c, err = q.stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
			Durable: name, FilterSubject: "units.*." + a.token() + ".>", AckPolicy: jetstream.AckExplicitPolicy,
			AckWait: q.lease, MaxDeliver: -1, MaxAckPending: cmp.Or(a.Limit, DefaultLimit),
		})
	}
	if err == nil && a.Limit > 0 && c.CachedInfo().Config.MaxAckPending != a.Limit {
		config := c.CachedInfo().Config
		config.MaxAckPending = a.Limit
		c, err = q.stream.UpdateConsumer(ctx, config)
	}
	if err != nil {
		return nil, fmt.Errorf("account %s: %w", a.Name(), err)
	}
	return c, nil
}

// validID reports whether a run may be called so: the id is a part of subjects and keys, and names a directory.
func validID(id string) bool {
	return id != "" && len(id) <= 128 && !strings.ContainsFunc(id, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_')
	})
}

// ErrNoRun means that the queue has no such run.
var ErrNoRun = errors.New("the queue has no such run")

// Run returns a run.
func (q *Queue) Run(ctx context.Context, id string) (Run, error) {
	var r Run
	if !validID(id) {
		return r, fmt.Errorf("run %.80q: %w", id, ErrNoRun)
	}
	rev, err := get(ctx, q.runs, id, &r)
	if err == nil && rev == 0 {
		err = ErrNoRun
	}
	if err != nil {
		return r, fmt.Errorf("run %s: %w", id, err)
	}
	return r, nil
}

// Runs returns the runs that the queue has, the oldest first.
func (q *Queue) Runs(ctx context.Context) ([]Run, error) {
	all, err := list[Run](ctx, q.runs, ">")
	if err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(all), func(a, b Run) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	}), nil
}

// Units returns the units of a run in the order of its plan.
func (q *Queue) Units(ctx context.Context, r Run) ([]Unit, error) {
	data, err := q.Load(ctx, r.Plan)
	if err != nil {
		return nil, err
	}
	var units []Unit
	if err := json.Unmarshal(data, &units); err != nil {
		return nil, fmt.Errorf("the plan of the run %s: %w: %w", r.ID, ErrContent, err)
	}
	for _, u := range units {
		if u.Account < 0 || u.Account >= len(r.Accounts) {
			return nil, fmt.Errorf("the plan of the run %s: unit %s has account %d of %d: %w", r.ID, u.ID, u.Account,
				len(r.Accounts), ErrContent)
		}
	}
	return units, nil
}

// Waiting reports whether units of a run wait or are under way.
func (q *Queue) Waiting(ctx context.Context, run string) (bool, error) {
	_, err := q.stream.GetMsg(ctx, 1, jetstream.WithGetMsgSubject("units."+run+".>"))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Remove removes all that the queue has of a run.
func (q *Queue) Remove(ctx context.Context, run string) error {
	if _, err := q.Run(ctx, run); err != nil {
		return err
	}
	if err := q.purge(ctx, q.files, run+".>"); err != nil { // first: then a full queue has room for what follows
		return fmt.Errorf("remove the run %s: %w", run, err)
	}
	// Workers that still have units of it learn that it has ended.
	if err := q.End(ctx, run, End{Kind: Cancelled, Why: "the run was removed"}); err != nil {
		return err
	}
	for _, of := range []struct {
		kv  jetstream.KeyValue
		key string
	}{
		{q.units, run + ".>"},
		{q.budget, run},
		{q.control, "refused." + run + ".>"},
		{q.control, "ended." + run},
		{q.files, run + ".>"}, // of what workers had not ended
		{q.runs, run},         // at last, so that whoever is interrupted can begin again
	} {
		if err := q.purge(ctx, of.kv, of.key); err != nil {
			return fmt.Errorf("remove the run %s: %w", run, err)
		}
	}
	return nil
}

// purge removes keys, and leaves no note of that.
func (q *Queue) purge(ctx context.Context, kv jetstream.KeyValue, pattern string) error {
	s, err := q.js.Stream(ctx, "KV_"+kv.Bucket())
	if err != nil {
		return err
	}
	return s.Purge(ctx, jetstream.WithPurgeSubject("$KV."+kv.Bucket()+"."+pattern))
}
