package supervise_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// hostVariable makes a test binary the host: a process that will end suddenly.
const hostVariable = "SUPERVISE_TEST_HOST"

// scratchVariable names the directory that has to be gone after the end.
const scratchVariable = "SUPERVISE_TEST_SCRATCH"

// hostTetherFD is where the host finds the tether's writing end.
const hostTetherFD = 3

// TestNothingSurvivesUs ends a test binary that has a supervised family, in ways in which no deferred function and no
// Cleanup runs.
func TestNothingSurvivesUs(t *testing.T) {
	if os.Getenv(hostVariable) != "" {
		host(t, "family", "stay")
		return
	}
	tests := []struct {
		name    string
		timeout string // of the test binary
		end     func(host *os.Process, input io.Writer) error
		want    string
	}{
		{
			name: "sigkill", timeout: "1m", want: "signal: killed",
			end: func(host *os.Process, _ io.Writer) error { return host.Kill() },
		},
		{
			name: "test-timeout", timeout: "1s", want: "exit status 2",
			end: func(*os.Process, io.Writer) error { return nil },
		},
		{
			name: "os-exit", timeout: "1m", want: "exit status 7",
			end: func(_ *os.Process, input io.Writer) error { _, err := input.Write([]byte("x")); return err },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			scratch := filepath.Join(t.TempDir(), "scratch")
			require.NoError(t, os.MkdirAll(filepath.Join(scratch, "below"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(scratch, "below", "file"), nil, 0o444))
			require.NoError(t, os.Chmod(filepath.Join(scratch, "below"), 0o555))
			tether, host, input := startHost(t, "TestNothingSurvivesUs", tt.timeout, scratchVariable+"="+scratch)

			all := tether.processes(family)
			all = append(all, supervisor(t, all))
			require.NoError(t, tt.end(host.Process, input))
			assert.EqualError(t, host.Wait(), tt.want)
			tether.ended(all)
			assert.NoDirExists(t, scratch)
		})
	}
}

// startHost runs one test of this package in a test binary of its own. The tether is for the processes that it starts.
func startHost(t *testing.T, test, timeout string, env ...string) (*tether, *exec.Cmd, io.Writer) {
	t.Helper()
	tether, w := newTether(t)
	host := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.timeout="+timeout)
	host.Env = append(append(os.Environ(), hostVariable+"=1"), env...)
	host.ExtraFiles = []*os.File{w}
	input, err := host.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, host.Start())
	t.Cleanup(func() { _ = host.Process.Kill() })
	w.Close()
	return tether, host, input
}

// host is the test in a test binary of its own. It has a child until it ends, under a supervisor that has had another
// child before.
func host(t *testing.T, child ...string) {
	_, err := start(t, command(t, "exit", "0")).Wait()
	require.NoError(t, err)
	w := os.NewFile(hostTetherFD, "tether")
	c := command(t, child...)
	c.Stderr, c.Scratch = w, os.Getenv(scratchVariable)
	start(t, c)
	w.Close()
	_, _ = os.Stdin.Read(make([]byte, 1))
	os.Exit(7)
}

// supervisor returns the process above a tree of which the direct child is known.
func supervisor(t *testing.T, tree []process) process {
	t.Helper()
	for _, p := range tree {
		if len(tree) == 1 || slices.ContainsFunc(tree, func(q process) bool { return q.parent == p.pid }) {
			return look(p.parent)
		}
	}
	t.Fatal("no process of the tree has a child")
	return process{}
}

func TestNothingSurvivesTheChild(t *testing.T) {
	tests := []struct {
		name  string
		leave bool
		end   func(p *supervise.Process)
		want  supervise.Exit
	}{
		{name: "exit", leave: true, end: func(p *supervise.Process) { p.Stdin.Close() }},
		{
			name: "stop", end: func(p *supervise.Process) { _, _ = p.Stop(context.Background()) },
			want: supervise.Exit{Code: -1, Signal: "SIGKILL"},
		},
		{
			name: "kill", end: func(p *supervise.Process) { _, _ = p.Kill() },
			want: supervise.Exit{Code: -1, Signal: "SIGKILL"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			noLeaks(t)
			tether, w := newTether(t)
			c := command(t, "family", "stay")
			n := family
			if tt.leave {
				c, n = command(t, "family", "leave"), family-1
			}
			// The grandchildren hold both, which must not keep Wait from returning.
			c.Stderr, c.PipeStdin, c.PipeStdout, c.Grace = w, true, true, 50*time.Millisecond
			p := start(t, c)
			w.Close()
			all := tether.processes(n)
			tt.end(p)
			exit, err := p.Wait()
			require.NoError(t, err)
			assert.Equal(t, tt.want, exit)
			for _, p := range all {
				assert.False(t, p.there(), "process %d when Wait has returned", p.pid)
			}
			_, err = io.ReadAll(p.Stdout)
			require.NoError(t, err)
		})
	}
}

