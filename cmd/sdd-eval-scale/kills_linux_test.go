package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/queue"
	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/scale"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// chaos is a queue with workers to which bad things happen.
type chaos struct {
	t       *testing.T
	dir     string // the project
	store   string // the server's
	server  *exec.Cmd
	addr    string
	workers []*victim
	stopped []*victim
	logs    string
}

// victim is a worker with its own way to the server.
type victim struct {
	cmd *exec.Cmd
	way *way
	log string
}

// startServer starts the server, at the address that it had.
func (c *chaos) startServer() {
	c.t.Helper()
	if c.addr == "" {
		c.addr = "127.0.0.1:-1"
	}
	cmd := child(c.t.Context(), "server", c.dir, c.store, c.addr)
	out, err := cmd.StdoutPipe()
	require.NoError(c.t, err)
	cmd.Stderr = os.Stderr
	require.NoError(c.t, cmd.Start())
	addr, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(c.t, err)
	c.server, c.addr = cmd, strings.TrimSpace(addr)
}

func (c *chaos) killServer() {
	require.NoError(c.t, c.server.Process.Kill())
	_ = c.server.Wait()
	c.startServer()
}

func (c *chaos) startWorker() {
	c.t.Helper()
	w := &victim{way: newWay(c.t, c.addr), log: filepath.Join(c.logs, fmt.Sprint(time.Now().UnixNano()))}
	log, err := os.Create(w.log)
	require.NoError(c.t, err)
	defer log.Close()
	w.cmd = child(c.t.Context(), "scale", c.dir, "worker", "--queue", "nats://"+w.way.addr, "--parallel", "2")
	w.cmd.Stderr = log
	require.NoError(c.t, w.cmd.Start())
	c.workers = append(c.workers, w)
}

// take takes a random worker away, and starts another one in its place.
func (c *chaos) take() *victim {
	i := rand.IntN(len(c.workers))
	w := c.workers[i]
	c.workers = append(c.workers[:i], c.workers[i+1:]...)
	c.startWorker()
	return w
}

func (c *chaos) kill() {
	w := c.take()
	require.NoError(c.t, w.cmd.Process.Kill())
	_ = w.cmd.Wait()
}

// stop makes a zombie of a worker, which goes on when the run has ended.
func (c *chaos) stop() {
	w := c.take()
	require.NoError(c.t, w.cmd.Process.Signal(syscall.SIGSTOP))
	c.stopped = append(c.stopped, w)
}

// cut cuts a worker off, until the run has ended.
func (c *chaos) cut() {
	w := c.take()
	w.way.cut()
	c.stopped = append(c.stopped, w)
}

// end ends the workers, the zombies too, and returns what they said.
func (c *chaos) end() string {
	for _, w := range c.stopped {
		require.NoError(c.t, w.cmd.Process.Signal(syscall.SIGCONT))
		w.way.mend()
	}
	var said strings.Builder
	for _, w := range append(c.workers, c.stopped...) {
		require.NoError(c.t, w.cmd.Process.Signal(syscall.SIGTERM))
		_ = w.cmd.Wait()
		data, err := os.ReadFile(w.log)
		require.NoError(c.t, err)
		said.Write(data)
	}
	return said.String()
}

// way is how a worker reaches the server: a proxy that can be cut, as a cable can, without that anybody is told.
type way struct {
	addr, to string
	listener net.Listener

	mu   sync.Mutex
	open *sync.Cond
	down bool
}

func newWay(t *testing.T, to string) *way {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &way{addr: l.Addr().String(), to: to, listener: l}
	w.open = sync.NewCond(&w.mu)
	t.Cleanup(func() { l.Close(); w.mend() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go w.connect(in)
		}
	}()
	return w
}

func (w *way) set(down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = down
	w.open.Broadcast()
}

func (w *way) cut()  { w.set(true) }
func (w *way) mend() { w.set(false) }

// pass waits while the way is cut.
func (w *way) pass() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.down {
		w.open.Wait()
	}
}

