package main

import (
	"bufio"
	"errors"
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
	temp    string // for the workers' directories
	// plug gives a worker, which is not started, its way to the server.
	plug func(c *chaos, cmd *exec.Cmd) (way, string)
	q    *queue.Queue
	left string // what a failure is to tell
}

// newChaos starts a server for a project with these files.
func newChaos(t *testing.T, addr string, plug func(*chaos, *exec.Cmd) (way, string), files map[string]string) *chaos {
	t.Helper()
	c := &chaos{
		t: t, addr: addr, plug: plug, dir: newProject(t, files), store: t.TempDir(), logs: t.TempDir(),
		temp: t.TempDir(),
	}
	t.Cleanup(func() {
		files, _ := filepath.Glob(filepath.Join(c.logs, "*"))
		for _, file := range files {
			if data, _ := os.ReadFile(file); t.Failed() {
				t.Logf("%s\n%s\n%s", c.left, file, data)
			}
		}
	})
	c.startServer()
	var err error
	c.q, err = queue.Open(t.Context(), queue.Options{URL: "nats://" + c.addr, Lease: 3 * time.Second})
	require.NoError(t, err)
	t.Cleanup(c.q.Close)
	return c
}

// submit submits a run of a playbook.
func (c *chaos) submit(playbook string, change func(*scale.Options)) queue.Run {
	c.t.Helper()
	o := scale.Options{Root: c.dir, Playbook: filepath.Join(c.dir, playbook), Mode: "live", Attempts: 5}
	if change != nil {
		change(&o)
	}
	r, err := scale.Submit(c.t.Context(), c.q, o)
	require.NoError(c.t, err)
	return r
}

// until waits until the run's status is as wanted.
func (c *chaos) until(r queue.Run, wanted func(queue.Status) bool) (s queue.Status) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		var err error
		s, err = c.q.Status(c.t.Context(), r.ID)
		c.left = fmt.Sprintf("%+v, %v", s, err)
		return err == nil && wanted(s)
	}, time.Minute, 20*time.Millisecond)
	c.left = ""
	return s
}

// command does something at the queue, and returns the exit code and what is said of it.
func (c *chaos) command(args ...string) (code int, out, said string) {
	c.t.Helper()
	return do(c.t, child(c.t.Context(), "scale", c.dir, append(args, "--queue", "nats://"+c.addr)...))
}

// victim is a worker with its own way to the server.
type victim struct {
	cmd *exec.Cmd
	way way
	log string
}

// way is how a worker reaches the server. It can be cut, as a cable can, without that anybody is told.
type way interface {
	// join is called when the worker has started.
	join(pid int)
	cut()
	mend()
}

