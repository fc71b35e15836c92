// Package queue keeps runs in NATS JetStream: their units wait in a work-queue stream, and what is known of them is in
// key-value buckets.
//
//	stream  units.<run>.<account>.<n>   a unit that has no result; n is its place in the plan
//	bucket  runs      what is run: the playbook's bundle by its digest, the plan, options
//	bucket  units     a unit's record: who has its lease, then its result
//	bucket  budget    what a run has spent, and what its running units have reserved
//	bucket  control   runs that have ended, accounts that pause, workers that refuse a run
//	bucket  workers   workers that are there
//	bucket  files     bundles, plans and archives, in pieces
//
// A unit's record changes by compare-and-set only. Whoever takes a unit over writes the record, and from then on the
// former holder of the lease can write it no more: neither its heartbeat nor its result is taken. So each unit is
// started at least once and has one result. The server's own timer on a message (AckWait) only decides when a unit is
// offered again; no decision compares clocks of two machines.
package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Options say where the queue is.
type Options struct {
	// URL is that of a server or several, separated by commas.
	URL string
	// InProcess is a server in this process, in place of URL; nil: there is none.
	InProcess nats.InProcessConnProvider
	// Credentials is a NATS credentials file; CA, Cert and Key are PEM files for TLS. All may be empty.
	Credentials, CA, Cert, Key string
	// Replicas is how many servers keep a queue that is new; 0: one. One that exists keeps its own: another number
	// is an error.
	Replicas int
	// Lease is how long a unit stays with a worker that says nothing, for a queue that is new; 0: [DefaultLease]. One
	// that exists keeps its own: another one is an error.
	Lease time.Duration
	// Name is what the servers' logs call this connection.
	Name string
}

// DefaultLease is the lease of queues that were told none.
const DefaultLease = 30 * time.Second

// Queue is a queue. It is safe for concurrent use.
type Queue struct {
	nc                                           *nats.Conn
	js                                           jetstream.JetStream
	stream                                       jetstream.Stream
	runs, units, budget, control, workers, files jetstream.KeyValue
	lease                                        time.Duration
}

const (
	streamName = "SDD_EVAL_UNITS"
	bucket     = "sdd_eval_"
	// asked is how long a request to the server may take.
	asked = 5 * time.Second
)

// Open connects to a queue, and makes what of it does not exist.
func Open(ctx context.Context, o Options) (*Queue, error) {
	q, err := open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("queue %s: %w", Shown(o), err)
	}
	return q, nil
}

// Shown is the queue's name for people: a URL may have a password in it.
func Shown(o Options) string {
	if o.InProcess != nil {
		return "embedded"
	}
	parts := strings.Split(o.URL, "://")
	for i, part := range parts { // a password that is not escaped may have commas
		parts[i] = part[strings.LastIndexByte(part, '@')+1:]
	}
	return strings.Join(parts, "://")
}

// ErrURL is the error of a URL that cannot be read. It does not quote it: that may have a password in it.
var ErrURL = errors.New("its URL cannot be read: what a name or a password has beside letters and digits is written " +
	"as in %40, which is @")

func open(ctx context.Context, o Options) (_ *Queue, err error) {
	options := []nats.Option{
		nats.Name(o.Name), nats.MaxReconnects(-1), nats.ReconnectWait(200 * time.Millisecond), nats.Timeout(asked),
		// What is sent while there is no server must not arrive later, out of its time.
		nats.ReconnectBufSize(-1),
		nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // callers get their errors
	}
	if o.InProcess != nil {
		options = append(options, nats.InProcessServer(o.InProcess))
	}
	if o.Credentials != "" {
		options = append(options, nats.UserCredentials(o.Credentials))
	}
	if o.CA != "" {
		options = append(options, nats.RootCAs(o.CA))
	}
	if o.Cert != "" || o.Key != "" {
		options = append(options, nats.ClientCert(o.Cert, o.Key))
	}
	q := &Queue{}
	q.nc, err = nats.Connect(o.URL, options...)
	if _, ok := errors.AsType[*url.Error](err); ok {
		err = ErrURL
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			q.nc.Close()
		}
	}()
	if q.js, err = jetstream.New(q.nc, jetstream.WithDefaultTimeout(asked)); err != nil {
		return nil, err
	}
	replicas := max(o.Replicas, 1)
	q.stream, err = q.js.Stream(ctx, streamName)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		q.stream, err = q.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: streamName, Subjects: []string{"units.>"}, Retention: jetstream.WorkQueuePolicy,
			Storage: jetstream.FileStorage, Replicas: replicas, Duplicates: 10 * time.Minute,
		})
	}
	if err == nil {
		if n := q.stream.CachedInfo().Config.Replicas; o.Replicas != 0 && n != o.Replicas {
			err = fmt.Errorf("it is kept by %d servers, and %d were asked for: who opens a queue first decides", n,
				o.Replicas)
		}
	}
	if err != nil {
		return nil, err
	}
	if q.control, err = q.bucket(ctx, "control", replicas, 0); err != nil {
		return nil, err
	}
	if q.lease, err = q.agreeOnLease(ctx, o.Lease); err != nil {
		return nil, err
	}
	for name, kv := range map[string]*jetstream.KeyValue{
		"runs": &q.runs, "units": &q.units, "budget": &q.budget, "files": &q.files, "workers": &q.workers,
	} {
		var ttl time.Duration
		if name == "workers" {
			ttl = max(2*q.lease, time.Second)
		}
		if *kv, err = q.bucket(ctx, name, replicas, ttl); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// bucket returns a bucket, which it makes if it does not exist.
func (q *Queue) bucket(
	ctx context.Context, name string, replicas int, ttl time.Duration,
) (jetstream.KeyValue, error) {
	kv, err := q.js.KeyValue(ctx, bucket+name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = q.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: bucket + name, Storage: jetstream.FileStorage, Replicas: replicas, TTL: ttl,
			LimitMarkerTTL: time.Second, // so that keys may expire
		})
	}
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", name, err)
	}
	return kv, nil
}

