package worker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/bundle"
	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/embedded"
	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/queue"
	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/unit"
)

// mute makes the test's program a process that carries out a unit and says nothing. It carries out what units share.
const mute = "be-mute"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == mute {
		in := bufio.NewReader(os.Stdin)
		var spec unit.Spec
		if line, err := in.ReadBytes('\n'); err == nil && json.Unmarshal(line, &spec) == nil && spec.Unit == "" {
			_ = json.NewEncoder(os.Stdout).Encode(unit.Message{End: &unit.End{Kind: unit.Done}})
			return
		}
		_, _ = io.Copy(io.Discard, in)
		return
	}
	os.Exit(m.Run())
}

// watched is a server that tells what is sent to it.
type watched struct {
	nats.InProcessConnProvider
	sent func([]byte)
}

func (w watched) InProcessConn() (net.Conn, error) {
	c, err := w.InProcessConnProvider.InProcessConn()
	return &watchedConn{c, w.sent}, err
}

type watchedConn struct {
	net.Conn
	sent func([]byte)
}

func (c *watchedConn) Write(data []byte) (int, error) {
	c.sent(data)
	return c.Conn.Write(data)
}

// newWorker returns a worker of a queue with the run "r" of one replay.
func newWorker(t *testing.T, r queue.Run, sent func([]byte)) *Worker {
	t.Helper()
	s, err := embedded.Start(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(s.Close)
	q, err := queue.Open(t.Context(), queue.Options{InProcess: watched{s, sent}, Lease: 2 * time.Second})
	require.NoError(t, err)
	t.Cleanup(q.Close)
	data, _, err := bundle.Pack(t.TempDir(), nil, false, nil)
	require.NoError(t, err)
	r.ID, r.Accounts = "r", []queue.Account{{Kind: Replays}}
	_, err = q.Submit(t.Context(), r, []queue.Unit{{ID: "p/c/v/1"}}, data)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	lock, err := os.Create(filepath.Join(t.TempDir(), "lock"))
	require.NoError(t, err)
	t.Cleanup(func() { lock.Close() })
	return &Worker{
		Lock: lock, Queue: q, ID: "w", Parallel: 1, Dir: t.TempDir(), Command: []string{self, mute}, Log: t.Logf,
		runs: make(map[string]*prepared),
	}
}

// TestNewWhileLooking: a unit of a new run is taken while the worker looks which runs there are. It is not forgotten.
func TestNewWhileLooking(t *testing.T) {
	var w *Worker
	var once sync.Once
	w = newWorker(t, queue.Run{}, func(data []byte) {
		if bytes.Contains(data, []byte("ended.r")) { // the runs were listed
			once.Do(func() { w.prepared(queue.Run{ID: "new"}) })
		}
	})
	require.NoError(t, w.look(t.Context()))
	require.Contains(t, w.runs, "new")
	require.False(t, w.runs["new"].over)
	require.NoError(t, w.look(t.Context()))
	require.NotContains(t, w.runs, "new", "the queue has no such run")
}

// TestSilent: a unit that shows no progress is an attempt that failed, and has as many of them as the run allows.
func TestSilent(t *testing.T) {
	w := newWorker(t, queue.Run{Attempts: 2, Silence: 100 * time.Millisecond}, func([]byte) {})
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { _ = w.Run(ctx) })
	defer group.Wait()
	defer cancel()
	var s queue.Status
	require.Eventually(t, func() bool {
		var err error
		s, err = w.Queue.Status(t.Context(), "r")
		require.NoError(t, err)
		return s.Counts().Failed == 1
	}, time.Minute, 20*time.Millisecond)
	require.Equal(t, "2 attempts failed, the last one on w: it showed no progress for 100ms: its agent was ended",
		s.Records[0].Done.Why)
}