// startServer starts the server, at the address that it had.
func (c *chaos) startServer() {
	c.t.Helper()
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

func (c *chaos) startWorker(args ...string) {
	c.t.Helper()
	w := &victim{log: filepath.Join(c.logs, fmt.Sprint(time.Now().UnixNano()))}
	log, err := os.Create(w.log)
	require.NoError(c.t, err)
	defer log.Close()
	w.cmd = child(c.t.Context(), "scale", c.dir, append([]string{"worker", "--parallel", "2"}, args...)...)
	var addr string
	w.way, addr = c.plug(c, w.cmd)
	w.cmd.Args = append(w.cmd.Args, "--queue", "nats://"+addr)
	w.cmd.Env = append(w.cmd.Env, "TMPDIR="+c.temp)
	w.cmd.Stderr = log
	require.NoError(c.t, w.cmd.Start())
	w.way.join(w.cmd.Process.Pid)
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

// wake lets the worker go on that was stopped or cut off first.
func (c *chaos) wake() {
	if len(c.stopped) == 0 {
		return
	}
	w := c.stopped[0]
	require.NoError(c.t, w.cmd.Process.Signal(syscall.SIGCONT))
	w.way.mend()
	c.stopped, c.workers = c.stopped[1:], append(c.workers, w)
}

// end ends the workers, the zombies too, and returns what they said.
func (c *chaos) end() string {
	for len(c.stopped) > 0 {
		c.wake()
	}
	var said strings.Builder
	for _, w := range c.workers {
		require.NoError(c.t, w.cmd.Process.Signal(syscall.SIGTERM))
		_ = w.cmd.Wait()
		data, err := os.ReadFile(w.log)
		require.NoError(c.t, err)
		said.Write(data)
	}
	c.workers = nil
	return said.String()
}

// proxy is a way that passes nothing on while it is cut, and closes nothing.
type proxy struct {
	to string

	mu   sync.Mutex
	open *sync.Cond
	down bool
}

func newProxy(c *chaos, _ *exec.Cmd) (way, string) {
	c.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(c.t, err)
	w := &proxy{to: c.addr}
	w.open = sync.NewCond(&w.mu)
	c.t.Cleanup(func() { l.Close(); w.mend() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go w.connect(in)
		}
	}()
	return w, l.Addr().String()
}

func (w *proxy) join(int) {}

func (w *proxy) set(down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = down
	w.open.Broadcast()
}

func (w *proxy) cut()  { w.set(true) }
func (w *proxy) mend() { w.set(false) }

// pass waits while the way is cut.
func (w *proxy) pass() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.down {
		w.open.Wait()
	}
}

func (w *proxy) connect(in net.Conn) {
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

// TestKills kills workers, stops them, cuts them off, lets them go on later, and kills the server while a run goes on.
// With SOAK it does so for long, and kills a worker each second.
func TestKills(t *testing.T) {
	units, workers, each, kill := 14, 3, 2, time.Duration(0)
	if os.Getenv("SOAK") != "" {
		units, workers, each, kill = 1000, 8, 20, time.Second
	}
	c, mark := newPlay(t, "127.0.0.1:-1", newProxy, units)
	c.play(mark, units, workers, each, kill, c.kill, c.stop, c.killServer, c.cut, c.wake)
}

// TestPartition cuts workers off that are in network namespaces of their own, in the midst of their units, and joins
// them again.
func TestPartition(t *testing.T) {
	if _, err := exec.LookPath("ip"); err != nil {
		skip(t, "there is no ip (iproute2), which connects network namespaces")
	}
	if !enclosed(t, syscall.CLONE_NEWNET) {
		return
	}
	ip(t, "link", "set", "lo", "up")
	units, workers, each := 12, 3, 2
	if os.Getenv("SOAK") != "" {
		units, workers, each = 200, 8, 4
	}
	c, mark := newPlay(t, "0.0.0.0:-1", newCable, units)
	c.play(mark, units, workers, each, 0, c.cut, c.cut, c.wake)
}

// cable is a way between two network namespaces.
type cable struct {
	t    *testing.T
	n    int
	told io.WriteCloser
}

// cables counts those of a test.
var cables int

func newCable(c *chaos, cmd *exec.Cmd) (way, string) {
	cables++
	w := &cable{t: c.t, n: cables}
	// The worker waits until the cable is there.
	script := fmt.Sprintf(`read -r _; ip addr add %s/30 dev worker && ip link set worker up && exec "$@"`, w.addr(2))
	cmd.Args = append([]string{"sh", "-c", script, "sh"}, cmd.Args...)
	var err error
	cmd.Path, err = exec.LookPath("sh")
	require.NoError(c.t, err)
	w.told, err = cmd.StdinPipe()
	require.NoError(c.t, err)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	_, port, err := net.SplitHostPort(c.addr)
	require.NoError(c.t, err)
	return w, net.JoinHostPort(w.addr(1), port)
}

// addr is the address of an end.
func (w *cable) addr(end int) string { return fmt.Sprintf("10.%d.%d.%d", w.n/250, w.n%250, end) }

func (w *cable) name() string { return fmt.Sprint("cable", w.n) }

func (w *cable) join(pid int) {
	ip(w.t, "link", "add", w.name(), "type", "veth", "peer", "name", "worker", "netns", fmt.Sprint(pid))
	ip(w.t, "addr", "add", w.addr(1)+"/30", "dev", w.name())
	w.mend()
	require.NoError(w.t, w.told.Close()) // then read ends
}

func (w *cable) cut()  { ip(w.t, "link", "set", w.name(), "down") }
func (w *cable) mend() { ip(w.t, "link", "set", w.name(), "up") }

func ip(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.Command("ip", args...).CombinedOutput()
	require.NoError(t, err, "ip %v: %s", args, out)
}

// enclosed runs the calling test in namespaces of its own, in which it is root, and reports whether it does so already.
func enclosed(t *testing.T, namespaces uintptr) bool {
	t.Helper()
	const inside = "SDD_EVAL_SCALE_TEST_ENCLOSED"
	if os.Getenv(inside) != "" {
		return true
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.v", "-test.timeout=0", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | namespaces,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		skip(t, "this machine allows no user namespaces")
	}
	t.Logf("%s", out)
	require.NoError(t, err)
	require.Contains(t, string(out), "--- PASS: "+t.Name())
	return false
}

// skip skips a test that this machine cannot run; CI has what it needs.
func skip(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// newPlay makes a project with units. Each attempt that runs to its end leaves a line in the file mark, which only its
// agents name.
func newPlay(t *testing.T, addr string, plug func(*chaos, *exec.Cmd) (way, string), units int) (c *chaos, mark string) {
	mark = filepath.Join(t.TempDir(), "ran")
	return newChaos(t, addr, plug, map[string]string{
		"agent.json": fmt.Sprintf(`{"turns": [{"actions": [
  {"usage": {"used": 1, "size": 9, "cost_usd": 0.01}},
  {"exec": {"command": "sh", "args": ["-c", "sleep 0.3; echo >> %s"]}}]}]}`, mark),
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
	}), mark
}

// play has workers carry out units, and does the next of the deeds after each few results, and kills a worker every so
// often, unless that is 0. In the end each unit of the plan has one result, no agent and no directory is left, and the
// budget is kept.
func (c *chaos) play(mark string, units, workers, each int, kill time.Duration, deeds ...func()) {
	t, q := c.t, c.q
	r := c.submit("kills.yaml", func(o *scale.Options) { o.MaxUSD = float64(units) })
	for range workers {
		c.startWorker()
	}
	began, killed := time.Now(), 0
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
		if kill > 0 && time.Since(began) > time.Duration(killed+1)*kill {
			c.kill()
			killed++
		}
		time.Sleep(20 * time.Millisecond) // so that status does not keep the server from its work
	}
	took := time.Since(began)
	require.Eventually(t, func() bool {
		waiting, err := q.Waiting(t.Context(), r.ID)
		s, _ := q.Status(t.Context(), r.ID)
		c.left = fmt.Sprintf("waiting: %v, %v, %v", waiting, s.Money, err)
		return err == nil && !waiting && len(s.Money.Reserved) == 0
	}, time.Minute, 50*time.Millisecond, "the queue is not empty")
	c.left = ""
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
	c.sweeps()
	spent := after.Money.SpentUSD
	require.GreaterOrEqual(t, spent, float64(units)*.01-1e-6)
	require.LessOrEqual(t, spent, float64(units)*.01+float64(lost)*.02+1e-6)
	fetched, err := scale.Fetch(t.Context(), q, r.ID, c.dir, new(secret.Set))
	require.NoError(t, err)
	require.Empty(t, fetched.NotRun)
	require.Len(t, results(t, fetched.Dir), units)
	t.Logf("%d units in %.0f s, %d attempts lost, %d killed by the clock, $%.2f spent", units, took.Seconds(), lost,
		killed, spent)
}

// sweeps holds that a worker removes what killed ones have left, and leaves nothing itself.
func (c *chaos) sweeps() {
	var left []string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); { // the process of a unit may still end
		c.startWorker()
		require.Eventually(c.t, func() bool {
			said, err := os.ReadFile(c.workers[0].log)
			return err == nil && strings.Contains(string(said), "worker ")
		}, time.Minute, 10*time.Millisecond)
		c.end()
		var err error
		left, err = filepath.Glob(filepath.Join(c.temp, "*", "*"))
		require.NoError(c.t, err)
		if len(left) == 0 {
			return
		}
	}
	require.Empty(c.t, left)
}