// agreeOnLease returns the queue's lease, which the first process that opens it decides: were it another one later,
// units that run would be taken from their workers.
func (q *Queue) agreeOnLease(ctx context.Context, wanted time.Duration) (time.Duration, error) {
	lease := wanted
	if lease == 0 {
		lease = DefaultLease
	}
	_, err := q.control.Create(ctx, "lease", []byte(lease.String()))
	if err == nil || !errors.Is(err, jetstream.ErrKeyExists) {
		return lease, err
	}
	entry, err := q.control.Get(ctx, "lease")
	if err != nil {
		return 0, err
	}
	if lease, err = time.ParseDuration(string(entry.Value())); err != nil || lease <= 0 {
		return 0, fmt.Errorf("its lease is %q: want a time", entry.Value())
	}
	if wanted != 0 && wanted != lease {
		return 0, fmt.Errorf("its lease is %v, and %v was asked for: a queue keeps its lease", lease, wanted)
	}
	return lease, nil
}

// Lease returns how long a unit stays with a worker that says nothing.
func (q *Queue) Lease() time.Duration { return q.lease }

// Close ends the connection.
func (q *Queue) Close() { q.nc.Close() }

// errNoRoom means that a server answers and writes nothing: so does one whose disk is full.
var errNoRoom = errors.New("its server answers, and stores nothing")

// Full reports whether an error is that the queue's server has no room for what is written: its limit is reached, its
// disk is full, or it was, and the server has stopped JetStream.
func Full(err error) bool {
	const resources, storage, store = 10023, 10047, 10077
	var api *jetstream.APIError
	return off(err) || errors.Is(err, errNoRoom) || errors.As(err, &api) &&
		slices.Contains([]jetstream.ErrorCode{resources, storage, store}, api.ErrorCode)
}

// off reports whether an error is that the server has no JetStream.
func off(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeJetStreamNotEnabled ||
		api.ErrorCode == jetstream.JSErrCodeJetStreamNotEnabledForAccount)
}

// Explained returns an error of the queue for people.
func Explained(err error) error {
	switch {
	case off(err):
		return fmt.Errorf("the queue's server has no JetStream, or stopped it as its disk was full: %w", err)
	case Full(err):
		return fmt.Errorf("the queue has no room, as its disk is full or its limit is reached: %w", err)
	}
	return err
}

// errMoved means that a key has changed since it was read.
var errMoved = errors.New("it has changed meanwhile")

// moved reports whether a write failed because the key is not as it was read.
func moved(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant) // of several servers: it is being written
}

// put writes a value by compare-and-set; revision 0: there must be none. If the key has changed, it returns [errMoved].
func put(ctx context.Context, kv jetstream.KeyValue, key string, v any, revision uint64) (uint64, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return 0, err
	}
	if revision == 0 {
		revision, err = kv.Create(ctx, key, data)
	} else {
		revision, err = kv.Update(ctx, key, data, revision)
	}
	if moved(err) {
		return 0, errMoved
	}
	return revision, err
}

// get reads a value and returns its revision, 0 if there is none.
func get(ctx context.Context, kv jetstream.KeyValue, key string, v any) (uint64, error) {
	entry, err := kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if err := json.Unmarshal(entry.Value(), v); err != nil {
		return 0, fmt.Errorf("%s: %w", key, err)
	}
	return entry.Revision(), nil
}

// list returns the values of a bucket whose keys match a pattern, by their keys.
func list[V any](ctx context.Context, kv jetstream.KeyValue, pattern string) (map[string]V, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	quiet := time.AfterFunc(asked, func() { end(context.DeadlineExceeded) })
	defer quiet.Stop()
	w, err := kv.Watch(ctx, pattern, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	defer func() {
		_ = w.Stop() // it may have ended
		go func() {  // so that what is still told keeps nobody waiting
			for range w.Updates() {
			}
		}()
	}()
	all := make(map[string]V)
	for entry := range w.Updates() {
		if entry == nil { // these were all
			return all, nil
		}
		quiet.Reset(asked)
		var v V
		if err := json.Unmarshal(entry.Value(), &v); err != nil {
			return nil, fmt.Errorf("%s: %w", entry.Key(), err)
		}
		all[entry.Key()] = v
	}
	err = cmp.Or(context.Cause(ctx), errors.New("the connection ended before the list was complete"))
	return nil, fmt.Errorf("list %s of %s: %w", pattern, kv.Bucket(), err)
}