// TestRunnerIsCaught: a process that is another one all the time, each in its own session, is caught all the same.
func TestRunnerIsCaught(t *testing.T) {
	tether, w := newTether(t)
	c := command(t, "runner", "0")
	c.Stderr = w
	p := start(t, c)
	w.Close()
	exit, err := p.Wait()
	require.NoError(t, err)
	assert.Equal(t, supervise.Exit{}, exit)
	tether.ended(nil)
}

// TestOrphansAreReaped: while the child lives, descendants that lost their parent and ended do not stay as zombies.
func TestOrphansAreReaped(t *testing.T) {
	tether, w := newTether(t)
	c := command(t, "family", "stay")
	c.Stderr = w
	start(t, c)
	w.Close()
	all := tether.processes(family)
	above := supervisor(t, all)
	var orphans []process
	require.Eventually(t, func() bool {
		orphans = slices.DeleteFunc(slices.Clone(all), func(p process) bool {
			return look(p.pid).parent != above.pid ||
				slices.ContainsFunc(all, func(q process) bool { return q.parent == p.pid })
		})
		return len(orphans) == 1
	}, lifetime/2, time.Millisecond)
	require.NoError(t, syscall.Kill(orphans[0].pid, syscall.SIGKILL))
	require.Eventually(t, func() bool { return !orphans[0].there() }, lifetime/2, time.Millisecond)
}

// TestSupervisorKilled: the child and its process group are killed without it, and Wait says what happened.
func TestSupervisorKilled(t *testing.T) {
	noLeaks(t)
	tether, w := newTether(t)
	c := command(t, "pair")
	c.Stderr, c.PipeStdin, c.PipeStdout = w, true, true
	p := start(t, c)
	w.Close()
	all := tether.processes(2)
	require.NoError(t, syscall.Kill(supervisor(t, all).pid, syscall.SIGKILL))
	exit, err := p.Wait()
	require.EqualError(t, err, "the supervisor ended before its child; it may have been killed")
	assert.Equal(t, supervise.Exit{Code: -1}, exit)
	tether.ended(all)
}

// TestChildEndsWithItsSupervisor: the kernel kills it, even when we are stopped and can do nothing.
func TestChildEndsWithItsSupervisor(t *testing.T) {
	if os.Getenv(hostVariable) != "" {
		host(t, "sleep")
		return
	}
	tether, host, _ := startHost(t, "TestChildEndsWithItsSupervisor", "1m")
	all := tether.processes(1)
	require.NoError(t, host.Process.Signal(syscall.SIGSTOP))
	require.Eventually(t, func() bool { return look(host.Process.Pid).state == "T" }, lifetime/2, time.Millisecond)
	require.NoError(t, syscall.Kill(supervisor(t, all).pid, syscall.SIGKILL))
	// The host may still hold the tether, if it was stopped before it could let go.
	require.Eventually(t, func() bool { return !all[0].lives() }, lifetime/2, time.Millisecond)
	require.NoError(t, host.Process.Kill())
	require.Error(t, host.Wait())
}

// TestStoppedSupervisor: a child that stops its supervisor does not get rid of it.
func TestStoppedSupervisor(t *testing.T) {
	tether, w := newTether(t)
	c := command(t, "family", "stay")
	c.Stderr = w
	p := start(t, c)
	w.Close()
	all := tether.processes(family)
	require.NoError(t, syscall.Kill(supervisor(t, all).pid, syscall.SIGSTOP))
	exit, err := p.Kill()
	require.NoError(t, err)
	assert.Equal(t, supervise.Exit{Code: -1, Signal: "SIGKILL"}, exit)
	tether.ended(all)
}

// TestSupervisorIsDeafToSignals: a child that signals its parent does not get rid of it.
func TestSupervisorIsDeafToSignals(t *testing.T) {
	tether, w := newTether(t)
	c := command(t, "sleep")
	c.Stderr = w
	p := start(t, c)
	w.Close()
	all := tether.processes(1)
	for _, sig := range []syscall.Signal{
		syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGPIPE, syscall.SIGALRM, syscall.SIGUSR1,
	} {
		require.NoError(t, syscall.Kill(supervisor(t, all).pid, sig))
	}
	exit, err := p.Kill()
	require.NoError(t, err)
	assert.Equal(t, supervise.Exit{Code: -1, Signal: "SIGKILL"}, exit)
	tether.ended(all)
}