func (w *way) connect(in net.Conn) {
	defer in.Close()
	w.pass()
	out, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer out.Close()
	var both sync.WaitGroup
	carry := func(to, from net.Conn) {
		defer to.Close()
		buf := make([]byte, 32<<10)
		for {
			n, err := from.Read(buf)
			w.pass()
			if n > 0 {
				if _, err := to.Write(buf[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}
	both.Go(func() { carry(out, in) })
	both.Go(func() { carry(in, out) })
	both.Wait()
}

// marked returns the processes that have a text in their command lines.
func marked(t *testing.T, mark string) (found []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			continue // it has ended
		}
		line, _ := io.ReadAll(io.LimitReader(f, 4096))
		f.Close()
		if strings.Contains(string(line), mark) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// TestKills kills workers, stops them, cuts them off, and kills the server while a run goes on. In the end each unit of
// the plan has one result, no agent is left, and the budget is kept. With SOAK it does so for long.
func TestKills(t *testing.T) {
	units, workers, each := 14, 3, 3
	if os.Getenv("SOAK") != "" {
		units, workers, each = 1000, 8, 10
	}
	// A command of the agent that only this test has, which leaves a line each time it runs to its end.
	mark := filepath.Join(t.TempDir(), "ran")
	script := fmt.Sprintf(`{"turns": [{"actions": [
  {"usage": {"used": 1, "size": 9, "cost_usd": 0.01}},
  {"exec": {"command": "sh", "args": ["-c", "sleep 0.3; echo >> %s"]}}]}]}`, mark)
	dir := newProject(t, map[string]string{
		"agent.json": script,
		"kills.yaml": fmt.Sprintf(`name: kills
task: {prompt: Work.}
trials: {count: %d}
limits: {max_cost_usd: 0.02}
variants: {a: {agent: {kind: fake-acp, args: [agent.json]}}}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [a]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]
`, units),
	})
	c := &chaos{t: t, dir: dir, store: t.TempDir(), logs: t.TempDir()}
	left := ""
	t.Cleanup(func() {
		files, _ := filepath.Glob(filepath.Join(c.logs, "*"))
		for _, file := range files {
			if data, _ := os.ReadFile(file); t.Failed() {
				t.Logf("%s\n%s\n%s", left, file, data)
			}
		}
	})
	c.startServer()
	q, err := queue.Open(t.Context(), queue.Options{URL: "nats://" + c.addr, Lease: 3 * time.Second})
	require.NoError(t, err)
	defer q.Close()
	r, err := scale.Submit(t.Context(), q, scale.Options{
		Root: dir, Playbook: filepath.Join(dir, "kills.yaml"), Mode: "live", Attempts: 5, MaxUSD: float64(units),
	})
	require.NoError(t, err)
	for range workers {
		c.startWorker()
	}
	deeds := []func(){c.kill, c.stop, c.killServer, c.cut}
	next, done := each, 0
	for done < units {
		s, err := q.Status(t.Context(), r.ID)
		if err != nil {
			continue // the server starts
		}
		n := s.Counts()
		require.Zero(t, n.Failed, "%+v", s.Records)
		require.Nil(t, s.End)
		require.GreaterOrEqual(t, n.Done, done, "a result is gone")
		if done = n.Done; done >= next && done < units {
			next = done + each
			deeds[0]()
			deeds = append(deeds[1:], deeds[0])
		}
		time.Sleep(20 * time.Millisecond) // so that status does not keep the server from its work
	}
	require.Eventually(t, func() bool {
		waiting, err := q.Waiting(t.Context(), r.ID)
		s, _ := q.Status(t.Context(), r.ID)
		left = fmt.Sprintf("waiting: %v, %v, %v", waiting, s.Money, err)
		return err == nil && !waiting && len(s.Money.Reserved) == 0
	}, time.Minute, 50*time.Millisecond, "the queue is not empty")
	left = ""
	before, err := q.Status(t.Context(), r.ID)
	require.NoError(t, err)
	said := c.end()
	after, err := q.Status(t.Context(), r.ID)
	require.NoError(t, err)
	require.Equal(t, before.Records, after.Records, "a zombie has changed a result: %s", said)

	lost := 0
	for i, rec := range after.Records {
		require.Equal(t, "completed", rec.Done.Outcome, after.Units[i].ID)
		lost += rec.Attempt - 1
	}
	data, err := os.ReadFile(mark)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(data), units, "each ran to its end")
	require.Eventually(t, func() bool { return len(marked(t, mark)) == 0 }, time.Minute, 50*time.Millisecond,
		"an agent is left: %v", marked(t, mark))
	spent := after.Money.SpentUSD
	require.GreaterOrEqual(t, spent, float64(units)*.01-1e-6)
	require.LessOrEqual(t, spent, float64(units)*.01+float64(lost)*.02+1e-6)
	fetched, err := scale.Fetch(t.Context(), q, r.ID, dir, new(secret.Set))
	require.NoError(t, err)
	require.Empty(t, fetched.NotRun)
	require.Len(t, results(t, fetched.Dir), units)
	t.Logf("%d units, %d attempts lost, $%.2f spent", units, lost, spent)
}
