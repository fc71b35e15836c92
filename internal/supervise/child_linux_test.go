package supervise_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// childName is the argv[0] that makes the test binary one of the children below.
const childName = "supervise-test-child"

func TestMain(m *testing.M) {
	if os.Args[0] == childName {
		children[os.Args[1]](os.Args[2:])
		syscall.Exit(0) // not os.Exit, at which the race detector waits a second
	}
	os.Exit(m.Run())
}

// lifetime ends children that a failed test has left.
const lifetime = time.Minute

var children map[string]func(args []string)

func init() { // not a literal: some children start others
	children = map[string]func(args []string){
		"exit":     exitChild,
		"signal":   signalChild,
		"cat":      func([]string) { _, _ = io.Copy(os.Stdout, os.Stdin) },
		"describe": describeChild,
		"stubborn": stubbornChild,
		"polite":   func([]string) { fmt.Println("ready"); time.Sleep(lifetime) },
		"flood":    floodChild,
		"answer":   answerChild,
		"sleep":    sleepChild,
		"daemon":   func([]string) { spawn(true, "sleep") },
		"runner":   runnerChild,
		"family":   familyChild,
		"pair":     func([]string) { spawn(false, "sleep"); sleepChild(nil) },
		"mute":     func([]string) { os.Stdout.Close(); _, _ = io.Copy(io.Discard, os.Stdin) },
	}
}

func exitChild(args []string) {
	code, _ := strconv.Atoi(args[0])
	syscall.Exit(code)
}

// signalChild becomes a shell that ends by a signal: a Go program catches some signals.
func signalChild(args []string) {
	_ = syscall.Exec("/bin/sh", []string{"sh", "-c", "kill -$0 $$", args[0]}, nil)
}

// describeChild prints what it was given.
func describeChild([]string) {
	dir, _ := os.Getwd()
	fmt.Printf("args %q\nenv %q\ndir %s\n", os.Args, os.Environ(), dir)
}

// stubbornChild ignores the end of its input and every polite signal.
func stubbornChild([]string) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	fmt.Println("ready")
	time.Sleep(lifetime)
}

// floodSize is more than is kept of output that nobody reads.
const floodSize = 4 << 20

// floodChild writes until its input ends, and then writes floodSize more before it ends.
func floodChild([]string) {
	var last atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		last.Store(true)
	}()
	flood := strings.Repeat(strings.Repeat("x", 1023)+"\n", floodSize/1024)
	for !last.Load() {
		_, _ = io.WriteString(os.Stdout, flood)
	}
	_, _ = io.WriteString(os.Stdout, flood)
}

// answerChild writes as many bytes as its argument says when its input ends, and exits at once.
func answerChild(args []string) {
	n, _ := strconv.Atoi(args[0])
	_, _ = io.Copy(io.Discard, os.Stdin)
	_, _ = io.WriteString(os.Stdout, strings.Repeat("a", n))
}

// sleepChild writes its pid to stderr, keeps that open and ignores signals.
func sleepChild([]string) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	fmt.Fprintf(os.Stderr, "pid %d\n", os.Getpid())
	time.Sleep(lifetime)
}

// runnerChild runs away: each generation starts the next in a session of its own and ends.
func runnerChild(args []string) {
	generation, _ := strconv.Atoi(args[0])
	if generation < 2000 {
		spawn(true, "runner", strconv.Itoa(generation+1))
	}
}

// family is the number of processes of familyChild that write their pid.
const family = 4

// familyChild starts children of every kind. Unless its argument is stay, it ends when its input does, before them.
func familyChild(args []string) {
	spawn(false, "sleep")
	spawn(true, "sleep")  // setsid
	spawn(true, "daemon") // setsid and double fork
	if args[0] == "stay" {
		sleepChild(nil)
	}
	// Leave when the others have written their pids. Only the test knows when.
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// spawn starts another child, with the same streams.
func spawn(setsid bool, args ...string) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = append([]string{childName}, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: setsid}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "spawn:", err)
	}
}

// command returns the command that runs a child.
func command(t testing.TB, args ...string) supervise.Command {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	return supervise.Command{Path: exe, Args: append([]string{childName}, args...)}
}

// start starts the command and kills it when the test ends.
func start(t testing.TB, c supervise.Command) *supervise.Process {
	t.Helper()
	p, err := supervise.Start(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := p.Kill()
		require.NotContains(t, fmt.Sprint(err), "did not end", "the supervisor")
	})
	return p
}

// tether is a pipe whose writing end only processes of a tree hold: it ends when all of them have ended.
type tether struct {
	t     testing.TB
	r     *os.File
	lines *bufio.Scanner
}

// newTether returns the tether and its writing end, to be closed by the caller once the tree has it.
func newTether(t testing.TB) (*tether, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { r.Close(); w.Close() })
	require.NoError(t, r.SetReadDeadline(time.Now().Add(lifetime/2)))
	return &tether{t, r, bufio.NewScanner(r)}, w
}

// processes waits until n processes have written their pid.
func (f *tether) processes(n int) []process {
	f.t.Helper()
	var all []process
	for len(all) < n && f.lines.Scan() {
		if pid, ok := strings.CutPrefix(f.lines.Text(), "pid "); ok {
			n, err := strconv.Atoi(pid)
			require.NoError(f.t, err)
			all = append(all, look(n))
		}
	}
	require.Len(f.t, all, n, "processes that wrote their pid; %v", f.lines.Err())
	return all
}

// ended waits until no process of the tree is left.
func (f *tether) ended(all []process) {
	f.t.Helper()
	for f.lines.Scan() {
		f.t.Log(f.lines.Text())
	}
	require.NoError(f.t, f.lines.Err(), "waiting for the tree to end")
	for _, p := range all {
		require.Eventually(f.t, func() bool { return !p.lives() }, lifetime/2, time.Millisecond, "process %d", p.pid)
	}
}

// process is what /proc says about a process. The zero value is no process.
type process struct {
	pid, parent int
	state       string
	started     string // distinguishes it from another process with the same pid
}

// look returns the process with the pid, zombies included.
func look(pid int) process {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:])) // from the third on
	parent, _ := strconv.Atoi(fields[1])
	return process{pid: pid, parent: parent, state: fields[0], started: fields[19]}
}

// there reports whether the process exists, if only as a zombie.
func (p process) there() bool { return look(p.pid).started == p.started }

func (p process) lives() bool {
	now := look(p.pid)
	return now.started == p.started && now.state != "Z"
}
